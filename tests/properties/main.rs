//! Properties of all plans and recordings, and the paper's proofs, checked on the CPU alone.

mod comparators;
mod documents;
mod layout;
mod modules;
mod plan;
mod proofs;
mod recording;
