//! What a process knows when it begins: who it is, how many there are, what it may assume of time, its options.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::catalog::{Choice, Entry, Values};
use crate::clock::{Counting, Fence};
use crate::detector::{Detector, Heartbeat};
use crate::election;
use crate::id::Id;
use crate::mutex::voting_set::{SetsKind, VotingSets};
use crate::process::Ticks;

/// What one process knows when it begins.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Who it is.
    pub me: Id,
    /// What it knows of all.
    pub group: Arc<Group>,
}

impl Setting {
    /// The setting of process `me` of a group.
    pub fn new(me: Id, group: &Arc<Group>) -> Setting {
        Setting { me, group: Arc::clone(group) }
    }

    /// How many processes there are.
    pub fn n(&self) -> u32 {
        self.group.n
    }

    /// The same process of the same group, with other options: for another algorithm beside this one.
    #[must_use]
    pub fn with_options(&self, options: Options) -> Setting {
        Setting { me: self.me, group: Arc::new(Group { options, ..Group::clone(&self.group) }) }
    }

    /// The same process of the same group, as the detector beside it sees it: no bound on delays is a fact.
    #[must_use]
    pub fn of_detector(&self) -> Setting {
        let Recovering { interval, missed, .. } = self.group.recovering.unwrap_or_default();
        let options = Options::integers(&Heartbeat::ENTRY, &[("interval", interval), ("missed", missed)]);
        let group = Group { options, timing: Timing::Asynchronous, ..Group::clone(&self.group) };
        Setting { me: self.me, group: Arc::new(group) }
    }
}

/// What every process of a group knows alike.
#[derive(Clone, Debug)]
pub struct Group {
    /// How many processes there are.
    pub n: u32,
    /// How long a message takes at most, as far as the processes know. Deadlines are made of it.
    pub delay_bound: Ticks,
    /// Whether that bound is a fact or a guess.
    pub timing: Timing,
    /// The algorithm's options.
    pub options: Options,
    /// Who asks whom, for algorithms that vote.
    pub voting_sets: VotingSets,
    /// Whether entries are counted.
    pub counting: Counting,
    /// How crashes are survived, if everybody is told of every crash and every return.
    pub recovering: Option<Recovering>,
}

/// How a group survives crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Recovering {
    /// The election beside an algorithm that needs one.
    pub election: election::Kind,
    /// Whether nobody is let in by who does not trust a [majority](crate::stack::Guarded).
    pub guard: bool,
    /// Whether a first life begins only when all are [there](crate::stack::Gathered): on a network not all start at the
    /// same time.
    pub gather: bool,
    /// From one heartbeat to the next, in units of the longest delay, where heartbeats tell of crashes.
    pub interval: u64,
    /// How many heartbeats in a row may be missed before a process is taken for dead.
    pub missed: u64,
}

impl Recovering {
    /// With this election beside an algorithm that needs one.
    pub fn with(election: election::Kind) -> Recovering {
        Recovering { election, guard: false, gather: false, interval: 5, missed: 0 }
    }
}

impl Default for Recovering {
    fn default() -> Self {
        Recovering::with(election::Kind::default())
    }
}

/// What processes may take for granted about time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timing {
    /// Delays are bounded, and the bound is known.
    Synchronous,
    /// Delays are finite; any bound is a guess.
    Asynchronous,
}

impl Group {
    /// A group of `n` processes that run the algorithm of this entry.
    pub fn new(
        entry: &Entry,
        n: u32,
        delay_bound: Ticks,
        timing: Timing,
        options: Options,
    ) -> Result<Arc<Group>, SettingError> {
        if n == 0 || n > Fence::MOST_PROCESSES {
            return Err(SettingError::GroupSize(n));
        }
        let kind = match options.choice_if_any("sets") {
            Some("plane") => SetsKind::Plane,
            Some("best") => SetsKind::Best,
            Some(_) | None => SetsKind::Grid,
        };
        let voting_sets = VotingSets::new(kind, n).ok_or_else(|| SettingError::Refused(VotingSets::why_no_plane(n)))?;
        let group = Group { n, delay_bound, timing, options, voting_sets, counting: Counting::Up, recovering: None };
        (entry.check)(&group).map_err(SettingError::Refused)?;
        Ok(Arc::new(group))
    }

    /// The same group, in which crashes are survived like this, if at all.
    pub fn recovering(&self, entry: &Entry, recovering: Option<Recovering>) -> Result<Arc<Group>, SettingError> {
        let group = Group { recovering, ..self.clone() };
        (entry.check)(&group).map_err(SettingError::Refused)?;
        Ok(Arc::new(group))
    }

    /// The same group, in which entries are not counted.
    #[must_use]
    pub fn uncounted(&self) -> Arc<Group> {
        Arc::new(Group { counting: Counting::Still, ..self.clone() })
    }
}

/// The setting of process `me` of `n`, with these options and a delay bound of 10 ticks, for tests.
#[cfg(test)]
pub(crate) fn test_setting(entry: &Entry, me: u32, n: u32, options: &[(&str, &str)]) -> Setting {
    let options = Options::new(entry, options.iter().copied()).unwrap();
    let group = Group::new(entry, n, 10, Timing::Synchronous, options).unwrap();
    Setting::new(Id::new(me), &group)
}

/// The same where crashes are survived.
#[cfg(test)]
pub(crate) fn test_recovering(entry: &Entry, me: u32, n: u32, guard: bool) -> Setting {
    let mut setting = test_setting(entry, me, n, &[]);
    Arc::make_mut(&mut setting.group).recovering = Some(Recovering { guard, ..Recovering::default() });
    setting
}

/// The same, where a first life begins when all are there.
#[cfg(test)]
pub(crate) fn test_gathering(entry: &Entry, me: u32, n: u32) -> Setting {
    let mut setting = test_recovering(entry, me, n, true);
    let group = Arc::make_mut(&mut setting.group);
    group.recovering = group.recovering.map(|recovering| Recovering { gather: true, ..recovering });
    setting
}

/// An algorithm's options, checked against what its entry lists, defaults filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    values: BTreeMap<&'static str, String>,
}

impl Options {
    /// The defaults of an entry.
    pub fn defaults(entry: &Entry) -> Options {
        Options { values: entry.options.iter().map(|option| (option.key, option.default.to_string())).collect() }
    }

    /// The defaults of an entry, with these in their place.
    pub fn new<'a>(
        entry: &Entry,
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Options, SettingError> {
        let mut options = Options::defaults(entry);
        let mut seen = BTreeSet::new();
        for (key, value) in given {
            let Some(option) = entry.options.iter().find(|option| option.key == key) else {
                let known = entry.options.iter().map(|option| option.key.to_string()).collect();
                return Err(SettingError::UnknownOption { algorithm: entry.name, key: key.to_string(), known });
            };
            let accepted = match option.values {
                Values::OneOf(choices) => choices.iter().any(|choice| choice.name == value),
                Values::Integer { from, to } => value.parse().is_ok_and(|number| (from..=to).contains(&number)),
            };
            if !accepted {
                return Err(SettingError::BadOption {
                    key: option.key,
                    value: value.to_string(),
                    accepted: option.values.to_string(),
                });
            }
            if !seen.insert(option.key) {
                return Err(SettingError::OptionTwice { key: option.key });
            }
            options.values.insert(option.key, value.to_string());
        }
        Ok(options)
    }

    /// The defaults of an entry, with these integers in their place, each within its limits.
    pub(crate) fn integers(entry: &Entry, given: &[(&str, u64)]) -> Options {
        let mut options = Options::defaults(entry);
        for option in entry.options {
            if let Values::Integer { from, to } = option.values
                && let Some((_, value)) = given.iter().find(|(key, _)| *key == option.key)
            {
                options.values.insert(option.key, (*value).clamp(from, to).to_string());
            }
        }
        options
    }

    /// The value of an option that is one of several words.
    pub fn choice(&self, key: &str) -> &str {
        self.choice_if_any(key).expect("an algorithm asks only for options that its entry lists")
    }

    /// The value of an option that is an integer.
    pub fn integer(&self, key: &str) -> u64 {
        self.choice(key).parse().expect("the value was checked when the options were made")
    }

    /// The value of an option, if the algorithm has it.
    pub fn choice_if_any(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// What was chosen of the options of an entry that are choices of words.
    pub(crate) fn chosen_of(&self, entry: &Entry) -> impl Iterator<Item = &'static Choice> {
        entry.options.iter().filter_map(|option| {
            let Values::OneOf(choices) = option.values else { return None };
            choices.iter().find(|choice| self.choice_if_any(option.key) == Some(choice.name))
        })
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().map(|(key, value)| (*key, value.as_str()))
    }
}

/// Why a group cannot be set up. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// There are too few processes, or too many.
    GroupSize(u32),
    /// The algorithm has no such option.
    UnknownOption {
        /// The algorithm.
        algorithm: &'static str,
        /// The option asked for.
        key: String,
        /// Those it has.
        known: Vec<String>,
    },
    /// The option does not take this value.
    BadOption {
        /// The option.
        key: &'static str,
        /// The value given.
        value: String,
        /// What it takes.
        accepted: String,
    },
    /// The option is given twice, and which value counts is anybody's guess.
    OptionTwice {
        /// The option.
        key: &'static str,
    },
    /// The algorithm does not run in this group.
    Refused(String),
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingError::GroupSize(n) => {
                write!(f, "n = {n}: the number of processes must be from 1 to {}", Fence::MOST_PROCESSES)
            }
            SettingError::UnknownOption { algorithm, key, known } if known.is_empty() => {
                write!(f, "unknown option `{key}`: {algorithm} has no options")
            }
            SettingError::UnknownOption { algorithm, key, known } => {
                write!(f, "unknown option `{key}`: the options of {algorithm} are {}", known.join(", "))
            }
            SettingError::BadOption { key, value, accepted } => {
                write!(f, "option {key} = `{value}`: expected {accepted}")
            }
            SettingError::OptionTwice { key } => write!(f, "option {key} is given more than once; give it once"),
            SettingError::Refused(why) => f.write_str(why),
        }
    }
}

impl core::error::Error for SettingError {}
