//! The figures as Prometheus reads them: its text format, one page.

use std::fmt::{Display, Write};
use std::sync::atomic::Ordering;

use quorate_net::PeerStatus;

use super::Telemetry;
use super::histogram::Histogram;
use super::locks::Figures;
use crate::engine::{Engine, Standing};
use crate::machine::{Kind, Name};
use crate::peer;
use crate::raft::{Status, SyncHistogram};
use crate::service::Service;

/// The label of a series, if it has any.
type Labels<'l> = &'l [(&'static str, &'l str)];

/// A page that grows.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Begins a family of series: what follows belongs to it.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP quorate_{name} {help}\n# TYPE quorate_{name} {kind}\n"));
    }

    /// A family of one series.
    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        self.line(format_args!("quorate_{name}"));
        for (at, (label, text)) in labels.iter().enumerate() {
            self.line(format_args!("{}{label}=\"{}\"", if at == 0 { '{' } else { ',' }, escaped(text)));
        }
        self.line(format_args!("{} {value}\n", if labels.is_empty() { "" } else { "}" }));
    }

    fn histogram(&mut self, name: &str, labels: Labels<'_>, histogram: &Histogram) {
        let buckets = histogram.cumulative().map(|(bound, count)| (bound.to_string(), count));
        self.buckets(name, labels, buckets, histogram.count(), histogram.total_seconds());
    }

    /// A histogram: how many fit below each bound, how many there are, and their sum.
    fn buckets(
        &mut self,
        name: &str,
        labels: Labels<'_>,
        buckets: impl Iterator<Item = (String, u64)>,
        count: u64,
        sum: f64,
    ) {
        let all = [("+Inf".to_string(), count)];
        for (bound, below) in buckets.chain(all) {
            let labels = [labels, &[("le", bound.as_str())]].concat();
            self.sample(&format!("{name}_bucket"), &labels, below);
        }
        self.sample(&format!("{name}_sum"), labels, sum);
        self.sample(&format!("{name}_count"), labels, count);
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Nothing fails that is written to a text.
        let _ = self.0.write_fmt(text);
    }
}

/// A label's text, in which some characters have a meaning.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// All figures of a node.
pub(crate) fn page<E: Engine>(telemetry: &Telemetry, service: &Service<E>, standing: &Standing) -> String {
    let mut page = Page::default();
    page.family("build_info", "gauge", "The version of this node.");
    page.sample("build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    match standing {
        Standing::Replicated(status) => raft(&mut page, status, telemetry),
        Standing::Peer(status) => peer(&mut page, status, service.index()),
    }
    sessions_and_locks(&mut page, telemetry, service);
    traffic(&mut page, telemetry);
    page.0
}

fn raft(page: &mut Page, status: &Status, telemetry: &Telemetry) {
    let index = |index: Option<u64>| index.map_or(0, |index| index + 1);
    let leads = u8::from(telemetry.leads());
    page.one("raft_term", "gauge", "The term this node is in: grows with every election.", status.term);
    page.one(
        "raft_leader",
        "gauge",
        "The number of the node that leads; 0 if none is known.",
        status.leader.unwrap_or(0),
    );
    page.one("raft_is_leader", "gauge", "Whether this node leads and serves as leader.", leads);
    let changes = telemetry.leaders.load(Ordering::Relaxed);
    page.one("raft_leader_changes_total", "counter", "How often this node saw another leader than before.", changes);
    page.one("raft_log_entries", "gauge", "Entries ever written to this node's log.", index(status.last_log));
    page.one("raft_committed_entries", "gauge", "Entries known to be on a majority.", index(status.committed));
    page.one("raft_applied_entries", "gauge", "Entries applied on this node.", index(status.applied));
    page.one("raft_snapshot_entries", "gauge", "Entries covered by the snapshot.", index(status.snapshot));
    page.one("raft_purged_entries", "gauge", "Entries deleted from the log.", index(status.purged));
    page.one("commands_applied_total", "counter", "Commands applied on this node.", status.commands);
    page.family("raft_follower_lag_entries", "gauge", "Entries that a member lacks, as its leader knows; only there.");
    for follower in &status.followers {
        page.sample("raft_follower_lag_entries", &[("follower", &follower.node.to_string())], follower.lag);
    }
    let trouble = u8::from(status.trouble.is_some());
    page.one("trouble", "gauge", "Whether this node takes no part; its log says why.", trouble);
    page.family("log_sync_seconds", "histogram", "Time from handing a write to the log until it is on disk.");
    syncs(page, &status.syncs);
}

/// How the node takes turns. What locks wait and are held for is among the figures of locks.
fn peer(page: &mut Page, status: &peer::Status, commands: u64) {
    page.family("peer_info", "gauge", "The algorithm by which the nodes take turns.");
    let labels = [("algorithm", &*status.turns.program()), ("election", status.turns.election.name())];
    page.sample("peer_info", &labels, 1);
    page.one("commands_applied_total", "counter", "Commands applied on this node.", commands);
    page.one("trouble", "gauge", "Whether this node takes no part; its log says why.", u8::from(status.node.is_none()));
    let Some(node) = &status.node else { return };
    let leader = node.leader.map_or(0, |leader| leader.number());
    page.one("peer_leader", "gauge", "The number of the node that leads; 0 if none is known.", leader);
    page.one("peer_elections_total", "counter", "How often this node came to know another leader.", node.elections);
    page.one("peer_resources", "gauge", "Names of which this node has heard.", node.resources);
    page.one("peer_syncs_total", "counter", "How often the node has waited for its disk.", node.syncs);
    page.one("peer_unexpected_total", "counter", "What arrived and nobody should have sent.", node.unexpected);
    page.family("peer_messages_total", "counter", "Messages sent to other nodes, by kind.");
    for (kind, count) in &node.sent {
        page.sample("peer_messages_total", &[("kind", kind)], count);
    }
    let mut each = |name: &str, kind: &str, help: &str, value: fn(&PeerStatus) -> f64| {
        page.family(name, kind, help);
        for other in &node.peers {
            page.sample(name, &[("peer", &other.id.number().to_string())], value(other));
        }
    };
    each("peer_connected", "gauge", "Whether there is a connection.", |other| f64::from(u8::from(other.is_connected)));
    each("peer_suspected", "gauge", "Whether it is taken for dead.", |other| f64::from(u8::from(other.is_suspected)));
    each("peer_suspicions_total", "counter", "How often it was taken for dead.", |other| other.suspicions as f64);
    each("peer_reconnects_total", "counter", "How often a connection was opened again.", |other| {
        other.connections.saturating_sub(1) as f64
    });
    each("peer_dropped_total", "counter", "Messages that had nobody to go to.", |other| other.dropped as f64);
    each("peer_round_trip_seconds", "gauge", "There and back, when it was measured last; 0 if it was not.", |other| {
        other.round_trip.map_or(0.0, |took| took.as_secs_f64())
    });
}

fn syncs(page: &mut Page, syncs: &SyncHistogram) {
    let mut sum = 0;
    // The last bucket has what took longer, too, and is the one without a bound here.
    let bounded = syncs.buckets.len().saturating_sub(1);
    let buckets = syncs.buckets.iter().take(bounded).map(|(bound_us, count)| {
        sum += count;
        ((*bound_us as f64 / 1e6).to_string(), sum)
    });
    page.buckets("log_sync_seconds", &[], buckets, syncs.count, syncs.total_us as f64 / 1e6);
}

fn sessions_and_locks<E: Engine>(page: &mut Page, telemetry: &Telemetry, service: &Service<E>) {
    let (shown, others, all, [opened, closed, expired]) = {
        let book = telemetry.locks();
        (book.shown(), book.others(), book.crowd(), [book.opened, book.closed, book.expired])
    };
    let (sessions, locks, crowds) = service.look(|machine| {
        let crowds: Vec<_> = shown.iter().map(|(name, _)| machine.crowd(name)).collect();
        (machine.sessions().len(), machine.names().len(), crowds)
    });
    page.one("sessions", "gauge", "Sessions that exist.", sessions);
    page.one("sessions_opened_total", "counter", "Sessions opened while this node led.", opened);
    page.one("sessions_closed_total", "counter", "Sessions closed by their clients while this node led.", closed);
    page.one("sessions_expired_total", "counter", "Sessions not renewed in time while this node led.", expired);
    page.one("locks", "gauge", "Locks and elections that somebody holds or awaits.", locks);
    let (held, waited) = crowds.iter().fold((0, 0), |sum, crowd| (sum.0 + crowd.0 as u64, sum.1 + crowd.1 as u64));
    // Figures and machine are looked at one after the other, so what is left may be a little less than nothing.
    let rest = (all.0.saturating_sub(held) as usize, all.1.saturating_sub(waited) as usize);
    let crowds: Vec<_> = crowds.into_iter().chain([rest]).collect();
    let rows: Vec<Row<'_>> =
        shown.iter().map(|(name, figures)| (Some(name), figures)).chain([(None, &others)]).collect();
    let mut gauge = |name: &str, help: &str, value: fn(&(usize, usize)) -> usize| {
        page.family(name, "gauge", help);
        for (row, crowd) in rows.iter().zip(&crowds) {
            page.sample(name, &labels(row.0), value(crowd));
        }
    };
    gauge("lock_holders", "How many hold it now.", |crowd| crowd.0);
    gauge("lock_waiting", "How many wait for it now.", |crowd| crowd.1);
    let mut counter = |name: &str, help: &str, value: fn(&Figures) -> u64| {
        page.family(name, "counter", help);
        for (name_of, figures) in &rows {
            page.sample(name, &labels(*name_of), value(figures));
        }
    };
    counter("lock_grants_total", "Grants while this node led.", |figures| figures.waits.count());
    counter("lock_expiries_total", "Grants lost as a session expired, while this node led.", |figures| figures.expired);
    counter("lock_forced_total", "Grants taken away by force while this node led.", |figures| figures.forced);
    counter("lock_turns_lost_total", "Grants lost with this node's turn (peer engine).", |figures| figures.turns_lost);
    counter("lock_left_total", "Places in line given up while this node led.", |figures| figures.left);
    let mut histogram = |name: &str, help: &str, value: fn(&Figures) -> &Histogram| {
        page.family(name, "histogram", help);
        for (name_of, figures) in &rows {
            page.histogram(name, &labels(*name_of), value(figures));
        }
    };
    histogram("lock_wait_seconds", "From joining the line to the grant, by the leader's clock.", |figures| {
        &figures.waits
    });
    histogram("lock_hold_seconds", "From the grant to its end, by the leader's clock.", |figures| &figures.holds);
}

/// A name and its figures; all others have no name.
type Row<'f> = (Option<&'f Name>, &'f Figures);

fn labels(name: Option<&Name>) -> [(&'static str, &str); 2] {
    match name {
        Some(name) => [("kind", if name.kind == Kind::Lock { "lock" } else { "election" }), ("name", &name.text)],
        // No name can be empty and of another kind, so this is nobody's.
        None => [("kind", "other"), ("name", "")],
    }
}

fn traffic(page: &mut Page, telemetry: &Telemetry) {
    let load = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
    page.one(
        "connections",
        "gauge",
        "Connections that are open, streams not among them.",
        load(&telemetry.connections),
    );
    let total = load(&telemetry.connections_total);
    page.one("connections_total", "counter", "Connections accepted.", total);
    page.one("streams", "gauge", "Streams of clients that are open.", load(&telemetry.streams));
    page.family("requests_total", "counter", "Requests answered, by protocol, kind and result.");
    for (protocol, kind, result, count) in telemetry.requests.read() {
        page.sample("requests_total", &[("protocol", protocol), ("kind", kind), ("result", &result)], count);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_histogram_has_growing_buckets_and_all_that_was_counted() {
        let (mut page, mut histogram) = (Page::default(), Histogram::default());
        histogram.record(Duration::from_millis(5));
        histogram.record(Duration::from_secs(86_400));
        page.histogram("x", &[("name", "a\"b\\c\nd")], &histogram);
        let lines: Vec<_> = page.0.lines().collect();
        assert_eq!(lines[0], r#"quorate_x_bucket{name="a\"b\\c\nd",le="0.00005"} 0"#);
        let below = |bound: &str| lines.iter().find(|line| line.contains(&format!("le=\"{bound}\""))).unwrap();
        assert!(below("0.0025").ends_with("} 0") && below("0.005").ends_with("} 1") && below("+Inf").ends_with("} 2"));
        let [sum, count] = lines[lines.len() - 2..] else { panic!("{lines:?}") };
        assert_eq!(sum, r#"quorate_x_sum{name="a\"b\\c\nd"} 86400.005"#);
        assert_eq!(count, r#"quorate_x_count{name="a\"b\\c\nd"} 2"#);
    }
}
