//! The Quorate lock service: sessions, locks and leader elections that survive crashes, with a fence for every grant.
//!
//! The `quorate serve` command runs a [`node::Node`] of this crate. Use `quorate-client` to talk to one.
//!
//! [`machine`] is the center: a deterministic state machine that decides who holds which lock. It has no clock and no
//! network. The other modules bring commands to it in one order, make that order durable, and send the results to
//! clients:
//!
//! | module | purpose |
//! |---|---|
//! | [`engine`] | the interface between the service and the engines below |
//! | [`raft`] | the replicated engine: Raft, a write-ahead log, snapshots and backups |
//! | [`peer`] | the peer engine: the nodes run a mutual exclusion algorithm among themselves, without a log |
//! | [`service`] | sessions and their expiry, waiting requests, forwarding to the leader |
//! | [`api`] | HTTP and JSON |
//! | [`etcd`] | the lock, election and lease APIs of etcd v3, over gRPC |
//! | [`access`] | tokens and permissions |
//! | [`node`] | a node: listening, TLS, and all of the above |
//! | [`telemetry`] | metrics, the log, and recent events |

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
