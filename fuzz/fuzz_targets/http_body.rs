//! Throws bytes at the reader `http_body`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quorate_server::hostile::throw("http_body", bytes));
