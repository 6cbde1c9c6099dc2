//! Access to plans of frames for the browser package, whose executor has no wgpu. It is not a part
//! of the public API and changes without notice.

pub use crate::plan::*;
