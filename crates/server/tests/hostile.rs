//! Random and mutated bytes at everything that reads what comes from outside: the fuzzers' readers, with less patience.
//!
//! With `QUORATE_CORPUS=DIRECTORY` the seeds are written there, one folder a reader, for the fuzzers to begin with.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use quorate_server::hostile::READERS;

/// So many mutations each reader is thrown at.
const CASES: u32 = 20_000;

/// A way to spoil bytes.
#[derive(Clone, Debug)]
enum Edit {
    Flip(Index, u8),
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Cut(Index, usize),
    Repeat(Index, usize),
    End(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let telling = prop::sample::select(vec![0, 1, 0x7f, 0x80, 0xff, b'"', b'{', b'[', b'-', b'9']);
    let bytes = prop::collection::vec(prop_oneof![any::<u8>(), telling.clone()], 1..12);
    prop_oneof![
        (any::<Index>(), 0u8..8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        (any::<Index>(), telling).prop_map(|(at, byte)| Edit::Set(at, byte)),
        (any::<Index>(), bytes).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (any::<Index>(), 1usize..9).prop_map(|(at, length)| Edit::Cut(at, length)),
        (any::<Index>(), 1usize..40).prop_map(|(at, length)| Edit::Repeat(at, length)),
        any::<Index>().prop_map(Edit::End),
    ]
}

fn spoil(bytes: &mut Vec<u8>, edit: &Edit) {
    if bytes.is_empty() {
        return;
    }
    let end = |at: usize, length: usize, bytes: &[u8]| (at + length).min(bytes.len());
    match edit {
        Edit::Flip(at, bit) => {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        Edit::Set(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Edit::Insert(at, new) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, new.iter().copied());
        }
        Edit::Cut(at, length) => {
            let at = at.index(bytes.len());
            bytes.drain(at..end(at, *length, bytes));
        }
        Edit::Repeat(at, length) => {
            let at = at.index(bytes.len());
            let part = bytes[at..end(at, *length, bytes)].to_vec();
            bytes.splice(at..at, part);
        }
        Edit::End(at) => bytes.truncate(at.index(bytes.len())),
    }
}

fn runner() -> TestRunner {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let seed = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, seed)
}

#[test]
fn every_reader_understands_its_seeds() {
    for reader in READERS {
        let seeds = (reader.seeds)();
        let understood = seeds.iter().filter(|seed| (reader.read)(seed)).count();
        // Some seeds are only of use behind a checksum that is not in them.
        assert!(understood * 2 >= seeds.len() && understood > 0, "{}: {understood} of {}", reader.name, seeds.len());
        assert!(!(reader.read)(b"\xff\xff\xff\xff\xff\xff"), "{} understands anything", reader.name);
    }
}

#[test]
fn nothing_that_is_thrown_at_a_reader_does_harm() {
    for reader in READERS {
        let spoilt = (prop::sample::select((reader.seeds)()), prop::collection::vec(edit(), 1..6));
        let thrown = runner().run(&spoilt, |(mut bytes, edits)| {
            edits.iter().for_each(|edit| spoil(&mut bytes, edit));
            (reader.read)(&bytes);
            Ok(())
        });
        thrown.unwrap_or_else(|error| panic!("{}: {error:?}", reader.name));
        let random = runner().run(&prop::collection::vec(any::<u8>(), 0..200), |bytes| {
            (reader.read)(&bytes);
            Ok(())
        });
        random.unwrap_or_else(|error| panic!("{}: {error:?}", reader.name));
    }
}

#[test]
fn the_fuzzers_can_begin_with_what_makes_sense() {
    let Some(directory) = std::env::var_os("QUORATE_CORPUS").map(std::path::PathBuf::from) else { return };
    for reader in READERS {
        let directory = directory.join(reader.name);
        std::fs::create_dir_all(&directory).unwrap();
        for (number, seed) in (reader.seeds)().into_iter().enumerate() {
            std::fs::write(directory.join(format!("seed-{number}")), seed).unwrap();
        }
    }
}
