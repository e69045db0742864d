//! Throws bytes at the reader `grpc_message`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quorate_server::hostile::throw("grpc_message", bytes));
