//! Nothing but tests: see `tests/main.rs`.
