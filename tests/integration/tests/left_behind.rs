//! What a hung execution leaves behind does not change what comes after it in
//! the same process.

use conan_integration::{Ran, Run, Scratch, cargo_conan, command};

/// Threads that hang while they hold what is the whole process's.
const LIBRARY: &str = "\
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, LazyLock, Mutex};
use std::thread;

static TOTAL: Mutex<u32> = Mutex::new(0);

static TABLE: LazyLock<u32> = LazyLock::new(|| {
    if SLOW.lock().map(|slow| *slow).unwrap_or(false) {
        for_ever();
    }
    7
});

static SLOW: Mutex<bool> = Mutex::new(false);

fn for_ever() {
    let lock = Mutex::new(());
    let never = Condvar::new();
    let mut held = lock.lock().unwrap();
    loop {
        held = never.wait(held).unwrap();
    }
}

#[derive(Default)]
pub struct Device(AtomicBool);

impl Device {
    pub fn hang_with_the_output(&self) {
        let _output = io::stdout().lock();
        for_ever();
    }

    pub fn hang_with_the_errors(&self) {
        let _errors = io::stderr().lock();
        for_ever();
    }

    pub fn hang_with_a_static(&self) {
        let _total = TOTAL.lock().unwrap();
        for_ever();
    }

    pub fn hang_in_an_initialisation(&self) {
        *SLOW.lock().unwrap() = true;
        let _ = *TABLE;
    }

    pub fn print(&self) {
        println!(\"printed\");
    }

    pub fn print_error(&self) {
        eprintln!(\"printed\");
    }

    pub fn count(&self) {
        *TOTAL.lock().unwrap() += 1;
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn hang_if_first(&self) {
        let _total = TOTAL.lock().unwrap();
        if !self.0.load(Ordering::SeqCst) {
            for_ever();
        }
    }

    pub fn look_up(&self) -> u32 {
        *TABLE
    }

    pub fn try_count(&self) -> bool {
        let total = TOTAL.try_lock();
        thread::yield_now();
        total.is_ok()
    }

    pub fn fill(&self) {
        io::stdout().flush().unwrap();
    }
}
";

const TOP: &str = "
#cut device Device::default()

#top
    use CRATE::Device;
#end
";

const SCRIPT: &str = "scripts/device.conan";

/// A sequence in which a thread does this at its first tick.
fn sequence(name: &str, code: &str) -> String {
    format!(
        "\n#begin {name}\n    #tick\n        #thread <a> {code} #end\n        \
         #thread <b> #excMonitor (); #end #end\n    #end\n#end\n"
    )
}

/// Sequences that hang, each with something else, and correct ones that need the
/// same.
fn pairs(hanging: &[&str]) -> String {
    let monitor = |call: &str| format!("#excMonitor device.{call}(); #end");
    let all = [
        sequence("keeps_output", &monitor("hang_with_the_output")),
        sequence("prints", &monitor("print")),
        sequence("keeps_errors", &monitor("hang_with_the_errors")),
        sequence("prints_errors", &monitor("print_error")),
        sequence("keeps_total", &monitor("hang_with_a_static")),
        sequence("counts", &monitor("count")),
        sequence("tries", "#valueCheck device.try_count() # true #end"),
        sequence("keeps_table", &monitor("hang_in_an_initialisation")),
        sequence("looks_up", "#valueCheck device.look_up() # 7 #end"),
    ];
    let is_wanted = |sequence: &&String| {
        let others = HANGING.iter().filter(|name| !hanging.contains(name));
        let mut others = others.filter(|name| sequence.contains(&format!("#begin {name}\n")));
        others.next().is_none()
    };
    let wanted: Vec<_> = all.iter().filter(is_wanted).cloned().collect();
    wanted.concat()
}

const HANGING: [&str; 4] = ["keeps_output", "keeps_errors", "keeps_total", "keeps_table"];
const CORRECT: [&str; 5] = ["prints", "prints_errors", "counts", "tries", "looks_up"];

fn scratch(name: &str, sequences: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("src/lib.rs", LIBRARY);
    scratch.script(SCRIPT, &(TOP.to_owned() + sequences));
    scratch
}

fn conan(scratch: &Scratch, arguments: &[&str]) -> Ran {
    scratch.conan().args(arguments).ran()
}

/// The token of a sequence, as `explore` prints it.
fn token(ran: &Ran, sequence: &str) -> String {
    let mut words = ran.stdout.split_whitespace();
    let start = format!("{sequence}:");
    let token = words.find(|word| word.starts_with(&start) && word.len() > start.len());
    let token = token.unwrap_or_else(|| panic!("there is no token of {sequence}; {ran}"));
    token.to_owned()
}

#[test]
fn a_correct_sequence_passes_after_one_that_hangs_with_what_it_needs() {
    let scratch = scratch("left_behind", &pairs(&HANGING));
    let explored = conan(&scratch, &["explore", "-n", "30", SCRIPT]);
    explored.exits_with(1);
    for name in HANGING {
        explored.prints(&format!("{name} (scripts/device.conan:"));
        let token = token(&explored, name);
        conan(&scratch, &["replay", SCRIPT, &token])
            .exits_with(1)
            .prints("liveness error at tick 1, thread a");
    }
    for name in CORRECT {
        let line = explored.stdout.lines().find(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(" (scripts/device.conan:"))
        });
        let line = line.unwrap_or_else(|| panic!("{name} is missing; {explored}"));
        assert!(line.contains("no failure in 30 executions"), "{explored}");
    }
    explored
        .prints("1 execution failed only beside a thread that `keeps_output` had left suspended");
    conan(&scratch, &["explore", "-n", "30", "--jobs", "2", SCRIPT])
        .exits_with(1)
        .prints("looks_up (scripts/device.conan:64): bound reached: no failure, in 30 executions")
        .prints("note: 1 execution failed only beside a thread that `keeps_output`");

    let run = conan(&scratch, &["run", SCRIPT]);
    run.exits_with(1).prints("Liveness errors: 4\n");
    for name in CORRECT {
        run.prints(&format!(": {name} ... ok\n"));
    }
    run.prints(
        "note: it failed beside a thread that `keeps_output` had left suspended in the same \
         process; this report is of a new process",
    );
}

#[test]
fn the_simplest_schedule_is_of_the_bug_and_not_of_what_was_left_behind() {
    // The second thread hangs only if it comes first, and then the first one
    // waits for its lock. As the lock is the whole process's, every later
    // execution in the process would hang at the same place.
    let sequences = "
#begin overtakes
    #tick
        #thread <a> #excMonitor device.count(); #end #end
        #thread <b> #excMonitor device.hang_if_first(); #end #end
    #end
#end
";
    let scratch = scratch("simplest", sequences);
    let explored = conan(&scratch, &["explore", "-n", "100", SCRIPT]);
    explored
        .exits_with(1)
        .prints("liveness error at tick 1, thread b")
        .prints("the schedule: 0 preemptions, 1 decision other than the default");
    let token = token(&explored, "overtakes");
    conan(&scratch, &["replay", SCRIPT, &token])
        .exits_with(1)
        .prints("liveness error at tick 1, thread b")
        .never_mentions("not the program that the token is of");
}

/// Every pool starts a thread that waits for work for ever.
const POOL: &str = "\
use std::sync::mpsc::{self, Sender};
use std::thread;

pub struct Pool(Sender<u32>);

impl Pool {
    pub fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        let kept = sender.clone();
        thread::spawn(move || {
            let _kept = kept;
            for _ in receiver {}
        });
        Self(sender)
    }

    pub fn put(&self, work: u32) {
        self.0.send(work).unwrap();
    }

    pub fn want_too_much(&self) {
        thread::Builder::new().stack_size(1 << 60).spawn(|| ()).unwrap();
    }
}
";

/// Never comes to a scheduling point.
const COMPUTES: &str = "\
#[derive(Default)]
pub struct Computes;

impl Computes {
    pub fn for_ever(&self) {
        loop {
            std::hint::spin_loop();
        }
    }
}
";

fn pools(name: &str, call: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("src/lib.rs", POOL);
    let top = "#cut pool Pool::new()\n\n#top\n    use CRATE::Pool;\n#end\n";
    scratch.script(
        "scripts/pool.conan",
        &(top.to_owned() + &sequence("pools", call)),
    );
    scratch
}

#[test]
fn components_that_leave_idle_threads_are_explored_beyond_the_limit_of_a_process() {
    let scratch = pools("idle_threads", "pool.put(1);");
    // No more than a quarter of what the system allows is left in one process.
    let words = format!(
        "ulimit -S -u 4000 && exec '{}' conan explore -n 1100 scripts/pool.conan",
        cargo_conan().display()
    );
    let ran = command("bash", scratch.root()).args(["-c", &words]).ran();
    ran.exits_with(0)
        .prints("no failure in 1100 executions")
        .prints("note: 1000 threads that never end are left behind in the process; later");
}

#[test]
fn a_thread_that_the_system_refuses_is_no_failure_of_the_component() {
    let scratch = pools("refused", "pool.want_too_much();");
    conan(&scratch, &["explore", "-n", "30", "scripts/pool.conan"])
        .exits_with(0)
        .prints("bound reached: no failure in 1 execution")
        .prints("the system refused to start another thread");
}

#[test]
fn tests_of_one_process_do_not_disturb_each_other() {
    let scratch = scratch("left_behind_tests", &pairs(&["keeps_total", "keeps_table"]));
    let ran = scratch.cargo_test().ran();
    ran.exits_with(101)
        .prints("test device::keeps_total ... FAILED")
        .prints("test device::keeps_table ... FAILED");
    for name in CORRECT {
        ran.prints(&format!("test device::{name} ... ok"));
    }
}

#[test]
fn a_test_that_hangs_with_the_output_ends_the_process_and_says_so() {
    let scratch = scratch("left_with_output", &pairs(&["keeps_output"]));
    let ran = scratch.cargo_test().ran();
    ran.exits_with(101)
        .says("liveness error at tick 1, thread a")
        .says("error: a thread that `keeps_output` has left suspended holds the lock of standard output");
}

#[test]
fn a_thread_that_computes_for_ever_ends_an_exploration_before_long() {
    let scratch = Scratch::new("computes");
    scratch.write("src/lib.rs", COMPUTES);
    let top = "#cut c Computes::default()\n\n#top\n    use CRATE::Computes;\n#end\n";
    let text = top.to_owned() + &sequence("computes", "#excMonitor c.for_ever(); #end");
    scratch.script("scripts/computes.conan", &text);
    // Each execution of this takes seconds: three hundred would take too long.
    conan(&scratch, &["explore", "-n", "50", "scripts/computes.conan"])
        .exits_with(1)
        .prints("FAILED in execution 1")
        .prints("a thread computed or polled for long without blocking or yielding");
}
