//! `quorate observe` and `quorate watch`: events, as they happen.

use std::process::ExitCode;

use clap::Args;
use quorate_client::{Error, Event, Feed, News};
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::{DIM, HEADING, Terminal, styled};
use serde_json::{Value, json};

use super::{Endpoints, failed, harmless, in_words, run_async};

const OBSERVE_NOTES: &str = "\
Examples:
  Print the leader of the election `db` whenever it changes:
    quorate observe db
  The same as one JSON object a line:
    quorate observe db --json";

const WATCH_NOTES: &str = "\
Examples:
  Print all events:
    quorate watch
  Print events of locks and elections whose names begin with `job/`, as one JSON object a line:
    quorate watch job/ --json";

/// Follow an election: the leader, its value, and periods without a leader
///
/// Prints one line now, and one whenever the leader or its value changes, until Ctrl-C. When the connection is lost,
/// the command connects to another node, and prints the leader if it has changed; leaders in between are not shown.
#[derive(Args, Debug)]
#[command(after_long_help = OBSERVE_NOTES)]
pub(crate) struct Observe {
    /// Name of the election
    name: String,

    #[command(flatten)]
    endpoints: Endpoints,
}

/// Follow the events of sessions, locks and elections
///
/// Prints one line for each event until Ctrl-C, with the time of the leader's clock (UTC). When the connection is lost,
/// the command connects to another node, and reports whether events were missed.
#[derive(Args, Debug)]
#[command(after_long_help = WATCH_NOTES)]
pub(crate) struct Watch {
    /// Show only events of locks and elections whose names begin with PREFIX [default: all events, also of sessions]
    prefix: Option<String>,

    #[command(flatten)]
    endpoints: Endpoints,
}

pub(crate) fn observe(arguments: &Observe, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let client = arguments.endpoints.client().map_err(|error| failed(&error))?;
    let mut last = None;
    let show = |event: &Event, terminal: &mut Terminal| {
        let leader = &event.data["leader"];
        if event.kind != "leader" || last.as_ref() == Some(leader) {
            return None;
        }
        last = Some(leader.clone());
        Some(if terminal.is_json() { json!({ "leader": leader }).to_string() } else { led_by(leader) })
    };
    run_async(follow(client.observe(&arguments.name), show, terminal))
}

fn led_by(leader: &Value) -> String {
    let text = |field: &str| harmless(leader[field].as_str().unwrap_or_default());
    match leader {
        Value::Null => "no leader".into(),
        leader => format!("leader {}, fence {}, value {}", text("label"), leader["fence"], text("value")),
    }
}

pub(crate) fn watch(arguments: &Watch, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let client = arguments.endpoints.client().map_err(|error| failed(&error))?;
    // The last command of which the events were seen, and the last one before this connection.
    let (mut seen, mut before): (Option<u64>, Option<u64>) = (None, None);
    let show = |event: &Event, terminal: &mut Terminal| match event.kind.as_str() {
        "connected" => {
            if let Some(missed) = missed(seen, event.index) {
                terminal.warn(&missed);
            }
            before = seen;
            seen = seen.max(event.index);
            None
        }
        "missed" => {
            terminal.warn("events were missed: they happened faster than this command read them");
            None
        }
        // This node was behind the one before.
        _ if event.index.is_some() && event.index <= before => None,
        _ => {
            seen = seen.max(event.index);
            let is_wanted = arguments
                .prefix
                .as_ref()
                .is_none_or(|prefix| event.data["name"].as_str().is_some_and(|name| name.starts_with(prefix)));
            is_wanted.then(|| if terminal.is_json() { as_json(event) } else { in_a_line(event) })
        }
    };
    run_async(follow(client.watch(), show, terminal))
}

/// Which events were missed before this connection; nothing for the first one.
fn missed(seen: Option<u64>, now: Option<u64>) -> Option<String> {
    Some(match (seen?, now) {
        (seen, Some(now)) if now <= seen => "reconnected; no events were missed".into(),
        (seen, Some(now)) => {
            format!("reconnected; events may have been missed: those of log entries {} to {now}", seen + 1)
        }
        (_, None) => "reconnected; events may have been missed".into(),
    })
}

/// Prints what is to be shown of each event, until the output is closed.
async fn follow(
    mut feed: Feed,
    mut show: impl FnMut(&Event, &mut Terminal) -> Option<String>,
    terminal: &mut Terminal,
) -> Result<ExitCode, Failure> {
    loop {
        match feed.next().await.map_err(|error| failed(&error))? {
            News::Event(event) => {
                if let Some(line) = show(&event, terminal)
                    && !terminal.offer(&format!("{line}\n"))?
                {
                    return Ok(ExitCode::SUCCESS);
                }
            }
            News::Interrupted(Error::Unreachable { tried, why }) => {
                terminal.warn(&format!("lost the connection to {tried} ({why}); trying another node"));
            }
            News::Interrupted(error) => terminal.warn(&format!("{error}; trying another node")),
        }
    }
}

fn as_json(event: &Event) -> String {
    let mut shown = json!({ "event": event.kind, "index": event.index });
    if let (Value::Object(shown), Value::Object(data)) = (&mut shown, &event.data) {
        shown.extend(data.clone());
    }
    shown.to_string()
}

fn in_a_line(event: &Event) -> String {
    let data = &event.data;
    let text = |field: &str| harmless(data[field].as_str().unwrap_or_default());
    let span = |field: &str| in_words(data[field].as_u64().unwrap_or(0));
    let (name, session) = (styled(HEADING, &text("name")), text("session"));
    let name = if data["kind"] == "election" { format!("election {name}") } else { name };
    let what = match event.kind.as_str() {
        "session-opened" => format!("session {session} opened, TTL {}", span("ttl_ms")),
        "session-ended" if data["expired"] == true => format!("session {session} expired"),
        "session-ended" => format!("session {session} closed"),
        "queued" => format!("{name}  session {session} joined the queue"),
        "granted" => format!("{name}  granted to session {session}, fence {}", data["fence"]),
        "lost" => format!("{name}  no longer held by session {session}: {}", text("why")),
        "left" => format!("{name}  session {session} left the queue: {}", text("why")),
        "delayed" => format!("{name}  not granted for {} (lock delay)", span("delay_ms")),
        "vacant" => format!("{name}  free: no holder and no waiters"),
        "proclaimed" => format!("{name}  session {session} changed the leader's value"),
        "forced" => format!("{name}  released by force by {}", text("by")),
        "wanted" => format!("{name}  requested from the other nodes"),
        other => format!("{}  {}", harmless(other), harmless(&data.to_string())),
    };
    format!("{}  {what}", styled(DIM, &time_of_day(data["at_ms"].as_u64().unwrap_or(0))))
}

/// The time of day, in UTC.
fn time_of_day(at_ms: u64) -> String {
    let (seconds, ms) = (at_ms / 1_000 % 86_400, at_ms % 1_000);
    format!("{:02}:{:02}:{:02}.{ms:03}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconnecting_reports_whether_events_were_missed() {
        assert_eq!(missed(None, Some(7)), None);
        assert_eq!(missed(Some(7), Some(7)).unwrap(), "reconnected; no events were missed");
        assert!(missed(Some(7), Some(9)).unwrap().ends_with("log entries 8 to 9"));
        assert!(missed(Some(7), None).unwrap().contains("may have been missed"));
    }

    #[test]
    fn an_event_is_a_line_whatever_is_in_it() {
        let event =
            Event { kind: "granted".into(), index: Some(3), data: json!({ "name": "a\n", "at_ms": 3_723_004 }) };
        assert!(in_a_line(&event).contains("01:02:03.004") && !in_a_line(&event).contains('\n'));
        assert_eq!(led_by(&Value::Null), "no leader");
    }
}
