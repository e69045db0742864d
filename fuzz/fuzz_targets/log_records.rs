//! Throws bytes at the reader `log_records`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quorate_server::hostile::throw("log_records", bytes));
