//! `certs`: an authority and certificates for people without a PKI of their own.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sync_proto::RegionId;

use super::Outcome;
use crate::mesh::{NewCertificate, issue, new_authority};
use crate::output::print_line;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make a certificate authority: ca.pem and ca.key
    #[command(after_help = "Examples:\n  regiond certs new-ca certificates/")]
    NewCa {
        /// Where to
        folder: PathBuf,
        /// What it is called
        #[arg(long, default_value = "regiond mesh")]
        name: String,
    },
    /// Make a region's certificate by that authority: REGION.pem and REGION.key
    #[command(after_help = "Examples:\n  regiond certs issue --ca certificates/ mumbai")]
    Issue {
        /// The folder that new-ca wrote; the certificate goes there, too
        #[arg(long, value_name = "DIR")]
        ca: PathBuf,
        /// Whose it is
        region: RegionId,
        /// How long it is good for
        #[arg(long, default_value_t = 365)]
        days: u32,
    },
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::NewCa { folder, name } => {
                fs::create_dir_all(&folder)
                    .with_context(|| format!("cannot make the folder {}", folder.display()))?;
                write(&folder, "ca", &new_authority(&name)?)?;
            }
            Self::Issue { ca, region, days } => {
                let read = |name: &str| {
                    let path = ca.join(name);
                    fs::read_to_string(&path).with_context(|| {
                        let path = path.display();
                        format!("cannot read {path}; `regiond certs new-ca DIR` makes it")
                    })
                };
                let authority = NewCertificate {
                    cert_pem: read("ca.pem")?,
                    key_pem: read("ca.key")?,
                };
                write(&ca, region.as_str(), &issue(&authority, &region, days)?)?;
            }
        }
        Ok(Outcome::Done)
    }
}

/// Writes both files, the key for its owner's eyes alone. Never over a file that is there.
fn write(folder: &Path, name: &str, certificate: &NewCertificate) -> anyhow::Result<()> {
    for (kind, mode, text) in [
        ("key", 0o600, &certificate.key_pem),
        ("pem", 0o644, &certificate.cert_pem),
    ] {
        let path = folder.join(format!("{name}.{kind}"));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| {
            format!(
                "cannot write {}; files that exist are never overwritten",
                path.display()
            )
        })?;
        print_line(&format!("wrote {}", path.display()));
    }
    Ok(())
}
