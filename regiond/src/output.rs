//! Data on stdout, talk on stderr.
//!
//! Promises: a reader that went away (`regiond lag | head`) ends the output quietly.

use std::io::{IsTerminal, Write};

/// Prints one line of data.
pub fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Whether stdout wants colour: it is a terminal, and NO_COLOR is not set.
pub fn wants_colour() -> bool {
    std::io::stdout().is_terminal() && crate::os::variable("NO_COLOR").is_none()
}
