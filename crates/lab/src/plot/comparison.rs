//! The figures of a comparison: what the tables show, against the size of the group.

use quorate_core::catalog::{ENTRIES, Measure};

use super::{Axis, Curve, Figure, Point, Scale, Series};
use crate::compare::Row;
use crate::recovery_costs::{RecoveryCell, RecoveryRow, Victim};

/// A measure that has a figure.
struct Shown {
    measure: Measure,
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    scale: Scale,
}

const SHOWN: [Shown; 8] = [
    Shown {
        measure: Measure::Messages,
        name: "messages-alone",
        title: "Messages per entry and exit, without competing requests",
        unit: "messages",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::MessagesContended,
        name: "messages-contended",
        title: "Messages per entry and exit, when every process requests entry all the time",
        unit: "messages",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::ClientDelay,
        name: "client-delay",
        title: "Client delay: from request to entry, without competing requests",
        unit: "time in δ, the message delay",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::SyncDelay,
        name: "synchronization-delay",
        title: "Synchronization delay: from an exit to the next waiting process's entry",
        unit: "time in δ, the message delay",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::Throughput,
        name: "throughput",
        title: "Throughput, when every process requests entry all the time and stays inside for 1 δ",
        unit: "entries per δ, the message delay",
        scale: Scale::Linear,
    },
    Shown {
        measure: Measure::ElectionBest,
        name: "election-best",
        title: "Messages of an election with one starter, best case",
        unit: "messages",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::ElectionWorst,
        name: "election-worst",
        title: "Messages of an election with one starter, worst case",
        unit: "messages",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::ElectionWorstAllStart,
        name: "election-all-start",
        title: "Messages of an election that all processes start at once",
        unit: "messages",
        scale: Scale::Logarithmic,
    },
];

/// The figures of these rows, of mutual exclusion, of elections or of both: one for each measure that they have.
pub fn figures(rows: &[Row]) -> Vec<Figure> {
    SHOWN.iter().filter_map(|shown| figure(shown, rows)).collect()
}

/// The figures of what crashes cost: time and messages, for each who crashes.
pub fn recovery_figures(rows: &[RecoveryRow]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for victim in Victim::ALL {
        let (name, who) = match victim {
            Victim::Inside => ("inside", "the holder"),
            Victim::First => ("first", "process 1, while another process is inside,"),
        };
        let rows: Vec<_> = rows.iter().filter(|row| row.victim == victim).collect();
        let time = |cell: &RecoveryCell| cell.delay;
        let messages = |cell: &RecoveryCell| cell.messages;
        let title = |what: &str| format!("{what} from the crash of {who} to the next entry");
        let unit = "time in δ, the message delay";
        figures.extend(recovery_figure(&rows, format!("recovery-time-{name}"), title("Time"), unit, time));
        let unit = "messages, without heartbeats and acknowledgements";
        figures.extend(recovery_figure(&rows, format!("recovery-messages-{name}"), title("Messages"), unit, messages));
    }
    figures
}

/// How an algorithm looks: by its place in the catalogue among those of its family.
pub(super) fn look(algorithm: &str) -> usize {
    let family = ENTRIES.iter().find(|entry| entry.name == algorithm).map(|entry| entry.family);
    let mut family = ENTRIES.iter().filter(|entry| Some(entry.family) == family);
    family.position(|entry| entry.name == algorithm).unwrap_or(0)
}

fn group_axis() -> Axis {
    Axis::counting("n, the number of processes", Scale::Logarithmic)
}

const TOKEN_RING: &str = "token-ring";
/// How the token ring is measured where others are measured alone.
pub const TOKEN_RING_ALONE: &str = "token-ring, alone: each process requests entry at random, every 100 δ on average.";

const SIDE_BY_SIDE: &str = "Points that coincide are drawn side by side.";

fn figure(shown: &Shown, rows: &[Row]) -> Option<Figure> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows.iter().filter(|row| row.measure == shown.measure) {
        if series.last().is_none_or(|last| last.name != row.algorithm) {
            let measured = row.cells.iter().filter_map(|cell| Some((cell.n, cell.measured?)));
            let points = measured.map(|(n, y)| Point { x: f64::from(n), y }).collect();
            let (name, look) = (row.algorithm.to_string(), look(row.algorithm));
            series.push(Series { name, look, curves: Vec::new(), points });
        }
        if let Some(last) = series.last_mut() {
            last.curves.extend(curves(row));
        }
    }
    if series.iter().all(|series| series.points.is_empty() && series.curves.is_empty()) {
        return None;
    }
    let mut notes = vec![format!("Lines: published, with the source. Points: measured. {SIDE_BY_SIDE}")];
    // A token that goes round for ever is never asked for alone: what it costs is measured over time.
    let is_alone = matches!(shown.measure, Measure::Messages | Measure::ClientDelay);
    if is_alone && series.iter().any(|series| series.name == TOKEN_RING && !series.points.is_empty()) {
        notes.push(TOKEN_RING_ALONE.into());
    }
    let is_zero = |series: &&Series| series.points.iter().any(|point| point.y <= 0.0);
    let nothing: Vec<_> = series.iter().filter(is_zero).map(|series| series.name.as_str()).collect();
    if shown.scale == Scale::Logarithmic && !nothing.is_empty() {
        notes.push(format!("Not drawn, because the measured value is 0: {}.", nothing.join(", ")));
    }
    let is_zero = |curve: &&Curve| curve.points.iter().any(|&(_, y)| y <= 0.0);
    let bounds = series.iter().flat_map(|series| {
        series.curves.iter().filter(is_zero).map(|curve| format!("{}, {}", series.name, curve.formula))
    });
    let bounds: Vec<_> = bounds.collect();
    if shown.scale == Scale::Logarithmic && !bounds.is_empty() {
        notes.push(format!("Not drawn, because the published bound is 0: {}.", bounds.join("; ")));
    }
    Some(Figure {
        name: shown.name.into(),
        title: shown.title.into(),
        x: group_axis(),
        y: Axis::new(shown.unit, shown.scale),
        series,
        notes,
    })
}

/// What is published: one line, or two for a range.
fn curves(row: &Row) -> Vec<Curve> {
    let (Some(formula), Some(sources)) = (row.formula, row.sources) else { return Vec::new() };
    let least: Vec<_> = row.cells.iter().filter_map(|cell| Some((f64::from(cell.n), cell.published?))).collect();
    let most: Vec<_> = row.cells.iter().filter_map(|cell| Some((f64::from(cell.n), cell.published_most?))).collect();
    let lines = [least, most].into_iter().filter(|points| !points.is_empty());
    lines.map(|points| Curve { formula: format!("{formula} ({sources})"), points }).collect()
}

fn recovery_figure(
    rows: &[&RecoveryRow],
    name: String,
    title: String,
    unit: &str,
    value: fn(&RecoveryCell) -> Option<f64>,
) -> Option<Figure> {
    let series = rows.iter().map(|row| {
        let values = row.cells.iter().filter_map(|cell| Some((cell.n, value(cell)?)));
        let points = values.map(|(n, y)| Point { x: f64::from(n), y }).collect();
        Series { name: row.algorithm.into(), look: look(row.algorithm), curves: Vec::new(), points }
    });
    let series: Vec<_> = series.filter(|series| !series.points.is_empty()).collect();
    let note =
        "Mean of 12 runs that differ in the time of the crash; the failure detector sends heartbeats every 5 δ. ";
    (!series.is_empty()).then(|| Figure {
        name,
        title,
        x: group_axis(),
        y: Axis::new(unit, Scale::Logarithmic),
        series,
        notes: vec![format!("{note}{SIDE_BY_SIDE}")],
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quorate_core::catalog::Family;

    use super::*;

    #[test]
    fn no_two_algorithms_look_alike() {
        let algorithms = || ENTRIES.iter().filter(|entry| entry.family == Family::Mutex);
        let looks: BTreeSet<_> = algorithms().map(|entry| look(entry.name)).collect();
        assert_eq!(looks.len(), algorithms().count());
    }
}
