//! The sort on one screen: each phase adds its dispatches to a recording.
//!
//! ```text
//! copy             n keys                     only if the base case sorts in the other buffer
//! base case        n / tile runs              in place
//! merge            log2(runs / P) rounds      keys <-> scratch, until at most P runs are left
//! splitters        t samples a run, sorted    by this same sort, in its own buffers (warpsort: P t
//!                                             random samples)
//! ranks            P-1 searches a run
//! distribution     into P or 2P-1 buckets     keys <-> scratch
//! final merge      log2(P) rounds             keys <-> scratch, within each bucket
//! ```

use super::options::MergesortOptions;
use super::plan::Plan;
use super::{base_case, distribution, final_merge, merge, splitters};
use crate::device::{DeviceLimits, grid};
use crate::engine::Engine;
use crate::layout;
use crate::recording::{Buffer, Phase, Recording};
use crate::samplesort::{Shape, WordSort};

/// Records a sort of words, keys alone and unmapped, by one of the mergesorts. [`Engine::Auto`]
/// stands for [`Engine::BcfMergesortPb`].
pub(crate) fn record(
    recording: &mut Recording,
    sort: &WordSort,
    (engine, options): (Engine, &MergesortOptions),
    limits: &DeviceLimits,
) {
    // A single key is never mapped.
    debug_assert!(sort.map.is_identity() || sort.len == 1);
    debug_assert_eq!(sort.shape, Shape::new(recording.key.words(), false));
    let recorder = Recorder {
        plan: &Plan::new(sort.len, recording.key, options.parameters(engine)),
        engine,
        options,
        limits,
        home: sort.target.keys,
        other: sort.scratch.keys,
        level: 0,
        within: None,
    };
    recorder.record(recording, sort.source.keys);
}

/// One sort being recorded: the user's, or that of the samples of another sort.
#[derive(Clone, Copy)]
pub(super) struct Recorder<'a> {
    pub(super) plan: &'a Plan,
    pub(super) engine: Engine,
    pub(super) options: &'a MergesortOptions,
    pub(super) limits: &'a DeviceLimits,
    /// The buffer of the result, and the buffer that keys alternate with.
    pub(super) home: Buffer,
    pub(super) other: Buffer,
    pub(super) level: u8,
    /// The enclosing sort's phase that this sort belongs to.
    pub(super) within: Option<Phase>,
}

impl Recorder<'_> {
    /// Records the whole sort of the keys in `input`.
    pub(super) fn record(&self, recording: &mut Recording, input: Buffer) {
        let plan = self.plan;
        // A single key needs no sort, but may need a copy.
        if plan.len < u32::from(input == self.home) + 1 {
            return;
        }
        if plan.moves() > 0 {
            let bytes = u64::from(plan.len) * recording.key.bytes();
            for buffer in [self.home, self.other] {
                // These two are user buffers.
                if !matches!(buffer, Buffer::Keys | Buffer::Output) {
                    recording.reserve(buffer, bytes);
                }
            }
        }
        let mut buffer = self.first_buffer();
        if input != buffer {
            let phase = self.phase(Phase::Copy);
            layout::record_copy(recording, phase, plan.len, [input, buffer], self.limits);
        }
        // A single key is copied at most.
        if plan.len > 1 {
            base_case::record(self, recording, buffer);
        }
        for (round, &run) in plan.merge_rounds.iter().enumerate() {
            merge::record(self, recording, round as u32, run, buffer);
            buffer = self.opposite(buffer);
        }
        if let Some(distribution) = &plan.distribution {
            splitters::record(self, recording, distribution, buffer);
            distribution::record(self, recording, distribution, buffer);
            buffer = self.opposite(buffer);
            for round in 0..distribution.final_rounds() {
                final_merge::record(self, recording, distribution, round, buffer);
                buffer = self.opposite(buffer);
            }
        }
        debug_assert_eq!(buffer, self.home);
    }

    /// The buffer in which the base case must sort the keys, so that the last move ends at home.
    ///
    /// Keys that start at home are copied first if the number of moves is odd. No other number of
    /// rounds avoids this copy: a round more in the first merge phase is a round less in the final
    /// one.
    pub(super) fn first_buffer(&self) -> Buffer {
        if self.plan.moves().is_multiple_of(2) {
            self.home
        } else {
            self.other
        }
    }

    pub(super) fn opposite(&self, buffer: Buffer) -> Buffer {
        if buffer == self.home {
            self.other
        } else {
            self.home
        }
    }

    pub(super) fn phase(&self, phase: Phase) -> Phase {
        self.within.unwrap_or(phase)
    }

    /// Workgroups in x and y for `count` of them in total. The last row may exceed `count`.
    pub(super) fn grid(&self, count: u32) -> [u32; 2] {
        grid(count, self.limits)
    }
}
