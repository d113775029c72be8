//! Lengths of time as people write them: a number and a unit, or several in a row.

use sync_proto::Span;

/// Reads `250ms`, `90s`, `15m`, `1h`, `1d`, `1w`, or several in a row: `1m30s`. A number without a unit is refused.
pub fn parse_span(text: &str) -> Option<Span> {
    let mut total: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        let micros = number.parse::<u64>().ok()?.checked_mul(micros_of(unit)?)?;
        total = total.checked_add(micros)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(Span::from_micros(total))
}

fn micros_of(unit: &str) -> Option<u64> {
    let span = match unit {
        "us" => Span::from_micros(1),
        "ms" => Span::from_millis(1),
        "s" => Span::from_secs(1),
        "m" | "min" => Span::from_secs(60),
        "h" => Span::from_secs(60 * 60),
        "d" => Span::from_secs(24 * 60 * 60),
        "w" => Span::from_secs(7 * 24 * 60 * 60),
        _ => return None,
    };
    Some(span.as_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_a_number_and_a_unit() {
        for (text, millis) in [
            ("250ms", 250),
            ("90s", 90_000),
            ("1m30s", 90_000),
            ("15m", 900_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(parse_span(text), Some(Span::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            "90",
            "s",
            "1.5s",
            "-1s",
            "1 s",
            "1y",
            "99999999999999999999s",
            "1m30",
        ] {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }
}
