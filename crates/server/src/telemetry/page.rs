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
    page.family("build_info", "gauge", "Version of this node.");
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
    page.one("raft_term", "gauge", "Current Raft term of this node; grows with every election.", status.term);
    page.one("raft_leader", "gauge", "Id of the leader; 0 if this node knows none.", status.leader.unwrap_or(0));
    page.one(
        "raft_is_leader",
        "gauge",
        "1 if this node is the leader and has applied all earlier entries, else 0.",
        leads,
    );
    let changes = telemetry.leaders.load(Ordering::Relaxed);
    page.one("raft_leader_changes_total", "counter", "Changes of leader that this node has seen.", changes);
    page.one(
        "raft_log_entries",
        "gauge",
        "Log entries written on this node since the cluster was created.",
        index(status.last_log),
    );
    page.one(
        "raft_committed_entries",
        "gauge",
        "Log entries that this node knows to be committed.",
        index(status.committed),
    );
    page.one("raft_applied_entries", "gauge", "Log entries applied on this node.", index(status.applied));
    page.one("raft_snapshot_entries", "gauge", "Log entries covered by this node's snapshot.", index(status.snapshot));
    page.one("raft_purged_entries", "gauge", "Log entries deleted after a snapshot.", index(status.purged));
    page.one("commands_applied_total", "counter", "Commands applied on this node.", status.commands);
    page.family(
        "raft_follower_lag_entries",
        "gauge",
        "Log entries that a follower lacks; reported by the leader only.",
    );
    for follower in &status.followers {
        page.sample("raft_follower_lag_entries", &[("follower", &follower.node.to_string())], follower.lag);
    }
    let trouble = u8::from(status.trouble.is_some());
    page.one("trouble", "gauge", "1 if this node serves no requests, else 0; its log says why.", trouble);
    page.family("log_sync_seconds", "histogram", "Time from submitting a write to the log until it is on disk.");
    syncs(page, &status.syncs);
}

/// How the node takes turns. What locks wait and are held for is among the figures of locks.
fn peer(page: &mut Page, status: &peer::Status, commands: u64) {
    page.family("peer_info", "gauge", "Mutual exclusion and election algorithms of the peer engine.");
    let labels = [("algorithm", &*status.turns.program()), ("election", status.turns.election.name())];
    page.sample("peer_info", &labels, 1);
    page.one("commands_applied_total", "counter", "Commands applied on this node.", commands);
    page.one(
        "trouble",
        "gauge",
        "1 if this node serves no requests, else 0; its log says why.",
        u8::from(status.node.is_none()),
    );
    let Some(node) = &status.node else { return };
    let leader = node.leader.map_or(0, |leader| leader.number());
    page.one("peer_leader", "gauge", "Id of the leader; 0 if this node knows none.", leader);
    page.one("peer_elections_total", "counter", "Changes of leader that this node has seen.", node.elections);
    page.one("peer_resources", "gauge", "Lock and election names that this node knows.", node.resources);
    page.one("peer_syncs_total", "counter", "Writes to disk that this node has waited for.", node.syncs);
    page.one(
        "peer_unexpected_total",
        "counter",
        "Unexpected messages received, which no correct member sends.",
        node.unexpected,
    );
    page.family("peer_messages_total", "counter", "Messages sent to other members, by kind.");
    for (kind, count) in &node.sent {
        page.sample("peer_messages_total", &[("kind", kind)], count);
    }
    let mut each = |name: &str, kind: &str, help: &str, value: fn(&PeerStatus) -> f64| {
        page.family(name, kind, help);
        for other in &node.peers {
            page.sample(name, &[("peer", &other.id.number().to_string())], value(other));
        }
    };
    each("peer_connected", "gauge", "1 if this node is connected to the member, else 0.", |other| {
        f64::from(u8::from(other.is_connected))
    });
    each("peer_suspected", "gauge", "1 if this node suspects that the member has crashed, else 0.", |other| {
        f64::from(u8::from(other.is_suspected))
    });
    each("peer_suspicions_total", "counter", "Times that this node has suspected the member.", |other| {
        other.suspicions as f64
    });
    each("peer_reconnects_total", "counter", "Reconnections to the member.", |other| {
        other.connections.saturating_sub(1) as f64
    });
    each("peer_dropped_total", "counter", "Messages to the member that were dropped.", |other| other.dropped as f64);
    each(
        "peer_round_trip_seconds",
        "gauge",
        "Last measured round-trip time to the member; 0 if not measured.",
        |other| other.round_trip.map_or(0.0, |took| took.as_secs_f64()),
    );
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
    page.one("sessions", "gauge", "Open sessions.", sessions);
    page.one("sessions_opened_total", "counter", "Sessions opened while this node was the leader.", opened);
    page.one(
        "sessions_closed_total",
        "counter",
        "Sessions closed by their clients while this node was the leader.",
        closed,
    );
    page.one("sessions_expired_total", "counter", "Sessions that expired while this node was the leader.", expired);
    page.one("locks", "gauge", "Locks and elections that are held or awaited.", locks);
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
    gauge(
        "lock_holders",
        "Sessions that hold the lock or lead the election; kind other sums all names without a series of their own.",
        |crowd| crowd.0,
    );
    gauge("lock_waiting", "Sessions that wait for the lock or election.", |crowd| crowd.1);
    let mut counter = |name: &str, help: &str, value: fn(&Figures) -> u64| {
        page.family(name, "counter", help);
        for (name_of, figures) in &rows {
            page.sample(name, &labels(*name_of), value(figures));
        }
    };
    counter("lock_grants_total", "Grants made while this node was the leader.", |figures| figures.waits.count());
    counter(
        "lock_expiries_total",
        "Grants lost because their session expired, while this node was the leader.",
        |figures| figures.expired,
    );
    counter("lock_forced_total", "Grants released by force while this node was the leader.", |figures| figures.forced);
    counter(
        "lock_turns_lost_total",
        "Grants lost because this node lost the lock to another node (peer engine).",
        |figures| figures.turns_lost,
    );
    counter(
        "lock_left_total",
        "Requests that left the queue without a grant, while this node was the leader.",
        |figures| figures.left,
    );
    let mut histogram = |name: &str, help: &str, value: fn(&Figures) -> &Histogram| {
        page.family(name, "histogram", help);
        for (name_of, figures) in &rows {
            page.histogram(name, &labels(*name_of), value(figures));
        }
    };
    histogram("lock_wait_seconds", "Time from joining the queue to the grant, by the leader's clock.", |figures| {
        &figures.waits
    });
    histogram("lock_hold_seconds", "Time from the grant to its release or loss, by the leader's clock.", |figures| {
        &figures.holds
    });
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
    page.one("connections", "gauge", "Open connections, excluding streams.", load(&telemetry.connections));
    let total = load(&telemetry.connections_total);
    page.one("connections_total", "counter", "Connections accepted.", total);
    page.one("streams", "gauge", "Open streams of client libraries.", load(&telemetry.streams));
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
