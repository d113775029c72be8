//! Rules and certificates from their files, at start and again on SIGHUP.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use limiter_core::rule::RuleSet;

use crate::config::Config;
use crate::mesh::MeshIdentity;

/// Reads a rules file. Without one there are no rules, and everything is allowed.
///
/// # Errors
/// The file cannot be read, or any rule in it is refused: then none of it holds.
pub(super) fn rules(path: Option<&Path>, version: u64) -> anyhow::Result<Arc<RuleSet>> {
    let Some(path) = path else {
        return Ok(Arc::default());
    };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the rules file {name} (named by --rules)"))?;
    let rules = RuleSet::parse(&name, &text, version).map_err(|errors| {
        anyhow::anyhow!(
            "{} in the rules file:\n{errors}",
            count_of(errors.0.len(), "error")
        )
    })?;
    Ok(Arc::new(rules))
}

/// Reads the certificates, or makes an identity for loopback when none are named.
///
/// # Errors
/// A file cannot be read, or what is in it does not fit together.
pub(super) fn identity(config: &Config) -> anyhow::Result<MeshIdentity> {
    match &config.tls {
        Some(files) => MeshIdentity::from_files(&config.region, files),
        None => MeshIdentity::unproven(&config.region),
    }
}

fn count_of(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rules_file_means_no_rules() {
        assert!(rules(None, 1).unwrap().rules().is_empty());
    }

    #[test]
    fn a_missing_rules_file_is_named_with_its_flag() {
        let error = rules(Some(Path::new("/nowhere/rules.yaml")), 1)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("/nowhere/rules.yaml") && error.contains("--rules"),
            "{error}"
        );
    }
}
