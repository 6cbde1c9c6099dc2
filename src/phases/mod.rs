//! The sort on one screen: each phase adds its dispatches to a recording.
//!
//! ```text
//! base case        n / tile runs              in place, or from keys to scratch
//! merge            log2(runs / P) rounds      keys <-> scratch, until at most P runs are left
//! splitters        t samples a run, sorted    by this same sort, on its own buffers (warpsort: P t
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
use crate::plan::{DeviceLimits, Plan, grid, parts};
use crate::recording::{Buffer, Phase, Recording};
use crate::{Engine, KeyType, Options, Order};

/// Records a sort of `len` keys, in [`Buffer::Keys`].
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
    if options.engine == Engine::SampleSort {
        let tuning = options.tuning.unwrap_or_default();
        return record_sort_of_words(len, key, order, &tuning, limits);
    }
    let mut recording = Recording::new(len, key, order);
    let keys = Buffer::Keys;
    record_mergesort(&mut recording, options, limits, keys, keys, Buffer::Scratch);
    recording
}

/// Records a mergesort of [`Recording::len`] keys of [`Recording::key`], from one buffer to another
/// or in place, by way of scratch memory.
pub fn record_mergesort(
    recording: &mut Recording,
    options: &Options,
    limits: &DeviceLimits,
    source: Buffer,
    target: Buffer,
    scratch: Buffer,
) {
    let plan = Plan::new(recording.len, recording.key, options.into());
    let job = Job {
        plan: &plan,
        options,
        limits,
        home: target,
        other: scratch,
        level: 0,
        within: None,
    };
    job.record(recording, source);
}

/// Records a sample sort of keys alone, in [`Buffer::Keys`].
fn record_sort_of_words(
    len: u32,
    key: KeyType,
    order: Order,
    tuning: &crate::Tuning,
    limits: &DeviceLimits,
) -> Recording {
    use crate::samplesort::{Records, WordSort, record};
    let mut recording = Recording::new(len, key, order);
    let shape = crate::kernel::Shape::new(key.words(), false);
    let records = |keys| Records { keys, values: None };
    let sort = WordSort {
        len,
        shape,
        source: records(Buffer::Keys),
        target: records(Buffer::Keys),
        scratch: records(Buffer::Scratch),
        map: key.map(order),
        ranks: 0..len,
    };
    record(&mut recording, &sort, tuning, limits);
    recording
}

/// The kernel of the base case that the options name.
#[must_use]
pub fn base_case_kernel(options: &Options, in_place: bool) -> Kernel {
    let form = options.resolved_base_case();
    Kernel::BaseCase {
        form,
        warps: options.warps.unwrap_or(form.warps()),
        in_place,
    }
}

/// The kernel of an engine's merges, of pages of [`Engine::page`] keys.
#[must_use]
pub const fn merge_kernel(engine: Engine) -> Kernel {
    match engine {
        Engine::Auto | Engine::BcfMergesort | Engine::BcfMergesortPb | Engine::SampleSort => {
            Kernel::PageMerge
        }
        Engine::Warpsort => Kernel::WarpMerge,
    }
}

/// One sort being recorded: the caller's, or that of samples within another.
#[derive(Clone, Copy)]
struct Job<'a> {
    plan: &'a Plan,
    options: &'a Options,
    limits: &'a DeviceLimits,
    /// The buffer where the result ends, and the one that keys move to and fro.
    home: Buffer,
    other: Buffer,
    level: u8,
    /// The phase that this sort is part of.
    within: Option<Phase>,
}

impl Job<'_> {
    /// Records the whole sort of the keys in `input`.
    fn record(&self, recording: &mut Recording, input: Buffer) {
        let plan = self.plan;
        // (One key is sorted, but may have to be copied.)
        if plan.len < u32::from(input == self.home) + 1 {
            return;
        }
        if plan.moves() > 0 {
            let bytes = u64::from(plan.len) * recording.key.bytes();
            if let Buffer::SamplesScratch(_) | Buffer::Samples(_) = self.home {
                recording.reserve(self.home, bytes);
            }
            recording.reserve(self.other, bytes);
        }
        let mut place = self.first_place();
        base_case::record(self, recording, input, place);
        for (round, &run) in plan.merge_rounds.iter().enumerate() {
            merge::record(self, recording, round as u32, run, place);
            place = self.opposite(place);
        }
        if let Some(distribution) = &plan.distribution {
            splitters::record(self, recording, distribution, place);
            distribution::record(self, recording, distribution, place);
            place = self.opposite(place);
            for round in 0..distribution.final_rounds() {
                final_merge::record(self, recording, distribution, round, place);
                place = self.opposite(place);
            }
        }
        debug_assert_eq!(place, self.home);
    }

    /// Where the base case must leave the keys, so that after all moves they end at home.
    fn first_place(&self) -> Buffer {
        if self.plan.moves().is_multiple_of(2) {
            self.home
        } else {
            self.other
        }
    }

    fn opposite(&self, place: Buffer) -> Buffer {
        if place == self.home {
            self.other
        } else {
            self.home
        }
    }

    fn phase(&self, phase: Phase) -> Phase {
        self.within.unwrap_or(phase)
    }

    /// Workgroups in x and y for `count` of them in a row; the last row may be longer than needed.
    fn grid(&self, count: u32) -> [u32; 2] {
        grid(count, self.limits)
    }
}
