//! Throws bytes at what reads the connections of `quorate-net`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    _ = quorate_net::hostile::read(bytes);
});
