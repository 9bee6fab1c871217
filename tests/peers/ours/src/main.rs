//! The programs over std's own synchronisation, explored by conan.
//!
//! Called by the bench, which reads what it prints: see `asked`.

#[path = "../../asked.rs"]
mod asked;
#[path = "../../../../conan-explore/tests/common/phantom.rs"]
mod phantom;
#[allow(dead_code, reason = "the bench knows how many threads")]
#[path = "../../programs/mod.rs"]
mod programs;
mod tool;

use conan_explore::{
    Abreast, Dfs, End, Exploration, Explorer, Failure, Fixed, History, Mixed, Pct, Pos, Program,
    Random, Stage, Threads,
};

use conan_kernel::stay_aboard;

use crate::asked::{Answer, Asked, End as Ended, StopWatch};

fn main() {
    // One stay for all seeds: explorations come one after the other.
    stay_aboard(explore);
}

fn explore() {
    asked::answer(|asked| {
        let program = programs::named(&asked.program);
        // One for all seeds: its threads are kept.
        let threads = Threads::new(move |stage: &mut Stage| {
            let stage = &mut tool::Stage(stage);
            match program {
                Some(program) => (program.set)(stage, asked.threads),
                None => {
                    assert_eq!(asked.program, "phantom2", "there is no such program");
                    phantom::set(stage.0);
                }
            }
        });
        move |seed| run(asked, &threads, seed)
    });
}

fn explorer(strategy: &str, seed: u64) -> Explorer {
    match strategy {
        "random" => Explorer::new(Random::new(seed)),
        "mixed" => Explorer::new(Mixed::new(seed)),
        "abreast" => Explorer::new(Abreast::new(seed)),
        "pct" => Explorer::new(Pct::new(seed, 3)),
        "pos" => Explorer::new(Pos::new(seed)),
        "history" => Explorer::new(History::new(seed)),
        "dfs" => Explorer::new(Dfs::new()),
        "fixed" => Explorer::new(Fixed),
        other => panic!("there is no strategy {other}"),
    }
}

fn run(asked: &Asked, program: &impl Program<Failure = Failure>, seed: u64) -> Answer {
    let watch = StopWatch::start();
    let Exploration { end, counts }: Exploration<Failure> = explorer(&asked.strategy, seed)
        .executions(asked.executions)
        .replays(0)
        .explore_while(program, |_| watch.elapsed() < asked.limit);
    let answer = watch.answer(ended(&end), counts.executions);
    if let End::Impossible(reason) = &end {
        panic!("{reason}");
    }
    assert_eq!(counts.inexact, 0, "an execution was not exact");
    answer
}

fn ended(end: &End<Failure>) -> Ended {
    match end {
        // It came to the bound of its steps: that is no bug found.
        End::Failed(found) if matches!(found.failure, Failure::Endless(_)) => Ended::GaveUp,
        End::Failed(_) => Ended::Found,
        _ => Ended::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn end_of(set: fn(&mut Stage)) -> Ended {
        let asked = Asked {
            program: String::new(),
            threads: 1,
            strategy: "random".to_owned(),
            seeds: 1,
            executions: 10,
            limit: Duration::from_mins(10),
        };
        run(&asked, &Threads::new(set), 1).end
    }

    #[test]
    fn the_bound_of_steps_is_no_bug_found() {
        let spins = |stage: &mut Stage| {
            stage.spawn("spins", || {
                loop {
                    std::thread::yield_now();
                }
            });
        };
        assert_eq!(end_of(spins), Ended::GaveUp);
    }

    #[test]
    fn a_panic_is_a_bug_found() {
        let panics = |stage: &mut Stage| stage.spawn("panics", || panic!("the bug"));
        assert_eq!(end_of(panics), Ended::Found);
        assert_eq!(end_of(|_| ()), Ended::NotFound);
    }
}
