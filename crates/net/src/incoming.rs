//! What arrives on a connection, cut into frames.
//!
//! As much is read at once as there is room for, and frames are looked at where they are: a message that fits is not
//! copied before it is understood.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// So much is read at once, unless a frame is longer.
const ROOM: usize = 4096;
/// The length before each frame.
const LENGTH: usize = 4;

/// Bytes that have arrived, of which some are not understood yet.
#[derive(Debug)]
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    /// The bytes from `taken` to `filled` have arrived and are not taken yet.
    taken: usize,
    filled: usize,
    longest: usize,
}

/// A frame is longer than frames may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed frame: its length is {0} bytes")]
pub(crate) struct TooLong(usize);

impl Incoming {
    /// Frames up to this length, of which the beginning has arrived.
    pub(crate) fn new(longest: usize, arrived: &[u8]) -> Incoming {
        let mut bytes = arrived.to_vec();
        bytes.resize(arrived.len().max(ROOM), 0);
        Incoming { bytes, taken: 0, filled: arrived.len(), longest }
    }

    /// The next frame, if all of it has arrived.
    pub(crate) fn next_frame(&mut self) -> Result<Option<&[u8]>, TooLong> {
        let Some(length) = self.next_length()? else { return Ok(None) };
        let begin = self.taken + LENGTH;
        if self.filled - begin < length {
            return Ok(None);
        }
        self.taken = begin + length;
        Ok(Some(&self.bytes[begin..self.taken]))
    }

    fn next_length(&self) -> Result<Option<usize>, TooLong> {
        let Some((length, _)) = self.bytes[self.taken..self.filled].split_first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if length > self.longest { Err(TooLong(length)) } else { Ok(Some(length)) }
    }

    /// Reads what there is, after [`Incoming::next_frame`] has found nothing more. Returns how much; 0 if nothing more
    /// will come.
    pub(crate) fn poll_read(
        &mut self,
        stream: Pin<&mut (impl AsyncRead + ?Sized)>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.make_room();
        let mut room = ReadBuf::new(&mut self.bytes[self.filled..]);
        ready!(stream.poll_read(context, &mut room))?;
        let count = room.filled().len();
        self.filled += count;
        Poll::Ready(Ok(count))
    }

    /// Whoever begins a frame has room for all of it.
    fn make_room(&mut self) {
        if self.taken == self.filled {
            (self.taken, self.filled) = (0, 0);
            // One long frame is no reason to keep its room.
            if self.bytes.len() > ROOM {
                self.bytes = vec![0; ROOM];
            }
            return;
        }
        let length = self.next_length().ok().flatten().unwrap_or_default();
        if self.taken + LENGTH + length > self.bytes.len() || self.filled == self.bytes.len() {
            self.bytes.copy_within(self.taken..self.filled, 0);
            (self.taken, self.filled) = (0, self.filled - self.taken);
            let needed = (LENGTH + length).max(ROOM);
            if needed > self.bytes.len() {
                self.bytes.resize(needed, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    /// What comes in pieces of these sizes, again and again.
    struct Pieces<'a> {
        rest: &'a [u8],
        sizes: Vec<usize>,
        turn: usize,
    }

    impl AsyncRead for Pieces<'_> {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let size = self.sizes[self.turn % self.sizes.len()].min(room.remaining()).min(self.rest.len());
            let (piece, rest) = self.rest.split_at(size);
            room.put_slice(piece);
            self.rest = rest;
            self.turn += 1;
            Poll::Ready(Ok(()))
        }
    }

    fn framed(contents: &[Vec<u8>]) -> Vec<u8> {
        contents.iter().flat_map(|content| [&(content.len() as u32).to_be_bytes(), &content[..]].concat()).collect()
    }

    fn read_all(stream: &mut Pieces<'_>, longest: usize, arrived: &[u8]) -> Result<(Vec<Vec<u8>>, usize), TooLong> {
        let mut incoming = Incoming::new(longest, arrived);
        let (mut contents, mut most) = (Vec::new(), 0);
        loop {
            while let Some(content) = incoming.next_frame()? {
                contents.push(content.to_vec());
            }
            most = most.max(incoming.bytes.len());
            let read = incoming.poll_read(Pin::new(stream), &mut Context::from_waker(Waker::noop()));
            match read {
                Poll::Ready(Ok(0)) => return Ok((contents, most)),
                Poll::Ready(Ok(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn frames_come_out_as_they_were_whatever_the_pieces_are() {
        let lengths = [0, 1, 5, 4088, 4092, 4093, 30_000, 3, 3, 9000, 0, 2];
        let contents: Vec<Vec<u8>> = (1u8..).zip(lengths).map(|(value, length)| vec![value; length]).collect();
        let bytes = framed(&contents);
        for sizes in [vec![1], vec![3, 1, 7], vec![4096], vec![5000, 1], vec![usize::MAX], vec![2, 4095]] {
            for arrived in [0, 3, 4200] {
                let (before, rest) = bytes.split_at(arrived);
                let (read, most) =
                    read_all(&mut Pieces { rest, sizes: sizes.clone(), turn: 0 }, 30_000, before).unwrap();
                assert_eq!(read, contents, "in pieces of {sizes:?} after {arrived}");
                assert!(most <= 30_004 + ROOM, "{most} bytes are kept");
            }
        }
    }

    #[test]
    fn what_is_too_long_is_refused_before_there_is_room_for_it() {
        let bytes = [framed(&[vec![7; 9]]), vec![0xff; 10]].concat();
        let refused = read_all(&mut Pieces { rest: &bytes, sizes: vec![1], turn: 0 }, 9, &[]);
        assert_eq!(refused, Err(TooLong(u32::MAX as usize)));
    }
}
