//! Calendar windows in a named time zone: days, weeks from Monday, months. A day can have 23 or 25 hours.
//!
//! Promises: zone data is compiled in, so that every machine and every region finds the same boundaries.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use sync_proto::WallTime;

/// What a calendar window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalendarUnit {
    /// From midnight to midnight.
    Day,
    /// From Monday's midnight on.
    Week,
    /// From the first's midnight on.
    Month,
}

/// Calendar windows in a zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Calendar {
    unit: CalendarUnit,
    zone: TimeZone,
}

impl Calendar {
    /// Windows of `unit` in the zone called `zone` (IANA, such as `Asia/Kolkata`); none when there is no such zone.
    pub fn new(unit: CalendarUnit, zone: &str) -> Option<Self> {
        let zone = TimeZone::get(zone).ok()?;
        Some(Self { unit, zone })
    }

    /// A name that is equal for equal windows.
    pub(crate) fn name(&self) -> String {
        let unit = match self.unit {
            CalendarUnit::Day => "1d",
            CalendarUnit::Week => "1w",
            CalendarUnit::Month => "1mo",
        };
        format!("{unit}@{}", self.zone.iana_name().unwrap_or("UTC"))
    }

    /// Boundaries around `near`: the window before it, its own, and the next: `[e0, e1)`, `[e1, e2)`, `[e2, e3)`.
    pub fn edges(&self, near: WallTime) -> [WallTime; 4] {
        let micros = i64::try_from(near.as_micros()).unwrap_or(i64::MAX);
        let near = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX);
        let today = near.to_zoned_datetime(self.zone.clone()).date();
        let start = match self.unit {
            CalendarUnit::Day => today,
            CalendarUnit::Week => {
                let since_monday = i64::from(today.weekday().to_monday_zero_offset());
                today.saturating_sub(since_monday.days())
            }
            CalendarUnit::Month => today.first_of_month(),
        };
        [-1, 0, 1, 2].map(|steps| self.midnight(self.step(start, steps)))
    }

    fn step(&self, start: Date, steps: i64) -> Date {
        start.saturating_add(match self.unit {
            CalendarUnit::Day => steps.days(),
            CalendarUnit::Week => steps.weeks(),
            CalendarUnit::Month => steps.months(),
        })
    }

    /// The first instant of a day. At the ends of the calendar, the epoch or the end of time.
    fn midnight(&self, day: Date) -> WallTime {
        let micros = day
            .to_zoned_datetime(self.zone.clone())
            .map(|at| at.timestamp().as_microsecond());
        WallTime::from_micros(u64::try_from(micros.unwrap_or(0)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> WallTime {
        let micros = text.parse::<Timestamp>().unwrap().as_microsecond();
        WallTime::from_micros(u64::try_from(micros).unwrap())
    }

    fn hours(unit: CalendarUnit, zone: &str, near: &str) -> (WallTime, u64) {
        let [_, start, end, _] = Calendar::new(unit, zone).unwrap().edges(at(near));
        (start, end.since(start).as_micros() / 3_600_000_000)
    }

    #[test]
    fn days_follow_the_zone_and_its_summer_time() {
        use CalendarUnit::Day;
        let kolkata = hours(Day, "Asia/Kolkata", "2026-12-01T18:29:59Z");
        assert_eq!(kolkata, (at("2026-11-30T18:30:00Z"), 24));
        let next = hours(Day, "Asia/Kolkata", "2026-12-01T18:30:00Z");
        assert_eq!(next, (at("2026-12-01T18:30:00Z"), 24));
        assert_eq!(hours(Day, "America/New_York", "2026-03-08T12:00:00Z").1, 23);
        assert_eq!(hours(Day, "America/New_York", "2026-11-01T12:00:00Z").1, 25);
        assert_eq!(hours(Day, "Europe/Berlin", "2026-03-29T12:00:00Z").1, 23);
    }

    #[test]
    fn weeks_begin_on_monday_and_months_have_their_lengths() {
        let week = hours(CalendarUnit::Week, "UTC", "2026-12-06T23:59:59Z");
        assert_eq!(week, (at("2026-11-30T00:00:00Z"), 7 * 24));
        let february = hours(CalendarUnit::Month, "UTC", "2028-02-10T00:00:00Z");
        assert_eq!(february, (at("2028-02-01T00:00:00Z"), 29 * 24));
        let [before, start, end, after] = Calendar::new(CalendarUnit::Month, "UTC")
            .unwrap()
            .edges(at("2027-01-31T12:00:00Z"));
        assert_eq!(
            [before, start, end, after],
            ["2026-12-01", "2027-01-01", "2027-02-01", "2027-03-01"]
                .map(|day| at(&format!("{day}T00:00:00Z")))
        );
    }

    #[test]
    fn an_unknown_zone_is_none() {
        assert_eq!(Calendar::new(CalendarUnit::Day, "Asia/Calcuta"), None);
    }
}
