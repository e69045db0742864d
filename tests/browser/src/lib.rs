//! What people see of Quorate in a real browser: everything is in the tests.
