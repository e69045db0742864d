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
        title: "Messages for an entry and its exit, when nobody else asks",
        unit: "messages",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::MessagesContended,
        name: "messages-contended",
        title: "Messages for an entry and its exit, when everybody asks all the time",
        unit: "messages",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::ClientDelay,
        name: "client-delay",
        title: "Client delay: from the request to the entry, when nobody else asks",
        unit: "time in δ, the delay of a message",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::SyncDelay,
        name: "synchronization-delay",
        title: "Synchronization delay: from an exit to the entry of who was waiting",
        unit: "time in δ, the delay of a message",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::Throughput,
        name: "throughput",
        title: "Throughput, when everybody asks all the time and stays for 1 δ",
        unit: "entries per δ, the delay of a message",
        scale: Scale::Linear,
    },
    Shown {
        measure: Measure::ElectionBest,
        name: "election-best",
        title: "Messages of an election with one starter, at best",
        unit: "messages",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::ElectionWorst,
        name: "election-worst",
        title: "Messages of an election with one starter, at worst",
        unit: "messages",
        scale: Scale::Logarithmic,
    },
    Shown {
        measure: Measure::ElectionWorstAllStart,
        name: "election-all-start",
        title: "Messages of an election that everybody starts at once",
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
            Victim::Inside => ("inside", "who is inside"),
            Victim::First => ("first", "process 1, another being inside,"),
        };
        let rows: Vec<_> = rows.iter().filter(|row| row.victim == victim).collect();
        let time = |cell: &RecoveryCell| cell.delay;
        let messages = |cell: &RecoveryCell| cell.messages;
        let title = |what: &str| format!("{what} from the crash of {who} to the next entry").replace(", to", " to");
        let unit = "time in δ, the delay of a message";
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
    Axis::new("n, the number of processes", Scale::Logarithmic)
}

const TOKEN_RING: &str = "token-ring";
/// How the token ring is measured where others are measured alone.
pub const TOKEN_RING_ALONE: &str = "token-ring, alone: everybody asks at random, every 100 δ.";

const SIDE_BY_SIDE: &str = "Points that coincide stand side by side.";

fn figure(shown: &Shown, rows: &[Row]) -> Option<Figure> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows.iter().filter(|row| row.measure == shown.measure) {
        if series.last().is_none_or(|last| last.name != row.algorithm) {
            let measured = row.cells.iter().filter_map(|cell| Some((cell.n, cell.measured?)));
            let points = measured.map(|(n, y)| Point { x: f64::from(n), y, interval: None }).collect();
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
    let mut notes = vec![format!("Lines are published, with who published them; points are measured. {SIDE_BY_SIDE}")];
    // A token that goes round for ever is never asked for alone: what it costs is measured over time.
    let is_alone = matches!(shown.measure, Measure::Messages | Measure::ClientDelay);
    if is_alone && series.iter().any(|series| series.name == TOKEN_RING && !series.points.is_empty()) {
        notes.push(TOKEN_RING_ALONE.into());
    }
    let is_zero = |series: &&Series| series.points.iter().any(|point| point.y <= 0.0);
    let nothing: Vec<_> = series.iter().filter(is_zero).map(|series| series.name.as_str()).collect();
    if shown.scale == Scale::Logarithmic && !nothing.is_empty() {
        notes.push(format!("Not in the picture, as it is 0: {}.", nothing.join(", ")));
    }
    Some(Figure {
        name: shown.name.into(),
        title: shown.title.into(),
        x: group_axis(),
        y: Axis::new(shown.unit, shown.scale),
        series,
        notes,
        ..Figure::default()
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
        let points = values.map(|(n, y)| Point { x: f64::from(n), y, interval: None }).collect();
        Series { name: row.algorithm.into(), look: look(row.algorithm), curves: Vec::new(), points }
    });
    let series: Vec<_> = series.filter(|series| !series.points.is_empty()).collect();
    let note = "Measured, the mean of 12 moments of the crash; heartbeats every 5 δ tell of it. ";
    (!series.is_empty()).then(|| Figure {
        name,
        title,
        x: group_axis(),
        y: Axis::new(unit, Scale::Logarithmic),
        series,
        notes: vec![format!("{note}{SIDE_BY_SIDE}")],
        ..Figure::default()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quorate_core::catalog::Family;

    use super::*;
    use crate::compare::compare;
    use crate::recovery_costs::recovery_costs;

    fn named<'f>(figures: &'f [Figure], name: &str) -> &'f Figure {
        figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("no figure {name}"))
    }

    fn words(svg: &str) -> BTreeSet<String> {
        let document = roxmltree::Document::parse(svg).unwrap();
        document.descendants().filter_map(|node| node.text()).map(|text| text.trim().to_string()).collect()
    }

    /// Where a formula is exact, its curve goes through the points; and where it is known to be wrong, it does not.
    #[test]
    fn every_algorithm_is_drawn_and_curves_go_through_the_points_where_they_are_right() {
        let rows = compare(Family::Mutex, &[], &[3, 9, 13], &mut || {}).unwrap();
        let figures = figures(&rows);
        let names: Vec<_> = figures.iter().map(|figure| figure.name.as_str()).collect();
        let costs = ["messages-alone", "messages-contended", "client-delay", "synchronization-delay", "throughput"];
        assert_eq!(names, costs);
        let noted = figures.iter().filter(|figure| words(&figure.svg()).contains(TOKEN_RING_ALONE));
        assert_eq!(noted.map(|figure| &*figure.name).collect::<Vec<_>>(), ["messages-alone", "client-delay"]);
        let ends = words(&named(&figures, "synchronization-delay").svg());
        assert!(["A", "B", "E"].iter().all(|source| ends.contains(*source)), "{ends:?}");
        for name in costs {
            let texts = words(&named(&figures, name).svg());
            for entry in ENTRIES.iter().filter(|entry| entry.family == Family::Mutex) {
                assert!(texts.contains(entry.name), "{} is not in {name}", entry.name);
            }
        }
        for (figure, algorithm, formula, is_right) in [
            ("messages-alone", "lamport", "3(N−1) (E)", true),
            ("messages-alone", "ricart-agrawala", "2(N−1) (A, D, E)", true),
            ("messages-alone", "ricart-agrawala", "2N−1 (B)", false),
            ("messages-alone", "suzuki-kasami", "N (Suzuki & Kasami)", true),
            ("client-delay", "central", "2 (A, B, E)", true),
            ("synchronization-delay", "lamport", "1 (E)", true),
            ("throughput", "lamport", "1/(E+SD) (E)", true),
            ("throughput", "central", "1/(E+SD) (A, B, E)", true),
        ] {
            let series = named(&figures, figure).series.iter().find(|series| series.name == algorithm).unwrap();
            let curve = series.curves.iter().find(|curve| curve.formula == formula);
            let curve = curve.unwrap_or_else(|| panic!("{figure}, {algorithm}: {:?}", series.curves));
            assert_eq!((series.points.len(), curve.points.len()), (3, 3), "{figure}, {algorithm}");
            let meets = series
                .points
                .iter()
                .zip(&curve.points)
                .all(|(point, &(x, y))| point.x == x && (point.y - y).abs() < 1e-9);
            assert_eq!(meets, is_right, "{figure}, {algorithm}: {:?}, {:?}", curve.points, series.points);
        }
    }

    #[test]
    fn a_range_is_two_lines_and_an_algorithm_looks_the_same_beside_others() {
        let names = ["token-ring".to_string(), "lamport".to_string()];
        let rows = compare(Family::Mutex, &names, &[3, 9], &mut || {}).unwrap();
        let figures = figures(&rows);
        let [ring, lamport] = &named(&figures, "synchronization-delay").series[..] else { panic!("two series") };
        let range: Vec<_> = ring.curves.iter().filter(|curve| curve.formula == "1 to N (E)").collect();
        let lines: Vec<_> = range.iter().map(|curve| curve.points.clone()).collect();
        assert_eq!(lines, [vec![(3.0, 1.0), (9.0, 1.0)], vec![(3.0, 3.0), (9.0, 9.0)]]);
        assert_eq!((ring.look, lamport.look), (look("token-ring"), look("lamport")));
        let looks: BTreeSet<_> = ENTRIES.iter().filter(|e| e.family == Family::Mutex).map(|e| look(e.name)).collect();
        assert_eq!(looks.len(), ENTRIES.iter().filter(|entry| entry.family == Family::Mutex).count());
    }

    #[test]
    fn elections_and_crashes_are_drawn() {
        let rows = compare(Family::Election, &[], &[3, 9], &mut || {}).unwrap();
        let drawn = figures(&rows);
        assert_eq!(drawn.len(), 3);
        let all_start = named(&drawn, "election-all-start");
        let ring = all_start.series.iter().find(|series| series.name == "chang-roberts").unwrap();
        assert_eq!(ring.curves[0].points, [(3.0, 9.0), (9.0, 54.0)]);
        let rows = recovery_costs(&["central".to_string()], &[3], &mut || {}).unwrap();
        let drawn = recovery_figures(&rows);
        assert_eq!(drawn.len(), 4);
        for (figure, row) in [("recovery-time-inside", &rows[0]), ("recovery-time-first", &rows[1])] {
            assert_eq!(Some(named(&drawn, figure).series[0].points[0].y), row.cells[0].delay);
            assert!(words(&named(&drawn, figure).svg()).contains("central"));
        }
        assert!(figures(&[]).is_empty() && recovery_figures(&[]).is_empty());
    }
}
