//! The document of the interface is true: its examples are sent to a node, and the answers are what it says.

use quorate_client::contract::{Problem, ProblemKind};
use serde_json::{Value, json};

use crate::schema::{judge, resolve};
use crate::served::{Answer, Served};

const METHODS: [&str; 3] = ["get", "post", "delete"];

/// An operation of the document: its method, its path, and what is said of it.
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) said: Value,
}

impl Operation {
    pub(crate) fn id(&self) -> &str {
        self.said["operationId"].as_str().unwrap()
    }

    /// The schema and the example of its body.
    pub(crate) fn body(&self) -> Option<(&Value, &Value)> {
        let content = self.said.pointer("/requestBody/content/application~1json")?;
        Some((&content["schema"], &content["example"]))
    }
}

pub(crate) fn operations(document: &Value) -> Vec<Operation> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        METHODS.into_iter().filter_map(|method| {
            let said = methods.get(method)?.clone();
            Some(Operation { method, path: path.clone(), said })
        })
    });
    operations.collect()
}

/// Judges an answer by what the document says of the operation, and says whether it was a problem.
fn judge_answer(document: &Value, operation: &Operation, answer: &Answer) -> bool {
    let (id, responses) = (operation.id(), &operation.said["responses"]);
    let (said, is_problem) = match responses.get(answer.status.to_string()) {
        Some(said) => (said, false),
        None => (resolve(document, responses["default"]["$ref"].as_str().unwrap()), true),
    };
    let Some(content) = said.get("content").map(|content| content.as_object().unwrap()) else {
        assert!(answer.body.is_empty(), "{id}: {}", answer.text());
        return is_problem;
    };
    let media = answer.media().unwrap_or_else(|| panic!("{id} does not say what it answers: {}", answer.head));
    let said = content.get(media).unwrap_or_else(|| panic!("{id} answers {media}, not {content:?}"));
    let body = if media.ends_with("json") { answer.json() } else { Value::String(answer.text()) };
    if content.len() == 1 && media == "application/json" && said["schema"]["type"] == "string" {
        // The document describes itself only as what it is.
        return is_problem;
    }
    judge(document, &said["schema"], &body).unwrap_or_else(|why| panic!("{id} answers {body}: {why}"));
    is_problem
}

/// Brings about what an operation needs, and says for which session and fence.
fn prepare(node: &Served, operation: &Operation, name: &str) -> (String, Option<u64>) {
    let session = node.session();
    let path = match operation.id() {
        "releaseLock" | "forceRelease" => format!("/v1/locks/{name}/acquire"),
        "proclaim" | "resign" | "showElection" | "listElections" | "forceResignation" => {
            format!("/v1/elections/{name}/campaign")
        }
        "withdraw" | "showLock" | "listLocks" => {
            // Somebody else holds it, so the session waits.
            assert_eq!(node.post(&format!("/v1/locks/{name}/acquire"), r#"{"mode": "shared"}"#).status, 200);
            let mode = r#"{"wait": 0, "mode": {"permits": 3}}"#;
            assert_eq!(node.post(&format!("/v1/locks/{name}-permits/acquire"), mode).status, 200);
            return (session, None);
        }
        _ => return (session, None),
    };
    let granted = node.post(&path, &json!({ "session": session, "request": 1 }).to_string()).json();
    (session, granted["fence"].as_u64())
}

#[test]
fn the_examples_of_the_document_work_and_the_answers_are_what_it_says() {
    let node = Served::start();
    let document = node.get("/v1/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let operations = operations(&document);
    assert!(operations.len() > 20, "{}", operations.len());
    // Nobody is at the address of the example, and nobody can be removed who is not there.
    let impossible = ["addMember", "removeMember"];
    for (at, operation) in operations.iter().enumerate() {
        let name = format!("n{at}");
        let (session, fence) = prepare(&node, operation, &name);
        let path = operation.path.replace("{session}", &session).replace("{name}", &name).replace("{node}", "7");
        let body = operation.body().map(|(schema, example)| {
            judge(&document, schema, example).unwrap();
            let mut body = example.clone();
            if body.get("session").is_some() {
                body["session"] = json!(session);
            }
            if body.get("fence").is_some() {
                body["fence"] = json!(fence);
            }
            if body.get("address").is_some() {
                body["address"] = json!("127.0.0.1:1");
            }
            judge(&document, schema, &body).unwrap();
            body.to_string()
        });
        let answer = match operation.id() {
            "observe" => node.begin(&path, "\n\n"),
            "watch" => node.begin(&path, "\r\n\r\n"),
            _ => node.ask(&operation.method.to_uppercase(), &path, body.unwrap_or_default().as_bytes()),
        };
        if operation.id() == "stream" {
            assert_eq!(answer.status, 426, "without an upgrade it says that one is needed");
            continue;
        }
        let is_problem = judge_answer(&document, operation, &answer);
        assert_eq!(is_problem, impossible.contains(&operation.id()), "{}: {}", operation.id(), answer.text());
    }
}

#[test]
fn problems_are_what_the_document_says_and_all_kinds_are_in_it() {
    let node = Served::start();
    let document = node.get("/v1/openapi.json").json();
    let schema = resolve(&document, "#/components/schemas/Problem");
    let table = document.pointer("/components/responses/Problem/description").unwrap().as_str().unwrap();
    for kind in ProblemKind::ALL {
        let problem = serde_json::to_value(Problem::new(kind, "why")).unwrap();
        judge(&document, schema, &problem).unwrap();
        assert!(table.contains(&format!("| `{}` | {} |", kind.name(), kind.status())), "{kind:?}: {table}");
    }
    let unknown = json!({ "type": "no-such-kind", "title": "", "status": 400, "detail": "" });
    assert!(judge(&document, schema, &unknown).is_err());
    node.post("/v1/locks/a/acquire", r#"{"label": "holder"}"#);
    for (path, body, expected) in [
        ("/v1/locks/a/acquire", r#"{"wait": 0}"#, "held"),
        ("/v1/locks/a/acquire", r#"{"wait": "50ms"}"#, "waited-in-vain"),
        ("/v1/locks/a/acquire", r#"{"session": "1"}"#, "no-session"),
        ("/v1/locks/b/force", "", "not-held"),
        ("/v1/locks/a/acquire", r#"{"ttl": "soon"}"#, "bad-request"),
        ("/v1/nothing", "", "no-such-address"),
    ] {
        let answer = node.post(path, body);
        assert_eq!(answer.media(), Some("application/problem+json"), "{path} {body}");
        judge(&document, schema, &answer.json()).unwrap();
        assert_eq!(answer.json()["type"], expected);
    }
}

#[test]
fn every_address_of_the_document_is_there_and_no_method_besides() {
    let node = Served::start();
    let document = node.get("/v1/openapi.json").json();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.replace("{session}", "1").replace("{name}", "x").replace("{node}", "0");
        for method in METHODS.into_iter().filter(|method| methods.get(method).is_none()) {
            let answer = node.ask(&method.to_uppercase(), &path, b"");
            assert_eq!(answer.status, 405, "{method} {path}: {}", answer.text());
        }
    }
    let own: Vec<_> = operations(&document).iter().map(|operation| operation.id().to_string()).collect();
    let mut unique = own.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), own.len(), "names of operations are unique");
}
