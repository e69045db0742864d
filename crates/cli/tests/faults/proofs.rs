//! The harness proves itself: with each of these bugs, made on purpose, it must find fault.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::{Cluster, address, eventually, post};
use crate::faults::Fault;
use crate::history::{Answer, Line, What, now};
use crate::http::ask;
use crate::judge::{Judge, MOST_STEPS};
use crate::network::Network;
use crate::order;
use crate::run::{Plan, run};

/// How long to wait for an answer that must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// So often a bug that shows by luck is given a chance to.
const MOST_TRIES: usize = 8;
/// So much of a complaint is shown.
const LONGEST: usize = 120;

/// Shows that every bug is found, and that nothing is found where there is none.
pub(crate) fn prove(network: &mut Network, directory: &Path) {
    order::prove();
    let sound = told_late(directory, &[]);
    assert!(sound.is_empty(), "complaints without a bug: {sound:?}");
    report("a node that does not check a victory again", &told_late(directory, &["QUORATE_TEST_LOOK_ONCE"]));
    let sound = renewed_late(directory, &[]);
    assert!(sound.is_empty(), "complaints without a bug: {sound:?}");
    report("a node that renews an expired session", &renewed_late(directory, &["QUORATE_TEST_RENEW_EXPIRED"]));
    let plan = |fault, switches, ignores_expiry| Plan {
        seed: 1,
        faults: 0,
        only: Some(vec![fault]),
        switches,
        ignores_expiry,
    };
    // Whether anything was acknowledged and not yet synced at the moment of the kill is a matter of luck.
    let plan_of_losses = plan(Fault::KillAll, vec!["QUORATE_TEST_ACK_EARLY"], false);
    let losses = (1..=MOST_TRIES).map(|attempt| {
        let directory = directory.join(format!("losses-{attempt}"));
        run(&plan_of_losses, network, &directory).judgement.complaints
    });
    let noticed = losses.into_iter().find(|complaints| !complaints.is_empty());
    report("a node that acknowledges before the sync", &noticed.unwrap_or_default());
    let plan_of_sleepers = plan(Fault::PauseClients, vec![], true);
    report(
        "clients that ignore the end of their lease",
        &run(&plan_of_sleepers, network, directory).judgement.complaints,
    );
}

fn report(bug: &str, complaints: &[String]) {
    let shortest = complaints.iter().min_by_key(|complaint| complaint.len());
    let shortest = shortest.unwrap_or_else(|| panic!("the harness does not find this bug: {bug}"));
    let told: String = shortest.lines().next().unwrap_or_default().chars().take(LONGEST).collect();
    println!("found     {bug}: {told}");
}

/// A conversation that is written down as it happens, by hand.
#[derive(Default)]
struct Script {
    lines: Vec<Line>,
}

impl Script {
    fn invoke(&mut self, who: &str) -> u64 {
        let (operation, what) = (self.lines.len() as u64, What::Acquire { is_shared: false });
        self.lines.push(Line::Invoked { operation, at: now(), who: who.into(), lock: "e".into(), what });
        operation
    }

    fn granted(&mut self, operation: u64, grant: &Value) {
        let fence = grant["fence"].as_u64().unwrap_or_else(|| panic!("{grant} is no grant"));
        self.lines.push(Line::Answered { operation, at: now(), answer: Answer::Granted { fence } });
        self.sure(operation);
    }

    fn sure(&mut self, operation: u64) {
        self.lines.push(Line::Sure { operation, at: now() });
    }

    fn judge(&self, directory: &Path) -> Vec<String> {
        let lines: Vec<_> = self.lines.iter().map(|line| serde_json::to_string(line).expect("a line")).collect();
        Judge::read(lines.iter().map(String::as_str)).judge(&directory.join("nothing"), MOST_STEPS).complaints
    }
}

/// Opens a session that lasts so long at a node.
fn session(node: usize, ttl_ms: u64) -> String {
    let opened = eventually("a session", || match post(node, "/v1/sessions", &json!({ "ttl": ttl_ms }), PATIENCE) {
        Ok((201, opened)) => Some(opened),
        _ => None,
    });
    opened["session"].as_str().expect("a session has a number").into()
}

fn campaign(node: usize, session: &str) -> Option<Value> {
    let body = json!({ "session": session, "value": session });
    post(node, "/v1/elections/e/campaign", &body, PATIENCE)
        .ok()
        .filter(|(status, _)| *status == 200)
        .map(|(_, won)| won)
}

fn waiting() -> Option<u64> {
    (1..=3).find_map(|node| {
        let (_, election) = ask(&address(node), "GET", "/v1/elections/e", &Value::Null, PATIENCE).ok()?;
        election["waiting"].as_u64()
    })
}

/// A candidate waits at a follower that stands still while it wins, while its session expires and while the next one
/// wins. When the follower goes on, the candidate must not be told that it leads.
fn told_late(directory: &Path, switches: &[&'static str]) -> Vec<String> {
    let mut cluster = Cluster::start(directory, switches);
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let mut script = Script::default();
    let (first, late, next) = (session(leader, 60_000), session(leader, 1000), session(leader, 60_000));
    campaign(leader, &first).expect("nobody else campaigns");
    let late_operation = script.invoke("late");
    let told_late = std::thread::spawn(move || campaign(follower, &late));
    eventually("the first candidate in line", || (waiting()? == 1).then_some(()));
    let next_operation = script.invoke("next");
    let told_next = std::thread::spawn(move || campaign(leader, &next));
    eventually("the second candidate in line", || (waiting()? == 2).then_some(()));
    cluster.pause(follower);
    let resign = json!({ "session": first });
    eventually("the resignation", || {
        matches!(post(leader, "/v1/elections/e/resign", &resign, PATIENCE), Ok((204 | 404 | 409, _))).then_some(())
    });
    // It comes after the late one's session has expired: nobody renews it.
    let won = told_next.join().expect("no candidate panics").expect("the next candidate wins");
    script.granted(next_operation, &won);
    cluster.resume();
    if let Some(won) = told_late.join().expect("no candidate panics") {
        script.granted(late_operation, &won);
    }
    script.sure(next_operation);
    script.judge(directory)
}

/// A session expires, and somebody else is granted what it held. Then it is renewed, which must not be answered.
fn renewed_late(directory: &Path, switches: &[&'static str]) -> Vec<String> {
    let cluster = Cluster::start(directory, switches);
    let leader = cluster.leader();
    let mut script = Script::default();
    let (late, next) = (session(leader, 300), session(leader, 60_000));
    let (late_operation, next_operation) = (script.invoke("late"), script.invoke("next"));
    let Some(won) = campaign(leader, &late) else { return Vec::new() };
    script.granted(late_operation, &won);
    let won = campaign(leader, &next).expect("the next candidate wins");
    script.granted(next_operation, &won);
    let renewed = post(leader, &format!("/v1/sessions/{late}/renew"), &Value::Null, PATIENCE);
    if let Ok((200, _)) = renewed {
        script.sure(late_operation);
    }
    script.sure(next_operation);
    script.judge(directory)
}
