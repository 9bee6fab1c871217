//! What came of the mutants, for people and for programs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use conan_mutate::{Mutant, Operator};
use serde_json::{Value, json};

use super::plan::{Component, Job};
use super::table::{self, Counts};
use super::verdict::Verdict;
use crate::cli::Format;
use crate::exit::{Exit, error};
use crate::github::{self, Level, Location};
use crate::output;
use crate::run::interrupt;

/// A mutant that has been tried.
pub(crate) struct Done {
    /// The component's number in its job.
    pub(crate) component: usize,
    /// Its file.
    pub(crate) file: String,
    pub(crate) mutant: Mutant,
    pub(crate) diff: String,
    /// The change in one line.
    pub(crate) words: String,
    pub(crate) verdict: Verdict,
    pub(crate) time: Duration,
}

/// Prints results and adds them up.
pub(crate) struct Report {
    format: Format,
    start: Instant,
    /// For each component of the job, what became of its mutants.
    job: Vec<BTreeMap<Operator, Counts>>,
    survivors: Vec<String>,
    /// All components so far.
    rows: Vec<(String, Counts)>,
    /// The same as data.
    components: Vec<Value>,
    /// A declaration is wrong.
    is_wrong: bool,
}

impl Report {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            start: Instant::now(),
            job: Vec::new(),
            survivors: Vec::new(),
            rows: Vec::new(),
            components: Vec::new(),
            is_wrong: false,
        }
    }

    /// A job begins.
    pub(crate) fn begin(&mut self, job: &Job) {
        self.job = job.components.iter().map(|_| BTreeMap::new()).collect();
        self.survivors.clear();
    }

    /// What a mutant is, before its report.
    pub(crate) fn before(&self, done: &Done) {
        if self.format == Format::Human {
            output::out(format_args!("{}\n", done.diff));
        }
    }

    /// What came of it, after its report.
    pub(crate) fn after(&self, done: &Done) {
        if self.format == Format::Human {
            let verdict = match &done.verdict {
                Verdict::Killed(killer) => format!("killed: {}", killer.words()),
                Verdict::Survived { .. } => "survived".to_owned(),
                Verdict::Unviable => "does not compile".to_owned(),
            };
            output::out(format_args!("\n{}: {verdict}\n\n", done.mutant.id()));
        }
    }

    /// A mutant has been tried.
    pub(crate) fn mutant(&mut self, done: &Done) {
        let mutant = &done.mutant;
        let counts = self.job[done.component].entry(mutant.operator).or_default();
        match (&done.verdict, &mutant.equivalent) {
            (Verdict::Killed(_), _) => counts.killed += 1,
            (Verdict::Unviable, _) => counts.unviable += 1,
            (Verdict::Survived { .. }, Some(_)) => counts.equivalent += 1,
            (Verdict::Survived { .. }, None) => counts.survived += 1,
        }
        match self.format {
            Format::Json => output::out(format_args!("{}\n", json(done))),
            Format::Human => self.human(done),
            Format::Short | Format::Github => lines(done, self.format),
        }
        self.check_declaration(done);
    }

    fn human(&mut self, done: &Done) {
        let Verdict::Survived { inexact } = &done.verdict else {
            return;
        };
        if done.mutant.equivalent.is_some() {
            return;
        }
        let Done { file, mutant, .. } = done;
        let (line, column) = (mutant.line, mutant.column);
        let style = anstyle::AnsiColor::Red.on_default().bold();
        let mut text = format!(
            "{style}survived{style:#}: {} at {file}:{line}:{column}\n{}",
            mutant.id(),
            done.diff
        );
        for why in inexact {
            text.push_str(&format!("note: this run was not exact: {why}\n"));
        }
        self.survivors.push(text);
    }

    /// What the source says must be true.
    fn check_declaration(&mut self, done: &Done) {
        let Done { file, mutant, .. } = done;
        let but = match (&done.verdict, &mutant.equivalent) {
            (Verdict::Killed(killer), Some(_)) => {
                format!("but it is killed: {}", killer.words())
            }
            (Verdict::Unviable, Some(_)) => {
                "but it does not compile, and needs no declaration".to_owned()
            }
            _ => return,
        };
        self.is_wrong = true;
        let (line, column, id) = (mutant.line, mutant.column, mutant.id());
        error(format_args!(
            "{file}:{line}:{column}: {id} is declared equivalent, {but}"
        ));
    }

    /// All mutants of a job have been tried.
    pub(crate) fn finish(&mut self, job: &Job) {
        for survivor in self.survivors.drain(..) {
            output::out(format_args!("{survivor}\n"));
        }
        let scripts = job.scripts.iter().map(|path| path.display().to_string());
        let scripts: Vec<String> = scripts.collect();
        for (component, counts) in job.components.iter().zip(std::mem::take(&mut self.job)) {
            let total: Counts = counts.values().sum();
            self.components.push(json_of(component, &scripts, total));
            self.rows.push((component.shown.clone(), total));
            if self.format == Format::Human {
                let (file, scripts) = (&component.shown, scripts.join(", "));
                let table = table::by_operator(&counts);
                output::out(format_args!(
                    "{file}, tested by {scripts}\n\n{table}score: {}\n\n",
                    total.score()
                ));
            }
        }
    }

    /// The command was stopped in the middle of a job. Prints what was found so
    /// far, and returns the exit code.
    pub(crate) fn stopped(mut self, job: &Job) -> Exit {
        let tried: Counts = self.job.iter().flat_map(BTreeMap::values).sum();
        let tried = tried.generated();
        let mutants = job.components.iter().map(|component| &component.mutants);
        let all: usize = mutants.map(Vec::len).sum();
        self.finish(job);
        let message = format!("stopped when {tried} of {all} mutants were tried");
        match self.format {
            Format::Json => output::out(format_args!("{}\n", json!({ "stopped": message }))),
            Format::Github => github::annotate(Level::Warning, None, "", &message),
            Format::Human | Format::Short => output::out(format_args!("{message}\n")),
        }
        interrupt::exit(self.end() == Exit::Failed)
    }

    /// For the progress bar.
    pub(crate) fn so_far(&self) -> String {
        let total: Counts = self.job.iter().flat_map(BTreeMap::values).sum();
        let (killed, survived) = (total.killed, total.survived);
        format!("{killed} killed, {survived} survived")
    }

    /// Everything has been tried.
    pub(crate) fn end(self) -> Exit {
        let total: Counts = self.rows.iter().map(|(_, counts)| counts).sum();
        let seconds = self.start.elapsed().as_secs_f64();
        match self.format {
            Format::Json => {
                let mut summary = total.json();
                summary["components"] = json!(self.components);
                summary["seconds"] = json!(rounded(seconds));
                output::out(format_args!("{}\n", json!({ "summary": summary })));
            }
            Format::Human if self.rows.len() > 1 => {
                let table = table::table("component", &self.rows);
                output::out(format_args!("{table}score: {}\n", total.score()));
            }
            Format::Short => output::out(format_args!("score: {}\n", total.score())),
            Format::Github => {
                let message = format!("score: {}", total.score());
                github::annotate(Level::Notice, None, "mutate", &message);
            }
            Format::Human => {}
        }
        let mutants = crate::check::counted(total.generated(), "mutant");
        output::err(format_args!("tried {mutants} in {seconds:.1} s\n"));
        if self.is_wrong {
            Exit::Wrong
        } else if total.survived > 0 {
            Exit::Failed
        } else {
            Exit::Fine
        }
    }
}

/// One line for a survivor.
fn lines(done: &Done, format: Format) {
    if !matches!(done.verdict, Verdict::Survived { .. }) || done.mutant.equivalent.is_some() {
        return;
    }
    let Done {
        file,
        mutant,
        words,
        ..
    } = done;
    let (line, column, id) = (mutant.line, mutant.column, mutant.id());
    if format == Format::Github {
        let place = Location {
            file,
            line: line as u64,
            column: Some(column as u64),
        };
        let message = format!("{id}: {words}");
        github::annotate(Level::Error, Some(&place), "surviving mutant", &message);
    } else {
        output::out(format_args!(
            "{file}:{line}:{column}: survived: {id}: {words}\n"
        ));
    }
}

fn json(done: &Done) -> Value {
    let (verdict, by) = match &done.verdict {
        Verdict::Killed(killer) => ("killed", killer.json()),
        Verdict::Unviable => ("unviable", json!(null)),
        Verdict::Survived { .. } if done.mutant.equivalent.is_some() => ("equivalent", json!(null)),
        Verdict::Survived { .. } => ("survived", json!(null)),
    };
    let inexact = match &done.verdict {
        Verdict::Survived { inexact } => inexact.as_slice(),
        _ => &[],
    };
    let mut object = described(&done.mutant, &done.file, &done.diff);
    object["verdict"] = json!(verdict);
    object["by"] = by;
    object["inexact"] = json!(inexact);
    object["seconds"] = json!(rounded(done.time.as_secs_f64()));
    object
}

fn json_of(component: &Component, scripts: &[String], counts: Counts) -> Value {
    let mut object = counts.json();
    object["file"] = json!(component.shown);
    object["scripts"] = json!(scripts);
    object
}

fn described(mutant: &Mutant, file: &str, diff: &str) -> Value {
    json!({
        "id": mutant.id(),
        "operator": mutant.operator.name(),
        "file": file,
        "line": mutant.line,
        "column": mutant.column,
        "equivalent": mutant.equivalent,
        "diff": diff,
    })
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// `--list`
pub(crate) fn list(jobs: &[Job], format: Format) {
    let mut count = 0;
    for component in jobs.iter().flat_map(|job| &job.components) {
        let (file, source) = (&component.shown, &component.source);
        for mutant in &component.mutants {
            count += 1;
            if format == Format::Json {
                let object = described(mutant, file, &mutant.diff(source, file));
                output::out(format_args!("{object}\n"));
                continue;
            }
            let (id, words) = (mutant.id(), words(mutant, source));
            let declared = match &mutant.equivalent {
                Some(why) => format!(" (equivalent: {why})"),
                None => String::new(),
            };
            output::out(format_args!("{file}: {id}: {words}{declared}\n"));
        }
    }
    let mutants = crate::check::counted(count, "mutant");
    output::err(format_args!("{mutants}\n"));
}

/// The change in one line.
pub(crate) fn words(mutant: &Mutant, source: &str) -> String {
    let old = on_one_line(&source[mutant.range.clone()]);
    let new = on_one_line(&mutant.replacement);
    match (old.as_str(), new.as_str()) {
        ("", new) => format!("`{new}` is put in"),
        (old, "()" | "();") => format!("`{old}` is left out"),
        (old, new) => format!("`{old}` becomes `{new}`"),
    }
}

fn on_one_line(text: &str) -> String {
    const LONGEST: usize = 60;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let start: String = line.chars().take(LONGEST).collect();
    format!("{start}…")
}
