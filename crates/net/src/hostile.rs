//! What other members say, and who reads it first. Only with the feature `hostile`.
//!
//! The reader is thrown bytes at by a fuzzer (`fuzz/`), and by a test that is content with less. It must neither panic
//! nor take memory without bound; and what it has understood must mean the same when it is written and read again.

use quorate_core::catalog::{self, ENTRIES, Entry, Family, Visitor};
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::id::Id;
use quorate_core::mutex::Mutex;
use quorate_core::process::{Effect, Effects, Event, perform};
use quorate_core::setting::{Group, Options, Recovering, Setting, Timing};
use quorate_core::stack::resources::Input;
use quorate_core::stack::{Limits, Name, Request, Surviving};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::frame::{self, Directory, Frame, Hello, Identity, LONGEST_FRAME, LONGEST_HELLO, Verdict};
use crate::incoming::Incoming;
use crate::running::MessageOf;

/// The algorithms that nodes run.
fn algorithms() -> Vec<&'static Entry> {
    ENTRIES.iter().copied().filter(|entry| entry.family == Family::Mutex).collect()
}

/// Reads a connection: the first byte says of what, the others are what comes. Says whether it made sense of any.
pub fn read(bytes: &[u8]) -> bool {
    let Some((&choice, bytes)) = bytes.split_first() else { return false };
    let algorithms = algorithms();
    match usize::from(choice).checked_sub(2) {
        None if choice == 0 => frames::<Hello>(bytes, LONGEST_HELLO),
        None => frames::<Verdict>(bytes, LONGEST_HELLO),
        Some(choice) => match algorithms.get(choice) {
            Some(entry) => catalog::visit(entry.name, Reading(bytes)).unwrap_or(false),
            None => false,
        },
    }
}

/// What makes sense.
pub fn seeds() -> Vec<Vec<u8>> {
    let hello = Hello {
        cluster: "quorate".into(),
        terms: "central among 3".into(),
        from: 1,
        to: 2,
        identity: Identity {
            incarnation: 1,
            instance: u128::MAX / 3,
            directory: Directory { number: u128::MAX / 5, is_in_place_of_another: true },
        },
    };
    let mut seeds = vec![
        seed(0, &hello),
        seed(1, &Verdict::Welcome(hello.identity)),
        seed(1, &Verdict::Refused("it is late".into())),
    ];
    for (number, entry) in (2..).zip(algorithms()) {
        seeds.extend(catalog::visit(entry.name, Saying(number)).unwrap_or_default());
    }
    seeds
}

fn seed(choice: u8, value: &impl Serialize) -> Vec<u8> {
    let mut seed = vec![choice];
    frame::append(value, &mut seed);
    seed
}

/// Frame after frame, until one makes no sense.
fn frames<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(bytes: &[u8], longest: usize) -> bool {
    let mut incoming = Incoming::new(longest, bytes);
    let mut is_understood = false;
    while let Ok(Some(frame)) = incoming.next_frame() {
        let Some(value) = frame::decode::<T>(frame) else { break };
        assert_eq!(frame::decode::<T>(&frame::encode(&value)).as_ref(), Some(&value), "it means something else again");
        is_understood = true;
    }
    is_understood
}

struct Reading<'a>(&'a [u8]);

impl Visitor for Reading<'_> {
    type Output = bool;

    fn mutex<M: Mutex>(self) -> bool {
        frames::<Frame<MessageOf<M>>>(self.0, LONGEST_FRAME)
    }

    fn election<E: Election>(self) -> bool {
        false
    }

    fn detector<D: Detector>(self) -> bool {
        false
    }
}

struct Saying(u8);

impl Visitor for Saying {
    type Output = Vec<Vec<u8>>;

    /// All that three nodes say to each other, with clocks and without, when two of them ask for something and one is
    /// suspected and trusted again.
    fn mutex<M: Mutex>(self) -> Vec<Vec<u8>> {
        let said = [Frame::<MessageOf<M>>::Ping(3), Frame::Pong(3), Frame::Refused("it is late".into())];
        let mut seeds = said.map(|frame| seed(self.0, &frame)).to_vec();
        let group = Options::new(&M::ENTRY, [])
            .and_then(|options| Group::new(&M::ENTRY, 3, 10, Timing::Asynchronous, options))
            .and_then(|group| group.recovering(&M::ENTRY, Some(Recovering::default())));
        let Ok(group) = group else { return seeds };
        for is_recording in [false, true] {
            let process = |id| Surviving::<M>::within(Limits::default(), &Setting::new(id, &group), is_recording);
            let mut nodes: Vec<_> = Id::all(3).map(process).collect();
            let ask = |request| Event::Input(Input::Of(Name::new("printer"), request));
            let mut due = vec![
                (Id::new(1), Event::Start { incarnation: 1, saved: None }),
                (Id::new(2), Event::Start { incarnation: 1, saved: None }),
                (Id::new(3), Event::Start { incarnation: 2, saved: None }),
                (Id::new(2), ask(Request::Enter)),
                (Id::new(3), ask(Request::Enter)),
                (Id::new(2), Event::Input(Input::Lead)),
            ];
            let mut steps = 0;
            while !due.is_empty() && steps < 200 {
                steps += 1;
                let (id, event) = due.remove(0);
                let mut effects = Effects::<Surviving<M>>::new(id);
                perform(&mut nodes[id.index()], event, &mut effects);
                for effect in effects.drain() {
                    if let Effect::Send { to, message } = effect {
                        seeds.push(seed(self.0, &Frame::Message(message.clone())));
                        due.push((to, Event::Receive { from: id, message }));
                    }
                }
            }
        }
        seeds.sort();
        seeds.dedup();
        seeds
    }

    fn election<E: Election>(self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn detector<D: Detector>(self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}
