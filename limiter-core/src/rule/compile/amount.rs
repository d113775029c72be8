//! How much: algorithm, rate and burst, or limit and window.

use sync_proto::Span;

use super::super::duration::parse_span;
use super::super::limit::{Limit, Window};
use super::refuse_word;
use crate::algo::{BucketAlgorithm, Rate};
use crate::bounds::{CAPACITY_UNITS_MAX, LIMIT_MAX, WINDOW_MAX};
use crate::calendar::{Calendar, CalendarUnit};
use crate::yaml::{Field, Fields, Refusals};

/// The algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bucket(BucketAlgorithm),
    FixedWindow,
}

/// Algorithms that rules may name.
const KNOWN: [&str; 3] = ["token_bucket", "gcra", "fixed_window"];

/// Algorithms that are not here yet.
const LATER: [&str; 4] = [
    "leaky_bucket",
    "sliding_window",
    "sliding_log",
    "concurrency",
];

impl Kind {
    /// `algorithm`; a rule with a `limit` and none is a fixed window.
    pub(super) fn read(fields: &mut Fields<'_>, refusals: &mut Refusals) -> Option<Self> {
        let Some(field) = fields.take("algorithm") else {
            return Some(Self::FixedWindow);
        };
        match field.text().as_deref() {
            Some("token_bucket") => Some(Self::Bucket(BucketAlgorithm::TokenBucket)),
            Some("gcra") => Some(Self::Bucket(BucketAlgorithm::Gcra)),
            Some("fixed_window") => Some(Self::FixedWindow),
            Some(name) if LATER.contains(&name) => {
                let known = KNOWN.join(", ");
                field.refuse(
                    refusals,
                    &format!("not supported by this version, which has {known}"),
                );
                None
            }
            _ => {
                refuse_word(&field, &KNOWN, refusals);
                None
            }
        }
    }
}

/// The fields that say how much, as written.
#[derive(Clone, Debug, Default)]
pub(super) struct Amount<'d> {
    rate_per_s: Option<Field<'d>>,
    rate: Option<Field<'d>>,
    burst: Option<Field<'d>>,
    limit: Option<Field<'d>>,
    window: Option<Field<'d>>,
    timezone: Option<Field<'d>>,
}

impl<'d> Amount<'d> {
    pub(super) fn read(fields: &mut Fields<'d>, _refusals: &mut Refusals) -> Self {
        Self {
            rate_per_s: fields.take("rate_per_s"),
            rate: fields.take("rate"),
            burst: fields.take("burst"),
            limit: fields.take("limit"),
            window: fields.take("window"),
            timezone: fields.take("timezone"),
        }
    }

    /// What an override leaves out is its rule's.
    pub(super) fn over(self, base: &Self) -> Self {
        let own_rate = self.rate.is_some() || self.rate_per_s.is_some();
        let rate_of = |field: &Option<Field<'d>>| field.clone().filter(|_| !own_rate);
        Self {
            rate_per_s: self.rate_per_s.or_else(|| rate_of(&base.rate_per_s)),
            rate: self.rate.or_else(|| rate_of(&base.rate)),
            burst: self.burst.or_else(|| base.burst.clone()),
            limit: self.limit.or_else(|| base.limit.clone()),
            window: self.window.or_else(|| base.window.clone()),
            timezone: self.timezone.or_else(|| base.timezone.clone()),
        }
    }

    fn bucket_fields(&self) -> [&Option<Field<'d>>; 3] {
        [&self.rate_per_s, &self.rate, &self.burst]
    }

    fn window_fields(&self) -> [&Option<Field<'d>>; 3] {
        [&self.limit, &self.window, &self.timezone]
    }

    pub(super) fn refuse_any(&self, why: &str, refusals: &mut Refusals) {
        let all = self.bucket_fields().into_iter().chain(self.window_fields());
        for field in all.flatten() {
            refusals.add(field.line, &field.place, why);
        }
    }

    /// The limit; `place` and `line` are for what is missing.
    pub(super) fn limit(
        &self,
        kind: Option<&Kind>,
        place: &str,
        line: usize,
        refusals: &mut Refusals,
    ) -> Option<Limit> {
        let (foreign, why) = match kind? {
            Kind::Bucket(_) => (
                self.window_fields(),
                "belongs to a window; a bucket has `rate_per_s` or `rate`, and `burst`",
            ),
            Kind::FixedWindow => (
                self.bucket_fields(),
                "belongs to a bucket (`algorithm: token_bucket`); a fixed window has `limit` and `window`",
            ),
        };
        for field in foreign.into_iter().flatten() {
            refusals.add(field.line, &field.place, why);
        }
        match kind? {
            Kind::Bucket(algorithm) => self.bucket(*algorithm, place, line, refusals),
            Kind::FixedWindow => self.fixed_window(place, line, refusals),
        }
    }

    fn bucket(
        &self,
        algorithm: BucketAlgorithm,
        place: &str,
        line: usize,
        refusals: &mut Refusals,
    ) -> Option<Limit> {
        let advertised = match (&self.rate_per_s, &self.rate) {
            (Some(field), None) => per_second(field, refusals)?,
            (None, Some(field)) => rate(field, refusals)?,
            (Some(_), Some(field)) => {
                refusals.add(
                    field.line,
                    &field.place,
                    "says the same as `rate_per_s`; leave one out",
                );
                return None;
            }
            (None, None) => {
                refusals.add(
                    line,
                    place,
                    "has no rate; write `rate_per_s: 20` or `rate: 10/60s`",
                );
                return None;
            }
        };
        let second = Span::from_secs(1).as_micros();
        let burst = match &self.burst {
            Some(field) => amount(field, refusals)?,
            // What may come in a second, and at least one: a bucket that holds less would never let anything through.
            None => {
                let tokens = u128::from(advertised.tokens) * u128::from(second);
                let a_second = tokens.div_ceil(u128::from(advertised.per.as_micros()));
                u64::try_from(a_second)
                    .unwrap_or(LIMIT_MAX)
                    .clamp(1, LIMIT_MAX)
            }
        };
        let rate = in_lowest_terms(advertised);
        if u128::from(burst) * u128::from(rate.per.as_micros()) >= u128::from(CAPACITY_UNITS_MAX) {
            let line = self.burst.as_ref().map_or(line, |field| field.line);
            let message = "burst times the rate's period is more than can be held exactly; \
                           write a smaller burst or a shorter period";
            refusals.add(line, format!("{place}, burst"), message);
            return None;
        }
        Some(Limit::Bucket {
            algorithm,
            rate,
            advertised,
            burst,
        })
    }

    fn fixed_window(&self, place: &str, line: usize, refusals: &mut Refusals) -> Option<Limit> {
        let limit = match &self.limit {
            Some(field) => amount(field, refusals),
            None => {
                refusals.add(line, place, "has no `limit`; write `limit: 1000`");
                None
            }
        };
        let Some(field) = &self.window else {
            refusals.add(line, place, "has no `window`; write `window: 1m`");
            return None;
        };
        let zone = self.timezone.as_ref();
        let window = window(field, zone, refusals)?;
        if let (Window::Every(_), Some(zone)) = (&window, zone) {
            let message = "only calendar windows (1d, 1w, 1mo) have a time zone";
            refusals.add(zone.line, &zone.place, message);
        }
        Some(Limit::FixedWindow {
            limit: limit?,
            window,
        })
    }
}

fn amount(field: &Field<'_>, refusals: &mut Refusals) -> Option<u64> {
    let amount = field.whole().filter(|amount| *amount <= LIMIT_MAX);
    if amount.is_none() {
        field.refuse(
            refusals,
            &format!("a whole number from 0 to {LIMIT_MAX} is wanted"),
        );
    }
    amount
}

fn per_second(field: &Field<'_>, refusals: &mut Refusals) -> Option<Rate> {
    let tokens = field
        .whole()
        .filter(|tokens| (1..=LIMIT_MAX).contains(tokens));
    if tokens.is_none() {
        let wanted = "a whole number of at least 1 is wanted; for less, write `rate: 10/60s`";
        field.refuse(refusals, wanted);
    }
    Some(Rate {
        tokens: tokens?,
        per: Span::from_secs(1),
    })
}

fn rate(field: &Field<'_>, refusals: &mut Refusals) -> Option<Rate> {
    let parse = |text: &str| {
        let (tokens, per) = text.split_once('/')?;
        let tokens = tokens
            .trim()
            .parse()
            .ok()
            .filter(|it| (1..=LIMIT_MAX).contains(it))?;
        let per = per.trim();
        let one = format!("1{per}");
        let per = parse_span(if per.starts_with(|c: char| c.is_ascii_digit()) {
            per
        } else {
            &one
        })?;
        (per > Span::ZERO && per <= WINDOW_MAX).then_some(Rate { tokens, per })
    };
    let rate = field.text().as_deref().and_then(parse);
    if rate.is_none() {
        field.refuse(
            refusals,
            "a rate is written 10/60s or 10000/1h, in whole numbers",
        );
    }
    rate
}

fn window(field: &Field<'_>, zone: Option<&Field<'_>>, refusals: &mut Refusals) -> Option<Window> {
    let text = field.text().unwrap_or_default();
    let unit = match text.as_str() {
        "1d" => Some(CalendarUnit::Day),
        "1w" => Some(CalendarUnit::Week),
        "1mo" => Some(CalendarUnit::Month),
        _ => None,
    };
    if let Some(unit) = unit {
        let name = zone
            .map_or_else(|| Some("UTC".to_owned()), Field::text)
            .unwrap_or_default();
        let calendar = Calendar::new(unit, &name);
        if let (None, Some(zone)) = (&calendar, zone) {
            zone.refuse(
                refusals,
                "a time zone is an IANA name, such as Asia/Kolkata",
            );
        }
        return calendar.map(Window::Calendar);
    }
    let whole_seconds = |span: &Span| {
        span.as_micros()
            .is_multiple_of(Span::from_secs(1).as_micros())
            && (Span::from_secs(1)..=WINDOW_MAX).contains(span)
    };
    match parse_span(&text).filter(whole_seconds) {
        Some(length) => Some(Window::Every(length)),
        None => {
            let wanted = match field.whole() {
                Some(number) => format!("a window needs a unit; write {number}s or {number}m"),
                None => {
                    "a window is whole seconds with a unit: 10s, 1m30s, 1h; or 1d, 1w, 1mo".into()
                }
            };
            field.refuse(refusals, &wanted);
            None
        }
    }
}

fn in_lowest_terms(rate: Rate) -> Rate {
    let (mut a, mut b) = (rate.tokens, rate.per.as_micros());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let divisor = a.max(1);
    Rate {
        tokens: rate.tokens / divisor,
        per: Span::from_micros(rate.per.as_micros() / divisor),
    }
}
