//! How long it takes to read and check a script.
//!
//! Two claims: a script of the size that the paper reports, 400 lines in ten
//! sequences, takes less than 10 ms; and 100,000 lines take no more than 1.5
//! times as long for each line as 1,000 lines do. The bench fails if either
//! does not hold. Times are processor time where the system tells it: what else
//! the machine does is not in it.

use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const MAX_PAPER: Duration = Duration::from_millis(10);
const MAX_RATIO: f64 = 1.5;

fn main() -> ExitCode {
    let mut sizes = [(400, 250), (1_000, 100), (10_000, 10), (100_000, 1)].map(|(lines, runs)| {
        let text = script(lines);
        Size {
            text,
            runs,
            best: Duration::MAX,
        }
    });
    // In turns of about the same length, so that what else the machine does
    // falls on all of them alike.
    for _ in 0..6 {
        sizes.iter_mut().for_each(Size::measure);
    }
    sizes.iter().for_each(Size::print);
    let ratio = sizes[3].per_line() / sizes[1].per_line();
    println!("per line, 100,000 to 1,000: {ratio:.2}");
    let is_fast = sizes[0].best < MAX_PAPER;
    let is_linear = ratio < MAX_RATIO;
    if !is_fast {
        println!("400 lines take more than {MAX_PAPER:?}");
    }
    if !is_linear {
        println!("100,000 lines take more than {MAX_RATIO} times as long as they should");
    }
    if is_fast && is_linear {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

struct Size {
    text: String,
    /// How often it is read in a turn.
    runs: u32,
    /// The time of one run, in the best turn.
    best: Duration,
}

impl Size {
    fn measure(&mut self) {
        let texts: Vec<_> = (0..self.runs).map(|_| self.text.clone()).collect();
        let (began, before) = (Instant::now(), processor_time());
        texts.into_iter().for_each(read);
        let total = match (before, processor_time()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => began.elapsed(),
        };
        self.best = self.best.min(total / self.runs);
    }

    fn lines(&self) -> usize {
        self.text.lines().count()
    }

    fn per_line(&self) -> f64 {
        let lines = u32::try_from(self.lines()).expect("a few lines");
        self.best.as_secs_f64() / f64::from(lines)
    }

    fn print(&self) {
        let (lines, millis) = (self.lines(), self.best.as_secs_f64() * 1e3);
        let micros = self.per_line() * 1e6;
        println!("{lines:>7} lines: {millis:>8.3} ms, {micros:.2} µs a line");
    }
}

/// Reads and checks a script, on a thread of its own: proc-macro2 keeps what a
/// thread has parsed.
fn read(text: String) {
    let thread = std::thread::spawn(move || {
        let parsed = conan_lang::parse("bench.conan", text);
        assert!(parsed.diagnostics.is_empty(), "the script is clean");
    });
    thread.join().expect("the script can be read");
}

/// The processor time of this process, where there is `/proc`. Linux counts it
/// in hundredths of a second.
fn processor_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may hold anything; after it, the state is first.
    let numbers = stat.rsplit(')').next()?.split_whitespace();
    let ticks = numbers.skip(11).take(2).map(str::parse::<u64>);
    let ticks = ticks.sum::<Result<u64, _>>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

/// A script of about this many lines, in sequences of 39 lines, each in the
/// manner of the paper's own for its producer-consumer monitor.
fn script(lines: usize) -> String {
    let mut text = String::from(HEAD);
    let length = sequence(0).lines().count();
    for number in 0..lines.saturating_sub(HEAD.lines().count()).div_ceil(length) {
        text += &sequence(number);
    }
    text
}

const HEAD: &str = "\
// The asymmetric producer-consumer monitor of the paper.
#ticktime 1000
#cut m ProducerConsumer::new()
#conditions
    C5 send: it's 0 iterations of the loop
    C6 send: 1 iteration of the loop
#end
#top
    use conan_gallery::ProducerConsumer;
#end
";

fn sequence(number: usize) -> String {
    let mut text = format!("#begin sequence_about_{number}\n    #test C5 C6\n");
    text += "    #shared s\n        log: Mutex<Vec<u32>> = Mutex::new(Vec::new());\n";
    text += "        fn note(&self, n: u32) { self.log.lock().unwrap().push(n); }\n    #end\n";
    for tick in 1..=4 {
        let _ = write!(
            text,
            "    #tick                                   // time {tick}\n        \
                 #thread <first{tick}>\n            \
                     #excMonitor m.send(\"a # b\"); #end   // waits: the buffer is full\n            \
                     let value = m.receive().map(|x| x + {tick}); s.note(value);\n            \
                     #valueCheck value # Some('a') #end\n            \
                     #valueCheck time() # {tick} #end\n        \
                 #end\n    \
             #end\n",
        );
    }
    text += "#end\n";
    text
}
