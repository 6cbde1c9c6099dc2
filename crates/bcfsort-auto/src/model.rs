//! The time that a call takes on the CPU and on a GPU: what `auto` compares.
//!
//! The constants were measured on a host with an H200 (`wgpu-bcfsort bench --auto`, which prints
//! these estimates beside the clock on the machine at hand). Most of the time of a call is that of
//! the copies between the program and the GPU, which the host makes, and not that of the sort: so
//! they hold about for other GPUs with a bus of their own.

use std::sync::OnceLock;
use wgpu_bcfsort::KeyType;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sorts keys alone.
    Sort,
    /// Returns the indices that sort keys.
    Argsort,
}

impl Work {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sort => "sort",
            Self::Argsort => "argsort",
        }
    }
}

/// The state of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gpu {
    /// The call would open it, and compile or load the kernels.
    Closed,
    /// As [`Closed`](Self::Closed), but a part of this passes while the caller reads a file.
    ClosedWhileReading,
    /// It is ready.
    Open,
}

/// A call, and the cores that are there for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// What it does.
    pub work: Work,
    /// The number of keys.
    pub len: u64,
    /// The size of a key in bytes.
    pub key_bytes: u64,
    /// The threads that sort on the CPU, and copy to and from the GPU.
    pub threads: usize,
    /// Seconds that the CPU takes, if the caller has a sort of its own for it.
    pub cpu: Option<f64>,
}

/// Seconds that a call takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// On the CPU.
    pub cpu: f64,
    /// On the GPU.
    pub gpu: f64,
}

/// The measured constants, in seconds: of keys of 32 and 64 bits (shorter ones are as those of 32),
/// sorts first and then argsorts, where there are four.
struct Constants {
    /// The CPU: one key in a sort of few keys, on one thread, times log2 of their number.
    few: [[f64; 2]; 2],
    /// One key in a sort of many, on one thread; several share it.
    many: [[f64; 2]; 2],
    /// To share it.
    sharing: f64,
    /// The GPU: opens a device, and loads the kernels that a driver keeps.
    open: f64,
    /// What of this passes while a file is read.
    beside_reading: f64,
    /// A call on an open device, whatever its size.
    call: f64,
    /// A byte to the GPU or back, on one thread; several share it.
    byte: f64,
    /// The same, however many share it.
    byte_least: f64,
    /// A key, for what an argsort moves in addition.
    indexed: f64,
    /// A key of more than are sorted at once: they are partitioned before.
    partitioned: f64,
}

/// From `benches/results/nvidia-h200/auto.csv`, to which a test compares all choices.
const MEASURED: Constants = Constants {
    few: [[0.85e-9, 1.9e-9], [1.7e-9, 3.2e-9]],
    many: [[22e-9, 58e-9], [55e-9, 125e-9]],
    sharing: 200e-6,
    open: 0.4,
    beside_reading: 0.1,
    call: 100e-6,
    byte: 0.3e-9,
    byte_least: 0.065e-9,
    indexed: 0.25e-9,
    partitioned: 0.4e-9,
};

/// Below this number keys are few.
const MANY: f64 = (1 << 17) as f64;

/// Bytes of keys that GPUs sort at once: what most of them bind.
pub const AT_ONCE: u64 = 1 << 31;

impl Call {
    /// A call on all threads of the calling thread's pool of rayon.
    #[must_use]
    pub fn new(len: u64, key: KeyType, work: Work) -> Self {
        /// Asked for once, since the first question starts rayon's threads.
        static THREADS: OnceLock<usize> = OnceLock::new();
        Self {
            work,
            len,
            key_bytes: key.bytes(),
            threads: *THREADS.get_or_init(rayon::current_num_threads),
            cpu: None,
        }
    }

    /// The times on both devices.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::model::{Call, Gpu, Work};
    /// use wgpu_bcfsort::KeyType;
    /// let call = |len| Call { threads: 4, ..Call::new(len, KeyType::U32, Work::Sort) };
    /// let few = call(1000).estimate(Gpu::Open);
    /// assert!(few.cpu < few.gpu);
    /// let many = call(1 << 28).estimate(Gpu::Closed);
    /// assert!(many.gpu < many.cpu);
    /// ```
    #[must_use]
    pub fn estimate(&self, gpu: Gpu) -> Estimate {
        let c = &MEASURED;
        let (len, threads) = (self.len as f64, self.threads.max(1) as f64);
        let is_argsort = self.work == Work::Argsort;
        let (work, width) = (usize::from(is_argsort), usize::from(self.key_bytes > 4));

        let few = len * len.max(1.0).log2() * c.few[work][width];
        let sharing = if self.threads > 1 { c.sharing } else { 0.0 };
        let many = sharing + len * c.many[work][width] / threads;
        let cpu = if len < MANY { few } else { few.min(many) };
        let cpu = self.cpu.unwrap_or(cpu);

        let open = match gpu {
            Gpu::Closed => c.open,
            Gpu::ClosedWhileReading => c.open - c.beside_reading,
            Gpu::Open => 0.0,
        };
        let key = self.key_bytes as f64;
        let back = if is_argsort { 4.0 } else { key };
        let byte = (c.byte / threads).max(c.byte_least);
        let mut of_key = (key + back) * byte;
        if is_argsort {
            of_key += c.indexed;
        }
        if len * key >= AT_ONCE as f64 {
            of_key += c.partitioned;
        }
        let gpu = open + c.call + len * of_key;
        Estimate { cpu, gpu }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn call(work: Work, len: u64, key_bytes: u64, threads: usize) -> Call {
        Call {
            work,
            len,
            key_bytes,
            threads,
            cpu: None,
        }
    }

    /// Of every call that was measured, the chosen device takes at most this much more time than
    /// the other one: by factor, or in milliseconds, where a call is over before that is noticed.
    const FACTOR: f64 = 1.3;
    const MILLISECONDS: f64 = 0.2;

    #[test]
    fn no_choice_is_worse_than_the_clock_allows() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let path = root.join("benches/results/nvidia-h200/auto.csv");
        let mut calls = csv::Reader::from_path(path).unwrap();
        let mut count = 0;
        for record in calls.records() {
            let record = record.unwrap();
            let number = |i: usize| record[i].parse::<f64>().unwrap();
            let work = [Work::Sort, Work::Argsort].into_iter();
            let work = work.clone().find(|work| work.name() == &record[0]).unwrap();
            let key: KeyType = record[1].parse().unwrap();
            let (len, threads) = (record[2].parse().unwrap(), record[3].parse().unwrap());
            let estimate = call(work, len, key.bytes(), threads).estimate(Gpu::Open);
            let (cpu, gpu) = (number(4), number(5));
            let chosen = if estimate.gpu < estimate.cpu {
                gpu
            } else {
                cpu
            };
            let best = cpu.min(gpu);
            assert!(
                chosen <= best * FACTOR || chosen - best <= MILLISECONDS,
                "{record:?}: {estimate:?}"
            );
            count += 1;
        }
        assert!(count >= 90, "only {count} calls");
    }

    #[test]
    fn the_gpu_pays_for_more_keys_fewer_threads_and_once_it_is_open() {
        for work in [Work::Sort, Work::Argsort] {
            for key_bytes in [4, 8] {
                // (With many more, the CPU sorts many keys sooner than they are copied.)
                for threads in [1, 2, 4, 16] {
                    let pays = |log2: u32, threads, gpu| {
                        let estimate = call(work, 1 << log2, key_bytes, threads).estimate(gpu);
                        estimate.gpu < estimate.cpu
                    };
                    assert!(!pays(0, threads, Gpu::Open) && !pays(10, threads, Gpu::Open));
                    assert!(!pays(16, threads, Gpu::Closed));
                    for log2 in 0..50 {
                        let what = format!("2^{log2}, {threads} threads");
                        let open = pays(log2, threads, Gpu::Open);
                        assert!(!open || pays(log2 + 1, threads, Gpu::Open), "{what}");
                        let reading = pays(log2, threads, Gpu::ClosedWhileReading);
                        assert!(!reading || open, "{what}");
                        assert!(!pays(log2, threads, Gpu::Closed) || reading, "{what}");
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_takes_no_time_to_speak_of() {
        let estimate = call(Work::Sort, 0, 4, 1).estimate(Gpu::Open);
        assert!(estimate.cpu < 1e-6 && estimate.gpu < 1e-3);
    }
}
