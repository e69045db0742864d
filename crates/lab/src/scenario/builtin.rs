//! The scenarios that come with the laboratory: one for each idea of each algorithm.

use super::Scenario;

/// A scenario that comes with the laboratory.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name: `quorate replay NAME`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

impl BuiltIn {
    /// The scenario.
    pub fn scenario(&self) -> Scenario {
        Scenario::parse(self.text).expect("a test reads all of them")
    }
}

/// The scenario of this name, if there is one.
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    ALL.iter().find(|scenario| scenario.name == name)
}

macro_rules! built_in {
    ($($name:literal)*) => {
        /// All of them, those of an algorithm beside each other.
        pub const ALL: &[BuiltIn] = &[$(BuiltIn {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/", $name, ".txt")),
        }),*];
    };
}

built_in! {
    "central-queue"
    "central-coordinator-crashes"
    "central-holder-crashes"
    "central-idle-client-crashes"
    "central-lost-release"
    "central-overtaken"
    "central-old-holder-writes-first"
    "central-sealed-resource"
    "token-ring-crash"
    "token-ring-one-visit-one-entry"
    "token-ring-order"
    "token-ring-passes-the-idle"
    "token-ring-two-tokens"
    "suzuki-kasami-has-the-token"
    "suzuki-kasami-order"
    "suzuki-kasami-queue"
    "lamport-worked-example"
    "lamport-heard-from-all"
    "lamport-lost-request"
    "lamport-needs-fifo"
    "lamport-stamped-message"
    "lamport-unstamped-message"
    "ricart-agrawala-worked-example"
    "ricart-agrawala-bare-replies"
    "ricart-agrawala-crash"
    "ricart-agrawala-doubled-reply"
    "ricart-agrawala-lost-request"
    "ricart-agrawala-tie"
    "ricart-agrawala-without-fifo"
    "roucairol-carvalho-again"
    "roucairol-carvalho-asks-back"
    "roucairol-carvalho-order"
    "roucairol-carvalho-two-crashes"
    "maekawa-deadlock"
    "maekawa-crash"
    "maekawa-order"
    "maekawa-release-passes-the-vote"
    "maekawa-deadlock-free-three"
    "maekawa-deadlock-free-keeps"
    "maekawa-deadlock-free-order"
    "maekawa-deadlock-free-same-number"
    "maekawa-deadlock-free-two-crashes"
    "maekawa-deadlock-free-yields"
    "majority-forgotten-vote"
    "majority-refused"
    "majority-split"
    "withdrawal-and-replies"
    "withdrawal-crosses-the-grant"
    "chang-roberts-concurrent"
    "chang-roberts-crash"
    "chang-roberts-reported-crash"
    "chang-roberts-swallowed"
    "chang-roberts-worst"
    "bully-worked-example"
    "bully-best-case"
    "bully-comes-back"
    "bully-idle-answers"
    "bully-late-announcement"
    "bully-two-leaders"
    "ring-worked-example"
    "ring-crash-on-the-way"
    "heartbeat-crash"
    "heartbeat-late-beat"
}
