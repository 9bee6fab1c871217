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

pub mod blocking_terminal_pool;
pub mod buffer;
pub mod clock;
pub mod connection_broker;
pub mod faulty;
pub mod gate;
pub mod jdbc_connection_pool;
pub mod object_pool;
pub mod producer_consumer;
pub mod record_input_stream;

pub use blocking_terminal_pool::BlockingTerminalPool;
pub use buffer::Buffer;
pub use clock::Clock;
pub use connection_broker::ConnectionBroker;
pub use gate::Gate;
pub use jdbc_connection_pool::JdbcConnectionPool;
pub use object_pool::ObjectPool;
pub use producer_consumer::ProducerConsumer;
pub use record_input_stream::RecordInputStream;
