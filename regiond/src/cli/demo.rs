//! `demo`: three regions on this machine.

use clap::ValueEnum;
use limiter_core::rule::Sharing;
use sync_proto::Span;

use super::Outcome;
use crate::demo::{self, Cut, DemoOptions};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  regiond demo\n  regiond demo --for 20s --json\n  \
                        regiond demo --cut singapore --at 8s --heal 14s"
)]
pub(super) struct Args {
    /// End after this long; without it, ctrl-c does
    #[arg(long = "for", value_name = "SPAN", value_parser = span)]
    length: Option<Span>,
    /// Print one JSON summary instead of the live table (20 s unless --for says otherwise)
    #[arg(long)]
    json: bool,
    /// Cut this region off from the others
    #[arg(long, value_name = "REGION", requires = "at")]
    cut: Option<String>,
    /// When, from the start of the traffic
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "cut")]
    at: Option<Span>,
    /// When it is back; without it, never
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "cut")]
    heal: Option<Span>,
    /// How the regions share the limit
    #[arg(long, value_enum, default_value_t = SharingArg::Balanced)]
    sharing: SharingArg,
    /// Draws the traffic and the links' jitter
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SharingArg {
    Eager,
    Balanced,
    Strict,
}

impl Args {
    pub(super) async fn run(self) -> anyhow::Result<Outcome> {
        let cut = self.cut.zip(self.at);
        let cut = cut.map(|(region, at)| Cut {
            region,
            at,
            heal: self.heal,
        });
        if let Some(heal) = cut
            .as_ref()
            .and_then(|cut| cut.heal.filter(|heal| *heal <= cut.at))
        {
            anyhow::bail!("--heal {heal} comes before the cut; name a later time");
        }
        let sharing = match self.sharing {
            SharingArg::Eager => Sharing::Eager,
            SharingArg::Balanced => Sharing::Balanced,
            SharingArg::Strict => Sharing::Strict,
        };
        let (duration, json, seed) = (self.length, self.json, self.seed);
        demo::run(DemoOptions {
            duration,
            json,
            cut,
            sharing,
            seed,
        })
        .await?;
        Ok(Outcome::Done)
    }
}

/// A length of time, for clap.
pub(super) fn span(text: &str) -> Result<Span, String> {
    limiter_core::rule::parse_span(text)
        .ok_or_else(|| "a length of time is a number with a unit: 250ms, 20s, 1m30s".to_owned())
}
