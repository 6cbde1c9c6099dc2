//! The sample sort: sorts records of one to three words.
//!
//! ```text
//! up to a tile          sort it, in one dispatch
//! up to 16 tiles        sort each; merge them all at once, by ranks
//! more                  for each level:
//!   splitters             of each segment, from samples that are sorted
//!   count                 the records of each child
//!   table                 where children begin
//!   partition             the records among the children
//!                       the last level's table packs children into items that fit a tile;
//!                       sort these
//! ```
//!
//! Records are moved once a level and once at the end, and each is sorted once. What a record is,
//! [`Shape`] says; types and directions are maps at the first read and at the last write.
//!
//! Every record is compared whole, so records that are equal are the same bits, and the result is
//! the same bytes on every device and run, whatever the order of atomics. A stable sort has the
//! record's index for its value.
//!
//! No order of keys is worse than another, as samples are taken at hashed positions; frequent
//! records are between two splitters of their own and need no sort. If samples mislead
//! nevertheless, an item is larger than a tile, and one workgroup sorts it: slow, but right.
//!
//! `docs/samplesort.md` is the design note: what each step costs, and what lost.
//!
//! Frazer and McKellar's "Samplesort" (J. ACM 17(3), 1970) has the splitters; the search among them
//! in breadth-first order and the ranks by atomics are those of Leischner, Osipov and Sanders, "GPU
//! Sample Sort" (IPDPS 2010).

// (McKellar is a name.)
#![allow(clippy::doc_markdown)]

mod plan;
mod record;

pub use crate::kernel::Shape;
pub use plan::{Level, Sizes, SortPlan};
pub use record::{AS_THEY_ARE, Records, WordSort, record, record_with};
