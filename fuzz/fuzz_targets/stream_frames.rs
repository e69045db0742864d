//! Throws bytes at the reader `stream_frames`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quorate_server::hostile::throw("stream_frames", bytes));
