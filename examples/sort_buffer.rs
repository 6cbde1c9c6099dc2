//! Sorts keys in GPU memory as part of the program's own command encoder: the keys stay on the
//! device between the pass that writes them and the pass that reads them.
//!
//! ```text
//! cargo run --release --example sort_buffer
//! ```

use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter, adapters, requirements, wgpu};

const LEN: u32 = 100_000;

/// Placeholder for the program's own pass, which writes keys.
const MAKE_KEYS: &str = "
@group(0) @binding(0) var<storage, read_write> keys: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&keys) {
        keys[id.x] = id.x * 2654435761u;
    }
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The program's own device, with the features and limits that the sorter needs.
    let adapter = adapters()
        .into_iter()
        .next()
        .ok_or("no adapter that can sort")?;
    let needs = requirements(&adapter)?;
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        required_features: needs.features,
        required_limits: needs.limits,
        ..Default::default()
    }))?;
    println!("sorting on {}", adapter.get_info().name);

    let keys = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("keys"),
        size: u64::from(LEN) * 4,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    });

    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("make keys"),
        source: wgpu::ShaderSource::Wgsl(MAKE_KEYS.into()),
    });
    let make_keys = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("make keys"),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("make keys"),
        layout: &make_keys.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: keys.as_entire_binding(),
        }],
    });

    // Once: compiles the kernels and allocates scratch memory.
    let sorter = Sorter::new(&device, &queue, Options::default())?;
    let sort = SortJob::new(Keys::new(&keys, KeyType::U32), LEN.into()).prepare(&sorter)?;

    // In each frame: the program's pass and the sort, in one submission.
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&make_keys);
    pass.set_bind_group(0, &bindings, &[]);
    pass.dispatch_workgroups(LEN.div_ceil(64), 1, 1);
    drop(pass);
    sort.record(&mut encoder);
    queue.submit([encoder.finish()]);

    // Read back only to check the result.
    let sorted: Vec<u32> = sorter.download(&keys)?;
    let mut expected: Vec<u32> = (0..LEN).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    expected.sort_unstable();
    assert!(sorted == expected);
    println!(
        "{LEN} u32 keys, from {} to {}",
        sorted[0],
        sorted[sorted.len() - 1]
    );
    Ok(())
}
