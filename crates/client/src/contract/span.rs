//! A span of time, as people write it: `"10s"`, `"1m 30s"`, `"250ms"`, or a number of milliseconds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A span of time, in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    millis: u64,
}

impl Span {
    /// So many milliseconds.
    pub const fn from_millis(millis: u64) -> Span {
        Span { millis }
    }

    /// In milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.millis
    }

    /// As a duration.
    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.millis)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
        let exact = units.into_iter().find(|(size, _)| self.millis >= *size && self.millis.is_multiple_of(*size));
        match exact {
            Some((size, unit)) => write!(f, "{}{unit}", self.millis / size),
            None => write!(f, "0ms"),
        }
    }
}

/// What is no span of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration: write a number with a unit, such as 500ms, 10s, 5m, 2h or 1d")]
pub struct NotASpan(String);

impl FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Span, NotASpan> {
        let refuse = || NotASpan(text.chars().take(40).collect());
        let mut millis = 0u64;
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(refuse());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(refuse)?;
            let number: u64 = rest[..digits].parse().map_err(|_| refuse())?;
            rest = rest[digits..].trim_start();
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let unit = match &rest[..letters] {
                "ms" => 1,
                "s" => 1_000,
                "m" | "min" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return Err(refuse()),
            };
            rest = rest[letters..].trim_start();
            millis = number.checked_mul(unit).and_then(|part| millis.checked_add(part)).ok_or_else(refuse)?;
        }
        Ok(Span { millis })
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.millis)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        struct Written;

        impl Visitor<'_> for Written {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration (\"10s\", \"500ms\", …) or a number of milliseconds")
            }

            fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Span, E> {
                Ok(Span { millis })
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A duration: text with the units d, h, m, s and ms, or a number of milliseconds.",
            "oneOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "examples": ["10s", "1m 30s", "250ms"] },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_as_people_write_it() {
        for (text, millis) in
            [("500ms", 500), ("10s", 10_000), ("1m 30s", 90_000), ("2h", 7_200_000), ("1d", 86_400_000), ("0s", 0)]
        {
            assert_eq!(text.parse(), Ok(Span { millis }), "{text}");
        }
        for text in ["", "10", "s", "1.5s", "-1s", "10 parsecs", "99999999999999999999d", "18446744073709551615d"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_span_is_shown_in_its_largest_whole_unit_and_read_again() {
        for millis in [0, 1, 999, 1_000, 1_500, 60_000, 90_000, 3_600_000, 86_400_000] {
            let span = Span { millis };
            assert_eq!(span.to_string().parse(), Ok(span));
            assert_eq!(serde_json::from_str::<Span>(&serde_json::to_string(&span).unwrap()).unwrap(), span);
        }
        assert_eq!(serde_json::from_str::<Span>("\"2s\"").unwrap().as_millis(), 2_000);
        assert!(serde_json::from_str::<Span>("-5").is_err() && serde_json::from_str::<Span>("1.5").is_err());
    }
}
