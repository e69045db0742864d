//! How many requests there were, of which kind, and what came of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use quorate_client::contract::ProblemKind;

/// So many results there can be, at most.
const MOST_RESULTS: usize = 1 + ProblemKind::ALL.len();

/// In which words a protocol tells what came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Results {
    /// Problems of our own contract.
    Problems,
    /// Codes of gRPC.
    Codes,
}

impl Results {
    fn name(self, result: usize) -> String {
        match (self, result.checked_sub(1)) {
            (_, None) => "ok".into(),
            (Results::Problems, Some(problem)) => ProblemKind::ALL[problem].name(),
            (Results::Codes, Some(code)) => format!("{:?}", tonic::Code::from_i32(code as i32 + 1)),
        }
    }
}

/// Requests of one kind.
#[derive(Debug)]
pub(crate) struct Row {
    protocol: &'static str,
    kind: &'static str,
    results: Results,
    counts: [AtomicU64; MOST_RESULTS],
}

impl Row {
    /// One was done, or there was this problem.
    pub(crate) fn count(&self, problem: Option<ProblemKind>) {
        self.add(problem.map_or(0, |problem| problem as usize + 1));
    }

    /// One was answered with this code of gRPC.
    pub(crate) fn count_code(&self, code: tonic::Code) {
        self.add(code as usize);
    }

    fn add(&self, result: usize) {
        if let Some(count) = self.counts.get(result) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Requests of all kinds. Who counts has a row of its own, and needs nobody else.
#[derive(Debug, Default)]
pub(super) struct Requests {
    rows: Mutex<Vec<Arc<Row>>>,
}

impl Requests {
    pub(super) fn row(&self, protocol: &'static str, kind: &'static str, results: Results) -> Arc<Row> {
        let row = Arc::new(Row { protocol, kind, results, counts: Default::default() });
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&row));
        row
    }

    /// How many there were in all.
    pub(super) fn total(&self) -> u64 {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().flat_map(|row| &row.counts).map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Every count that is not 0: the protocol, the kind, the result.
    pub(super) fn read(&self) -> Vec<(&'static str, &'static str, String, u64)> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = rows.iter().flat_map(|row| {
            let counts = row.counts.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
            counts
                .filter(|(_, count)| *count > 0)
                .map(|(result, count)| (row.protocol, row.kind, row.results.name(result), count))
        });
        counts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_a_request_has_a_name() {
        let requests = Requests::default();
        let http = requests.row("http", "acquireLock", Results::Problems);
        http.count(None);
        http.count(Some(ProblemKind::Conflict));
        http.count(Some(ProblemKind::WaitedInVain));
        http.count(None);
        let etcd = requests.row("etcd", "Lock/Lock", Results::Codes);
        etcd.count_code(tonic::Code::Ok);
        etcd.count_code(tonic::Code::NotFound);
        etcd.count_code(tonic::Code::Unauthenticated);
        assert_eq!(requests.total(), 7);
        let read = requests.read();
        let results: Vec<_> = read.iter().map(|(_, _, result, count)| (result.as_str(), *count)).collect();
        let problems = [("ok", 2), ("waited-in-vain", 1), ("conflict", 1)];
        assert_eq!(results, [&problems[..], &[("ok", 1), ("NotFound", 1), ("Unauthenticated", 1)]].concat());
    }
}
