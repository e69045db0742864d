//! What goes over a connection: frames with their length before them, in postcard.
//!
//! Both sides begin with a preface that never changes, so that whoever speaks another version is told apart from who
//! speaks nonsense. The first frame says who speaks and what it takes for granted ([`Hello`]); it is answered by one
//! that says whether it may ([`Verdict`]). After that, both may send messages of their processes; and who has connected
//! asks how long the way is, which is answered on the same connection, or says why it does not want to talk after all.

use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use postcard::ser_flavors::Flavor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::codec::LengthDelimitedCodec;

use crate::tls;

/// Why a connection ended, if its other end closed it.
pub(crate) const CLOSED: &str = "the peer closed the connection";
/// What the words of a peer that rejects this node follow.
pub(crate) const REJECTED: &str = "rejected by the peer: ";
/// What the preface begins with.
const MAGIC: [u8; 8] = *b"quorate\0";
/// How long the preface is.
const PREFACE: usize = MAGIC.len() + 4;
/// Which frames there are, and how they are written. A node talks only with nodes of the same version.
pub(crate) const VERSION: u32 = 8;
/// How long the first frames may be.
pub(crate) const LONGEST_HELLO: usize = 4096;
/// How long frames may be: much longer than any message of an algorithm is.
pub(crate) const LONGEST_FRAME: usize = 1 << 20;

/// Who speaks, and what it takes for granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The name of the group.
    pub(crate) cluster: String,
    /// The algorithm and all that has to be the same everywhere, in words.
    pub(crate) terms: String,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) identity: Identity,
}

/// Which process speaks for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// In which life it is.
    pub(crate) incarnation: u64,
    /// A number that no other process has, nor had.
    pub(crate) instance: u128,
    /// The number of its directory.
    pub(crate) directory: Directory,
}

/// Which directory a node has: what it has promised is there, or nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Directory {
    /// A number that no other directory has.
    pub(crate) number: u128,
    /// Whether it was begun by somebody who knew that the one before it is lost.
    pub(crate) is_in_place_of_another: bool,
}

/// Whether the other may speak; if not, why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// It may; and who it is that says so.
    Welcome(Identity),
    Refused(Refusal),
}

/// Why somebody may not speak, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// It may try again: until somebody has mended that, or another has left.
    ForNow(String),
    /// It was heard of in a life that this one is not known to continue: in another directory, or with a number that is
    /// not smaller. What it has promised in that it may not know. It never may speak, and no other member must hear it,
    /// either, unless whoever starts it says that he knows.
    Forgetful(String),
}

impl Refusal {
    /// The words.
    pub(crate) fn why(&self) -> &str {
        match self {
            Refusal::ForNow(why) | Refusal::Forgetful(why) => why,
        }
    }

    /// The words as the rejected node shows them. They come from a peer: control characters are escaped, so that they
    /// do not reach a terminal.
    pub(crate) fn as_heard(&self) -> String {
        let mut heard = String::new();
        for letter in self.why().chars() {
            match letter {
                '"' | '\'' | '\\' => heard.push(letter),
                _ => heard.extend(letter.escape_debug()),
            }
        }
        heard
    }
}

impl<S: Into<String>> From<S> for Refusal {
    fn from(why: S) -> Refusal {
        Refusal::ForNow(why.into())
    }
}

/// What is said after that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Frame<M> {
    /// What the process says.
    Message(M),
    /// To be answered with the same number: only who has connected asks.
    Ping(u64),
    /// The answer.
    Pong(u64),
    /// Why it hangs up, now that it knows whom it has reached: only who has connected says so, before anything else.
    Refused(Refusal),
}

/// Says which protocol this is: before any frame, and before anything is known of the other.
pub(crate) async fn write_preface(stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let mut preface = BytesMut::with_capacity(PREFACE);
    preface.put_slice(&MAGIC);
    preface.put_u32(VERSION);
    stream.write_all(&preface).await
}

/// Makes sure that the other speaks the same. If not, says what it speaks.
pub(crate) async fn read_preface(stream: &mut (impl AsyncRead + Unpin)) -> Result<(), String> {
    let (mut preface, mut length) = ([0; PREFACE], 0);
    let ended = loop {
        match stream.read(&mut preface[length..]).await {
            Ok(0) => break Some(CLOSED.into()),
            Ok(more) => length += more,
            Err(error) => break Some(tls::explain(&error)),
        }
        if length == PREFACE {
            break None;
        }
    };
    // Also of one that has said no more than that it is not understood.
    if tls::is_tls(&preface[..length]) {
        return Err(tls::only_it_has_certificates());
    }
    if let Some(ended) = ended {
        return Err(ended);
    }
    let (magic, version) = preface.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err("the peer does not use the member protocol: check that this is the address of a member".into());
    }
    let version = version.iter().fold(0, |version, &byte| version << 8 | u32::from(byte));
    if version == VERSION {
        return Ok(());
    }
    Err(format!(
        "the peer uses version {version} of the member protocol, this node version {VERSION}: run the same release of \
         Quorate on all members"
    ))
}

/// Frames up to this length.
pub(crate) fn codec(longest: usize) -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(longest).new_codec()
}

/// The content of a frame; `None` if it makes no sense, or says more than it should.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::take_from_bytes(bytes).ok().and_then(|(value, rest)| rest.is_empty().then_some(value))
}

/// A frame without its length.
pub(crate) fn encode<T: Serialize>(value: &T) -> Bytes {
    postcard::to_allocvec(value).map(Bytes::from).unwrap_or_default()
}

/// Adds a frame, its length before it. `false`, and nothing is added, if it is too long.
pub(crate) fn append<T: Serialize>(value: &T, buffer: &mut Vec<u8>) -> bool {
    let start = buffer.len();
    buffer.extend([0; 4]);
    let is_written = postcard::serialize_with_flavor(value, Appended(buffer)).is_ok();
    let length = buffer.len() - start - 4;
    if !is_written || length > LONGEST_FRAME {
        buffer.truncate(start);
        return false;
    }
    buffer[start..start + 4].copy_from_slice(&(length as u32).to_be_bytes());
    true
}

/// A buffer that postcard can add to.
struct Appended<'a>(&'a mut Vec<u8>);

impl Flavor for Appended<'_> {
    type Output = ();

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_as_it_was_and_nonsense_does_not() {
        let frame = Frame::Message((7u8, "token".to_string()));
        let mut buffer = Vec::new();
        assert!(append(&frame, &mut buffer));
        assert_eq!(u32::from_be_bytes(buffer[..4].try_into().unwrap()) as usize, buffer.len() - 4);
        assert_eq!(decode::<Frame<(u8, String)>>(&buffer[4..]), Some(frame));
        assert_eq!(decode::<Frame<(u8, String)>>(&buffer[4..buffer.len() - 1]), None, "too short");
        buffer.push(0);
        assert_eq!(decode::<Frame<(u8, String)>>(&buffer[4..]), None, "too long");
        assert_eq!(decode::<Frame<(u8, String)>>(&[9]), None, "no such frame");
    }

    #[test]
    fn words_of_others_are_readable_and_command_no_terminal() {
        let refusal = Refusal::from("it's of the group \"a\\b\"\u{1b}[2J\nnode=1 is fine");
        assert_eq!(refusal.as_heard(), "it's of the group \"a\\b\"\\u{1b}[2J\\nnode=1 is fine");
    }

    #[tokio::test]
    async fn who_speaks_something_else_is_told_what() {
        let heard = async |bytes: &[u8]| read_preface(&mut &bytes[..]).await;
        let mut ours = Vec::new();
        write_preface(&mut ours).await.unwrap();
        assert_eq!(heard(&ours).await, Ok(()));
        ours[11] = 9;
        assert!(heard(&ours).await.unwrap_err().starts_with("the peer uses version 9 of the member protocol"));
        let other = heard(b"GET / HTTP/1.1\r\n").await.unwrap_err();
        assert!(other.starts_with("the peer does not use the member protocol"), "{other}");
        assert_eq!(heard(b"GET").await.unwrap_err(), CLOSED);
        // The beginning of a greeting in TLS, and an alert, which is shorter than a preface.
        for secret in [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00"[..], b"\x15\x03\x03\x00\x02\x02\x32"] {
            let why = heard(secret).await.unwrap_err();
            assert!(
                why.starts_with("the peer uses TLS, but this node has no certificates: configure certificates"),
                "{why}"
            );
        }
    }

    #[test]
    fn what_is_too_long_is_not_written() {
        let mut buffer = b"before".to_vec();
        assert!(!append(&Frame::Message(vec![1u8; LONGEST_FRAME]), &mut buffer));
        assert_eq!(&buffer[..], b"before");
    }
}
