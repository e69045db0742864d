//! What is on the disk, and what other members say, for [`crate::hostile`].

use bytes::{Bytes, BytesMut};
use openraft::EntryPayload;
use openraft::raft::{AppendEntriesRequest, VoteRequest};
use tokio_util::codec::{Decoder, Encoder};

use super::identity::Identity;
use super::state::{self, State};
use super::types::{self, Batch, Entry, LogId, RandomId, Types, Vote};
use super::wal::frame::{self, Record, Tail};
use super::wire::{self, Hello, Reply, Request, SnapshotPart, Welcome};
use super::{identity as identity_file, sealed};
use crate::machine::{Acquire, Command, Fence, Machine, Mode, Moment, Name, SessionId};

/// Reads a file of the log, with its checksums; and a record, without.
pub(crate) fn records(bytes: &[u8]) -> bool {
    let (mut at, mut number) = (0, None);
    while let Some(frame) = frame::at(bytes, at).filter(|frame| number.is_none_or(|next| next == frame.number)) {
        if let Some(Record::Entry(_, payload)) = frame.record() {
            entry(payload);
        }
        number = frame.number.checked_add(1);
        at += frame.length();
    }
    let tail = frame::tail(bytes, at, number);
    assert!(tail != Tail::Clean || bytes[at.min(bytes.len())..].iter().all(|&byte| byte == 0), "nothing is overlooked");
    if let Ok(Record::Entry(_, payload)) = postcard::from_bytes(bytes) {
        entry(payload);
    }
    number.is_some()
}

fn entry(bytes: &[u8]) {
    if let Ok(EntryPayload::Normal(batch)) = postcard::from_bytes::<EntryPayload<Types>>(bytes) {
        apply(&mut Machine::default(), 0, &batch);
    }
}

/// Applies a batch to a machine, which must bear whatever it is told.
fn apply(machine: &mut Machine, before: u64, batch: &Batch) -> bool {
    let Ok((at_ms, commands)) = batch.read() else { return false };
    let mut index = before;
    for command in commands {
        index += 1;
        machine.apply(Moment { index, at_ms }, command);
    }
    assert!(machine.is_sound(index), "commands leave it in order");
    true
}

/// Reads a batch of commands and applies it.
pub(crate) fn commands(bytes: &[u8]) -> bool {
    let (mut machine, before) = crowded();
    apply(&mut machine, before, &Batch::from_bytes(Bytes::copy_from_slice(bytes)))
}

/// Reads a snapshot as it is, and what could be in one as if the checksum were right; then goes on from it.
pub(crate) fn snapshot(bytes: &[u8]) -> bool {
    let understood = State::from_bytes(bytes).is_ok();
    let state = State::from_bytes(&sealed::seal(*b"quorateS", state::VERSION, bytes));
    if let Ok(State { mut machine, commands, .. }) = state {
        let sessions: Vec<_> = machine.sessions().map(|view| view.session).collect();
        let names: Vec<_> = machine.names().cloned().collect();
        let force = names.into_iter().map(|name| Command::Force { name, by: String::new(), fence: None });
        let expire = sessions.into_iter().map(|session| Command::Expire { session, opened: 0 });
        for (index, command) in (commands + 1..).zip(force.chain(expire)) {
            machine.apply(Moment { index, at_ms: 0 }, command);
        }
        assert_eq!(machine.sessions().len(), 0, "all have expired");
    }
    understood
}

/// Reads the file that says whose directory it is, as it is, and as if the checksum were right.
pub(crate) fn identity(bytes: &[u8]) -> bool {
    let _ = identity_file::parse(&sealed::seal(*b"quorateI", 1, bytes));
    identity_file::parse(bytes).is_ok()
}

/// Reads what another member says: an introduction, requests and replies.
pub(crate) fn frames(bytes: &[u8]) -> bool {
    let (mut codec, mut buffer, mut understood) = (wire::introduction_codec(), BytesMut::from(bytes), false);
    while let Ok(Some(frame)) = codec.decode(&mut buffer) {
        understood |= wire::decode::<Hello>(&frame).is_some() | wire::decode::<Welcome>(&frame).is_some();
        understood |= wire::decode::<Reply>(&frame).is_some();
        match wire::decode::<Request>(&frame) {
            Some((_, Request::Append(append))) => {
                let _ = wire::is_sound(&append);
                let batches = append.entries.iter().filter_map(|entry| match &entry.payload {
                    EntryPayload::Normal(batch) => Some(batch),
                    EntryPayload::Blank | EntryPayload::Membership(_) => None,
                });
                for batch in batches {
                    apply(&mut Machine::default(), 0, batch);
                }
            }
            Some((_, Request::Vote(vote))) => understood |= wire::is_sound_vote(&vote.vote),
            Some((_, Request::Snapshot(part))) => understood |= wire::is_sound_id(part.meta.last_log_id.as_ref()),
            Some((_, Request::Succeed { .. } | Request::Ask(_) | Request::Change(_))) => understood = true,
            None => {}
        }
    }
    understood
}

fn session(number: u64) -> SessionId {
    SessionId::new(number).expect("it is positive")
}

/// Commands of every kind.
fn all_commands() -> Vec<Command> {
    let (label, owner, name) = (String::from("deploy"), String::new(), Name::lock("a"));
    let open = |number| {
        let (session, label, owner) = (session(number), label.clone(), owner.clone());
        Command::Open { session, ttl_ms: 1000, label, owner, transient: number == 3 }
    };
    let acquire = |number, mode| {
        let (name, value) = (name.clone(), vec![1, 2]);
        Command::Acquire(Acquire {
            session: session(number),
            request: 1,
            call: 0,
            name,
            mode,
            wait: true,
            delay_ms: 5,
            value,
        })
    };
    vec![
        open(1),
        open(2),
        open(3),
        acquire(1, Mode::Exclusive),
        acquire(2, Mode::Shared),
        acquire(3, Mode::Permit { of: 2 }),
        Command::Proclaim { session: session(1), name: name.clone(), fence: Fence::from_number(4), value: vec![] },
        Command::Withdraw { session: session(2), request: 4, name: name.clone() },
        Command::Release { session: session(1), request: 2, name: name.clone(), fence: None },
        Command::Expire { session: session(3), opened: 0 },
        Command::EndDelay { name: name.clone(), fence: Fence::from_number(10) },
        acquire(2, Mode::Shared),
        Command::Force { name: name.clone(), by: "bob".into(), fence: Some(Fence::from_number(11)) },
        Command::Force { name, by: "alice".into(), fence: None },
        Command::Close { session: session(2) },
        Command::Generation { at_least: 0 },
    ]
}

/// A machine with holders and a line, and how many commands it took.
fn crowded() -> (Machine, u64) {
    let mut machine = Machine::default();
    let mut count = 0;
    for (index, command) in (1..).zip(all_commands().into_iter().take(6)) {
        machine.apply(Moment { index, at_ms: 0 }, command);
        count = index;
    }
    (machine, count)
}

fn batch(commands: &[Command]) -> Batch {
    let encoded: Vec<_> = commands.iter().map(types::encode).collect();
    Batch::new(1_700_000_000_000, &encoded)
}

/// Batches that make sense.
pub(crate) fn batches() -> Vec<Vec<u8>> {
    let all = all_commands();
    let single = all.iter().map(|command| batch(std::slice::from_ref(command)));
    single.chain([batch(&all)]).map(|batch| batch.bytes().to_vec()).collect()
}

fn log_id(index: u64) -> LogId {
    LogId::new(openraft::CommittedLeaderId::new(3, 1), index)
}

fn some_entry() -> Entry {
    Entry { log_id: log_id(7), payload: EntryPayload::Normal(batch(&all_commands())) }
}

/// Records that make sense.
pub(crate) fn written() -> Vec<Vec<u8>> {
    let payload = postcard::to_allocvec(&some_entry().payload).expect("it can be written");
    let records = [
        Record::Begin(Default::default()),
        Record::Vote(Vote::new_committed(3, 1)),
        Record::Entry(log_id(7), &payload),
        Record::Committed(log_id(6)),
        Record::Truncate(7),
        Record::Purge(log_id(5)),
    ];
    let mut file = Vec::new();
    let mut seeds = Vec::new();
    for (number, record) in (0..).zip(&records) {
        let mut alone = Vec::new();
        frame::push(&mut alone, number, number, record).expect("it is short");
        frame::push(&mut file, number, number / 2 * 2, record).expect("it is short");
        seeds.extend([alone, postcard::to_allocvec(record).expect("it can be written")]);
    }
    file.resize(file.len().next_multiple_of(4096), 0);
    seeds.push(file);
    seeds
}

/// Snapshots that make sense: as they are, and what is in them.
pub(crate) fn snapshots() -> Vec<Vec<u8>> {
    let (machine, commands) = crowded();
    let states = [State::default(), State { machine, commands, applied: Some(log_id(7)), ..State::default() }];
    let sealed: Vec<_> = states.iter().map(State::to_bytes).collect();
    let bare: Vec<_> = states.iter().map(|state| postcard::to_allocvec(state).expect("it can be written")).collect();
    [sealed, bare].concat()
}

/// Files that make sense.
pub(crate) fn identities() -> Vec<Vec<u8>> {
    let cluster = Some(RandomId::default());
    [None, cluster]
        .map(|cluster| identity_file::to_bytes(&Identity { node: 7, cluster, data: RandomId::default() }))
        .to_vec()
}

/// Conversations that make sense.
pub(crate) fn said() -> Vec<Vec<u8>> {
    let (id, vote) = (RandomId::default(), Vote::new_committed(3, 1));
    let hello = Hello { protocol: wire::PROTOCOL, cluster: id, from: 1, from_data: id, to: 2, to_data: Some(id) };
    let append = AppendEntriesRequest {
        vote,
        prev_log_id: Some(log_id(6)),
        entries: vec![some_entry()],
        leader_commit: Some(log_id(6)),
    };
    let part =
        SnapshotPart { vote, meta: Default::default(), offset: 0, bytes: Bytes::from_static(b"part"), is_last: true };
    let frames = [
        wire::encode(0, &hello),
        wire::encode(0, &Welcome::Come { data: id }),
        wire::encode(1, &Request::Append(append)),
        wire::encode(2, &Request::Vote(VoteRequest { vote, last_log_id: Some(log_id(6)) })),
        wire::encode(3, &Request::Snapshot(part)),
        wire::encode(4, &Request::Succeed { term: 4, successor: 2 }),
        wire::encode(5, &Request::Ask(Bytes::from_static(b"what?"))),
        wire::encode(5, &Reply::Failed("why".into())),
    ];
    let (mut codec, mut seeds) = (wire::introduction_codec(), Vec::new());
    for frame in frames {
        let mut bytes = BytesMut::new();
        codec.encode(frame, &mut bytes).expect("it is short enough");
        seeds.push(bytes.to_vec());
    }
    seeds.push(seeds.concat());
    seeds
}
