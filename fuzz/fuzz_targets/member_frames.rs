//! Throws bytes at the reader `member_frames`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quorate_server::hostile::throw("member_frames", bytes));
