//! The client of the Quorate service, and the contract between the two.
//!
//! [`contract`] is what is said over HTTP, in types that the server uses as well: what one side writes, the other
//! reads.

pub mod contract;
