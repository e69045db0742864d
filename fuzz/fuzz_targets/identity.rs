//! Throws bytes at the reader `identity`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quorate_server::hostile::throw("identity", bytes));
