//! What a driver prepares for one run of a sequence.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::escaped::Ended;
use crate::thread::Conan;

/// The code of a thread.
pub(crate) type Body = Box<dyn FnOnce(&Conan) -> Ended + Send>;

/// What every thread of a sequence can use.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared by the threads of a sequence: it is not `Sync`",
    label = "every thread uses this component by reference",
    note = "give it to one thread, `#thread <id> takes …`, or a clone to each, `clones …`"
)]
pub trait Shareable: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Shareable for T {}

/// Components, threads and checks of one run, made anew each time.
#[derive(Default)]
pub struct Plan {
    pub(crate) threads: Vec<(String, Body)>,
    pub(crate) checks: Option<Body>,
    pub(crate) teardown: Option<Box<dyn FnOnce() + Send>>,
    pub(crate) kept: Vec<Box<dyn Any + Send>>,
}

impl Plan {
    /// A component that every thread can use. It is kept to the end of the
    /// sequence.
    ///
    /// A component that is not `Sync` cannot be shared: give it to a thread
    /// with `#thread <id> takes …`, or to several with `clones …`.
    pub fn share<T: Shareable>(&mut self, component: T) -> Arc<T> {
        let component = Arc::new(component);
        self.kept.push(Box::new(component.clone()));
        component
    }

    /// A component that no thread uses: only kept to the end of the sequence.
    pub fn keep<T: Send + 'static>(&mut self, component: T) {
        self.kept.push(Box::new(component));
    }

    /// A thread of the script.
    pub fn thread(
        &mut self,
        name: impl Into<String>,
        body: impl FnOnce(&Conan) -> Ended + Send + 'static,
    ) {
        self.threads.push((name.into(), Box::new(body)));
    }

    /// The checks outside any thread.
    pub fn checks(&mut self, body: impl FnOnce(&Conan) -> Ended + Send + 'static) {
        self.checks = Some(Box::new(body));
    }

    /// What runs after the sequence, also if it fails.
    pub fn teardown(&mut self, teardown: impl FnOnce() + Send + 'static) {
        self.teardown = Some(Box::new(teardown));
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.threads.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Plan")
            .field("threads", &names)
            .finish_non_exhaustive()
    }
}
