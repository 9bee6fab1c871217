//! Whatever the checks let through becomes a driver that is Rust.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use conan_codegen::{Origin, expand, reshape};
use proptest::prelude::*;

/// The scripts of this repository, as lists of words with their white space.
static CORPUS: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts");
    let mut files = Vec::new();
    collect(&scripts, &mut files);
    files.sort();
    let words = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("the script can be read");
        let words = text.split_inclusive(char::is_whitespace);
        words.map(str::to_owned).collect()
    };
    files.iter().map(words).collect()
});

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "conan")
        {
            files.push(path);
        }
    }
}

fn generate(text: &str) {
    let parsed = conan_lang::parse("script.conan", text);
    if parsed.has_errors() {
        return;
    }
    let reshaped = reshape(&parsed, "");
    let lines = |text: &str| {
        text.lines()
            .map(|line| line.chars().count())
            .collect::<Vec<_>>()
    };
    let body = lines(&reshaped.body);
    assert_eq!(
        body,
        lines(parsed.source.text()),
        "reshaping moved something"
    );
    let origin = Origin {
        shown: "script.conan".to_owned(),
        included: "script.conan".to_owned(),
    };
    if let Err(error) = expand(&parsed, &origin) {
        panic!("the driver is not Rust: {error}\n{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Real scripts with some words dropped, doubled or swapped.
    #[test]
    fn changed_scripts(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((0..3, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..4),
    ) {
        let mut words = which.get(&CORPUS).clone();
        for (kind, first, second) in changes {
            let (first, second) = (first.index(words.len()), second.index(words.len()));
            match kind {
                0 => { words.remove(first); }
                1 => { let word = words[first].clone(); words.insert(second, word); }
                _ => words.swap(first, second),
            }
        }
        generate(&words.concat());
    }

    /// Directives and pieces of Rust without any white space between them.
    #[test]
    fn squeezed_templates(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "#excMonitor f();#end", "#valueCheck x#1#end", "#valueCheck\"a\"#\"b\"#end",
                "#valueCheck(x)#(y)#end", "#matchCheck x#Some(n)if n>3#end", "#wakeCheck 3#end",
                "#wakeCheck{1,2}#end", "#excMonitor let g=f();#end", "#excMonitor f()#panic#end",
                "#excMonitor f()#panic \"x\"#end", "#excMonitor f();#Err(_)#end", "f();", "let x=1;",
                "if x{", "}", "for i in 0..3{", "\"#end\";", "'#';", "r#type();", "/*#end*/", "return;",
                "#[allow(unused)]", "r##\"#end\"##;", "\n", " ",
            ]),
            0..12,
        ),
    ) {
        let code = pieces.concat();
        generate(&format!("#cut m M\n#begin #tick #thread<t>{code}#end#end#end"));
    }
}
