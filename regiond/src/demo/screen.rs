//! The demo's live table on a terminal; plain lines, one a window, when the output is not one.
//!
//! Promises: colour only on a terminal and without NO_COLOR; the last picture stays in the scroll-back.
//! Never measures: it draws a snapshot.

mod picture;
mod style;

use std::io::{IsTerminal, Write};

use crossterm::{cursor, queue, terminal};

use super::DemoOptions;
use super::stage::Snapshot;
use picture::Picture;
use style::Style;

/// Where the demo is shown.
pub(super) enum Screen {
    /// Nowhere: a summary follows.
    Silent,
    /// In place, several times a second.
    Live {
        /// What the picture needs to know of the run.
        picture: Picture,
        /// Lines of the last frame, to go back over.
        drawn: u16,
    },
    /// A line for each finished window and each happening.
    Lines {
        /// Windows told so far, per key.
        windows_told: Vec<Option<u64>>,
        /// Happenings told so far.
        happenings_told: usize,
        /// What the last picture needs to know of the run.
        picture: Picture,
    },
}

impl Screen {
    pub(super) fn new(options: &DemoOptions, admin_urls: Vec<String>) -> Self {
        if options.json {
            return Self::Silent;
        }
        if std::io::stdout().is_terminal() {
            let picture = Picture {
                style: Style::of_terminal(),
                sharing: options.sharing,
                admin_urls,
            };
            return Self::Live { picture, drawn: 0 };
        }
        let picture = Picture {
            style: Style::plain(),
            sharing: options.sharing,
            admin_urls,
        };
        Self::Lines {
            windows_told: Vec::new(),
            happenings_told: 0,
            picture,
        }
    }

    pub(super) fn draw(&mut self, snapshot: &Snapshot) {
        match self {
            Self::Silent => {}
            Self::Live { picture, drawn } => redraw(picture, snapshot, drawn),
            Self::Lines {
                windows_told,
                happenings_told,
                ..
            } => {
                for line in news(snapshot, windows_told, happenings_told) {
                    crate::output::print_line(&line);
                }
            }
        }
    }

    /// Draws the last picture and leaves it.
    pub(super) fn finish(&mut self, snapshot: &Snapshot) {
        self.draw(snapshot);
        match self {
            Self::Silent => {}
            Self::Live { .. } => {
                let _ = queue!(std::io::stdout(), cursor::Show);
                let _ = std::io::stdout().flush();
            }
            Self::Lines { picture, .. } => {
                for line in picture.lines(snapshot, terminal_width()) {
                    crate::output::print_line(&line);
                }
            }
        }
    }
}

/// A terminal that went away is no reason to end: failures to draw are ignored.
fn redraw(picture: &Picture, snapshot: &Snapshot, drawn: &mut u16) {
    let lines = picture.lines(snapshot, terminal_width());
    let mut out = std::io::stdout().lock();
    let _ = queue!(out, cursor::Hide, terminal::BeginSynchronizedUpdate);
    if *drawn > 0 {
        let _ = queue!(out, cursor::MoveToPreviousLine(*drawn));
    }
    for line in &lines {
        let _ = write!(out, "{line}");
        let _ = queue!(out, terminal::Clear(terminal::ClearType::UntilNewLine));
        let _ = writeln!(out);
    }
    let _ = queue!(
        out,
        terminal::Clear(terminal::ClearType::FromCursorDown),
        terminal::EndSynchronizedUpdate
    );
    let _ = out.flush();
    *drawn = u16::try_from(lines.len()).unwrap_or(u16::MAX);
}

/// Columns to draw in; a pipe gets what fits most windows.
fn terminal_width() -> usize {
    terminal::size()
        .map_or(100, |(columns, _)| usize::from(columns))
        .clamp(60, 120)
}

/// Lines about windows that ended and things that happened since the last call.
fn news(
    snapshot: &Snapshot,
    windows_told: &mut Vec<Option<u64>>,
    happenings_told: &mut usize,
) -> Vec<String> {
    let tally = &snapshot.tally;
    windows_told.resize(tally.keys.len(), None);
    let mut lines = Vec::new();
    for happening in &snapshot.happenings[*happenings_told..] {
        lines.push(format!(
            "{}  {}",
            picture::clock(happening.at),
            happening.text
        ));
    }
    *happenings_told = snapshot.happenings.len();
    for (key, told) in tally.keys.iter().zip(windows_told) {
        for (&start, by_region) in &key.windows {
            let over = start + key.window.as_micros() <= snapshot.now.as_micros();
            if told.is_some_and(|told| start <= told) || !over {
                continue;
            }
            *told = Some(start);
            if !tally.is_complete(key, start, snapshot.now) {
                continue;
            }
            let parts: Vec<String> = tally
                .regions
                .iter()
                .zip(by_region)
                .map(|(region, count)| format!("{} {count}", region.region))
                .collect();
            lines.push(format!(
                "{}  {} {}: {} admitted of {} ({})",
                picture::clock(snapshot.elapsed),
                key.rule,
                key.key,
                by_region.iter().sum::<u64>(),
                key.limit,
                parts.join(", "),
            ));
        }
    }
    lines
}
