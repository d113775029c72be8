//! The shape of files: headers, lengths, last lines, names of tests, first arguments.

use super::tree::File;
use crate::{Check, Complaint};

/// Lines of a file of code.
const FILE_LINES_MAX: usize = 400;

/// Columns of a line of code: rustfmt keeps code under 100; comments and strings may run a little over.
const COLUMNS_MAX: usize = 150;

/// All of them.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        rule: 10,
        instead: "say what the module is and never does in `//!`",
        find: no_header,
    },
    Check {
        rule: 10,
        instead: "say in a comment on top what the script does",
        find: no_lua_header,
    },
    Check {
        rule: 9,
        instead: "split it by event or by idea",
        find: too_long,
    },
    Check {
        rule: 9,
        instead: "break it",
        find: too_wide,
    },
    Check {
        rule: 9,
        instead: "end a file with one newline",
        find: bad_end,
    },
    Check {
        rule: 9,
        instead: "`lib.rs` only documents and re-exports",
        find: code_in_lib,
    },
    Check {
        rule: 3,
        instead: "name the file by its idea",
        find: vague_name,
    },
    Check {
        rule: 3,
        instead: "`handle_x` takes `now` first",
        find: handles_without_now,
    },
    Check {
        rule: 14,
        instead: "let the name be a sentence",
        find: short_test_name,
    },
];

fn only(found: bool, line: usize, what: impl Into<String>) -> Vec<Complaint> {
    if found {
        vec![Complaint::at(line, what)]
    } else {
        Vec::new()
    }
}

fn no_header(file: &File) -> Vec<Complaint> {
    only(
        file.is_rust() && !file.text.starts_with("//! "),
        1,
        "no module header",
    )
}

fn no_lua_header(file: &File) -> Vec<Complaint> {
    only(
        file.has_extension(&["lua"]) && !file.text.starts_with("-- "),
        1,
        "no header",
    )
}

fn too_long(file: &File) -> Vec<Complaint> {
    let lines = file.text.lines().count();
    let code = file.has_extension(&["rs", "lua", "sh", "proto"]) && !file.is_generated();
    only(
        code && lines > FILE_LINES_MAX,
        lines,
        format!("{lines} lines of {FILE_LINES_MAX}"),
    )
}

fn too_wide(file: &File) -> Vec<Complaint> {
    let code = file.has_extension(&["rs", "lua", "sh"]) && !file.is_generated();
    let wide = file
        .lines()
        .filter(|line| code && line.text.chars().count() > COLUMNS_MAX);
    wide.map(|line| Complaint::at(line.number, format!("over {COLUMNS_MAX} columns")))
        .collect()
}

fn bad_end(file: &File) -> Vec<Complaint> {
    let text = &file.text;
    let bad = !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n"));
    only(bad, text.lines().count(), "bad last line")
}

fn code_in_lib(file: &File) -> Vec<Complaint> {
    let lib = file.is_rust() && file.path.ends_with("src/lib.rs");
    let keywords = [
        "fn ",
        "pub fn ",
        "impl ",
        "struct ",
        "pub struct ",
        "enum ",
        "pub enum ",
    ];
    let code = file.lines().filter(|line| lib && !line.test);
    let code = code.filter(|line| keywords.iter().any(|word| line.code.starts_with(word)));
    code.map(|line| Complaint::at(line.number, "code in lib.rs"))
        .collect()
}

fn vague_name(file: &File) -> Vec<Complaint> {
    let vague = [
        "util", "utils", "helper", "helpers", "manager", "common", "misc", "types",
    ];
    let mut parts = file.path.split(['/', '.']);
    only(
        file.is_rust() && parts.any(|part| vague.contains(&part)),
        1,
        "a name that says nothing",
    )
}

fn handles_without_now(file: &File) -> Vec<Complaint> {
    let core = file.is_pure() && !file.path.starts_with("sim/");
    let mut complaints = Vec::new();
    for (at, _) in file.text.match_indices("pub fn handle_").filter(|_| core) {
        let signature = file.text.get(at..).and_then(|rest| rest.split(')').next());
        let after_self = signature.and_then(|signature| signature.split_once("self,"));
        if !after_self.is_some_and(|(_, rest)| {
            rest.trim_start()
                .trim_start_matches("_")
                .starts_with("now:")
        }) {
            let line = file
                .text
                .get(..at)
                .map_or(1, |before| before.lines().count().max(1));
            complaints.push(Complaint::at(line, "a handler without `now`"));
        }
    }
    complaints
}

fn short_test_name(file: &File) -> Vec<Complaint> {
    let mut after_test = false;
    let mut complaints = Vec::new();
    for line in file.lines().filter(|_| file.is_rust()) {
        let code = line.code.trim();
        let name = code.trim_start_matches("async ").strip_prefix("fn ");
        if let Some(name) = name
            .and_then(|rest| rest.split('(').next())
            .filter(|_| after_test)
            && name.matches('_').count() < 2
        {
            complaints.push(Complaint::at(line.number, format!("test `{name}`")));
        }
        after_test = code == "#[test]" || code.starts_with("#[tokio::test");
    }
    complaints
}

fn lines_of(found: Vec<Complaint>) -> Vec<usize> {
    found.into_iter().map(|complaint| complaint.line).collect()
}

#[test]
fn a_module_without_a_header_is_refused() {
    assert_eq!(
        lines_of(no_header(&File::new("sim/src/a.rs", "use x;\n"))),
        [1]
    );
    assert!(no_header(&File::new("sim/src/a.rs", "//! What it is.\n")).is_empty());
    assert!(no_header(&File::new("regiond/src/grpc/gen/a.rs", "// Generated.\n")).is_empty());
    assert_eq!(
        lines_of(no_lua_header(&File::new("a/b.lua", "local x\n"))),
        [1]
    );
}

#[test]
fn long_files_and_wide_lines_are_refused() {
    let long = "x\n".repeat(FILE_LINES_MAX + 1);
    assert_eq!(too_long(&File::new("a.rs", &long)).len(), 1);
    assert!(too_long(&File::new("Cargo.lock", &long)).is_empty());
    let wide = format!("a\n{}\n", "ü".repeat(COLUMNS_MAX + 1));
    assert_eq!(lines_of(too_wide(&File::new("a.rs", &wide))), [2]);
    assert!(too_wide(&File::new("a.rs", &"ü".repeat(COLUMNS_MAX))).is_empty());
}

#[test]
fn a_file_ends_with_one_newline() {
    assert_eq!(lines_of(bad_end(&File::new("a.md", "x"))), [1]);
    assert_eq!(bad_end(&File::new("a.md", "x\n\n")).len(), 1);
    assert!(bad_end(&File::new("a.md", "x\n")).is_empty());
}

#[test]
fn code_in_lib_is_refused() {
    let text = "//! A crate.\npub mod a;\npub use a::B;\npub fn c() {}\n";
    assert_eq!(
        lines_of(code_in_lib(&File::new("sim/src/lib.rs", text))),
        [4]
    );
    assert!(code_in_lib(&File::new("sim/src/run.rs", text)).is_empty());
}

#[test]
fn names_that_say_nothing_are_refused() {
    assert_eq!(vague_name(&File::new("sim/src/utils.rs", "")).len(), 1);
    assert_eq!(vague_name(&File::new("sim/src/common/a.rs", "")).len(), 1);
    assert!(vague_name(&File::new("sim/src/link.rs", "")).is_empty());
}

#[test]
fn a_handler_takes_now_first() {
    let text = "pub fn handle_a(&mut self, now: Now) {}\npub fn handle_b(&mut self, x: X) {}\n";
    assert_eq!(
        lines_of(handles_without_now(&File::new("sync-proto/src/a.rs", text))),
        [1]
    );
    let broken = "pub fn handle_c(\n    &mut self,\n    now: Now,\n) {}\n";
    assert!(handles_without_now(&File::new("sync-proto/src/a.rs", broken)).is_empty());
}

#[test]
fn a_test_name_that_is_no_sentence_is_refused() {
    let text = "#[test]\nfn merging() {}\n#[test]\nfn a_late_delta_is_applied_once() {}\n";
    assert_eq!(
        lines_of(short_test_name(&File::new("sim/src/a.rs", text))),
        [2]
    );
}
