//! Spans of time as PostgreSQL has them: months, days and microseconds.

use jiff::tz::TimeZone;
use jiff::{Span as Calendar, Timestamp};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    months: i64,
    days: i64,
    micros: i64,
}

impl Span {
    /// As a column of intervals is read.
    pub(super) fn of_columns(text: &str) -> Option<Self> {
        let mut parts = text.split(' ').map(|part| part.parse().ok());
        let mut next = || parts.next().flatten();
        Some(Self { months: next()?, days: next()?, micros: next()? })
    }

    /// As people write it: numbers with units, and a time of day. Nothing when it is written in another way.
    pub(super) fn of_words(text: &str) -> Option<Self> {
        let mut span = Self { months: 0, days: 0, micros: 0 };
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            if let Some((hours, rest)) = word.split_once(':') {
                let (minutes, seconds) = rest.split_once(':').unwrap_or((rest, "0"));
                let part = |text: &str| text.parse::<u32>().ok().map(i64::from);
                let minutes = part(hours)? * 60 + part(minutes)?;
                span.micros += (minutes * 60 + part(seconds)?) * SECOND;
                continue;
            }
            let number = i64::from(word.parse::<u32>().ok()?);
            match words.next()?.to_ascii_lowercase().as_str() {
                "second" | "seconds" | "sec" | "secs" => span.micros += number * SECOND,
                "minute" | "minutes" | "min" | "mins" => span.micros += number * 60 * SECOND,
                "hour" | "hours" => span.micros += number * 3_600 * SECOND,
                "day" | "days" => span.days += number,
                "week" | "weeks" => span.days += number * 7,
                "month" | "months" | "mon" | "mons" => span.months += number,
                "year" | "years" => span.months += number * 12,
                _ => return None,
            }
        }
        Some(span)
    }

    /// The time that lies so far behind another, both in microseconds since 1970.
    pub(super) fn after(self, at: i64) -> Option<i64> {
        let calendar = Calendar::new().try_months(self.months).ok()?.try_days(self.days).ok()?;
        let from = Timestamp::from_microsecond(at).ok()?.to_zoned(TimeZone::UTC);
        let to = from.checked_add(calendar).ok()?.timestamp().as_microsecond();
        to.checked_add(self.micros)
    }

    /// How far off a computed time may be: a day has another length where the database keeps summer time.
    pub(super) fn slack(self) -> i64 {
        if self.months == 0 && self.days == 0 { 0 } else { DAY }
    }

    /// As one length, with days of 24 hours.
    pub(super) fn micros(self) -> i64 {
        (self.months * 30 + self.days) * DAY + self.micros
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_columns_say_the_same() {
        for (words, columns) in [
            ("2 days", "0 2 0"),
            ("1 year 2 mons", "14 0 0"),
            ("1 week 04:05", "0 7 14700000000"),
            ("48 hours", "0 0 172800000000"),
            ("90 seconds", "0 0 90000000"),
        ] {
            assert_eq!(Span::of_words(words), Span::of_columns(columns), "{words}");
        }
        assert_eq!(Span::of_words("P2D"), None);
        assert_eq!(Span::of_words("1.5 days"), None);
    }

    #[test]
    fn a_month_after_the_last_of_january_is_the_last_of_february() {
        let january: Timestamp = "2026-01-31T10:00:00Z".parse().expect("a time");
        let february: Timestamp = "2026-02-28T11:00:00Z".parse().expect("a time");
        let span = Span::of_words("1 month 1 hour").expect("a span");
        assert_eq!(span.after(january.as_microsecond()), Some(february.as_microsecond()));
    }
}
