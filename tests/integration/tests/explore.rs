//! `cargo conan explore`, `replay` and `merge`, and `#explore` under `cargo
//! test`.

use conan_integration::{Ran, Run, Scratch};
use serde_json::Value;

const LIBRARY: &str = "\
use std::sync::Mutex;

#[derive(Default)]
pub struct Register(Mutex<u32>);

impl Register {
    pub fn set(&self, value: u32) {
        *self.0.lock().unwrap() = value;
    }

    pub fn add(&self, more: u32) {
        *self.0.lock().unwrap() += more;
    }

    pub fn get(&self) -> u32 {
        *self.0.lock().unwrap()
    }
}
";

const TOP: &str = "
#cut r Register::default()

#top
    use CRATE::Register;
#end
";

/// Holds in the default order, and in no other.
const ORDER_MATTERS: &str = "
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

/// Holds in all of them: there are six.
const ANY_ORDER: &str = "
#begin any_order
    #tick
        #thread <a> #excMonitor r.add(1); #end #end
        #thread <b> #excMonitor r.add(2); #end #end
        #thread <c> #excMonitor r.add(4); #end #end
    #end
    #tick
        #thread <a> #valueCheck r.get() # 7 #end #end
    #end
#end
";

const SCRIPT: &str = "scripts/register.conan";

fn scratch(name: &str, sequences: &[&str]) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("src/lib.rs", LIBRARY);
    scratch.script(SCRIPT, &(TOP.to_owned() + &sequences.concat()));
    scratch
}

fn conan(scratch: &Scratch, arguments: &[&str]) -> Ran {
    scratch.conan().args(arguments).ran()
}

/// What an exploration says to replay.
fn token(ran: &Ran) -> String {
    let line = ran.stdout.lines().find_map(|line| {
        let rest = line.strip_prefix("replay: cargo conan replay ")?;
        rest.strip_prefix(SCRIPT)
    });
    let line = line.unwrap_or_else(|| panic!("there is no token; {ran}"));
    line.trim().to_owned()
}

#[test]
fn an_order_that_breaks_it_is_found_and_replayed_on_both_hand_overs() {
    let scratch = scratch("explored", &[ORDER_MATTERS, ANY_ORDER]);
    let ran = conan(&scratch, &["explore", "--seed", "3", SCRIPT]);
    ran.exits_with(1)
        .prints("order_matters (scripts/register.conan:8): FAILED in execution ")
        .prints("value error at tick 2, thread a")
        .prints(
            "\nnote: the threads a and b both act in tick 1, and the script does not fix their \
             order; the default order passes, and it fails if b goes first. \
             If the order is meant, put them in different ticks\n",
        )
        .prints("any_order (scripts/register.conan:18): bound reached: no failure in 1000");
    assert_eq!(
        ran.stdout,
        conan(&scratch, &["explore", "--seed", "3", SCRIPT]).stdout
    );
    let on_threads = scratch
        .conan()
        .env("CONAN_HANDOVER", "threads")
        .args(["explore", "--seed", "3", SCRIPT])
        .ran();
    assert_eq!(ran.stdout, on_threads.stdout);

    let token = token(&ran);
    let replayed = conan(&scratch, &["replay", SCRIPT, &token]);
    replayed
        .exits_with(1)
        .prints("order_matters (scripts/register.conan:8): FAILED")
        .prints("= actual:   1")
        .never_mentions("took a different path");
    let on_threads = conan(&scratch, &["replay", "--threads", SCRIPT, &token]);
    assert_eq!(replayed.stdout, on_threads.stdout);

    let found = "scripts/found.conan";
    conan(&scratch, &["replay", "--script", found, SCRIPT, &token])
        .exits_with(1)
        .prints("scripts/found.conan fails in the same way");
    conan(&scratch, &["run", found])
        .exits_with(1)
        .prints("= actual:   1");
    conan(&scratch, &["replay", "--script", found, SCRIPT, &token])
        .exits_with(2)
        .says("is there already");

    // The component has been mended meanwhile, or so it seems.
    scratch.script(
        SCRIPT,
        &(TOP.to_owned() + &ORDER_MATTERS.replace("# 2", "# 1")),
    );
    conan(&scratch, &["replay", SCRIPT, &token]).exits_with(0);
}

#[test]
fn a_small_space_is_exhausted_also_by_several_and_only_then_is_that_said() {
    let scratch = scratch("exhausted", &[ANY_ORDER]);
    let whole = ["explore", "--strategy", "dfs", SCRIPT];
    conan(&scratch, &whole)
        .exits_with(0)
        .prints("exhausted: every schedule was run (6 executions)");
    conan(
        &scratch,
        &["explore", "--strategy", "dfs", "-n", "5", SCRIPT],
    )
    .exits_with(0)
    .prints("bound reached: no failure in 5 executions, 5 different schedules");
    conan(
        &scratch,
        &["explore", "--strategy", "dfs", "--jobs", "2", SCRIPT],
    )
    .exits_with(0)
    .prints("exhausted: every schedule was run, in ");

    let mut schedules = 0;
    for part in ["1/2", "2/2"] {
        let ran = conan(
            &scratch,
            &[
                "explore",
                "--strategy",
                "dfs",
                "--shard",
                part,
                "--message-format",
                "json",
                SCRIPT,
            ],
        );
        ran.exits_with(0);
        let found: Value = serde_json::from_str(&ran.stdout).expect("one object");
        let count = |key: &str| found["exploration"][key].as_u64().expect("a number");
        // Others were run to find out whose they are.
        schedules += count("executions") - count("redundant");
        scratch.write(&format!("part{}.json", &part[..1]), &ran.stdout);
    }
    assert_eq!(schedules, 6, "each schedule is of one part");
    conan(&scratch, &["merge", "part1.json"])
        .exits_with(0)
        .prints("parts that are missing: 2");
    conan(&scratch, &["merge", "part1.json", "part2.json"])
        .exits_with(0)
        .prints("any_order (scripts/register.conan:8): exhausted: every schedule was run, in ")
        .prints("(2 of 2 parts)");
    conan(&scratch, &["merge", "part1.json", "part1.json"])
        .exits_with(2)
        .says("part 1 of 2 comes a second time");
    conan(&scratch, &["merge", "src/lib.rs"])
        .exits_with(2)
        .says("src/lib.rs:1: this is no finding");
}

#[test]
fn several_processes_find_what_one_finds() {
    let scratch = scratch("jobs", &[ORDER_MATTERS]);
    let failed_in = |jobs: &str| {
        let ran = conan(&scratch, &["explore", "--jobs", jobs, SCRIPT]);
        ran.exits_with(1);
        let line = ran.stdout.lines().next().unwrap_or_default().to_owned();
        let (_, rest) = line.split_once("in execution ").expect("it failed");
        rest.split(' ').next().map(str::to_owned)
    };
    assert_eq!(failed_in("1"), failed_in("3"));
}

#[test]
fn a_test_explores_if_its_sequence_or_the_environment_says_so() {
    let explored = ORDER_MATTERS.replace("matters\n", "matters\n    #explore dfs 100\n");
    let scratch = scratch(
        "explored_test",
        &[&explored, &ORDER_MATTERS.replace("matters", "twice")],
    );
    let ran = scratch.cargo_test().ran();
    ran.exits_with(101)
        .prints("test register::order_matters ... FAILED")
        .prints("test register::order_twice ... ok")
        .prints("replay: cargo conan replay scripts/register.conan order_matters:");
    let mut off = scratch.cargo_test();
    off.env("CONAN_EXPLORE", "off").ran().exits_with(0);
    let mut all = scratch.cargo_test();
    let ran = all.env("CONAN_EXPLORE", "random 50").ran();
    ran.exits_with(101)
        .prints("test register::order_twice ... FAILED");
    let mut wrong = scratch.cargo_test();
    let ran = wrong.env("CONAN_EXPLORE", "luck").ran();
    ran.exits_with(101)
        .prints("CONAN_EXPLORE: there is no strategy `luck`");
    // `run` explores, too.
    conan(&scratch, &["run", SCRIPT])
        .exits_with(1)
        .prints("order_matters (scripts/register.conan:8): FAILED in execution 2 (dfs 100)");
}

#[test]
fn hot_spots_are_reached_always_never_or_sometimes() {
    let spots = |spots: &str| {
        format!(
            "
#begin spots
    {spots}
    #tick
        #thread <a> r.set(1); #end
        #thread <b>
            hotspot(\"here\");
            if r.get() == 0 {{ hotspot(\"early\"); }}
        #end
    #end
#end
"
        )
    };
    let scratch = scratch("hot_spots", &[&spots("#always here\n    #sometimes early")]);
    let explore = ["explore", "--strategy", "dfs", SCRIPT];
    conan(&scratch, &explore).exits_with(0).prints("exhausted");
    // One run says nothing about what happens sometimes.
    conan(&scratch, &["run", SCRIPT]).exits_with(0);
    let says = |directives: &str, message: &str| {
        scratch.script(SCRIPT, &(TOP.to_owned() + &spots(directives)));
        conan(&scratch, &explore).exits_with(1).prints(message);
    };
    says("#never early", "the hot spot `early` was reached");
    says("#always early", "the hot spot `early` was not reached");
    says(
        "#sometimes nowhere",
        "FAILED: no execution has come to `nowhere`",
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let scratch = scratch("senseless", &[ANY_ORDER]);
    let refused = |arguments: &[&str], message: &str| {
        conan(&scratch, arguments).exits_with(2).says(message);
    };
    refused(&["replay", SCRIPT, "any_order"], "`sequence:token`");
    refused(&["replay", SCRIPT, "other:AQ"], "has no sequence `other`");
    refused(
        &["replay", SCRIPT, "any_order:AQ"],
        "the token is not complete",
    );
    refused(
        &["explore", "--sequence", "other", SCRIPT],
        "there is no sequence `other`",
    );
    refused(
        &["explore", "--preemptions", "2", SCRIPT],
        "`--preemptions` is for",
    );
    refused(
        &["explore", "--shard", "3/2", SCRIPT],
        "is not like `--shard 1/4`",
    );
    refused(&["explore", "--strategy", "luck", SCRIPT], "luck");
    refused(&["merge", "nothing.json"], "cannot read nothing.json");
}

/// Two accounts, each with a lock, taken in the order of the transfer.
const BANK: &str = "\
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

#[derive(Default)]
pub struct Bank([Mutex<u32>; 2]);

impl Bank {
    pub fn transfer(&self, from: usize, to: usize) {
        let mut source = self.0[from].lock().unwrap();
        thread::yield_now();
        let mut target = self.0[to].lock().unwrap();
        *source -= 1;
        *target += 1;
    }

    pub fn keep_time(&self) {
        loop {
            thread::sleep(Duration::from_millis(10));
        }
    }
}
";

const TRANSFERS: &str = "
#cut bank Bank::default()

#top
    use CRATE::Bank;
#end

#begin transfers
    #tick
        #thread <clock> bank.keep_time(); #end
        #thread <here> bank.transfer(0, 1); #end
        #thread <there> bank.transfer(1, 0); #end
    #end
    #stays clock
#end
";

#[test]
fn threads_that_wait_for_each_other_are_told_though_another_one_goes_on() {
    let scratch = Scratch::new("transfers");
    scratch.write("src/lib.rs", BANK);
    scratch.script("scripts/bank.conan", TRANSFERS);
    let cycle = "= note: a cycle: thread here waits for thread there and thread there waits \
                 for thread here\n";
    for arguments in [&["run"][..], &["explore", "--executions", "20"]] {
        let ran = scratch
            .conan()
            .args(arguments)
            .arg("scripts/bank.conan")
            .ran();
        ran.exits_with(1)
            .prints("thread here")
            .prints("= note: blocked at src/lib.rs:12:37\n")
            .prints("= note: it waits for a lock that thread there probably holds\n")
            .prints("= note: it waits for a lock that thread here probably holds\n")
            .prints(cycle);
    }
}

/// Two ways to hang in the same call: each thread holds the lock that the other
/// one waits for, which takes a preemption; or the first thread comes second,
/// which takes none.
const TWO_BUGS: &str = "\
use std::sync::{Condvar, Mutex};

#[derive(Default)]
pub struct Pair {
    locks: [Mutex<()>; 2],
    arrived: Mutex<Vec<usize>>,
    never: Condvar,
    point: Condvar,
}

impl Pair {
    pub fn enter(&self, number: usize) {
        let mut arrived = self.arrived.lock().unwrap();
        arrived.push(number);
        while arrived[0] == 1 && number == 0 {
            arrived = self.never.wait(arrived).unwrap();
        }
        drop(arrived);
        let _own = self.locks[number].lock().unwrap();
        for _ in 0..4 {
            self.point.notify_one();
        }
        let _other = self.locks[1 - number].lock().unwrap();
    }
}
";

const ENTERS: &str = "
#cut pair Pair::default()

#top
    use CRATE::Pair;
#end

#begin enters
    #tick
        #thread <a> #excMonitor pair.enter(0); #end #end
        #thread <b> #excMonitor pair.enter(1); #end #end
    #end
#end
";

#[test]
fn a_schedule_is_not_made_simpler_into_that_of_another_bug() {
    let scratch = Scratch::new("two_bugs");
    scratch.write("src/lib.rs", TWO_BUGS);
    scratch.script(SCRIPT, ENTERS);
    let mut places = std::collections::BTreeSet::new();
    for seed in 0..8 {
        let seed = seed.to_string();
        let words = ["explore", "--strategy", "random", "--seed", &seed, SCRIPT];
        let ran = conan(&scratch, &words);
        ran.exits_with(1);
        let line = ran.stdout.lines().find_map(|line| {
            let place = line.trim_start().strip_prefix("= note: blocked at ")?;
            Some(place.to_owned())
        });
        places.insert(line.unwrap_or_else(|| panic!("it hangs somewhere; {ran}")));
    }
    let lines = ["src/lib.rs:16:34", "src/lib.rs:23:45"].map(str::to_owned);
    assert_eq!(places, lines.into(), "each bug stays what it is");
}

/// In the wrong order both checks fail, and the errors change places with the
/// blocks of the threads.
const NUMBERED: &str = "
#begin numbered
    #tick
        #thread <a> #valueCheck r.next() # 1 #end #end
        #thread <b> #valueCheck r.next() # 2 #end #end
    #end
#end
";

#[test]
fn a_schedule_with_several_errors_becomes_a_script() {
    let scratch = Scratch::new("numbered");
    let next = "    pub fn next(&self) -> u32 {\n        self.add(1);\n        self.get()\n    }\n";
    let library = LIBRARY.replace("    pub fn get", &format!("{next}\n    pub fn get"));
    scratch.write("src/lib.rs", &library);
    scratch.script(SCRIPT, &(TOP.to_owned() + NUMBERED));
    let ran = conan(&scratch, &["explore", "--strategy", "dfs", SCRIPT]);
    ran.exits_with(1);
    let found = "scripts/found.conan";
    let words = ["replay", "--script", found, SCRIPT, &token(&ran)];
    conan(&scratch, &words)
        .exits_with(1)
        .prints("scripts/found.conan fails in the same way");
    conan(&scratch, &["run", found])
        .exits_with(1)
        .prints_line("Value errors: 2");
}
