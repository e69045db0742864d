//! Those who follow: an election, or everything.

use crate::running::Running;
use crate::support::{Directory, Served, quorate};

#[test]
fn an_election_is_followed_through_a_crash_of_the_node() {
    let directory = Directory::new();
    let mut node = Served::start(directory.path(), &[]);
    let observer = Running::start(&node.address, &["observe", "db"]);
    assert_eq!(observer.line(), "no leader");
    let campaign = r#"{"value": "10.0.0.1:5432\n", "label": "db1", "ttl": "60s"}"#;
    let (_, won) = node.post("/v1/elections/db/campaign", campaign);
    assert_eq!(observer.line(), format!("leader db1, fence {}, value 10.0.0.1:5432\\n", won["fence"]));
    let proclaim = format!(r#"{{"session": {}, "fence": {}, "value": "new"}}"#, won["session"], won["fence"]);
    assert_eq!(node.post("/v1/elections/db/proclaim", &proclaim).0, 204);
    assert_eq!(observer.line(), format!("leader db1, fence {}, value new", won["fence"]));
    let address = node.address.clone();
    node.kill();
    observer.until_it_complains("trying another node");
    let node = Served::start(directory.path(), &["--listen", &address]);
    // It leads still, so that is not told again.
    assert_eq!(node.post("/v1/elections/db/resign", &format!(r#"{{"session": {}}}"#, won["session"])).0, 204);
    assert_eq!(observer.line(), "no leader");
    let nobody = quorate("127.0.0.1:1", &["observe", "db"]);
    assert_eq!(nobody.status.code(), Some(1), "who never reached anybody does not wait");
}

#[test]
fn everything_is_watched_and_whether_something_was_missed_is_said() {
    let directory = Directory::new();
    let mut node = Served::start(directory.path(), &[]);
    // Only what happens after they have begun is certain to be seen: this tells when that is.
    let watch = Running::start(&node.address, &["watch", "job/", "--json"]);
    let others = Running::start(&node.address, &["watch"]);
    for begun in [&watch, &others] {
        crate::support::eventually("an event", || {
            node.post("/v1/locks/job%2Fx/acquire", r#"{"wait": 0, "mode": "shared"}"#);
            begun.try_line()
        });
    }
    let (_, other) = node.post("/v1/locks/other/acquire", "");
    let (_, grant) = node.post("/v1/locks/job%2F1/acquire", r#"{"ttl": "60s"}"#);
    let event = watch.until(|event| event["name"] == "job/1");
    assert_eq!((&event["event"], &event["fence"]), (&"granted".into(), &grant["fence"]), "{event}");
    assert_eq!(event["kind"], "lock");
    assert_eq!(event["index"], grant["fence"], "the number of the grant is that of the command");
    let session = other["session"].as_str().unwrap();
    let expected = format!("other  granted to session {session}, fence {}", other["fence"]);
    while !others.line().ends_with(&expected) {}
    let (_, won) = node.post("/v1/elections/job%2F1/campaign", r#"{"value": "me", "ttl": "60s"}"#);
    let event = watch.until(|event| event["name"] == "job/1");
    assert_eq!((&event["kind"], &event["fence"]), (&"election".into(), &won["fence"]), "no lock: {event}");
    let session = won["session"].as_str().unwrap();
    let expected = format!("election job/1  granted to session {session}, fence {}", won["fence"]);
    while !others.line().ends_with(&expected) {}

    let address = node.address.clone();
    node.kill();
    watch.until_it_complains("trying another node");
    let node = Served::start(directory.path(), &["--listen", &address]);
    watch.until_it_complains("no events were missed");
    let release = format!(r#"{{"session": {}}}"#, grant["session"]);
    assert_eq!(node.post("/v1/locks/job%2F1/release", &release).0, 204);
    let event = watch.until(|event| event["name"] == "job/1");
    assert_eq!((&event["event"], &event["why"]), (&"lost".into(), &"released".into()), "and nothing twice: {event}");
}
