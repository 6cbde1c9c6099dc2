//! Sorts and gathers of columns of all types, against Arrow's own.

mod columns;
mod gather;
mod order;
