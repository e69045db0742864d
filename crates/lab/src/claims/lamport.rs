//! Lamport's algorithm.

use super::costs::{Meter, agrees, asking};
use super::court::{explored, number};
use super::order::{keeps_order, with_pokes};
use super::{Claim, Court, Verdict};
use crate::explore::Exploration;
use crate::explore::goal::Goal;
use crate::network::Order;
use crate::time::in_delta;

const ME: &str = "lamport";
const SAFE_AND_LIVE: [Goal; 3] = [Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::StarvationFreedom];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "L1.safe",
        documents: "E",
        statement: "Lamport's algorithm is safe (ME1) and live (ME2).",
        judge: |court| {
            let three = court.holds(ME, &explored(3, 1), &SAFE_AND_LIVE);
            Verdict::of(court.holds(ME, &explored(2, 3), &SAFE_AND_LIVE) && three)
        },
    },
    Claim {
        id: "L1.order",
        documents: "E",
        statement: "Lamport's algorithm grants requests in happened-before order (ME3).",
        judge: in_order,
    },
    Claim {
        id: "L2",
        documents: "E",
        statement: "Lamport's algorithm needs FIFO channels.",
        judge: |court| {
            let any = Exploration { order: Some(Order::Any), ..explored(3, 1) };
            let safe_without = !court.breaks(ME, &any, Goal::MutualExclusion);
            let live_without = !court.breaks(ME, &any, Goal::DeadlockFreedom);
            let with = court.holds(ME, &explored(3, 1), &[Goal::MutualExclusion, Goal::DeadlockFreedom]);
            Verdict::of(with && !(safe_without && live_without))
        },
    },
    Claim {
        id: "L3",
        documents: "E",
        statement: "A use takes 3(N−1) messages.",
        judge: |court| Verdict::of(agrees(court, ME, Meter::Messages, "3(N−1)", |n| 3.0 * (n - 1.0))),
    },
    Claim {
        id: "L4",
        documents: "E",
        statement: "The client delay is a round trip.",
        judge: |court| Verdict::of(agrees(court, ME, Meter::ClientDelay, "2", |_| 2.0)),
    },
    Claim {
        id: "L5",
        documents: "E",
        statement: "The synchronization delay is 1 message.",
        judge: |court| Verdict::of(agrees(court, ME, Meter::SyncDelay, "1", |_| 1.0)),
    },
    Claim {
        id: "L6",
        documents: "E",
        statement: "Processes enter in the order of their requests' timestamps.",
        judge: |court| {
            court.say(
                "the fence of an entry is the timestamp of its request, so increasing fences mean timestamp order",
            );
            let three = court.holds(ME, &explored(3, 1), &[Goal::Fencing]);
            Verdict::of(court.holds(ME, &explored(2, 3), &[Goal::Fencing]) && three)
        },
    },
    Claim {
        id: "L7",
        documents: "E",
        statement: "Worked example: p1 and p2 request entry at the same time, with timestamps (1, p1) and (1, p2). \
                    p1 enters first, then p2.",
        judge: |court| {
            let experiment = asking(3, &[(2, 0.0), (1, 0.0)]);
            let run = court.run(ME, &experiment);
            let entries = run.entries();
            let words: Vec<_> =
                entries.iter().map(|(id, at)| format!("p{id} at {} δ", number(in_delta(*at)))).collect();
            court.say(format!("entries: {}", words.join(", ")));
            court.show_run(
                ME,
                &experiment,
                &run,
                "both requests have the same number; p1's request is smaller by process id",
            );
            Verdict::of(entries.iter().map(|(id, _)| *id).eq([1, 2]))
        },
    },
];

fn in_order(court: &mut Court) -> Verdict {
    let stamped = [explored(3, 1), with_pokes(explored(3, 1), 1), explored(2, 3), with_pokes(explored(2, 2), 2)];
    let with = keeps_order(court, ME, &stamped);
    let unstamped = Exploration { unstamped_pokes: true, ..with_pokes(explored(3, 1), 1) };
    let without = !court.breaks(ME, &unstamped, Goal::RequestOrder);
    Verdict::only_if("application messages carry the clock, too", with, without)
}
