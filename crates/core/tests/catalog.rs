//! The catalogue is consistent with itself and with the algorithms, and its refusals tell the user what is accepted.

use std::collections::BTreeSet;

use quorate_core::catalog::{self, Assumptions, ENTRIES, Entry, Family, Formula, Property, Size, Values, Visitor};
use quorate_core::clock::Fence;
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::id::Id;
use quorate_core::mutex::Mutex;
use quorate_core::mutex::voting_set::{SetsKind, VotingSets};
use quorate_core::setting::{Group, Options, Setting, SettingError, Timing};

fn entry(name: &str) -> &'static Entry {
    catalog::entry(name).unwrap()
}

fn group(entry: &Entry, n: u32) -> Result<std::sync::Arc<Group>, SettingError> {
    Group::new(entry, n, 10, Timing::Synchronous, Options::defaults(entry))
}

/// What users see is one line that contains all of these.
fn assert_one_line(message: &str, parts: &[&str]) {
    assert!(!message.contains('\n') && !message.is_empty(), "{message:?}");
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

#[test]
fn names_are_unique_and_kebab_case() {
    let names: BTreeSet<_> = ENTRIES.iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), ENTRIES.len());
    for name in names {
        let words_are_lower_case = name
            .split('-')
            .all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()));
        assert!(words_are_lower_case, "{name}");
        assert_eq!(entry(name).name, name);
    }
}

#[test]
fn a_visitor_reaches_every_algorithm_in_its_family() {
    /// Builds a process, and says of which family and by which entry.
    struct Build;
    impl Visitor for Build {
        type Output = (Family, Entry);
        fn mutex<M: Mutex>(self) -> Self::Output {
            M::new(&Setting::new(Id::new(1), &group(&M::ENTRY, 3).unwrap()));
            (Family::Mutex, M::ENTRY)
        }
        fn election<E: Election>(self) -> Self::Output {
            E::new(&Setting::new(Id::new(1), &group(&E::ENTRY, 3).unwrap()));
            (Family::Election, E::ENTRY)
        }
        fn detector<D: Detector>(self) -> Self::Output {
            D::new(&Setting::new(Id::new(1), &group(&D::ENTRY, 3).unwrap()));
            (Family::Detector, D::ENTRY)
        }
    }
    for entry in ENTRIES {
        let (family, visited) = catalog::visit(entry.name, Build).unwrap();
        assert_eq!((family, visited.name), (entry.family, entry.name));
    }
    assert!(catalog::visit("paxos", Build).is_err());
}

#[test]
fn every_entry_is_filled_in() {
    for entry in ENTRIES {
        assert!(!entry.summary.is_empty() && !entry.paper.is_empty(), "{}", entry.name);
        assert!(!entry.summary.ends_with('.') && entry.summary.lines().count() == 1, "{}", entry.name);
        let safety = match entry.family {
            Family::Mutex => Property::MutualExclusion,
            Family::Election => Property::SingleLeader,
            Family::Detector => Property::Accuracy,
        };
        assert!(entry.promises.contains(&safety), "{}", entry.name);
        let promised: BTreeSet<_> = entry.promises.iter().collect();
        assert_eq!(promised.len(), entry.promises.len(), "{}", entry.name);
    }
    let names: BTreeSet<_> = Property::ALL.iter().map(|property| property.name()).collect();
    assert_eq!(names.len(), Property::ALL.len());
}

#[test]
fn the_default_and_every_listed_value_of_every_option_is_accepted() {
    for entry in ENTRIES {
        for option in entry.options {
            let accepted: Vec<String> = match option.values {
                Values::OneOf(choices) => choices.iter().map(|choice| choice.name.to_string()).collect(),
                Values::Integer { from, to } => vec![from.to_string(), to.to_string()],
            };
            for value in accepted.iter().map(String::as_str).chain([option.default]) {
                let options = Options::new(entry, [(option.key, value)]).unwrap();
                assert_eq!(options.choice(option.key), value, "{}", entry.name);
            }
            assert_eq!(Options::new(entry, [(option.key, option.default)]), Ok(Options::defaults(entry)));
        }
        assert_eq!(Options::defaults(entry).iter().count(), entry.options.len(), "keys of {} are unique", entry.name);
        for n in 1..=20 {
            assert!(group(entry, n).is_ok(), "{} of {n}", entry.name);
        }
    }
}

#[test]
fn an_unknown_option_is_answered_with_the_known_ones() {
    for entry in ENTRIES {
        let why = Options::new(entry, [("speed", "9")]).unwrap_err().to_string();
        let keys: Vec<_> = entry.options.iter().map(|option| option.key).collect();
        assert_one_line(&why, &[["`speed`", entry.name].as_slice(), &keys].concat());
    }
    let why = |name, key| Options::new(entry(name), [(key, "9")]).unwrap_err().to_string();
    assert_eq!(why("central", "speed"), "unknown option `speed`: central has no options");
    assert_eq!(why("maekawa", "set"), "unknown option `set`: the options of maekawa are sets");
}

#[test]
fn a_bad_value_is_answered_with_the_good_ones() {
    for entry in ENTRIES {
        for option in entry.options {
            for value in ["", "sideways", "-1", "99999999999999999999", "1.5"] {
                let why = Options::new(entry, [(option.key, value)]).unwrap_err().to_string();
                assert_one_line(&why, &[option.key, &format!("`{value}`"), &option.values.to_string()]);
            }
        }
    }
    let why = |name, key, value| Options::new(entry(name), [(key, value)]).unwrap_err().to_string();
    assert_eq!(why("maekawa", "sets", "line"), "option sets = `line`: expected grid or plane or best");
    assert_eq!(why("majority", "votes", "16384"), "option votes = `16384`: expected an integer from 0 to 16383");
}

#[test]
fn groups_of_impossible_sizes_are_refused() {
    for entry in ENTRIES {
        for n in [0, Fence::MOST_PROCESSES + 1, u32::MAX] {
            assert_eq!(group(entry, n).unwrap_err(), SettingError::GroupSize(n));
        }
        assert!(group(entry, Fence::MOST_PROCESSES).is_ok(), "{}", entry.name);
    }
    let why = group(entry("lamport"), 0).unwrap_err().to_string();
    assert_eq!(why, "n = 0: the number of processes must be from 1 to 16383");
    let options = Options::new(entry("maekawa"), [("sets", "plane")]).unwrap();
    let why = Group::new(entry("maekawa"), 8, 10, Timing::Synchronous, options).unwrap_err().to_string();
    assert_one_line(&why, &["n = 8", "n = 7", "n = 13", "`grid`", "`best`"]);
}

#[test]
fn an_unknown_algorithm_is_answered_with_the_list() {
    let names: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
    let why = catalog::entry("Central").unwrap_err().to_string();
    assert_one_line(&why, &names);
    assert!(why.starts_with("unknown algorithm `Central`; choose one of central, token-ring, "), "{why}");
}

#[test]
fn a_choice_can_forfeit_a_promise() {
    let entry = entry("ricart-agrawala");
    let with = |value| Options::new(entry, [("replies", value)]).unwrap();
    assert!(entry.promises(Property::RequestOrder, &with("numbered")));
    assert!(!entry.promises(Property::RequestOrder, &with("bare")));
    assert!(entry.promises(Property::MutualExclusion, &with("bare")));
    assert!(!entry.promises(Property::Decided, &with("numbered")));
}

#[test]
fn a_choice_can_take_something_else_for_granted_and_keep_the_network_quiet() {
    let entry = entry("token-ring");
    let with = |key, value| entry.with(&Options::new(entry, [(key, value)]).unwrap());
    assert!(entry.restless && !entry.assumptions.synchronous && !entry.assumptions.fifo);
    for default in [with("rest", "no"), with("acknowledged", "no")] {
        assert_eq!((default.assumptions, default.restless), (entry.assumptions, true));
    }
    let acknowledged = with("acknowledged", "yes");
    assert_eq!(acknowledged.assumptions, Assumptions { synchronous: true, ..entry.assumptions });
    assert!(acknowledged.restless);
    let resting = with("rest", "yes");
    assert_eq!(resting.assumptions, Assumptions { fifo: true, ..entry.assumptions });
    assert!(!resting.restless);
    let entry = self::entry("ricart-agrawala");
    let always = entry.with(&Options::new(entry, [("answer", "always")]).unwrap());
    assert_eq!(always.assumptions, Assumptions { synchronous: true, crash_free: false, ..entry.assumptions });
}

#[test]
fn published_values_are_finite_and_ranges_are_not_upside_down() {
    let size = |n| Size {
        n: f64::from(n),
        root_n: f64::from(n).sqrt(),
        k: VotingSets::new(SetsKind::Grid, n).unwrap().of(Id::new(1)).len() as f64,
    };
    let sizes: Vec<Size> = (2..=100).map(size).collect();
    for entry in ENTRIES {
        for published in entry.published {
            assert!(!published.formula.is_empty() && !published.sources.is_empty(), "{}", entry.name);
            for &size in &sizes {
                let (least, most) = match published.value {
                    Formula::Exactly(value) => (value(size), value(size)),
                    Formula::Between(least, most) => (least(size), most(size)),
                    Formula::Vague => continue,
                };
                assert!(
                    least.is_finite() && most.is_finite() && 0.0 <= least && least <= most,
                    "{}: {} for {size:?} is {least} to {most}",
                    entry.name,
                    published.formula
                );
            }
        }
    }
}
