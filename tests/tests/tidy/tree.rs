//! The files of the tree as the checks see them: path, text, and lines with comments told from code.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What may stand at the root of the tree.
pub(crate) const ROOT_ENTRIES: &[&str] = &[
    ".ci",
    ".github",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "Makefile",
    "README.md",
    "STYLE.md",
    "changelog",
    "dashboards",
    "deny.toml",
    "deploy",
    "docs",
    "limiter-core",
    "regiond",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "sim",
    "sync-proto",
    "tests",
];

/// A file of the tree.
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// A line of a file.
pub(crate) struct Line<'a> {
    /// From 1.
    pub(crate) number: usize,
    /// All of it.
    pub(crate) text: &'a str,
    /// Without its comment.
    pub(crate) code: &'a str,
    /// Whether it is only compiled for tests or benchmarks.
    pub(crate) test: bool,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    pub(crate) fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = Path::new(&self.path)
            .extension()
            .and_then(|name| name.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    }

    /// Rust that people write.
    pub(crate) fn is_rust(&self) -> bool {
        self.has_extension(&["rs"]) && !self.is_generated()
    }

    pub(crate) fn is_generated(&self) -> bool {
        self.path.contains("/gen/") || self.path == "Cargo.lock"
    }

    /// A crate that must not know the world around it.
    pub(crate) fn is_pure(&self) -> bool {
        let crates = ["limiter-core/src/", "sim/src/", "sync-proto/src/"];
        self.is_rust() && crates.iter().any(|prefix| self.path.starts_with(prefix))
    }

    /// These checks themselves, which must spell what they refuse, and the page that explains them.
    pub(crate) fn is_about_style(&self) -> bool {
        self.path.starts_with("tests/tests/tidy") || self.path == "STYLE.md"
    }

    fn is_test(&self) -> bool {
        let parts = ["/tests/", "/benches/"];
        self.path.starts_with("tests/")
            || self.path.ends_with("/tests.rs")
            || parts.iter().any(|part| self.path.contains(part))
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut test = self.is_test();
        let mut gate = false;
        (1..).zip(self.text.lines()).map(move |(number, text)| {
            // Unit tests come last in a file, in a module of their own.
            test |= gate && text.starts_with("mod ") && text.ends_with('{');
            gate = text == "#[cfg(test)]";
            Line {
                number,
                text,
                code: without_comment(text),
                test,
            }
        })
    }
}

fn without_comment(text: &str) -> &str {
    if text.trim_start().starts_with("//") {
        return "";
    }
    text.find(" // ")
        .and_then(|at| text.get(..at))
        .unwrap_or(text)
}

/// Targets of `[text](target)` that are not addresses.
pub(crate) fn links(page: &str) -> Vec<&str> {
    let prose = page.split("```").step_by(2);
    prose
        .flat_map(|part| part.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://") && !target.contains(' '))
        .collect()
}

/// The root of the tree.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file that git would keep and that is text.
pub(crate) fn files() -> Vec<File> {
    let root = root();
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(&root)
        .output();
    let mut paths: Vec<String> = match listed {
        Ok(output) if output.status.success() => {
            let names = String::from_utf8(output.stdout).expect("paths are UTF-8");
            names
                .split('\0')
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect()
        }
        _ => walk(&root, ""),
    };
    paths.sort();
    paths.dedup();
    let text = |path: String| {
        let text = std::fs::read_to_string(root.join(&path)).ok()?;
        Some(File { path, text })
    };
    paths.into_iter().filter_map(text).collect()
}

/// For a tree without git, such as an unpacked archive.
fn walk(folder: &Path, prefix: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)
        .expect("the folder can be read")
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.path().is_dir() {
            if !["target", ".git"].contains(&name.as_str()) {
                paths.extend(walk(&entry.path(), &format!("{path}/")));
            }
        } else {
            paths.push(path);
        }
    }
    paths
}

#[test]
fn comments_are_told_from_code() {
    assert_eq!(without_comment("    /// a.ln()"), "");
    assert_eq!(without_comment("let a = 1; // a.ln()"), "let a = 1;");
    assert_eq!(
        without_comment("let a = \"http://x\";"),
        "let a = \"http://x\";"
    );
}

#[test]
fn lines_after_the_test_gate_are_tests() {
    let text = "#[cfg(test)]\nmod tests;\nfn a() {}\n#[cfg(test)]\nmod tests {\n}\n";
    let tests: Vec<bool> = File::new("sim/src/a.rs", text)
        .lines()
        .map(|line| line.test)
        .collect();
    assert_eq!(tests, [false, false, false, false, true, true]);
}

#[test]
fn links_are_found_outside_of_code() {
    let page = "[a](b.md) and [c](https://d) ```\n[e](f)\n``` [g](h.md#i)";
    assert_eq!(links(page), ["b.md", "h.md#i"]);
}
