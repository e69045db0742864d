//! The service as its users meet it: real processes, real sockets, real disks.

mod client;
mod cluster;
mod dev;
mod examples;
mod follow;
mod holding;
mod http;
mod logs;
mod mistakes;
mod node;
mod operate;
mod packaging;
mod peer;
#[path = "../../../../tests/ports.rs"]
mod ports;
mod running;
mod security;
mod support;
