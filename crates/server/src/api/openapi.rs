//! The document of this interface, in OpenAPI 3.1: the addresses of the table, and the types of the contract.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use quorate_client::contract::{LONGEST_NAME, Problem, ProblemKind};
use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::Api;
use super::routes::{Answers, Asks, Route};

/// Where the schemas are in the document.
const SCHEMAS: &str = "/components/schemas";

pub(super) async fn show<E>(State(api): State<Api<E>>) -> Response {
    let media = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, media)], api.document).into_response()
}

/// Who makes schemas: of what is read, where what has a default may be missing, and of what is written.
struct Generators {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl Generators {
    fn new() -> Generators {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = SCHEMAS.into();
            settings.meta_schema = None;
        });
        Generators {
            read: settings.clone().for_deserialize().into_generator(),
            written: settings.for_serialize().into_generator(),
        }
    }

    /// All types that were needed.
    fn schemas(mut self) -> Map<String, Value> {
        let mut schemas = self.read.take_definitions(true);
        schemas.extend(self.written.take_definitions(true));
        schemas
    }
}

/// The document of a table.
pub(super) fn document<E>(table: &[Route<E>]) -> String {
    let mut generators = Generators::new();
    let problem = generators.written.subschema_for::<Problem>();
    let mut paths: Map<String, Value> = Map::new();
    for route in table {
        let operation = operation(route, &mut generators);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation;
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Quorate",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A lock service: locks and leader elections, replicated, durable and fenced.",
            "description": "Every grant has a fence (fencing token), a number that grows with every grant of the same \
                 name. Send it with every write to the resource that the lock protects; the resource must refuse \
                 fences smaller than the largest it has seen. Errors are application/problem+json; their detail says \
                 what happened and what to do.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": generators.schemas(),
            "responses": {
                "Problem": {
                    "description": problems(),
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
        },
    });
    format!("{document:#}\n")
}

fn operation<E>(route: &Route<E>, generators: &mut Generators) -> Value {
    let (status, answer) = match route.answers {
        Answers::Done => (204, json!({ "description": "Success." })),
        Answers::Json(status, schema) => {
            let schema = schema(&mut generators.written);
            (status, json!({ "description": "Success.", "content": { "application/json": { "schema": schema } } }))
        }
        Answers::Other(status, media, what) => {
            (status, json!({ "description": what, "content": { media: { "schema": { "type": "string" } } } }))
        }
    };
    let mut responses = json!({ "default": { "$ref": "#/components/responses/Problem" } });
    responses[status.to_string()] = answer;
    let mut operation = json!({ "operationId": route.id, "summary": route.summary, "responses": responses });
    let asked = route.takes.map(|schema| schema(&mut generators.read));
    let parameters: Vec<_> = parameter(route.path).into_iter().chain(asked.iter().flat_map(questions)).collect();
    if !parameters.is_empty() {
        operation["parameters"] = json!(parameters);
    }
    if let Some(Asks { schema, example }) = route.asks {
        let schema = schema(&mut generators.read);
        let example: Value = serde_json::from_str(example).expect("the table's examples are JSON");
        operation["requestBody"] =
            json!({ "content": { "application/json": { "schema": schema, "example": example } } });
    }
    operation
}

/// The variable part of an address, if it has one.
fn parameter(path: &str) -> Option<Value> {
    let (name, _) = path.split_once('{')?.1.split_once('}')?;
    let (description, schema) = match name {
        "session" => {
            ("Id of the session, in hexadecimal.", json!({ "type": "string", "pattern": "^[0-9a-fA-F]{1,16}$" }))
        }
        "node" => ("Id of the member.", json!({ "type": "integer", "minimum": 1 })),
        _ => ("Name, percent-encoded.", json!({ "type": "string", "minLength": 1, "maxLength": LONGEST_NAME })),
    };
    Some(json!({ "name": name, "in": "path", "required": true, "description": description, "schema": schema }))
}

/// What may follow a question mark: each field of a type, none of which is needed.
fn questions(schema: &Schema) -> Vec<Value> {
    let fields = schema.get("properties").and_then(Value::as_object);
    let question = |(name, field): (&String, &Value)| {
        let mut schema = field.clone();
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        json!({ "name": name, "in": "query", "required": false, "description": description, "schema": schema })
    };
    fields.into_iter().flatten().map(question).collect()
}

/// What can go wrong, as a table.
fn problems() -> String {
    let row = |kind: ProblemKind| format!("| `{}` | {} | {} |\n", kind.name(), kind.status(), kind.title());
    let rows: String = ProblemKind::ALL.into_iter().map(row).collect();
    let head = "The error: what happened, whether anything was changed, and what to do.";
    format!("{head}\n\n| type | status | title |\n|---|---|---|\n{rows}")
}
