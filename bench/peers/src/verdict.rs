//! What is asked of Quorate, and whether a results file shows it: ratios of medians measured in one run.

use std::collections::BTreeMap;

use crate::report::{Report, median};
use crate::workload::Workload;

/// One demand: a figure of one service, compared with the same figure of another.
struct Demand {
    of: &'static str,
    against: &'static str,
    workload: Workload,
    figure: Figure,
    bound: f64,
}

#[derive(Clone, Copy)]
enum Figure {
    /// Cycles a second: at least so many times the other's.
    Rate,
    /// The median of the hand-over: at most so many times the other's.
    Handoff,
}

const fn rate(of: &'static str, against: &'static str, workload: Workload, bound: f64) -> Demand {
    Demand { of, against, workload, figure: Figure::Rate, bound }
}

const fn handoff(of: &'static str, against: &'static str, bound: f64) -> Demand {
    Demand { of, against, workload: Workload::Contended, figure: Figure::Handoff, bound }
}

const DEMANDS: [Demand; 9] = [
    rate("quorate-1", "etcd-1", Workload::Uncontended, 2.0),
    rate("quorate-1", "etcd-1", Workload::Contended, 3.0),
    handoff("quorate-1", "etcd-1", 0.5),
    rate("quorate-3", "etcd-3", Workload::Uncontended, 2.0),
    rate("quorate-3", "etcd-3", Workload::Contended, 3.0),
    handoff("quorate-3", "etcd-3", 0.5),
    rate("quorate-1-own", "zookeeper-1", Workload::Uncontended, 1.0),
    rate("quorate-1-own", "zookeeper-1", Workload::Contended, 2.0),
    rate("quorate-1-own", "redis-1-fsync", Workload::Contended, 1.0),
];

/// The demands that these runs, each under its label, workload and clients, say something about.
pub fn table(runs: &BTreeMap<(String, &str, usize), Vec<Report>>) -> Option<String> {
    let mut rows = Vec::new();
    for demand in &DEMANDS {
        let figure = |label: &str| {
            let of_label = runs.values().flatten().filter(|run| {
                run.label == label && run.workload == demand.workload && run.clients == 64
            });
            let figures: Vec<f64> = match demand.figure {
                Figure::Rate => of_label.map(|run| run.cycles_per_s).collect(),
                Figure::Handoff => of_label.filter_map(|run| Some(run.handoff?.p50)).collect(),
            };
            (!figures.is_empty()).then(|| median(figures.into_iter()))
        };
        if let (Some(ours), Some(theirs)) = (figure(demand.of), figure(demand.against)) {
            rows.push(row(demand, ours, theirs));
        }
    }
    let header = "| Quorate | against | workload | figure | ours | theirs | ratio | asked | |\n\
                  |---|---|---|---|---:|---:|---:|---:|---|";
    (!rows.is_empty()).then(|| format!("{header}\n{}", rows.join("\n")))
}

fn row(demand: &Demand, ours: f64, theirs: f64) -> String {
    let ratio = ours / theirs;
    let (figure, asked, is_met) = match demand.figure {
        Figure::Rate => ("cycles/s", format!("≥ {}", demand.bound), ratio >= demand.bound),
        Figure::Handoff => ("hand-over p50, µs", format!("≤ {}", demand.bound), ratio <= demand.bound),
    };
    let workload = match demand.workload {
        Workload::Uncontended => "uncontended",
        Workload::Contended => "contended",
    };
    let met = if is_met { "yes" } else { "no" };
    format!(
        "| {} | {} | {workload} | {figure} | {ours:.0} | {theirs:.0} | {ratio:.2} | {asked} | {met} |",
        demand.of, demand.against
    )
}
