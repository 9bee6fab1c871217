//! Explores the component, and prints a line for each program: its name, what
//! came of it, how many executions it took. With the name of a program and a
//! token it replays that.

use std::sync::Arc;

use CRATE_component::{Buffer, Counter, Seats, Slot};
use conan_explore::{Dfs, End, Explorer, Failure, Outcome, Program, Random, Stage, Threads, replay};

/// Two threads that do the same to one component, or not quite.
fn pair<T: Send + Sync + 'static>(
    new: fn() -> T,
    one: fn(&T),
    other: fn(&T),
    count: fn(&T) -> usize,
    expected: usize,
) -> Threads<impl Fn(&mut Stage)> {
    Threads::new(move |stage| {
        let component = Arc::new(new());
        let [a, b] = [Arc::clone(&component), Arc::clone(&component)];
        stage.spawn("one", move || one(&a));
        stage.spawn("other", move || other(&b));
        stage.check(move || match count(&component) {
            count if count == expected => Ok(()),
            count => Err(format!("{count} instead of {expected}")),
        });
    })
}

fn main() {
    let sell = |seats: &Seats| drop(seats.sell(1));
    let sell_at_once = |seats: &Seats| drop(seats.sell_at_once(1));
    let sold = |seats: &Seats| seats.sold() as usize;
    let count = |counter: &Counter| counter.count() as usize;
    let get = |slot: &Slot<u64>| drop(slot.get());
    let get_large = |slot: &Slot<[u64; 9]>| drop(slot.get());
    let put = |buffer: &Buffer<[u64; 3]>| buffer.put([1; 3]);

    run("seats", &pair(Seats::default, sell, sell, sold, 1));
    run("seats at once", &pair(Seats::default, sell_at_once, sell_at_once, sold, 1));
    run("counter", &pair(Counter::default, Counter::add, Counter::add, count, 2));
    let add = Counter::add_at_once;
    run("counter at once", &pair(Counter::default, add, add, count, 2));
    run("slot", &pair(Slot::default, |slot| slot.put_late(7), get, |_| 0, 0));
    run("slot in time", &pair(Slot::default, |slot| slot.put(7), get, |_| 0, 0));
    run("large slot", &pair(Slot::default, |slot| slot.put_late([7; 9]), get_large, |_| 0, 0));
    run("large slot in time", &pair(Slot::default, |slot| slot.put([7; 9]), get_large, |_| 0, 0));
    run("buffer", &pair(Buffer::default, put, put, Buffer::len, 2));
}

fn run(name: &str, program: &impl Program<Failure = Failure>) {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => explore(name, program),
        [wanted, token] if wanted == name => {
            let replayed = replay(program, &token.parse().expect("a token"));
            let Outcome::Failed(failure) = replayed.verdict.outcome else {
                panic!("it does not fail again");
            };
            println!("{name}: {failure}, fits: {}", replayed.fits);
        }
        _ => {}
    }
}

fn explore(name: &str, program: &impl Program<Failure = Failure>) {
    let exploration = Explorer::new(Dfs::new()).executions(10_000).explore(program);
    let executions = exploration.counts.executions;
    match exploration.end {
        End::Failed(found) => {
            println!("{name}: failed after {executions}: {}", found.failure);
            println!("{name} token {}", found.shrunk.expect("it fails again").token);
        }
        End::Exhausted { .. } => println!("{name}: passed after {executions}: all"),
        other => println!("{name}: {other:?}"),
    }
    let fails = |seed: &u64| {
        let search = Random::new(*seed);
        let exploration = Explorer::new(search).executions(50).replays(0).explore(program);
        matches!(exploration.end, End::Failed(_))
    };
    println!("{name}: {} of 100 seeds fail", (0..100).filter(fails).count());
}
