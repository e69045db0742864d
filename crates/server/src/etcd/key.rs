//! Keys, names, values and leases, as they come over the wire, and what they are here.
//!
//! Whoever holds or awaits something is known by a key: the name, a slash, and the lease in hexadecimal.

use quorate_client::contract::{LONGEST_NAME, LONGEST_VALUE};
use tonic::Status;

use crate::machine::{Name, SessionId};

/// The key of a session's place.
pub(super) fn of(name: &Name, session: SessionId) -> Vec<u8> {
    format!("{name}/{session}").into_bytes()
}

/// The name and the session of a key, unless nobody can have a place under it.
pub(super) fn parse(key: &[u8]) -> Option<(&str, SessionId)> {
    let (name, lease) = std::str::from_utf8(key).ok()?.rsplit_once('/')?;
    // There is one way to write a number, so that no place has two keys.
    let is_canonical = lease.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) && !lease.starts_with('0');
    if !is_canonical || name.len() > LONGEST_NAME {
        return None;
    }
    Some((name, SessionId::new(u64::from_str_radix(lease, 16).ok()?)?))
}

/// A name that somebody may hold something under.
pub(super) fn name(bytes: &[u8]) -> Result<&str, Status> {
    if bytes.len() > LONGEST_NAME {
        return Err(Status::invalid_argument(format!(
            "the name is too long: at most {LONGEST_NAME} bytes are accepted"
        )));
    }
    std::str::from_utf8(bytes).map_err(|_| Status::invalid_argument("the name must be UTF-8 text"))
}

/// What somebody may have to say.
pub(super) fn value(bytes: Vec<u8>) -> Result<Vec<u8>, Status> {
    if bytes.len() > LONGEST_VALUE {
        return Err(Status::invalid_argument(format!(
            "the value is too long: at most {LONGEST_VALUE} bytes are accepted"
        )));
    }
    Ok(bytes)
}

/// The session that a lease is, if it can be one.
pub(super) fn session(lease: i64) -> Option<SessionId> {
    SessionId::new(u64::try_from(lease).ok()?)
}

/// A number as it is written on the wire. All of ours are small enough.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_is_the_name_a_slash_and_the_lease_in_lowercase_hexadecimal() {
        let session = SessionId::new(0x7587_8f2a).unwrap();
        assert_eq!(of(&Name::lock("jobs/nightly"), session), b"jobs/nightly/75878f2a");
        assert_eq!(parse(b"jobs/nightly/75878f2a"), Some(("jobs/nightly", session)));
        assert_eq!(parse(b"/1"), Some(("", SessionId::new(1).unwrap())));
    }

    #[test]
    fn a_key_under_which_nobody_can_have_a_place_is_none() {
        let long = [&[b'n'; LONGEST_NAME + 1], b"/1".as_slice()].concat();
        let keys: [&[u8]; 12] = [
            b"",
            b"name",
            b"name/",
            b"name/0",
            b"name/01",
            b"name/1F",
            b"name/+1",
            b"name/-1",
            b"name/8000000000000000",
            b"name/11111111111111111",
            b"\xff/1",
            &long,
        ];
        for key in keys {
            assert_eq!(parse(key), None, "{}", String::from_utf8_lossy(key));
        }
    }

    #[test]
    fn names_and_values_have_their_bounds() {
        assert_eq!(name(&[b'n'; LONGEST_NAME]).unwrap().len(), LONGEST_NAME);
        assert_eq!(name(&[b'n'; LONGEST_NAME + 1]).unwrap_err().code(), tonic::Code::InvalidArgument);
        assert_eq!(name(b"\xff").unwrap_err().code(), tonic::Code::InvalidArgument);
        assert!(value(vec![0; LONGEST_VALUE]).is_ok());
        assert_eq!(value(vec![0; LONGEST_VALUE + 1]).unwrap_err().code(), tonic::Code::InvalidArgument);
        assert_eq!(session(-1), None);
        assert_eq!(session(0), None);
        assert_eq!(session(i64::MAX).map(SessionId::number), Some(i64::MAX as u64));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(text in ".{0,40}", number in 1u64..1 << 63) {
            let session = SessionId::new(number).unwrap();
            let key = of(&Name::lock(text.as_str()), session);
            prop_assert_eq!(parse(&key), Some((text.as_str(), session)));
        }

        #[test]
        fn whatever_comes_is_read_without_harm(key in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some((name, session)) = parse(&key) {
                prop_assert_eq!(of(&Name::lock(name), session), key);
            }
        }
    }
}
