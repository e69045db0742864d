//! The list of exercises.

use quorate_core::catalog::{Entry, Visitor};

use super::asker::Asker;
use super::queue::Queue;
use super::ring::Candidate;
use super::server::Server;
use super::token::Bearer;
use super::voter::Voter;
use super::{Algorithm, Exercise, Flaw, Lesson, asker, queue, ring, server, token, voter};
use crate::explore::goal::Goal::{
    self, DeadlockFreedom, Decided, Fencing, MutualExclusion, RequestOrder, SingleLeader,
};

/// The flaw of this name in the file of a family.
macro_rules! flaw {
    ($family:ident::$name:ident) => {
        Flaw { number: $family::$name, name: stringify!($name) }
    };
}

/// Lets a visitor see the algorithm with this entry.
pub(super) fn visit<V: Visitor>(entry: &Entry, visitor: V) -> V::Output {
    match entry.name {
        "asker" => visitor.mutex::<Asker>(),
        "queue" => visitor.mutex::<Queue>(),
        "voter" => visitor.mutex::<Voter>(),
        "server" => visitor.mutex::<Server>(),
        "token" => visitor.mutex::<Bearer>(),
        "ring-election" => visitor.election::<Candidate>(),
        other => unreachable!("no exercise is about {other}"),
    }
}

const IN_ORDER: &[Goal] = &[MutualExclusion, DeadlockFreedom, RequestOrder, Fencing];
const IN_TURN: &[Goal] = &[MutualExclusion, DeadlockFreedom, Fencing];

static ASKING: Lesson = Lesson {
    title: "requests and replies",
    story: asker::STORY,
    promises: IN_ORDER,
    algorithm: Algorithm::mutex::<Asker>(),
    source: asker::SOURCE,
};

static QUEUEING: Lesson = Lesson {
    title: "a queue at every process",
    story: queue::STORY,
    promises: IN_ORDER,
    algorithm: Algorithm::mutex::<Queue>(),
    source: queue::SOURCE,
};

static VOTING: Lesson = Lesson {
    title: "collecting votes",
    story: voter::STORY,
    promises: IN_TURN,
    algorithm: Algorithm::mutex::<Voter>(),
    source: voter::SOURCE,
};

static SERVING: Lesson = Lesson {
    title: "a central server",
    story: server::STORY,
    promises: IN_TURN,
    algorithm: Algorithm::mutex::<Server>(),
    source: server::SOURCE,
};

static PASSING: Lesson = Lesson {
    title: "a token on request",
    story: token::STORY,
    promises: IN_TURN,
    algorithm: Algorithm::mutex::<Bearer>(),
    source: token::SOURCE,
};

static ELECTING: Lesson = Lesson {
    title: "an election on a ring",
    story: ring::STORY,
    promises: &[SingleLeader, Decided],
    algorithm: Algorithm::election::<Candidate>(),
    source: ring::SOURCE,
};

pub(super) static ALL: &[Exercise] = &[
    Exercise {
        number: 1,
        title: "Come in, it's open",
        lesson: &ASKING,
        hint: "What does a process that is inside answer to a request?",
        explanation: "A process that is inside answers at once, as if it were outside. It must defer its answer until \
            it has exited.",
        breaks: &[MutualExclusion],
        n: 2,
        times: 1,
        pokes: 0,
        flaw: flaw!(asker::ANSWERS_INSIDE),
    },
    Exercise {
        number: 2,
        title: "After you",
        lesson: &ASKING,
        hint: "Two clocks that have seen nothing show the same number.",
        explanation: "Of two requests with equal numbers, neither is ahead, so each process lets the other in. The id \
            must break the tie.",
        breaks: &[MutualExclusion, Fencing],
        n: 2,
        times: 1,
        pokes: 0,
        flaw: flaw!(asker::BOTH_YIELD),
    },
    Exercise {
        number: 3,
        title: "No, after me",
        lesson: &ASKING,
        hint: "Two clocks that have seen nothing show the same number.",
        explanation: "Of two requests with equal numbers, both are ahead, so each process waits for the other's \
            answer. The id must break the tie.",
        breaks: &[DeadlockFreedom],
        n: 2,
        times: 1,
        pokes: 0,
        flaw: flaw!(asker::BOTH_INSIST),
    },
    Exercise {
        number: 4,
        title: "A number of its own",
        lesson: &ASKING,
        hint: "A process answers a request and then makes its own. Which of the two requests has the smaller number?",
        explanation: "The clock does not move up to the number of a request. So a process that has answered a request \
            can make a request of its own that is ahead of it. If the first answer is still in transit, the other \
            process answers too, and both enter.",
        breaks: &[MutualExclusion, RequestOrder, Fencing],
        n: 2,
        times: 1,
        pokes: 0,
        flaw: flaw!(asker::SLOW_CLOCK),
    },
    Exercise {
        number: 5,
        title: "Thank you, again",
        lesson: &ASKING,
        hint: "One process enters three times. What of its first entry is still stored at the end of the second?",
        explanation: "A process that exits does not clear the set of processes that it owes an answer, so at its next \
            exit it answers the same request again. The receiver counts this answer for a later request, which must \
            not be answered yet.",
        breaks: &[MutualExclusion, RequestOrder, Fencing],
        n: 2,
        times: 3,
        pokes: 0,
        flaw: flaw!(asker::ANSWERS_AGAIN),
    },
    Exercise {
        number: 6,
        title: "A word among friends",
        lesson: &ASKING,
        hint: "The applications send messages, too.",
        explanation: "The clock does not move up to the number in an application message. So a process that knows of \
            another request can make its own with a smaller number, and enters first.",
        breaks: &[RequestOrder],
        n: 2,
        times: 1,
        pokes: 1,
        flaw: flaw!(asker::DEAF_TO_STAMPS),
    },
    Exercise {
        number: 7,
        title: "I have your message",
        lesson: &QUEUEING,
        hint: "What does the last release of a process say about its next request? An application message may be \
            faster than both.",
        explanation: "Any message counts as a sign that its sender is past the time of the request. But after an old \
            message, a smaller request can still follow on the same channel. Only a number at least as large is \
            proof.",
        breaks: &[MutualExclusion, RequestOrder, Fencing],
        n: 2,
        times: 2,
        pokes: 1,
        flaw: flaw!(queue::HEARS_OLD_NEWS),
    },
    Exercise {
        number: 8,
        title: "Next, please",
        lesson: &QUEUEING,
        hint: "After which events does a process check whether it can enter?",
        explanation: "After a release, a process does not check whether its own request is first now. If the release \
            was the last message to arrive, no later event makes it check.",
        breaks: &[DeadlockFreedom],
        n: 2,
        times: 1,
        pokes: 0,
        flaw: flaw!(queue::MISSES_ITS_TURN),
    },
    Exercise {
        number: 9,
        title: "No request is ahead of mine",
        lesson: &QUEUEING,
        hint: "A process that is inside does not need its queue. Until when?",
        explanation: "A process that is inside replies to a request without putting it into its queue. When it \
            requests entry again, it does not know that the other request is ahead of its own.",
        breaks: &[MutualExclusion],
        n: 2,
        times: 2,
        pokes: 0,
        flaw: flaw!(queue::QUEUES_NOBODY_INSIDE),
    },
    Exercise {
        number: 10,
        title: "One vote each",
        lesson: &VOTING,
        hint: "Follow one vote: from the first candidate back to the voter, to the second, and then?",
        explanation: "A returned vote goes to the next process in the queue, but the voter does not record that this \
            process has it. The next process that asks gets the vote as well.",
        breaks: &[MutualExclusion, DeadlockFreedom, Fencing],
        n: 3,
        times: 2,
        pokes: 0,
        flaw: flaw!(voter::VOTES_TWICE),
    },
    Exercise {
        number: 11,
        title: "A tidy voter",
        lesson: &VOTING,
        hint: "Messages may overtake each other, and every process may request entry twice.",
        explanation: "A voter removes a process that returns its vote from the queue. But the queue may hold the next \
            request of that process, which has overtaken the returned vote.",
        breaks: &[DeadlockFreedom],
        n: 3,
        times: 2,
        pokes: 0,
        flaw: flaw!(voter::TIDIES_UP),
    },
    Exercise {
        number: 12,
        title: "I can count",
        lesson: &VOTING,
        hint: "Which process knows how many entries there have been?",
        explanation: "The fence comes from what the process knows as a voter, not from what its voters told it. The \
            process does not know of entries for which it did not vote.",
        breaks: &[Fencing],
        n: 3,
        times: 1,
        pokes: 0,
        flaw: flaw!(voter::OWN_COUNT),
    },
    Exercise {
        number: 13,
        title: "You have my vote",
        lesson: &VOTING,
        hint: "Messages may overtake each other, and every process may request entry twice.",
        explanation: "A process that asks while it has the vote gets it again, on the assumption that the message that \
            returns the vote is in transit. It is, and when it arrives, it returns the vote that was just given.",
        breaks: &[MutualExclusion, Fencing],
        n: 3,
        times: 2,
        pokes: 0,
        flaw: flaw!(voter::RENEWS),
    },
    Exercise {
        number: 14,
        title: "Please take a seat",
        lesson: &SERVING,
        hint: "How many processes can wait?",
        explanation: "A process that has to wait replaces the process that waited before. Each needs a place of its \
            own in the queue.",
        breaks: &[DeadlockFreedom],
        n: 4,
        times: 1,
        pokes: 0,
        flaw: flaw!(server::ONE_CHAIR),
    },
    Exercise {
        number: 15,
        title: "Your number, please",
        lesson: &SERVING,
        hint: "The server grants requests in two places.",
        explanation: "A grant to a process that waited is not counted, so it has the fence of the grant before.",
        breaks: &[Fencing],
        n: 3,
        times: 1,
        pokes: 0,
        flaw: flaw!(server::STALE_COUNT),
    },
    Exercise {
        number: 16,
        title: "Back so soon?",
        lesson: &SERVING,
        hint: "Messages may overtake each other, and every process may request entry twice.",
        explanation: "A request of the holder is granted at once, on the assumption that its release is in transit. It \
            is, and when it arrives, it ends the grant that was just given.",
        breaks: &[MutualExclusion, Fencing],
        n: 3,
        times: 2,
        pokes: 0,
        flaw: flaw!(server::GUESSES),
    },
    Exercise {
        number: 17,
        title: "A souvenir",
        lesson: &PASSING,
        hint: "Count the tokens.",
        explanation: "A process that passes the token on keeps a copy of it.",
        breaks: &[MutualExclusion, Fencing],
        n: 2,
        times: 1,
        pokes: 0,
        flaw: flaw!(token::COPIES),
    },
    Exercise {
        number: 18,
        title: "From the first to the last",
        lesson: &PASSING,
        hint: "Which processes does an exiting process put into the queue?",
        explanation: "A process that exits ignores the request of the process with the largest id.",
        breaks: &[DeadlockFreedom],
        n: 3,
        times: 1,
        pokes: 0,
        flaw: flaw!(token::FORGETS_THE_LAST),
    },
    Exercise {
        number: 19,
        title: "It is my turn first",
        lesson: &PASSING,
        hint: "A request arrives at a process without the token. Which process must remember it?",
        explanation: "A process that waits for the token does not record the requests of others. If the token is in \
            transit to that process, no process that will have the token knows of them.",
        breaks: &[DeadlockFreedom],
        n: 3,
        times: 1,
        pokes: 0,
        flaw: flaw!(token::DEAF_WHILE_WAITING),
    },
    Exercise {
        number: 20,
        title: "Number one",
        lesson: &PASSING,
        hint: "Look at what the resource sees.",
        explanation: "Every entry has the fence 1. The token counts the entries, and the fence must be that count.",
        breaks: &[Fencing],
        n: 2,
        times: 1,
        pokes: 0,
        flaw: flaw!(token::OWN_COUNT),
    },
    Exercise {
        number: 21,
        title: "Pass it on",
        lesson: &ELECTING,
        hint: "Which ids come all the way round?",
        explanation: "A process passes a smaller id than its own on like a larger one. So every id comes back to its \
            owner, and every owner wins.",
        breaks: &[SingleLeader, Decided],
        n: 3,
        times: 1,
        pokes: 0,
        flaw: flaw!(ring::PASSES_ALL),
    },
    Exercise {
        number: 22,
        title: "That is not for me to say",
        lesson: &ELECTING,
        hint: "What if only one process starts an election?",
        explanation: "A process drops a smaller id than its own even if it is no candidate. It must become a candidate \
            itself; otherwise the election ends without a winner.",
        breaks: &[Decided],
        n: 3,
        times: 1,
        pokes: 0,
        flaw: flaw!(ring::STOPS_SMALLER),
    },
    Exercise {
        number: 23,
        title: "Larger than you",
        lesson: &ELECTING,
        hint: "Which processes have already seen the id that arrives?",
        explanation: "A candidate that receives a smaller id concludes that it has won. But only its own id, when it \
            comes back, has been compared with the id of every process.",
        breaks: &[SingleLeader, Decided],
        n: 3,
        times: 1,
        pokes: 0,
        flaw: flaw!(ring::WINS_EARLY),
    },
];
