//! What holds of every plan and recording, and what the paper proves, on the CPU alone.

mod proofs;
mod recording;
