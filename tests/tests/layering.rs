//! Who may depend on whom: crates, what they link, and modules inside a crate.
//!
//! Promises: every complaint names the edge that must not be. The tables here are the only place that grants one.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};

/// Crates of this workspace that a crate may name.
const CRATES: &[(&str, &[&str])] = &[
    ("sync-proto", &[]),
    ("limiter-core", &["sync-proto"]),
    ("sim", &["limiter-core", "sync-proto"]),
    ("regiond", &["limiter-core", "sim", "sync-proto"]),
    ("tests", &["limiter-core", "sim", "sync-proto"]),
];

/// Crates that decide, merge or simulate, and so must not be able to reach the world.
const PURE: &[&str] = &["sync-proto", "limiter-core", "sim"];

/// What a pure crate must not reach, however far down.
const WORLDLY: &[&str] = &[
    "chitchat", "mio", "quinn", "rand", "redis", "rustls", "socket2", "tokio", "tonic", "tracing",
];

/// Modules of a crate, lowest rank first. A module may use lower ranks and itself.
const MODULES: &[(&str, &[&[&str]])] = &[
    (
        "sync-proto",
        &[
            &["time", "varint"],
            &["bounds"],
            &["ids"],
            &["config", "counter", "error", "event", "lag", "pace"],
            &["frame", "view"],
            &["ledger", "packing", "session"],
            &["codec", "delta"],
            &["mesh"],
        ],
    ),
    (
        "limiter-core",
        &[
            &["bounds", "yaml"],
            &["facts"],
            &["algo"],
            &["store"],
            &["key"],
            &["calendar"],
            &["rule"],
            &["rights"],
            &["check"],
            &["render", "share"],
        ],
    ),
    (
        "sim",
        &[
            &["kernel"],
            &["scenario"],
            &["link", "region", "workload"],
            &["measure"],
            &["invariant"],
            &["run"],
            &["report"],
            &["cli"],
        ],
    ),
    (
        "regiond",
        &[
            &["os", "wire"],
            &["output"],
            &["config", "telemetry"],
            &["store"],
            &["mesh"],
            &["pod"],
            &["grpc", "http"],
            &["admin"],
            &["app"],
            &["demo"],
            &["cli"],
        ],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The packages of this machine's build. With a lock file, cargo asks the network only for what was never downloaded.
fn metadata() -> Metadata {
    let version = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc runs");
    let version = String::from_utf8(version.stdout).expect("rustc speaks UTF-8");
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("a host");
    let options = ["--locked", "--filter-platform", host].map(str::to_owned);
    let mut command = MetadataCommand::new();
    command
        .manifest_path(root().join("Cargo.toml"))
        .other_options(options);
    command.exec().expect("cargo knows the packages")
}

/// Package by package, what each links.
fn links(metadata: &Metadata) -> BTreeMap<&PackageId, Vec<&PackageId>> {
    let resolve = metadata.resolve.as_ref().expect("cargo resolved the graph");
    let normal = |kinds: &[cargo_metadata::DepKindInfo]| {
        kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
    };
    let nodes = resolve.nodes.iter().map(|node| {
        let linked = node.deps.iter().filter(|dep| normal(&dep.dep_kinds));
        (&node.id, linked.map(|dep| &dep.pkg).collect())
    });
    nodes.collect()
}

#[test]
fn crates_depend_downwards_only() {
    let metadata = metadata();
    let ours: BTreeSet<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    let mut complaints = Vec::new();
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        let Some((_, allowed)) = CRATES.iter().find(|(known, _)| *known == name) else {
            complaints.push(format!("{name} has no row in the table of crates"));
            continue;
        };
        for dependency in &package.dependencies {
            let target = dependency.name.as_str();
            if ours.contains(target) && !allowed.contains(&target) {
                complaints.push(format!("{name} -> {target}"));
            }
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn pure_crates_cannot_reach_the_world() {
    let metadata = metadata();
    let links = links(&metadata);
    let mut complaints = Vec::new();
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        if !PURE.contains(&name) {
            continue;
        }
        let mut seen = BTreeSet::new();
        let mut open = vec![&package.id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let reached = metadata[id].name.as_str();
            if WORLDLY.contains(&reached) {
                complaints.push(format!("{name} reaches {reached}"));
            }
            open.extend(links.get(id).into_iter().flatten());
        }
        assert!(seen.len() > 1, "the graph of {name} was not found");
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn the_daemon_uses_of_the_simulator_its_replay_alone() {
    let mut complaints = Vec::new();
    for (path, text) in sources("regiond") {
        for (number, line) in (1..).zip(code_lines(&text)) {
            let used = names_after(line, "sim::")
                .into_iter()
                .filter(|name| name != "replay");
            complaints.extend(used.map(|name| format!("{path}:{number}: sim::{name}")));
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn modules_use_lower_ranks_only() {
    let mut complaints = Vec::new();
    for (name, ranks) in MODULES {
        let rank_of = |module: &str| ranks.iter().position(|rank| rank.contains(&module));
        let mut present = BTreeSet::new();
        for (path, text) in sources(name) {
            let Some(module) = module_of(&path) else {
                continue;
            };
            present.insert(module.to_owned());
            let Some(own) = rank_of(module) else {
                complaints.push(format!(
                    "{path}: `{module}` has no rank in the table of modules"
                ));
                continue;
            };
            // Tests of a module may set it up with whatever they need.
            if path.contains("/tests/") || path.ends_with("/tests.rs") {
                continue;
            }
            let used = used_modules(&text);
            for (number, target) in used.into_iter().filter(|(_, target)| target != module) {
                match rank_of(&target) {
                    Some(rank) if rank < own => {}
                    Some(_) => complaints.push(format!("{path}:{number}: {module} -> {target}")),
                    None => complaints.push(format!(
                        "{path}:{number}: crate::{target} is no ranked module; name the module that owns it"
                    )),
                }
            }
        }
        let ranked = ranks.iter().flat_map(|rank| rank.iter());
        let gone = ranked.filter(|module| !present.contains(**module));
        complaints.extend(gone.map(|module| format!("{name} has no module {module} any more")));
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// Rust sources of a crate, by path from the crate, without generated ones.
fn sources(name: &str) -> Vec<(String, String)> {
    let folder = root().join(name);
    let mut open = vec![folder.join("src")];
    let mut files = Vec::new();
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next)
            .expect("sources can be listed")
            .flatten()
        {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source is text");
                let relative = path.strip_prefix(&folder).expect("below the crate");
                files.push((relative.to_string_lossy().into_owned(), text));
            }
        }
    }
    files.retain(|(path, _)| !path.contains("/gen/"));
    files.sort();
    files
}

/// The top module that a file below `src/` belongs to; none for the roots, which only assemble.
fn module_of(path: &str) -> Option<&str> {
    let first = path.strip_prefix("src/")?.split('/').next()?;
    let module = first.strip_suffix(".rs").unwrap_or(first);
    (!["lib", "main"].contains(&module)).then_some(module)
}

/// Lines that are compiled into the library: no comments, and nothing after the unit tests begin.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    let code = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    code.lines().map(|line| {
        if line.trim_start().starts_with("//") {
            ""
        } else {
            line
        }
    })
}

/// Modules named by `crate::…`, with the line.
fn used_modules(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = code_lines(text).collect();
    let mut used = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let mut statement = (*line).to_owned();
        if line.contains("crate::{") {
            // A list of imports goes on until its end.
            let rest = lines.iter().skip(index + 1);
            rest.take_while(|next| !next.starts_with('}'))
                .for_each(|next| statement += next);
        }
        used.extend(
            names_after(&statement, "crate::")
                .into_iter()
                .map(|name| (index + 1, name)),
        );
    }
    used
}

/// First names after each `prefix`: one, or those of a braced list.
fn names_after(line: &str, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in line.match_indices(prefix) {
        let inside = line.get(..at).and_then(|before| before.chars().next_back());
        if inside.is_some_and(|before| before.is_alphanumeric() || ":_$".contains(before)) {
            continue;
        }
        let rest = line.get(at + prefix.len()..).unwrap_or_default();
        let Some(list) = rest.strip_prefix('{') else {
            names.push(first_name(rest));
            continue;
        };
        let mut depth = 0;
        for part in list.split_inclusive([',', '{', '}']) {
            if depth == 0 {
                names.push(first_name(part.trim()));
            }
            depth += part.matches('{').count();
            match depth.checked_sub(part.matches('}').count()) {
                Some(left) => depth = left,
                None => break,
            }
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn first_name(text: &str) -> String {
    text.chars()
        .take_while(|char| char.is_alphanumeric() || *char == '_')
        .collect()
}

#[test]
fn imports_are_read_in_every_form() {
    let text = "use crate::rule::{Rule, RuleId};\n// crate::no\nlet x = crate::store::Take::new();\n\
                use crate::{\n    algo::{Rate, Shape}, facts,\n};\n#[cfg(test)]\nmod tests {\n  use crate::late;\n}\n";
    let expected = [(1, "rule"), (3, "store"), (4, "algo"), (4, "facts")];
    assert_eq!(
        used_modules(text),
        expected.map(|(line, name)| (line, name.to_owned()))
    );
    assert_eq!(
        names_after("$crate::a, mycrate::b, crate::c", "crate::"),
        ["c"]
    );
    assert_eq!(
        names_after("use sim::{replay, run};", "sim::"),
        ["replay", "run"]
    );
}

#[test]
fn a_module_is_the_first_name_below_src() {
    assert_eq!(module_of("src/share/mod.rs"), Some("share"));
    assert_eq!(module_of("src/mesh.rs"), Some("mesh"));
    assert_eq!(module_of("src/lib.rs"), None);
}
