//! Descriptors between threads of one world: in virtual time, and exact.

mod common;

use std::ffi::{c_int, c_void};
use std::io::{ErrorKind, Read, Write, pipe};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{Log, all_finished, is_finished, run_to_the_end, spawn, world};
use conan_kernel::{Cause, Reason};

const HOUR: Duration = Duration::from_secs(3600);

/// Runs a thread of a world, and those that it starts, to the end. The run has
/// to be exact.
#[track_caller]
fn runs(job: impl FnOnce() + Send + 'static) {
    runs_but_for(&[], job);
}

/// The same, where a run is not exact, and why.
#[track_caller]
fn runs_but_for(reasons: &[Reason], job: impl FnOnce() + Send + 'static) {
    let mut world = world();
    let done = Arc::new(AtomicBool::new(false));
    let out = Arc::clone(&done);
    spawn(&mut world, "first", move || {
        job();
        out.store(true, Ordering::SeqCst);
    });
    run_to_the_end(&mut world);
    assert!(done.load(Ordering::SeqCst), "{:?}", world.threads());
    assert!(all_finished(&world));
    let found: Vec<_> = world.inexact().iter().map(|it| it.reason).collect();
    assert_eq!(found, reasons);
}

/// How long something takes, in whole seconds of virtual time.
fn seconds(job: impl FnOnce()) -> u64 {
    let begun = Instant::now();
    job();
    begun.elapsed().as_secs()
}

#[test]
fn a_pipe_is_read_when_somebody_writes_after_an_hour() {
    runs(|| {
        let (mut reader, mut writer) = pipe().unwrap();
        let other = thread::spawn(move || {
            thread::sleep(HOUR);
            writer.write_all(b"late").unwrap();
        });
        let mut text = String::new();
        assert_eq!(seconds(|| drop(reader.read_to_string(&mut text))), 3600);
        assert_eq!(text, "late");
        other.join().unwrap();
    });
}

#[test]
fn a_full_pipe_is_written_to_as_it_is_read() {
    runs(|| {
        let (mut reader, mut writer) = pipe().unwrap();
        let other = thread::spawn(move || {
            let mut sum = 0_usize;
            let mut some = [0; 1000];
            loop {
                thread::sleep(Duration::from_secs(1));
                match reader.read(&mut some).unwrap() {
                    0 => return sum,
                    size => sum += size,
                }
            }
        });
        let all = vec![7; 200_000];
        assert!(seconds(|| writer.write_all(&all).unwrap()) > 100);
        drop(writer);
        assert_eq!(other.join().unwrap(), all.len());
    });
}

#[test]
fn the_two_ends_of_a_pair_answer_each_other() {
    let log = Log::default();
    let out = log.clone();
    runs(move || {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let note = out.clone();
        let other = thread::spawn(move || {
            let mut byte = [0];
            while there.read(&mut byte).unwrap() > 0 {
                note.note(format!("there {}", byte[0]));
                there.write_all(&[byte[0] + 1]).unwrap();
            }
        });
        let mut byte = [0];
        for _ in 0..3 {
            here.write_all(&byte).unwrap();
            here.read_exact(&mut byte).unwrap();
            out.note(format!("here {}", byte[0]));
        }
        here.shutdown(Shutdown::Write).unwrap();
        other.join().unwrap();
    });
    let expected = [
        "there 0", "here 1", "there 1", "here 2", "there 2", "here 3",
    ];
    assert_eq!(log.noted(), expected);
}

#[test]
fn a_socket_gives_up_when_its_time_is_up_and_not_before() {
    runs(|| {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        here.set_read_timeout(Some(HOUR)).unwrap();
        let mut byte = [0];
        let waited = seconds(|| {
            let error = here.read(&mut byte).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
        });
        assert_eq!(waited, 3600);
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_secs(3599));
            there.write_all(b"x").unwrap();
            there
        });
        assert_eq!(seconds(|| here.read_exact(&mut byte).unwrap()), 3599);
        drop(other.join().unwrap());
    });
}

#[test]
fn connections_over_ip_are_accepted_and_answered() {
    runs(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            for _ in 0..3 {
                let (mut stream, _) = listener.accept().unwrap();
                let mut bytes = [0; 5];
                stream.read_exact(&mut bytes).unwrap();
                thread::sleep(Duration::from_secs(60));
                stream.write_all(&bytes).unwrap();
            }
        });
        let took = seconds(|| {
            for _ in 0..3 {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.set_read_timeout(Some(HOUR)).unwrap();
                stream.write_all(b"hello").unwrap();
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                assert_eq!(text, "hello");
            }
        });
        assert_eq!(took, 180);
        server.join().unwrap();
    });
}

/// The second write is held back until the first has been acknowledged, which
/// the receiver puts off in real time.
#[test]
fn small_writes_arrive_before_time_moves() {
    runs(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream
                .set_read_timeout(Some(Duration::from_millis(1)))
                .unwrap();
            for _ in 0..200 {
                let mut bytes = [0; 2];
                stream.read_exact(&mut bytes).unwrap();
                stream.write_all(&bytes[..1]).unwrap();
            }
        });
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        for _ in 0..200 {
            stream.write_all(b"a").unwrap();
            stream.write_all(b"b").unwrap();
            stream.read_exact(&mut [0]).unwrap();
        }
        server.join().unwrap();
    });
}

/// How much it holds differs from run to run.
#[test]
fn more_than_a_socket_holds_is_sent_as_it_is_read() {
    runs_but_for(&[Reason::Room], || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            thread::sleep(HOUR);
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            all.len()
        });
        let mut stream = TcpStream::connect(address).unwrap();
        let all = vec![1; 20_000_000];
        assert_eq!(seconds(|| stream.write_all(&all).unwrap()), 3600);
        drop(stream);
        assert_eq!(server.join().unwrap(), all.len());
    });
}

#[test]
fn datagrams_come_and_do_not_come() {
    runs(|| {
        let here = UdpSocket::bind("127.0.0.1:0").unwrap();
        let there = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = here.local_addr().unwrap();
        here.set_read_timeout(Some(HOUR)).unwrap();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_secs(5));
            there.send_to(b"ping", to).unwrap();
            there
        });
        let mut bytes = [0; 16];
        assert_eq!(
            seconds(|| assert_eq!(here.recv_from(&mut bytes).unwrap().0, 4)),
            5
        );
        let there = other.join().unwrap();
        assert_eq!(
            seconds(|| assert!(here.recv_from(&mut bytes).is_err())),
            3600
        );
        drop(there);
    });
}

#[repr(C)]
struct PollFd {
    descriptor: c_int,
    events: i16,
    found: i16,
}

const IN: i16 = 1;

#[cfg_attr(target_arch = "x86_64", repr(C, packed))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C))]
#[derive(Clone, Copy)]
struct Event {
    events: u32,
    data: u64,
}

unsafe extern "C" {
    fn poll(entries: *mut PollFd, count: u64, timeout: c_int) -> c_int;
    fn select(
        count: c_int,
        input: *mut [u64; 16],
        output: *mut [u64; 16],
        except: *mut [u64; 16],
        timeout: *mut [i64; 2],
    ) -> c_int;
    fn epoll_create1(flags: c_int) -> c_int;
    fn epoll_ctl(epoll: c_int, operation: c_int, number: c_int, event: *mut Event) -> c_int;
    fn epoll_wait(epoll: c_int, events: *mut Event, count: c_int, timeout: c_int) -> c_int;
    fn eventfd(value: u32, flags: c_int) -> c_int;
    fn read(descriptor: c_int, buffer: *mut c_void, size: usize) -> isize;
    fn write(descriptor: c_int, buffer: *const c_void, size: usize) -> isize;
    fn close(descriptor: c_int) -> c_int;
}

#[test]
fn a_poll_waits_for_one_of_two_or_for_its_time() {
    runs(|| {
        let (one, mut into_one) = pipe().unwrap();
        let (two, into_two) = pipe().unwrap();
        let wait = |timeout| {
            let mut entries = [&one, &two].map(|pipe| PollFd {
                descriptor: pipe.as_raw_fd(),
                events: IN,
                found: 0,
            });
            // SAFETY: there are two.
            let count = unsafe { poll(entries.as_mut_ptr(), 2, timeout) };
            (count, entries.map(|entry| entry.found))
        };
        assert_eq!(seconds(|| assert_eq!(wait(3_600_000), (0, [0, 0]))), 3600);
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_secs(7));
            into_one.write_all(b"x").unwrap();
            into_one
        });
        assert_eq!(seconds(|| assert_eq!(wait(-1), (1, [IN, 0]))), 7);
        drop((other.join().unwrap(), into_two));
    });
}

#[test]
fn a_poll_of_nothing_sleeps() {
    runs(|| {
        // SAFETY: there are no entries.
        let sleep = || unsafe { assert_eq!(poll(std::ptr::null_mut(), 0, 3_600_000), 0) };
        assert_eq!(seconds(sleep), 3600);
    });
}

#[test]
fn a_select_waits_for_its_time_and_for_a_pipe() {
    runs(|| {
        let (one, mut into_one) = pipe().unwrap();
        let number = one.as_raw_fd();
        let wait = |limit: i64| {
            let mut set = [0_u64; 16];
            set[number as usize / 64] |= 1 << (number % 64);
            let mut limit = [limit, 0];
            let none = std::ptr::null_mut();
            // SAFETY: the sets are large enough, or absent.
            let count = unsafe { select(number + 1, &raw mut set, none, none, &raw mut limit) };
            (count, set[number as usize / 64] >> (number % 64) & 1)
        };
        assert_eq!(seconds(|| assert_eq!(wait(3600), (0, 0))), 3600);
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_secs(7));
            into_one.write_all(b"x").unwrap();
            into_one
        });
        assert_eq!(seconds(|| assert_eq!(wait(3600), (1, 1))), 7);
        drop(other.join().unwrap());
    });
}

#[test]
fn an_epoll_is_woken_by_an_eventfd_as_runtimes_do_it() {
    runs(|| {
        // SAFETY: descriptors of our own, and room for what is written.
        unsafe {
            let (epoll, waker) = (epoll_create1(0), eventfd(0, 0));
            let mut event = Event {
                events: 1,
                data: 42,
            };
            assert_eq!(epoll_ctl(epoll, 1, waker, &raw mut event), 0);
            let wait = |timeout| {
                let mut events = [Event { events: 0, data: 0 }; 4];
                let count = epoll_wait(epoll, events.as_mut_ptr(), 4, timeout);
                (count, events[0].data)
            };
            assert_eq!(seconds(|| assert_eq!(wait(3_600_000), (0, 0))), 3600);
            let other = thread::spawn(move || {
                thread::sleep(Duration::from_secs(9));
                let one = 1_u64;
                assert_eq!(write(waker, (&raw const one).cast(), 8), 8);
            });
            assert_eq!(seconds(|| assert_eq!(wait(-1), (1, 42))), 9);
            let mut count = 0_u64;
            assert_eq!(read(waker, (&raw mut count).cast(), 8), 8);
            assert_eq!(count, 1);
            other.join().unwrap();
            close(waker);
            close(epoll);
        }
    });
}

#[test]
fn who_waits_for_nobody_is_suspended() {
    let mut world = world();
    let (sender, receiver) = mpsc::channel();
    let waits = spawn(&mut world, "waits", move || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        sender.send(listener.local_addr().unwrap()).unwrap();
        drop(listener.accept());
    });
    run_to_the_end(&mut world);
    receiver.try_recv().unwrap();
    assert!(!is_finished(&world, waits));
    let info = &world.threads()[0];
    let Some(Cause::Io(call)) = info.blocked.map(|blocked| blocked.cause) else {
        panic!("{info:?}");
    };
    assert_eq!((call.name, call.kind()), ("accept", Some("socket")));
    let backtrace = world.backtrace(waits).unwrap();
    assert!(backtrace.contains("TcpListener>::accept"), "{backtrace}");
    assert_eq!(world.inexact(), []);
}

#[test]
fn threads_that_only_yield_do_not_keep_a_reader_waiting() {
    runs(|| {
        let (mut reader, mut writer) = pipe().unwrap();
        let flag = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&flag);
        let other = thread::spawn(move || {
            reader.read_exact(&mut [0]).unwrap();
            set.store(true, Ordering::SeqCst);
        });
        thread::yield_now();
        writer.write_all(b"x").unwrap();
        while !flag.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        other.join().unwrap();
    });
}

#[test]
fn threads_that_are_always_ready_do_not_keep_a_reader_waiting() {
    runs(|| {
        let (mut reader, mut writer) = pipe().unwrap();
        let flag = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&flag);
        let other = thread::spawn(move || {
            reader.read_exact(&mut [0]).unwrap();
            set.store(true, Ordering::SeqCst);
        });
        let (here, there) = (mpsc::sync_channel(0), mpsc::sync_channel(0));
        let partner = thread::spawn(move || {
            while here.1.recv().is_ok() {
                there.0.send(()).unwrap();
            }
        });
        here.0.send(()).unwrap();
        there.1.recv().unwrap();
        writer.write_all(b"x").unwrap();
        while !flag.load(Ordering::SeqCst) {
            here.0.send(()).unwrap();
            there.1.recv().unwrap();
        }
        drop(here.0);
        partner.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_loop_that_polls_sees_time_pass() {
    runs(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_secs(1));
            TcpStream::connect(address).unwrap();
        });
        listener.set_nonblocking(true).unwrap();
        assert_eq!(seconds(|| while listener.accept().is_err() {}), 1);
        other.join().unwrap();
    });
}

/// Whoever made it may have kept the other end.
#[test]
fn a_descriptor_from_outside_is_waited_for_in_real_time() {
    let mut world = world();
    let (mut reader, mut writer) = pipe().unwrap();
    let blocked = spawn(&mut world, "reader", move || {
        reader.read_exact(&mut [0]).unwrap();
    });
    let outside = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        writer.write_all(b"x").unwrap();
    });
    run_to_the_end(&mut world);
    assert!(is_finished(&world, blocked));
    assert_eq!(world.inexact()[0].reason, Reason::Blocked);
    outside.join().unwrap();
}
