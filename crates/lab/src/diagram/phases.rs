//! What each process is doing, as far as its records tell.

use quorate_core::election::ELECTION;
use quorate_core::id::Id;
use quorate_core::trace::{Record, What};
use rustc_hash::FxHashMap;

/// What a process is doing, as far as a picture shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Idle,
    Wanting,
    Inside,
    Candidate,
    Leading,
    Paused,
    /// It is inside, and does not know how time passes.
    PausedInside,
    Crashed,
    /// In an orderly way.
    Stopped,
}

impl Phase {
    /// What it is called in a legend.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Wanting => "waiting",
            Phase::Inside => "inside",
            Phase::Candidate => "in an election",
            Phase::Leading => "leader",
            Phase::Paused => "paused",
            Phase::PausedInside => "paused inside",
            Phase::Crashed => "crashed",
            Phase::Stopped => "stopped",
        }
    }
}

/// What each process is doing, in full.
pub(super) struct States {
    of: FxHashMap<Id, State>,
    /// Whether elections stand alone, and are not beside an algorithm for mutual exclusion. Only then the records have
    /// every leader that is named: beside another algorithm, that is between the two, and nobody would see an election
    /// end.
    has_elections: bool,
}

impl States {
    /// Before these records.
    pub(super) fn new(records: &[Record]) -> States {
        // What stands alone is called by an application.
        let has_elections = records.iter().any(|record| matches!(record.what, What::Called));
        States { of: FxHashMap::default(), has_elections }
    }

    /// Something happens: what its process is doing then.
    pub(super) fn see(&mut self, record: &Record) -> Phase {
        let state = self.of.entry(record.process).or_default();
        match &record.what {
            What::Sent { label, .. } if label.kind == ELECTION && self.has_elections => state.rank = Rank::Candidate,
            what => state.see(record.process, what),
        }
        state.phase()
    }

    pub(super) fn phase(&self, id: Id) -> Phase {
        self.of.get(&id).copied().unwrap_or_default().phase()
    }
}

#[derive(Clone, Copy, Default)]
struct State {
    seat: Seat,
    rank: Rank,
    /// If it is not there any more, why.
    gone: Option<Gone>,
    paused: bool,
}

#[derive(Clone, Copy)]
enum Gone {
    Crashed,
    Stopped,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Seat {
    #[default]
    Outside,
    Waiting,
    Inside,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Rank {
    #[default]
    Follower,
    Candidate,
    Leader,
}

impl State {
    fn see(&mut self, process: Id, what: &What) {
        match what {
            What::Wanted => self.seat = Seat::Waiting,
            What::Entered { .. } => self.seat = Seat::Inside,
            What::Withdrew | What::Withdrawn | What::Leaving | What::Exited => self.seat = Seat::Outside,
            What::Called => self.rank = Rank::Candidate,
            What::Leader { leader } if *leader == process => self.rank = Rank::Leader,
            What::Leader { .. } => self.rank = Rank::Follower,
            What::Crashed => *self = State { gone: Some(Gone::Crashed), ..State::default() },
            What::Stopped => *self = State { gone: Some(Gone::Stopped), ..State::default() },
            What::Restarted { .. } => *self = State::default(),
            What::Paused => self.paused = true,
            What::Resumed => self.paused = false,
            What::Read { .. }
            | What::Wrote { .. }
            | What::Opinion { .. }
            | What::Sent { .. }
            | What::Received { .. }
            | What::Lost { .. }
            | What::Poked { .. }
            | What::Heard { .. }
            | What::TimedOut { .. }
            | What::Told { .. }
            | What::Partitioned { .. }
            | What::Healed
            | What::Unexpected { .. } => {}
        }
    }

    fn phase(self) -> Phase {
        match (self.gone, self.paused, self.seat, self.rank) {
            (Some(Gone::Crashed), ..) => Phase::Crashed,
            (Some(Gone::Stopped), ..) => Phase::Stopped,
            (None, true, Seat::Inside, _) => Phase::PausedInside,
            (None, true, ..) => Phase::Paused,
            (None, false, Seat::Inside, _) => Phase::Inside,
            (None, false, Seat::Waiting, _) => Phase::Wanting,
            (None, false, Seat::Outside, Rank::Leader) => Phase::Leading,
            (None, false, Seat::Outside, Rank::Candidate) => Phase::Candidate,
            (None, false, Seat::Outside, Rank::Follower) => Phase::Idle,
        }
    }
}
