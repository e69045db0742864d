//! The service as its users meet it: real processes, real sockets, real disks.

mod cluster;
mod http;
mod node;
mod security;
mod support;
