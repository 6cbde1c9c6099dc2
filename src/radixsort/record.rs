//! Records the dispatches of a radix sort.

use super::kernels::{self, DigitParams, LANES, Pass};
use crate::device::{DeviceLimits, grid, parts};
use crate::recording::{Buffer, Phase, Recording, Step};
use crate::samplesort::Records;
use crate::shader::Kernel;
use std::ops::Range;

/// The most bits of a key that two passes sort by.
pub const MOST_BITS: u32 = 16;

/// The most records whose indices leave room for a digit in a word.
const MOST_WORDS: u32 = 1 << 24;

/// What a radix sort reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Keys of the user's in [`Buffer::Keys`], with their indices as values. These parameters say
    /// where they are and how they are mapped.
    Keys(DigitParams),
    /// Keys of one word, and values.
    Pairs(Records),
}

/// A stable sort of records by some bits of their keys.
#[derive(Clone, Debug)]
pub struct DigitSort {
    /// The number of records.
    pub len: u32,
    /// The input.
    pub source: Source,
    /// The result: keys, if any are written, and values. It may be the input.
    pub target: Records,
    /// The bits of keys, as they are compared: at most [`MOST_BITS`] of them.
    pub bits: Range<u32>,
    /// Whether the order is descending. Keys that are mapped are in ascending order.
    pub is_descending: bool,
    /// Whether keys must be written.
    pub writes_keys: bool,
}

impl DigitSort {
    /// Whether a record between the passes is one word. No key is written then.
    #[must_use]
    pub const fn is_one_word(&self) -> bool {
        let of_user = matches!(self.source, Source::Keys(_));
        of_user && !self.writes_keys && self.len <= MOST_WORDS
    }
}

/// A kernel and its bindings.
type Dispatch<'a> = (Kernel, &'a [(&'static str, Buffer)]);

/// Whether a device has enough workgroup memory.
#[must_use]
pub fn fits(limits: &DeviceLimits) -> bool {
    kernels::tile(limits.workgroup_bytes).is_some()
}

/// Records a sort, on a device that it [fits].
pub fn record(recording: &mut Recording, sort: &DigitSort, limits: &DeviceLimits) {
    if let Some(tile) = kernels::tile(limits.workgroup_bytes) {
        let recorder = Recorder { sort, limits, tile };
        recorder.record(recording);
    }
}

struct Recorder<'a> {
    sort: &'a DigitSort,
    limits: &'a DeviceLimits,
    tile: u32,
}

impl Recorder<'_> {
    fn record(&self, recording: &mut Recording) {
        let sort = self.sort;
        let target = sort.target;
        let words = u64::from(sort.len) * 4;
        let tiles = u64::from(sort.len.div_ceil(self.tile));
        recording.reserve(Buffer::Counts, tiles * u64::from(LANES) * 4);
        recording.reserve(Buffer::GroupSums, u64::from(LANES) * 4);
        let scratch = Records {
            keys: recording.reserve(Buffer::Scratch, words),
            values: (!sort.is_one_word()).then(|| recording.reserve(Buffer::ScratchValues, words)),
        };
        let (source, first, keys) = match sort.source {
            Source::Keys(keys) => {
                let source = Records {
                    keys: Buffer::Keys,
                    values: None,
                };
                let first = if sort.is_one_word() {
                    Pass::KeysToWords
                } else {
                    Pass::KeysToPairs
                };
                (source, first, keys)
            }
            Source::Pairs(records) => (records, Pass::PairsToPairs, DigitParams::default()),
        };
        // The digits: with an odd number of bits, the first one has one more.
        let bits = &sort.bits;
        let middle = bits.start + (bits.end - bits.start).div_ceil(2);
        let mask = |digit: Range<u32>| (1 << (digit.end - digit.start)) - 1;
        let parameters = DigitParams {
            len: sort.len,
            tiles: tiles as u32,
            tile: self.tile,
            flip: if sort.is_descending { u32::MAX } else { 0 },
            shift: bits.start,
            mask: mask(bits.start..middle),
            next_shift: middle % 32,
            next_mask: mask(middle..bits.end),
            ..keys
        };
        self.pass(recording, 0, first, (source, scratch), parameters);
        let parameters = DigitParams {
            shift: parameters.next_shift,
            mask: parameters.next_mask,
            ..parameters
        };
        if sort.is_one_word() {
            let parameters = DigitParams {
                flip: 0,
                shift: 24,
                ..parameters
            };
            let last = Pass::WordsToIndices;
            self.pass(recording, 1, last, (scratch, target), parameters);
        } else {
            let last = Pass::PairsToPairs;
            self.pass(recording, 1, last, (scratch, target), parameters);
        }
    }

    fn pass(
        &self,
        recording: &mut Recording,
        round: u32,
        pass: Pass,
        (from, to): (Records, Records),
        parameters: DigitParams,
    ) {
        let keys = ("source", from.keys);
        let counts = ("counts", Buffer::Counts);
        let totals = ("totals", Buffer::GroupSums);
        let mut moved = vec![keys];
        if pass == Pass::PairsToPairs {
            moved.extend(from.values.map(|values| ("source_values", values)));
        }
        if pass != Pass::WordsToIndices {
            moved.push(("target_keys", to.keys));
        }
        if pass != Pass::KeysToWords {
            moved.extend(to.values.map(|values| ("target_values", values)));
        }
        moved.extend([counts, totals]);
        let tiles = (parameters.tiles, self.tile);
        let digits = (LANES, 1);
        let (tile, of_user) = (self.tile, pass.reads_user_keys());
        let kernels: [(Dispatch<'_>, _); 3] = [
            (
                (kernels::count_digits(of_user, tile), &[keys, counts]),
                tiles,
            ),
            ((kernels::digit_offsets(), &[counts, totals]), digits),
            ((kernels::move_records(pass, tile), &moved), tiles),
        ];
        for ((kernel, bindings), (workgroups, each)) in kernels {
            for (first, end) in parts(workgroups, each, self.limits) {
                recording.steps.push(Step {
                    phase: Phase::RadixSort,
                    round,
                    kernel: kernel.clone(),
                    workgroups: grid(end - first, self.limits),
                    bindings: bindings.to_vec(),
                    parameters: DigitParams {
                        first,
                        end,
                        ..parameters
                    }
                    .into(),
                    keys: u64::from(end - first) * u64::from(each),
                });
            }
        }
    }
}
