//! Something that may happen in a state, and its packed form.

/// Something that may happen in a state: what kind it is, and at which places of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Action(u32);

/// What an action says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// A host makes one of its moves: which host, which of its moves.
    Move(usize, usize),
    /// The letter at this place arrives.
    Deliver(usize),
    /// The letter at this place arrives, and stays.
    DeliverAndKeep(usize),
    /// The letter at this place is lost.
    Lose(usize),
    /// The application of the first host sends a message to the second.
    Poke(usize, usize),
    /// The first host suspects the second, which lives.
    Suspect(usize, usize),
    /// A host makes one of its moves, and crashes when so many effects of it have been carried out.
    MoveCutShort(usize, usize, usize),
    /// The letter at this place arrives, and who gets it crashes when so many effects have been carried out.
    DeliverCutShort(usize, usize),
    /// The same, and the letter stays.
    DeliverAndKeepCutShort(usize, usize),
    /// The first host suspects the second, which lives, and crashes when so many effects have been carried out.
    SuspectCutShort(usize, usize, usize),
    /// Time passes.
    Tick,
}

/// No larger group is explored.
const HOST_BITS: u32 = 5;

impl Act {
    pub(super) fn pack(self) -> Action {
        let pack = |kind: u32, a: usize, b: usize| Action(kind << 28 | (a as u32) << 14 | b as u32);
        match self {
            Act::Move(host, place) => pack(0, host, place),
            Act::Deliver(place) => pack(1, 0, place),
            Act::DeliverAndKeep(place) => pack(2, 0, place),
            Act::Lose(place) => pack(3, 0, place),
            Act::Poke(from, to) => pack(4, from, to),
            Act::Tick => pack(5, 0, 0),
            Act::Suspect(host, of) => pack(6, host, of),
            Act::MoveCutShort(host, place, effects) => pack(7, effects << HOST_BITS | host, place),
            Act::DeliverCutShort(place, effects) => pack(8, effects, place),
            Act::DeliverAndKeepCutShort(place, effects) => pack(9, effects, place),
            Act::SuspectCutShort(host, of, effects) => pack(10, effects << HOST_BITS | host, of),
        }
    }
}

impl Action {
    pub(super) fn unpack(self) -> Act {
        let (a, b) = ((self.0 >> 14 & 0x3fff) as usize, (self.0 & 0x3fff) as usize);
        match self.0 >> 28 {
            0 => Act::Move(a, b),
            1 => Act::Deliver(b),
            2 => Act::DeliverAndKeep(b),
            3 => Act::Lose(b),
            4 => Act::Poke(a, b),
            6 => Act::Suspect(a, b),
            7 => Act::MoveCutShort(a & ((1 << HOST_BITS) - 1), b, a >> HOST_BITS),
            8 => Act::DeliverCutShort(b, a),
            9 => Act::DeliverAndKeepCutShort(b, a),
            10 => Act::SuspectCutShort(a & ((1 << HOST_BITS) - 1), b, a >> HOST_BITS),
            _ => Act::Tick,
        }
    }
}
