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

mod base_case;
mod distribution;
mod final_merge;
mod merge;
mod prefix_sums;
mod splitters;

pub use prefix_sums::record_prefix_sums;

use crate::kernel::Kernel;
use crate::layout::{self, SortLayout};
use crate::plan::{DeviceLimits, Plan, grid, parts};
use crate::recording::{Buffer, Phase, Recording};
use crate::samplesort::{self, Shape, WordSort};
use crate::{Engine, KeyType, Options, Order};

/// Records a sort of `len` keys in [`Buffer::Keys`].
///
/// `len` must be at most [`DeviceLimits::max_len`].
#[must_use]
pub fn record_sort(
    len: u32,
    key: KeyType,
    order: Order,
    options: &Options,
    limits: &DeviceLimits,
) -> Recording {
    let job = layout::Job {
        len,
        key,
        order,
        layout: &SortLayout::default(),
        ranks: None,
        maps_keys: maps_keys(options),
        counting: None,
        limits,
    };
    job.record(&|recording, sort| record_sort_of_words(recording, sort, options, limits))
}

/// Returns true if the engine of the options maps keys when it loads and stores them. The
/// mergesorts compare unmapped words.
#[must_use]
pub fn maps_keys(options: &Options) -> bool {
    options.engine == Engine::SampleSort
}

/// Records a sort of words by the engine of the options. [`Engine::Auto`] stands for a mergesort.
pub fn record_sort_of_words(
    recording: &mut Recording,
    sort: &WordSort,
    options: &Options,
    limits: &DeviceLimits,
) {
    if options.engine == Engine::SampleSort {
        let tuning = options.tuning.unwrap_or_default();
        samplesort::record(recording, sort, &tuning, limits);
        return;
    }
    // A single key is never mapped.
    debug_assert!(sort.map.is_identity() || sort.len == 1);
    debug_assert_eq!(sort.shape, Shape::new(recording.key.words(), false));
    let plan = Plan::new(sort.len, recording.key, options.into());
    let job = Job {
        plan: &plan,
        options,
        limits,
        home: sort.target.keys,
        other: sort.scratch.keys,
        level: 0,
        within: None,
    };
    job.record(recording, sort.source.keys);
}

/// The base case kernel that the options select.
#[must_use]
pub fn base_case_kernel(options: &Options) -> Kernel {
    let form = options.resolved_base_case();
    Kernel::BaseCase {
        form,
        warps: options.mergesort.warps.unwrap_or(form.warps()),
    }
}

/// The merge kernel of an engine. Its pages have [`Engine::page`] keys.
#[must_use]
pub const fn merge_kernel(engine: Engine) -> Kernel {
    match engine {
        Engine::Auto | Engine::BcfMergesort | Engine::BcfMergesortPb | Engine::SampleSort => {
            Kernel::PageMerge
        }
        Engine::Warpsort => Kernel::WarpMerge,
    }
}

/// One sort being recorded: the user's, or that of the samples of another sort.
#[derive(Clone, Copy)]
struct Job<'a> {
    plan: &'a Plan,
    options: &'a Options,
    limits: &'a DeviceLimits,
    /// The buffer of the result, and the buffer that keys alternate with.
    home: Buffer,
    other: Buffer,
    level: u8,
    /// The enclosing sort's phase that this sort belongs to.
    within: Option<Phase>,
}

impl Job<'_> {
    /// Records the whole sort of the keys in `input`.
    fn record(&self, recording: &mut Recording, input: Buffer) {
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
    fn first_buffer(&self) -> Buffer {
        if self.plan.moves().is_multiple_of(2) {
            self.home
        } else {
            self.other
        }
    }

    fn opposite(&self, buffer: Buffer) -> Buffer {
        if buffer == self.home {
            self.other
        } else {
            self.home
        }
    }

    fn phase(&self, phase: Phase) -> Phase {
        self.within.unwrap_or(phase)
    }

    /// Workgroups in x and y for `count` of them in total. The last row may exceed `count`.
    fn grid(&self, count: u32) -> [u32; 2] {
        grid(count, self.limits)
    }
}
