//! Runs WGSL compute shaders on the CPU, the lanes of each warp in lock-step, and reports bank
//! conflicts, races, out-of-bounds accesses, divergent barriers and uncoalesced accesses.
//!
//! It interprets the module that naga makes of the WGSL, and needs no GPU.
//!
//! - [`Shader`] is a compute entry point, ready to run on [`Buffers`] as a [`Config`] says.
//! - [`Report`] is the result: a [`Site`] for each place in the source that accesses memory, and a
//!   [`Finding`] for each fault.
//! - With the feature `audit`, the module `audit` turns reports into notes with advice, tables,
//!   JSON, SARIF and a picture. The feature `cli` builds the command `wgsl-audit` on top of it.
//!
//! | counted | how |
//! |---|---|
//! | bank conflicts | workgroup memory in 32 banks of 4 bytes; the degree of an access is the greatest number of different words that a warp's active lanes touch in one bank ([`Banks`]) |
//! | races | two invocations touch the same bytes, one of them writes, not both atomically, and no barrier of that kind of memory stands between: `workgroupBarrier` orders workgroup memory, `storageBarrier` orders storage, within a workgroup; nothing orders two workgroups; a store to a component of a vector counts as a write of the whole vector, as WGSL lets it be one (Metal reads the vector, puts the component in and writes all of it back) |
//! | out of bounds | an index past an array's end, an address past a buffer's: loads give 0 then, stores do nothing |
//! | divergent barriers | a barrier that not all lanes of the workgroup reach together |
//! | uninitialised reads | of workgroup memory that no lane of this workgroup has written |
//! | runaway loops | more iterations than [`Config::max_iterations`] allows |
//! | coalescing | 32-byte sectors of storage a warp's access touches, against the fewest that hold as many bytes |
//!
//! A `bool` takes a byte, as naga lays it out; hardware may give it a word.
//!
//! A run is of one input. Its counts hold for every input where no value of a storage buffer
//! decides an address or whether an access is made; the executor follows that through the program
//! ([`Site::oblivious`]).
//!
//! A value of a struct or an array is loaded and stored member by member, each an access of its
//! own.
//!
//! # Examples
//!
//! A transposition through workgroup memory without padding: 32 lanes meet in one bank.
//!
//! ```
//! use wgsl_lockstep::{Buffers, Config, Shader};
//!
//! let shader = Shader::new(
//!     "@group(0) @binding(0) var<storage, read_write> matrix: array<u32>;
//!      var<workgroup> tile: array<u32, 1024>;
//!      @compute @workgroup_size(32)
//!      fn main(@builtin(local_invocation_index) lane: u32) {
//!          for (var row = 0u; row < 32u; row++) {
//!              tile[row * 32u + lane] = matrix[row * 32u + lane];
//!          }
//!          workgroupBarrier();
//!          for (var row = 0u; row < 32u; row++) {
//!              matrix[row * 32u + lane] = tile[lane * 32u + row];
//!          }
//!      }",
//!     None,
//!     &[],
//! )?;
//! let mut buffers = Buffers::from([((0, 0), (0..1024).collect())]);
//! let report = shader.run(&mut buffers, [1, 1, 1], &Config::default())?;
//! assert_eq!(buffers[&(0, 0)][1], 32);
//! assert_eq!(report.banks().max_degree, 32);
//! assert!(report.findings.is_empty());
//! # Ok::<(), wgsl_lockstep::ShaderError>(())
//! ```

#![deny(missing_docs)]

mod arithmetic;
#[cfg(feature = "audit")]
pub mod audit;
mod config;
mod error;
mod lower;
mod machine;
mod mask;
mod memory;
mod overrides;
mod program;
mod report;
mod shader;

pub use config::Config;
pub use error::ShaderError;
pub use program::WorkgroupVariable;
pub use report::{AccessKind, Banks, Fault, Finding, Location, Report, Site, Space};
pub use shader::{Buffers, MEMORY_A_WORD, Resource, Shader};

/// The examples of README.md are run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
