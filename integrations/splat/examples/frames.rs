//! Sorts random splats in each frame for a camera that turns, and compares each order with the
//! CPU's. Prints the GPU time of each frame, where the device has timestamps. Opens no window.
//!
//! ```text
//! cargo run --release --example frames -- 1000000
//! ```

use bcfsort_splat::wgpu_bcfsort::{Options, Sorter, wgpu};
use bcfsort_splat::{DepthKey, Positions, SplatSorter, SplatSorterDescriptor};
use std::error::Error;

const FRAMES: u32 = 12;
const NEAR: f32 = 0.25;
const FAR: f32 = 128.0;
const MARGIN: f32 = 0.25;

type Matrix = [[f32; 4]; 4];

fn main() -> Result<(), Box<dyn Error>> {
    let len: u32 = match std::env::args().nth(1) {
        None => 1_000_000,
        Some(text) => text
            .parse()
            .map_err(|_| format!("{text}: give a number of splats"))?,
    };
    let sorter = Sorter::open(Options::default())?;
    println!("{len} splats on {}", sorter.device().adapter_info().name);
    for key in [
        DepthKey::Bits32,
        DepthKey::Bits16 {
            nearest: NEAR,
            farthest: FAR,
        },
    ] {
        frames(&sorter, len, key)?;
    }
    Ok(())
}

/// Frames with keys of one kind.
fn frames(sorter: &Sorter, len: u32, key: DepthKey) -> Result<(), Box<dyn Error>> {
    let (device, queue) = (sorter.device(), sorter.queue());
    let positions = random_positions(len);
    let rows = sorter.upload(&positions)?;
    let camera = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("camera"),
        size: 64,
        usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let positions_on_gpu = Positions::Strided {
        rows: rows.slice(..),
        stride: 12,
        offset: 0,
    };
    let splats = SplatSorter::new(
        sorter,
        &SplatSorterDescriptor {
            key,
            margin: MARGIN,
            ..SplatSorterDescriptor::new(positions_on_gpu, len, camera.slice(..))
        },
    )?;
    println!(
        "{key:?}: {:.1} MB of device memory",
        splats.memory() as f64 / 1e6
    );

    let clock = Clock::new(device);
    for frame in 0..FRAMES {
        let matrix = view_projection(frame as f32 / FRAMES as f32 * std::f32::consts::TAU);
        queue.write_buffer(&camera, 0, bytemuck::cast_slice(&matrix));
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("splats"),
            timestamp_writes: clock.as_ref().map(Clock::writes),
        });
        splats.record_in_pass(&mut pass);
        drop(pass);
        // Here a render pass would draw: `pass.draw_indirect(splats.indirect(), 0)`.
        if let Some(clock) = &clock {
            clock.resolve(&mut encoder);
        }
        queue.submit([encoder.finish()]);

        // Read back only to check the result.
        let expected = expected_order(&positions, &matrix, key);
        let count = sorter.download::<u32>(splats.count())?[0] as usize;
        let order = sorter.download::<u32>(splats.order())?;
        if order.get(..count) != Some(&expected[..]) {
            return Err(format!("frame {frame}: {count} splats in another order").into());
        }
        let draw = sorter.download::<u32>(splats.indirect())?;
        assert_eq!(draw, [4, count as u32, 0, 0]);
        match &clock {
            None => println!("frame {frame:2}: {count} drawn, in order"),
            Some(clock) => {
                let time = clock.milliseconds(sorter)?;
                println!("frame {frame:2}: {count} drawn, in order, {time:.3} ms");
            }
        }
    }
    Ok(())
}

/// In a cube, at multiples of 1/32, so that the CPU computes the same depths.
fn random_positions(len: u32) -> Vec<[f32; 3]> {
    let mut state = 1_u32;
    let mut coordinate = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state % 1025) as f32 / 32.0 - 16.0
    };
    (0..len).map(|_| [(); 3].map(|()| coordinate())).collect()
}

/// A camera in the cube that turns around y. Its numbers are rounded to a few bits, so that no sum
/// and no product with a position is rounded on any device.
fn view_projection(angle: f32) -> Matrix {
    let (sin, cos) = angle.sin_cos();
    // z in clip space is 0 at the near plane, and nearly w far away.
    let scale = FAR / (FAR - NEAR);
    let matrix = [
        [cos, 0.0, sin * scale, sin],
        [0.0, 1.0, 0.0, 0.0],
        [-sin, 0.0, cos * scale, cos],
        [0.0, 0.0, 4.0 * scale - NEAR, 4.0],
    ];
    matrix.map(|column| column.map(|value| (value * 256.0).round() / 256.0))
}

/// The splats that are drawn, the farthest first, and equal keys by index.
fn expected_order(positions: &[[f32; 3]], matrix: &Matrix, key: DepthKey) -> Vec<u32> {
    let mut drawn = Vec::new();
    for (splat, [x, y, z]) in (0_u32..).zip(positions) {
        let clip = |row: usize| {
            matrix[0][row] * x + matrix[1][row] * y + matrix[2][row] * z + matrix[3][row]
        };
        let [x, y, z, w] = [0, 1, 2, 3].map(clip);
        let edge = (1.0 + MARGIN) * w;
        if w > 0.0 && x.abs() <= edge && y.abs() <= edge && 0.0 <= z && z <= w {
            let depth = match key {
                DepthKey::Bits32 => w.to_bits(),
                // From 1/4 to 128 are 9 powers of two: 12 of the 23 bits of a fraction have room.
                DepthKey::Bits16 { nearest, farthest } => {
                    (w.clamp(nearest, farthest).to_bits() - nearest.to_bits()) >> 11
                }
            };
            drawn.push((std::cmp::Reverse(depth), splat));
        }
    }
    drawn.sort_unstable();
    drawn.into_iter().map(|(_, splat)| splat).collect()
}

/// Two timestamps, at the beginning and at the end of the pass.
struct Clock {
    queries: wgpu::QuerySet,
    ticks: wgpu::Buffer,
}

impl Clock {
    fn new(device: &wgpu::Device) -> Option<Self> {
        if !device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let queries = device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("clock"),
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        });
        let ticks = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("ticks"),
            size: 16,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        Some(Self { queries, ticks })
    }

    fn writes(&self) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        }
    }

    fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.queries, 0..2, &self.ticks, 0);
    }

    fn milliseconds(&self, sorter: &Sorter) -> Result<f64, Box<dyn Error>> {
        let ticks = sorter.download::<u64>(&self.ticks)?;
        let ticks = ticks[1].saturating_sub(ticks[0]) as f64;
        Ok(ticks * f64::from(sorter.queue().get_timestamp_period()) / 1e6)
    }
}
