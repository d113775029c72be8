//! A limit as written, and what a store must know of it.

use sync_proto::{Span, WallTime};

use crate::algo::{BucketAlgorithm, Rate, Shape, Windows};
use crate::calendar::Calendar;
use crate::key::stable_hash;

/// A limit as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// None.
    Unlimited,
    /// A bucket.
    Bucket {
        /// Its formulation.
        algorithm: BucketAlgorithm,
        /// Its refill, in lowest terms.
        rate: Rate,
        /// Its refill as written: what headers advertise.
        advertised: Rate,
        /// Its capacity, in units.
        burst: u64,
    },
    /// A fixed window.
    FixedWindow {
        /// Units per window.
        limit: u64,
        /// Length.
        window: Window,
    },
}

/// A window's length as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Window {
    /// So long, with a phase per key.
    Every(Span),
    /// Calendar windows in a time zone.
    Calendar(Calendar),
}

impl Limit {
    /// What a store must know near a time; `phase` says when windows of a length begin. None when there is no limit.
    pub(super) fn shape(&self, near: WallTime, phase: impl FnOnce(Span) -> Span) -> Option<Shape> {
        Some(match self {
            Self::Unlimited => return None,
            Self::Bucket {
                algorithm,
                rate,
                burst,
                ..
            } => Shape::Bucket {
                algorithm: *algorithm,
                rate: *rate,
                burst: *burst,
            },
            Self::FixedWindow { limit, window } => Shape::FixedWindow {
                limit: *limit,
                windows: match window {
                    Window::Every(length) => Windows::Every {
                        length: *length,
                        phase: phase(*length),
                    },
                    Window::Calendar(calendar) => Windows::Edges(calendar.edges(near)),
                },
            },
        })
    }

    /// Names algorithm and window, but not the height: a changed limit keeps its counter, state of another shape does
    /// not pass for it.
    pub(super) fn shape_name(&self) -> u32 {
        stable_hash(&match self {
            Self::Unlimited => "unlimited".to_owned(),
            Self::Bucket {
                algorithm, rate, ..
            } => {
                format!("{algorithm:?} {}/{}", rate.tokens, rate.per.as_micros())
            }
            Self::FixedWindow {
                window: Window::Every(length),
                ..
            } => {
                format!("fixed_window {}", length.as_micros())
            }
            Self::FixedWindow {
                window: Window::Calendar(calendar),
                ..
            } => {
                format!("fixed_window {}", calendar.name())
            }
        })
    }
}
