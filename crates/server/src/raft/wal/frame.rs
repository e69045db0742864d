//! How records stand in a file, and how to tell one that a crash has torn from one that is damaged.
//!
//! A frame is the number of the record, the number of the first record that was written together with it, the length
//! and the checksum of the record, the checksum of all this, the record, and zeros up to a multiple of eight. Behind
//! the last frame there are zeros: a file is filled with them before anything is written there.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::raft::types::{LogId, Vote};

/// The version of everything in this file, and of what entries carry.
pub(crate) const FORMAT: u32 = 2;
/// Frames begin at multiples of this.
const ALIGNMENT: usize = 8;
/// Two numbers, a length, two checksums, and four bytes of zeros.
const HEADER: usize = 8 + 8 + 4 + 4 + 4 + 4;
/// No record is longer.
const MOST_BYTES: usize = 64 << 20;
/// A disk writes so much as a whole or not at all.
const SECTOR: usize = 512;
/// Records in one file have numbers that are closer to each other.
const FARTHEST: u64 = 1 << 24;

/// What is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Record<'a> {
    /// The first one of a file. Always the first variant, in every version.
    Begin(Begin),
    /// An entry behind the last one.
    Entry(LogId, #[serde(borrow)] &'a [u8]),
    /// Whom this node follows, or would.
    Vote(Vote),
    /// Everything up to this entry is committed.
    Committed(LogId),
    /// All entries from this one on are gone: another leader has others.
    Truncate(u64),
    /// All entries up to this one are gone: a snapshot covers them.
    Purge(LogId),
}

/// What all files before this one come to, but for entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Begin {
    /// Always the first field, in every version.
    pub(super) format: u32,
    pub(crate) vote: Option<Vote>,
    pub(crate) committed: Option<LogId>,
    pub(crate) purged: Option<LogId>,
    pub(crate) last: Option<LogId>,
}

/// A log that another release wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the log has format {found}, and this release reads and writes format {FORMAT}")]
pub(crate) struct OtherFormat {
    pub(crate) found: u32,
}

/// A frame that is what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// The number of the record. Each is one larger than the one before.
    pub(crate) number: u64,
    /// The number of the first record that was written together with it.
    pub(super) batch: u64,
    pub(super) body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// How much room it takes.
    pub(crate) fn length(&self) -> usize {
        padded(self.body.len())
    }

    /// The record, if it makes sense.
    pub(crate) fn record(&self) -> Option<Record<'a>> {
        postcard::from_bytes(self.body).ok()
    }

    /// The version of the format, if this is the first record of a file. Decodes only the variant and the first field,
    /// which every version has, so it also works if the rest has the layout of another version.
    pub(super) fn format(&self) -> Option<u32> {
        let ((variant, format), _): ((u32, u32), _) = postcard::take_from_bytes(self.body).ok()?;
        (variant == 0).then_some(format)
    }
}

fn padded(body: usize) -> usize {
    (HEADER + body).next_multiple_of(ALIGNMENT)
}

/// What stands before a record.
#[derive(Clone, Copy)]
struct Header {
    number: u64,
    batch: u64,
    length: u32,
    sum: u32,
}

impl Header {
    fn of(number: u64, batch: u64, body: &[u8]) -> Header {
        Header { number, batch, length: body.len() as u32, sum: crc32fast::hash(body) }
    }

    fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.batch.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.length.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.sum.to_le_bytes());
        let own = crc32fast::hash(&bytes[..24]);
        bytes[24..28].copy_from_slice(&own.to_le_bytes());
        bytes
    }

    /// The one at a place, if it is what was written.
    fn at(bytes: &[u8], place: usize) -> Option<Header> {
        let bytes: &[u8; HEADER] = bytes.get(place..)?.first_chunk()?;
        let long = |at: usize| bytes[at..at + 8].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let short = |at: usize| bytes[at..at + 4].iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
        let header = Header { number: long(0), batch: long(8), length: short(16), sum: short(20) };
        let makes_sense = header.length > 0 && header.length as usize <= MOST_BYTES && header.batch <= header.number;
        (makes_sense && header.to_bytes() == *bytes).then_some(header)
    }
}

/// Adds a frame to those that are to be written. Says how long it is, unless it is too long.
pub(crate) fn push(bytes: &mut Vec<u8>, number: u64, batch: u64, record: &Record<'_>) -> Option<usize> {
    let at = bytes.len();
    bytes.resize(at + HEADER, 0);
    *bytes = postcard::to_extend(record, std::mem::take(bytes)).expect("a record can be written down");
    let body = &bytes[at + HEADER..];
    if body.len() > MOST_BYTES {
        bytes.truncate(at);
        return None;
    }
    let (header, length) = (Header::of(number, batch, body).to_bytes(), padded(body.len()));
    bytes[at..at + HEADER].copy_from_slice(&header);
    bytes.resize(at + length, 0);
    Some(length)
}

/// A frame with any body, also with one that is no record of this version.
#[cfg(test)]
pub(super) fn with_body(number: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = Header::of(number, number, body).to_bytes().to_vec();
    bytes.extend(body);
    bytes.resize(padded(body.len()), 0);
    bytes
}

/// The frame at a place, if there is a whole one.
pub(crate) fn at(bytes: &[u8], place: usize) -> Option<Frame<'_>> {
    let Header { number, batch, length, sum } = Header::at(bytes, place)?;
    let body = bytes.get(place + HEADER..)?.get(..length as usize)?;
    (crc32fast::hash(body) == sum).then_some(Frame { number, batch, body })
}

/// What there is where no frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Nothing.
    Clean,
    /// Something that was never whole: a crash has come in between, and nobody was told of it.
    Torn,
    /// Something that was whole once.
    Damaged,
}

/// What there is from a place on where the frame of this number should be, or the first of all.
///
/// What a client has written may look like a frame, but not like a later one of this log: numbers begin at random.
pub(crate) fn tail(bytes: &[u8], place: usize, number: Option<u64>) -> Tail {
    if bytes.get(place..).is_none_or(is_zero) {
        return Tail::Clean;
    }
    // Whatever was written later shows that this was on disk before.
    let is_next = |batch: u64| number.is_none_or(|number| (1..FARTHEST).contains(&batch.wrapping_sub(number)));
    let is_later = |place: usize| Header::at(bytes, place).is_some_and(|header| is_next(header.batch));
    if (place..bytes.len()).step_by(ALIGNMENT).any(is_later) {
        return Tail::Damaged;
    }
    // What has arrived of a write are whole sectors; where one is missing, there are zeros still. Of a record whose
    // header has not arrived, no more than the header is known.
    let length = Header::at(bytes, place).map_or(HEADER, |header| padded(header.length as usize));
    let end = bytes.len().min(place + length);
    let mut parts = (place / SECTOR..end.div_ceil(SECTOR)).map(|sector| {
        let from = (sector * SECTOR).max(place);
        &bytes[from..((sector + 1) * SECTOR).min(end)]
    });
    if parts.any(is_zero) { Tail::Torn } else { Tail::Damaged }
}

pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}
