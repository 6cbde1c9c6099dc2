//! What a page may ask for. The command has no such limits, but it can be interrupted by the system
//! if memory runs out; a page takes down its tab.

use serde::Serialize;

/// Maximum length of a shader in bytes, 1 MiB.
pub const MOST_TEXT: usize = 1 << 20;

/// Maximum memory of all buffers in bytes, 512 MiB, with the records of who accessed their words.
pub const MOST_MEMORY: u64 = 512 << 20;

/// Maximum number of iterations of a loop.
pub const MOST_ITERATIONS: u64 = 1 << 24;

/// Default number of iterations, that of the command.
pub const ITERATIONS: u64 = 1 << 20;

/// Maximum number of lane-instructions of a run: some minutes.
pub const MOST_LANE_INSTRUCTIONS: u64 = 1 << 34;

/// Default number of lane-instructions: some seconds.
pub const LANE_INSTRUCTIONS: u64 = 1 << 29;

/// All limits and defaults, as JSON.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // They are named as the constants.
pub struct Limits {
    pub most_text: usize,
    pub most_memory: u64,
    pub most_iterations: u64,
    pub iterations: u64,
    pub most_lane_instructions: u64,
    pub lane_instructions: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            most_text: MOST_TEXT,
            most_memory: MOST_MEMORY,
            most_iterations: MOST_ITERATIONS,
            iterations: ITERATIONS,
            most_lane_instructions: MOST_LANE_INSTRUCTIONS,
            lane_instructions: LANE_INSTRUCTIONS,
        }
    }
}
