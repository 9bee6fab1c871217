//! The gallery against the paper's tables, and against what the book says of
//! it.

use std::collections::BTreeMap;
use std::fs;

use conan_integration::{Ran, Run, Scratch, conan, workspace};
use serde_json::Value;

/// Conditions, sequences and test cases of the paper's scripts.
const TABLE_2: [(&str, [u32; 3]); 20] = [
    ("producer_consumer", [12, 5, 36]),
    ("clock", [6, 3, 18]),
    ("reader_writer", [15, 8, 84]),
    ("read_write_fair", [15, 9, 88]),
    ("read_write_priority", [16, 10, 100]),
    ("read_write_safe", [15, 9, 88]),
    ("fair_bridge", [19, 8, 80]),
    ("safe_bridge", [17, 6, 48]),
    ("buffer_impl", [13, 6, 52]),
    ("semaphore", [6, 3, 16]),
    ("car_park_control", [13, 5, 34]),
    ("simple_allocator", [6, 3, 14]),
    ("fair_allocator", [8, 5, 34]),
    ("bounded_overtaking_allocator", [9, 6, 54]),
    ("blast_server", [6, 3, 16]),
    ("blocking_terminal_pool", [15, 10, 106]),
    ("jdbc_connection_pool", [6, 3, 18]),
    ("connection_broker", [8, 5, 36]),
    ("object_pool", [8, 5, 36]),
    ("record_input_stream", [12, 8, 74]),
];

#[test]
fn every_script_has_at_least_what_the_papers_has() {
    let ran = conan(workspace()).args(["stats", "scripts/gallery"]).ran();
    ran.exits_with(0);
    let rows: Vec<(&str, Vec<u32>)> = ran.stdout.lines().filter_map(row).collect();
    let in_the_book = table("| component | conditions |");
    let mut short = Vec::new();
    for (name, paper) in TABLE_2 {
        let found = rows.iter().find(|(row, _)| *row == name);
        let Some((_, ours)) = found else {
            short.push(format!("{name} is missing"));
            continue;
        };
        if ours.iter().zip(paper).any(|(ours, paper)| *ours < paper) {
            short.push(format!("{name} has {ours:?}, the paper's {paper:?}"));
        }
        let both = ours.iter().zip(paper);
        let both: Vec<String> = both
            .map(|(ours, paper)| format!("{ours} ({paper})"))
            .collect();
        let said = in_the_book.get(name);
        if said != Some(&both) {
            short.push(format!("{name} has {both:?}, and in the book {said:?}"));
        }
    }
    assert!(short.is_empty(), "{}", short.join("\n"));
    assert_eq!(rows.len(), TABLE_2.len(), "one row for each component");
}

/// `scripts/gallery/NAME.conan  conditions  sequences  test cases  …`
fn row(line: &str) -> Option<(&str, Vec<u32>)> {
    let name = line.strip_prefix("scripts/gallery/")?;
    let (name, numbers) = name.split_once(".conan")?;
    let numbers = numbers.split_whitespace().take(3);
    let numbers = numbers.map(|number| number.parse().expect("a number"));
    Some((name, numbers.collect()))
}

/// Which mutants are killed only a run can tell, and it takes minutes. But it
/// is soon known how many there are, and that each declaration of an
/// equivalent one is about a mutant that there is.
#[test]
fn the_book_has_the_mutants_of_every_component() {
    let ran = conan(workspace())
        .args(["mutate", "scripts/gallery", "--list"])
        .args(["--message-format", "json"])
        .ran();
    ran.exits_with(0).never_mentions("is left out");
    let mut ours: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for mutant in objects(&ran) {
        let file = mutant["file"].as_str().expect("a mutant is in a file");
        let name = file.strip_prefix("tests/gallery/src/");
        let name = name.and_then(|name| name.strip_suffix(".rs"));
        let name = name.unwrap_or_else(|| panic!("{file} is not in the gallery"));
        let counts = ours.entry(name.to_owned()).or_default();
        counts[0] += 1;
        counts[1] += usize::from(!mutant["equivalent"].is_null());
    }
    assert_eq!(ours.len(), TABLE_2.len(), "one for each component");
    let rows: BTreeMap<String, Vec<String>> = ours
        .into_iter()
        .map(|(name, [all, equivalent])| {
            let row = [all, all - equivalent, equivalent, 0];
            (name, row.iter().map(usize::to_string).collect())
        })
        .collect();
    let mut in_the_book = table("| component | mutants |");
    let total = in_the_book.remove("total").expect("there is a last row");
    let wrong = rows.iter().filter_map(|(name, row)| {
        let said = in_the_book.get(name);
        (said != Some(row)).then(|| format!("{name} has {row:?}, and in the book {said:?}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(in_the_book.len(), rows.len(), "one row for each component");
    let sum = |column: usize| {
        let numbers = rows.values().map(|row| &row[column]);
        let numbers = numbers.map(|number| number.parse::<usize>().expect("a number"));
        numbers.sum::<usize>().to_string()
    };
    assert_eq!(total, [sum(0), sum(1), sum(2), sum(3)]);
}

/// The paper planted seven faults in the readers-writers monitor (5.5), and
/// found all of them. It names two kinds, `notify` for `notifyAll` and `if` for
/// `while`, and does not print the seven. These are what our operators make of
/// the monitor's waits and notifications.
const SEVEN: [(&str, &str); 7] = [
    ("while-to-if", "start_read"),
    ("no-wait", "start_read"),
    ("no-notify", "end_read"),
    ("while-to-if", "start_write"),
    ("no-wait", "start_write"),
    ("no-notify", "end_write"),
    ("notify-one", "end_write"),
];

#[test]
fn all_mutants_of_the_readers_writers_monitor_are_killed_the_papers_seven_among_them() {
    let scratch = Scratch::new("seven_mutants");
    let original = |path: &str| {
        fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let source = original("tests/gallery/src/reader_writer.rs");
    scratch.write("src/reader_writer.rs", &source);
    scratch.write(
        "src/lib.rs",
        "pub mod reader_writer;\npub use reader_writer::ReaderWriter;\n",
    );
    let script = original("scripts/gallery/reader_writer.conan");
    let script = script.replace("conan_gallery", "CRATE");
    scratch.write("tests/scripts/reader_writer.conan", &script);
    let ran = scratch
        .conan()
        .args(["mutate", "tests/scripts/reader_writer.conan"])
        .args(["--message-format", "json"])
        .ran();
    ran.exits_with(0);
    let mutants = objects(&ran);
    let count = |verdict| {
        let of_it = mutants.iter().filter(|mutant| mutant["verdict"] == verdict);
        of_it.count()
    };
    let said = &table("| component | mutants |")["reader_writer"];
    let counts = [
        mutants.len(),
        count("killed"),
        count("equivalent"),
        count("survived"),
    ];
    assert_eq!(*said, counts.map(|count| count.to_string()), "{ran}");
    for (operator, method) in SEVEN {
        let mutant = mutants.iter().find(|mutant| {
            let line = mutant["line"].as_u64().expect("a mutant has a line");
            mutant["operator"] == operator && method_at(&source, line) == method
        });
        let mutant = mutant.unwrap_or_else(|| panic!("no {operator} in {method}; {ran}"));
        assert_eq!(mutant["verdict"], "killed", "{operator} in {method}; {ran}");
    }
}

/// The method that a line is in, or the next one above it.
fn method_at(source: &str, line: u64) -> &str {
    let above = source
        .lines()
        .take(usize::try_from(line).expect("it is short"));
    let method = above.filter_map(|line| line.trim().strip_prefix("pub fn "));
    let name = method.last().expect("there is a method above");
    name.split('(').next().expect("there is a first part")
}

/// The objects of a command's output, without the summary.
fn objects(ran: &Ran) -> Vec<Value> {
    let objects = ran.stdout.lines().map(|line| {
        serde_json::from_str::<Value>(line)
            .unwrap_or_else(|error| panic!("{line:?} is not JSON ({error}); {ran}"))
    });
    objects.filter(|object| object["id"].is_string()).collect()
}

/// A table in the book, by the beginning of its head: the cells of each row
/// after the component's, which is named as its file is.
fn table(head: &str) -> BTreeMap<String, Vec<String>> {
    let page = workspace().join("docs/src/gallery.md");
    let page = fs::read_to_string(page).expect("there is such a page");
    let from_head = page.lines().skip_while(|line| !line.starts_with(head));
    let rows = from_head.skip(2).take_while(|line| line.starts_with('|'));
    let rows = rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let component = cells.next().expect("a row has a cell");
        (file_name(component), cells.map(str::to_owned).collect())
    });
    rows.collect()
}

/// `ReadWriteFair` is in `read_write_fair`; the paper's names have two
/// exceptions.
fn file_name(component: &str) -> String {
    match component {
        "ConAnClock" => return "clock".to_owned(),
        "JDBCConnectionPool" => return "jdbc_connection_pool".to_owned(),
        _ => {}
    }
    let mut name = String::new();
    for character in component.chars() {
        if character.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(character.to_lowercase());
    }
    name
}
