//! What holds of every plan and recording, and what the paper proves, on the CPU alone.

mod comparators;
mod documents;
mod layout;
mod modules;
mod plan;
mod proofs;
mod recording;
