//! What a request says besides its message.

use std::time::Duration;

use tonic::metadata::MetadataMap;

/// Whether it is to be done only if somebody leads the cluster.
pub(super) fn requires_leader(metadata: &MetadataMap) -> bool {
    metadata.get("hasleader").is_some_and(|value| value.as_bytes() == b"true")
}

/// How long the client waits for an answer, if it says so in a way that can be understood.
pub(super) fn timeout(metadata: &MetadataMap) -> Option<Duration> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saying(key: &'static str, value: &str) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        metadata.insert(key, value.parse().unwrap());
        metadata
    }

    #[test]
    fn timeouts_are_eight_digits_at_most_and_a_unit() {
        for (text, timeout_ms) in [("2H", 7_200_000), ("3M", 180_000), ("99999999S", 99_999_999_000), ("250m", 250)] {
            assert_eq!(timeout(&saying("grpc-timeout", text)), Some(Duration::from_millis(timeout_ms)), "{text}");
        }
        assert_eq!(timeout(&saying("grpc-timeout", "5u")), Some(Duration::from_micros(5)));
        assert_eq!(timeout(&saying("grpc-timeout", "5n")), Some(Duration::from_nanos(5)));
        for text in ["", "S", "1", "1x", "-1S", "+1S", "123456789S", "1.5S"] {
            assert_eq!(timeout(&saying("grpc-timeout", text)), None, "{text}");
        }
        assert_eq!(timeout(&MetadataMap::new()), None);
    }

    #[test]
    fn a_leader_is_required_by_the_word_true() {
        assert!(requires_leader(&saying("hasleader", "true")));
        assert!(!requires_leader(&saying("hasleader", "false")));
        assert!(!requires_leader(&MetadataMap::new()));
    }
}
