//! Properties of all plans and recordings, the paper's proofs, and sorts through a temporary file,
//! checked on the CPU alone.

mod comparators;
mod documents;
mod external;
mod layout;
mod modules;
mod plan;
mod proofs;
mod proofs_long;
mod proofs_merge;
mod proofs_model;
mod proofs_warpsort;
mod recording;
mod recording_all;
mod recording_page_merges;
