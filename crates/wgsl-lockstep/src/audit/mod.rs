//! Interprets a [`Report`](crate::Report): failures, warnings and notes with advice, as text,
//! tables, JSON, SARIF and a picture.
//!
//! It makes all output of the command `wgsl-audit`. An [`Audit`] holds one [`Subject`] for each
//! kernel. Build it from the reports of your own dispatches to get the same output for a whole
//! program. A [`Dispatch`] is the command's input. The advice in notes names options of that
//! command, such as `--buffer` and `--max-degree`.
//!
//! # Examples
//!
//! ```
//! use wgsl_lockstep::audit::{Audit, Rule, Subject};
//! use wgsl_lockstep::{Buffers, Config, Shader};
//!
//! let shader = Shader::new(
//!     "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
//!      var<workgroup> tile: array<u32, 64>;
//!      @compute @workgroup_size(64)
//!      fn main(@builtin(local_invocation_index) lane: u32) {
//!          tile[lane] = data[lane];
//!          data[lane] = tile[63u - lane];
//!      }",
//!     None,
//!     &[],
//! )?;
//! let mut buffers = Buffers::from([((0, 0), vec![0; 64])]);
//! let config = Config::default();
//! let report = shader.run(&mut buffers, [1, 1, 1], &config)?;
//! let audit = Audit::new(vec![Subject::new("reverse.wgsl", &shader, report)], config);
//! assert_eq!(audit.notes()[0][0].rule, Rule::Race);
//! assert_eq!(audit.failures().len(), 1);
//! # Ok::<(), wgsl_lockstep::ShaderError>(())
//! ```

mod buffers;
mod dispatch;
mod figures;
mod heatmap;
mod json;
mod memory;
mod notes;
mod outcome;
mod rules;
mod sarif;
mod subject;
mod table;
mod text;
mod values;

pub use buffers::{BufferContents, MadeBuffer, default_contents};
pub use dispatch::{Dispatch, DispatchError, Prepared};
pub use figures::Figures;
pub use memory::{MOST_MEMORY, check_memory};
pub use notes::Note;
pub use outcome::Audit;
pub use rules::{Rule, Severity};
pub use subject::{DefaultBuffer, Subject};
pub use table::{plural, ratio, share, short};
pub use values::{override_value, positive};
