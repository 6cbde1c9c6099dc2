//! Devices that all tests of a process share, and what they all do with them.

use crate::execution::Pipeline;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::internals::kernel::Specialised;
use wgpu_bcfsort::paper::PrefixSums;
use wgpu_bcfsort::{Options, Order, SortKey, Sorter, adapters, requirements};

/// A device that tests share, with a sorter for each set of options.
pub(crate) struct Gpu {
    pub(crate) adapter: wgpu::Adapter,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    /// Its compiled kernels serve all the others.
    pub(crate) first: Sorter,
    sorters: Mutex<HashMap<Options, Arc<Sorter>>>,
    /// What runs recordings step by step.
    pub(crate) pipelines: Mutex<HashMap<Specialised, Arc<Pipeline>>>,
    pub(crate) sums: OnceLock<PrefixSums>,
}

/// Lavapipe compiles a kernel when it first runs, one at a time on a device, which most of these
/// tests' time goes into.
const DEVICES: usize = 2;

/// The device of this test, one of those shared, or `None`, said aloud, where there is no adapter.
/// With `WGPU_BCFSORT_REQUIRE_ADAPTER` set, no adapter is a failure.
pub(crate) fn gpu() -> Option<&'static Gpu> {
    static GPUS: LazyLock<Option<[Gpu; DEVICES]>> = LazyLock::new(|| {
        let adapter = adapters().into_iter().next()?;
        let needs = requirements(&adapter).unwrap();
        Some(std::array::from_fn(|_| {
            let (device, queue) = open(&adapter, needs.limits.clone());
            Gpu {
                first: Sorter::new(&device, &queue, Options::default()).unwrap(),
                adapter: adapter.clone(),
                device,
                queue,
                sorters: Mutex::default(),
                pipelines: Mutex::default(),
                sums: OnceLock::new(),
            }
        }))
    });
    static TESTS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        // Each test has a thread of its own, and those that run side by side begin one after the
        // other.
        static TEST: usize = TESTS.fetch_add(1, Ordering::Relaxed);
    }
    let required = std::env::var("WGPU_BCFSORT_REQUIRE_ADAPTER").is_ok_and(|v| v != "0");
    assert!(
        GPUS.is_some() || !required,
        "no adapter, and one is required"
    );
    let Some(gpus) = &*GPUS else {
        println!("SKIPPED: no adapter on this machine");
        return None;
    };
    let gpu = &gpus[TEST.with(|test| *test) % DEVICES];
    println!("on {}", gpu.adapter.get_info().name);
    Some(gpu)
}

/// Opens a device of its own.
pub(crate) fn open(adapter: &wgpu::Adapter, limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        label: Some("tests"),
        required_limits: limits,
        ..Default::default()
    }))
    .unwrap()
}

const EVERY_USE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE
    .union(wgpu::BufferUsages::COPY_SRC)
    .union(wgpu::BufferUsages::COPY_DST);

impl Gpu {
    /// Whether the adapter is a CPU: lavapipe or `SwiftShader`, which compile kernels
    /// slowly.
    pub(crate) fn is_cpu(&self) -> bool {
        self.adapter.get_info().device_type == wgpu::DeviceType::Cpu
    }

    /// Whether tests run all of their cases on this adapter: on a GPU always, on a CPU if it is
    /// [asked for](bcfsort_testkit::all_cases).
    pub(crate) fn runs_all_cases(&self) -> bool {
        !self.is_cpu() || bcfsort_testkit::all_cases()
    }

    /// The cases that a test runs on this adapter: all of them, or these few.
    pub(crate) fn cases<T: Clone>(&self, few: &[T], more: &[T]) -> Vec<T> {
        let more = if self.runs_all_cases() { more } else { &[] };
        few.iter().chain(more).cloned().collect()
    }

    pub(crate) fn sorter(&self, options: &Options) -> Arc<Sorter> {
        let mut sorters = self.sorters.lock().unwrap_or_else(PoisonError::into_inner);
        sorters
            .entry(options.clone())
            .or_insert_with(|| Arc::new(self.first.with_options(options.clone()).unwrap()))
            .clone()
    }

    /// A buffer that holds these words.
    pub(crate) fn buffer(&self, words: &[u32]) -> wgpu::Buffer {
        let buffer = self.empty_buffer(words.len() as u64 * 4);
        self.queue
            .write_buffer(&buffer, 0, bytemuck::cast_slice(words));
        buffer
    }

    pub(crate) fn empty_buffer(&self, bytes: u64) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("tests.buffer"),
            size: bytes,
            usage: EVERY_USE,
            mapped_at_creation: false,
        })
    }

    pub(crate) fn read(&self, buffer: &wgpu::Buffer) -> Vec<u32> {
        read(&self.device, &self.queue, buffer)
    }
}

/// The words of a buffer.
pub(crate) fn read(device: &wgpu::Device, queue: &wgpu::Queue, buffer: &wgpu::Buffer) -> Vec<u32> {
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("tests.staging"),
        size: buffer.size(),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..).unwrap())
}

/// Whether this is a process that runs a test alone. If it is not, it has run the test in one, with
/// these environment variables, and it was passed there.
pub(crate) fn is_alone(test: &str, variables: &[(&str, &str)]) -> bool {
    const ALONE: &str = "WGPU_BCFSORT_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(ALONE, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    println!("{said}");
    // (No test of this name would pass, too.)
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{}: {}",
        child.status,
        String::from_utf8_lossy(&child.stderr)
    );
    false
}

/// The keys' bits, to be compared.
pub(crate) fn bits<T: SortKey>(keys: &[T]) -> Vec<u64> {
    keys.iter().map(|key| key.to_bits64()).collect()
}

/// Sorts on the device and on the CPU, and compares bit for bit. `what` names the case; the input
/// of one that fails is written to a file.
pub(crate) fn check_sort<T: SortKey>(sorter: &Sorter, keys: &[T], order: Order, what: &str) {
    let mut expected = keys.to_vec();
    sort_on_cpu(&mut expected, order);
    let mut sorted = keys.to_vec();
    let outcome = sorter.sort(&mut sorted, order);
    let wrong = (bits(&sorted).iter().zip(bits(&expected))).position(|(a, b)| *a != b);
    if outcome.is_ok() && wrong.is_none() {
        return;
    }
    let mut message = what.to_owned();
    match (outcome, wrong) {
        (Err(error), _) => write!(message, ": {error:?}").unwrap(),
        (Ok(()), Some(i)) => {
            write!(
                message,
                ": key {i} is {:?}, not {:?}",
                sorted[i], expected[i]
            )
            .unwrap();
        }
        (Ok(()), None) => {}
    }
    let name: String = what
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let name = format!("failing-{name}.bin");
    panic!(
        "{message}; its input is in {}",
        save(&name, bytemuck::cast_slice(keys))
    );
}

/// Writes a file into cargo's directory for tests or, where the program runs on another machine,
/// into that for temporary files. Returns its path, or why there is none.
fn save(name: &str, bytes: &[u8]) -> String {
    let directories = [
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
        std::env::temp_dir(),
    ];
    let mut outcome = String::new();
    for directory in directories {
        let path = directory.join(name);
        match std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&path, bytes)) {
            Ok(()) => return path.display().to_string(),
            Err(error) => outcome = format!("no file: {error}"),
        }
    }
    outcome
}
