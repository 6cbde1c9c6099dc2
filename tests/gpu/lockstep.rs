//! Compares the lock-step executor with this machine's adapter: every kernel, every buffer, bit for
//! bit.

use crate::device::gpu;
use crate::execution::Execution;
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_testkit::recordings::{self, Coloring, REPRESENTATIVES, library, prefix_sums_library};
use std::collections::BTreeSet;
use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::kernels;
use wgpu_bcfsort::internals::mergesort::kernels::base_case;
use wgpu_bcfsort::internals::recording::{Buffer, PayloadKind, Phase, Step};
use wgpu_bcfsort::internals::shader::Kernel;
use wgpu_bcfsort::paper::BaseCase;
use wgsl_lockstep::Config;

/// True if lavapipe compiles the kernel fast: not for base cases other than the default one. The
/// portability gates run those in the same way: the smallest tile of each text on `SwiftShader`,
/// and most of them on lavapipe, too.
fn compiles_fast(kernel: &Kernel) -> bool {
    let default = base_case(BaseCase::default(), 1, kernel.key());
    kernel.constant("TILES").is_none() || *kernel == default
}

#[test]
fn every_kernel_leaves_the_same_bits_on_the_cpu_as_on_the_adapter() {
    let Some(gpu) = gpu() else { return };
    let (mut used, mut left_out) = (BTreeSet::new(), BTreeSet::new());
    let sorts = REPRESENTATIVES
        .into_iter()
        .flat_map(|(key, order)| library(key, order));
    let sums = KeyType::WHOLE_WORDS
        .into_iter()
        .flat_map(prefix_sums_library);
    for recording in sorts.chain(sums) {
        let (key, order) = (recording.key, recording.order);
        let limit = gpu.device.limits().max_compute_workgroup_storage_size;
        let fits = |step: &Step| step.kernel.workgroup_bytes() <= limit;
        let is_run = |step: &Step| fits(step) && (!gpu.is_cpu() || compiles_fast(&step.kernel));
        let (run, others): (Vec<_>, Vec<_>) = recording.steps.iter().partition(|step| is_run(step));
        left_out.extend(others.iter().map(|step| step.kernel.clone()));
        // Recordings with kernels left out, and those of other types on a CPU, run only if they
        // have a kernel that has not run yet.
        let is_whole = others.is_empty() && (!gpu.is_cpu() || key == KeyType::U32);
        if !is_whole && run.iter().all(|step| used.contains(&step.kernel)) {
            continue;
        }
        if let Some(step) = others.iter().find(|step| !fits(step)) {
            println!("{key} {}: too large for this device", step.kernel.name());
        }
        let words = u64::from(recording.len) * u64::from(key.words());
        let keys: Vec<u32> =
            generate(&Spec::new(Pattern::FewDistinct, words).distinct(2000)).unwrap();
        // Small integers, as floats for float sums: their sums are exact.
        let keys = match (recording.steps[0].phase, key) {
            (Phase::TileSums, KeyType::F32) => keys.iter().map(|&k| (k as f32).to_bits()).collect(),
            _ => keys,
        };
        let mut on_adapter = Execution::new(gpu, &recording, &keys);
        let mut on_cpu = recordings::Execution::new(&recording, &keys, Config::default());
        if let Some(colors) = recording.steps[0].parameter("colors") {
            let colors = Coloring::Beyond.make(recording.len, colors);
            on_adapter.set_buffer(Buffer::Colors, &colors);
            on_cpu.set_buffer(Buffer::Colors, colors);
        }
        if recording.payload != PayloadKind::None {
            for buffer in [Buffer::Values, Buffer::Payload(0)] {
                on_adapter.set_buffer(buffer, on_cpu.buffer(buffer));
            }
        }
        for buffer in [Buffer::Count, Buffer::Offsets, Buffer::Parameters] {
            let words = on_cpu.buffer(buffer);
            if !words.is_empty() {
                on_adapter.set_buffer(buffer, words);
            }
        }
        for step in &recording.steps {
            let is_run = is_run(step);
            if is_run {
                on_adapter.step(step);
                used.insert(step.kernel.clone());
            }
            on_cpu.step(step).unwrap();
            let buffers = step.bindings.iter().map(|binding| binding.1);
            for buffer in buffers {
                let (read, expected) = (on_adapter.read(buffer), on_cpu.buffer(buffer));
                assert!(
                    !is_run || recordings::is_same(step, buffer, &read, expected),
                    "{key} {}: {buffer} after {} of {:?}",
                    order.name(),
                    step.kernel.name(),
                    step.phase
                );
                // The next step starts from equal buffers. They differ after a list in another
                // order, or after a step that did not run on the adapter.
                if read != expected {
                    on_adapter.write(buffer, expected);
                }
            }
        }
    }
    let mut missing = kernels();
    // The library leaves out kernels that need too much workgroup memory.
    missing.retain(|kernel| kernel.workgroup_bytes() <= 32 << 10);
    missing.retain(|kernel| !used.contains(kernel) && !left_out.contains(kernel));
    assert!(missing.is_empty(), "in no recording: {missing:?}");
}
