//! Parsers of option values. Each error names the value and says what is accepted.

use std::ops::RangeInclusive;

use clap::builder::TypedValueParser;
use quorate_core::catalog::Property;
use quorate_core::clock::{Fence, Number};
use quorate_core::id::Id;
use quorate_core::mutex::voting_set::SetsKind;
use quorate_core::process::Ticks;
use quorate_core::setting::Timing;

use super::choice::{one_of, suggesting};
use super::sim::Conversation;
use crate::application::Workload;
use crate::claims;
use crate::diagram::Clocks;
use crate::exercise::{self, Exercise};
use crate::explore::LARGEST_GROUP;
use crate::explore::goal::Goal;
use crate::network::{Delay, Order, Partition};
use crate::property::AT_THE_RESOURCE;
use crate::recovery::Beside;
use crate::scenario::builtin;
use crate::shake::Shaking;
use crate::simulate::Fault;
use crate::stage::wish::Times;
use crate::time::from_delta;

/// The longest time that is accepted, in δ: far from the end of the clock.
const LONGEST: f64 = 1e9;

/// A process: `3` or `p3`.
pub fn id(text: &str) -> Result<Id, String> {
    let number: u32 = text
        .strip_prefix('p')
        .unwrap_or(text)
        .parse()
        .map_err(|_| format!("`{text}` is not a process id: processes are numbered 1 to n"))?;
    Id::try_from(number).map_err(|_| "there is no process 0: processes are numbered 1 to n".to_string())
}

/// A whole number of a range.
pub fn whole(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let accepted = || match *range.end() {
        u64::MAX if *range.start() == 0 => "a whole number, 0 or greater".to_string(),
        u64::MAX => format!("a whole number, at least {}", range.start()),
        most => format!("a whole number from {} to {most}", range.start()),
    };
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) | Err(_) => Err(format!("`{text}` is not accepted: give {}", accepted())),
    }
}

/// How many processes there are.
pub fn group_size(text: &str) -> Result<u32, String> {
    whole(text, 1..=u64::from(Fence::MOST_PROCESSES)).map(|n| n as u32)
}

/// Sizes of a group to compare at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedSizes(pub Vec<u32>);

/// So many sizes are taken of a range without a step.
const SIZES_OF_A_RANGE: u32 = 10;

/// The sizes at which comparing takes seconds rather than hours: `9`, about ten of a range as in `3..101`, each a few
/// times larger than the one before, or every so many-th as in `3..101:7`.
pub fn compared_sizes(text: &str) -> Result<ComparedSizes, String> {
    let size = |text: &str| whole(text, 2..=1000).map(|n| n as u32);
    let Some((first, rest)) = text.split_once("..") else { return size(text).map(|n| ComparedSizes(vec![n])) };
    let (last, step) = match rest.split_once(':') {
        Some((last, step)) => (last, Some(whole(step, 1..=1000)?)),
        None => (rest, None),
    };
    let (first, last) = (size(first)?, size(last)?);
    if first > last {
        return Err(format!("`{text}`: the first size is larger than the second; write {last}..{first}"));
    }
    let mut sizes: Vec<u32> = match step {
        Some(step) => (first..=last).step_by(step as usize).collect(),
        None => {
            let (first, ratio) = (f64::from(first), f64::from(last) / f64::from(first));
            let part = |place: u32| f64::from(place) / f64::from(SIZES_OF_A_RANGE - 1);
            let size = |place| libm::round(first * libm::pow(ratio, part(place))) as u32;
            (0..SIZES_OF_A_RANGE).map(size).collect()
        }
    };
    sizes.dedup();
    Ok(ComparedSizes(sizes))
}

/// The sizes of groups that can be explored.
pub fn explored_size(text: &str) -> Result<u32, String> {
    whole(text, 1..=u64::from(LARGEST_GROUP)).map(|n| n as u32)
}

/// How many entries each process requests in `check`: a number, or `endless`.
pub fn times() -> impl TypedValueParser<Value = Times> {
    fn read(text: &str) -> Result<Times, String> {
        if text == "endless" {
            return Ok(Times::Endless);
        }
        whole(text, 0..=1000)
            .map(|times| Times::AtMost(times as u32))
            .map_err(|_| format!("`{text}` is not accepted: give a whole number from 0 to 1000, or endless"))
    }
    suggesting(read, ["1", "2", "endless"])
}

/// How many entries each process requests in `sim`.
pub fn entries_each(text: &str) -> Result<u64, String> {
    match text {
        "endless" => Err("`endless` is for `check`: a simulated run ends, so give a number of entries".to_string()),
        _ => count(text),
    }
}

/// The properties that one word of `check --property` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedGoals(pub Vec<Goal>);

/// A property of all runs: by name, or as ME1, ME2 or ME3. ME2, or `progress`, names two of them.
pub fn goals() -> impl TypedValueParser<Value = NamedGoals> {
    let progress = || vec![Goal::DeadlockFreedom, Goal::StarvationFreedom];
    let named = Goal::ALL.into_iter().map(|goal| (goal.name(), vec![goal]));
    let others = [
        ("progress", progress()),
        ("ME1", vec![Goal::MutualExclusion]),
        ("ME2", progress()),
        ("ME3", vec![Goal::RequestOrder]),
    ];
    one_of(named.chain(others).map(|(name, goals)| (name, NamedGoals(goals))))
}

/// A property of one run: by name, or as ME1, ME2 or ME3.
pub fn property() -> impl TypedValueParser<Value = Property> {
    fn read(text: &str) -> Result<Property, String> {
        let unknown_here = |why: &str| Err(format!("`{text}` {why}"));
        match text {
            "ME1" => return Ok(Property::MutualExclusion),
            "ME2" => return Ok(Property::Progress),
            "ME3" => return Ok(Property::RequestOrder),
            "deadlock-freedom" | "starvation-freedom" => {
                return unknown_here(
                    "is a property of all runs together, which `check` decides; for one run, name \
                                     `progress`",
                );
            }
            "resource-safety" | "no-lost-update" => {
                return unknown_here("is about writes to a shared resource, which only `check --writes` makes");
            }
            _ => {}
        }
        watched().find(|property| property.name() == text).ok_or_else(|| {
            let known: Vec<_> = watched().map(Property::name).collect();
            format!("`{text}` is not a property: give one of {}, ME1, ME2, ME3", known.join(", "))
        })
    }
    suggesting(read, watched().map(Property::name).chain(["ME1", "ME2", "ME3"]))
}

/// The properties that a simulated run is checked for.
fn watched() -> impl Iterator<Item = Property> {
    Property::ALL.into_iter().filter(|property| !AT_THE_RESOURCE.contains(property))
}

/// How often something may happen that is explored.
pub fn bound(text: &str) -> Result<u32, String> {
    whole(text, 0..=7).map(|bound| bound as u32)
}

/// How many timers may run out.
pub fn timeouts(text: &str) -> Result<u32, String> {
    whole(text, 0..=126).map(|bound| bound as u32)
}

/// How many ticks a message takes at most.
pub fn delay_bound(text: &str) -> Result<u64, String> {
    whole(text, 1..=100)
}

/// By how many ticks a timer may be off.
pub fn drift_ticks(text: &str) -> Result<u64, String> {
    whole(text, 0..=100)
}

/// Whether message delays have a known bound: `synchronous` or `asynchronous`.
pub fn timing() -> impl TypedValueParser<Value = Timing> {
    one_of([("synchronous", Timing::Synchronous), ("asynchronous", Timing::Asynchronous)])
}

/// How many threads work.
pub fn threads(text: &str) -> Result<usize, String> {
    whole(text, 1..=1024).map(|threads| threads as usize)
}

/// An amount of memory, in gigabytes.
pub fn gigabytes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(amount) if (0.001..=1e6).contains(&amount) => Ok(amount),
        Ok(_) | Err(_) => Err(format!("`{text}` is not accepted: give a number of gigabytes, at least 0.001")),
    }
}

/// How many of something that there must be some of.
pub fn count(text: &str) -> Result<u64, String> {
    whole(text, 1..=u64::MAX)
}

/// The number of an exercise.
pub fn exercise() -> impl TypedValueParser<Value = &'static Exercise> {
    fn read(text: &str) -> Result<&'static Exercise, String> {
        let last = exercise::all().len();
        let number = text.parse().ok().and_then(exercise::exercise);
        number.ok_or_else(|| format!("there is no exercise `{text}`: exercises are numbered 1 to {last}"))
    }
    suggesting(read, NUMBERS.into_iter().take(exercise::all().len()))
}

/// Numbers of exercises, as completion offers them.
const NUMBERS: [&str; 24] = [
    "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20",
    "21", "22", "23", "24",
];

/// The id of a claim, or the beginning of several. The command itself refuses an unknown one, and names its neighbours.
pub fn claim() -> impl TypedValueParser<Value = String> {
    suggesting(|text| Ok(text.to_string()), claims::claims().into_iter().map(|claim| claim.id))
}

/// A scenario: a file, or the name of a built-in scenario, which completion offers.
pub fn scenario() -> impl TypedValueParser<Value = String> {
    suggesting(|text| Ok(text.to_string()), builtin::ALL.iter().map(|scenario| scenario.name))
}

/// What determines chance.
pub fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0..=u64::MAX)
}

/// A number of coordinators or votes, whose limits depend on each other.
pub fn members(text: &str) -> Result<u32, String> {
    whole(text, 1..=u64::from(u32::MAX)).map(|members| members as u32)
}

/// How far clocks may be off, in parts per million.
pub fn drift(text: &str) -> Result<u32, String> {
    whole(text, 0..=500_000).map(|ppm| ppm as u32)
}

/// A time in δ.
pub fn time(text: &str) -> Result<Ticks, String> {
    match text.parse::<f64>() {
        Ok(time) if (0.0..=LONGEST).contains(&time) => Ok(from_delta(time)),
        _ => Err(format!("`{text}` is not a time: give a number of δ from 0 to {LONGEST}, for example 2.5")),
    }
}

/// A logical clock, by name.
pub fn clocks() -> impl TypedValueParser<Value = Clocks> {
    one_of([("lamport", Clocks::Lamport), ("vector", Clocks::Vector)])
}

/// The first and the last of some records, counted from 1.
pub fn records(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("`{text}` is not a range of records: give FIRST..LAST, counted from 1, for example 1..200");
    let (first, last) = text.split_once("..").ok_or_else(wrong)?;
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if 1 <= first && first <= last => Ok((first, last)),
        _ => Err(wrong()),
    }
}

/// A chance, from 0 to 1.
pub fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(probability) if (0.0..=1.0).contains(&probability) => Ok(probability),
        _ => Err(format!("`{text}` is not a probability: give a number from 0 to 1")),
    }
}

fn range(text: &str) -> Result<(Ticks, Ticks), String> {
    let (least, most) = text
        .split_once("..")
        .ok_or_else(|| format!("`{text}` is not a range: write FROM..TO, for example 0.5..1.5"))?;
    let (least, most) = (time(least)?, time(most)?);
    if least > most {
        return Err(format!("`{text}` is not a range: the first number must not be larger than the second"));
    }
    Ok((least, most))
}

/// How long messages take: `uniform:0.5..1.5`.
pub fn delays() -> impl TypedValueParser<Value = Delay> {
    suggesting(delay, ["constant:1", "uniform:0.5..1.5", "exponential:1", "per-link:0.5..2"])
}

fn delay(text: &str) -> Result<Delay, String> {
    let accepted = "constant:T, uniform:T..T, exponential:MEAN or per-link:T..T";
    let (kind, value) = text.split_once(':').ok_or_else(|| format!("`{text}` is not a delay: give {accepted}"))?;
    let delay = match kind {
        "constant" => Delay::Constant(time(value)?),
        "exponential" => Delay::Exponential(time(value)?),
        "uniform" => range(value).map(|(least, most)| Delay::Uniform(least, most))?,
        "per-link" => range(value).map(|(least, most)| Delay::PerLink(least, most))?,
        _ => return Err(format!("`{text}` is not a delay: give {accepted}")),
    };
    match delay {
        Delay::Constant(0) | Delay::Exponential(0) | Delay::Uniform(0, _) | Delay::PerLink(0, _) => {
            Err(format!("`{text}` is too short: a message takes at least 0.000001 δ"))
        }
        possible => Ok(possible),
    }
}

/// Whether messages between two processes arrive in order: `fifo` or `any`.
pub fn order() -> impl TypedValueParser<Value = Order> {
    one_of([("fifo", Order::Fifo), ("any", Order::Any)])
}

/// When to print the conversation: `auto`, `always` or `never`.
pub fn conversation() -> impl TypedValueParser<Value = Conversation> {
    one_of([("auto", Conversation::Auto), ("always", Conversation::Always), ("never", Conversation::Never)])
}

/// An election algorithm that runs beside a mutual exclusion algorithm.
pub fn elections() -> impl TypedValueParser<Value = Beside> {
    suggesting(beside, Beside::ALL.map(Beside::name))
}

/// The election of this name.
pub fn beside(text: &str) -> Result<Beside, String> {
    let known = Beside::ALL.map(Beside::name);
    let found = Beside::ALL.into_iter().find(|election| election.name() == text);
    found.ok_or_else(|| format!("`{text}` is not an election: give one of {}", known.join(", ")))
}

/// How often a heartbeat is sent, in units of the longest delay.
pub fn beats(text: &str) -> Result<u64, String> {
    whole(text, 1..=1000)
}

/// How many heartbeats may be lost in a row.
pub fn missed(text: &str) -> Result<u64, String> {
    whole(text, 0..=1000)
}

/// How many random faults.
pub fn faults(text: &str) -> Result<u32, String> {
    whole(text, 1..=1000).map(|faults| faults as u32)
}

/// Which random faults: `crashes` or `everything`.
pub fn shaking() -> impl TypedValueParser<Value = Shaking> {
    one_of([("crashes", Shaking::Crashes), ("everything", Shaking::Everything)])
}

/// Whether there is a perfect failure detector: `perfect` or `none`.
pub fn detector() -> impl TypedValueParser<Value = bool> {
    one_of([("none", false), ("perfect", true)])
}

/// A kind of voting sets: `grid`, `plane` or `best`.
pub fn sets() -> impl TypedValueParser<Value = SetsKind> {
    one_of(SetsKind::ALL.map(|kind| (kind.name(), kind)))
}

/// Which processes request entry, and when: `poisson:0.25`.
pub fn workloads() -> impl TypedValueParser<Value = Workload> {
    suggesting(workload, ["alone", "contended", "poisson:0.1", "causal"])
}

fn workload(text: &str) -> Result<Workload, String> {
    let accepted = "alone, contended, poisson:RATE or causal";
    match (text, text.split_once(':')) {
        ("alone", _) => Ok(Workload::Alone),
        ("contended", _) => Ok(Workload::Contended),
        ("causal", _) => Ok(Workload::Causal),
        (_, Some(("poisson", rate))) => match rate.parse::<f64>() {
            Ok(rate) if (1e-6..=1e6).contains(&rate) => Ok(Workload::Poisson(rate)),
            _ => Err(format!("`{rate}` is not a rate: give a number of requests per δ, from 0.000001 to 1000000")),
        },
        _ => Err(format!("`{text}` is not a workload: give {accepted}")),
    }
}

/// A process at a time: `3@10`.
pub fn id_at(text: &str) -> Result<(Id, Ticks), String> {
    let (who, when) =
        text.split_once('@').ok_or_else(|| format!("`{text}` has no time: write ID@TIME, for example 3@10"))?;
    Ok((id(who)?, time(when)?))
}

/// A process that starts an election: `3`, when the run begins, or `3@10`.
pub fn starter(text: &str) -> Result<(Id, Ticks), String> {
    if text.contains('@') { id_at(text) } else { id(text).map(|id| (id, 0)) }
}

/// A crash: `3@10`.
pub fn crash(text: &str) -> Result<Fault, String> {
    if let (false, Ok(_)) = (text.contains('@'), id(text)) {
        let advice = format!(
            "write ID@TIME, for example {text}@10, or --absent {text} for a process that has crashed \
                              before the run"
        );
        return Err(format!("`{text}` has no time: {advice}"));
    }
    id_at(text).map(|(id, at)| Fault::Crash(id, at))
}

/// A restart: `3@10`.
pub fn restart(text: &str) -> Result<Fault, String> {
    id_at(text).map(|(id, at)| Fault::Restart(id, at))
}

/// A pause: `3@10..20`.
pub fn pause(text: &str) -> Result<Fault, String> {
    let (who, when) = text
        .split_once('@')
        .ok_or_else(|| format!("`{text}` is not a pause: write ID@FROM..TO, for example 3@10..20"))?;
    let (from, to) = range(when)?;
    Ok(Fault::Pause(id(who)?, from, to))
}

/// A partition of the network: `1,2/3@10..20`.
pub fn partition(text: &str) -> Result<Partition, String> {
    let wrong = || format!("`{text}` is not a partition: write PARTS@FROM..TO, for example 1,2/3,4,5@10..20");
    let (who, when) = text.split_once('@').ok_or_else(wrong)?;
    let (from, to) = range(when)?;
    let part = |part: &str| part.split(',').map(id).collect::<Result<Vec<_>, _>>();
    let parts = who.split('/').map(part).collect::<Result<Vec<_>, _>>()?;
    Ok(Partition { parts, from, to })
}

/// The initial value of a logical clock: `1=40`.
pub fn initial_clock(text: &str) -> Result<(Id, Number), String> {
    let (who, number) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not a clock value: write ID=NUMBER, for example 1=40"))?;
    let number: u64 = number.parse().map_err(|_| format!("`{number}` is not a clock value: give a whole number"))?;
    Ok((id(who)?, Number::try_from(number).map_err(|error| error.to_string())?))
}

/// An option of an algorithm: `replies=bare`.
pub fn option(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        format!("`{text}` is not an option of an algorithm: write KEY=VALUE, for example replies=bare")
    })?;
    Ok((key.to_string(), value.to_string()))
}

/// A duration in microseconds.
pub fn duration(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("`{text}` is not a duration: give a number and a unit (us, ms, s, m, h or d), for example 30s");
    let unit_at = text.find(|letter: char| letter.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit_at);
    let microseconds = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3_600e6,
        "d" => 86_400e6,
        _ => return Err(wrong()),
    };
    match number.parse::<f64>() {
        Ok(number) if number >= 0.0 && number * microseconds <= 1e18 => Ok((number * microseconds).round() as u64),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("30s"), Ok(30_000_000));
        assert_eq!(duration("1h"), Ok(3_600_000_000));
        assert_eq!(duration("1.5ms"), Ok(1_500));
        for wrong in ["30", "s", "", "-1s", "1w", "NaNs", "1e99h"] {
            assert!(duration(wrong).is_err_and(|error| error.contains(&format!("`{wrong}`"))), "{wrong}");
        }
    }

    #[test]
    fn a_range_of_sizes_is_about_ten_of_them_unless_a_step_is_given() {
        let sizes = |text: &str| compared_sizes(text).map(|sizes| sizes.0);
        assert_eq!(sizes("9"), Ok(vec![9]));
        assert_eq!(sizes("3..101"), Ok(vec![3, 4, 7, 10, 14, 21, 31, 46, 68, 101]));
        assert_eq!(sizes("3..5"), Ok(vec![3, 4, 5]));
        assert_eq!(sizes("7..7"), Ok(vec![7]));
        assert_eq!(sizes("3..12:4"), Ok(vec![3, 7, 11]));
        let reversed = "`101..3`: the first size is larger than the second; write 3..101";
        assert_eq!(sizes("101..3"), Err(reversed.to_string()));
        for wrong in ["", "x", "1", "1001", "3..", "..5", "3..x", "3..9:0", "3..9:", "3..2000"] {
            assert!(sizes(wrong).is_err_and(|error| error.contains('`')), "{wrong}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for wrong in
            ["", "7", "constant", "constant:x", "constant:-1", "constant:inf", "uniform:2..1", "uniform:1", "x:1"]
        {
            assert!(delay(wrong).is_err_and(|error| error.contains('`')), "{wrong}");
        }
        for wrong in ["constant:0", "exponential:0", "uniform:0..1", "per-link:0..1"] {
            assert_eq!(delay(wrong), Err(format!("`{wrong}` is too short: a message takes at least 0.000001 δ")));
        }
        for wrong in ["", "poisson", "poisson:0", "poisson:x", "poisson:NaN", "lonely"] {
            assert!(workload(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "1,2", "1,2@3", "1,x@1..2", "1//2@1..2", "0/1@1..2", "1/2@5..1"] {
            assert!(partition(wrong).is_err(), "{wrong}");
        }
        for wrong in ["1.1", "-0.1", "NaN", "x"] {
            assert!(probability(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn me2_names_both_liveness_properties_of_check_and_progress_in_sim() {
        let command = clap::Command::new("test");
        let goals = |text: &str| goals().parse_ref(&command, None, OsStr::new(text)).map(|named| named.0).ok();
        let both = Some(vec![Goal::DeadlockFreedom, Goal::StarvationFreedom]);
        assert_eq!((goals("ME2"), goals("progress")), (both.clone(), both));
        assert_eq!(goals("ME3"), Some(vec![Goal::RequestOrder]));
        let one = |text: &str| property().parse_ref(&command, None, OsStr::new(text)).map_err(|why| why.to_string());
        assert_eq!(one("ME2").ok(), Some(Property::Progress));
        assert!(one("deadlock-freedom").is_err_and(|why| why.contains("which `check` decides")));
        assert!(one("resource-safety").is_err_and(|why| why.contains("check --writes")));
    }

    #[test]
    fn completion_offers_every_exercise() {
        assert!(exercise::all().len() <= NUMBERS.len());
        let offered = exercise().possible_values().map(Iterator::count);
        assert_eq!(offered, Some(exercise::all().len()));
    }

    #[test]
    fn what_is_right_is_understood() {
        assert_eq!(delay("uniform:0.5..1.5"), Ok(Delay::Uniform(500_000, 1_500_000)));
        assert_eq!(workload("poisson:0.25"), Ok(Workload::Poisson(0.25)));
        assert!(crash("3").is_err_and(|error| error.contains("--absent 3")));
        assert_eq!(crash("3@2"), Ok(Fault::Crash(Id::new(3), 2_000_000)));
        assert_eq!(pause("3@2..4"), Ok(Fault::Pause(Id::new(3), 2_000_000, 4_000_000)));
        let parts = vec![vec![Id::new(1), Id::new(2)], vec![Id::new(3)]];
        assert_eq!(partition("1,2/3@0..1"), Ok(Partition { parts, from: 0, to: 1_000_000 }));
    }
}
