//! Three regions in one process: real nodes, real QUIC over loopback with a WAN's delays in front, traffic, and a
//! live table.
//!
//! Promises: what is shown is what callers and operators would see; nothing of the limiter is faked.

mod screen;
mod script;
mod stage;
mod summary;
mod tally;
mod traffic;
pub mod wan_socket;

use std::time::Duration;

use limiter_core::rule::Sharing;
use sync_proto::Span;

use screen::Screen;
use stage::Stage;
use summary::Summary;

/// What `regiond demo` was asked for.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// How long; absent: until ctrl-c, or 20 s with `json`.
    pub duration: Option<Span>,
    /// One JSON summary on stdout instead of the live table.
    pub json: bool,
    /// A region to cut off.
    pub cut: Option<Cut>,
    /// Sharing mode of the demo's rules.
    pub sharing: Sharing,
    /// Seed of the traffic and of the WAN's jitter.
    pub seed: u64,
}

/// A partition to show.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Who is cut off.
    pub region: String,
    /// When, from the start of the traffic.
    pub at: Span,
    /// Until when, from the start of the traffic; absent: for good.
    pub heal: Option<Span>,
}

/// How often the table is drawn and the lag sampled.
const FRAME: Duration = Duration::from_millis(200);

/// How long the demo runs when a summary is wanted and no length was given.
const SUMMARY_LENGTH: Span = Span::from_secs(20);

/// Runs the demo.
///
/// # Errors
/// A region that does not start or is not heard by the others within seconds, or a cut of a region that is not there.
pub async fn run(options: DemoOptions) -> anyhow::Result<()> {
    let length = options
        .duration
        .or_else(|| options.json.then_some(SUMMARY_LENGTH));
    let mut stage = Stage::set(&options).await?;
    let mut screen = Screen::new(&options, stage.admin_urls());
    let mut frames = tokio::time::interval(FRAME);
    frames.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let stopped_by_hand = tokio::signal::ctrl_c();
    tokio::pin!(stopped_by_hand);
    loop {
        tokio::select! {
            _ = frames.tick() => {}
            _ = &mut stopped_by_hand => break,
        }
        stage.advance();
        screen.draw(&stage.snapshot());
        if length.is_some_and(|length| stage.elapsed() >= length) {
            break;
        }
    }
    let now = stage.end_traffic().await;
    let last = stage.snapshot();
    screen.finish(&last);
    stage.strike().await;
    if options.json {
        let summary = Summary::of(&last.tally, now);
        crate::output::print_line(&serde_json::to_string(&summary)?);
    }
    Ok(())
}
