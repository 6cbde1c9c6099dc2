//! The input of a run.

use crate::answer::Problem;
use crate::limits;
use serde::Deserialize;
use std::collections::BTreeMap;
use wgsl_lockstep::Config;
use wgsl_lockstep::audit::{BufferContents, Dispatch, override_value};

/// A shader, its inputs, and the limits of the run: the options of the command `wgsl-audit`, with
/// the command's defaults. All but `wgsl` may be left out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The WGSL text.
    pub wgsl: String,
    /// The name of the shader in messages.
    #[serde(default = "file")]
    pub file: String,
    /// The entry point, needed if there are several.
    #[serde(default)]
    pub entry: Option<String>,
    /// Workgroups in x, y and z.
    #[serde(default = "one")]
    pub workgroups: [u32; 3],
    /// Contents such as `random:4096`, by `group.binding` or by the variable's name, as for the
    /// command's option `--buffer`.
    #[serde(default)]
    pub buffers: BTreeMap<String, String>,
    /// Values of `override` declarations, as for the command's option `--override`.
    #[serde(default)]
    pub overrides: BTreeMap<String, String>,
    /// The seed of random buffers.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Lanes of a warp.
    #[serde(default = "width")]
    pub warp: u32,
    /// Banks of workgroup memory.
    #[serde(default = "width")]
    pub banks: u32,
    /// Bank conflicts of a greater degree are failures.
    #[serde(default)]
    pub max_degree: Option<u32>,
    /// Iterations after which a loop is stopped.
    #[serde(default = "iterations")]
    pub max_iterations: u64,
    /// Lane-instructions after which the run is stopped.
    #[serde(default = "lane_instructions")]
    pub max_lane_instructions: u64,
}

fn file() -> String {
    "shader.wgsl".to_owned()
}

const fn one() -> [u32; 3] {
    [1; 3]
}

const fn seed() -> u64 {
    1
}

const fn width() -> u32 {
    32
}

const fn iterations() -> u64 {
    limits::ITERATIONS
}

const fn lane_instructions() -> u64 {
    limits::LANE_INSTRUCTIONS
}

impl Request {
    /// Parses JSON, and checks it against the limits.
    ///
    /// # Errors
    ///
    /// A [`Problem`].
    pub fn of(json: &str) -> Result<Self, Problem> {
        let request: Self = serde_json::from_str(json)
            .map_err(|error| Problem::new(format!("the request is not understood: {error}")))?;
        if request.wgsl.len() > limits::MOST_TEXT {
            return Err(Problem::new(format!(
                "the shader has {} bytes; a page takes at most {} KiB",
                request.wgsl.len(),
                limits::MOST_TEXT >> 10
            )));
        }
        let limited = [
            (
                "the limit of iterations",
                request.max_iterations,
                limits::MOST_ITERATIONS,
            ),
            (
                "the limit of lane-instructions",
                request.max_lane_instructions,
                limits::MOST_LANE_INSTRUCTIONS,
            ),
        ];
        for (what, value, most) in limited {
            if value == 0 || value > most {
                return Err(Problem::new(format!(
                    "{what} is {value}; on a page it is 1 to {most}"
                )));
            }
        }
        if request.workgroups.contains(&0) {
            return Err(Problem::new(
                "the number of workgroups is 0: take at least 1",
            ));
        }
        if request.max_degree == Some(0) {
            return Err(Problem::new(
                "the limit of the degree is 0: take at least 1",
            ));
        }
        Ok(request)
    }

    /// The values of overrides.
    pub(crate) fn override_values(&self) -> Result<Vec<(String, f64)>, Problem> {
        let overrides = self.overrides.iter();
        overrides
            .map(|(name, value)| {
                override_value(&format!("{name}={value}"))
                    .map_err(|message| Problem::new(format!("override {name}: {message}")))
            })
            .collect()
    }

    /// The dispatch that the command makes of these options.
    pub(crate) fn dispatch(&self) -> Result<Dispatch, Problem> {
        let mut dispatch = Dispatch::new(&self.file);
        dispatch.entry.clone_from(&self.entry);
        dispatch.overrides = self.override_values()?;
        dispatch.workgroups = self.workgroups;
        dispatch.seed = self.seed;
        dispatch.config = Config::default()
            .warp(self.warp)
            .banks(self.banks)
            .max_iterations(self.max_iterations)
            .max_lane_instructions(self.max_lane_instructions);
        dispatch.max_degree = self.max_degree;
        dispatch.most_memory = limits::MOST_MEMORY;
        for (name, contents) in &self.buffers {
            let contents: BufferContents = format!("{name}={contents}")
                .parse()
                .map_err(|message| Problem::new(format!("buffer {name}: {message}")))?;
            if contents.is_file() {
                return Err(Problem::new(format!(
                    "buffer {name}: a page reads no files: list the words, as words:1,2,3"
                )));
            }
            dispatch.buffers.push(contents);
        }
        Ok(dispatch)
    }
}
