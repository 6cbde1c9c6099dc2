//! Device loss at each call that a sort makes to its device, one after the other.
//!
//! wgpu logs each call before it runs, so a logger can destroy the device there. Another thread
//! would hit such a moment only sometimes; these tests always do.

use crate::device::{gpu, is_alone, own_device, profiled, random, sorted};
use bcfsort_testkit::kernels_of_tests::KERNELS_OF_TESTS;
use std::cell::RefCell;
use wgpu::util::DeviceExt;
use wgpu_bcfsort::paper::{PrefixSums, PrefixSumsOptions};
use wgpu_bcfsort::{
    Comparator, Detail, Error, KeyType, Keys, Options, Order, PreparedSort, SortJob, Sorter,
    WideKey,
};

/// The device that this thread loses, and when.
struct Loss {
    device: wgpu::Device,
    /// The number of calls before the loss.
    calls: usize,
    /// True if wgpu notices the loss at once, and frees the device's objects.
    frees: bool,
}

thread_local! {
    static LOSS: RefCell<Option<Loss>> = const { RefCell::new(None) };
}

struct LosesDevices;

impl log::Log for LosesDevices {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("wgpu_core")
    }

    fn log(&self, record: &log::Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        // Only at the start of a call: within it, wgpu holds locks.
        let text = record.args().to_string();
        let is_call = ["Device::", "Buffer::", "Queue::", "CommandEncoder::"]
            .iter()
            .any(|object| text.starts_with(object));
        if !is_call || text.starts_with("Device::maintain") {
            return;
        }
        let lost = LOSS.with_borrow_mut(|loss| {
            let left = &mut loss.as_mut()?.calls;
            if *left > 0 {
                *left -= 1;
                return None;
            }
            loss.take()
        });
        if let Some(loss) = lost {
            loss.device.destroy();
            if loss.frees {
                loss.device
                    .poll(wgpu::PollType::wait_indefinitely())
                    .unwrap();
            }
        }
    }

    fn flush(&self) {}
}

/// A sorter on the device that is lost, and objects made before the loss.
struct OnDevice {
    sorter: Sorter,
    sums: PrefixSums,
    buffer: wgpu::Buffer,
    values: wgpu::Buffer,
    prepared: PreparedSort,
}

const LEN: usize = 500;

impl OnDevice {
    fn new(sorter: Sorter, keys: &[u32]) -> Self {
        let device = sorter.device();
        let buffer = || {
            device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: None,
                contents: bytemuck::cast_slice(keys),
                usage: wgpu::BufferUsages::STORAGE,
            })
        };
        let (buffer, values) = (buffer(), buffer());
        let job = SortJob::new(Keys::new(&buffer, KeyType::U32), LEN as u64);
        Self {
            sums: PrefixSums::new(&sorter),
            prepared: job.prepare(&sorter).unwrap(),
            buffer,
            values,
            sorter,
        }
    }

    fn keys(&self) -> Keys<'_> {
        Keys::new(&self.buffer, KeyType::U32)
    }

    fn prepare(&self) -> Result<PreparedSort, Error> {
        SortJob::new(self.keys(), LEN as u64).prepare(&self.sorter)
    }
}

/// An operation on the device, or on host memory. Returns true if `keys` must be sorted by it.
type Operation = fn(&OnDevice, &mut Vec<u32>) -> Result<bool, Error>;

const OPERATIONS: [(&str, Operation); 14] = [
    ("sort", |on, keys| {
        on.sorter.sort(keys, Order::Ascending).map(|()| true)
    }),
    ("sort_async", |on, keys| {
        pollster::block_on(on.sorter.sort_async(keys, Order::Ascending)).map(|()| true)
    }),
    ("profile of a slice", |on, keys| {
        profiled(&on.sorter, keys, Order::Ascending).map(|_| true)
    }),
    ("sort_to", |on, keys| {
        let mut sorted = Vec::new();
        on.sorter.sort_to(keys, Order::Ascending, |block| {
            sorted.extend_from_slice(block);
            Ok::<_, Error>(())
        })?;
        *keys = sorted;
        Ok(true)
    }),
    ("sort_by", |on, keys| {
        let words = Comparator::wide(1, WideKey::MostFirst)?;
        (on.sorter.sort_by(keys, &words, Order::Ascending)).map(|()| true)
    }),
    ("argsort", |on, keys| {
        let indices = on.sorter.argsort(keys, Order::Ascending)?;
        *keys = indices.iter().map(|&i| keys[i as usize]).collect();
        Ok(true)
    }),
    ("profile of phases", |on, _| {
        on.prepared.profile(Detail::Phases).map(|_| false)
    }),
    ("profile", |on, _| {
        on.prepared.profile(Detail::Whole).map(|_| false)
    }),
    ("prepare and run", |on, _| {
        on.prepare()?.run().map(|()| false)
    }),
    ("prepare and profile", |on, _| {
        on.prepare()?.profile(Detail::Phases).map(|_| false)
    }),
    ("is_sorted_until", |on, _| {
        let (len, order) = (LEN as u64, Order::Ascending);
        (on.sorter.is_sorted_until(&on.keys(), len, order)).map(|_| false)
    }),
    ("upload and download", |on, keys| {
        let buffer = on.sorter.upload(keys)?;
        *keys = sorted(&on.sorter.download(&buffer)?);
        Ok(true)
    }),
    ("prefix sums", |on, keys| {
        // The prefix sums of the differences of sorted keys are the sorted keys.
        let mut sums = sorted(keys);
        for i in (1..sums.len()).rev() {
            sums[i] -= sums[i - 1];
        }
        let options = PrefixSumsOptions::default();
        let colors = vec![0; sums.len()];
        on.sums.profile(&mut sums, &colors, &options)?;
        *keys = sums;
        Ok(true)
    }),
    ("prefix sums of buffers", |on, _| {
        let options = PrefixSumsOptions::default();
        let (len, key) = (LEN as u64, KeyType::U32);
        let prepared = (on.sums).prepare(&on.buffer, &on.values, len, key, &options)?;
        prepared.profile(Detail::Phases).map(|_| false)
    }),
];

#[test]
fn a_device_lost_at_any_call_is_an_error() {
    let this = "loss::a_device_lost_at_any_call_is_an_error";
    let Some(gpu) = gpu() else { return };
    // A process has one logger.
    if !is_alone(this, &[(KERNELS_OF_TESTS, "")]) {
        return;
    }
    log::set_logger(&LosesDevices).unwrap();
    let keys = random::<u32>(LEN, 5);
    let expected = sorted(&keys);
    // The step is odd, so that every second loss frees the memory.
    let step = if gpu.runs_all_cases() { 1 } else { 21 };
    for (number, (name, operation)) in OPERATIONS.into_iter().enumerate() {
        for timestamps in [true, false] {
            let mut calls = number % step;
            loop {
                let sorter = if timestamps {
                    Sorter::open(Options::default().adapter(&gpu.adapter)).unwrap()
                } else {
                    let (device, queue) = own_device(gpu, |_| {});
                    Sorter::new(&device, &queue, Options::default()).unwrap()
                };
                let on = OnDevice::new(sorter, &keys);
                let mut lost = keys.clone();
                let device = on.sorter.device().clone();
                let frees = calls % 2 == 1;
                LOSS.set(Some(Loss {
                    device,
                    calls,
                    frees,
                }));
                log::set_max_level(log::LevelFilter::Trace);
                let outcome = operation(&on, &mut lost);
                log::set_max_level(log::LevelFilter::Off);
                let is_lost = LOSS.take().is_none();
                let what = format!("{name}, lost at call {calls}, timestamps: {timestamps}");
                match outcome {
                    Ok(true) => assert!(lost == expected, "{what}: a wrong result"),
                    Ok(false) => {}
                    Err(Error::DeviceLost(_)) if is_lost => {
                        assert!(lost == keys, "{what}: the slice was touched");
                    }
                    Err(error) => panic!("{what}: {error:?}"),
                }
                if !is_lost {
                    break;
                }
                calls += step;
            }
            println!("{name}: up to {calls} calls, with timestamps: {timestamps}");
        }
    }
}
