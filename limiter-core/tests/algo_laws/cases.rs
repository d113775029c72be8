//! Cases that other limiters got wrong.

use limiter_core::algo::{BucketAlgorithm, Shape, Windows};
use limiter_core::store::{Cold, TakeGroup, Wait};
use sync_proto::{Span, WallTime};

use crate::counter::{BOTH, Counter, SECOND, ZERO, millis, take, waits};

// B01
#[test]
fn a_client_that_waits_as_told_is_admitted() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 2, Span::from_secs(3), 1);
        assert!(counter.take(0, 1).allowed);
        waits(counter.take(millis(200), 1), millis(1300));
        waits(counter.take(millis(1200), 1), millis(300));
        assert!(counter.take(millis(2200), 1).allowed);

        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(1), 1);
        assert!(counter.take(0, 1).allowed);
        waits(counter.take(millis(200), 1), millis(800));
        assert!(!counter.take(millis(1000) - 1, 1).allowed);
        assert!(counter.take(millis(1000), 1).allowed);
    }
}

// B02
#[test]
fn rates_above_a_thousand_per_second_are_exact() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 2000, Span::from_secs(1), 20);
        assert_eq!(counter.admitted([0; 25]), 20);
        assert_eq!(counter.admitted([millis(10); 25]), 20);

        let mut counter = Counter::bucket(algorithm, 100_000, Span::from_secs(1), 100);
        assert_eq!(counter.admitted([0; 150]), 100);
        assert_eq!(counter.admitted([500; 150]), 50);

        let mut counter = Counter::bucket(algorithm, 100, Span::from_secs(1), 11);
        assert_eq!(counter.admitted((0..1000).map(millis)), 110);
    }
}

// B03
#[test]
fn an_idle_spell_gives_no_request_beyond_the_burst() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 5, Span::from_secs(1), 5);
        for rest in [0, 2, 3600] {
            assert_eq!(counter.pattern([rest * SECOND; 6]), "AAAAAD");
        }
    }
}

// B04
#[test]
fn the_documented_worst_cases_hold() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(1), 60);
        assert_eq!(
            counter.admitted((0..120).map(|half| millis(500 * half))),
            119
        );
    }
    let mut counter = Counter::every(60, 60);
    assert_eq!(
        counter.admitted([59 * SECOND; 60].into_iter().chain([60 * SECOND; 61])),
        120
    );
}

// B05
#[test]
fn a_long_idle_time_overflows_nothing() {
    let day = 24 * 3600 * SECOND;
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 1, Span::from_micros(1), 1_000_000);
        for time in [0, day / 2, 3650 * day] {
            let reply = counter.take(time, 1);
            assert!(reply.allowed);
            assert_eq!(reply.available, 999_999);
        }
        let mut counter = Counter::bucket(algorithm, 1_000_000_000_000, Span::from_secs(1), 1);
        assert!(counter.take(0, 1).allowed);
        assert!(
            counter.take(u64::MAX - ZERO, 1).allowed,
            "the largest time there is"
        );
    }
}

// B07
#[test]
fn a_bucket_leaks_continuously_and_says_when_the_next_unit_comes() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 3, Span::from_secs(1), 3);
        let tenths = (0..20).map(|tenth| millis(100 * tenth));
        assert_eq!(counter.pattern(tenths), "AAADADDADDADDDADDADD");

        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(3), 10);
        let reply = counter.take(0, 4);
        assert_eq!((reply.available, reply.reset), (6, Span::from_secs(3)));
        let peek = counter.take(3600 * SECOND, 0);
        assert_eq!((peek.available, peek.reset), (10, Span::ZERO));
    }
}

// B11, B18
#[test]
fn attempts_that_were_denied_extend_nothing() {
    let mut counter = Counter::every(5, 60);
    assert_eq!(counter.admitted([0; 5]), 5);
    assert_eq!(counter.admitted((1..60).map(|second| second * SECOND)), 0);
    assert!(counter.take(60 * SECOND, 1).allowed);

    let mut counter = Counter::every(2, 60);
    assert_eq!(counter.admitted([18 * SECOND, 19 * SECOND]), 2);
    waits(counter.take(20 * SECOND, 1), 40 * SECOND);
}

// B13
#[test]
fn a_cost_above_the_capacity_is_denied_for_ever_and_takes_nothing() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(1), 5);
        let reply = counter.take(0, 10);
        assert_eq!(
            (reply.allowed, reply.wait, reply.available),
            (false, Wait::Never, 5)
        );
        assert_eq!(counter.take(0, u64::MAX).wait, Wait::Never);
        assert_eq!(counter.take(0, 1).available, 4);
    }
    let mut counter = Counter::every(5, 60);
    assert_eq!(counter.take(0, 6).wait, Wait::Never);
    assert_eq!(counter.take(0, 1).available, 4);
}

// B14
#[test]
fn a_burst_is_what_is_admitted_back_to_back_from_rest() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(1), 4);
        assert_eq!(counter.pattern([0; 5]), "AAAAD");
        let mut counter = Counter::bucket(algorithm, 10, Span::from_secs(1), 1);
        assert_eq!(counter.pattern([0, millis(10), millis(100)]), "ADA");
        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(2), 16);
        let reply = counter.take(0, 1);
        assert_eq!((reply.available, reply.reset), (15, Span::from_secs(2)));
        let mut counter = Counter::bucket(algorithm, 3, Span::from_secs(1), 1);
        assert_eq!(
            counter.pattern([0, 0, 0, 0, 0, millis(334)]),
            "ADDDDA",
            "B29"
        );
    }
}

// B29
#[test]
fn a_limit_of_zero_denies_all() {
    let mut counter = Counter::every(0, 60);
    for cost in [0, 1, 5] {
        let reply = counter.take(0, cost);
        assert_eq!(
            (reply.allowed, reply.wait, reply.available),
            (false, Wait::Never, 0)
        );
    }
    let mut counter = Counter::bucket(BucketAlgorithm::Gcra, 1, Span::from_secs(1), 0);
    assert_eq!(counter.take(0, 1).wait, Wait::Never);
}

// B52
#[test]
fn half_a_second_refills_half_a_second_s_worth() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 2, Span::from_secs(1), 2);
        assert_eq!(counter.pattern([0, 0, millis(500)]), "AAA");
        let mut counter = Counter::bucket(algorithm, 150, Span::from_secs(1), 150);
        let admitted = counter.admitted((0..4000).map(|half| 500 * half));
        assert!((440..=450).contains(&admitted), "{admitted}");
    }
}

// B48
#[test]
fn a_calendar_day_of_25_hours_ends_when_the_calendar_says() {
    let midnight = 1_792_879_200 * SECOND;
    let hours = |hours: u64| WallTime::from_micros(midnight + hours * 3600 * SECOND);
    let yesterday = WallTime::from_micros(midnight - 24 * 3600 * SECOND);
    let edges = [yesterday, hours(0), hours(25), hours(49)];
    let shape = Shape::FixedWindow {
        limit: 1,
        windows: Windows::Edges(edges),
    };
    let mut counter = Counter::new(shape);
    let group = TakeGroup {
        takes: vec![take(shape, 1)],
    };
    let mut at = |time: WallTime| counter.store.take(time, &group).takes[0];
    assert!(at(hours(0)).allowed);
    waits(at(hours(0)), 90_000 * SECOND);
    assert!(!at(WallTime::from_micros(hours(25).as_micros() - 1)).allowed);
    assert!(at(hours(25)).allowed);
    let past = at(hours(99));
    assert_eq!(
        past.window.0,
        hours(25).as_micros(),
        "past the windows told of, the last goes on"
    );
}

#[test]
fn a_clock_that_steps_back_neither_refills_nor_reopens() {
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 1, Span::from_secs(1), 3);
        assert_eq!(counter.admitted([10 * SECOND; 3]), 3);
        for back in [9, 5, 0] {
            waits(counter.take(back * SECOND, 1), SECOND);
        }
        assert!(counter.take(11 * SECOND, 1).allowed);
    }
    let mut counter = Counter::every(3, 60);
    assert_eq!(counter.admitted([61 * SECOND; 3]), 3);
    assert!(!counter.take(59 * SECOND, 1).allowed);
    assert!(!counter.take(0, 1).allowed);
}

#[test]
fn seven_a_minute_does_not_drift_in_a_year() {
    let year = 365 * 24 * 3600;
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 7, Span::from_secs(60), 7);
        let polls = (0..=year).step_by(5);
        let last = polls.clone().last().unwrap();
        let admitted = counter.admitted(polls.map(|second| second * SECOND));
        assert_eq!(admitted as u64, 7 + 7 * last / 60);
    }
}

#[test]
fn windows_of_a_key_start_at_its_phase() {
    let windows = Windows::Every {
        length: Span::from_secs(60),
        phase: Span::from_secs(17),
    };
    let mut counter = Counter::new(Shape::FixedWindow { limit: 1, windows });
    let reply = counter.take(16 * SECOND, 1);
    assert_eq!(
        (reply.window.0, reply.reset),
        (ZERO - 43 * SECOND, Span::from_secs(1))
    );
    assert!(!counter.take(17 * SECOND - 1, 1).allowed);
    assert_eq!(counter.take(17 * SECOND, 1).window.0, ZERO + 17 * SECOND);
}

#[test]
fn a_region_that_keeps_to_its_part_admits_its_part() {
    let cold = Some(Cold {
        units: 20,
        regions: 3,
    });
    for algorithm in BOTH {
        let mut counter = Counter::bucket(algorithm, 60, Span::from_secs(1), 60);
        let admitted = (0..10_000).filter(|ms| counter.judged(millis(*ms), 1, cold).allowed);
        let admitted = admitted.count();
        assert!(
            (215..=220).contains(&admitted),
            "20 and 20 a second, for 10 s: {admitted}"
        );
    }
    let mut counter = Counter::every(60, 60);
    let admitted = (0..59)
        .filter(|s| counter.judged(s * SECOND, 1, cold).allowed)
        .count();
    assert_eq!(admitted, 20);
}
