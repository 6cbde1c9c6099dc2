//! Finds the neighbours of particles by a grid: a compute shader numbers the cell of each particle,
//! one sort writes the particles of each cell and where the cells begin, and a second shader counts
//! the particles within a radius, all in one submission. The counts are compared with the CPU's.
//!
//! ```text
//! cargo run --release --example particle_grid
//! ```

use wgpu_bcfsort::wgpu::{self, BufferUsages};
use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter};

const PARTICLES: u32 = 100_000;
/// Cells in x and in y. A cell is as wide as the radius, so that the neighbours of a particle are in
/// its own cell and the eight around it.
const SIDE: u32 = 128;
const RADIUS: u32 = 512;

/// A position is two numbers below SIDE * RADIUS: whole numbers, so that the CPU counts the same.
const NUMBER_CELLS: &str = "
@group(0) @binding(0) var<storage, read> positions: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> cells: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&positions) {
        let cell = positions[id.x] / RADIUS;
        cells[id.x] = cell.y * SIDE + cell.x;
    }
}";

const COUNT_NEIGHBOURS: &str = "
@group(0) @binding(0) var<storage, read> positions: array<vec2<u32>>;
// The particles in the order of their cells, and where each cell begins.
@group(0) @binding(1) var<storage, read> particles: array<u32>;
@group(0) @binding(2) var<storage, read> begins: array<u32>;
@group(0) @binding(3) var<storage, read_write> neighbours: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&positions) {
        return;
    }
    let own = positions[id.x];
    let least = max(own / RADIUS, vec2<u32>(1u)) - 1u;
    let greatest = min(own / RADIUS + 1u, vec2<u32>(SIDE - 1u));
    var count = 0u;
    for (var y = least.y; y <= greatest.y; y++) {
        // The cells of a row follow each other, and so do their particles.
        let end = begins[y * SIDE + greatest.x + 1u];
        for (var i = begins[y * SIDE + least.x]; i < end; i++) {
            let away = vec2<i32>(positions[particles[i]]) - vec2<i32>(own);
            count += u32(away.x * away.x + away.y * away.y <= i32(RADIUS * RADIUS));
        }
    }
    // The particle itself is not a neighbour.
    neighbours[id.x] = count - 1u;
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sorter = Sorter::open(Options::default())?;
    let (device, queue) = (sorter.device(), sorter.queue());
    let number = |i: u32| {
        let mixed = (i ^ 0x5eed).wrapping_mul(0x9e37_79b9);
        (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b) >> 16
    };
    let positions: Vec<[u32; 2]> = (0..PARTICLES)
        .map(|i| [number(2 * i), number(2 * i + 1)])
        .collect();
    let buffer = |label, words: u32| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: u64::from(words) * 4,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        })
    };
    let on_gpu = sorter.upload(&positions)?;
    let cells = buffer("cells", PARTICLES);
    let particles = buffer("particles", PARTICLES);
    let begins = buffer("begins", SIDE * SIDE + 1);
    let neighbours = buffer("neighbours", PARTICLES);

    let number_cells = Pass::new(device, NUMBER_CELLS, &[&on_gpu, &cells]);
    let job = SortJob::argsort(
        Keys::new(&cells, KeyType::U32),
        &particles,
        PARTICLES.into(),
    )
    .starts_of(&begins, SIDE * SIDE);
    let sort = job.prepare(&sorter)?;
    let bound = [&on_gpu, &particles, &begins, &neighbours];
    let count_neighbours = Pass::new(device, COUNT_NEIGHBOURS, &bound);

    // Each frame:
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    number_cells.record(&mut pass);
    sort.record_in_pass(&mut pass);
    count_neighbours.record(&mut pass);
    drop(pass);
    queue.submit([encoder.finish()]);

    let found: Vec<u32> = sorter.download(&neighbours)?;
    assert!(found == on_cpu(&positions));
    let all: u64 = found.iter().map(|&count| u64::from(count)).sum();
    let each = all as f64 / f64::from(PARTICLES);
    let name = device.adapter_info().name;
    println!("{name}: {PARTICLES} particles have {each:.2} neighbours each, as the CPU finds");
    Ok(())
}

/// A shader with its bindings, for one lane per particle.
struct Pass {
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroup,
}

impl Pass {
    fn new(device: &wgpu::Device, text: &str, buffers: &[&wgpu::Buffer]) -> Self {
        let constants = format!("const SIDE: u32 = {SIDE}u;\nconst RADIUS: u32 = {RADIUS}u;\n");
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl((constants + text).into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let entries = (0..).zip(buffers).map(|(binding, buffer)| {
            let resource = buffer.as_entire_binding();
            wgpu::BindGroupEntry { binding, resource }
        });
        let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries.collect::<Vec<_>>(),
        });
        Self { pipeline, bindings }
    }

    fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bindings, &[]);
        pass.dispatch_workgroups(PARTICLES.div_ceil(64), 1, 1);
    }
}

/// The neighbours of each particle, by a grid of vectors.
fn on_cpu(positions: &[[u32; 2]]) -> Vec<u32> {
    let cell_of = |position: [u32; 2]| position.map(|at| at / RADIUS);
    let mut grid = vec![Vec::new(); (SIDE * SIDE) as usize];
    for &position in positions {
        let [x, y] = cell_of(position);
        grid[(y * SIDE + x) as usize].push(position);
    }
    let is_near = |a: [u32; 2], b: [u32; 2]| {
        let [x, y] = [0, 1].map(|axis| a[axis].abs_diff(b[axis]));
        x * x + y * y <= RADIUS * RADIUS
    };
    let count = |&own: &[u32; 2]| {
        let [x, y] = cell_of(own);
        let rows = y.saturating_sub(1)..=(y + 1).min(SIDE - 1);
        let around = rows.flat_map(|y| {
            let columns = x.saturating_sub(1)..=(x + 1).min(SIDE - 1);
            columns.flat_map(move |x| [y * SIDE + x])
        });
        let cells = around.flat_map(|cell| &grid[cell as usize]);
        cells.filter(|&&other| is_near(own, other)).count() as u32 - 1
    };
    positions.iter().map(count).collect()
}
