//! Colours of the demo's table: a palette that colour-blind eyes can tell apart, or none.

use crossterm::style::{Attribute, Color, Stylize};

/// Blue, orange and green of Okabe and Ito's palette, one a region.
const REGION_COLOURS: [Color; 3] = [
    Color::Rgb {
        r: 86,
        g: 180,
        b: 233,
    },
    Color::Rgb {
        r: 230,
        g: 159,
        b: 0,
    },
    Color::Rgb {
        r: 0,
        g: 158,
        b: 115,
    },
];

/// How text is marked.
#[derive(Clone, Copy, Debug)]
pub(in crate::demo) struct Style {
    colour: bool,
}

impl Style {
    pub(in crate::demo) fn plain() -> Self {
        Self { colour: false }
    }

    /// Colour, unless NO_COLOR asks for none.
    pub(in crate::demo) fn of_terminal() -> Self {
        Self {
            colour: crate::output::wants_colour(),
        }
    }

    pub(super) fn region(self, region: usize, text: &str) -> String {
        let colour = REGION_COLOURS[region % REGION_COLOURS.len()];
        if self.colour {
            text.with(colour).to_string()
        } else {
            text.to_owned()
        }
    }

    pub(super) fn strong(self, text: &str) -> String {
        if self.colour {
            text.attribute(Attribute::Bold).to_string()
        } else {
            text.to_owned()
        }
    }

    pub(super) fn faint(self, text: &str) -> String {
        if self.colour {
            text.attribute(Attribute::Dim).to_string()
        } else {
            text.to_owned()
        }
    }

    pub(super) fn alarm(self, text: &str) -> String {
        if self.colour {
            text.with(Color::Red).to_string()
        } else {
            text.to_owned()
        }
    }
}
