//! Estimates the time of a call on the CPU, for the choice of `auto`: by numpy, by a sort on all
//! cores, or by a selection.

use bcfsort_auto::Work;
use bcfsort_auto::model::{Call, Gpu};
use wgpu_bcfsort::{KeyType, SortKey};

/// The work of a call.
pub(crate) struct Task {
    work: Work,
    rows: usize,
    /// The elements of a row.
    columns: usize,
    key: KeyType,
    /// Seconds of a selection on the CPU, if the task is one.
    selection: Option<f64>,
}

/// Seconds per comparison by numpy, with vector instructions on one thread: of keys of up to 32
/// bits, and of 64 bits. Measured on a host with AVX-512 (see benches/results/python-sorts.csv).
const NUMPYS: [f64; 2] = [0.25e-9, 0.5e-9];

/// Seconds in which one thread compares a key with the bound of a selection: of keys of up to 32
/// bits, and of 64 bits.
const COMPARED: [f64; 2] = [0.5e-9, 1e-9];

/// The least seconds with any number of threads, since they share the memory.
const COMPARED_LEAST: [f64; 2] = [0.05e-9, 0.1e-9];

/// With `auto`, fewer elements are never sorted on a GPU, whatever the CPU.
const FEW: usize = 1 << 12;

impl Task {
    pub(crate) fn new<C: SortKey>(work: Work, elements: usize, columns: usize) -> Self {
        Self {
            work,
            rows: elements / columns.max(1),
            columns,
            key: C::KEY_TYPE,
            selection: None,
        }
    }

    /// A selection of `ranks` among all elements, by this number of passes over them.
    pub(crate) fn selection<C: SortKey>(
        work: Work,
        elements: usize,
        ranks: usize,
        passes: usize,
    ) -> Self {
        let mut task = Self::new::<C>(work, elements, elements);
        let width = task.width();
        let threads = task.call().threads.max(1) as f64;
        let pass = (COMPARED[width] / threads).max(COMPARED_LEAST[width]);
        let sorted = Call::new(ranks as u64, task.key, Work::Argsort).estimate(Gpu::Open);
        task.selection = Some(passes as f64 * elements as f64 * pass + sorted.cpu);
        task
    }

    /// Whether the task is too small to look for a GPU.
    pub(crate) const fn is_small(&self) -> bool {
        self.rows * self.columns < FEW
    }

    /// The task as the cost model describes it.
    pub(crate) fn call(&self) -> Call {
        let cpu = self.selection.unwrap_or_else(|| match self.work {
            Work::Sort => self.numpys().min(self.all_cores()),
            Work::Argsort => self.all_cores(),
        });
        let elements = (self.rows * self.columns) as u64;
        Call {
            cpu: Some(cpu),
            ..Call::new(elements, self.key, self.work)
        }
    }

    fn width(&self) -> usize {
        usize::from(self.key.bytes() > 4)
    }

    fn numpys(&self) -> f64 {
        let depth = (self.columns.max(2) as f64).log2();
        (self.rows * self.columns) as f64 * depth * NUMPYS[self.width()]
    }

    /// Seconds that all cores take. For sorts they share one row after another; for argsorts they
    /// take several rows at a time.
    fn all_cores(&self) -> f64 {
        let row = Call::new(self.columns as u64, self.key, self.work);
        let together = match self.work {
            Work::Sort => 1,
            Work::Argsort => row.threads.min(self.rows).max(1),
        };
        let row = Call {
            threads: row.threads / together,
            ..row
        };
        row.estimate(Gpu::Open).cpu * self.rows as f64 / together as f64
    }

    /// Whether numpy sorts, if the CPU does.
    pub(crate) fn is_numpys(&self) -> bool {
        self.work == Work::Sort && self.numpys() <= self.all_cores()
    }

    /// Which of numpy and all cores does the task on the CPU.
    pub(crate) fn on_cpu(&self) -> &'static str {
        if self.is_numpys() { "numpy" } else { "cpu" }
    }
}
