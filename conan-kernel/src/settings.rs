//! What the shared library has been told: by the environment, which is not left
//! with it, or by a [request](crate::original) for a copy.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// How all settings begin.
const OURS: &[u8] = b"CONAN_PRELOAD_";

/// What libraries are loaded first; the file name of ours begins like this.
const PRELOADED: &str = "LD_PRELOAD";
const OUR_FILE: &str = "libconan_preload";

/// What this process is told.
static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Names and what they are set to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings(Vec<(OsString, OsString)>);

impl Settings {
    /// Out of the environment: child processes shall know nothing of us.
    pub(crate) fn take() -> Self {
        let ours = |(name, _): &(OsString, OsString)| name.as_bytes().starts_with(OURS);
        let settings: Vec<_> = env::vars_os().filter(ours).collect();
        // SAFETY: no other thread has been started yet.
        unsafe {
            for (name, _) in &settings {
                env::remove_var(name);
            }
            match others(&env::var_os(PRELOADED).unwrap_or_default()) {
                None => env::remove_var(PRELOADED),
                Some(others) => env::set_var(PRELOADED, others),
            }
        }
        Self(settings)
    }

    /// Of lines such as the environment consists of.
    pub(crate) fn of<'l>(lines: impl Iterator<Item = &'l [u8]>) -> Self {
        let pair = |line: &[u8]| {
            let place = line.iter().position(|&byte| byte == b'=')?;
            let text = |bytes| OsStr::from_bytes(bytes).to_owned();
            Some((text(&line[..place]), text(&line[place + 1..])))
        };
        Self(lines.filter_map(pair).collect())
    }

    fn get(&self, name: &str) -> Option<&OsStr> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// A number, if there is one of this name.
    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.to_str()?.parse().ok()
    }

    /// From now on, [`setting`] tells them.
    pub(crate) fn hold(self) {
        let _ = SETTINGS.set(self);
    }
}

/// What the library has been told under this name.
pub fn setting(name: &str) -> Option<&'static OsStr> {
    SETTINGS.get()?.get(name)
}

/// The libraries that are loaded first, without ours; nothing if there are none.
fn others(preloaded: &OsStr) -> Option<OsString> {
    let is_theirs = |entry: &&[u8]| {
        let name = entry.rsplit(|&byte| byte == b'/').next();
        !entry.is_empty() && !name.is_some_and(|name| name.starts_with(OUR_FILE.as_bytes()))
    };
    let entries = preloaded.as_bytes().split(|byte| b": ".contains(byte));
    let rest: Vec<_> = entries.filter(is_theirs).collect();
    (!rest.is_empty()).then(|| OsStr::from_bytes(&rest.join(&b':')).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_names_and_values() {
        let lines: [&[u8]; 4] = [b"A=1", b"B=", b"nothing", b"C=x=y"];
        let settings = Settings::of(lines.into_iter());
        let get = |name| settings.get(name).and_then(OsStr::to_str);
        assert_eq!(get("A"), Some("1"));
        assert_eq!(get("B"), Some(""));
        assert_eq!(get("C"), Some("x=y"));
        assert_eq!(get("nothing"), None);
        assert_eq!(settings.number("A"), Some(1));
        assert_eq!(settings.number("C"), None);
    }

    #[test]
    fn only_our_library_is_taken_out_of_those_that_are_loaded_first() {
        let rest = |preloaded: &str| {
            let rest = others(OsStr::new(preloaded))?;
            Some(rest.to_string_lossy().into_owned())
        };
        assert_eq!(rest("/a b/libconan_preload-01.so"), Some("/a".to_owned()));
        assert_eq!(rest("/x/libconan_preload-01.so"), None);
        assert_eq!(rest(""), None);
        let others = rest("/x/libconan_preload-01.so:/y/other.so:third.so");
        assert_eq!(others, Some("/y/other.so:third.so".to_owned()));
    }
}
