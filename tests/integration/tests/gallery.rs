//! The gallery against the paper's Table 2.

use conan_integration::{Run, conan, workspace};

/// Conditions, sequences and test cases of the paper's scripts.
const TABLE_2: [(&str, [u32; 3]); 20] = [
    ("producer_consumer", [12, 5, 36]),
    ("conan_clock", [6, 3, 18]),
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
