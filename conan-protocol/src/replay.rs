//! The command that repeats an execution, ready to be pasted into a shell.

use std::borrow::Cow;

/// The environment variable in which `cargo conan explore` tells a driver with
/// which options an execution has to be replayed: words of the command line,
/// with [`SEPARATOR`] between them.
pub const OPTIONS: &str = "CONAN_REPLAY_OPTIONS";

/// Stands between two words in [`OPTIONS`]. No argument that a person types has
/// it.
pub const SEPARATOR: char = '\u{1f}';

/// The command that replays an execution of a script: the script's path, the
/// token with the sequence's name, and the options of [`OPTIONS`].
pub fn of_script(script: &str, token: &str, options: &str) -> String {
    let options = options.split(SEPARATOR).filter(|word| !word.is_empty());
    let words = ["replay", script, token];
    command(words.into_iter().chain(options))
}

/// `cargo conan` with these arguments.
pub fn command<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let mut text = "cargo conan".to_owned();
    for word in words {
        text.push(' ');
        text.push_str(&quoted(word.as_ref()));
    }
    text
}

/// A word as a POSIX shell takes it.
pub fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use super::{SEPARATOR, of_script, quoted};

    #[test]
    fn plain_words_stay_as_they_are() {
        for word in ["tests/scripts/a.conan", "--jobs=2", "s:AQD_-0", "a@b"] {
            assert_eq!(quoted(word), word);
        }
    }

    #[test]
    fn what_a_shell_would_change_is_quoted() {
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("my script.conan"), "'my script.conan'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("$HOME"), "'$HOME'");
        assert_eq!(quoted("~user"), "'~user'");
        assert_eq!(quoted("größe"), "'größe'");
    }

    #[test]
    fn the_options_follow_the_token() {
        let options = ["--fine", "--instrument", "a b"].join(&SEPARATOR.to_string());
        assert_eq!(
            of_script("a b.conan", "s:AQ", &options),
            "cargo conan replay 'a b.conan' s:AQ --fine --instrument 'a b'"
        );
        assert_eq!(of_script("a", "s:AQ", ""), "cargo conan replay a s:AQ");
    }
}
