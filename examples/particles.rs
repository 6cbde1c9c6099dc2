//! Sorts particles, which are structs, by cell and within a cell by depth, as renderers and
//! simulations need them. The order is a custom comparator in WGSL.
//!
//! ```text
//! cargo run --release --example particles
//! ```

use wgpu_bcfsort::{Comparator, Options, Order, Sorter, members};

#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
struct Particle {
    position: [f32; 3],
    cell: u32,
    velocity: [f32; 3],
    depth: f32,
}

/// The same struct in WGSL. A `vec3` occupies four words, unless a scalar member follows it. The
/// bits of `depth` are compared, as a `u32`: `<` of floats is no total order.
const BY_CELL_AND_DEPTH: &str = "
struct Particle {
    position: vec3<f32>,
    cell: u32,
    velocity: vec3<f32>,
    depth: u32,
}

// Ranks the bits of an f32 in the order of `total_cmp`, NaN and -0 included.
fn rank(bits: u32) -> u32 {
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

// Back to front in each cell.
fn precedes(a: Particle, b: Particle) -> bool {
    if a.cell != b.cell {
        return a.cell < b.cell;
    }
    return rank(a.depth) > rank(b.depth);
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Also checks that both structs have the same layout in memory.
    let members = members!(Particle {
        position,
        cell,
        velocity,
        depth
    });
    let comparator = Comparator::of(BY_CELL_AND_DEPTH, members)?;

    let particle = |i: u32| {
        let random = i.wrapping_mul(2_654_435_761);
        let coordinates = [random % 100, random / 100 % 100, random / 10_000 % 100];
        let position = coordinates.map(|v| v as f32);
        Particle {
            position,
            cell: coordinates[0] / 25 + coordinates[1] / 25 * 4,
            velocity: [0.0; 3],
            depth: position[2],
        }
    };
    let mut particles: Vec<Particle> = (0..50_000).map(particle).collect();
    // The CPU's result, for comparison. Particles with equal cell and depth keep their order.
    let mut expected = particles.clone();
    expected.sort_by(|a, b| (a.cell.cmp(&b.cell)).then(b.depth.total_cmp(&a.depth)));

    let sorter = Sorter::open(Options::default())?;
    println!("sorting on {}", sorter.device().adapter_info().name);
    // These are in host memory; `SortJob::by` sorts structs in a GPU buffer.
    sorter.sort_by(&mut particles, &comparator, Order::Ascending)?;

    assert!(bytemuck::cast_slice::<_, u8>(&particles) == bytemuck::cast_slice::<_, u8>(&expected));
    for cell in 0..4 {
        let farthest = particles.iter().find(|p| p.cell == cell);
        println!("the farthest of cell {cell}: {farthest:?}");
    }
    Ok(())
}
