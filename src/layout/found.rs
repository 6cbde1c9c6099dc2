//! What is found among sorted keys: runs of equal keys, the first record of each cell, and the
//! places of other keys.
//!
//! ```text
//! count runs    keys -> heads of runs, tiles (the heads in each)
//! scan runs     tiles -> tiles (those before each), number of runs
//! write runs    heads, tiles -> starts, lengths; and with keys -> keys
//!
//! search        keys -> bounds (the places of every 2048th cell)
//! cells         keys, bounds -> places of all
//!
//! index keys    keys -> index (every 32nd key, if there are many needles)
//! search        keys, index, needles -> places
//! ```

use super::encode::Composer;
use super::kernels::{
    self, CELLS, Heads, INDEXED, LayoutParams, NEEDLES, Needles, RUN_TILE, RunOutput, SEARCHED,
    SEARCHED_FROM,
};
use super::{Output, Rows};
use crate::recording::{Buffer, Phase, Step};
use crate::shader::Kernel;

/// Where the runs of equal keys are written, or the records that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// What begins a run.
    pub heads: Heads,
    /// The word of [`Buffer::RunCount`] that gets their number.
    pub count_at: u32,
    /// The first word of [`Buffer::RunStarts`].
    pub starts: Option<u32>,
    /// The first word of [`Buffer::RunLengths`].
    pub lengths: Option<u32>,
    /// The index of the first key in [`Buffer::RunKeys`].
    pub keys: Option<u32>,
}

/// Where the first record of each cell is written: the place of each number below `cells`, and of
/// `cells`, among the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// The number of cells.
    pub cells: u32,
    /// The first word of [`Buffer::Cells`].
    pub first: u32,
}

/// Keys whose places among the sorted ones are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// How many.
    pub len: u32,
    /// The index of the first one in [`Buffer::Needles`].
    pub first: u32,
    /// The first word of [`Buffer::Places`].
    pub places: u32,
    /// Whether equal records are before the place.
    pub is_upper: bool,
}

/// What is found among sorted keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The runs of equal keys.
    pub runs: Option<Runs>,
    /// The first record of each cell.
    pub cells: Option<Cells>,
    /// The places of other keys.
    pub search: Option<Search>,
}

impl Found {
    /// Whether anything is.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        self.runs.is_some() || self.cells.is_some() || self.search.is_some()
    }
}

/// Sorted keys: their buffer, and the parameters by which they are read, and others written.
struct Sorted {
    keys: Buffer,
    parameters: LayoutParams,
}

impl Composer<'_> {
    /// Records what is found among the sorted keys.
    pub(super) fn found(&mut self) {
        let found = self.job.layout.found;
        if !found.is_any() {
            return;
        }
        let sorted = self.sorted();
        if let Some(runs) = found.runs {
            self.runs(&sorted, runs);
        }
        if let Some(cells) = found.cells {
            self.cells(&sorted, cells);
        }
        if let Some(search) = found.search {
            self.search(&sorted, search);
        }
    }

    /// Where the sorted keys are, and how they are read.
    fn sorted(&self) -> Sorted {
        let layout = self.job.layout;
        let of_user = self.parameters();
        let mut parameters = LayoutParams {
            room: self.job.len,
            user_sign_low: of_user.sign_low,
            user_sign_high: of_user.sign_high,
            user_flip_low: of_user.flip_low,
            user_flip_high: of_user.flip_high,
            ..of_user
        };
        let keys = match layout.output {
            _ if layout.is_sorted => Buffer::Keys,
            Output::InPlace => Buffer::Keys,
            Output::OutOfPlace { first } => {
                parameters.key_first = match layout.structs {
                    // Their first words are counted in words, and keys in keys.
                    Some(structs) => {
                        let bits = layout.bits.unwrap_or(32 * self.job.key.words());
                        let keys = |words: u32| (u64::from(words) * 32 / u64::from(bits)) as u32;
                        layout.first - keys(structs.first) + keys(first)
                    }
                    None => first,
                };
                Buffer::Output
            }
            // The records of the sort are still there.
            Output::None => {
                parameters = LayoutParams {
                    room: parameters.room,
                    user_sign_low: of_user.sign_low,
                    user_sign_high: of_user.sign_high,
                    user_flip_low: of_user.flip_low,
                    user_flip_high: of_user.flip_high,
                    ..self.encoded_parameters()
                };
                Buffer::EncodedKeys
            }
        };
        Sorted { keys, parameters }
    }

    fn runs(&mut self, sorted: &Sorted, runs: Runs) {
        let len = self.job.len;
        let count = Buffer::RunCount;
        if len == 0 {
            self.clear(Phase::Runs, count, (runs.count_at, 1));
            return;
        }
        let layout = self.job.layout;
        let bits = match &layout.selected {
            // Only encoded keys are words as they lie.
            Some(_) if sorted.keys != Buffer::EncodedKeys => layout.key_bits().min(31),
            _ => layout.bits.unwrap_or(32 * self.job.key.words()),
        };
        let count = (count, runs.count_at);
        let structs = layout.structs.filter(|structs| structs.compared);
        if structs.is_none() {
            self.heads((sorted.keys, sorted.parameters), (bits, runs.heads), count);
        }
        let mut first_rows = layout.first_rows();
        if let (Some(first), Some(structs)) = (runs.keys, structs) {
            let from = Rows {
                buffer: Buffer::Keys,
                first: structs.first,
            };
            let to = Rows {
                buffer: Buffer::RunKeys,
                first,
            };
            let sorted = layout.output_of(from);
            first_rows.extend(sorted.map(|sorted| (sorted, structs.words, to)));
        }
        let starts = self.starts(sorted, runs, !first_rows.is_empty());
        if let Some(first) = runs.keys.filter(|_| structs.is_none()) {
            self.run_keys(sorted, count, first);
        }
        for (from, words, to) in first_rows {
            let before = self.recording.steps.len();
            self.move_rows(from, to, words, starts);
            self.count_from(before, count, len);
        }
    }

    /// Finds the heads among keys of so many bits, and writes their number to a word of a buffer.
    pub(super) fn heads(
        &mut self,
        (keys, parameters): (Buffer, LayoutParams),
        (bits, heads): (u32, Heads),
        count: (Buffer, u32),
    ) {
        let kernel = kernels::count_runs(bits, heads);
        let source = match heads {
            Heads::OfPredicate => "tested_rows",
            _ => "source",
        };
        let mut bindings = vec![(source, keys)];
        if heads == Heads::OfKeys {
            bindings.push(self.offsets(keys));
        }
        self.count_heads(&kernel, bindings, parameters, count);
    }

    /// The same among rows that a comparator compares, in an order. They are not moved yet.
    pub(super) fn row_heads(&mut self, order: Buffer) {
        let Some(runs) = self.job.layout.found.runs else {
            return;
        };
        let kernel = kernels::count_row_runs();
        let bindings = vec![
            ("order", order),
            ("compared_rows", Buffer::Keys),
            self.offsets(order),
        ];
        let parameters = LayoutParams {
            rows: self.job.len,
            ..self.parameters()
        };
        let count = (Buffer::RunCount, runs.count_at);
        self.count_heads(&kernel, bindings, parameters, count);
    }

    /// The offsets of the segments. Without segments none are read: any buffer will do.
    fn offsets(&self, other: Buffer) -> (&'static str, Buffer) {
        let has_segments = self.job.layout.segments.is_some();
        let buffer = if has_segments { Buffer::Offsets } else { other };
        ("offsets", buffer)
    }

    /// Records the kernel that finds heads, and the number of these.
    fn count_heads(
        &mut self,
        kernel: &Kernel,
        mut bindings: Vec<(&'static str, Buffer)>,
        parameters: LayoutParams,
        (count, count_at): (Buffer, u32),
    ) {
        let tile_count = self.job.len.div_ceil(RUN_TILE);
        let bytes = u64::from(tile_count) * 8;
        let tiles = self.recording.reserve(Buffer::RunTiles, bytes);
        let heads_bytes = u64::from(tile_count) * u64::from(RUN_TILE / 8);
        let heads = self.recording.reserve(Buffer::RunHeads, heads_bytes);
        bindings.extend([("tiles", tiles), ("heads", heads)]);
        let groups = (tile_count, RUN_TILE);
        self.groups(Phase::Runs, kernel, &bindings, parameters, groups);
        self.recording.steps.push(Step {
            phase: Phase::Runs,
            round: 1,
            kernel: kernels::scan_runs(),
            workgroups: [1, 1],
            bindings: vec![("tiles", tiles), ("count", count)],
            parameters: LayoutParams {
                tiles: tile_count,
                destination_first: count_at,
                ..parameters
            }
            .into(),
            keys: tile_count.into(),
        });
    }

    /// Writes something of each run.
    pub(super) fn write_runs(
        &mut self,
        output: RunOutput,
        parameters: LayoutParams,
        bindings: &[(&'static str, Buffer)],
    ) {
        let common = [("tiles", Buffer::RunTiles), ("heads", Buffer::RunHeads)];
        let bindings = [&common, bindings].concat();
        let kernel = kernels::write_runs(output);
        let groups = (self.job.len.div_ceil(RUN_TILE), RUN_TILE);
        self.groups(Phase::Runs, &kernel, &bindings, parameters, groups);
    }

    /// Writes the starts of runs, if they are needed, and their lengths, if they are wanted.
    fn starts(&mut self, sorted: &Sorted, runs: Runs, are_needed: bool) -> Option<Rows> {
        if !are_needed && runs.starts.is_none() && runs.lengths.is_none() {
            return None;
        }
        let buffer = match runs.starts {
            Some(_) => Buffer::RunStarts,
            None => self.reserve(Buffer::RunStarts, 1),
        };
        let first = runs.starts.unwrap_or(0);
        let parameters = LayoutParams {
            destination_first: first,
            source_first: runs.lengths.unwrap_or(0),
            ..sorted.parameters
        };
        let mut bindings = vec![("starts", buffer)];
        let output = if runs.lengths.is_some() {
            bindings.push(("lengths", Buffer::RunLengths));
            RunOutput::StartsAndLengths
        } else {
            RunOutput::Starts
        };
        self.write_runs(output, parameters, &bindings);
        Some(Rows { buffer, first })
    }

    /// Writes the keys of runs.
    fn run_keys(&mut self, sorted: &Sorted, count: (Buffer, u32), first: u32) {
        let output = RunOutput::Keys(self.job.key.words());
        let Some(bits) = self.job.layout.bits else {
            let parameters = LayoutParams {
                destination_first: first,
                ..sorted.parameters
            };
            let bindings = [("source", sorted.keys), ("unique", Buffer::RunKeys)];
            self.write_runs(output, parameters, &bindings);
            return;
        };
        // A lane writes a word of packed keys, of several runs: mapped words first.
        let most = self.job.layout.most_packed_runs(bits, self.job.len);
        let bytes = u64::from(most) * 4;
        let mapped = self.recording.reserve(Buffer::RunWords, bytes);
        let parameters = LayoutParams {
            destination_first: 0,
            room: most,
            user_sign_low: 0,
            user_flip_low: 0,
            ..sorted.parameters
        };
        let bindings = [("source", sorted.keys), ("unique", mapped)];
        self.write_runs(output, parameters, &bindings);
        let to = Rows {
            buffer: Buffer::RunKeys,
            first,
        };
        let before = self.recording.steps.len();
        let parameters = LayoutParams {
            len: most,
            source_stride: 1,
            ..self.parameters()
        };
        let kernel = kernels::decode_keys();
        self.decode_with(&kernel, ("source", mapped), parameters, to);
        self.count_from(before, count, most);
    }

    fn cells(&mut self, sorted: &Sorted, of: Cells) {
        let places = of.cells + 1;
        if self.job.len == 0 {
            self.clear(Phase::Search, Buffer::Cells, (of.first, places));
            return;
        }
        let words = self.job.key.words();
        let bound_count = places.div_ceil(CELLS) + 1;
        let bytes = u64::from(bound_count) * 4;
        let bounds = self.recording.reserve(Buffer::CellBounds, bytes);
        let parameters = LayoutParams {
            cells: of.cells,
            cell_step: CELLS,
            needles: bound_count,
            destination_first: 0,
            is_upper: 0,
            ..sorted.parameters
        };
        let source = ("source", sorted.keys);
        let bindings = [source, ("places", bounds)];
        let kernel = kernels::search(words, Needles::Cells);
        let groups = (bound_count.div_ceil(SEARCHED), SEARCHED);
        self.groups(Phase::Search, &kernel, &bindings, parameters, groups);
        let parameters = LayoutParams {
            cell_step: 1,
            needles: places,
            destination_first: of.first,
            searched_from: SEARCHED_FROM,
            ..parameters
        };
        let bindings = [source, ("places", Buffer::Cells), ("bounds", bounds)];
        let kernel = kernels::cells(words);
        let groups = (places.div_ceil(CELLS), CELLS);
        self.groups(Phase::Search, &kernel, &bindings, parameters, groups);
    }

    fn search(&mut self, sorted: &Sorted, of: Search) {
        if self.job.len == 0 {
            self.clear(Phase::Search, Buffer::Places, (of.places, of.len));
            return;
        }
        let parameters = LayoutParams {
            needles: of.len,
            source_first: of.first,
            destination_first: of.places,
            is_upper: of.is_upper.into(),
            ..sorted.parameters
        };
        let bindings = [
            ("source", sorted.keys),
            ("places", Buffer::Places),
            ("needles", Buffer::Needles),
        ];
        let words = self.job.key.words();
        let entries = self.job.len.div_ceil(INDEXED);
        if of.len < entries / 2 {
            let kernel = kernels::search(words, Needles::Keys);
            let groups = (of.len.div_ceil(SEARCHED), SEARCHED);
            self.groups(Phase::Search, &kernel, &bindings, parameters, groups);
            return;
        }
        // The steps of many searches are far apart in memory: an index has most of them together.
        let bytes = u64::from(entries) * u64::from(words) * 4;
        let index = self.recording.reserve(Buffer::SearchIndex, bytes);
        let made = [("source", sorted.keys), ("index", index)];
        let kernel = kernels::index_keys(words);
        self.step(Phase::Search, &kernel, &made, parameters, entries.into());
        let bindings = [&bindings[..], &[("index", index)]].concat();
        let kernel = kernels::search_index(words);
        let groups = (of.len.div_ceil(NEEDLES), NEEDLES);
        self.groups(Phase::Search, &kernel, &bindings, parameters, groups);
    }
}
