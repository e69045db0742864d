//! Switches that make a node misbehave on purpose, so that the tests under faults can show that they would notice.
//!
//! They are read from the environment. They are compiled only with the feature `fault-injection`, which nothing but
//! tests enables, and work only where debug assertions are compiled: no release has them, however it is built.
//!
//! - `QUORATE_TEST_ACK_EARLY=1`: what was appended to the log is acknowledged at once, and synced only every half
//!   second. The log keeps appended records in memory until the sync, so a killed node loses exactly what it had
//!   acknowledged without having synced it.
//! - `QUORATE_TEST_RENEW_EXPIRED=1`: a renewal is answered although the session has expired.
//! - `QUORATE_TEST_LOOK_ONCE=1`: who has waited is told of a grant without another look at whether it is over by now.

use std::sync::OnceLock;

/// What a node does wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Switches {
    /// Appends are acknowledged before they are synced.
    pub(crate) acknowledges_early: bool,
    /// Renewals of expired sessions are answered.
    pub(crate) renews_expired: bool,
    /// A grant is told without another look.
    pub(crate) looks_once: bool,
}

/// What this process does wrong.
pub(crate) fn switches() -> Switches {
    static SWITCHES: OnceLock<Switches> = OnceLock::new();
    if !cfg!(debug_assertions) {
        return Switches::default();
    }
    *SWITCHES.get_or_init(|| {
        let is_on = |name: &str| {
            let is_on = std::env::var(name).is_ok_and(|value| value == "1");
            if is_on {
                tracing::warn!(switch = name, "fault injection enabled");
            }
            is_on
        };
        Switches {
            acknowledges_early: is_on("QUORATE_TEST_ACK_EARLY"),
            renews_expired: is_on("QUORATE_TEST_RENEW_EXPIRED"),
            looks_once: is_on("QUORATE_TEST_LOOK_ONCE"),
        }
    })
}
