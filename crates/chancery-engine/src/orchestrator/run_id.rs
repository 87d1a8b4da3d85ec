//! The name of a run: `ictr-<YYYYMMDDTHHMMSSZ>-<uuid7>`.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::{NoContext, Uuid, Version};

const PREFIX: &str = "ictr-";
/// `YYYYMMDDTHHMMSSZ`.
const TIME_CHARS: usize = 16;

/// The id of a run, which sorts by the time of its start.
///
/// It becomes the name of a folder, so there is exactly one way to write each id, and nothing else is one: no other
/// alphabet, no separator of paths, no `..`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    /// To the second.
    began: Timestamp,
    uuid: Uuid,
}

/// The text is no run id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a run id looks like ictr-20260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab: a time in UTC and a UUID of version 7, in lower case"
)]
pub struct NotARunId;

impl RunId {
    /// A new id for a run that begins now.
    ///
    /// A time before 1970 counts as 1970: a UUID of version 7 can't hold it.
    pub fn new(now: Timestamp) -> Self {
        let now = now.max(Timestamp::UNIX_EPOCH);
        let seconds = now.as_second().unsigned_abs();
        let nanos = now.subsec_nanosecond().unsigned_abs();
        let uuid = Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, nanos));
        Self { began: whole_seconds(now), uuid }
    }

    /// The part that makes it unique.
    pub fn uuid(&self) -> Uuid {
        self.uuid
    }

    /// When the run began, to the second.
    pub fn began(&self) -> Timestamp {
        self.began
    }
}

fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).expect("seconds of a timestamp are in its range")
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.began.strftime("%Y%m%dT%H%M%SZ");
        write!(f, "{PREFIX}{time}-{}", self.uuid.as_hyphenated())
    }
}

impl FromStr for RunId {
    type Err = NotARunId;

    fn from_str(text: &str) -> Result<Self, NotARunId> {
        let rest = text.strip_prefix(PREFIX).ok_or(NotARunId)?;
        let (time, rest) = rest.split_at_checked(TIME_CHARS).ok_or(NotARunId)?;
        let uuid = Uuid::parse_str(rest.strip_prefix('-').ok_or(NotARunId)?).or(Err(NotARunId))?;
        let ours = uuid.get_version() == Some(Version::SortRand)
            && uuid.get_variant() == uuid::Variant::RFC4122;
        let id = Self { began: parse_time(time).ok_or(NotARunId)?, uuid };
        // The parser of UUIDs knows capitals, braces and other forms: one id must not be several folders.
        if ours && id.to_string() == text { Ok(id) } else { Err(NotARunId) }
    }
}

/// Reads the sixteen characters; a day or an hour that does not exist is no time.
fn parse_time(text: &str) -> Option<Timestamp> {
    let part = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i16>().ok())?
    };
    let small = |from: usize| i8::try_from(part(from, from + 2)?).ok();
    let marks = text.get(8..9) == Some("T") && text.get(15..) == Some("Z");
    let (year, month, day) = (part(0, 4)?, small(4)?, small(6)?);
    let (hour, minute, second) = (small(9)?, small(11)?, small(13)?);
    let time = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    let time = TimeZone::UTC.to_timestamp(time).ok()?;
    marks.then_some(time)
}

impl Serialize for RunId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "ictr-20260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab";

    /// ORC-5: the id is made of the time of the start and a UUID of version 7.
    #[test]
    fn a_new_id_holds_the_time_it_was_made_at() {
        let now: Timestamp = "2026-05-20T09:30:00.987654321Z".parse().unwrap();
        let id = RunId::new(now);
        assert!(id.to_string().starts_with("ictr-20260520T093000Z-"), "{id}");
        assert_eq!(id.uuid().get_version_num(), 7);
        let (seconds, _) = id.uuid().get_timestamp().unwrap().to_unix();
        assert_eq!(i64::try_from(seconds).unwrap(), now.as_second());
        assert_eq!(id.began().to_string(), "2026-05-20T09:30:00Z");
        assert_ne!(id, RunId::new(now), "two runs of one second are two runs");
        let early = RunId::new(Timestamp::MIN);
        assert_eq!(early.to_string().parse(), Ok(early));
        let late = RunId::new(Timestamp::MAX);
        assert_eq!(late.to_string().parse(), Ok(late));
    }

    #[test]
    fn what_is_nearly_an_id_is_none() {
        assert!(GOOD.parse::<RunId>().is_ok());
        for bad in [
            "",
            "ictr-",
            "ICTR-20260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab",
            "ictr-20260520T093000Z-018F4E9E-6C00-7ABC-8DEF-0123456789AB",
            "ictr-20260520T093000Z-018f4e9e6c007abc8def0123456789ab",
            "ictr-20260520T093000Z-{018f4e9e-6c00-7abc-8def-0123456789ab}",
            "ictr-20260520T093000Z-urn:uuid:018f4e9e-6c00-7abc-8def-0123456789ab",
            "ictr-20260520T093000Z-018f4e9e-6c00-4abc-8def-0123456789ab", // version 4
            "ictr-20260520T093000Z-018f4e9e-6c00-7abc-0def-0123456789ab", // another variant
            "ictr-20260230T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab", // 30 February
            "ictr-20260520T240000Z-018f4e9e-6c00-7abc-8def-0123456789ab",
            "ictr-20260520T093060Z-018f4e9e-6c00-7abc-8def-0123456789ab",
            "ictr-20260520t093000Z-018f4e9e-6c00-7abc-8def-0123456789ab",
            "ictr-20260520T093000z-018f4e9e-6c00-7abc-8def-0123456789ab",
            "ictr-+0260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab",
            "ictr-2026é520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab",
            "ictr-20260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab/..",
            "../ictr-20260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab",
            "ictr-20260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab\n",
            "ictr-20260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab\0",
            " ictr-20260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab",
        ] {
            assert_eq!(bad.parse::<RunId>(), Err(NotARunId), "{bad:?}");
        }
    }

    /// An id whose text is not its folder's name would lead somewhere else.
    fn is_one_folder(text: &str) {
        if let Ok(id) = text.parse::<RunId>() {
            assert_eq!(id.to_string(), text);
            let parts: Vec<_> = Path::new(text).components().collect();
            assert_eq!(parts, [Component::Normal(text.as_ref())]);
        }
    }

    proptest! {
        #[test]
        fn reading_what_was_shown_gives_the_same_id(
            second in 0_i64..=253_402_207_200,
            nanos in 0_i32..1_000_000_000,
        ) {
            let id = RunId::new(Timestamp::new(second, nanos).unwrap());
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            let json = serde_json::to_string(&id).unwrap();
            prop_assert_eq!(serde_json::from_str::<RunId>(&json).unwrap(), id);
        }

        #[test]
        fn no_text_leads_to_another_folder(text in any::<String>()) {
            is_one_folder(&text);
        }

        #[test]
        fn no_near_miss_leads_to_another_folder(
            at in 0..GOOD.len(),
            with in prop::sample::select(vec!["/", "..", "\\", "\0", "A", "7", "-", "{", "é", "", "T"]),
            instead in any::<bool>(),
        ) {
            let mut text = GOOD.to_owned();
            text.replace_range(at..(if instead { at + 1 } else { at }), with);
            is_one_folder(&text);
        }
    }
}
