//! The wgpu executor: adapters, pipelines, buffers, encoding, timestamps and errors.

pub(crate) mod adapter;
pub(crate) mod binding;
pub(crate) mod calls;
pub(crate) mod faults;
pub(crate) mod pipelines;
pub(crate) mod prepared;
pub(crate) mod profile;
pub(crate) mod transfer;
pub(crate) mod waiting;

// The standard library's clock panics in browsers.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use std::time::Instant;
#[cfg(target_arch = "wasm32")]
pub(crate) use web_time::Instant;
