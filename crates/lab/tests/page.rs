//! The laboratory's page over HTTP: what each address answers, and what it refuses.

#![cfg(feature = "page")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use quorate_lab::page::{self, Limits};
use serde_json::Value;

/// A laboratory on a port of its own, until the test is over.
fn laboratory(limits: Limits) -> SocketAddr {
    let (told, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(listener.local_addr().unwrap()).unwrap();
            match page::serve(listener, limits).await {}
        });
    });
    address.recv().unwrap()
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

fn get_with(address: SocketAddr, path: &str, headers: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    // Of an older kind, so that no answer comes in chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n{headers}\r\n").unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{path} was answered {head:?}");
    }
    let mut body = String::new();
    reader.read_to_string(&mut body).unwrap();
    Answer { status: head[9..12].parse().unwrap(), head: head.to_lowercase(), body }
}

fn get(address: SocketAddr, path: &str) -> Value {
    let Answer { status, body, .. } = get_with(address, path, "");
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// A run, with what was told before it was there.
fn run_with_progress(address: SocketAddr, path: &str) -> (Value, Vec<Value>) {
    let Answer { status, head, body } = get_with(address, &format!("/api/run?{path}"), "");
    assert!(status == 200 && head.contains("content-type: text/event-stream"), "{path}: {head}{body}");
    let mut told = events(&body);
    let (name, run) = told.pop().unwrap();
    assert_eq!(name, "run");
    assert!(told.iter().all(|(name, _)| name == "progress"), "{told:?}");
    (run, told.into_iter().map(|(_, value)| value).collect())
}

fn run(address: SocketAddr, path: &str) -> Value {
    run_with_progress(address, path).0
}

fn refused(address: SocketAddr, path: &str) -> (u16, String) {
    let Answer { status, body, .. } = get_with(address, path, "");
    let value: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{path}: {status} {body}"));
    (status, value["error"].as_str().unwrap().to_string())
}

/// The steps of a run before a time, as they are told.
fn steps_before(run: &Value, time: f64) -> Vec<(String, Value)> {
    let steps = run["picture"]["run"]["steps"].as_array().unwrap().iter();
    let told = steps.map(|step| (step[2].as_str().unwrap().to_string(), step[3].clone()));
    told.filter(|(at, _)| at.parse::<f64>().unwrap() < time).collect()
}

/// What a stream of events says: each event with its value.
fn events(body: &str) -> Vec<(String, Value)> {
    let event = |text: &str| {
        let name = text.lines().find_map(|line| line.strip_prefix("event: "))?;
        let data = text.lines().find_map(|line| line.strip_prefix("data: "))?;
        Some((name.to_string(), serde_json::from_str(data).unwrap()))
    };
    body.split("\n\n").filter_map(event).collect()
}

#[test]
fn the_page_is_whole_and_the_browser_is_told_to_load_nothing_else() {
    let address = laboratory(Limits::ALONE);
    for page in ["/", "/check", "/claims"] {
        let Answer { status, head, body } = get_with(address, page, "");
        assert_eq!(status, 200);
        for part in ["default-src 'none'", "script-src 'self'", "style-src 'self' 'sha256-", "frame-ancestors 'none'"] {
            assert!(head.contains(part), "{page}: {head}");
        }
        assert!(!body.contains("http:") && !body.contains("https:"), "{page} names another place");
        assert!(!body.contains("style=") && !body.contains("onclick="), "{page} has what its policy forbids");
        for file in body.split('"').filter(|part| part.starts_with("/lab/") || part.starts_with("/web/")) {
            let Answer { status, head, .. } = get_with(address, file, "");
            assert_eq!(status, 200, "{file}");
            let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
            let again = get_with(address, file, &format!("If-None-Match: {tag}\r\n"));
            assert_eq!((again.status, again.body.as_str()), (304, ""), "{file} has not changed");
        }
    }
    for module in ["/lab/viewer.js", "/lab/parts.js", "/lab/controls.js", "/web/elements.js"] {
        assert_eq!(get_with(address, module, "").status, 200, "{module} is imported by others");
    }
}

#[test]
fn the_catalogue_says_what_can_be_chosen_and_how_much() {
    let catalogue = get(laboratory(Limits::CLASS), "/api/catalogue");
    let algorithms = catalogue["algorithms"].as_array().unwrap();
    assert_eq!(algorithms.len(), quorate_core::catalog::ENTRIES.len());
    let maekawa = algorithms.iter().find(|entry| entry["name"] == "maekawa").unwrap();
    assert_eq!(maekawa["options"][0]["key"], "sets");
    assert_eq!(catalogue["limits"]["processes"], 64);
}

#[test]
fn a_run_is_drawn_judged_and_measured() {
    let address = laboratory(Limits::ALONE);
    let path = "algorithm=ricart-agrawala&n=3&workload=alone&entries=1";
    let (first, run) = (run(address, path), run(address, path));
    assert_eq!(first, run, "the same address shows the same");
    assert_eq!(run["report"]["messages"], 4);
    let alone = run["published"].as_array().unwrap().iter().find(|row| row["measure"] == "messages, alone").unwrap();
    assert_eq!((&alone["published"], &alone["measured"]), (&Value::from(4.0), &Value::from(4.0)));
    assert_eq!(alone["unit"], "");
    let delay = run["published"].as_array().unwrap().iter().find(|row| row["measure"] == "client delay").unwrap();
    assert_eq!((&delay["unit"], &delay["measured"]), (&Value::from("δ"), &Value::from(2.0)));
    assert!(run["verdicts"].as_array().unwrap().iter().all(|one| one["verdict"] == "held"), "{}", run["verdicts"]);
    assert!(run["picture"]["svg"].as_str().unwrap().starts_with("<svg "));
    assert_eq!(
        run["picture"]["records"].as_array().map(Vec::len),
        run["picture"]["run"]["steps"].as_array().map(Vec::len)
    );
    assert!(run["command"].as_str().unwrap().starts_with("quorate sim ricart-agrawala -n 3"), "{}", run["command"]);
}

#[test]
fn what_is_done_to_a_run_changes_nothing_before_it() {
    let address = laboratory(Limits::ALONE);
    for world in ["delay=uniform:0.5..1.5&seed=7", "delay=exponential:1&loss-rate=0.1&seed=8"] {
        let path = format!("algorithm=central&n=5&entries=30&recovery=1&{world}");
        let before = run(address, &path);
        for done in ["crash=3@9.5", "crash=1@9.5&restart=1@30", "pause=2@9.5..20", "partition=4@9.5..20"] {
            let after = run(address, &format!("{path}&{done}"));
            let told = steps_before(&before, 9.5);
            assert!(told.len() > 10);
            assert_eq!(told, steps_before(&after, 9.5), "{world} {done}");
            assert_ne!(before["picture"]["run"]["steps"], after["picture"]["run"]["steps"], "{world} {done}");
        }
    }
}

#[test]
fn who_recovers_goes_on_after_a_crash() {
    let address = laboratory(Limits::ALONE);
    let run = run(address, "algorithm=suzuki-kasami&n=5&entries=20&recovery=1&crash=2@6.5");
    let verdict = |name: &str| {
        let mut verdicts = run["verdicts"].as_array().unwrap().iter();
        verdicts.find(|one| one["property"] == name).unwrap()["verdict"].clone()
    };
    assert_eq!((verdict("mutual-exclusion"), verdict("progress")), ("held".into(), "held".into()));
    let last = run["picture"]["run"]["steps"].as_array().unwrap().last().unwrap()[2].as_str().unwrap().to_string();
    assert!(last.parse::<f64>().unwrap() > 6.5);
}

#[test]
fn a_process_is_shown_before_and_after_a_step() {
    let address = laboratory(Limits::ALONE);
    let path = "algorithm=ricart-agrawala&n=3&workload=alone&entries=1";
    let run = run(address, path);
    let steps = run["picture"]["run"]["steps"].as_array().unwrap();
    let lines = run["picture"]["run"]["lines"].as_array().unwrap();
    let look = |step: usize| {
        let process = lines[steps[step][1].as_u64().unwrap() as usize][0].as_str().unwrap()[1..].to_string();
        let record = &run["picture"]["records"][step];
        get(address, &format!("/api/state?{path}&record={record}&process={process}"))
    };
    let asks = steps.iter().position(|step| step[3].to_string().contains("requests entry")).unwrap();
    let state = look(asks);
    assert!(state["before"].as_str().unwrap().contains("Released"), "{state}");
    assert!(state["after"].as_str().unwrap().contains("Wanted"), "{state}");
    let enters = steps.iter().position(|step| step[4] == 1).unwrap();
    let state = look(enters);
    assert!(state["before"].as_str().unwrap().contains("Wanted"), "{state}");
    assert!(state["after"].as_str().unwrap().contains("Held"), "{state}");
    let (status, why) = refused(address, &format!("/api/state?{path}&record=100000&process=1"));
    assert_eq!((status, why.as_str()), (400, "record 100000 of this run does not belong to p1"));
}

#[test]
fn a_crash_leaves_nothing_of_a_process() {
    let address = laboratory(Limits::ALONE);
    let path = "algorithm=central&n=3&entries=6&recovery=1&crash=2@2.5";
    let run = run(address, path);
    let steps = run["picture"]["run"]["steps"].as_array().unwrap();
    let crash = steps.iter().position(|step| step[3].to_string().contains("CRASHES")).unwrap();
    let record = &run["picture"]["records"][crash];
    let state = get(address, &format!("/api/state?{path}&record={record}&process=2"));
    assert_ne!(state["before"], "");
    assert_eq!(state["after"], "");
}

#[test]
fn a_part_in_which_nothing_happens_says_so() {
    let run = run(laboratory(Limits::ALONE), "algorithm=central&n=3&from=500");
    let note = run["picture"]["notes"][0].as_str().unwrap();
    assert!(note.starts_with("no event is in this part: the run lasts from 0 to "), "{note}");
    assert_eq!(run["picture"]["run"]["steps"], Value::Array(vec![]));
}

#[test]
fn the_checker_finds_maekawas_deadlock_and_shows_it() {
    let address = laboratory(Limits::CLASS);
    let Answer { status, head, body } = get_with(address, "/api/check?algorithm=maekawa&n=3", "");
    assert_eq!(status, 200);
    assert!(head.contains("text/event-stream"), "{head}");
    let events = events(&body);
    assert!(events.iter().any(|(name, value)| name == "progress" && value["states"].as_u64().unwrap() > 0));
    let (name, found) = events.last().unwrap();
    assert_eq!(name, "found");
    let verdicts = found["verdicts"].as_array().unwrap();
    let of = |goal: &str| verdicts.iter().find(|one| one["goal"] == goal).unwrap();
    assert_eq!(of("mutual-exclusion")["verdict"], "holds");
    assert_eq!(of("deadlock-freedom")["verdict"], "violated");
    assert!(of("deadlock-freedom")["picture"]["svg"].as_str().unwrap().contains("<svg "));
    assert_eq!(found["complete"], true);
}

#[test]
fn a_search_that_is_too_large_for_a_class_is_given_up_in_words() {
    let limits = Limits { states: 1_000, ..Limits::CLASS };
    let body = get_with(laboratory(limits), "/api/check?algorithm=lamport&n=4&entries-each=2", "").body;
    let events = events(&body);
    let (_, found) = events.last().unwrap();
    assert_eq!(found["complete"], false);
    let undecided = found["verdicts"].as_array().unwrap().iter().filter(|one| one["verdict"] == "undecided");
    assert!(undecided.count() > 0, "{found}");
}

/// Asks as somebody else: from another address of this machine.
fn get_as_another(address: SocketAddr, path: &str) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        socket.connect(address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(&stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
    stream
}

/// What each process is doing after a step, and what it thinks.
fn cards(run: &Value, step: usize) -> Vec<(Value, Value)> {
    let lines = run["picture"]["run"]["lines"].as_array().unwrap().iter();
    let mut cards: Vec<_> = lines.map(|line| (line[2].clone(), line[3].clone())).collect();
    let changes = run["picture"]["run"]["changes"].as_array().unwrap().iter();
    for change in changes.take_while(|change| change[0].as_u64().unwrap() as usize <= step) {
        cards[change[1].as_u64().unwrap() as usize] = (change[2].clone(), change[3].clone());
    }
    cards
}

#[test]
fn a_part_of_a_run_tells_of_everybody_what_the_whole_run_tells() {
    let address = laboratory(Limits::ALONE);
    let path = "algorithm=central&n=4&entries=30&recovery=1&crash=3@3";
    let (whole, part) = (run(address, path), run(address, &format!("{path}&records=401..500")));
    let records = |run: &Value| run["picture"]["records"].as_array().unwrap().clone();
    let mut compared = 0;
    // The last step may be cut.
    for (step, record) in records(&part).iter().enumerate().rev().skip(1) {
        if let Some(there) = records(&whole).iter().position(|other| other == record) {
            assert_eq!(cards(&part, step), cards(&whole, there), "record {record}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
    assert!(cards(&part, 0).iter().any(|(_, note)| note == "suspects p3"), "{:?}", cards(&part, 0));
}

/// A class shares the laboratory: whoever asks for as much as one may does not keep others from a small run.
#[test]
fn long_searches_of_one_visitor_keep_no_other_from_a_run() {
    let address = laboratory(Limits { states: u64::MAX, bytes: 4_000_000_000, ..Limits::CLASS });
    let ask = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let path = "/api/check?algorithm=lamport&n=5&entries-each=3";
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
        stream
    };
    let busy: Vec<TcpStream> = (0..Limits::CLASS.at_once).map(ask).collect();
    // One of them has begun.
    let mut first = String::new();
    BufReader::new(busy[0].try_clone().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("200"), "{first}");
    for path in ["/api/run?algorithm=central&n=3&entries=2", "/api/state?algorithm=central&n=3&record=0&process=1"] {
        let mut answer = String::new();
        get_as_another(address, path).read_to_string(&mut answer).expect("an answer, while the others are busy");
        assert!(answer.starts_with("HTTP/1.0 200") || answer.contains("does not belong to"), "{answer}");
    }
    drop(busy);
}

#[test]
fn the_checker_says_what_its_verdicts_leave_open() {
    let body = get_with(laboratory(Limits::CLASS), "/api/check?algorithm=ricart-agrawala&n=2", "").body;
    let events = events(&body);
    let (_, found) = events.last().unwrap();
    let order = found["verdicts"].as_array().unwrap().iter().find(|one| one["goal"] == "request-order").unwrap();
    assert_eq!(
        order["why"], "checked without application messages; --pokes P explores runs with up to P of them",
        "{order}"
    );
}

#[test]
fn claims_are_listed_with_the_verdicts_of_this_release() {
    let list = get(laboratory(Limits::CLASS), "/api/claims");
    let claims: Vec<&Value> =
        list["sections"].as_array().unwrap().iter().flat_map(|one| one["claims"].as_array().unwrap()).collect();
    assert!(claims.iter().all(|claim| claim["verdict"].is_string()), "{list}");
    let is_known = |claim: &&Value| {
        claim["verdict"] != "not-yet" || claim["words"].as_str().is_some_and(|words| words.starts_with("not yet"))
    };
    assert!(claims.iter().all(is_known), "{list}");
    let of = |id: &str| claims.iter().find(|claim| claim["id"] == id).unwrap()["verdict"].clone();
    assert_eq!([of("P1"), of("P5"), of("P6.liveness")], ["definition", "holds", "conditional"]);
}

#[test]
fn a_claim_is_judged_when_somebody_asks() {
    let address = laboratory(Limits::ALONE);
    let list = get(address, "/api/claims");
    let sections = list["sections"].as_array().unwrap().iter();
    let count: usize = sections.map(|section| section["claims"].as_array().unwrap().len()).sum();
    assert_eq!(count, quorate_lab::claims::claims().len());
    let ruling = get(address, "/api/claim?id=P6.liveness");
    assert_eq!(ruling["verdict"], "conditional");
    assert_eq!(ruling["exhibit"]["algorithm"], "maekawa");
    let drawing = ruling["exhibit"]["picture"]["svg"].as_str().unwrap();
    assert!(drawing.contains("<svg ") && drawing.contains("Marked: "), "it shows where the claim breaks: {drawing}");
    assert_eq!(ruling, get(address, "/api/claim?id=P6.liveness"));
    let (status, why) = refused(address, "/api/claim?id=P6");
    assert_eq!((status, why.as_str()), (400, "`P6` is several claims: P6.overtaking, P6.liveness"));
}

#[test]
fn what_is_too_much_or_makes_no_sense_is_refused_in_words() {
    let address = laboratory(Limits::CLASS);
    for (path, words) in [
        ("/api/run?algorithm=raft", "unknown algorithm `raft`"),
        ("/api/run?n=65", "n = 65 is more than this laboratory allows: at most 64"),
        ("/api/run?crash=9@1", "crash of process 9: no such process; process ids are 1 to 5"),
        ("/api/run?delay=later", "`later` is not a delay"),
        ("/api/run?loss=0.1", "this page has no parameter loss: use loss-rate=P"),
        ("/api/check?loss=1", "this page has no parameter loss: use losses=L"),
        ("/api/check?algorithm=central&sets=grid", "--sets works only with maekawa"),
        ("/api/check?n=6", "n = 6 is more than this laboratory allows: at most 5"),
    ] {
        let (status, why) = refused(address, path);
        assert_eq!(status, 400, "{path}: {why}");
        assert!(why.contains(words), "{path}: {why}");
    }
    let elsewhere = get_with(address, "/api/run", "Sec-Fetch-Site: cross-site\r\n");
    assert_eq!(elsewhere.status, 403, "{}", elsewhere.body);
}

#[test]
fn a_run_without_end_is_cut_off_and_says_so() {
    let limits = Limits { events: 2_000, ..Limits::CLASS };
    let run = run(laboratory(limits), "algorithm=token-ring&n=5&entries=1000000");
    let ending = run["ending"].as_str().unwrap();
    assert!(ending.ends_with("and stopped at this laboratory's limit of 2000 events"), "{ending}");
    assert_eq!(run["report"]["ending"], "cut-off");
}

#[test]
fn a_long_run_says_how_far_it_is() {
    let (run, told) = run_with_progress(laboratory(Limits::ALONE), "algorithm=central&n=5&entries=20000");
    assert_eq!(run["report"]["entries"], 20_000);
    let first = told.first().expect("progress is told");
    assert!(first["events"].as_u64().unwrap() > 0 && first["entries"].as_u64().unwrap() < 20_000, "{first}");
}

/// Names and labels come from algorithms here, but what an address says may come back in words.
#[test]
fn what_an_address_says_comes_back_as_text() {
    let address = laboratory(Limits::CLASS);
    let Answer { status, head, body } = get_with(address, "/api/run?algorithm=%3Cscript%3E", "");
    assert_eq!(status, 400);
    assert!(head.contains("content-type: application/json") && head.contains("nosniff"), "{head}");
    assert!(body.contains("<script>"), "a browser does not take JSON for markup");
}

/// The laboratory is for everybody: whoever connects as often as the system has files, and says nothing, keeps nobody
/// else out, and is let go after a while.
#[test]
fn idle_connections_of_one_visitor_keep_no_other_out() {
    let limits = Limits { connections: 3, connections_in_all: 5, patience: Duration::from_secs(2), ..Limits::CLASS };
    let address = laboratory(limits);
    let idle: Vec<_> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut answer = String::new();
    get_as_another(address, "/api/catalogue").read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    for mut connection in idle {
        connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // A timeout is told or not; in any case that is the end of it, rather than of our patience.
        let mut told = Vec::new();
        let ended = connection.read_to_end(&mut told);
        let is_over = ended.as_ref().map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true);
        assert!(is_over, "{ended:?}");
    }
    assert_eq!(get(address, "/api/catalogue")["limits"]["at_once"], 4, "there is room again");
}
