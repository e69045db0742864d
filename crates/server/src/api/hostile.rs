//! Bodies and frames of clients, for [`crate::hostile`].

use std::fmt::Debug;

use bytes::{Bytes, BytesMut};
use quorate_client::contract::stream::{Answer, Ask, LONGEST_FRAME, Reply, Request, Subject, Trouble};
use quorate_client::contract::{
    AcquireLock, AddMember, Campaign, ForceRelease, Mode, OpenSession, ProblemKind, Proclaim, ReleaseLock,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::codec::{Decoder, Encoder, LengthDelimitedCodec};

use super::body::parse;
use super::{checked_delay, checked_label, checked_mode, checked_ttl, end_of, lock_name, session_id};

/// Reads a body as each that there could be.
pub(crate) fn body(bytes: &[u8]) -> bool {
    let understood = [
        one::<OpenSession>(bytes, |body| {
            let _ = (checked_ttl(body.ttl), checked_label(body.label));
        }),
        one::<AcquireLock>(bytes, |body| {
            let _ = (checked_mode(body.mode), checked_delay(body.delay), end_of(body.wait));
            let _ = body.session.map(|session| session_id("session", &session));
        }),
        one::<ReleaseLock>(bytes, |body| drop(session_id("session", &body.session))),
        one::<ForceRelease>(bytes, |body| drop(checked_label(body.by))),
        one::<Campaign>(bytes, |body| drop(checked_ttl(body.ttl))),
        one::<Proclaim>(bytes, |body| drop(session_id("session", &body.session))),
        one::<AddMember>(bytes, drop),
    ];
    understood.contains(&true)
}

fn one<T>(bytes: &[u8], use_it: impl FnOnce(T)) -> bool
where
    T: DeserializeOwned + Serialize + PartialEq + Debug,
{
    match parse::<T>(bytes) {
        Ok(body) => {
            let again = serde_json::to_vec(&body).expect("what was read can be written");
            assert_eq!(parse::<T>(&again).as_ref(), Ok(&body), "it means the same again");
            use_it(body);
            true
        }
        Err(problem) => {
            assert!((400..500).contains(&problem.status) && !problem.detail.is_empty(), "{problem:?}");
            false
        }
    }
}

/// Bodies that make sense.
pub(crate) fn bodies() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"ttl": "1m 30s", "label": "deploy@web1:812"}"#,
        r#"{"session": "75878f2a", "wait": 0, "mode": {"permits": 3}, "delay": 500, "request": 18446744073709551615}"#,
        r#"{"mode": "shared"}"#,
        r#"{"session": "1", "request": null}"#,
        r#"{"by": "alice\u00e9\ud83d\ude00"}"#,
        r#"{"value": "10.0.0.1:5432", "ttl": 30000, "wait": "10s"}"#,
        r#"{"session": "ff", "fence": 42, "value": ""}"#,
        r#"{"node": 4, "address": "10.0.0.4:7420"}"#,
        "  ",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(LONGEST_FRAME).new_codec()
}

/// Reads what a client says on a stream, and the same as if a server had said it.
pub(crate) fn frames(bytes: &[u8]) -> bool {
    let (mut codec, mut buffer, mut understood) = (codec(), BytesMut::from(bytes), false);
    while let Ok(Some(frame)) = codec.decode(&mut buffer) {
        if let Ok(ask) = postcard::from_bytes::<Ask>(&frame) {
            let again = postcard::to_allocvec(&ask).expect("what was read can be written");
            assert_eq!(postcard::from_bytes(&again), Ok(ask.clone()), "it means the same again");
            if let Request::Acquire { subject, mode, delay_ms, wait_ms, .. } = ask.request {
                let span = quorate_client::contract::Span::from_millis;
                let _ = (checked_mode(mode), checked_delay(Some(span(delay_ms))), end_of(wait_ms.map(span)));
                let _ = lock_name(subject.name);
            }
            understood = true;
        }
        if let Ok(answer) = postcard::from_bytes::<Answer>(&frame) {
            let again = postcard::to_allocvec(&answer).expect("what was read can be written");
            assert_eq!(postcard::from_bytes(&again), Ok(answer), "it means the same again");
        }
    }
    understood
}

/// Streams that make sense.
pub(crate) fn asked() -> Vec<Vec<u8>> {
    let subject = |election| Subject { election, name: "jobs/nightly".into() };
    let acquire = Request::Acquire {
        session: 7,
        request: 1,
        subject: subject(false),
        mode: Mode::Permits(3),
        wait_ms: Some(500),
        delay_ms: 1,
        value: b"10.0.0.1".to_vec(),
    };
    let requests = [
        Request::Open { ttl_ms: 10_000, label: "deploy".into() },
        acquire,
        Request::Renew { session: u64::MAX },
        Request::Withdraw { session: 7, request: 3, subject: subject(true) },
        Request::Release { session: 7, request: 2, subject: subject(false), fence: 5 },
        Request::UntilLost { session: 7, subject: subject(false), fence: 42 },
        Request::Proclaim { session: 7, name: "db".into(), fence: 42, value: vec![0; 3] },
        Request::Close { session: 7 },
    ];
    let (mut codec, mut all) = (codec(), BytesMut::new());
    let mut seeds = Vec::new();
    for (number, request) in (1..).zip(requests) {
        let frame = postcard::to_allocvec(&Ask { number, request }).expect("it can be written");
        let before = all.len();
        codec.encode(Bytes::from(frame), &mut all).expect("it is short enough");
        seeds.push(all[before..].to_vec());
    }
    let told = [Ok(Reply::Granted { fence: 42 }), Err(Trouble { kind: ProblemKind::Held, detail: "why".into() })];
    for outcome in told {
        let frame = postcard::to_allocvec(&Answer { number: 1, outcome }).expect("it can be written");
        codec.encode(Bytes::from(frame), &mut all).expect("it is short enough");
    }
    seeds.push(all.to_vec());
    seeds
}
