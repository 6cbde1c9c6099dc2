//! The lock-step executor against this machine's adapter: every kernel, every buffer, bit for bit.

use crate::device::gpu;
use crate::execution::Execution;
use std::collections::BTreeSet;
use wgpu_bcfsort::data::{Pattern, Spec, generate};
use wgpu_bcfsort::kernel::{Kernel, Merges};
use wgpu_bcfsort::lockstep::{self, Coloring, Config};
use wgpu_bcfsort::recording::{Buffer, Recording, Step};
use wgpu_bcfsort::{KeyType, Order, Payload};

/// Of the sample sort, one type of record and the form that is made to be compiled on CPUs: others take lavapipe
/// half a minute a kernel, and some of them `sample_sort.rs` runs.
fn is_quickly_compiled(recording: &Recording) -> bool {
    let merges = |step: &Step| match step.kernel {
        Kernel::SampleSort(kernel) => kernel.merges(),
        _ => None,
    };
    let is_one = (recording.key, recording.payload) == (KeyType::F64, Payload::Indices);
    let mut forms = recording.steps.iter().filter_map(merges);
    forms.all(|form| form == Merges::Compact && is_one)
}

#[test]
fn every_kernel_leaves_the_same_bits_on_the_cpu_as_on_the_adapter() {
    let Some(gpu) = gpu() else { return };
    let mut used = BTreeSet::new();
    // Where the adapter is a CPU, the portability gates run the others.
    let on_cpu = gpu.device.adapter_info().device_type == wgpu_bcfsort::wgpu::DeviceType::Cpu;
    for (i, key) in KeyType::ALL.into_iter().enumerate() {
        if on_cpu && ![KeyType::U32, KeyType::F32, KeyType::F64].contains(&key) {
            continue;
        }
        // The other order of each type is another constant in the same text.
        for order in [[Order::Ascending, Order::Descending][i % 2]] {
            let sums = lockstep::prefix_sums_library(key);
            for recording in lockstep::library(key, order).into_iter().chain(sums) {
                if on_cpu && !is_quickly_compiled(&recording) {
                    used.extend(recording.steps.iter().map(|step| step.kernel));
                    continue;
                }
                let limit = gpu.device.limits().max_compute_workgroup_storage_size;
                let fits = |step: &Step| recording.specialised(step).workgroup_bytes() <= limit;
                if let Some(step) = recording.steps.iter().find(|step| !fits(step)) {
                    println!("{key} {}: too large for this device", step.kernel.name());
                    used.insert(step.kernel);
                    continue;
                }
                let words = u64::from(recording.len) * u64::from(key.words());
                let keys: Vec<u32> =
                    generate(&Spec::new(Pattern::FewDistinct, words).distinct(2000)).unwrap();
                // Small whole numbers, as integers and as floats, which are sums of one another.
                let keys = match (recording.steps[0].parameter("colors"), key) {
                    (Some(_), KeyType::F32) => keys.iter().map(|&k| (k as f32).to_bits()).collect(),
                    _ => keys,
                };
                let mut on_adapter = Execution::new(gpu, &recording, &keys);
                let mut on_cpu = lockstep::Execution::new(&recording, &keys, Config::default());
                if let Some(colors) = recording.steps[0].parameter("colors") {
                    let colors = Coloring::Beyond.make(recording.len, colors);
                    on_adapter.set_buffer(Buffer::Colors, &colors);
                    on_cpu.set_buffer(Buffer::Colors, colors);
                }
                if recording.payload != Payload::None {
                    on_adapter.set_buffer(Buffer::Values, on_cpu.buffer(Buffer::Values));
                }
                for step in &recording.steps {
                    on_adapter.step(step);
                    on_cpu.step(step).unwrap();
                    used.insert(step.kernel);
                    let buffers = step.bindings.iter().map(|binding| binding.1);
                    for buffer in buffers {
                        let (read, expected) = (on_adapter.read(buffer), on_cpu.buffer(buffer));
                        assert!(
                            buffer.is_same(&read, expected),
                            "{key} {}: {buffer} after {} of {:?}",
                            order.name(),
                            step.kernel.name(),
                            step.phase
                        );
                        // The same list in another order leads to other buffers.
                        if read != expected {
                            on_adapter.write(buffer, expected);
                        }
                    }
                }
                assert!(on_cpu.buffer(Buffer::Keys) != keys);
            }
        }
    }
    assert!(Kernel::all().all(|kernel| used.contains(&kernel)));
}
