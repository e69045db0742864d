//! Judges a value by a schema of the document: the part of JSON Schema that the document uses, and nothing else. A word
//! that is not known fails, so that nothing is believed to be judged which is not.

use serde_json::Value;

/// Words that describe and do not judge.
const DESCRIPTIONS: [&str; 6] = ["description", "title", "examples", "default", "format", "$schema"];

/// Why a value is not what the schema says, if so.
pub(crate) fn judge(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let words = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Bool(false) => return Err(format!("{value} must not be there")),
        Value::Object(words) => words,
        other => panic!("{other} is no schema"),
    };
    let judge = |schema: &Value| judge(document, schema, value);
    let refuse = |what: &str| Err(format!("{value} {what}"));
    for (word, wanted) in words {
        let list = || wanted.as_array().unwrap_or_else(|| panic!("{word} has no list"));
        match word.as_str() {
            "$ref" => judge(resolve(document, wanted.as_str().unwrap()))?,
            "type" => {
                let fits = |name: &Value| is_a(value, name.as_str().unwrap());
                if !wanted.as_array().map_or_else(|| fits(wanted), |names| names.iter().any(fits)) {
                    return refuse(&format!("is no {wanted}"));
                }
            }
            "const" if value != wanted => return refuse(&format!("is not {wanted}")),
            "enum" if !list().contains(value) => return refuse(&format!("is none of {wanted}")),
            "oneOf" if list().iter().filter(|schema| judge(schema).is_ok()).count() != 1 => {
                return refuse(&format!("is not exactly one of {wanted}"));
            }
            "anyOf" if !list().iter().any(|schema| judge(schema).is_ok()) => {
                return refuse(&format!("is none of {wanted}"));
            }
            "allOf" => list().iter().try_for_each(judge)?,
            "const" | "enum" | "oneOf" | "anyOf" => {}
            "minimum" | "maximum" | "minLength" | "maxLength" => within(value, word, wanted.as_u64().unwrap())?,
            "items" => {
                value.as_array().into_iter().flatten().try_for_each(|item| self::judge(document, wanted, item))?;
            }
            "required" => {
                let missing = list().iter().find(|name| value.get(name.as_str().unwrap()).is_none());
                if let (true, Some(name)) = (value.is_object(), missing) {
                    return refuse(&format!("has no {name}"));
                }
            }
            "properties" => {
                for (name, schema) in wanted.as_object().unwrap() {
                    let judged = value.get(name).map_or(Ok(()), |value| self::judge(document, schema, value));
                    judged.map_err(|why| format!("{name}: {why}"))?;
                }
            }
            "additionalProperties" => {
                let known = |name: &str| words.get("properties").is_some_and(|known| known.get(name).is_some());
                for (name, value) in value.as_object().into_iter().flatten().filter(|(name, _)| !known(name)) {
                    self::judge(document, wanted, value).map_err(|why| format!("{name}: {why}"))?;
                }
            }
            other => assert!(DESCRIPTIONS.contains(&other), "{other} is not known here: {schema}"),
        }
    }
    Ok(())
}

/// What a reference means.
pub(crate) fn resolve<'d>(document: &'d Value, reference: &str) -> &'d Value {
    let pointer = reference.strip_prefix('#').expect("references stay within the document");
    document.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"))
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type {other}"),
    }
}

fn within(value: &Value, word: &str, bound: u64) -> Result<(), String> {
    let number = match value {
        Value::String(text) if word.ends_with("Length") => text.chars().count() as u64,
        Value::Number(number) if word.ends_with("imum") => match number.as_u64() {
            Some(number) => number,
            None if word == "minimum" => return Err(format!("{value} is less than {bound}")),
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    let fits = if word.starts_with("min") { number >= bound } else { number <= bound };
    if fits { Ok(()) } else { Err(format!("{value} is beyond the {word} of {bound}")) }
}

#[test]
fn the_judge_refuses_what_does_not_fit() {
    let document: Value = serde_json::from_str(
        r##"{"S": {"type": "object", "required": ["a"], "additionalProperties": false, "properties":
            {"a": {"oneOf": [{"type": "integer", "minimum": 1, "maximum": 5}, {"const": "x"}]},
             "b": {"type": ["string", "null"], "maxLength": 2},
             "c": {"type": "array", "items": {"enum": [true]}},
             "d": {"anyOf": [{"$ref": "#/S"}, {"type": "null"}]}}}}"##,
    )
    .unwrap();
    let schema: Value = serde_json::from_str(r##"{"$ref": "#/S"}"##).unwrap();
    let fits = |text: &str| judge(&document, &schema, &serde_json::from_str(text).unwrap()).is_ok();
    for text in [r#"{"a": 1}"#, r#"{"a": "x", "b": "äö"}"#, r#"{"a": 5, "b": null, "c": [true], "d": {"a": 1}}"#] {
        assert!(fits(text), "{text}");
    }
    for text in [
        "[]",
        "{}",
        r#"{"a": 0}"#,
        r#"{"a": 6}"#,
        r#"{"a": -1}"#,
        r#"{"a": "y"}"#,
        r#"{"a": 1, "b": "abc"}"#,
        r#"{"a": 1, "c": [false]}"#,
        r#"{"a": 1, "d": {}}"#,
        r#"{"a": 1, "e": 1}"#,
    ] {
        assert!(!fits(text), "{text}");
    }
}
