//! Checks SARIF by the official schema of version 2.1.0 and by GitHub's requirements.

use crate::packages::package;
use serde_json::{Map, Value};
use std::fs;

/// Parses a log, and checks that it is valid.
pub(crate) fn read(text: &str) -> Value {
    let path = package("serde-sarif").directory.join("src/schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let log: Value = serde_json::from_str(text).unwrap();
    let mut errors = Vec::new();
    Checker {
        schema: &schema,
        errors: &mut errors,
    }
    .check(&schema, &log, "");
    assert!(errors.is_empty(), "{errors:#?}");
    check_for_github(&log);
    log
}

/// Checks GitHub's requirements for code scanning.
fn check_for_github(log: &Value) {
    assert_eq!(log["version"], "2.1.0");
    for run in log["runs"].as_array().unwrap() {
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        for rule in rules {
            for text in ["shortDescription", "fullDescription", "help"] {
                assert!(!rule[text]["text"].as_str().unwrap().is_empty());
            }
        }
        for result in run["results"].as_array().unwrap() {
            let index = result["ruleIndex"].as_u64().unwrap() as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
            assert!(!result["message"]["text"].as_str().unwrap().is_empty());
            let location = &result["locations"][0]["physicalLocation"];
            assert!(location["artifactLocation"]["uri"].is_string());
            let region = &location["region"];
            let number = |key: &str| region[key].as_u64().unwrap();
            assert!(number("startLine") > 0 && number("startColumn") > 0);
            assert!(number("endColumn") > number("startColumn"));
        }
    }
}

/// A checker for the part of JSON Schema that the schema of SARIF uses.
struct Checker<'a> {
    schema: &'a Value,
    errors: &'a mut Vec<String>,
}

impl Checker<'_> {
    fn fail(&mut self, path: &str, what: impl std::fmt::Display) {
        self.errors.push(format!("{path}: {what}"));
    }

    fn errors_of(&self, rule: &Value, value: &Value, path: &str) -> Vec<String> {
        let mut errors = Vec::new();
        Checker {
            schema: self.schema,
            errors: &mut errors,
        }
        .check(rule, value, path);
        errors
    }

    fn check(&mut self, rule: &Value, value: &Value, path: &str) {
        let empty = Map::new();
        let rule = rule.as_object().unwrap_or(&empty);
        for (keyword, wanted) in rule {
            match keyword.as_str() {
                "$ref" => {
                    let pointer = wanted.as_str().unwrap().strip_prefix('#').unwrap();
                    let rule = self.schema.pointer(pointer).unwrap();
                    self.check(rule, value, path);
                }
                "type" => {
                    let is = match wanted.as_str().unwrap() {
                        "object" => value.is_object(),
                        "array" => value.is_array(),
                        "string" => value.is_string(),
                        "integer" => value.is_i64() || value.is_u64(),
                        "number" => value.is_number(),
                        "boolean" => value.is_boolean(),
                        other => panic!("type {other}"),
                    };
                    if !is {
                        self.fail(path, format!("is not of type {wanted}"));
                    }
                }
                "enum" => {
                    if !wanted.as_array().unwrap().contains(value) {
                        self.fail(path, format!("{value} is none of {wanted}"));
                    }
                }
                "required" => {
                    for key in wanted.as_array().unwrap() {
                        if value.get(key.as_str().unwrap()).is_none() {
                            self.fail(path, format!("has no {key}"));
                        }
                    }
                }
                "properties" | "additionalProperties" | "items" | "uniqueItems" | "minItems" => {
                    self.check_parts(rule, keyword, wanted, value, path);
                }
                "minimum" => {
                    if value.as_f64() < wanted.as_f64() {
                        self.fail(path, format!("{value} is below {wanted}"));
                    }
                }
                "anyOf" | "oneOf" => {
                    let choices = wanted.as_array().unwrap().iter();
                    if !choices
                        .map(|c| self.errors_of(c, value, path))
                        .any(|e| e.is_empty())
                    {
                        self.fail(path, format!("is none of {wanted}"));
                    }
                }
                "allOf" => {
                    for rule in wanted.as_array().unwrap() {
                        self.check(rule, value, path);
                    }
                }
                // Constraints on values that this program does not write, and texts for people.
                "not" | "pattern" | "format" | "default" | "description" | "title"
                | "definitions" | "$schema" | "$id" | "id" | "maximum" => {}
                other => panic!("the schema says '{other}', which is not checked"),
            }
        }
    }

    fn check_parts(
        &mut self,
        rule: &Map<String, Value>,
        keyword: &str,
        wanted: &Value,
        value: &Value,
        path: &str,
    ) {
        let known = |key: &str| rule.get("properties").and_then(|known| known.get(key));
        for (key, part) in value.as_object().into_iter().flatten() {
            let path = format!("{path}/{key}");
            match (keyword, known(key)) {
                ("properties", Some(rule)) => self.check(rule, part, &path),
                ("additionalProperties", None) if *wanted == Value::Bool(false) => {
                    self.fail(&path, "is not known");
                }
                ("additionalProperties", None) => self.check(wanted, part, &path),
                _ => {}
            }
        }
        let items = value.as_array().map_or(&[][..], Vec::as_slice);
        match keyword {
            "items" => {
                for (i, item) in items.iter().enumerate() {
                    self.check(wanted, item, &format!("{path}/{i}"));
                }
            }
            "uniqueItems" => {
                let twice = |i: usize| items[..i].contains(&items[i]);
                if *wanted == Value::Bool(true) && (0..items.len()).any(twice) {
                    self.fail(path, "has an item twice");
                }
            }
            "minItems" if value.is_array() && (items.len() as u64) < wanted.as_u64().unwrap() => {
                self.fail(path, format!("has fewer items than {wanted}"));
            }
            _ => {}
        }
    }
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let wrong = |log: &str, error: &str| {
        let caught = std::panic::catch_unwind(|| read(log)).unwrap_err();
        let message = caught.downcast_ref::<String>().unwrap();
        assert!(message.contains(error), "{message}");
    };
    wrong(r#"{"version": "2.1.0"}"#, "has no \\\"runs\\\"");
    let run = |run: &str| format!(r#"{{"version": "2.1.0", "runs": [{run}]}}"#);
    wrong(&run("{}"), "/runs/0: has no \\\"tool\\\"");
    let tool = r#""tool": {"driver": {"name": "x"}}"#;
    wrong(
        &run(&format!(r#"{{{tool}, "x": 1}}"#)),
        "/runs/0/x: is not known",
    );
    let result = r#""results": [{"message": {"text": "x"}, "level": "bad"}]"#;
    wrong(
        &run(&format!("{{{tool}, {result}}}")),
        "/runs/0/results/0/level",
    );
    let result = r#""results": [{"message": {"text": 5}}]"#;
    wrong(
        &run(&format!("{{{tool}, {result}}}")),
        "/runs/0/results/0/message",
    );
}
