//! From the description of a sort to the list of its dispatches, for one kind of device. It is
//! independent of graphics APIs.

mod engine;

use engine::{Records, choose};

use crate::job::{AsSpan, Job, check_bound};
use crate::layout::{self, SortLayout, Strategy};
use crate::plan::{self, DeviceLimits, MOST_BUCKETS, MOST_BUCKETS_ON_CPU};
use crate::recording::Recording;
use crate::{BufferRole, Engine, Error, KeyType, Options, Order, Tuning, phases};

/// The limits that the kernels need: names in wgpu, and the least values.
pub const NEEDED_LIMITS: [(&str, u64); 6] = [
    // The partition of 64-bit keys with values binds four buffers of records and four tables.
    ("max_storage_buffers_per_shader_stage", 8),
    // The page merge of two-word keys needs two planes of 32 x 33 + 2 words. WebGPU rounds each up
    // to a multiple of 16 bytes. Prefix sums need less.
    ("max_compute_workgroup_storage_size", 8480),
    ("max_compute_invocations_per_workgroup", 256),
    ("max_compute_workgroup_size_x", 256),
    ("max_compute_workgroups_per_dimension", 65_535),
    ("max_storage_buffer_binding_size", 16 << 20),
];

/// The properties of a device that the defaults depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceKind {
    /// True for a CPU (a software adapter).
    pub is_cpu: bool,
    /// True for a GPU with its own memory.
    pub is_discrete: bool,
    /// True if FXC may compile the kernels: the DX12 shader compiler that comes with Windows.
    pub has_fxc: bool,
}

impl DeviceKind {
    /// The maximum of the default number of buckets.
    const fn most_default_buckets(self) -> u32 {
        if self.is_cpu {
            MOST_BUCKETS_ON_CPU
        } else {
            MOST_BUCKETS
        }
    }

    /// The default tuning of the sample sort on this device.
    fn default_tuning(self) -> Tuning {
        if self.is_cpu {
            Tuning::cpu()
        } else if self.has_fxc {
            Tuning::small_kernels()
        } else {
            Tuning::default()
        }
    }

    /// The default of [`Options::keys_per_dispatch`].
    const fn default_keys_per_dispatch(self) -> u32 {
        if self.is_cpu {
            1 << 22
        } else if self.is_discrete {
            // 2 ms on an H200, and less than 0.1 s on a GPU with a fortieth of its bandwidth.
            1 << 28
        } else {
            1 << 25
        }
    }
}

/// What a device allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The largest buffer, in bytes.
    pub buffer_size: u64,
    /// The largest binding of a storage buffer, in bytes.
    pub binding_size: u64,
    /// Workgroups per dimension of a dispatch.
    pub workgroups: u32,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
    /// The largest number of lanes of a workgroup.
    pub workgroup_lanes: u32,
    /// The largest size of a workgroup in x.
    pub workgroup_size_x: u32,
    /// Storage buffers of a kernel.
    pub storage_buffers: u32,
}

impl Allowed {
    /// Fails if a limit is below what the kernels need.
    ///
    /// # Errors
    ///
    /// [`Error::AdapterTooSmall`].
    pub fn check(&self) -> Result<(), Error> {
        // In the order of the names.
        let actual = [
            self.storage_buffers.into(),
            self.workgroup_bytes.into(),
            self.workgroup_lanes.into(),
            self.workgroup_size_x.into(),
            self.workgroups.into(),
            self.binding_size,
        ];
        for ((limit, needed), actual) in NEEDED_LIMITS.into_iter().zip(actual) {
            if actual < needed {
                return Err(Error::AdapterTooSmall {
                    limit,
                    needed,
                    actual,
                });
            }
        }
        Ok(())
    }

    /// The bytes of a buffer that can be bound at once, and the limit's name.
    const fn bound(&self) -> (&'static str, u64) {
        if self.binding_size <= self.buffer_size {
            ("max_storage_buffer_binding_size", self.binding_size)
        } else {
            ("max_buffer_size", self.buffer_size)
        }
    }
}

/// Plans sorts for one device: checks them, chooses the engine, and records the dispatches.
#[derive(Clone, Debug)]
pub struct Planner {
    options: Options,
    kind: DeviceKind,
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
            keys_per_dispatch: keys.unwrap_or_else(|| kind.default_keys_per_dispatch()),
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
    pub fn record<R: AsSpan>(&self, job: &Job<R>) -> Result<Recording, Error> {
        let (len, layout) = self.layout(job)?;
        let key = job.key.widened();
        let planned = layout::Job {
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
        self.record_planned(planned)
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
        job: &Job<R>,
        word: u32,
    ) -> Result<Recording, Error> {
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
    fn layout<R: AsSpan>(&self, job: &Job<R>) -> Result<(u32, SortLayout), Error> {
        let len = self.check_len(job.len, job.key)?;
        Ok((len, job.layout(self.allowed.bound().1)?))
    }

    const fn plan<'a>(
        &'a self,
        len: u32,
        key: KeyType,
        order: Order,
        layout: &'a SortLayout,
    ) -> layout::Job<'a> {
        layout::Job {
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
    fn record_planned(&self, job: layout::Job<'_>) -> Result<Recording, Error> {
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
        let job = layout::Job {
            counting: Some(&tuning),
            maps_keys: phases::maps_keys(&options),
            ..job
        };
        self.fitting(job.record(&|recording, sort| {
            phases::record_sort_of_words(recording, sort, &options, &self.limits);
        }))
    }

    /// The tile sizes of the sample sort: [`Options::tuning`], or the defaults for this device.
    pub(crate) fn tuning(&self) -> Tuning {
        let default = || self.kind.default_tuning();
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
        let base_case = phases::base_case_kernel(&options);
        self.check_fits(base_case.name(), key, base_case.workgroup_bytes(key))?;
        let most = self.kind.most_default_buckets();
        options
            .mergesort
            .buckets
            .get_or_insert_with(|| plan::default_buckets(len).min(most));
        Ok(options)
    }

    /// Returns the recording. Fails if one of its kernels exceeds the device's workgroup memory.
    fn fitting(&self, recording: Recording) -> Result<Recording, Error> {
        for step in &recording.steps {
            let needed = recording.specialised(step).workgroup_bytes();
            self.check_fits(step.kernel.name(), recording.key, needed)?;
        }
        Ok(recording)
    }

    fn check_fits(&self, kernel: String, key: KeyType, needed: u32) -> Result<(), Error> {
        let limit = self.limits.workgroup_bytes;
        if needed <= limit {
            return Ok(());
        }
        Err(Error::WorkgroupMemory {
            kernel,
            key,
            needed,
            limit,
        })
    }
}
