//! What people see of Quorate in a real browser: the browser, and what is looked at. What is seen is in the tests.

pub mod browser;
pub mod proxy;
pub mod server;
