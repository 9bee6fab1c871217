//! Which scripts the test files of a workspace include.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};

use crate::package::Workspace;

/// The `script!` invocations of a workspace.
#[derive(Debug)]
pub(crate) struct Includes {
    /// A script or a folder, and the package that includes it.
    included: Vec<(PathBuf, String)>,
}

impl Includes {
    /// Looks at the workspace around the scripts; nothing if there is none.
    pub(crate) fn around(scripts: &[PathBuf]) -> Option<Self> {
        let first = scripts.first()?;
        let workspace = Workspace::around(first).ok()?;
        Some(Self::of(&workspace))
    }

    /// Looks through the Rust files of every package of a workspace.
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let mut included = Vec::new();
        for package in workspace.packages() {
            let root = package.root();
            for folder in ["src", "tests", "benches", "examples"] {
                let mut paths = Vec::new();
                collect(&root.join(folder), &mut paths);
                for path in paths {
                    let path = fs::canonicalize(root.join(&path)).unwrap_or(path);
                    included.push((path, package.name().to_owned()));
                }
            }
        }
        Self { included }
    }

    /// True if some test file includes the script.
    pub(crate) fn contain(&self, script: &Path) -> bool {
        self.package_of(script).is_some()
    }

    /// The package whose test file includes the script.
    pub(crate) fn package_of(&self, script: &Path) -> Option<&str> {
        let script = fs::canonicalize(script).ok()?;
        let found = self
            .included
            .iter()
            .find(|(path, _)| script.starts_with(path));
        found.map(|(_, package)| package.as_str())
    }
}

/// The paths in the `script!` invocations of a folder's Rust files.
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            if text.contains("script!") {
                let tokens = TokenStream::from_str(&text).unwrap_or_default();
                invocations(tokens, paths);
            }
        }
    }
}

fn invocations(tokens: TokenStream, paths: &mut Vec<PathBuf>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let before = &tokens[..index];
        let is_script = matches!(
            before,
            [.., TokenTree::Ident(name), TokenTree::Punct(mark)]
                if name == "script" && mark.as_char() == '!'
        );
        if !is_script {
            invocations(group.stream(), paths);
        } else if let Ok(path) = syn::parse2::<syn::LitStr>(group.stream()) {
            paths.push(PathBuf::from(path.value()));
        }
    }
}
