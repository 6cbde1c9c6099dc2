//! From the description of a sort to the list of its dispatches, for one kind of device. It is
//! independent of graphics APIs.

mod engine;
mod words;

pub use words::{maps_keys, record_sort, record_sort_of_words};

use engine::{Records, choose};

use crate::device::{Allowed, DeviceKind, DeviceLimits};
use crate::engine::Engine;
use crate::error::{BufferRole, Error};
use crate::job::{AsSpan, BufferSort, check_bound};
use crate::key::KeyType;
use crate::layout::{self, SortLayout, Strategy};
use crate::mergesort::{MOST_BUCKETS, MOST_BUCKETS_ON_CPU, default_buckets};
use crate::options::Options;
use crate::order::Order;
use crate::recording::Recording;
use crate::samplesort::Tuning;
use crate::shader::Kernel;

/// The maximum of the default number of buckets.
const fn most_default_buckets(kind: DeviceKind) -> u32 {
    if kind.is_cpu {
        MOST_BUCKETS_ON_CPU
    } else {
        MOST_BUCKETS
    }
}

/// The default tuning of the sample sort on this device.
fn default_tuning(kind: DeviceKind) -> Tuning {
    if kind.is_cpu {
        Tuning::cpu()
    } else if kind.has_fxc {
        Tuning::small_kernels()
    } else {
        Tuning::default()
    }
}

/// The default of [`Options::keys_per_dispatch`].
const fn default_keys_per_dispatch(kind: DeviceKind) -> u32 {
    if kind.is_cpu {
        1 << 22
    } else if kind.is_discrete {
        // 3 ms on an H200, and less than 0.2 s on a GPU with a fortieth of its bandwidth.
        1 << 29
    } else {
        1 << 25
    }
}

/// Plans sorts for one device: checks them, chooses the engine, and records the dispatches.
#[derive(Clone, Debug)]
pub struct Planner {
    options: Options,
    /// The device's kind.
    pub kind: DeviceKind,
    allowed: Allowed,
    /// What recordings depend on.
    pub limits: DeviceLimits,
}

impl Planner {
    /// A planner for a device. `sampling_seed` is [`DeviceLimits::sampling_seed`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`], [`Error::AdapterTooSmall`].
    pub fn new(
        options: Options,
        kind: DeviceKind,
        allowed: Allowed,
        sampling_seed: u32,
    ) -> Result<Self, Error> {
        options.validate()?;
        allowed.check()?;
        let keys = options.keys_per_dispatch;
        let limits = DeviceLimits {
            // A binding's size must be a multiple of 4.
            buffer_bytes: allowed.bound().1 / 8 * 8,
            workgroups: allowed.workgroups,
            keys_per_dispatch: keys.unwrap_or_else(|| default_keys_per_dispatch(kind)),
            workgroup_bytes: allowed.workgroup_bytes,
            workgroup_lanes: allowed.workgroup_lanes,
            sampling_seed,
        };
        Ok(Self {
            options,
            kind,
            allowed,
            limits,
        })
    }

    /// The maximum number of keys of a type in one sort.
    #[must_use]
    pub const fn max_len(&self, key: KeyType) -> u64 {
        self.limits.max_len(key)
    }

    /// Records a sort.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::BindingTooLarge`], [`Error::Offset`],
    /// [`Error::InvalidOption`], [`Error::WorkgroupMemory`].
    pub fn record<R: AsSpan>(&self, job: &BufferSort<R>) -> Result<Recording, Error> {
        let (len, layout) = self.layout(job)?;
        let key = job.key.widened();
        let planned = layout::LayoutSort {
            ranks: job.ranks()?,
            ..self.plan(len, key, job.order, &layout)
        };
        if let Some(comparator) = &job.comparator {
            return self.fitting(layout::record_compared(
                &planned,
                comparator,
                &self.tuning(),
            ));
        }
        if planned.strategy() != Strategy::Direct {
            // Composed records may be larger than the keys.
            let words = layout.composed_words(key).max(key.words());
            let bytes = u128::from(len) * u128::from(words) * 4;
            check_bound(BufferRole::Scratch, bytes, self.limits.buffer_bytes)?;
        }
        let mut recording = self.record_planned(planned)?;
        recording.custom = (job.predicate.as_ref()).map(|predicate| predicate.function().clone());
        Ok(recording)
    }

    /// Records a sort of keys alone, in place.
    pub(crate) fn record_keys(
        &self,
        len: u64,
        key: KeyType,
        order: Order,
    ) -> Result<Recording, Error> {
        let len = self.check_len(len, key)?;
        self.record_planned(self.plan(len, key.widened(), order, &SortLayout::default()))
    }

    /// Records a check of the order of a job's keys. [`layout::record_is_sorted`] describes its
    /// result, in a word of a buffer.
    pub(crate) fn record_is_sorted<R: AsSpan>(
        &self,
        job: &BufferSort<R>,
        word: u32,
    ) -> Result<Recording, Error> {
        if let Some(fields) = &job.fields {
            fields.check(64, "at most 64, where their order is checked")?;
        }
        let (len, layout) = self.layout(job)?;
        let planned = self.plan(len, job.key.widened(), job.order, &layout);
        Ok(layout::record_is_sorted(&planned, word))
    }

    /// Returns `len` as `u32`, or [`Error::TooLarge`] if that exceeds one recording.
    pub(crate) fn check_len(&self, len: u64, key: KeyType) -> Result<u32, Error> {
        let max_len = self.limits.max_len(key);
        if len <= max_len {
            return Ok(len as u32);
        }
        let (limit, limit_bytes) = self.allowed.bound();
        Err(Error::TooLarge {
            len,
            key,
            bytes: len.saturating_mul(key.bytes()),
            max_len,
            limit,
            limit_bytes,
        })
    }

    /// The length of a job and the layout of its records. Fails if they exceed the device's limits.
    fn layout<R: AsSpan>(&self, job: &BufferSort<R>) -> Result<(u32, SortLayout), Error> {
        let len = self.check_len(job.len, job.key)?;
        Ok((len, job.layout(self.allowed.bound().1)?))
    }

    const fn plan<'a>(
        &'a self,
        len: u32,
        key: KeyType,
        order: Order,
        layout: &'a SortLayout,
    ) -> layout::LayoutSort<'a> {
        layout::LayoutSort {
            len,
            key,
            order,
            layout,
            ranks: None,
            maps_keys: true,
            counting: None,
            limits: &self.limits,
        }
    }

    /// Chooses the engine of a sort and records the sort.
    fn record_planned(&self, job: layout::LayoutSort<'_>) -> Result<Recording, Error> {
        let layout = job.layout;
        let engine = self.choice(Records {
            len: job.len,
            payload: layout.payload(),
            mapped: !job.key.map(job.order).is_identity(),
            segmented: layout.segments.is_some(),
            indirect: layout.count_at.is_some(),
        });
        let tuning = self.tuning();
        let options = match engine {
            Engine::SampleSort => self.options.clone().engine(engine).tuning(tuning),
            _ => self.mergesort_options(job.len, job.key, engine)?,
        };
        let job = layout::LayoutSort {
            counting: Some(&tuning),
            maps_keys: maps_keys(&options),
            ..job
        };
        self.fitting(job.record(&|recording, sort| {
            record_sort_of_words(recording, sort, &options, &self.limits);
        }))
    }

    /// The tile sizes of the sample sort: [`Options::tuning`], or the defaults for this device.
    pub(crate) fn tuning(&self) -> Tuning {
        let default = || default_tuning(self.kind);
        self.options.tuning.unwrap_or_else(default)
    }

    /// The engine that sorts `len` keys alone in ascending order.
    pub(crate) fn engine(&self, len: u64, key: KeyType) -> Engine {
        let len = len.min(self.max_len(key)) as u32;
        self.choice(Records {
            mapped: !key.map(Order::Ascending).is_identity(),
            ..Records::keys(len)
        })
    }

    /// The engine that sorts these records.
    fn choice(&self, records: Records) -> Engine {
        choose(self.kind, &self.options, records)
    }

    /// The options of a mergesort, with the default number of buckets if none is set.
    fn mergesort_options(&self, len: u32, key: KeyType, engine: Engine) -> Result<Options, Error> {
        let mut options = self.options.clone().engine(engine);
        let base_case = options.mergesort.base_case_kernel(engine, key);
        self.check_fits(&base_case, key)?;
        let most = most_default_buckets(self.kind);
        options
            .mergesort
            .buckets
            .get_or_insert_with(|| default_buckets(len).min(most));
        Ok(options)
    }

    /// Returns the recording. Fails if one of its kernels exceeds the device's workgroup memory.
    fn fitting(&self, recording: Recording) -> Result<Recording, Error> {
        for step in &recording.steps {
            self.check_fits(&step.kernel, recording.key)?;
        }
        Ok(recording)
    }

    fn check_fits(&self, kernel: &Kernel, key: KeyType) -> Result<(), Error> {
        let needed = kernel.workgroup_bytes();
        let limit = self.limits.workgroup_bytes;
        if needed <= limit {
            return Ok(());
        }
        Err(Error::WorkgroupMemory {
            kernel: kernel.name().to_owned(),
            key,
            needed,
            limit,
        })
    }
}
