//! Throws bytes at what reads traces of nodes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    _ = quorate_lab::judge::hostile::read(bytes);
});
