//! What people see of Quorate in a real browser: the browser, and what is looked at. What is seen is in the tests.

pub mod browser;
#[path = "../../ports.rs"]
mod ports;
pub mod proxy;
pub mod server;
