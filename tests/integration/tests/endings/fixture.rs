//! The crate, the scripts and the processes of these tests.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use conan_integration::{LIMIT, Run, Scratch};

/// A component whose calls can fail, and whose calls can go on for ever.
pub(crate) const LIBRARY: &str = "\
use std::sync::{Condvar, Mutex};

#[derive(Default)]
pub struct Register(Mutex<u32>, Condvar);

impl Register {
    pub fn set(&self, value: u32) {
        *self.0.lock().unwrap() = value;
        self.1.notify_all();
    }

    pub fn wait(&self) {
        let mut value = self.0.lock().unwrap();
        while *value == 0 {
            value = self.1.wait(value).unwrap();
        }
    }

    pub fn get(&self) -> u32 {
        *self.0.lock().unwrap()
    }
}

/// Says which process runs, and computes until that is ended.
pub fn spins() {
    let path = std::env::var(\"PROCESS\").expect(\"the test says where\");
    std::fs::write(path, std::process::id().to_string()).expect(\"it can be written\");
    loop {
        std::hint::spin_loop();
    }
}

/// Is wrong at first. Later calls in the same process are endless.
pub fn is_wrong_once() -> bool {
    use std::sync::atomic::{AtomicBool, Ordering};
    static WAS_CALLED: AtomicBool = AtomicBool::new(false);
    if WAS_CALLED.swap(true, Ordering::SeqCst) {
        spins();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_wrong() {
        let register = Register::default();
        register.set(1);
        assert_eq!(register.get(), 2);
    }

    #[test]
    fn is_endless() {
        if std::env::var_os(\"PROCESS\").is_some() {
            spins();
        }
    }
}
";

pub(crate) const TOP: &str = "
#cut r Register::default()

#top
    use CRATE::{Register, is_wrong_once, spins};
#end
";

/// Holds in the default order, and in no other.
pub(crate) const ORDER: &str = "
#begin order_matters
    #tick
        #thread <a> #excMonitor r.set(1); #end #end
        #thread <b> #excMonitor r.set(2); #end #end
    #end
    #tick
        #thread <a> #valueCheck r.get() # 2 #end #end
    #end
#end
";

const WRONG: &str = "
#begin is_wrong
    #tick
        #thread <a> #valueCheck r.get() # 1 #end #end
    #end
#end
";

const RIGHT: &str = "
#begin is_right
    #tick
        #thread <a> #excMonitor r.wait(); #end #end
    #end
    #tick
        #thread <b> #excMonitor r.set(1); #end #end
    #end
#end
";

const SPINS: &str = "
#begin is_endless
    #tick
        #thread <a> #excMonitor spins(); #end #end
    #end
#end
";

/// The schedule of its failure is made simpler for ever.
const ONCE: &str = "
#begin is_once
    #tick
        #thread <a> #valueCheck is_wrong_once() # false #end #end
    #end
#end
";

pub(crate) fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("src/lib.rs", LIBRARY);
    scratch.write("order.conan", &(TOP.to_owned() + ORDER));
    scratch.write("right.conan", &(TOP.to_owned() + RIGHT));
    scratch.write("wrong.conan", &(TOP.to_owned() + WRONG));
    scratch.write("endless.conan", &(TOP.to_owned() + WRONG + SPINS));
    scratch.write("once.conan", &(TOP.to_owned() + ONCE));
    scratch.write("spins.conan", &(TOP.to_owned() + SPINS));
    scratch.write("ugly.conan", &(TOP.to_owned() + WRONG).replace("    ", ""));
    scratch.write("broken.conan", "#begin\n");
    scratch
}

pub(crate) fn conan(scratch: &Scratch, words: &[&str]) -> Command {
    let mut command = scratch.conan();
    command.args(words);
    command
}

pub(crate) fn token(scratch: &Scratch) -> String {
    let ran = conan(scratch, &["explore", "order.conan"]).ran();
    printed_token(&ran.stdout)
}

/// The last word of the command that is printed, or the one before the options.
pub(crate) fn printed_token(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("replay: "));
    let line = line.unwrap_or_else(|| panic!("no command was printed: {text}"));
    let token = line.split(' ').find(|word| word.contains(':'));
    token.expect("a token has a colon").to_owned()
}

/// The end of a command that ends by itself, and what it said.
pub(crate) fn ended(command: &mut Command) -> (ExitStatus, String) {
    let mut child = command.spawn().expect("it can be started");
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut said);
    }
    (child.wait().expect("it ends"), said)
}

/// What comes next must come soon.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) fn send(signal: &str, process: u32) {
    let sent = Command::new("kill")
        .args([signal, &process.to_string()])
        .status();
    assert!(sent.expect("there is kill").success());
}

/// A command whose child process says that it runs.
pub(crate) struct Running {
    pub(crate) child: Child,
    /// Where the child process writes its number.
    file: tempfile::TempDir,
    process: Option<u32>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let file = tempfile::TempDir::new().expect("a folder can be made");
        command.env("PROCESS", file.path().join("id"));
        let child = command.process_group(0).stderr(Stdio::null()).spawn();
        Self {
            child: child.expect("it can be started"),
            file,
            process: None,
        }
    }

    pub(crate) fn wait_for_the_process(&mut self) {
        let end = Instant::now() + LIMIT;
        while self.process.is_none() {
            assert!(Instant::now() < end, "the process does not come to run");
            let text = fs::read_to_string(self.file.path().join("id")).unwrap_or_default();
            self.process = text.parse().ok();
            thread::yield_now();
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        send(signal, self.child.id());
    }

    /// How the command has ended. Its child process must be gone soon, too.
    pub(crate) fn end(mut self) -> ExitStatus {
        let status = self.child.wait().expect("it ends");
        let process = self.process.expect("it has run");
        let end = Instant::now() + SOON;
        while is_alive(process) {
            assert!(Instant::now() < end, "process {process} lives on");
            thread::yield_now();
        }
        status
    }
}

/// False for a process that has ended, also if its end was not waited for yet.
fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    !matches!(behind.trim_start().chars().next(), None | Some('Z' | 'X'))
}
