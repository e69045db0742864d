//! Whatever is wrong with a body: it gets an answer that says so, and names the field. The requests are those of the
//! document, each broken in every way that its schema makes possible.

use serde_json::{Map, Value, json};

use crate::openapi::{Operation, operations};
use crate::schema::resolve;
use crate::served::{Answer, Served};

/// A body that is broken, and the field that is to blame, if it is one.
struct Broken {
    what: String,
    body: Vec<u8>,
    field: Option<String>,
}

fn broken(what: impl Into<String>, body: impl Into<Vec<u8>>, field: Option<&str>) -> Broken {
    Broken { what: what.into(), body: body.into(), field: field.map(String::from) }
}

/// The example with a field of this text, which need not be JSON.
fn with(example: &Map<String, Value>, field: &str, text: &str) -> String {
    let rest = example.iter().filter(|(name, _)| *name != field).map(|(name, value)| format!("{name:?}: {value}"));
    let fields: Vec<_> = rest.chain([format!("{field:?}: {text}")]).collect();
    format!("{{{}}}", fields.join(", "))
}

fn breakages(document: &Value, operation: &Operation) -> Vec<Broken> {
    let Some((schema, example)) = operation.body() else { return Vec::new() };
    let schema = schema.get("$ref").map_or(schema, |reference| resolve(document, reference.as_str().unwrap()));
    let (example, known) = (example.as_object().unwrap(), schema["properties"].as_object().unwrap());
    assert_eq!(schema["additionalProperties"], false, "{} takes anything", operation.id());
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let mut all = vec![
        broken("no object", "7", None),
        broken("half a body", r#"{"tt"#, None),
        broken("two bodies", format!("{} {{}}", operation.body().unwrap().1), None),
        broken("deep nesting", deep.clone(), None),
        broken("no text", b"\xff\xfe{}".to_vec(), None),
        broken("a field of no text", [b"{\"\xff\": 1}".as_slice()].concat(), None),
        broken("an unknown field", with(example, "unheard_of", "1"), Some("unheard_of")),
        broken("a huge body", " ".repeat(300_000), None),
    ];
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let mut rest = example.clone();
        rest.remove(name.as_str().unwrap());
        all.push(broken(format!("without {name}"), Value::Object(rest).to_string(), name.as_str()));
    }
    for name in known.keys() {
        for value in ["true", "[]", "{}", "-1", "1.5", "1e999", "18446744073709551616", &deep] {
            let what = format!("{name} = {}", &value[..value.len().min(30)]);
            all.push(broken(what, with(example, name, value), Some(name)));
        }
        all.push(broken(format!("{name} = NaN"), with(example, name, "NaN"), Some(name)));
        let mut bytes = with(example, name, "\"?\"").into_bytes();
        let at = bytes.iter().rposition(|byte| *byte == b'?').unwrap();
        bytes[at] = 0xff;
        all.push(broken(format!("{name} = no text"), bytes, Some(name)));
        let long = json!("x".repeat(200_000)).to_string();
        all.push(broken(format!("{name} = a long text"), with(example, name, &long), Some(name)));
        let twice = with(example, name, &format!("null, {name:?}: null"));
        all.push(broken(format!("{name} twice"), twice, Some(name)));
    }
    all
}

/// What is wrong with an answer, if anything is.
fn complaint(operation: &Operation, broken: &Broken, answer: &Answer) -> Option<String> {
    let Broken { what, field, .. } = broken;
    let is_problem = (400..500).contains(&answer.status) && answer.media() == Some("application/problem+json");
    let is_named = is_problem && {
        let problem = answer.json();
        match field {
            // Part of a field may be to blame, as in `mode.permits`.
            Some(field) => problem["field"].as_str().is_some_and(|named| named.split('.').next() == Some(field)),
            None => problem["detail"].as_str().is_some_and(|detail| detail.contains("body")),
        }
    };
    let said: String = answer.text().chars().take(200).collect();
    (!is_named).then(|| format!("{}, {what}: {} {said}\n", operation.id(), answer.status))
}

#[test]
fn every_broken_body_is_answered_by_name() {
    let node = Served::start();
    let document = node.get("/v1/openapi.json").json();
    let session = node.session();
    let (mut count, mut complaints) = (0, String::new());
    for operation in operations(&document) {
        let path = operation.path.replace("{name}", "x").replace("{session}", &session);
        for broken in breakages(&document, &operation) {
            count += 1;
            let answer = node.ask(&operation.method.to_uppercase(), &path, &broken.body);
            complaints.extend(complaint(&operation, &broken, &answer));
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
    assert!(count > 300, "{count}");
    assert_eq!(node.get("/v1/locks/x").json()["holders"], json!([]), "nothing was done");
    assert_eq!(node.get("/readyz").status, 200, "it lives on");
}

#[test]
fn a_broken_address_is_answered_by_name() {
    let node = Served::start();
    for (method, path, field) in [
        ("GET", "/v1/sessions/xyz", "session"),
        ("GET", "/v1/sessions/0", "session"),
        ("DELETE", "/v1/sessions/11111111111111111", "session"),
        ("POST", "/v1/sessions/%20/renew", "session"),
        ("DELETE", "/v1/members/first", "node"),
        ("DELETE", "/v1/members/-1", "node"),
        ("DELETE", "/v1/members/99999999999999999999", "node"),
        ("GET", "/v1/locks/%ff", "name"),
        ("GET", "/v1/locks/%00", "name"),
        ("GET", "/v1/elections/a%0Ab", "name"),
        ("GET", "/v1/elections/%ff/observe", "name"),
        ("POST", "/v1/locks/%ff/acquire", "name"),
    ] {
        let answer = node.ask(method, path, b"");
        assert_eq!(answer.status, 400, "{method} {path}: {}", answer.text());
        assert_eq!(answer.json()["field"], field, "{method} {path}");
    }
    let long = format!("/v1/locks/{}", "n".repeat(1025));
    assert_eq!(node.get(&long).json()["field"], "name");
}
