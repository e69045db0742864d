//! Constructions that make a reader read a sentence twice, as far as a pattern can find them.
//!
//! Each pattern has sentences that it must find and sentences that it must leave alone, so that it is right about both.

use std::sync::LazyLock;

use regex::Regex;

/// One construction to avoid.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// What to do instead.
    pub(crate) advice: &'static str,
    expression: &'static str,
    /// Sentences in which it is found.
    bad: &'static [&'static str],
    /// Sentences in which it is not.
    good: &'static [&'static str],
}

/// All of them. Case does not matter.
pub(crate) const PATTERNS: [Pattern; 14] = [
    Pattern {
        advice: "name the subject: the client, the process, the holder",
        expression: r"\b(whoever|whomever|whom|somebody|nobody)\b",
        bad: &["Whoever asks waits.", "nobody holds a lock", "Show it to somebody.", "of whom it knows"],
        good: &["Any client can ask.", "the holder's body"],
    },
    Pattern {
        advice: "name the subject instead of `who …`",
        // People may be `who`: engineers who read this; Lamport, who introduced clocks.
        expression: concat!(
            r"(?:^|[^\w\s`…,(]\s*|(?-i:\b[a-z][a-z0-9]*), |\b(?:and|or|but|nor|not|if|of|to|by|for|from|with",
            r"|on|in|at|as",
            r"|than|that|then|like|while|where|when|because|until|before|after|shows?|says?|said|knows?",
            r"|tells?|is|are|be",
            r"|how|what|see|find|choose|remember|only|each|every|all)\b,? )who (?:neither|[a-z]+(?:s|ed)|is",
            r"|was|has|had",
            r"|does|did|can|could|cannot|may|might|must|will|would|should|left|got|went|came|held|knew|wrote",
            r"|took|began",
            r"|were|are|have)\b",
        ),
        bad: &[
            "Who dies loses its locks.",
            "it waits for the reply; who holds the lock sends it",
            "and who waits is served",
            "shows who holds it",
            "Who neither wants to enter nor is inside answers at once.",
            "Only who holds the lock writes.",
            "the request is granted, who waits enters",
        ],
        good: &[
            "An engineer who has never seen it",
            "people who run a cluster",
            "due to Lamport, who introduced logical clocks",
            "whole words",
            "Who holds the lock?",
        ],
    },
    Pattern {
        advice: "say who does what: `is notified`, or name the sender",
        expression: r"\b(?:is|are|was|were|be|been|being|get|gets) told\b",
        bad: &["It is told.", "Processes were told of crashes."],
        good: &["The detector notifies the process.", "told apart"],
    },
    Pattern {
        advice: "suspect, suspected, falsely suspected",
        expression: r"\bfor dead\b|\b(?:take|taken|takes|took) (?:it |them |[a-z]+ )?for (?:alive|living)\b",
        bad: &["taken for dead", "takes a process for dead"],
        good: &["the process is suspected", "the dead process"],
    },
    Pattern {
        advice: "malformed, unknown, rejected",
        expression: r"\bno sense\b|\bnonsense\b",
        bad: &["it makes no sense"],
        good: &["a sensor", "in that sense"],
    },
    Pattern {
        advice: "processes send and receive; they do not speak and hear",
        expression: r"\b(?:hears?|heard|speaks?|spoke|spoken)\b",
        bad: &["p1 hears it", "nodes then speak in secret"],
        good: &["overheard", "the loudspeaker"],
    },
    Pattern {
        advice: "restart, incarnation",
        expression: concat!(
            r"\b(?:another|first|new|next|last|second|earlier|former|other|own|same|each|every|its) (?:life|",
            r"lives)\b|\blives (?:of|are counted)\b|\breborn\b|\bdisown",
        ),
        bad: &["it begins another life", "in its first life", "lives of a node", "disowned"],
        good: &["a process that lives", "the life cycle of a lock", "lifetime"],
    },
    Pattern {
        advice: "subject first: `ties are broken by process id`",
        expression: r"\bof equals\b|\bof (?:whose|which) (?:it|they)\b",
        bad: &["of equals the smaller goes first", "of which it asks for one"],
        good: &["equals", "most of which are small"],
    },
    Pattern {
        advice: "this is the default; or say what is so",
        expression: r"\b(?:it|that|this) is so\b",
        bad: &["It is so if nothing is said."],
        good: &["This is the default.", "it is solved"],
    },
    Pattern {
        advice: "begin with the subject, not with `what …`",
        expression: concat!(
            r"^what [^?:]* (?:is|are|was|were|has|have|can|cannot|must|does|may|goes|stays|comes|remains|",
            r"will|happens) [^?]*[.]$",
        ),
        bad: &["What it has to remember is synced.", "What a peer can cause is never a panic."],
        good: &["What is a fence?", "Write what has to be kept.", "What it guarantees"],
    },
    Pattern {
        advice: "address the reader as `you`",
        expression: concat!(
            r"\b(?:what|if|when|where|as|that|how) one (?:looks|sees|wants|would|does|may|might|knows|asks|",
            r"clicks|chooses|likes|has|needs|presses|reads)\b|\bbefore one's eyes\b",
        ),
        bad: &["when one looks", "what one has chosen"],
        good: &["when one node crashes", "if only one has it"],
    },
    Pattern {
        advice: "a node logs, returns or reports; it does not say",
        expression: concat!(
            r"\b(?:nodes?|process|processes|services?|servers?|members?|leaders?|clients?|peers?|",
            r"votes?) (?:says?|said)\b|\bwhat (?:it|they) says?\b",
        ),
        bad: &["the leader says so", "the leader and what it says"],
        good: &["the paper says so", "the documents say"],
    },
    Pattern {
        advice: "cost, queue: the usual word",
        expression: r"\b(?:bill|bills|billed|desk|desks|prolong|prolongs|prolonged)\b",
        bad: &["billed like a run", "at the desk", "prolong a session"],
        good: &["the desktop", "billions"],
    },
    Pattern {
        advice: "round trip",
        expression: r"\bthere and back\b",
        bad: &["the time there and back"],
        good: &["a round trip"],
    },
];

/// A piece of text without its questions, as single sentences.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut begin = 0;
    for (place, letter) in text.char_indices() {
        let end = place + letter.len_utf8();
        if matches!(letter, '.' | '!' | '?' | '\n') && text[end..].chars().next().is_none_or(char::is_whitespace) {
            found.push(text[begin..end].trim());
            begin = end;
        }
    }
    found.push(text[begin..].trim());
    found.retain(|sentence| !sentence.is_empty() && !sentence.ends_with('?'));
    found
}

static COMPILED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    PATTERNS.iter().map(|pattern| Regex::new(&format!("(?i){}", pattern.expression)).unwrap()).collect()
});

/// The patterns that a text matches, each with the words that match.
pub(crate) fn found_in(text: &str) -> Vec<(&'static Pattern, String)> {
    let mut found = Vec::new();
    for sentence in sentences(text) {
        for (pattern, expression) in PATTERNS.iter().zip(COMPILED.iter()) {
            if let Some(words) = expression.find(sentence) {
                found.push((pattern, words.as_str().trim().to_string()));
            }
        }
    }
    found
}

#[test]
fn each_pattern_finds_its_bad_sentences_and_leaves_its_good_ones() {
    for (place, pattern) in PATTERNS.iter().enumerate() {
        let finds = |sentence: &str| sentences(sentence).into_iter().any(|one| COMPILED[place].is_match(one));
        for bad in pattern.bad {
            assert!(finds(bad), "`{}` is not found in: {bad}", pattern.expression);
        }
        for good in pattern.good {
            assert!(!finds(good), "`{}` is found in: {good}", pattern.expression);
        }
    }
}
