//! The sample sort: sorts records of one to three words.
//!
//! ```text
//! up to a tile          sort it, in one dispatch
//! up to 16 tiles        sort each tile; merge all of them at once, by rank
//! more                  for each level:
//!   splitters             of each segment, from sorted samples
//!   count                 the records of each child; at the first level of large sorts, some
//!   table                 the offset of each child
//!   partition             the records among the children
//!                       where some were counted: the records again, if a child had no room
//!                       the last level's table packs children into items that fit a tile;
//!                       sort these
//! ```
//!
//! Records are moved once per level and once at the end, and each is sorted once. [`Shape`] is the
//! type of a record. Key types and directions are maps, applied at the first read and at the last
//! write.
//!
//! Every comparison is of whole records, so equal records are the same bits. The result is the same
//! bytes on every device and run, whatever the order of atomics. In a stable sort, the value of a
//! record is its index.
//!
//! No order of keys is worse than another, as samples are at hashed positions. Frequent records are
//! between two splitters of their own and need no sort. If samples are bad nevertheless, an item is
//! larger than a tile, and one workgroup sorts it: slowly, but correctly.
//!
//! The design note `docs/samplesort.md` has the cost of each step, and the rejected alternatives.
//!
//! The splitters are from Frazer and McKellar, "Samplesort" (J. ACM 17(3), 1970); the search among
//! them in breadth-first order and the ranks by atomics from Leischner, Osipov and Sanders, "GPU
//! Sample Sort" (IPDPS 2010).

// "McKellar" is a name, not code.
#![allow(clippy::doc_markdown)]

pub mod kernels;
mod networks;
mod plan;
mod record;
mod shape;
mod tuning;

pub use plan::{Estimate, Level, Rooms, Sizes, SortPlan};
pub use record::{AS_THEY_ARE, Ranks, Records, WordSort, record, record_with};
pub use shape::Shape;
pub use tuning::Tuning;
