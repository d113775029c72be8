//! What is generated and committed is what its source says.
//!
//! `UPDATE=1 cargo test -p tests --test generated` writes it anew.

#![expect(clippy::expect_used, reason = "what is not there fails the test")]

use std::path::{Path, PathBuf};

use prost::Message as _;

/// The packages' files, below `regiond/proto`.
const PROTOS: &[&str] = &["limiter/v1/limiter.proto", "limiter/v1/usage.proto"];

fn regiond() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../regiond")
}

/// Names and contents of the files in `regiond/src/wire/gen`.
fn generate() -> Vec<(&'static str, Vec<u8>)> {
    let mut descriptors =
        protox::compile(PROTOS, [regiond().join("proto")]).expect("the protocol compiles");
    let folder = tempfile::tempdir().expect("there is room for a folder");
    tonic_prost_build::configure()
        .out_dir(folder.path())
        .compile_fds(descriptors.clone())
        .expect("code can be generated");
    let code = std::fs::read(folder.path().join("limiter.v1.rs")).expect("a package limiter.v1");
    // Comments are of no use to a reflection client.
    for file in &mut descriptors.file {
        file.source_code_info = None;
    }
    vec![
        ("limiter.v1.rs", code),
        ("descriptors.bin", descriptors.encode_to_vec()),
    ]
}

#[test]
fn generated_protocol_code_is_what_the_protocol_says() {
    let folder = regiond().join("src/wire/gen");
    let update = std::env::var_os("UPDATE").is_some();
    for (name, wanted) in generate() {
        let path = folder.join(name);
        if update {
            std::fs::write(&path, &wanted).expect("the tree can be written");
        }
        let found = std::fs::read(&path).unwrap_or_default();
        assert!(
            found == wanted,
            "{} is out of date: run UPDATE=1 cargo test -p tests --test generated",
            path.display()
        );
    }
}
