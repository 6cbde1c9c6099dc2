//! The time that a call takes on the CPU and on a GPU: what `auto` compares.
//!
//! The constants were measured on hosts with an H200 (`wgpu-bcfsort bench --auto`, which prints
//! these estimates beside the clock on the machine at hand). They hold for other discrete GPUs, too:
//! most of the time of a call is that of the copies between the program and the GPU, which the host
//! makes, and not that of the sort.

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
}

/// Seconds that a call takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// On the CPU.
    pub cpu: f64,
    /// On the GPU.
    pub gpu: f64,
}

/// The measured constants, in seconds.
struct Constants {
    /// One key in a pass of a sort by comparisons on one thread: times log2 of their number.
    compared: f64,
    /// Once, where the CPU sorts on several threads.
    cpu_start: f64,
    /// One byte of a record for each of its bytes that are sorted by, on one thread.
    cpu_byte: f64,
    /// The same, however many threads there are: the memory is the limit.
    cpu_byte_least: f64,
    /// Opens a device, and loads the kernels that a driver keeps.
    gpu_open: f64,
    /// What of this passes while a file is read.
    beside_reading: f64,
    /// A call on an open device, whatever its size.
    gpu_call: f64,
    /// A byte to the GPU or back, on one thread.
    gpu_byte: f64,
    /// The same, however many threads there are.
    gpu_byte_least: f64,
    /// A byte that is sorted on the GPU.
    gpu_sorted: f64,
}

const MEASURED: Constants = Constants {
    compared: 1.0e-9,
    cpu_start: 50e-6,
    cpu_byte: 0.5e-9,
    cpu_byte_least: 0.02e-9,
    gpu_open: 0.25,
    beside_reading: 0.1,
    gpu_call: 300e-6,
    gpu_byte: 0.2e-9,
    gpu_byte_least: 0.04e-9,
    gpu_sorted: 0.005e-9,
};

/// Keys that the CPU sorts by comparisons: as in [`cpu`](crate::cpu).
const FEW: f64 = 4096.0;

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
        }
    }

    /// The times on both devices.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::model::{Call, Gpu, Work};
    /// let call = |len| Call { work: Work::Sort, len, key_bytes: 4, threads: 16 };
    /// let few = call(1000).estimate(Gpu::Open);
    /// assert!(few.cpu < few.gpu);
    /// let many = call(1 << 28).estimate(Gpu::Closed);
    /// assert!(many.gpu < many.cpu);
    /// ```
    #[must_use]
    pub fn estimate(&self, gpu: Gpu) -> Estimate {
        let c = &MEASURED;
        let (len, threads) = (self.len as f64, self.threads.max(1) as f64);
        let key = self.key_bytes as f64;
        // What is moved, and by how many of its bytes it is sorted.
        let (record, by, up, down) = match self.work {
            Work::Sort => (key, key, key, key),
            // (The bytes of the index that are looked at are few: where keys are equal.)
            Work::Argsort => (if key > 4.0 { 16.0 } else { 8.0 }, key + 1.0, key, 4.0),
        };
        let cpu = if len < FEW {
            len * len.max(1.0).log2() * c.compared
        } else {
            let start = if threads > 1.0 { c.cpu_start } else { 0.0 };
            let byte = (c.cpu_byte / threads).max(c.cpu_byte_least);
            start + len * record * by * byte
        };
        let open = match gpu {
            Gpu::Closed => c.gpu_open,
            Gpu::ClosedWhileReading => c.gpu_open - c.beside_reading,
            Gpu::Open => 0.0,
        };
        let byte = (c.gpu_byte / threads).max(c.gpu_byte_least);
        let gpu = open + c.gpu_call + len * ((up + down) * byte + record * c.gpu_sorted);
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
        }
    }

    /// Of every call that was measured, the chosen device takes at most this much more time than the
    /// other one: by factor, or in milliseconds, where a call is over before that is noticed.
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
            let (cpu, gpu) = (number(4), number(6));
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
        assert!(count >= 100, "only {count} calls");
    }

    #[test]
    fn the_gpu_pays_for_more_keys_fewer_threads_and_once_it_is_open() {
        for work in [Work::Sort, Work::Argsort] {
            for key_bytes in [4, 8] {
                for threads in [1, 2, 4, 16, 64, 200] {
                    let pays = |log2: u32, threads, gpu| {
                        let estimate = call(work, 1 << log2, key_bytes, threads).estimate(gpu);
                        estimate.gpu < estimate.cpu
                    };
                    assert!(!pays(0, threads, Gpu::Open) && !pays(12, threads, Gpu::Open));
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
