//! `cargo conan test`: sockets, pipes and whole runtimes over them, in virtual
//! time.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use conan_integration::{Run, crate_with, json, place, result, results};
use serde_json::Value;

/// That a test has this verdict, after so many seconds of virtual time, and
/// that nothing else had a part in it.
#[track_caller]
fn is_exact(tests: &[Value], name: &str, verdict: &str, seconds: u64) {
    let test = result(tests, name);
    assert_eq!(test["verdict"], verdict, "{test:#}");
    assert_eq!(test["exact"], true, "{test:#}");
    let time = Duration::from_nanos(test["virtual_ns"].as_u64().expect("it is known"));
    assert_eq!(time.as_secs(), seconds, "{test:#}");
}

/// That a test passed, and that somebody outside had a part in it.
#[track_caller]
fn passes_with_others(tests: &[Value], name: &str) {
    let test = result(tests, name);
    assert_eq!(test["verdict"], "passed", "{test:#}");
    assert_eq!(test["exact"], false, "{test:#}");
    let why = test["not_exact"].to_string();
    assert!(why.contains("had to do with somebody outside"), "{test:#}");
}

const STD: &str = r#"
#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write, pipe};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_time_out_and_an_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 5];
            stream.read_exact(&mut bytes).unwrap();
            thread::sleep(HOUR);
            stream.write_all(&bytes).unwrap();
        });
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"hello").unwrap();
        let begun = Instant::now();
        let mut bytes = [0; 5];
        stream.set_read_timeout(Some(HOUR / 2)).unwrap();
        assert_eq!(stream.read(&mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(begun.elapsed().as_secs(), 1800);
        stream.set_read_timeout(Some(HOUR)).unwrap();
        stream.read_exact(&mut bytes).unwrap();
        assert_eq!(begun.elapsed().as_secs(), 3600);
        server.join().unwrap();
    }

    #[test]
    fn a_connection_with_a_time_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        TcpStream::connect_timeout(&address, HOUR).unwrap();
        drop(listener);
        let begun = Instant::now();
        TcpStream::connect_timeout(&address, HOUR).unwrap_err();
        assert!(begun.elapsed() < HOUR);
    }

    #[test]
    fn a_pair_and_a_pipe() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let (mut reader, mut writer) = pipe().unwrap();
        let other = thread::spawn(move || {
            let mut text = String::new();
            there.read_to_string(&mut text).unwrap();
            thread::sleep(HOUR);
            writer.write_all(text.as_bytes()).unwrap();
        });
        here.write_all(b"round").unwrap();
        drop(here);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "round");
        other.join().unwrap();
    }

    #[test]
    fn nobody_connects() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        drop(listener.accept()); // accepts for ever
    }

    #[test]
    fn nobody_writes() {
        let (mut reader, writer) = pipe().unwrap();
        let name = thread::Builder::new().name("reader".into());
        let other = name.spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap(); // reads for ever
        });
        other.unwrap().join().unwrap(); // joins the reader
        drop(writer);
    }

    #[test]
    fn a_child_answers() {
        let mut child = Command::new("sh")
            .args(["-c", "read line; sleep 1; echo $line"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello\n");
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn an_orphan_answers() {
        let mut child = Command::new("sh")
            .args(["-c", "(sleep 1; echo late) &"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(child.wait().unwrap().success());
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "late\n");
    }

    #[test]
    fn a_loop_that_polls_sees_time_pass() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_secs(1));
            TcpStream::connect(address).unwrap();
        });
        listener.set_nonblocking(true).unwrap();
        while listener.accept().is_err() {}
        other.join().unwrap();
    }

    #[test]
    fn much_is_printed() {
        for n in 0..20_000 {
            println!("line {n} of many, and it is long enough to fill a pipe soon");
        }
    }
}
"#;

/// With a server of somebody else's, which is as quick as the system lets it.
const OTHERS: &str = r#"#![cfg(test)]

use std::io::Read;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

#[test]
fn a_server_outside_answers_at_once() {
    let mut stream = TcpStream::connect(env!("SERVER")).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello");
}

#[test]
fn nobody_has_to_wait_for_it() {
    let mut stream = TcpStream::connect(env!("SERVER")).unwrap();
    stream.set_nonblocking(true).unwrap();
    let mut text = Vec::new();
    while stream.read_to_end(&mut text).is_err() {
        thread::sleep(Duration::from_secs(1));
    }
    assert_eq!(text, b"hello");
}

#[test]
fn nobody_is_there() {
    TcpStream::connect("127.0.0.1:1").unwrap_err();
}
"#;

const TOKIO: &str = r#"
#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::thread;
    use std::time::{Duration, Instant};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream, UdpSocket};
    use tokio::sync::{mpsc, oneshot};
    use tokio::task::spawn_blocking;
    use tokio::time::{interval, sleep, timeout};

    const SECOND: Duration = Duration::from_secs(1);
    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn an_hour_on_one_thread() {
        let begun = Instant::now();
        sleep(HOUR).await;
        assert_eq!(begun.elapsed().as_secs(), 3600);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn an_hour_on_many_threads() {
        let begun = Instant::now();
        let tasks: Vec<_> = (1..=8).map(|n| tokio::spawn(sleep(HOUR / n))).collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(begun.elapsed().as_secs(), 3600);
    }

    #[tokio::test]
    async fn an_hour_of_ticks() {
        let mut ticks = interval(60 * SECOND);
        let begun = Instant::now();
        for _ in 0..=60 {
            ticks.tick().await;
        }
        assert_eq!(begun.elapsed().as_secs(), 3600);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn ten_hours_of_blocking_at_once() {
        let begun = Instant::now();
        let sleepers: Vec<_> = (0..10).map(|_| spawn_blocking(|| thread::sleep(HOUR))).collect();
        for sleeper in sleepers {
            sleeper.await.unwrap();
        }
        assert_eq!(begun.elapsed().as_secs(), 3600);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 3)]
    async fn channels() {
        let (sender, mut receiver) = mpsc::channel(2);
        for n in 0..3_u32 {
            let sender = sender.clone();
            tokio::spawn(async move {
                for m in 0..10 {
                    sleep(SECOND * (n + 1)).await;
                    sender.send(n * 10 + m).await.unwrap();
                }
            });
        }
        drop(sender);
        let begun = Instant::now();
        let mut sum = 0;
        while let Some(n) = receiver.recv().await {
            sum += n;
        }
        assert_eq!((sum, begun.elapsed().as_secs()), (435, 30));
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(async move {
            sleep(HOUR).await;
            sender.send(7).unwrap();
        });
        assert_eq!(receiver.await, Ok(7));
    }

    /// Answers everybody after a delay.
    async fn echo(delay: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut bytes = [0; 64];
                    loop {
                        let size = stream.read(&mut bytes).await.unwrap();
                        if size == 0 {
                            return;
                        }
                        sleep(delay).await;
                        let _ = stream.write_all(&bytes[..size]).await;
                    }
                });
            }
        });
        address
    }

    async fn is_answered(address: SocketAddr, limit: Duration) -> bool {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        let mut bytes = [0; 5];
        timeout(limit, stream.read_exact(&mut bytes)).await.is_ok()
    }

    #[tokio::test]
    async fn an_echo_in_time() {
        let address = echo(50 * SECOND).await;
        let begun = Instant::now();
        assert!(is_answered(address, 60 * SECOND).await);
        assert_eq!(begun.elapsed().as_secs(), 50);
    }

    #[tokio::test]
    async fn an_echo_too_late() {
        let address = echo(70 * SECOND).await;
        let begun = Instant::now();
        assert!(!is_answered(address, 60 * SECOND).await);
        assert_eq!(begun.elapsed().as_secs(), 60);
        // The answer, which nobody reads any more.
        sleep(HOUR).await;
        assert_eq!(begun.elapsed().as_secs(), 3660);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn many_echoes() {
        let address = echo(SECOND / 2).await;
        let asking: Vec<_> = (0..20).map(|_| tokio::spawn(is_answered(address, SECOND))).collect();
        for one in asking {
            assert!(one.await.unwrap());
        }
    }

    #[tokio::test]
    async fn a_datagram_after_an_hour() {
        let here = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let there = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let to = here.local_addr().unwrap();
        tokio::spawn(async move {
            sleep(HOUR).await;
            there.send_to(b"late", to).await.unwrap();
        });
        let mut bytes = [0; 8];
        let begun = Instant::now();
        assert_eq!(here.recv_from(&mut bytes).await.unwrap().0, 4);
        assert_eq!(begun.elapsed().as_secs(), 3600);
    }

    #[tokio::test]
    async fn nobody_connects() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        drop(listener.accept().await);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nobody_sends() {
        let (sender, mut receiver) = mpsc::channel::<u8>(1);
        receiver.recv().await;
        drop(sender);
    }

    #[tokio::test]
    async fn a_limit_that_is_too_short() {
        timeout(SECOND, sleep(2 * SECOND)).await.expect("it is late");
    }

    #[tokio::test]
    async fn a_child_of_the_runtime() {
        let child = tokio::process::Command::new("sh").args(["-c", "sleep 1; echo done"]).output();
        let output = timeout(300 * SECOND, child).await.unwrap().unwrap();
        assert_eq!(output.stdout, b"done\n");
    }
}
"#;

/// smol's system calls do not go through libc, and its timer is a descriptor.
const SMOL: &str = r#"
#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use smol::Timer;
    use smol::future::FutureExt;
    use smol::io::{AsyncReadExt, AsyncWriteExt};
    use smol::net::{TcpListener, TcpStream};
    use smol::stream::StreamExt;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_timer_of_an_hour() {
        smol::block_on(async {
            let begun = Instant::now();
            Timer::after(HOUR).await;
            assert_eq!(begun.elapsed().as_secs(), 3600);
        });
    }

    #[test]
    fn a_day_of_ticks() {
        let ticks = smol::block_on(Timer::interval(HOUR).take(24).count());
        assert_eq!(ticks, 24);
    }

    #[test]
    fn an_hour_of_blocking() {
        smol::block_on(smol::unblock(|| std::thread::sleep(HOUR)));
    }

    #[test]
    fn an_echo_after_an_hour() {
        smol::block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let server = smol::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut byte = [0];
                stream.read_exact(&mut byte).await.unwrap();
                Timer::after(HOUR).await;
                stream.write_all(&byte).await.unwrap();
            });
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"x").await.unwrap();
            let mut byte = [0];
            let answer = async { stream.read_exact(&mut byte).await.is_ok() };
            let limit = async { Timer::after(HOUR / 2).await; false };
            assert!(!answer.or(limit).await);
            stream.read_exact(&mut byte).await.unwrap();
            assert_eq!(&byte, b"x");
            server.await;
        });
    }

    #[test]
    fn a_limit_that_is_too_short() {
        let limit = async { Timer::after(Duration::from_secs(1)).await; false };
        let work = async { Timer::after(HOUR).await; true };
        assert!(smol::block_on(work.or(limit)));
    }

    #[test]
    fn nobody_connects() {
        smol::block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            drop(listener.accept().await);
        });
    }
}
"#;

#[test]
fn a_runtime_of_smol_is_in_virtual_time() {
    let scratch = crate_with("io_of_smol", "[dependencies]\nsmol = \"2\"\n", SMOL);
    let ran = json(&scratch, &[]);
    let (tests, _) = results(&ran);
    ran.exits_with(101);
    is_exact(&tests, "a_timer_of_an_hour", "passed", 3600);
    is_exact(&tests, "a_day_of_ticks", "passed", 24 * 3600);
    is_exact(&tests, "an_hour_of_blocking", "passed", 3600);
    is_exact(&tests, "an_echo_after_an_hour", "passed", 3600);
    is_exact(&tests, "a_limit_that_is_too_short", "failed", 1);
    is_exact(&tests, "nobody_connects", "hung", 0);
    let test = result(&tests, "nobody_connects").to_string();
    let line = place(SMOL, "fn nobody_connects").line + 1;
    assert!(test.contains(&format!("src/lib.rs:{line}:")), "{test}");
}

#[test]
fn sockets_and_pipes_of_std_are_in_virtual_time() {
    let scratch = crate_with("io_of_std", "", STD);
    let ran = json(&scratch, &[]);
    let (tests, _) = results(&ran);
    ran.exits_with(101);
    is_exact(&tests, "a_time_out_and_an_answer", "passed", 3600);
    is_exact(&tests, "a_connection_with_a_time_out", "passed", 0);
    is_exact(&tests, "a_pair_and_a_pipe", "passed", 3600);
    is_exact(&tests, "nobody_connects", "hung", 0);
    is_exact(&tests, "nobody_writes", "hung", 0);
    is_exact(&tests, "a_loop_that_polls_sees_time_pass", "passed", 1);
    passes_with_others(&tests, "a_child_answers");
    passes_with_others(&tests, "an_orphan_answers");
    assert_eq!(result(&tests, "much_is_printed")["verdict"], "passed");

    let ran = scratch.conan().args(["test", "--lib", "nobody"]).ran();
    let line = |marker| place(STD, marker).line;
    ran.exits_with(101)
        .says("std::net::TcpListener::accept, in `accept` on a socket\n")
        .says(&format!("    at src/lib.rs:{}:", line("accepts for ever")))
        .says("thread `reader` is suspended for good: ")
        .says(", in `read` on a pipe\n")
        .says(&format!("    at src/lib.rs:{}:", line("reads for ever")))
        .says(&format!("    at src/lib.rs:{}:", line("joins the reader")));
}

#[test]
fn who_has_to_do_with_somebody_outside_is_not_exact_though_it_never_waits() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let address = listener.local_addr().expect("it has one").to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            stream.write_all(b"hello").expect("it can be told");
        }
    });
    let scratch = crate_with("io_with_others", "", OTHERS);
    let mut conan = scratch.conan();
    conan.args(["test", "--lib", "--message-format", "json"]);
    let ran = conan.env("SERVER", address).ran();
    ran.exits_with(0);
    let (tests, _) = results(&ran);
    passes_with_others(&tests, "a_server_outside_answers_at_once");
    passes_with_others(&tests, "nobody_has_to_wait_for_it");
    is_exact(&tests, "nobody_is_there", "passed", 0);
}

#[test]
fn a_runtime_of_tokio_is_in_virtual_time() {
    let dependencies = "[dependencies]\ntokio = { version = \"1\", features = [\"full\"] }\n";
    let scratch = crate_with("io_of_tokio", dependencies, TOKIO);
    let ran = json(&scratch, &[]);
    let (tests, _) = results(&ran);
    ran.exits_with(101);
    let passes = [
        ("an_hour_on_one_thread", 3600),
        ("an_hour_on_many_threads", 3600),
        ("an_hour_of_ticks", 3600),
        ("ten_hours_of_blocking_at_once", 3600),
        ("channels", 3630),
        ("an_echo_in_time", 50),
        ("an_echo_too_late", 3660),
        ("many_echoes", 0),
        ("a_datagram_after_an_hour", 3600),
    ];
    for (name, seconds) in passes {
        is_exact(&tests, name, "passed", seconds);
    }
    is_exact(&tests, "a_limit_that_is_too_short", "failed", 1);
    is_exact(&tests, "nobody_connects", "hung", 0);
    is_exact(&tests, "nobody_sends", "hung", 0);
    passes_with_others(&tests, "a_child_of_the_runtime");
    let test = result(&tests, "nobody_connects").to_string();
    let line = place(TOKIO, "drop(listener.accept().await)").line;
    assert!(test.contains("in `epoll_wait`"), "{test}");
    assert!(test.contains(&format!("src/lib.rs:{line}:")), "{test}");

    // The same course of events every time.
    let (again, _) = results(&json(&scratch, &[]));
    for test in tests.iter().filter(|test| test["exact"] == true) {
        let name = test["test"].as_str().expect("a name");
        let name = name.strip_prefix("tests::").expect("all are in there");
        assert_eq!(test["trace"], result(&again, name)["trace"], "{name}");
    }
}
