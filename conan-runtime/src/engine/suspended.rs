//! What the kernel knows of a thread that is suspended.

use conan_explore::WaitFor;
use conan_kernel::{Cause, ThreadId, ThreadInfo, Wake};

use super::r#virtual::{VirtualSession, place};
use super::{LastWake, Running, Suspension, Waker};
use crate::backtrace::component_frame;

impl VirtualSession {
    pub(super) fn suspension_of(&self, id: ThreadId, wait_for: &WaitFor) -> Suspension {
        let location = wait_for.backtrace(id).map(str::to_owned);
        let location = location.or_else(|| self.world.backtrace(id));
        let location = location.and_then(|trace| component_frame(&trace));
        let threads = Threads(self.world.threads());
        let Some((info, blocked)) = threads.get(id).and_then(|info| Some((info, info.blocked?)))
        else {
            let running = threads.get(id).and_then(|info| info.running);
            return Suspension {
                running: running.map(|running| match running {
                    conan_kernel::Running::Computes => Running::Computes,
                    conan_kernel::Running::InCall => Running::InCall,
                    conan_kernel::Running::Yields => Running::Yields,
                }),
                location,
                ..Suspension::default()
            };
        };
        let mut suspension = Suspension {
            place: place(info.tag),
            location,
            until: blocked.deadline.map(|deadline| self.tick_of(deadline)),
            woken: info
                .last_wake
                .filter(|wake| wake.by.is_some() || wake.timed_out)
                .map(|wake| (self.tick_of(wake.at), threads.waker(wake))),
            cycle: wait_for.cycle(id).map_or_else(Vec::new, |cycle| {
                cycle.into_iter().map(|id| threads.name(id)).collect()
            }),
            ..Suspension::default()
        };
        match blocked.cause {
            Cause::Join(other) => suspension.joins = Some(threads.name(other)),
            Cause::Futex(address) => {
                if let Some(holders) = wait_for.holders(id) {
                    let others = holders.threads.iter().filter(|&&other| other != id);
                    suspension.held_by = others.map(|&other| threads.name(other)).collect();
                    suspension.holds_itself = holders.threads.contains(&id);
                    suspension.holder_is_certain = holders.is_certain;
                }
                let same = |info: &&ThreadInfo| {
                    let cause = info.blocked.map(|blocked| blocked.cause);
                    info.id != id && cause == Some(blocked.cause)
                };
                let others = threads.0.iter().filter(same);
                suspension.others = others.map(|info| threads.name(info.id)).collect();
                let call = self.world.last_wake_call(address);
                // One that it has seen itself is told above.
                let call = call.filter(|call| call.woke != Some(id));
                suspension.last_wake = call.map(|call| LastWake {
                    tick: self.tick_of(call.at),
                    by: threads.by(call.by, call.tag),
                    woke: call.woke.map(|woke| threads.name(woke)),
                });
            }
            Cause::Sleep | Cause::Park | Cause::Io(_) | Cause::Signal => {}
        }
        suspension
    }
}

/// The threads of a world, for sentences.
pub(super) struct Threads(pub(super) Vec<ThreadInfo>);

impl Threads {
    fn get(&self, id: ThreadId) -> Option<&ThreadInfo> {
        self.0.iter().find(|info| info.id == id)
    }

    fn name(&self, id: ThreadId) -> String {
        match self.get(id).and_then(|info| info.name.as_ref()) {
            Some(name) => format!("thread {name}"),
            None => match self.get(id) {
                Some(info) => format!("the component's thread {}", info.number),
                None => "a thread of the component".to_owned(),
            },
        }
    }

    fn by(&self, id: Option<ThreadId>, tag: u64) -> Waker {
        let thread = id.and_then(|id| self.get(id)?.name.clone());
        Waker {
            place: place(tag).filter(|_| thread.is_some()),
            thread,
            time_out: false,
        }
    }

    pub(super) fn waker(&self, wake: Wake) -> Waker {
        Waker {
            time_out: wake.timed_out,
            ..self.by(wake.by, wake.tag)
        }
    }
}
