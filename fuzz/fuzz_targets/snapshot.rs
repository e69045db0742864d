//! Throws bytes at the reader `snapshot`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quorate_server::hostile::throw("snapshot", bytes));
