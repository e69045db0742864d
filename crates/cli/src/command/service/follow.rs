//! `quorate observe` and `quorate watch`: what happens, as it happens.

use std::process::ExitCode;

use clap::Args;
use quorate_client::{Event, Feed, News};
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::{DIM, HEADING, Terminal, styled};
use serde_json::{Value, json};

use super::{Endpoints, failed, harmless, in_words, run_async};

/// Follow an election: who leads, what it says, and when nobody does
///
/// One line now, and one whenever it changes, until Ctrl-C. When the connection is lost, another node is asked, and
/// what has changed meanwhile is shown; leaders who came and went in between are not.
#[derive(Args, Debug)]
pub(crate) struct Observe {
    /// The election's name
    name: String,

    #[command(flatten)]
    endpoints: Endpoints,
}

/// Follow what happens to sessions, locks and elections
///
/// One line for each event, until Ctrl-C, with the time by the leader's clock (UTC). When the connection is lost,
/// another node is asked; whether anything was missed in between is said.
#[derive(Args, Debug)]
pub(crate) struct Watch {
    /// Only locks and elections whose names begin like this; by default all, and sessions
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
        Value::Null => "nobody leads".into(),
        leader => format!("{} leads, fence {}: {}", text("label"), leader["fence"], text("value")),
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
            terminal.warn("events were missed: more happened than could be told");
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

/// What there is to say when a node is found again: nothing at first.
fn missed(seen: Option<u64>, now: Option<u64>) -> Option<String> {
    Some(match (seen?, now) {
        (seen, Some(now)) if now <= seen => "connected again; nothing was missed".into(),
        (seen, Some(now)) => {
            let (from, many) = (seen + 1, now - seen);
            format!("connected again; events may have been missed: of {many} commands, numbers {from} to {now}")
        }
        (_, None) => "connected again; events may have been missed".into(),
    })
}

/// Prints what is to be shown of each event, until nobody reads any more.
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
            News::Interrupted(error) => terminal.warn(&format!("{error}; looking for another node")),
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
        "session-opened" => format!("session {session} is open, for {} without renewal", span("ttl_ms")),
        "session-ended" if data["expired"] == true => format!("session {session} has expired"),
        "session-ended" => format!("session {session} is closed"),
        "queued" => format!("{name}  {session} waits"),
        "granted" => format!("{name}  {session} has it, fence {}", data["fence"]),
        "lost" => format!("{name}  {session} has it no more: {}", text("why")),
        "left" => format!("{name}  {session} waits no more: {}", text("why")),
        "delayed" => format!("{name}  nobody gets it for {}", span("delay_ms")),
        "vacant" => format!("{name}  nobody has it or waits"),
        "proclaimed" => format!("{name}  {session} says something else"),
        "forced" => format!("{name}  taken away by {}", text("by")),
        "wanted" => format!("{name}  this node asks for its turn"),
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
    fn it_is_said_whether_anything_was_missed() {
        assert_eq!(missed(None, Some(7)), None);
        assert_eq!(missed(Some(7), Some(7)).unwrap(), "connected again; nothing was missed");
        assert!(missed(Some(7), Some(9)).unwrap().ends_with("of 2 commands, numbers 8 to 9"));
        assert!(missed(Some(7), None).unwrap().contains("may have been missed"));
    }

    #[test]
    fn an_event_is_a_line_whatever_is_in_it() {
        let event =
            Event { kind: "granted".into(), index: Some(3), data: json!({ "name": "a\n", "at_ms": 3_723_004 }) };
        assert!(in_a_line(&event).contains("01:02:03.004") && !in_a_line(&event).contains('\n'));
        assert_eq!(led_by(&Value::Null), "nobody leads");
    }
}
