//! The figures, of what was really measured: every algorithm is in them, curves go through the points where the
//! literature is right, and what is drawn is what the tables say.
#![cfg(feature = "plot")]

use std::collections::BTreeSet;

use quorate_core::catalog::{ENTRIES, Family};
use quorate_lab::compare::compare;
use quorate_lab::plot::comparison::{TOKEN_RING_ALONE, figures, recovery_figures};
use quorate_lab::plot::{Figure, comparison};
use quorate_lab::recovery_costs::recovery_costs;

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
        let meets =
            series.points.iter().zip(&curve.points).all(|(point, &(x, y))| point.x == x && (point.y - y).abs() < 1e-9);
        assert_eq!(meets, is_right, "{figure}, {algorithm}: {:?}, {:?}", curve.points, series.points);
    }
}

/// Left, right, top and bottom of what is drawn, in the drawing's own units.
type Area = [f64; 4];

/// What the points of a figure cover, and the words in their colours.
fn points_and_names(svg: &str) -> (Vec<Area>, Vec<(String, Area)>) {
    let document = roxmltree::Document::parse(svg).unwrap();
    let (mut points, mut names) = (Vec::new(), Vec::new());
    let coloured =
        document.descendants().filter(|node| node.attribute("class").is_some_and(|c| c.starts_with("point")));
    for node in coloured {
        let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
        if node.has_tag_name("text") {
            let text = node.text().unwrap().trim().to_string();
            let (x, y) = (number("x"), number("y"));
            let area = [x, x + 60.0 * text.chars().count() as f64, y - 110.0, y];
            names.push((text, area));
        } else if node.has_tag_name("circle") {
            let (x, y, r) = (number("cx"), number("cy"), number("r"));
            points.push([x - r, x + r, y - r, y + r]);
        } else {
            let places = node.attribute("points").unwrap().split_whitespace().map(|place| {
                let (x, y) = place.split_once(',').unwrap();
                (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap())
            });
            let nothing = [f64::MAX, f64::MIN, f64::MAX, f64::MIN];
            points.push(places.fold(nothing, |[left, right, top, bottom], (x, y)| {
                [left.min(x), right.max(x), top.min(y), bottom.max(y)]
            }));
        }
    }
    (points, names)
}

#[test]
fn names_of_lines_are_letters_that_cover_no_point_and_fit_beside_the_legend() {
    for sizes in [&[3, 5, 9][..], &[3, 9, 25]] {
        let rows = compare(Family::Mutex, &[], sizes, &mut || {}).unwrap();
        let figures = figures(&rows);
        let alone = named(&figures, "messages-alone").svg();
        let texts = words(&alone);
        assert!(texts.contains("(B, without messages to oneself)"), "the legend has all of it: {texts:?}");
        let named: BTreeSet<_> = points_and_names(&alone).1.into_iter().map(|(text, _)| text).collect();
        assert_eq!(named.iter().map(String::as_str).collect::<Vec<_>>(), ["A, D, E", "A, E", "B"]);
        for figure in &figures {
            let (points, names) = points_and_names(&figure.svg());
            for (text, [left, right, top, bottom]) in &names {
                let covers =
                    |point: &&Area| left < &point[1] && &point[0] < right && top < &point[3] && &point[2] < bottom;
                assert_eq!(points.iter().find(covers), None, "{}: {text} covers a point", figure.name);
                assert!(*right <= 7080.0, "{}: {text} reaches into the legend", figure.name);
            }
        }
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
    let rows = compare(Family::Mutex, &names[1..], &[3, 9], &mut || {}).unwrap();
    let figures = comparison::figures(&rows);
    let alone = &named(&figures, "synchronization-delay").series[0];
    assert_eq!((&*alone.name, alone.look), ("lamport", lamport.look));
    assert_ne!(ring.look, lamport.look);
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
