//! The simulated hardware, and the limits of a run.

/// The simulated hardware, and the limits of a run.
///
/// # Examples
///
/// Hardware with warps of 64 lanes, and a limit for a shader that might not end:
///
/// ```
/// use wgsl_lockstep::{Buffers, Config, Fault, Shader};
///
/// let wgsl = "@compute @workgroup_size(64) fn main() { loop {} }";
/// let shader = Shader::new(wgsl, None, &[])?;
/// let config = Config::default().warp(64).max_iterations(1000);
/// let report = shader.run(&mut Buffers::new(), [1, 1, 1], &config)?;
/// assert_eq!(report.count(Fault::Runaway), 1);
/// # Ok::<(), wgsl_lockstep::ShaderError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Lanes per warp: 4, 8, 16, 32 or 64. A subgroup is a warp.
    pub warp: u32,
    /// Banks of 4 bytes in workgroup memory: 1 to 64.
    pub banks: u32,
    /// Iterations after which a loop is a [`Fault::Runaway`](crate::Fault::Runaway).
    pub max_iterations: u64,
    /// Number of lane-instructions after which a dispatch is stopped.
    pub max_lane_instructions: u64,
}

impl Default for Config {
    /// 32 lanes and 32 banks, as in NVIDIA's GPUs since 2010; 2^20 iterations per loop, and no
    /// other limit.
    fn default() -> Self {
        Self {
            warp: 32,
            banks: 32,
            max_iterations: 1 << 20,
            max_lane_instructions: u64::MAX,
        }
    }
}

impl Config {
    /// Sets the number of lanes per warp: 4, 8, 16, 32 or 64.
    #[must_use]
    pub const fn warp(self, warp: u32) -> Self {
        Self { warp, ..self }
    }

    /// Sets the number of banks: 1 to 64.
    #[must_use]
    pub const fn banks(self, banks: u32) -> Self {
        Self { banks, ..self }
    }

    /// Sets the maximum number of iterations of a loop.
    #[must_use]
    pub const fn max_iterations(self, max_iterations: u64) -> Self {
        Self {
            max_iterations,
            ..self
        }
    }

    /// Sets the maximum number of lane-instructions of a dispatch.
    #[must_use]
    pub const fn max_lane_instructions(self, max_lane_instructions: u64) -> Self {
        Self {
            max_lane_instructions,
            ..self
        }
    }
}
