//! Runs WGSL compute shaders on the CPU, with the lanes of each warp in lock-step. It reports bank
//! conflicts, races, out-of-bounds accesses, divergent barriers and uncoalesced accesses.
//!
//! It interprets naga's IR of the shader, and needs no GPU.
//!
//! - [`Shader`] is a compute entry point. It runs on [`Buffers`], with a [`Config`].
//! - [`Report`] is the result: a [`Site`] for each location in the source that accesses memory, and
//!   a [`Finding`] for each fault.
//! - With the feature `audit`, the module `audit` turns reports into notes with advice, tables,
//!   JSON, SARIF and a picture. The feature `cli` builds the command `wgsl-audit`, which uses it.
//!
//! These are counted:
//!
//! - Bank conflicts: workgroup memory has 32 banks of 4 bytes. The degree of an access is the
//!   largest number of different words that a warp's active lanes access in one bank ([`Banks`]).
//! - Races: two invocations access the same bytes, at least one of them writes, not both are
//!   atomic, and no barrier for that memory is in between. `workgroupBarrier` orders workgroup
//!   memory and `storageBarrier` orders storage, within a workgroup; nothing orders two workgroups.
//!   A store to a component of a vector counts as a write of the whole vector. WGSL allows that,
//!   and Metal does it: it reads the vector, inserts the component and writes all of it back.
//! - Accesses out of bounds: an index past an array's end, or an address past a buffer's. Loads
//!   then return 0, and stores do nothing.
//! - Divergent barriers: not all lanes of the workgroup reach the barrier together.
//! - Uninitialised reads of workgroup memory that no lane of this workgroup has written.
//! - Runaway loops: more iterations than [`Config::max_iterations`] allows.
//! - Coalescing: the 32-byte sectors of storage that a warp's access touches, and the minimum for
//!   its number of bytes.
//!
//! A `bool` occupies one byte, as in naga's layout; hardware may use a word.
//!
//! A run covers one input. Its counts hold for all inputs if no value of a storage buffer affects
//! an address or whether an access is executed. The executor tracks that through the program
//! ([`Site::oblivious`]).
//!
//! A struct or an array is loaded and stored member by member, and each member is an access.
//!
//! # Examples
//!
//! A transposition through workgroup memory without padding: a 32-way bank conflict.
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
//!
//! A run without accesses has no conflicts either. A test therefore also checks that they were
//! executed: see [`Report::unreached`].

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
// For the browser package, which has the same text to check without the executor.
#[doc(hidden)]
pub mod nesting;
mod overrides;
mod program;
mod report;
mod shader;

pub use config::Config;
pub use error::{Diagnostic, ShaderError};
pub use overrides::OverrideDeclaration;
pub use program::WorkgroupVariable;
pub use report::{AccessKind, Banks, Fault, Finding, Location, Report, Site, Space};
pub use shader::{Buffers, MEMORY_A_WORD, Resource, Shader};

/// Runs the examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
