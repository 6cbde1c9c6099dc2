//! Moves boids, a million by default, in each frame: numbers the cell of a hash grid of each, sorts
//! them by cell, and lets each one look at its neighbours. Checks some frames against the CPU, and
//! prints the time of each. Opens no window.
//!
//! ```text
//! cargo run --release --example boids -- 1000000
//! ```

mod headless;

use bevy_app::App;
use bevy_bcfsort::wgpu_bcfsort::{KeyType, wgpu};
use bevy_bcfsort::{GpuSort, GpuSortState, GpuSortSystems, RenderSorter};
use bevy_diagnostic::{DiagnosticPath, DiagnosticsStore};
use bevy_ecs::prelude::*;
use bevy_render::RenderApp;
use bevy_render::diagnostic::{RecordDiagnostics, RenderDiagnosticsPlugin};
use bevy_render::renderer::{RenderContext, RenderDevice, RenderGraph, RenderQueue};
use bevy_render::settings::RenderCreation;
use bytemuck::{Pod, Zeroable};
use std::collections::HashMap;
use std::error::Error;
use std::time::Instant;

/// The most boids: one for each lane of the 65,535 workgroups that a dispatch may have.
const MOST: u32 = 65_535 * 256;
const FRAMES: u32 = 12;
/// How many frames are checked. (The CPU takes much longer.)
const CHECKED: u32 = 4;

/// The shaders and the CPU have these numbers. All are whole, so that both compute the same.
const CONSTANTS: &str = "
// A cell is as wide as a boid sees.
const CELL_BITS: u32 = 10u;
const SIGHT: i32 = 1 << CELL_BITS;
const TOO_CLOSE: i32 = SIGHT / 4;
const FASTEST: i32 = 100;
const LANES: u32 = 256u;

struct Boid { position: vec2<i32>, velocity: vec2<i32> }

fn cell_of(position: vec2<i32>) -> vec2<i32> {
    return position >> vec2<u32>(CELL_BITS);
}

// The plane has no end: many cells share a bucket.
fn bucket_of(cell: vec2<i32>) -> u32 {
    let mixed = (u32(cell.x) * 73856093u) ^ (u32(cell.y) * 19349663u);
    return (mixed ^ (mixed >> 15u)) % BUCKETS;
}
";

const NUMBER_CELLS: &str = "
@group(0) @binding(0) var<storage, read> boids: array<Boid>;
@group(0) @binding(1) var<storage, read_write> buckets: array<u32>;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&boids) {
        buckets[id.x] = bucket_of(cell_of(boids[id.x].position));
    }
}";

const MOVE: &str = "
@group(0) @binding(0) var<storage, read> boids: array<Boid>;
// The boids in the order of their buckets, and where each bucket begins.
@group(0) @binding(1) var<storage, read> sorted: array<u32>;
@group(0) @binding(2) var<storage, read> begins: array<u32>;
@group(0) @binding(3) var<storage, read_write> moved: array<Boid>;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&boids) {
        return;
    }
    let own = boids[id.x];
    var count = 0;
    var centre = vec2<i32>();
    var heading = vec2<i32>();
    var apart = vec2<i32>();
    for (var around = 0; around < 9; around++) {
        let cell = cell_of(own.position) + vec2<i32>(around % 3 - 1, around / 3 - 1);
        let bucket = bucket_of(cell);
        for (var i = begins[bucket]; i < begins[bucket + 1u]; i++) {
            let other = boids[sorted[i]];
            let away = other.position - own.position;
            // (Another cell of the bucket may be one of the nine, too.)
            if any(cell_of(other.position) != cell) || dot(away, away) > SIGHT * SIGHT {
                continue;
            }
            count++;
            centre += away;
            heading += other.velocity;
            if dot(away, away) < TOO_CLOSE * TOO_CLOSE {
                apart -= away;
            }
        }
    }
    // (It is one of them itself.)
    var velocity = own.velocity + centre / count / 64 + (heading / count - own.velocity) / 8;
    velocity += apart / 32 - own.position / HALF_SIDE;
    velocity = clamp(velocity, vec2<i32>(-FASTEST), vec2<i32>(FASTEST));
    moved[id.x] = Boid(own.position + velocity, velocity);
}";

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
struct Boid {
    position: [i32; 2],
    velocity: [i32; 2],
}

fn main() -> Result<(), Box<dyn Error>> {
    let len: u32 = match std::env::args().nth(1) {
        None => 1_000_000,
        Some(text) => text
            .parse()
            .map_err(|_| format!("{text}: give a number of boids"))?,
    };
    if !(1..=MOST).contains(&len) {
        return Err(format!("give a number of boids from 1 to {MOST}").into());
    }
    let mut app = headless::plugins(RenderCreation::default());
    app.add_plugins(RenderDiagnosticsPlugin);
    app.finish();
    app.cleanup();
    // Four boids in each cell, at first.
    let half_side = 1024 * ((len / 4).isqrt().cast_signed() / 2 + 1);
    let mut boids = random(len, half_side);
    let flock = Flock::spawn(&mut app, &boids, half_side);
    let device = app.world().resource::<RenderDevice>().wgpu_device();
    println!("{len} boids on {}", device.adapter_info().name);

    for frame in 0..FRAMES {
        let begin = Instant::now();
        app.update();
        let wait = wgpu::PollType::wait_indefinitely();
        app.world().resource::<RenderDevice>().poll(wait)?;
        let time = begin.elapsed().as_secs_f64() * 1e3;

        let state = app.world().get::<GpuSortState>(flock.sort);
        if let Some(GpuSortState::Failed(error)) = state {
            return Err(error.to_string().into());
        }
        // (The first frame prepares the sort.)
        if frame < CHECKED {
            let moved = flock.download(&app)?;
            if moved != on_cpu(&boids, half_side) {
                return Err(format!("frame {frame}: other boids than the CPU's").into());
            }
            boids = moved;
            println!("frame {frame:2}: {time:8.2} ms, as on the CPU");
        } else {
            println!("frame {frame:2}: {time:8.2} ms");
        }
    }
    for part in ["number_cells", "gpu_sorts", "move"] {
        let path = DiagnosticPath::new(format!("render/{part}/elapsed_gpu"));
        let store = app.world().resource::<DiagnosticsStore>();
        if let Some(time) = store.get_measurement(&path) {
            println!("{part}: {:.3} ms on the GPU", time.value);
        }
    }
    Ok(())
}

/// What the main world has of the boids.
struct Flock {
    boids: wgpu::Buffer,
    sort: Entity,
}

impl Flock {
    /// Makes the buffers, spawns the sort, and adds the passes before and after it.
    fn spawn(app: &mut App, start: &[Boid], half_side: i32) -> Self {
        let len = start.len() as u32;
        let buckets = (len / 4).next_power_of_two();
        let device = app.world().resource::<RenderDevice>().clone();
        let device = device.wgpu_device();
        let buffer = |label, bytes: u64| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: bytes,
                usage: wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_SRC
                    | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let boids = buffer("boids", u64::from(len) * 16);
        let moved = buffer("moved boids", u64::from(len) * 16);
        let bucket_of_each = buffer("bucket of each", u64::from(len) * 4);
        let sorted = buffer("boids by bucket", u64::from(len) * 4);
        let begins = buffer("begins of buckets", u64::from(buckets + 1) * 4);
        let queue = app.world().resource::<RenderQueue>();
        queue.write_buffer(&boids, 0, bytemuck::cast_slice(start));

        let keys = GpuSort::argsort(&bucket_of_each, KeyType::U32, &sorted, len.into());
        let sort = app.world_mut().spawn(keys.starts_of(&begins, buckets)).id();

        let constants = format!(
            "const BUCKETS: u32 = {buckets}u;\nconst HALF_SIDE: i32 = {half_side};\n{CONSTANTS}"
        );
        let pass = |text: &str, buffers: &[&wgpu::Buffer]| {
            Pass::new(
                device,
                &(constants.clone() + text),
                buffers,
                len.div_ceil(256),
            )
        };
        let passes = Passes {
            number_cells: pass(NUMBER_CELLS, &[&boids, &bucket_of_each]),
            step: pass(MOVE, &[&boids, &sorted, &begins, &moved]),
            boids: boids.clone(),
            moved,
        };
        app.sub_app_mut(RenderApp)
            .insert_resource(passes)
            .add_systems(
                RenderGraph,
                (
                    number_cells.in_set(GpuSortSystems::WriteKeys),
                    step.in_set(GpuSortSystems::ReadSorted),
                ),
            );
        Self { boids, sort }
    }

    /// Waits for the GPU: a program would draw the buffer, and not read it back.
    fn download(&self, app: &App) -> Result<Vec<Boid>, Box<dyn Error>> {
        let sorter = app.sub_app(RenderApp).world().resource::<RenderSorter>();
        Ok(sorter.get()?.download(&self.boids)?)
    }
}

/// The boids of the next frame.
fn on_cpu(boids: &[Boid], half_side: i32) -> Vec<Boid> {
    const SIGHT: i32 = 1 << 10;
    const TOO_CLOSE: i32 = SIGHT / 4;
    let cell_of = |boid: &Boid| boid.position.map(|at| at >> 10);
    let mut grid = HashMap::<[i32; 2], Vec<Boid>>::new();
    for boid in boids {
        grid.entry(cell_of(boid)).or_default().push(*boid);
    }
    let step = |own: &Boid| {
        let (mut count, mut centre, mut heading, mut apart) = (0, [0; 2], [0; 2], [0; 2]);
        let [x, y] = cell_of(own);
        let around = (0..9).map(|i| [x + i % 3 - 1, y + i / 3 - 1]);
        for other in around.filter_map(|cell| grid.get(&cell)).flatten() {
            let away = [0, 1].map(|axis| other.position[axis] - own.position[axis]);
            let square = away[0] * away[0] + away[1] * away[1];
            if square > SIGHT * SIGHT {
                continue;
            }
            count += 1;
            for axis in 0..2 {
                centre[axis] += away[axis];
                heading[axis] += other.velocity[axis];
                if square < TOO_CLOSE * TOO_CLOSE {
                    apart[axis] -= away[axis];
                }
            }
        }
        let velocity = [0, 1].map(|axis| {
            let (at, own) = (own.position[axis], own.velocity[axis]);
            let steered = own + centre[axis] / count / 64 + (heading[axis] / count - own) / 8;
            (steered + apart[axis] / 32 - at / half_side).clamp(-100, 100)
        });
        let position = [0, 1].map(|axis| own.position[axis] + velocity[axis]);
        Boid { position, velocity }
    };
    boids.iter().map(step).collect()
}

fn random(len: u32, half_side: i32) -> Vec<Boid> {
    let mut state = 1_u32;
    let mut below = |end: i32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state % end.cast_unsigned()).cast_signed()
    };
    (0..len)
        .map(|_| Boid {
            position: [(); 2].map(|()| below(2 * half_side) - half_side),
            velocity: [(); 2].map(|()| below(101) - 50),
        })
        .collect()
}

/// The app's passes, in the render world.
#[derive(Resource)]
struct Passes {
    number_cells: Pass,
    step: Pass,
    boids: wgpu::Buffer,
    moved: wgpu::Buffer,
}

fn number_cells(passes: Res<Passes>, mut context: RenderContext) {
    passes.number_cells.record(&mut context, "number_cells");
}

fn step(passes: Res<Passes>, mut context: RenderContext) {
    passes.step.record(&mut context, "move");
    let encoder = context.command_encoder();
    encoder.copy_buffer_to_buffer(&passes.moved, 0, &passes.boids, 0, passes.boids.size());
}

/// A shader with its bindings.
struct Pass {
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroup,
    workgroups: u32,
}

impl Pass {
    fn new(device: &wgpu::Device, text: &str, buffers: &[&wgpu::Buffer], workgroups: u32) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(text.into()),
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
        Self {
            pipeline,
            bindings,
            workgroups,
        }
    }

    fn record(&self, context: &mut RenderContext, name: &'static str) {
        let diagnostics = context.diagnostic_recorder();
        let diagnostics = diagnostics.as_deref();
        let encoder = context.command_encoder();
        let span = diagnostics.time_span(encoder, name);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bindings, &[]);
        pass.dispatch_workgroups(self.workgroups, 1, 1);
        drop(pass);
        span.end(encoder);
    }
}
