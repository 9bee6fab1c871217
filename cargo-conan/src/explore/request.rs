//! What a driver is asked for, in the words that it understands.

use crate::cli::ExploreArgs;
use crate::exit::{Stop, error};

/// Executions where only the time is limited.
const ANY_NUMBER: u64 = u64::MAX;

/// Executions where nothing is said.
const EXECUTIONS: u64 = 1000;

/// An exploration, and the part of it that is ours.
#[derive(Debug)]
pub(super) struct Request {
    words: String,
    /// In all parts together.
    pub(super) executions: Option<u64>,
    /// Counted from 1, and of how many.
    pub(super) part: (u64, u64),
}

impl Request {
    /// For one of `jobs` processes, counted from 0.
    pub(super) fn words(&self, job: u64, jobs: u64) -> String {
        let (part, count) = self.part;
        let (part, count) = ((part - 1) * jobs + job + 1, count * jobs);
        format!("{} shard={part}/{count}", self.words)
    }
}

pub(super) fn request(args: &ExploreArgs) -> Stop<Request> {
    let executions = match (args.executions, args.seconds) {
        (Some(executions), _) => Some(executions),
        (None, Some(_)) => None,
        (None, None) => Some(EXECUTIONS),
    };
    let mut words = vec![
        args.strategy.clone(),
        executions.unwrap_or(ANY_NUMBER).to_string(),
    ];
    let mut add = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("{name}={value}")));
    };
    add("seconds", args.seconds.map(|seconds| seconds.to_string()));
    add("seed", args.seed.map(|seed| seed.to_string()));
    add(
        "preemptions",
        args.preemptions.map(|bound| bound.to_string()),
    );
    add("depth", args.depth.map(|depth| depth.to_string()));
    add(
        "spurious",
        args.spurious.map(|spurious| spurious.to_string()),
    );
    add("steps", args.steps.map(|steps| steps.to_string()));
    if args.preemptions.is_some() && args.strategy != "dfs" {
        return Err(error("`--preemptions` is for `--strategy dfs`"));
    }
    if args.depth.is_some() && args.strategy != "pct" {
        return Err(error("`--depth` is for `--strategy pct`"));
    }
    Ok(Request {
        words: words.join(" "),
        executions,
        part: part(args.shard.as_deref())?,
    })
}

/// `2/4` is the second of four.
fn part(shard: Option<&str>) -> Stop<(u64, u64)> {
    let Some(shard) = shard else {
        return Ok((1, 1));
    };
    let numbers = shard.split_once('/');
    let numbers = numbers.and_then(|(part, count)| Some((part.parse().ok()?, count.parse().ok()?)));
    match numbers {
        Some::<(u64, u64)>((part, count)) if (1..=count).contains(&part) => Ok((part, count)),
        _ => Err(error(format_args!(
            "`--shard {shard}` is not like `--shard 1/4`: the first of four"
        ))),
    }
}
