//! A sort of words. A STAND-IN with the interface of the engine that will be here: a bitonic sort in
//! global memory, a dispatch a stage.

use crate::kernel::{Kernel, LayoutKernel, MOVED};
use crate::key::KeyMap;
use crate::phases::{grid, parts};
use crate::plan::{DeviceLimits, Tuning};
use crate::recording::{Buffer, Phase, Recording, Step};
use std::ops::Range;

/// What a record is: a key of one or two words, and maybe a value of one, by which equal keys are
/// ordered.
///
/// Records are compared as unsigned words, the most significant first: of a key of two words the
/// second (as a little-endian `u64`), the value last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// `u32`.
    Word,
    /// `u64`.
    TwoWords,
    /// `(u32, u32)`.
    Pair,
    /// `(u64, u32)`.
    WidePair,
}

impl Shape {
    /// That of keys of so many words, with or without values.
    #[must_use]
    pub const fn new(words: u32, valued: bool) -> Self {
        match (words, valued) {
            (1, false) => Self::Word,
            (_, false) => Self::TwoWords,
            (1, true) => Self::Pair,
            (_, true) => Self::WidePair,
        }
    }

    /// Words of a key.
    #[must_use]
    pub const fn key_words(self) -> u32 {
        match self {
            Self::Word | Self::Pair => 1,
            Self::TwoWords | Self::WidePair => 2,
        }
    }
}

/// Buffers of keys (`u32`, or `u64` as low and high word) and of their values (`u32`), if the shape
/// has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records {
    /// Keys.
    pub keys: Buffer,
    /// Values.
    pub values: Option<Buffer>,
}

/// A sort of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordSort {
    /// Records.
    pub len: u32,
    /// What a record is.
    pub shape: Shape,
    /// Where records are read.
    pub source: Records,
    /// Where they end, which may be the same.
    pub target: Records,
    /// As much memory again, other than both.
    pub scratch: Records,
    /// How the key bits of the source become unsigned words, and back at the target.
    pub map: KeyMap,
    /// Ranks that are to be in order.
    pub ranks: Range<u32>,
}

/// Records a sort of words.
pub fn record(recording: &mut Recording, sort: &WordSort, tuning: &Tuning, limits: &DeviceLimits) {
    let words = sort.shape.key_words();
    if sort.len > tuning.tile.min(1024) {
        recording.reserve(
            sort.scratch.keys,
            u64::from(sort.len) * u64::from(words) * 4,
        );
        if let Some(values) = sort.scratch.values {
            recording.reserve(values, u64::from(sort.len) * 4);
        }
    }
    let mut copy = |from, to, words: u32| {
        let groups = (u64::from(sort.len) * u64::from(words)).div_ceil(MOVED.into()) as u32;
        for (first, end) in parts(groups, MOVED, limits) {
            recording.steps.push(Step {
                phase: Phase::BaseCase,
                round: 0,
                kernel: Kernel::Layout(LayoutKernel::Copy),
                workgroups: grid(end - first, limits),
                bindings: vec![("source", from), ("destination", to)],
                parameters: vec![
                    ("len", sort.len),
                    ("words", words),
                    ("first", first),
                    ("end", end),
                    ("source_first", 0),
                    ("destination_first", 0),
                ],
                keys: u64::from(end - first) * u64::from(MOVED),
            });
        }
    };
    if sort.source.keys != sort.target.keys {
        copy(sort.source.keys, sort.target.keys, words);
    }
    if let (Some(from), Some(to)) = (sort.source.values, sort.target.values)
        && from != to
    {
        copy(from, to, 1);
    }
    let mut bindings = vec![("keys", sort.target.keys)];
    bindings.extend(sort.target.values.map(|values| ("values", values)));
    let power = u64::from(sort.len).next_power_of_two();
    let mut block = 2_u64;
    while block <= power {
        let mut distance = block / 2;
        while distance > 0 {
            let is_first = distance == block / 2;
            let groups = (power / 2).div_ceil(256) as u32;
            for (first, end) in parts(groups, 256, limits) {
                recording.steps.push(Step {
                    phase: Phase::BucketSort,
                    round: 0,
                    kernel: Kernel::StandIn {
                        words,
                        valued: sort.target.values.is_some(),
                    },
                    workgroups: grid(end - first, limits),
                    bindings: bindings.clone(),
                    parameters: vec![
                        ("len", sort.len),
                        ("first", first),
                        ("end", end),
                        ("distance", distance as u32),
                        ("block", if is_first { block as u32 } else { 0 }),
                        ("sign_low", sort.map.sign_mask as u32),
                        ("sign_high", (sort.map.sign_mask >> 32) as u32),
                        ("flip_low", sort.map.flip as u32),
                        ("flip_high", (sort.map.flip >> 32) as u32),
                    ],
                    keys: u64::from(end - first) * 256,
                });
            }
            distance /= 2;
        }
        block *= 2;
    }
}
