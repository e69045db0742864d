//! Small files that are replaced as a whole: what they are, a version, a checksum, the contents.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use thiserror::Error;

/// What a file holds, in its first eight bytes.
pub(super) type Kind = [u8; 8];

const HEADER: usize = 8 + 4 + 4;

/// Why the contents of a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// It begins with something else.
    #[error("it is not a file of quorate, or its header is damaged")]
    OtherKind,
    /// A newer release wrote it.
    #[error("it has format {found}, and this release reads formats up to {known}: use a newer release")]
    Newer {
        /// Its format.
        found: u32,
        /// The newest one that this release knows.
        known: u32,
    },
    /// It is not what was written.
    #[error("its checksum is wrong: the file is damaged")]
    Checksum,
    /// It is what was written, and yet makes no sense.
    #[error("its contents are malformed")]
    Contents,
}

/// The file's bytes.
pub(super) fn seal(kind: Kind, version: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(&kind);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&checksum(version, body).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// The contents, if they are what was written.
pub(super) fn open(kind: Kind, known: u32, bytes: &[u8]) -> Result<&[u8], Damage> {
    let (header, body) = bytes.split_at_checked(HEADER).ok_or(Damage::OtherKind)?;
    if header[..8] != kind {
        return Err(Damage::OtherKind);
    }
    let number = |at: usize| header[at..at + 4].iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
    let (version, sum) = (number(8), number(12));
    if checksum(version, body) != sum {
        return Err(Damage::Checksum);
    }
    if version == 0 || version > known {
        return Err(Damage::Newer { found: version, known });
    }
    Ok(body)
}

fn checksum(version: u32, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&version.to_le_bytes());
    hasher.update(body);
    hasher.finalize()
}

/// Replaces a file so that a crash at any time leaves the old one or the new one, whole.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    sync_directory(path.parent().unwrap_or(Path::new(".")))
}

/// Makes names in a directory durable.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_sealed_is_found_again_and_every_flipped_bit_is_noticed(
            body in prop::collection::vec(any::<u8>(), 0..100), at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let mut bytes = seal(*b"quoratex", 1, &body);
            prop_assert_eq!(open(*b"quoratex", 1, &bytes), Ok(&body[..]));
            bytes[at.index(body.len() + HEADER)] ^= 1 << bit;
            prop_assert!(open(*b"quoratex", 1, &bytes).is_err());
        }
    }

    #[test]
    fn a_newer_format_is_refused_with_a_sentence() {
        let damage = open(*b"quoratex", 1, &seal(*b"quoratex", 2, b"what?")).unwrap_err();
        assert_eq!(damage, Damage::Newer { found: 2, known: 1 });
        assert!(damage.to_string().contains("use a newer release"));
    }
}
