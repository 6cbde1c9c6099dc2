//! SARIF 2.1.0, the input format of code-scanning services.

use super::notes::Note;
use super::outcome::Audit;
use super::rules::{Rule, Severity};
use super::subject::Subject;
use crate::report::Location;
use serde_json::{Value, json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

impl Audit {
    /// Failures, warnings and notes as SARIF 2.1.0, the input format of code-scanning services.
    #[must_use]
    pub fn sarif(&self) -> String {
        log(self)
    }
}

fn log(audit: &Audit) -> String {
    let noted = audit.subjects().iter().zip(audit.notes());
    let results: Vec<Value> = noted
        .flat_map(|(subject, notes)| notes.iter().map(move |note| result(subject, note)))
        .collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "wgsl-audit",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "version": env!("CARGO_PKG_VERSION"),
                "rules": Rule::ALL.map(rule),
            }},
            // The executor's columns count bytes; these count characters.
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Failure => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn rule(rule: Rule) -> Value {
    json!({
        "id": rule.id(),
        "name": rule.name(),
        "shortDescription": { "text": rule.summary() },
        "fullDescription": { "text": rule.summary() },
        "help": { "text": rule.advice() },
        "defaultConfiguration": { "level": level(rule.severity()) },
    })
}

fn result(subject: &Subject, note: &Note) -> Value {
    let index = Rule::ALL.iter().position(|&rule| rule == note.rule);
    let mut lines = vec![note.message.as_str()];
    lines.extend(note.detail.as_deref());
    lines.push(&note.help);
    let mut result = json!({
        "ruleId": note.rule.id(),
        "ruleIndex": index,
        "level": level(note.severity),
        "message": { "text": lines.join("\n") },
        "locations": [location(subject, note.location)],
    });
    if let Some(other) = note.other {
        let mut location = location(subject, other);
        location["id"] = json!(1);
        location["message"] = json!({ "text": "the other access" });
        result["relatedLocations"] = json!([location]);
    }
    result
}

/// A location in SARIF. An unknown line becomes the file's first, since code-scanning services
/// require a region.
fn location(subject: &Subject, location: Location) -> Value {
    let line = location.line.max(1);
    let text = subject.source.lines().nth(line as usize - 1).unwrap_or("");
    let start = (location.column as usize).saturating_sub(1).min(text.len());
    let end = (start + location.length as usize).clamp(start, text.len());
    // Of a construct over several lines, the first line is marked.
    let column = |byte: usize| text.char_indices().filter(|(at, _)| *at < byte).count() + 1;
    let start = column(start);
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&subject.file) },
            "region": {
                "startLine": line,
                "startColumn": start,
                "endColumn": column(end).max(start + 1),
            },
        },
    })
}

/// A path as a URI reference, relative if the path is.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    let path = path.strip_prefix("./").unwrap_or(path);
    let is_drive = cfg!(windows) && path.as_bytes().get(1) == Some(&b':');
    if path.starts_with('/') {
        uri += "file://";
    } else if is_drive {
        uri += "file:///";
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte.into());
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            b':' if is_drive => uri.push(':'),
            byte => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("shaders/sort.wgsl"), "shaders/sort.wgsl");
        assert_eq!(uri("./a b#.wgsl"), "a%20b%23.wgsl");
        assert_eq!(uri("/tmp/ä.wgsl"), "file:///tmp/%C3%A4.wgsl");
        // Without a scheme: only the colon after a drive letter is not escaped.
        assert_eq!(uri("ab:c"), "ab%3Ac");
    }
}
