//! How a sequence is explored, as one line says it: `random 1000 seed=7`.

use std::fmt;
use std::str::FromStr;

/// Executions, where nothing is said about them.
const EXECUTIONS: u64 = 1000;

/// Steps of an execution, where nothing is said about them.
const STEPS: u64 = 100_000;

/// The depth of the bugs that `pct` is meant for, where nothing is said.
const DEPTH: usize = 3;

/// How the schedules of a sequence are explored.
#[derive(Debug, Clone, PartialEq)]
pub struct Exploring {
    /// Who decides.
    pub by: By,
    /// So many executions at most, in all shards together.
    pub executions: u64,
    /// For so many seconds at most.
    pub seconds: Option<f64>,
    /// What random decisions begin with.
    pub seed: u64,
    /// `dfs`: schedules with so many preemptions at most.
    pub preemptions: Option<usize>,
    /// `pct`: bugs of this depth.
    pub depth: usize,
    /// How many waits of an execution may end for no reason.
    pub spurious: u32,
    /// An execution with more steps does not come to its end.
    pub steps: u64,
    /// Which part of all executions, counted from 0, and of how many.
    pub shard: (u64, u64),
}

/// A strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Several of the others in turn.
    Mixed,
    /// A random walk.
    Random,
    /// Random priorities that change at few moments.
    Pct,
    /// Partial order sampling.
    Pos,
    /// All threads come to the same of their steps.
    Abreast,
    /// Every schedule, one after the other.
    Dfs,
    /// What was not tried in the same state before.
    History,
    /// The default order, once.
    Fixed,
}

impl By {
    /// Every strategy.
    pub const ALL: [Self; 8] = [
        Self::Mixed,
        Self::Random,
        Self::Pct,
        Self::Pos,
        Self::Abreast,
        Self::Dfs,
        Self::History,
        Self::Fixed,
    ];

    /// The name, as scripts and `--strategy` spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Random => "random",
            Self::Pct => "pct",
            Self::Pos => "pos",
            Self::Abreast => "abreast",
            Self::Dfs => "dfs",
            Self::History => "history",
            Self::Fixed => "fixed",
        }
    }
}

impl Default for Exploring {
    fn default() -> Self {
        Self {
            by: By::Mixed,
            executions: EXECUTIONS,
            seconds: None,
            seed: 0,
            preemptions: None,
            depth: DEPTH,
            spurious: 0,
            steps: STEPS,
            shard: (0, 1),
        }
    }
}

impl FromStr for Exploring {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let name = words.next().ok_or("a strategy is missing")?;
        let mut exploring = Self {
            by: strategy(name)?,
            ..Self::default()
        };
        for word in words {
            match word.split_once('=') {
                None => exploring.executions = positive("executions", word)?,
                Some(("seconds", value)) => exploring.seconds = Some(seconds(value)?),
                Some(("seed", value)) => exploring.seed = number("seed", value)?,
                Some(("preemptions", value)) => {
                    exploring.preemptions = Some(number("preemptions", value)?);
                }
                Some(("depth", value)) => exploring.depth = positive("depth", value)?,
                Some(("spurious", value)) => exploring.spurious = number("spurious", value)?,
                Some(("steps", value)) => exploring.steps = positive("steps", value)?,
                Some(("shard", value)) => exploring.shard = shard(value)?,
                Some((key, _)) => return Err(format!("there is no option `{key}`")),
            }
        }
        if exploring.preemptions.is_some() && exploring.by != By::Dfs {
            return Err("`preemptions` is an option of `dfs`".to_owned());
        }
        Ok(exploring)
    }
}

fn strategy(name: &str) -> Result<By, String> {
    let found = By::ALL.into_iter().find(|by| by.name() == name);
    found.ok_or_else(|| {
        let names = By::ALL.map(By::name).join(", ");
        format!("there is no strategy `{name}`; there is: {names}")
    })
}

fn number<N: FromStr>(what: &str, value: &str) -> Result<N, String> {
    let parsed = value.parse();
    parsed.map_err(|_| format!("`{what}` is `{value}`, which is not a whole number"))
}

fn positive<N: FromStr + Default + PartialEq>(what: &str, value: &str) -> Result<N, String> {
    let parsed = value.parse().ok().filter(|number| *number != N::default());
    parsed.ok_or_else(|| format!("`{what}` is `{value}`, which is not a positive whole number"))
}

fn seconds(value: &str) -> Result<f64, String> {
    let parsed = value
        .parse()
        .ok()
        .filter(|s: &f64| s.is_finite() && *s > 0.0);
    parsed.ok_or_else(|| format!("`seconds` is `{value}`, which is not a positive number"))
}

/// `2/4` is the second of four.
fn shard(value: &str) -> Result<(u64, u64), String> {
    let parts = value.split_once('/');
    let parsed = parts.and_then(|(part, count)| Some((part.parse().ok()?, count.parse().ok()?)));
    match parsed {
        Some::<(u64, u64)>((part, count)) if 1 <= part && part <= count => Ok((part - 1, count)),
        _ => Err(format!(
            "`shard` is `{value}`, which is not like `1/4`: the first of four"
        )),
    }
}

impl fmt::Display for Exploring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        write!(f, "{} {}", self.by.name(), self.executions)?;
        if let Some(seconds) = self.seconds {
            write!(f, " seconds={seconds}")?;
        }
        if self.seed != default.seed {
            write!(f, " seed={}", self.seed)?;
        }
        if let Some(preemptions) = self.preemptions {
            write!(f, " preemptions={preemptions}")?;
        }
        if self.depth != default.depth {
            write!(f, " depth={}", self.depth)?;
        }
        if self.spurious != default.spurious {
            write!(f, " spurious={}", self.spurious)?;
        }
        if self.steps != default.steps {
            write!(f, " steps={}", self.steps)?;
        }
        if self.shard != default.shard {
            write!(f, " shard={}/{}", self.shard.0 + 1, self.shard.1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let lines = [
            "random 1000",
            "dfs 20000 preemptions=2",
            "pct 5 seed=7 depth=4 shard=2/3",
            "pos 1000 seconds=1.5 spurious=1 steps=500",
        ];
        for line in lines {
            let exploring: Exploring = line.parse().expect(line);
            assert_eq!(exploring.to_string(), line);
        }
        assert_eq!(
            "history".parse::<Exploring>().map(|e| e.executions),
            Ok(EXECUTIONS)
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let lines = [
            ("", "a strategy is missing"),
            ("luck", "there is no strategy `luck`"),
            ("random 0", "`executions` is `0`"),
            ("random many", "`executions` is `many`"),
            ("random 10 preemptions=2", "an option of `dfs`"),
            ("random 10 speed=9", "no option `speed`"),
            ("random shard=3/2", "`shard` is `3/2`"),
            ("random seconds=-1", "`seconds` is `-1`"),
        ];
        for (line, message) in lines {
            let error = line.parse::<Exploring>().expect_err(line);
            assert!(error.contains(message), "{line}: {error}");
        }
    }
}
