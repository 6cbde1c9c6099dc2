//! Sorts depths in each frame of a program. A compute shader writes the depths and their number in
//! the same submission, so that the host does not know how many there are. The sort is an argsort:
//! a later pass can draw by its indices, the farthest first.
//!
//! ```text
//! cargo run --release --example frame_loop
//! ```

use wgpu_bcfsort::wgpu::{self, BufferUsages};
use wgpu_bcfsort::{KeyType, Keys, Options, Order, SortJob, Sorter};

const FRAMES: u32 = 6;
/// The room for depths.
const MOST: u32 = 100_000;

/// Placeholder for the program's own pass, which writes depths and their number. Frame 0 has none.
const WRITE_DEPTHS: &str = "
@group(0) @binding(0) var<uniform> frame: u32;
@group(0) @binding(1) var<storage, read_write> depths: array<f32>;
@group(0) @binding(2) var<storage, read_write> count: u32;

fn hash(x: u32) -> u32 {
    let h = (x ^ (x >> 16u)) * 2654435761u;
    return h ^ (h >> 15u);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let visible = hash(frame) % (arrayLength(&depths) + 1u);
    if id.x == 0u {
        count = visible;
    }
    if id.x < visible {
        depths[id.x] = f32(hash(id.x + frame * 131071u) % 5000u) / 4.0 - 100.0;
    }
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The program's own device, here with wgpu's default limits and no features.
    let instance = wgpu::Instance::default();
    let options = wgpu::RequestAdapterOptions::default();
    let adapter = pollster::block_on(instance.request_adapter(&options))?;
    let device = wgpu::DeviceDescriptor::default();
    let (device, queue) = pollster::block_on(adapter.request_device(&device))?;

    let buffer = |label, words: u32, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: u64::from(words) * 4,
            usage,
            mapped_at_creation: false,
        })
    };
    // Only the check below needs COPY_SRC.
    let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
    let number = buffer("frame", 1, BufferUsages::UNIFORM | BufferUsages::COPY_DST);
    let depths = buffer("depths", MOST, storage);
    let count = buffer("count", 1, storage);
    let indices = buffer("indices", MOST, storage);

    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("write depths"),
        source: wgpu::ShaderSource::Wgsl(WRITE_DEPTHS.into()),
    });
    let write_depths = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("write depths"),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let mut entries = Vec::new();
    for (binding, buffer) in (0..).zip([&number, &depths, &count]) {
        let resource = buffer.as_entire_binding();
        entries.push(wgpu::BindGroupEntry { binding, resource });
    }
    let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("write depths"),
        layout: &write_depths.get_bind_group_layout(0),
        entries: &entries,
    });

    // Once: compiles the kernels and allocates scratch memory.
    let sorter = Sorter::new(&device, &queue, Options::default())?;
    let job = SortJob::argsort(Keys::new(&depths, KeyType::F32), &indices, MOST.into())
        .order(Order::Descending)
        .len_from(&count);
    let sort = job.prepare(&sorter)?;

    let mut sorted = Vec::new();
    for frame in 0..FRAMES {
        queue.write_buffer(&number, 0, bytemuck::bytes_of(&frame));
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&write_depths);
        pass.set_bind_group(0, &bindings, &[]);
        pass.dispatch_workgroups(MOST.div_ceil(64), 1, 1);
        drop(pass);
        sort.record(&mut encoder);
        // Here the program's own pass would draw by `indices`.
        queue.submit([encoder.finish()]);

        // Read back only to check the result. Equal depths are in the order of their indices.
        let visible = sorter.download::<u32>(&count)?[0];
        let depths: Vec<f32> = sorter.download(&depths)?;
        let mut expected: Vec<u32> = (0..visible).collect();
        expected.sort_by(|&a, &b| depths[b as usize].total_cmp(&depths[a as usize]));
        let indices: Vec<u32> = sorter.download(&indices)?;
        assert!(indices[..visible as usize] == expected, "frame {frame}");
        sorted.push(visible);
    }
    let name = adapter.get_info().name;
    println!("sorted on {name}, depths of {FRAMES} frames: {sorted:?}");
    Ok(())
}
