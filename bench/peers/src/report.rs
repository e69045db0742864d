//! Results: one JSON line per run, and tables for people.

use std::{collections::BTreeMap, io::BufRead};

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::{crash::CrashReport, floor::FloorReport, verdict, workload::Workload};

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Percentiles {
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

impl Percentiles {
    /// From a histogram of nanoseconds.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1000.0;
        Self {
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max() as f64 / 1000.0,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    pub label: String,
    pub workload: Workload,
    pub clients: usize,
    pub endpoints: usize,
    pub seconds: f64,
    pub cycles: u64,
    pub cycles_per_s: f64,
    pub acquire: Percentiles,
    pub release: Percentiles,
    pub handoff: Option<Percentiles>,
    pub handoff_to_self_pct: Option<f64>,
    pub client_cycles_min: u64,
    pub client_cycles_max: u64,
    pub errors: u64,
    pub unfinished: u64,
    pub violations: u64,
    pub cpu_client_pct: f64,
    pub cpu_servers_pct: f64,
    pub cpu_others_pct: f64,
}

/// A line of the results file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    Run(Report),
    Floor(FloorReport),
    Crash(CrashReport),
}

pub fn print_json(line: &Line) -> Result<()> {
    println!("{}", serde_json::to_string(line)?);
    Ok(())
}

const HEADER: &str = "\
| service | workload | clients | runs | cycles/s | acquire p50 µs | p99 | p99.9 | max | handoff p50 µs | p99 | to self | cycles/client min–max | errors | unfinished | violations | CPU % client/servers/others |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|";

/// The table of a single run.
pub fn print_run(report: &Report) {
    println!("{HEADER}");
    println!("{}", summary_row(&[report]));
}

/// The tables over all lines of a results file: medians over repeated runs,
/// with the spread (lowest–highest) of cycles/s.
pub fn summarize(input: impl BufRead, max_others: f64) -> Result<()> {
    let mut runs: BTreeMap<(String, &str, usize), Vec<Report>> = BTreeMap::new();
    let mut floors = Vec::new();
    let mut crashes: BTreeMap<(String, u64), Vec<CrashReport>> = BTreeMap::new();
    for line in input.lines() {
        let line = line?;
        if !line.starts_with('{') {
            continue;
        }
        match serde_json::from_str(&line)? {
            Line::Run(report) if report.cpu_others_pct > max_others => {}
            Line::Run(report) => {
                let workload = match report.workload {
                    Workload::Uncontended => "1 uncontended",
                    Workload::Contended => "2 contended",
                };
                let key = (report.label.clone(), workload, report.clients);
                runs.entry(key).or_default().push(report);
            }
            Line::Floor(floor) => floors.push(floor),
            Line::Crash(crash) => crashes
                .entry((crash.label.clone(), crash.ttl_ms))
                .or_default()
                .push(crash),
        }
    }

    println!("{HEADER}");
    for group in runs.values() {
        println!("{}", summary_row(&group.iter().collect::<Vec<_>>()));
    }
    if let Some(verdicts) = verdict::table(&runs) {
        println!("\n{verdicts}");
    }
    if !floors.is_empty() {
        println!("\n{}", FloorReport::table(&floors));
    }
    if !crashes.is_empty() {
        println!(
            "\n| service | expiry s | lock free again after the holder was killed, s |\n|---|---:|---:|"
        );
        for ((label, ttl_ms), group) in &crashes {
            println!(
                "| {label} | {:.1} | {} |",
                *ttl_ms as f64 / 1000.0,
                spread(group.iter().map(|c| c.free_again_ms / 1000.0), 2),
            );
        }
    }
    Ok(())
}

/// One row for the repeated runs of one case: rates carry their spread,
/// latencies are medians, maxima are the worst, counts are sums.
fn summary_row(group: &[&Report]) -> String {
    let first = group[0];
    let mid = |pick: fn(&Report) -> f64| micros(median(group.iter().map(|r| pick(r))));
    let worst = |pick: fn(&Report) -> f64| group.iter().map(|r| pick(r)).fold(0.0, f64::max);
    let sum = |pick: fn(&Report) -> u64| group.iter().map(|r| pick(r)).sum::<u64>();
    let handoff = |pick: fn(&Percentiles) -> f64| match first.handoff {
        Some(_) => micros(median(
            group.iter().filter_map(|r| r.handoff.as_ref()).map(pick),
        )),
        None => "–".to_owned(),
    };
    let to_self = match first.handoff_to_self_pct {
        Some(_) => format!(
            "{:.0}%",
            median(group.iter().filter_map(|r| r.handoff_to_self_pct))
        ),
        None => "–".to_owned(),
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0}–{:.0} | {} | {} | {} | {:.0}/{:.0}/{:.0} |",
        first.label,
        match first.workload {
            Workload::Uncontended => "uncontended",
            Workload::Contended => "contended",
        },
        first.clients,
        group.len(),
        spread(group.iter().map(|r| r.cycles_per_s), 0),
        mid(|r| r.acquire.p50),
        mid(|r| r.acquire.p99),
        mid(|r| r.acquire.p999),
        micros(worst(|r| r.acquire.max)),
        handoff(|p| p.p50),
        handoff(|p| p.p99),
        to_self,
        median(group.iter().map(|r| r.client_cycles_min as f64)),
        median(group.iter().map(|r| r.client_cycles_max as f64)),
        sum(|r| r.errors),
        sum(|r| r.unfinished),
        sum(|r| r.violations),
        median(group.iter().map(|r| r.cpu_client_pct)),
        median(group.iter().map(|r| r.cpu_servers_pct)),
        median(group.iter().map(|r| r.cpu_others_pct)),
    )
}

/// "median (lowest–highest)", or the one value there is.
pub fn spread(values: impl Iterator<Item = f64> + Clone, decimals: usize) -> String {
    let middle = median(values.clone());
    if values.clone().count() < 2 {
        return format!("{middle:.decimals$}");
    }
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    format!("{middle:.decimals$} ({low:.decimals$}–{high:.decimals$})")
}

pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Microseconds with as many digits as matter.
fn micros(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}
