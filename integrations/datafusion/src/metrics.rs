//! The metrics that `EXPLAIN ANALYZE` shows.

use crate::gpu::Work;
use datafusion_physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, Gauge, MetricBuilder, SpillMetrics, Time,
};

/// The metrics of one partition: those of a `SortExec`, and the GPU's.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    pub(crate) baseline: BaselineMetrics,
    pub(crate) spill: SpillMetrics,
    /// Keys that were sorted on the GPU. Wide ones are sorted twice, and count twice. Strings that
    /// tie have one more key in each round that sorts their next bytes.
    gpu_keys: Count,
    cpu_keys: Count,
    /// Sorts that the CPU did because the GPU failed. Their time counts as CPU time.
    fallbacks: Count,
    /// Rows that are decoded from their keys, and not collected.
    pub(crate) decoded_rows: Count,
    /// Sorts, of all rows or of a run.
    pub(crate) runs: Count,
    /// The bits of the widest keys.
    pub(crate) key_bits: Gauge,
    /// Time to encode the columns as keys.
    pub(crate) encode_time: Time,
    /// Time to sort the keys on the GPU, including transfers and the opening of the device.
    gpu_time: Time,
    cpu_time: Time,
    /// The rest of the sort, on the CPU: selecting rows for a limit, and comparing rows with equal
    /// keys, or making further keys of their strings.
    tie_time: Time,
    /// Time to gather or decode the rows of the output, including the concatenation of small
    /// batches.
    pub(crate) gather_time: Time,
}

impl Metrics {
    pub(crate) fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name| MetricBuilder::new(set).counter(name, partition);
        let time = |name| MetricBuilder::new(set).subset_time(name, partition);
        Self {
            baseline: BaselineMetrics::new(set, partition),
            spill: SpillMetrics::new(set, partition),
            gpu_keys: count("gpu_keys"),
            cpu_keys: count("cpu_keys"),
            fallbacks: count("fallbacks"),
            decoded_rows: count("decoded_rows"),
            runs: count("runs"),
            key_bits: MetricBuilder::new(set).gauge("key_bits", partition),
            encode_time: time("encode_time"),
            gpu_time: time("gpu_time"),
            cpu_time: time("cpu_time"),
            tie_time: time("tie_time"),
            gather_time: time("gather_time"),
        }
    }

    /// Adds the sorts of keys, and the time that the whole sort took.
    pub(crate) fn add(&self, work: &Work, sort: std::time::Duration) {
        self.gpu_keys.add(work.gpu_keys);
        self.cpu_keys.add(work.cpu_keys);
        self.fallbacks.add(work.failures);
        self.gpu_time.add_duration(work.on_gpu);
        self.cpu_time.add_duration(work.on_cpu);
        let keys = work.on_gpu + work.on_cpu;
        self.tie_time.add_duration(sort.saturating_sub(keys));
    }
}
