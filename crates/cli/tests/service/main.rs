//! The service as its users meet it: real processes, real sockets, real disks.

mod cluster;
mod http;
mod logs;
mod node;
mod support;
