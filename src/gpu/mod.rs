//! The wgpu executor: adapters, pipelines, buffers, encoding, timestamps and errors.

pub(crate) mod adapter;
pub(crate) mod binding;
pub(crate) mod calls;
pub(crate) mod executor;
pub(crate) mod faults;
pub(crate) mod pipelines;
pub(crate) mod ready;
pub(crate) mod transfer;
pub(crate) mod waiting;
