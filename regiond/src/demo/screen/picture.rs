//! Composes the lines of one frame from a snapshot. Pure: no terminal, no clock.

use limiter_core::rule::Sharing;
use sync_proto::Span;

use super::style::Style;
use crate::demo::stage::Snapshot;
use crate::demo::summary::bytes_per_second;
use crate::demo::tally::KeyTally;

/// Finished windows shown behind the current one.
const PAST_WINDOWS: usize = 6;

/// Happenings shown.
const HAPPENINGS: usize = 4;

/// What every frame needs to know of the run.
pub(in crate::demo) struct Picture {
    pub(super) style: Style,
    pub(super) sharing: Sharing,
    pub(super) admin_urls: Vec<String>,
}

impl Picture {
    /// The lines of a frame, `width` columns wide at the most.
    pub(super) fn lines(&self, snapshot: &Snapshot, width: usize) -> Vec<String> {
        let mut lines = vec![self.title(snapshot), String::new()];
        self.push_regions(snapshot, &mut lines);
        for key in &snapshot.tally.keys {
            lines.push(String::new());
            self.push_key(snapshot, key, width, &mut lines);
        }
        lines.push(String::new());
        self.push_lags(snapshot, &mut lines);
        if !snapshot.happenings.is_empty() {
            lines.push(String::new());
        }
        let skipped = snapshot.happenings.len().saturating_sub(HAPPENINGS);
        for happening in &snapshot.happenings[skipped..] {
            lines.push(format!(
                "  {}  {}",
                clock(happening.at),
                self.style.alarm(&happening.text)
            ));
        }
        lines.push(String::new());
        let admin = self.admin_urls.first().map_or("", String::as_str);
        lines.push(self.style.faint(&format!(
            "  ctrl-c ends · try: curl {admin}/v1/mesh/lag · regiond lag --admin {admin} --watch"
        )));
        lines
    }

    fn title(&self, snapshot: &Snapshot) -> String {
        let sharing = match self.sharing {
            Sharing::Eager => "eager",
            Sharing::Balanced => "balanced",
            Sharing::Strict => "strict",
            Sharing::Shares => "shares",
        };
        let name = self.style.strong("regiond demo");
        format!(
            "  {name} · three regions, one limit · sharing {sharing} · {}",
            clock(snapshot.elapsed)
        )
    }

    fn push_regions(&self, snapshot: &Snapshot, lines: &mut Vec<String>) {
        let head = format!(
            "  {:<12}{:>9}{:>10}{:>10}{:>10}{:>11}{:>11}",
            "region", "checks/s", "admitted", "denied", "no answer", "p50", "p99"
        );
        lines.push(self.style.faint(&head));
        let seconds = snapshot.elapsed.as_millis().max(1);
        for (place, region) in snapshot.tally.regions.iter().enumerate() {
            let name = self.style.region(place, &format!("{:<12}", region.region));
            let cut = if snapshot.cut_off == Some(place) {
                self.style.alarm("  cut off")
            } else {
                String::new()
            };
            lines.push(format!(
                "  {name}{:>9}{:>10}{:>10}{:>10}{:>11}{:>11}{cut}",
                region.checks * 1_000 / seconds,
                region.allowed,
                region.denied,
                region.failed,
                micros(region.waits.value_at_quantile(0.5)),
                micros(region.waits.value_at_quantile(0.99)),
            ));
        }
    }

    fn push_key(&self, snapshot: &Snapshot, key: &KeyTally, width: usize, lines: &mut Vec<String>) {
        let tally = &snapshot.tally;
        let start = key.window_of(snapshot.now);
        let none = vec![0; tally.regions.len()];
        let by_region = key.windows.get(&start.as_micros()).unwrap_or(&none);
        let total: u64 = by_region.iter().sum();
        let left = key.window.minus(snapshot.now.since(start));
        let title = format!("{} {}", key.rule, key.key);
        lines.push(format!(
            "  {}  at most {} in {} over all regions",
            self.style.strong(&title),
            key.limit,
            key.window
        ));
        let bar = self.bar(by_region, key.limit, width.saturating_sub(36).clamp(20, 60));
        lines.push(format!(
            "  now   {bar} {total:>6} / {:<6} {:>4} left",
            key.limit,
            tenths(left)
        ));
        let past: Vec<String> = key
            .windows
            .range(..start.as_micros())
            .rev()
            .filter(|(at, _)| tally.is_complete(key, **at, snapshot.now))
            .take(PAST_WINDOWS)
            .map(|(_, by_region)| by_region.iter().sum::<u64>().to_string())
            .collect();
        let past = if past.is_empty() {
            "none finished yet".to_owned()
        } else {
            past.join("  ")
        };
        lines.push(format!(
            "  {} {past}",
            self.style.faint("before, newest first:")
        ));
    }

    /// The window as a bar of `cells`, filled by each region in its colour.
    fn bar(&self, by_region: &[u64], limit: u64, cells: usize) -> String {
        let scale = |units: u64| {
            let cells = u64::try_from(cells).unwrap_or(u64::MAX);
            usize::try_from(units * cells / limit.max(1)).unwrap_or(usize::MAX)
        };
        // Regions are told apart by shade as well, for terminals without colour.
        const SHADES: [&str; 3] = ["█", "▓", "▒"];
        let mut bar = String::new();
        let (mut sum, mut filled) = (0, 0);
        for (place, units) in by_region.iter().enumerate() {
            sum += units;
            let end = scale(sum).min(cells);
            let part = SHADES[place % SHADES.len()].repeat(end.saturating_sub(filled));
            bar.push_str(&self.style.region(place, &part));
            filled = end.max(filled);
        }
        bar.push_str(&self.style.faint(&"░".repeat(cells - filled)));
        bar
    }

    fn push_lags(&self, snapshot: &Snapshot, lines: &mut Vec<String>) {
        let tally = &snapshot.tally;
        let mut head = format!("  {:<24}", "age of the counts from");
        for (place, region) in tally.regions.iter().enumerate() {
            head.push_str(&self.style.region(place, &format!("{:>14}", region.region)));
        }
        lines.push(head);
        for (to, receiver) in tally.regions.iter().enumerate() {
            let mut line = format!(
                "  {}",
                self.style
                    .region(to, &format!("{:>24}", format!("at {}", receiver.region)))
            );
            for from in 0..tally.regions.len() {
                let lag = tally.links.get(&(from, to)).map(|link| link.lag_now);
                line.push_str(&match lag {
                    None => format!("{:>14}", "·"),
                    Some(None) => format!("{:>14}", "not heard"),
                    Some(Some(lag)) if lag > Span::from_millis(2_500) => {
                        self.style.alarm(&format!("{:>14}", tenths(lag)))
                    }
                    Some(Some(lag)) => format!("{:>14}", format!("{} ms", lag.as_millis())),
                });
            }
            lines.push(line);
        }
        let bytes: u64 = tally
            .links
            .values()
            .map(|link| bytes_per_second(link, snapshot.elapsed))
            .sum();
        lines.push(self.style.faint(&format!(
            "  {:>24}  {}.{} kB/s over {} links",
            "the mesh sends",
            bytes / 1_000,
            bytes % 1_000 / 100,
            tally.links.len()
        )));
    }
}

/// `01:05`.
pub(super) fn clock(at: Span) -> String {
    let seconds = at.as_millis() / 1_000;
    format!("{:02}:{:02}", seconds / 60, seconds % 60)
}

/// `7.3 s`.
fn tenths(span: Span) -> String {
    let tenths = span.as_millis() / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

/// `142 µs`, or `1.4 ms` from a millisecond on.
fn micros(micros: u64) -> String {
    if micros < 1_000 {
        return format!("{micros} µs");
    }
    format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        Picture {
            style: Style::plain(),
            sharing: Sharing::Balanced,
            admin_urls: Vec::new(),
        }
    }

    #[test]
    fn a_bar_shows_each_region_and_what_is_left() {
        assert_eq!(picture().bar(&[50, 20, 10], 100, 10), "█████▓▓▒░░");
    }

    #[test]
    fn a_bar_never_grows_past_its_cells() {
        assert_eq!(picture().bar(&[90, 90, 0], 100, 10), "█████████▓");
        assert_eq!(picture().bar(&[0, 0, 0], 0, 4), "░░░░");
    }

    #[test]
    fn spans_read_as_people_say_them() {
        assert_eq!(clock(Span::from_secs(65)), "01:05");
        assert_eq!(tenths(Span::from_millis(7_349)), "7.3 s");
        assert_eq!(micros(142), "142 µs");
        assert_eq!(micros(1_420), "1.4 ms");
    }
}
