//! Text that must not occur, by where it must not occur: the rules that need no more than a search.

use super::tree::{File, Line};
use crate::Complaint;

/// Text that is refused.
pub(crate) struct Ban {
    /// Its rule in STYLE.md.
    pub(crate) rule: u8,
    /// Any of these, in code, not in comments, unless `everywhere`.
    words: &'static [&'static str],
    /// What to write instead.
    pub(crate) instead: &'static str,
    /// In these lines alone.
    applies: fn(&File, &Line<'_>) -> bool,
    /// In comments, too.
    everywhere: bool,
    /// A path in which it is refused, for its own test.
    example: &'static str,
}

fn source(file: &File, line: &Line<'_>) -> bool {
    file.is_rust() && !line.test && file.path != "regiond/src/os.rs"
}

fn pure(file: &File, line: &Line<'_>) -> bool {
    file.is_pure() && !line.test
}

fn core(file: &File, line: &Line<'_>) -> bool {
    pure(file, line) && !file.path.starts_with("sim/")
}

fn rust(file: &File, _: &Line<'_>) -> bool {
    file.is_rust() && !file.is_about_style()
}

fn tests(file: &File, line: &Line<'_>) -> bool {
    file.is_rust() && line.test && !file.is_about_style()
}

fn manifest(file: &File, _: &Line<'_>) -> bool {
    file.path.ends_with("Cargo.toml")
}

fn anywhere(file: &File, _: &Line<'_>) -> bool {
    !file.is_about_style() && file.path != "Cargo.lock"
}

/// All of them.
pub(crate) const BANS: &[Ban] = &[
    Ban {
        rule: 1,
        words: &["Instant::now(", "SystemTime::now(", "UNIX_EPOCH"],
        instead: "take `now` as an argument; `regiond/src/os.rs` is where clocks are read",
        applies: source,
        everywhere: false,
        example: "regiond/src/mesh/mod.rs",
    },
    Ban {
        rule: 1,
        words: &[
            "thread_rng(",
            "rand::",
            "getrandom",
            "env::var(",
            "env::vars(",
        ],
        instead: "take the value as an argument; `regiond/src/os.rs` asks the system",
        applies: source,
        everywhere: false,
        example: "regiond/src/pod/mod.rs",
    },
    Ban {
        rule: 2,
        words: &[
            "async fn",
            ".await",
            "Mutex<",
            "RwLock<",
            "std::thread",
            "std::net",
            "std::fs",
        ],
        instead: "return what must be done as data, and let the shell do it",
        applies: core,
        everywhere: false,
        example: "limiter-core/src/share/mod.rs",
    },
    Ban {
        rule: 3,
        words: &["fn get_", "fn do_", "fn process_", "fn perform_"],
        instead: "use a noun for a getter, `handle_`, `poll_` or an imperative verb",
        applies: source,
        everywhere: false,
        example: "regiond/src/http/mod.rs",
    },
    Ban {
        rule: 7,
        words: &["todo!(", "unimplemented!(", "dbg!("],
        instead: "write it, or return an error that says who must act",
        applies: rust,
        everywhere: false,
        example: "sim/src/run.rs",
    },
    Ban {
        rule: 9,
        words: &["::*;"],
        instead: "name what is used; only tests may write `use super::*` and a prelude's `*`",
        applies: |file, line| {
            let known = ["super::*", "prelude::*"]
                .iter()
                .any(|glob| line.code.contains(glob));
            source(file, line) || tests(file, line) && !known
        },
        everywhere: false,
        example: "sync-proto/src/lib.rs",
    },
    Ban {
        rule: 11,
        words: &["HashMap", "HashSet", "RandomState"],
        instead: "use a BTreeMap, or a hashbrown table with a seed that was handed in",
        // The one name that a seeded table shares with the unseeded ones.
        applies: |file, line| pure(file, line) && !line.code.contains("hashbrown::"),
        everywhere: false,
        example: "sync-proto/src/mesh.rs",
    },
    Ban {
        rule: 11,
        words: &[
            ".ln(", ".log2(", ".log10(", ".exp(", ".powf(", ".powi(", ".sqrt(", ".sin(",
        ],
        instead: "use integers: these differ from machine to machine",
        applies: pure,
        everywhere: false,
        example: "sim/src/kernel/rng.rs",
    },
    Ban {
        rule: 11,
        words: &["f64", "f32"],
        instead: "use integers with their unit in the type",
        applies: core,
        everywhere: false,
        example: "limiter-core/src/algo/mod.rs",
    },
    Ban {
        rule: 12,
        words: &["async_trait", "cfg(feature", "async-trait"],
        instead: "use an enum; choose at run time",
        // tonic's own traits cannot be implemented without it.
        applies: |file, line| {
            let ours = !line.code.contains("#[tonic::async_trait]");
            manifest(file, line) || rust(file, line) && ours
        },
        everywhere: false,
        example: "regiond/Cargo.toml",
    },
    Ban {
        rule: 12,
        words: &["[features]"],
        instead: "choose at run time",
        applies: manifest,
        everywhere: false,
        example: "sim/Cargo.toml",
    },
    Ban {
        rule: 14,
        words: &["fn test_", "#[ignore", "sleep("],
        instead: "name a test by what it promises; wait for a condition with `poll_until`",
        applies: tests,
        everywhere: false,
        example: "tests/tests/regiond/demo.rs",
    },
    Ban {
        rule: 15,
        words: &["#[allow(", "#![allow(", "deny(warnings)", "unsafe {"],
        instead: "write `#[expect(lint, reason = \"…\")]` at the item",
        applies: rust,
        everywhere: false,
        example: "regiond/src/lib.rs",
    },
    Ban {
        rule: 10,
        words: &["TODO", "FIXME", "XXX", "HACK"],
        instead: "do it, or open an issue",
        applies: anywhere,
        everywhere: true,
        example: "README.md",
    },
    Ban {
        rule: 10,
        words: &["/home/", "/root/", "/Users/"],
        instead: "name no folder of one machine",
        applies: anywhere,
        everywhere: true,
        example: "CONTRIBUTING.md",
    },
];

impl Ban {
    /// Where a file has it.
    pub(crate) fn find(&self, file: &File) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for line in file.lines().filter(|line| (self.applies)(file, line)) {
            let searched = if self.everywhere {
                line.text
            } else {
                line.code
            };
            let found = self.words.iter().find(|word| contains_word(searched, word));
            complaints.extend(found.map(|word| Complaint::at(line.number, format!("`{word}`"))));
        }
        complaints
    }
}

/// Whether `word` occurs and is not the end of a longer name.
fn contains_word(text: &str, word: &str) -> bool {
    let named = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let starts_name = word.bytes().next().is_some_and(named);
    text.match_indices(word).any(|(at, _)| {
        let before = at
            .checked_sub(1)
            .and_then(|at| text.as_bytes().get(at))
            .copied();
        !(starts_name && before.is_some_and(named))
    })
}

#[test]
fn every_banned_word_is_found_where_it_is_banned() {
    for ban in BANS {
        for word in ban.words {
            let file = File::new(ban.example, &format!("one line\n  {word} x\n"));
            let found = ban.find(&file);
            assert_eq!(found.len(), 1, "{word} in {}", ban.example);
            assert_eq!(
                found.first().map(|complaint| complaint.line),
                Some(2),
                "{word}"
            );
        }
    }
}

#[test]
fn comments_longer_names_and_the_clock_file_are_let_pass() {
    let quiet = |path: &str, text: &str| {
        let file = File::new(path, text);
        BANS.iter().all(|ban| ban.find(&file).is_empty())
    };
    assert!(quiet(
        "sync-proto/src/mesh.rs",
        "/// Not a HashMap, and no Instant::now() either.\n"
    ));
    assert!(quiet("sync-proto/src/mesh.rs", "use hashbrown::HashMap;\n"));
    assert!(quiet("regiond/src/os.rs", "Instant::now()\n"));
    assert!(quiet(
        "tests/tests/a.rs",
        "operand::x(); tests_of_sleep_();\n"
    ));
    assert!(quiet(
        "sim/src/a.rs",
        "#[cfg(test)]\nmod tests {\n    use super::*;\n}\n"
    ));
    assert!(!quiet(
        "tests/src/wait.rs",
        "tokio::time::sleep(LOOK).await;\n"
    ));
}
