//! Nodes in one process, on real disks and over real TCP: what they keep, who leads, who belongs to them.

mod backup;
mod failures;
mod harness;
mod hostile;
mod membership;
#[path = "../../../../tests/ports.rs"]
mod ports;
