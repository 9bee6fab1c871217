//! Threads that still run at the end of a sequence: nothing is suspended.

use conan_integration::{Run, Scratch};

const COMPONENT: &str = "\
use std::hint::spin_loop;
use std::time::{Duration, Instant};

pub struct Busy;

impl Busy {
    pub fn new() -> Self {
        Self
    }

    pub fn compute(&self) {
        loop {
            spin_loop();
        }
    }

    pub fn poll(&self, ms: u64) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(ms) {}
    }
}
";

const SCRIPT: &str = "
#ticktime 1000
#cut m Busy

#top
    use CRATE::Busy;
#end

#begin a_poll_of_the_clock_ends_by_virtual_time
    #tick
        #thread <polls> m.poll(400); #end
    #end
    #tick
        #thread <later>
            #valueCheck time() # 2 #end
        #end
    #end
#end

#begin a_poll_of_the_clock_beyond_the_end
    #tick
        #thread <polls> m.poll(4_000_000); #end
    #end
#end

#begin a_loop_without_an_end
    #tick
        #thread <computes> m.compute(); #end
    #end
#end

#begin a_loop_that_is_meant_to_stay
    #tick
        #thread <computes> m.compute(); #end
    #end
    #stays computes
#end
";

#[test]
fn a_thread_that_still_runs_is_not_called_suspended() {
    let scratch = Scratch::new("busy");
    scratch.write("src/lib.rs", COMPONENT);
    scratch.script("scripts/busy.conan", SCRIPT);
    let ran = scratch
        .conan()
        .env("CONAN_PATIENCE", "3")
        .args(["run", "scripts/busy.conan"])
        .ran();
    ran.exits_with(1)
        .prints("a_poll_of_the_clock_ends_by_virtual_time ... ok\n")
        .prints("liveness error at tick 1, thread polls: still running since tick 1\n")
        .prints("= note: it yields or asks for the time, again and again\n")
        .prints("liveness error at tick 1, thread computes: still running since tick 1\n")
        .prints("= note: it computes, and was given up after 3 seconds of processor time\n")
        .prints("     | ... still running\n")
        .prints("a_loop_that_is_meant_to_stay ... ok\n");
    assert!(!ran.stdout.contains("suspended"), "{ran}");

    let ran = scratch
        .conan()
        .env("CONAN_PATIENCE", "long")
        .args(["run", "scripts/busy.conan"])
        .ran();
    ran.says("CONAN_PATIENCE: `long` is not a whole number of seconds");
}
