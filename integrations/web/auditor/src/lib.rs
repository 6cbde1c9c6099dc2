//! `wgsl-audit` in a browser: runs WGSL compute shaders in the lock-step executor, as WebAssembly.
//!
//! Two functions take and return JSON: [`audit`] runs an entry point and returns the report that
//! the command prints with `--json`, with the notes and their advice; [`resources`] lists entry
//! points, buffers and overrides, for the fields of a page. The types of the JSON are [`Request`],
//! [`Answer`] and [`Listing`].
//!
//! An input that is wrong or too large for a page gives an answer with a [`Problem`], with the
//! line and column if there is one: see [`limits`].

mod answer;
mod clock;
pub mod limits;
mod listing;
mod request;

pub use answer::{Answer, Place, Problem, ToldNote};
pub use listing::{BufferField, Entry, Listing, OverrideField, Variable};
pub use request::Request;

use wasm_bindgen::prelude::wasm_bindgen;

/// Runs an entry point. `request` is the JSON of a [`Request`], the result that of an [`Answer`].
#[wasm_bindgen]
#[must_use]
pub fn audit(request: &str) -> String {
    let answer = Request::of(request).and_then(|request| Answer::of(&request));
    text(&answer.map_err(Failed::from))
}

/// Lists the entry points, buffers and overrides of a text. `request` is the JSON of a [`Request`],
/// of which the text and the overrides matter. The result is the JSON of a [`Listing`].
#[wasm_bindgen]
#[must_use]
pub fn resources(request: &str) -> String {
    let listing = Request::of(request).and_then(|request| Listing::of(&request));
    text(&listing.map_err(Failed::from))
}

/// The limits of a page as JSON: [`limits::Limits`].
#[wasm_bindgen(js_name = limits)]
#[must_use]
pub fn all_limits() -> String {
    json(&limits::Limits::default())
}

/// The JSON in place of an answer.
#[derive(serde::Serialize)]
struct Failed {
    error: Problem,
}

impl From<Problem> for Failed {
    fn from(error: Problem) -> Self {
        Self { error }
    }
}

fn text<T: serde::Serialize>(answer: &Result<T, Failed>) -> String {
    match answer {
        Ok(answer) => json(answer),
        Err(failed) => json(failed),
    }
}

fn json<T: serde::Serialize>(value: &T) -> String {
    // None of these types can fail: their keys are strings, and their numbers finite.
    serde_json::to_string(value).unwrap_or_else(|error| {
        let message = error.to_string().replace(['"', '\\'], "'");
        format!("{{\"error\":{{\"message\":\"{message}\"}}}}")
    })
}
