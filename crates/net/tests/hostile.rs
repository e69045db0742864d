//! Random and spoilt bytes at what reads connections, and at what reads traces: the fuzzers' readers, with less
//! patience.
//!
//! With `QUORATE_CORPUS=DIRECTORY` the seeds are written there, one folder a reader, for the fuzzers to begin with.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use quorate_lab::judge::{self, hostile};

/// So many spoilt seeds each reader is thrown at.
const CASES: u32 = 20_000;

/// A reader, its name, and what it understands.
type Reader = (&'static str, fn(&[u8]) -> bool, Vec<Vec<u8>>);

fn readers() -> [Reader; 2] {
    [
        ("peer_frames", quorate_net::hostile::read, quorate_net::hostile::seeds()),
        ("trace_lines", hostile::read, hostile::seeds()),
    ]
}

fn runner() -> TestRunner {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// Sets a byte, takes some away, or repeats some.
fn spoil(bytes: &mut Vec<u8>, (at, byte, length, way): (Index, u8, usize, u8)) {
    if bytes.is_empty() {
        return;
    }
    let at = at.index(bytes.len());
    let end = (at + length).min(bytes.len());
    match way {
        0 => bytes[at] = byte,
        1 => bytes[at] ^= 1 << (byte % 8),
        2 => drop(bytes.drain(at..end)),
        _ => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
    }
}

#[test]
fn every_reader_understands_its_seeds_and_nonsense_does_no_harm() {
    for (name, read, seeds) in readers() {
        assert!(seeds.iter().all(|seed| read(seed)), "{name}");
        let edit = (any::<Index>(), any::<u8>(), 1usize..40, 0u8..4);
        let spoilt = (prop::sample::select(seeds), prop::collection::vec(edit, 1..6));
        let thrown = runner().run(&spoilt, |(mut bytes, edits)| {
            edits.into_iter().for_each(|edit| spoil(&mut bytes, edit));
            read(&bytes);
            Ok(())
        });
        thrown.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let random = runner().run(&prop::collection::vec(any::<u8>(), 0..200), |bytes| {
            read(&bytes);
            Ok(())
        });
        random.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
}

/// A frame that says it is long is refused before it is read.
#[test]
fn a_length_that_nobody_needs_is_refused() {
    for length in [u32::MAX, 1 << 20 | 1, 5] {
        let mut bytes = vec![0];
        bytes.extend(length.to_be_bytes());
        bytes.extend([1; 4]);
        assert!(!quorate_net::hostile::read(&bytes));
    }
    assert!(judge::read("nothing", b"").is_err());
}

#[test]
fn the_fuzzers_can_begin_with_what_makes_sense() {
    let Some(directory) = std::env::var_os("QUORATE_CORPUS").map(std::path::PathBuf::from) else { return };
    for (name, _, seeds) in readers() {
        let directory = directory.join(name);
        std::fs::create_dir_all(&directory).unwrap();
        for (number, seed) in seeds.into_iter().enumerate() {
            std::fs::write(directory.join(format!("seed-{number}")), seed).unwrap();
        }
    }
}
