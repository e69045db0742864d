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
    title: "asking everybody",
    story: asker::STORY,
    promises: IN_ORDER,
    algorithm: Algorithm::mutex::<Asker>(),
    source: asker::SOURCE,
};

static QUEUEING: Lesson = Lesson {
    title: "a queue at everybody",
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
    title: "a server",
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
        hint: "What does somebody who is inside say when it is asked?",
        explanation: "Who is inside answers at once, as if it were outside. It must put off its answer until it has \
            left.",
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
        hint: "Two clocks that have seen nothing show the same.",
        explanation: "Of two requests with equal numbers, neither is ahead, so each lets the other in. The id must \
            break the tie.",
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
        hint: "Two clocks that have seen nothing show the same.",
        explanation: "Of two requests with equal numbers, both are ahead, so each waits for the other's answer. The \
            id must break the tie.",
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
        hint: "Somebody answers a question, and then asks. Which of the two requests has the smaller number?",
        explanation: "The clock does not take over the number of a request. So who has answered a request can ask \
            with a number that is ahead of it, and gets an answer from who needs none any more.",
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
        hint: "It takes three turns of one process. What of the first is still there at the end of the second?",
        explanation: "Who leaves does not forget to whom it owed an answer, and at its next exit answers the same \
            question again. Such an answer is counted for a later question, to which the answer is no.",
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
        hint: "The applications talk to each other, too.",
        explanation: "The clock does not take over the stamp of an application's message. So who has been told of a \
            request can ask with a smaller number, and enters first.",
        breaks: &[RequestOrder],
        n: 2,
        times: 1,
        pokes: 1,
        flaw: flaw!(asker::DEAF_TO_STAMPS),
    },
    Exercise {
        number: 7,
        title: "I have heard from you",
        lesson: &QUEUEING,
        hint: "What does the last release of somebody say about its next request? An application's message may be \
            faster than both.",
        explanation: "Any message is taken for a sign that its sender is past the request's time. But an old one may \
            be followed, on the same channel, by a smaller request. Only a number at least as large will do.",
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
        hint: "After which events does a process look whether it is its turn?",
        explanation: "After a release nobody looks whether its own request is the first now. If that was the last \
            thing to come, nothing else will wake it.",
        breaks: &[DeadlockFreedom],
        n: 2,
        times: 1,
        pokes: 0,
        flaw: flaw!(queue::MISSES_ITS_TURN),
    },
    Exercise {
        number: 9,
        title: "Nobody is ahead of me",
        lesson: &QUEUEING,
        hint: "Who is inside needs its queue no more. Until when?",
        explanation: "Who is inside replies to a request without putting it into its queue. When it asks again, it \
            does not know that the other is ahead of it.",
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
        explanation: "A vote that has come back goes to the next in the queue, but the voter does not note who has \
            it now. The next who asks gets it, too.",
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
        hint: "Messages may overtake each other, and everybody may ask twice.",
        explanation: "Who gives a vote back is taken out of the queue. But what waits there may be its next request, \
            which has overtaken the vote that it gives back.",
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
        hint: "Who knows how many entries there have been?",
        explanation: "The fence comes from what the process knows as a voter, not from what its voters told it. It \
            has not heard of entries for which it did not vote.",
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
        hint: "Messages may overtake each other, and everybody may ask twice.",
        explanation: "Who asks while it has the vote gets it again, on the guess that what gives the vote back is on \
            its way. It is, and when it arrives it gives back the vote that was just given.",
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
        hint: "How many can wait?",
        explanation: "Who has to wait takes the place of whoever waited before. Each needs a place of its own in the \
            queue.",
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
        hint: "There are two places where a grant is given.",
        explanation: "A grant to somebody who waited is not counted, so it has the fence of the grant before.",
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
        hint: "Messages may overtake each other, and everybody may ask twice.",
        explanation: "A request of the holder is granted at once, on the guess that its release is on its way. It \
            is, and when it arrives it ends the turn that was just granted.",
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
        explanation: "Who passes the token on keeps one like it.",
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
        hint: "Who is put into the queue by somebody who leaves?",
        explanation: "Who leaves does not look at the request of the process with the largest id.",
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
        hint: "A request arrives where the token is not. Who must remember it?",
        explanation: "Who waits for the token does not note the requests of others. If the token is on its way to \
            it, nobody who will have it knows of them.",
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
        explanation: "A smaller id than one's own is passed on like a larger one. So every id comes back to its \
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
        hint: "What if only one of them calls?",
        explanation: "A smaller id than one's own is stopped, also by who does not stand. It must stand itself in \
            its place, or nobody with a larger id does.",
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
        hint: "Of whom has an id been that comes to you?",
        explanation: "Who stands and meets a smaller id thinks that it has won. But only its own id, come back, has \
            been compared with everybody's.",
        breaks: &[SingleLeader, Decided],
        n: 3,
        times: 1,
        pokes: 0,
        flaw: flaw!(ring::WINS_EARLY),
    },
];
