//! The outcome as text for a terminal.

use std::fmt::{self, Write as _};

use crate::measure::{KeyOutcome, Outcome, WindowOutcome};

/// The outcome as text, one table per client and rule.
#[must_use]
pub fn table(outcome: &Outcome) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, outcome);
    text
}

fn write(text: &mut String, outcome: &Outcome) -> fmt::Result {
    let Outcome {
        scenario,
        seed,
        traffic_ms,
        ..
    } = outcome;
    writeln!(
        text,
        "{scenario}, seed {seed}, {} s of traffic",
        traffic_ms / 1_000
    )?;
    for key in &outcome.keys {
        write_key(text, outcome, key)?;
    }
    writeln!(
        text,
        "\nage of counts, ms{:>25}{:>8}{:>8}",
        "p50", "p99", "max"
    )?;
    for (pair, lag) in &outcome.lag_ms {
        writeln!(
            text,
            "  {pair:<32}{:>8}{:>8}{:>8}",
            lag.p50, lag.p99, lag.max
        )?;
    }
    writeln!(text, "\nsent{:>38}{:>8}{:>8}", "bytes/s", "frames", "lost")?;
    let seconds = (traffic_ms / 1_000).max(1);
    for (way, link) in &outcome.links {
        let per_second = link.bytes / seconds;
        writeln!(
            text,
            "  {way:<32}{per_second:>8}{:>8}{:>8}",
            link.frames, link.lost
        )?;
    }
    for heal in &outcome.heals {
        let after = heal
            .known_after_ms
            .map_or_else(|| "never".to_owned(), |ms| format!("after {ms} ms"));
        let at = Milliseconds(i64::try_from(heal.at_ms).unwrap_or(i64::MAX));
        writeln!(
            text,
            "\n{} is back at {at} s; all is known {after}",
            heal.region
        )?;
    }
    for violation in &outcome.violations {
        writeln!(text, "\nBROKEN {violation}")?;
    }
    writeln!(text, "\n{} events, trace {}", outcome.events, outcome.trace)
}

fn write_key(text: &mut String, outcome: &Outcome, key: &KeyOutcome) -> fmt::Result {
    let window_s = Milliseconds(i64::try_from(key.window_ms).unwrap_or(i64::MAX));
    writeln!(
        text,
        "\n{} under {}: {} per {window_s} s",
        key.client, key.rule, key.limit
    )?;
    write!(
        text,
        "{:>9}{:>8}{:>9}{:>9}",
        "window s", "asked", "allowed", "of limit"
    )?;
    for region in &outcome.regions {
        write!(text, "{region:>12}")?;
    }
    writeln!(text, "{:>12}", "oldest ms")?;
    for window in &key.windows {
        write_window(text, outcome, key, window)?;
    }
    let (over, under) = (
        Permille(key.worst_over_permille),
        Permille(key.worst_under_permille),
    );
    writeln!(text, "complete windows: at most {over} over, {under} under")
}

fn write_window(
    text: &mut String,
    outcome: &Outcome,
    key: &KeyOutcome,
    window: &WindowOutcome,
) -> fmt::Result {
    let start = Milliseconds(window.start_ms).to_string();
    let part = Permille(window.allowed * 1_000 / key.limit.max(1)).to_string();
    write!(
        text,
        "{start:>9}{:>8}{:>9}{part:>9}",
        window.asked, window.allowed
    )?;
    for region in &outcome.regions {
        write!(
            text,
            "{:>12}",
            window.by_region.get(region).copied().unwrap_or(0)
        )?;
    }
    let lag = window
        .lag_ms_max
        .map_or_else(|| "-".to_owned(), |ms| ms.to_string());
    writeln!(
        text,
        "{lag:>12}{}",
        if window.complete {
            ""
        } else {
            "  part of a window"
        }
    )
}

/// Thousandths, shown as a percentage.
struct Permille(u64);

impl fmt::Display for Permille {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} %", self.0 / 10, self.0 % 10)
    }
}

/// Milliseconds, shown as seconds.
struct Milliseconds(i64);

impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, rest) = (self.0.unsigned_abs() / 1_000, self.0.unsigned_abs() % 1_000);
        if rest == 0 {
            write!(f, "{sign}{whole}")
        } else {
            write!(f, "{sign}{whole}.{rest:03}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_times_are_shown_with_their_sign_and_point() {
        assert_eq!(Permille(1_003).to_string(), "100.3 %");
        assert_eq!(Milliseconds(-2_050).to_string(), "-2.050");
        assert_eq!(Milliseconds(10_000).to_string(), "10");
    }
}
