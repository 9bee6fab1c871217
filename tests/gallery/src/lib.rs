//! The components that the scripts in `scripts/` test.
//!
//! They are ordinary Rust over `std::sync`: nothing in them knows that it is
//! tested. [`ProducerConsumer`] and [`Clock`] are the first two components of
//! the paper that the scripts come from (B. Long, D. Hoffman, P. Strooper,
//! *Tool Support for Testing Concurrent Java Components*, IEEE TSE 2003);
//! [`Buffer`] and [`Gate`] serve the scripts in `scripts/constructs/`.
//! [`faulty`] holds what must not pass.
//!
//! ```
//! use conan_gallery::ProducerConsumer;
//!
//! let monitor = ProducerConsumer::new();
//! monitor.send("hi");
//! assert_eq!(monitor.receive(), 'h');
//! assert_eq!(monitor.receive(), 'i');
//! ```

pub mod blast_server;
pub mod blocking_terminal_pool;
pub mod bounded_overtaking_allocator;
pub mod buffer;
pub mod buffer_impl;
pub mod car_park_control;
pub mod clock;
pub mod connection_broker;
pub mod fair_allocator;
pub mod fair_bridge;
pub mod faulty;
pub mod gate;
pub mod jdbc_connection_pool;
pub mod object_pool;
pub mod producer_consumer;
pub mod read_write_fair;
pub mod read_write_priority;
pub mod read_write_safe;
pub mod reader_writer;
pub mod record_input_stream;
pub mod safe_bridge;
pub mod semaphore;
pub mod semaphore_buffer;
pub mod simple_allocator;

pub use blast_server::BlastServer;
pub use blocking_terminal_pool::BlockingTerminalPool;
pub use bounded_overtaking_allocator::BoundedOvertakingAllocator;
pub use buffer::Buffer;
pub use buffer_impl::BufferImpl;
pub use car_park_control::CarParkControl;
pub use clock::Clock;
pub use connection_broker::ConnectionBroker;
pub use fair_allocator::FairAllocator;
pub use fair_bridge::FairBridge;
pub use gate::Gate;
pub use jdbc_connection_pool::JdbcConnectionPool;
pub use object_pool::ObjectPool;
pub use producer_consumer::ProducerConsumer;
pub use read_write_fair::ReadWriteFair;
pub use read_write_priority::ReadWritePriority;
pub use read_write_safe::ReadWriteSafe;
pub use reader_writer::ReaderWriter;
pub use record_input_stream::RecordInputStream;
pub use safe_bridge::SafeBridge;
pub use semaphore::Semaphore;
pub use semaphore_buffer::SemaphoreBuffer;
pub use simple_allocator::SimpleAllocator;
