//! The lock service: sessions, locks and elections that survive crashes, each grant with a fence.
//!
//! [`machine`] is what the service is: a pure state machine that knows neither clock nor network. Everything else
//! brings it commands in one order, makes that order durable, and tells clients what came of them.

pub mod access;
pub mod api;
pub mod engine;
pub mod etcd;
#[cfg(feature = "hostile")]
pub mod hostile;
pub mod machine;
pub mod node;
pub mod peer;
pub mod raft;
pub mod service;
#[cfg(feature = "fault-injection")]
mod switches;
pub mod telemetry;
mod web;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
