//! Switches that make a node misbehave, so that a test harness can show that it would notice. They exist only with the
//! feature `test-switches`.
//!
//! - `QUORATE_TEST_ACK_EARLY=1`: what was appended is acknowledged at once, and synced only every half second. A killed
//!   node loses what it acknowledged.
//! - `QUORATE_TEST_BUFFER=1`: appended bytes stay in memory until the sync, so that a killed node loses what was not
//!   synced. This is how the log works in any case: raft-log gathers records in memory and hands them to the operating
//!   system in the same step as the sync. The switch exists so that a harness can say what it relies on.

/// Whether appends are acknowledged before they are synced.
pub(super) fn acknowledges_early() -> bool {
    cfg!(feature = "test-switches") && std::env::var("QUORATE_TEST_ACK_EARLY").is_ok_and(|value| value == "1")
}
