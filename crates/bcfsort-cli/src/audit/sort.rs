//! Audits the kernels of one sort.

use super::{Args, Job as Any};
use bcfsort_data::{Spec, generate};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_term::with_key_type;
use bcfsort_testkit::recordings::{Execution, audit_subject, was_sorted};
use std::time::Instant;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::planner::record_sort;
use wgpu_bcfsort::internals::recording::Buffer;
use wgpu_bcfsort::{Engine, KeyType, Order, SortKey};
use wgsl_lockstep::MEMORY_A_WORD;
use wgsl_lockstep::audit::{Audit, check_memory};

/// Limits of a typical GPU.
const LIMITS: DeviceLimits = DeviceLimits {
    buffer_bytes: 1 << 27,
    keys_per_dispatch: 1 << 25,
    ..bcfsort_testkit::LIMITS
};

/// One sort and its result.
pub(crate) struct Job {
    pub(crate) engine: Engine,
    pub(crate) spec: Spec,
    pub(crate) key: KeyType,
    pub(crate) order: Order,
    /// True if the result equals the CPU's, byte for byte.
    pub(crate) sorted: bool,
}

impl Job {
    pub(crate) fn wrong_result(&self) -> Option<String> {
        (!self.sorted).then(|| {
            format!(
                "{}: unsorted: the CPU's sort gives another result",
                self.name()
            )
        })
    }

    pub(crate) fn name(&self) -> String {
        format!(
            "{} sort of {} {} keys, {}, {}",
            self.engine,
            self.spec.count,
            self.key,
            self.spec.pattern,
            self.order.name()
        )
    }
}

pub(crate) fn run(args: &Args) -> Result<(Any, Audit), Fault> {
    with_key_type!(args.key, T => sort::<T>(args))
}

fn sort<T: SortKey>(args: &Args) -> Result<(Any, Audit), Fault> {
    let order = args.direction.order();
    args.tuning.refuse_for_others(&[args.engine])?;
    let options = args.tuning.options(args.engine);
    options.validate()?;
    let most = LIMITS.max_len(T::KEY_TYPE);
    let len = u32::try_from(args.count)
        .ok()
        .filter(|&len| u64::from(len) <= most)
        .ok_or_else(|| {
            Fault::Usage(format!(
                "audit sorts {most} {} keys at most: take a smaller --count",
                T::KEY_TYPE
            ))
        })?;
    let spec = Spec::new(args.pattern, args.count).seed(args.seed);
    let keys: Vec<T> = generate(&spec).map_err(|error| Fault::Usage(error.to_string()))?;
    let recording = record_sort(len, T::KEY_TYPE, order, &options, &LIMITS);
    let key_bytes = args.count * T::KEY_TYPE.bytes();
    // A sort's buffers hold whole words, and the sort writes all of them.
    let words = (recording.scratch_bytes() + key_bytes) / 4;
    check_memory(words * u64::from(MEMORY_A_WORD))
        .map_err(|message| Fault::Usage(format!("{message}: take a smaller --count")))?;

    let mut progress = Progress::new(args.quiet);
    let started = Instant::now();
    let words = bytemuck::cast_slice(&keys);
    let mut execution = Execution::new(&recording, words, args.config());
    let of = recording.steps.len();
    let kernels = execution
        .run_observed(|step| progress.show(|| format!("dispatch {} of {of}", step + 1)))
        // A kernel that the executor cannot run is not a device fault.
        .map_err(|error| Fault::Usage(error.to_string()))?;
    let time = started.elapsed();
    drop(progress);

    let job = Job {
        engine: args.engine,
        spec,
        key: T::KEY_TYPE,
        order,
        sorted: was_sorted(&recording, words, execution.buffer(Buffer::Keys), &[]),
    };
    let kernels = kernels.into_iter();
    let subjects = kernels.map(|one| audit_subject(&one.kernel, Some(one.phase), one.report));
    let audit = Audit::new(subjects.collect(), args.config()).time(time);
    Ok((Any::Sort(job), audit))
}
