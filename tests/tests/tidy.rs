//! The rules of STYLE.md that a program can check, run over every file of the tree.
//!
//! Promises: a complaint names file and line, what was found, what to write instead, and the rule.
//! Never looks at what git ignores.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "tidy/banned.rs"]
mod banned;
#[path = "tidy/shape.rs"]
mod shape;
#[path = "tidy/tree.rs"]
mod tree;

use tree::File;

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    line: usize,
    what: String,
}

impl Complaint {
    fn at(line: usize, what: impl Into<String>) -> Self {
        Self {
            line,
            what: what.into(),
        }
    }
}

/// One rule: where it is broken in a file.
struct Check {
    /// Its number in STYLE.md.
    rule: u8,
    /// What to write instead.
    instead: &'static str,
    /// Finds the places.
    find: fn(&File) -> Vec<Complaint>,
}

#[test]
fn every_file_keeps_the_rules_of_style() {
    let files = tree::files();
    assert!(
        files.len() > 20,
        "the tree was not found: {} files",
        files.len()
    );
    let mut complaints = Vec::new();
    for file in &files {
        for check in shape::CHECKS {
            for Complaint { line, what } in (check.find)(file) {
                let File { path, .. } = file;
                let (instead, rule) = (check.instead, check.rule);
                complaints.push(format!("{path}:{line}: {what}; {instead} (STYLE {rule})"));
            }
        }
        for ban in banned::BANS {
            for Complaint { line, what } in ban.find(file) {
                let File { path, .. } = file;
                complaints.push(format!(
                    "{path}:{line}: {what}; {} (STYLE {})",
                    ban.instead, ban.rule
                ));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn only_known_names_stand_at_the_root() {
    let strangers: Vec<String> = tree::files()
        .iter()
        .filter_map(|file| file.path.split('/').next())
        .filter(|name| !tree::ROOT_ENTRIES.contains(name))
        .map(str::to_owned)
        .collect();
    assert!(
        strangers.is_empty(),
        "{strangers:?}: put it into a folder, or list it in tidy/tree.rs"
    );
}

#[test]
fn no_file_names_the_folder_it_was_written_in() {
    let root = tree::root().canonicalize().expect("the root is there");
    let parent = root
        .parent()
        .expect("the root is a folder")
        .to_string_lossy()
        .into_owned();
    // Folders that examples may name.
    if ["/", "/tmp", "/opt", "/srv", "/src", "/usr/src"].contains(&parent.as_str()) {
        return;
    }
    let named = |file: &&File| file.text.contains(&format!("{parent}/"));
    let files = tree::files();
    let found: Vec<&str> = files
        .iter()
        .filter(named)
        .map(|file| file.path.as_str())
        .collect();
    assert!(
        found.is_empty(),
        "{found:?} name {parent}, which only this machine has"
    );
}

#[test]
fn every_link_in_a_page_leads_to_a_file() {
    let root = tree::root();
    let mut dead = Vec::new();
    for page in tree::files()
        .iter()
        .filter(|file| file.has_extension(&["md"]))
    {
        let folder = root
            .join(&page.path)
            .parent()
            .expect("a file has a folder")
            .to_owned();
        for link in tree::links(&page.text) {
            let target = link.split('#').next().unwrap_or_default();
            if !target.is_empty() && !folder.join(target).exists() {
                dead.push(format!("{}: {link}", page.path));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}\n", dead.join("\n"));
}

#[test]
fn every_member_inherits_lints_and_versions() {
    let mut complaints = Vec::new();
    for manifest in tree::files()
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
    {
        if !manifest.text.contains("[lints]\nworkspace = true") {
            complaints.push(format!("{}: add [lints] workspace = true", manifest.path));
        }
        for (number, line) in (1..).zip(manifest.text.lines()) {
            let dependency = line.contains(" = ") && line.contains("version = \"");
            if dependency || line.starts_with("version = \"") {
                complaints.push(format!(
                    "{}:{number}: versions stand in the root manifest alone; write workspace = true",
                    manifest.path
                ));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
