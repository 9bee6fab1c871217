mod common;
use common::programs;
use conan_explore::*;

#[test]
fn look() {
    macro_rules! all {
        ($name:expr, $make:expr) => {
            let p = $make;
            print!("{:16}", $name);
            macro_rules! with {
                ($s:expr) => {{
                    let mut ex = Explorer::new($s).executions(600);
                    let e = ex.explore(&p);
                    match e.end {
                        End::Failed(f) => {
                            let s = f.shrunk.as_ref();
                            print!(
                                " {}({}>{})",
                                e.counts.executions,
                                f.trace.preemptions(),
                                s.map_or(-1, |s| s.trace.preemptions() as i64)
                            );
                        }
                        End::Exhausted { .. } => print!(" X{}", e.counts.executions),
                        _ => print!(" -"),
                    }
                }};
            }
            with!(Fixed);
            with!(Random::new(1));
            with!(Pct::new(1, 3));
            with!(Pos::new(1));
            with!(History::new(1));
            with!(Dfs::new());
            with!(Dfs::new().preemptions(2));
            if let End::Failed(f) = Explorer::new(Random::new(3)).explore(&p).end {
                if let Some(s) = &f.shrunk {
                    print!("   {} {} {}", s.failure, s.token, s.replays)
                } else {
                    print!("  NOT SHRUNK {}", f.failure)
                }
            }
            println!();
        };
    }
    all!("ab_ba", programs::ab_ba());
    all!("lost_notify", programs::lost_notify());
    all!("wrong_waiter22", programs::wrong_waiter(2, 2, false));
    all!("wrong_waiter12", programs::wrong_waiter(1, 2, false));
    all!("cta", programs::check_then_act(true));
    all!("cta-", programs::check_then_act(false));
    all!("buffer", programs::unsynchronised_buffer());
    all!("reorder3", programs::reorder(3));
    all!("reorder10", programs::reorder(10));
    all!("twostage", programs::two_stage(1));
    all!("twostage3", programs::two_stage(3));
    all!("wronglock", programs::wrong_lock(1));
    all!("wronglock3", programs::wrong_lock(3));
    all!("carter", programs::carter());
    all!("phase", programs::phase());
    all!("account", programs::account());
    all!("dining4", programs::dining(4));
    all!("dining8", programs::dining(8));
    all!("semaphore4", programs::semaphore(4));
    all!("polite", programs::too_polite(500));
    all!("prodcons", programs::producer_consumer(3));
}
