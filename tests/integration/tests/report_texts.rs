//! What reports say, word by word, where it was misleading once.

use conan_integration::{Run, Scratch};
use serde_json::Value;

const COMPONENT: &str = "\
use std::cell::UnsafeCell;
use std::sync::Mutex;

#[derive(Default)]
pub struct Racy(UnsafeCell<u32>, Mutex<u32>);

unsafe impl Sync for Racy {}

impl Racy {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn set(&self, value: u32) {
        unsafe { *self.0.get() = value }
    }

    pub fn add(&self, more: u32) {
        *self.1.lock().unwrap() += more;
    }

    pub fn sum(&self) -> u32 {
        *self.1.lock().unwrap()
    }
}
";

const TOP: &str = "
#cut r Racy::new()

#top
    use CRATE::Racy;
#end
";

fn scratch(name: &str, sequences: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("src/lib.rs", COMPONENT);
    scratch.script("scripts/texts.conan", &format!("{TOP}{sequences}"));
    scratch
}

#[test]
fn a_data_race_has_a_heading_of_its_own() {
    let race = "
#begin races
    #tick
        #thread <a> #excMonitor r.set(1); #end #end
        #thread <b> #excMonitor r.set(2); #end #end
    #end
#end
";
    let scratch = scratch("races", race);
    let explore = |format: &str| {
        let ran = scratch
            .conan()
            .args(["explore", "--fine", "--message-format", format])
            .arg("scripts/texts.conan")
            .ran();
        ran.exits_with(1);
        ran
    };
    explore("human").prints("\ndata race at tick 1, thread ");
    let ran = explore("short");
    ran.prints(": data race: races, tick 1, thread ");
    assert!(!ran.stdout.contains("value error"), "{ran}");
    explore("github").prints(",title=data race::races, tick 1, thread ");
    let ran = explore("json");
    let report: Value = serde_json::from_str(ran.stdout.lines().next().expect("a report"))
        .unwrap_or_else(|error| panic!("{error}: {ran}"));
    assert_eq!(report["errors"][0]["kind"], "race", "{report:#}");
    assert_eq!(report["totals"]["data_races"], 1, "{report:#}");
    assert_eq!(report["totals"]["value_errors"], 0, "{report:#}");
}

#[test]
fn a_run_says_what_was_checked() {
    let sequences = "
#begin nothing_is_checked
    #tick
        #thread <a> r.add(1); #end
    #end
#end

#begin only_outside_the_threads
    #tick
        #thread <a> r.add(1); #end
        #finished a
    #end
#end

#begin explored
    #explore fixed 3
    #tick
        #thread <a> #valueCheck r.sum() # 0 #end #end
        #thread <a2> #excMonitor r.add(1); #end #end
    #end
#end
";
    let scratch = scratch("checked", sequences);
    let ran = scratch.conan().args(["run", "scripts/texts.conan"]).ran();
    ran.exits_with(0)
        .prints("nothing_is_checked ... ok (no checks ran)\n")
        .prints("only_outside_the_threads ... ok\n")
        .prints(": bound reached: no failure in 3 executions, 1 different schedule (fixed 3")
        .prints("\nTest cases: 2\n");
    assert!(!ran.stdout.contains("were asked for"), "{ran}");
    let ran = scratch
        .conan()
        .args(["run", "--message-format", "json", "scripts/texts.conan"])
        .ran();
    let reports: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {ran}")))
        .collect();
    assert_eq!(reports[0]["checks_ran"], false, "{ran}");
    assert_eq!(reports[1]["checks_ran"], true, "{ran}");
}

#[test]
fn cargos_error_is_said_to_be_one_once() {
    let scratch = Scratch::new("broken_manifest");
    scratch.write("Cargo.toml", "[package]\nname = 7\n");
    let ran = scratch.conan().args(["new", "later"]).ran();
    ran.never_mentions("error: error");
    assert!(ran.stderr.contains("error: "), "{ran}");
}
