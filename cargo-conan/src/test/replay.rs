//! One execution of one test again.

use super::args::Request;
use super::execute::{Executor, Wish};
use super::library::Library;
use super::list::Test;
use super::report::Report;
use crate::exit::{Exit, Stop, error};

/// The test that is meant: the one of this very name, or the only one whose
/// name contains it.
pub(super) fn choose<'t>(tests: Vec<Test<'t>>, request: &Request) -> Stop<Test<'t>> {
    let wanted = request.filter.as_ref().map(|name| name.to_string_lossy());
    let is_meant = |test: &Test<'_>| test.name.as_deref() == wanted.as_deref();
    let is_named = tests.iter().any(is_meant);
    let mut meant = tests.into_iter().filter(|test| !is_named || is_meant(test));
    match (meant.next(), meant.next()) {
        (Some(test), None) => Ok(test),
        (None, _) => Err(error(format_args!(
            "there is no test `{}` to replay",
            wanted.unwrap_or_default()
        ))),
        (Some(one), Some(other)) => Err(error(format_args!(
            "which test? There are `{}` and `{}`, and a token is of one: `--replay TOKEN NAME`",
            one.full_name(),
            other.full_name()
        ))),
    }
}

/// An error if the replay took another path than the execution of the token.
pub(super) fn has_fitted(report: &Report<'_>) -> Stop<()> {
    let scheduled = report.results.iter().find_map(|it| it.1.scheduled.as_ref());
    if scheduled.is_some_and(|scheduled| !scheduled.fits) {
        error(
            "the replay took a different path: the test, its package or the options are not \
             those with which the token was recorded",
        );
        return Err(Exit::Undecided);
    }
    Ok(())
}

/// Runs it, and reports with all output.
pub(super) fn replay<'t>(
    test: &'t Test<'t>,
    token: &str,
    library: &Library,
    report: &mut Report<'t>,
) -> Stop<()> {
    let wish = Wish {
        schedule: token.to_owned(),
        memory: None,
    };
    let outcome = Executor::new(Some(library)).execute(test, 0, Some(&wish));
    let outcome = outcome.map_err(|failure| {
        error(format_args!(
            "cannot replay {}: {failure}",
            test.full_name()
        ))
    })?;
    report.ended(test, outcome);
    Ok(())
}
