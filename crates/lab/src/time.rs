//! Virtual time: integer ticks, shown to people in message delays δ.

use quorate_core::process::Ticks;

/// One message delay, δ, the unit in which the literature counts. A million ticks, so that a clock that drifts by one
/// part in a million shows it.
pub const DELTA: Ticks = 1_000_000;

/// Ticks as a number of message delays.
pub fn in_delta(ticks: Ticks) -> f64 {
    ticks as f64 / DELTA as f64
}

/// A number of message delays in ticks, to the nearest.
pub fn from_delta(delta: f64) -> Ticks {
    libm::round(delta * DELTA as f64) as Ticks
}

/// Ticks as message delays, to the last digit.
pub fn exact_text(ticks: Ticks) -> String {
    let (whole, rest) = (ticks / DELTA, ticks % DELTA);
    if rest == 0 { whole.to_string() } else { format!("{whole}.{rest:06}").trim_end_matches('0').to_string() }
}

/// Ticks as people write message delays: four digits after the point, without trailing zeros. (A deadline is one tick
/// longer than what it waits for; nobody wants to read that. Traces have exact ticks.)
pub fn delta_text(ticks: Ticks) -> String {
    let tenthousandths = ticks / 100 + u64::from(ticks % 100 >= 50);
    let (whole, rest) = (tenthousandths / 10_000, tenthousandths % 10_000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:04}").trim_end_matches('0').to_string()
}
