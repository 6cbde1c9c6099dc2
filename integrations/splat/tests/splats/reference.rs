//! The draw order by the CPU, and random input whose arithmetic is exact: no product or sum of a
//! position and a matrix is rounded, so a device that fuses them gets the same.

use bcfsort_splat::wgpu_bcfsort::{Options, Sorter, wgpu};
use bcfsort_splat::{Depth, DepthKey, DrawOrder, Positions, SplatSorter, SplatSorterDescriptor};
use std::sync::LazyLock;

/// Columns, as in WGSL.
pub(crate) type Matrix = [[f32; 4]; 4];

/// A device for all tests: it compiles each kernel once. A machine without one fails.
pub(crate) fn sorter() -> &'static Sorter {
    static SORTER: LazyLock<Sorter> = LazyLock::new(|| Sorter::open(Options::default()).unwrap());
    &SORTER
}

/// How splats are sorted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) depth: Depth,
    pub(crate) key: DepthKey,
    pub(crate) order: DrawOrder,
    pub(crate) margin: f32,
}

impl How {
    pub(crate) const fn new(key: DepthKey, order: DrawOrder) -> Self {
        Self {
            depth: Depth::W,
            key,
            order,
            margin: 0.25,
        }
    }

    pub(crate) fn describe<'a>(
        &self,
        positions: Positions<'a>,
        len: u32,
        camera: &'a wgpu::Buffer,
    ) -> SplatSorterDescriptor<'a> {
        SplatSorterDescriptor {
            depth: self.depth,
            key: self.key,
            order: self.order,
            margin: self.margin,
            ..SplatSorterDescriptor::new(positions, len, camera.slice(..))
        }
    }
}

pub(crate) const BITS_16: DepthKey = DepthKey::Bits16 {
    nearest: 0.5,
    farthest: 64.0,
};

/// The indices of the splats that are drawn, in order.
pub(crate) fn expected(positions: &[[f32; 3]], matrix: &Matrix, how: &How) -> Vec<u32> {
    let mut drawn = Vec::new();
    for (splat, position) in (0..).zip(positions) {
        let [px, py, pz] = *position;
        let clip = |row: usize| {
            matrix[0][row] * px + matrix[1][row] * py + matrix[2][row] * pz + matrix[3][row]
        };
        let [x, y, z, w] = [0, 1, 2, 3].map(clip);
        let is_finite = position
            .iter()
            .chain(&[x, y, z, w])
            .all(|value| value.is_finite());
        let edge = (1.0 + how.margin) * w;
        let is_inside = x.abs() <= edge && y.abs() <= edge && 0.0 <= z && z <= w;
        if is_finite && w > 0.0 && is_inside {
            let depth = match how.depth {
                Depth::W => w,
                Depth::Z => z,
                Depth::ReversedZ => w - z,
            };
            drawn.push((rank(depth, how.key), splat));
        }
    }
    match how.order {
        DrawOrder::FarToNear => drawn.sort_by_key(|&(rank, _)| std::cmp::Reverse(rank)),
        DrawOrder::NearToFar => drawn.sort_by_key(|&(rank, _)| rank),
    }
    drawn.into_iter().map(|(_, splat)| splat).collect()
}

/// A number that ascends with the depth, as finely as keys tell depths apart.
fn rank(depth: f32, key: DepthKey) -> u32 {
    match key {
        DepthKey::Bits32 => depth.abs().to_bits(),
        DepthKey::Bits16 { nearest, farthest } => {
            let rank = |depth: f32| depth.to_bits() - nearest.to_bits();
            // The range is divided by the least power of two that leaves 65,535 ranks or fewer.
            let mut divisor = 1;
            while rank(farthest) / divisor >= 65_535 {
                divisor *= 2;
            }
            rank(depth.clamp(nearest, farthest)) / divisor
        }
    }
}

/// A generator of random numbers (xorshift).
pub(crate) struct Random(pub(crate) u32);

impl Random {
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % end
    }

    /// A multiple of 1/8 from -32 to 32: many depths are equal.
    fn coordinate(&mut self) -> f32 {
        self.below(513) as f32 / 8.0 - 32.0
    }

    /// A multiple of 1/16 from -2 to 2.
    fn factor(&mut self) -> f32 {
        self.below(65) as f32 / 16.0 - 2.0
    }

    pub(crate) fn positions(&mut self, len: u32) -> Vec<[f32; 3]> {
        (0..len)
            .map(|_| [(); 3].map(|()| self.coordinate()))
            .collect()
    }

    /// A camera that sees some of the splats: w is a distance along any direction, x and y are
    /// across any other two, and z is from 0 to w where w is 8 or more.
    pub(crate) fn camera(&mut self) -> Matrix {
        let mut matrix = [[0.0; 4]; 4];
        for column in &mut matrix[..3] {
            let w = self.factor();
            *column = [self.factor(), self.factor(), w / 2.0, w];
        }
        let w = self.below(33) as f32;
        matrix[3] = [self.factor(), self.factor(), w / 2.0 - 4.0, w];
        matrix
    }
}

/// Sees every position of [`Random`], at depths from 32 to 96.
pub(crate) const SEES_ALL: Matrix = [
    [0.5, 0.0, 0.0, 0.0],
    [0.0, 0.5, 0.0, 0.0],
    [0.0, 0.0, 0.0, 1.0],
    [0.0, 0.0, 1.0, 64.0],
];

/// All of them are behind it.
pub(crate) const SEES_NONE: Matrix = [
    [0.5, 0.0, 0.0, 0.0],
    [0.0, 0.5, 0.0, 0.0],
    [0.0, 0.0, 0.0, -1.0],
    [0.0, 0.0, 0.0, -64.0],
];

/// A buffer for a matrix.
pub(crate) fn camera() -> wgpu::Buffer {
    sorter().device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("camera"),
        size: 64,
        usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Runs a frame, and returns what is drawn. Checks that all outputs agree, and that no splat is
/// lost or there twice.
pub(crate) fn frame(splats: &SplatSorter, camera: &wgpu::Buffer, matrix: &Matrix) -> Vec<u32> {
    let (device, queue) = (sorter().device(), sorter().queue());
    queue.write_buffer(camera, 0, bytemuck::cast_slice(matrix));
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    splats.record(&mut encoder);
    queue.submit([encoder.finish()]);

    let count = sorter().download::<u32>(splats.count()).unwrap()[0];
    let draw = wgpu::util::DrawIndirectArgs {
        vertex_count: 4,
        instance_count: count,
        first_vertex: 0,
        first_instance: 0,
    };
    let indirect = sorter().download::<u8>(splats.indirect()).unwrap();
    assert_eq!(indirect, draw.as_bytes());
    let mut order = sorter().download::<u32>(splats.order()).unwrap();
    order.truncate(splats.len() as usize);
    let (drawn, rest) = order.split_at(count as usize);
    assert!(rest.is_sorted(), "what is not drawn is in ascending order");
    let drawn = drawn.to_vec();
    order.sort_unstable();
    assert!(order.into_iter().eq(0..splats.len()));
    drawn
}
