//! What could be wrong with the naive service, one at a time: so that laws and comparisons are tested, too.

/// What can be wrong with the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Who can share the lock with its holders does not wait behind who waits.
    ReadersOvertake,
    /// When a session expires, its places in line stay.
    ExpiryForgetsWaiters,
    /// Any delay ends when one is to end.
    AnyDelayEnds,
    /// A release that is sent again releases again.
    ReleaseIgnoresNumber,
    /// A request that is sent again asks again.
    AcquireIgnoresNumber,
    /// A request that was refused can be granted later, when it is sent again.
    RefusalUsesUpNoNumber,
    /// Fences are counted for each lock, from 1 whenever nobody has held it before.
    FencesRestart,
    /// A new generation has the same fences as the one before.
    GenerationsAreAlike,
    /// Who loses a lock by force keeps its place.
    ForceLeavesPlace,
    /// Nobody is let in when the first in line withdraws.
    WithdrawalAdmitsNobody,
    /// A withdrawal that comes late gives up a place that was asked for since.
    WithdrawalIgnoresNumber,
    /// Readers get a lock in spite of a delay.
    ReadersIgnoreDelay,
    /// There is one permit more than there should be.
    OnePermitMore,
    /// A later delay takes the place of an earlier one.
    LastDelayCounts,
    /// It is told again that a lock is vacant when its delay ends.
    VacantTwice,
    /// A request that is sent again brings back what the holder had said then.
    OldValueReturns,
    /// A call that ends unheard gives up what another one has asked for since.
    AnyCallGivesUp,
    /// A request that was withdrawn before it arrived is heard.
    LateRequestIsHeard,
    /// A call that was given up before its request arrived is heard.
    LateCallIsHeard,
    /// A release of one grant gives back another one.
    AnyGrantIsReleased,
    /// Who takes away one grant takes away another one.
    AnyGrantIsForced,
}

impl Flaw {
    pub(crate) const ALL: [Flaw; 21] = [
        Flaw::ReadersOvertake,
        Flaw::ExpiryForgetsWaiters,
        Flaw::AnyDelayEnds,
        Flaw::ReleaseIgnoresNumber,
        Flaw::AcquireIgnoresNumber,
        Flaw::RefusalUsesUpNoNumber,
        Flaw::FencesRestart,
        Flaw::GenerationsAreAlike,
        Flaw::ForceLeavesPlace,
        Flaw::WithdrawalAdmitsNobody,
        Flaw::WithdrawalIgnoresNumber,
        Flaw::ReadersIgnoreDelay,
        Flaw::OnePermitMore,
        Flaw::LastDelayCounts,
        Flaw::VacantTwice,
        Flaw::OldValueReturns,
        Flaw::AnyCallGivesUp,
        Flaw::LateRequestIsHeard,
        Flaw::LateCallIsHeard,
        Flaw::AnyGrantIsReleased,
        Flaw::AnyGrantIsForced,
    ];
}
