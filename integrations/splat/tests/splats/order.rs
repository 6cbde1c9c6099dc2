//! The order of each frame is that of the CPU.

use crate::reference::{
    BITS_16, How, Matrix, Random, SEES_ALL, SEES_NONE, camera, expected, frame, sorter,
};
use bcfsort_splat::{Depth, DepthKey, DrawOrder, Positions, SplatSorter};

/// Makes sorters of the positions in both layouts, and compares their frames with the CPU's.
fn compare(positions: &[[f32; 3]], matrices: &[Matrix], how: How) {
    let sorter = sorter();
    let camera = camera();
    let len = positions.len() as u32;
    // Rows of 20 bytes with the position in the middle, after three other words.
    let rows: Vec<u32> = [7; 3]
        .into_iter()
        .chain(positions.iter().flat_map(|position| {
            let [x, y, z] = position.map(f32::to_bits);
            [u32::MAX, x, y, z, u32::MAX]
        }))
        .chain([7])
        .collect();
    let rows = sorter.upload(&rows).unwrap();
    let strided = Positions::Strided {
        rows: rows.slice(12..),
        stride: 20,
        offset: 4,
    };
    // All x, all y and all z in one buffer, one behind the other.
    let arrays: Vec<f32> = [f32::NAN]
        .into_iter()
        .chain((0..3).flat_map(|axis| positions.iter().map(move |position| position[axis])))
        .collect();
    let buffer = sorter.upload(&arrays).unwrap();
    let bytes = u64::from(len) * 4;
    let slice = |axis| {
        let begin = 4 + axis * bytes;
        // (A slice is never empty.)
        if len == 0 {
            buffer.slice(..)
        } else {
            buffer.slice(begin..begin + bytes)
        }
    };
    let arrays = Positions::Arrays([slice(0), slice(1), slice(2)]);
    for layout in [strided, arrays] {
        let splats = SplatSorter::new(sorter, &how.describe(layout, len, &camera)).unwrap();
        for matrix in matrices {
            let drawn = frame(&splats, &camera, matrix);
            let expected = expected(positions, matrix, &how);
            assert!(
                drawn == expected,
                "{len} splats, {how:?}, {matrix:?}:\n{drawn:?}\n{expected:?}"
            );
        }
    }
}

#[test]
fn the_order_is_that_of_the_cpu_for_all_sizes_layouts_and_keys() {
    let mut random = Random(1);
    for len in [0, 1, 2, 255, 256, 257, 1000, 65_537] {
        let positions = random.positions(len);
        let matrices = [random.camera(), SEES_ALL, random.camera(), SEES_NONE];
        let (far, near) = (DrawOrder::FarToNear, DrawOrder::NearToFar);
        compare(&positions, &matrices, How::new(DepthKey::Bits32, far));
        compare(&positions, &matrices, How::new(BITS_16, near));
        if len < 1000 {
            compare(&positions, &matrices, How::new(DepthKey::Bits32, near));
            compare(&positions, &matrices, How::new(BITS_16, far));
        }
    }
}

#[test]
fn the_order_is_that_of_the_cpu_for_a_hundred_cameras() {
    let mut random = Random(2);
    let positions = random.positions(3000);
    let matrices: Vec<_> = (0..100).map(|_| random.camera()).collect();
    let how = How::new(DepthKey::Bits32, DrawOrder::FarToNear);
    compare(&positions, &matrices, how);
    // They see something, and not all.
    let drawn = |matrix| expected(&positions, matrix, &how).len();
    let numbers: Vec<_> = matrices.iter().map(drawn).collect();
    assert!(
        numbers.iter().filter(|&&number| number > 30).count() > 50,
        "{numbers:?}"
    );
    assert!(numbers.iter().all(|&number| number < 3000), "{numbers:?}");
}

#[test]
fn depths_of_orthographic_projections_are_z_either_way() {
    let mut random = Random(3);
    let positions = random.positions(1000);
    // z from 0 to 1 for distances from 0 to 64, and the other way round.
    let mut matrix = [
        [1.0 / 32.0, 0.0, 0.0, 0.0],
        [0.0, 1.0 / 16.0, 0.0, 0.0],
        [0.0, 0.0, 1.0 / 64.0, 0.0],
        [0.0, 0.0, 0.25, 1.0],
    ];
    let key = DepthKey::Bits16 {
        nearest: 0.0,
        farthest: 1.0,
    };
    for (depth, key) in [(Depth::Z, DepthKey::Bits32), (Depth::ReversedZ, key)] {
        let how = How {
            depth,
            margin: 0.0,
            ..How::new(key, DrawOrder::FarToNear)
        };
        compare(&positions, &[matrix], how);
        let drawn = expected(&positions, &matrix, &how);
        assert!((100..900).contains(&drawn.len()));
        // The farthest is the first.
        let z = |splat: u32| positions[splat as usize][2];
        let (first, last) = (z(drawn[0]), z(drawn[drawn.len() - 1]));
        assert!(if depth == Depth::Z {
            first > last
        } else {
            first < last
        });
        // Only the near splats are nearer than the near plane now.
        matrix[3][2] = 0.5;
    }
}

#[test]
fn equal_depths_keep_their_order() {
    let positions = Random(4).positions(5000);
    // w is 64 everywhere.
    let mut matrix = SEES_ALL;
    matrix[2][3] = 0.0;
    for key in [DepthKey::Bits32, BITS_16] {
        for order in [DrawOrder::FarToNear, DrawOrder::NearToFar] {
            let how = How::new(key, order);
            compare(&positions, &[matrix], how);
            assert!(expected(&positions, &matrix, &how).into_iter().eq(0..5000));
        }
    }
}

#[test]
fn what_is_not_finite_or_behind_the_camera_is_never_drawn() {
    let inside = [1.0, 2.0, 3.0];
    let odd = [
        f32::NAN,
        -f32::NAN,
        f32::from_bits(0x7f80_0001),
        f32::INFINITY,
        f32::NEG_INFINITY,
    ];
    let mut positions = vec![inside, [-0.0, 0.0, -0.0], [1e-40, -1e-40, 1e-40], inside];
    let first = positions.len() as u32;
    for value in odd {
        for axis in 0..3 {
            let mut position = inside;
            position[axis] = value;
            positions.push(position);
        }
    }
    let end = positions.len() as u32;
    // These are finite, but not all that is computed of them.
    for value in [f32::MAX, f32::MIN, 1e30, -1e30] {
        positions.extend([[value, 0.0, 0.0], [0.0, value, 0.0], [0.0, 0.0, value]]);
    }
    for key in [DepthKey::Bits32, BITS_16] {
        let how = How::new(key, DrawOrder::FarToNear);
        // Every coordinate has its part in w.
        let mut matrix = SEES_ALL;
        for column in &mut matrix[..3] {
            column[3] = 2.0;
        }
        compare(&positions, &[SEES_ALL, matrix, SEES_NONE], how);
        let drawn = expected(&positions, &matrix, &how);
        assert!((0..first).all(|splat| drawn.contains(&splat)), "{drawn:?}");
        assert!(
            (first..end).all(|splat| !drawn.contains(&splat)),
            "{drawn:?}"
        );
        assert!(expected(&positions[..end as usize], &SEES_NONE, &how).is_empty());
        // A splat that is exactly at the camera is not before it.
        let mut at_camera = SEES_ALL;
        at_camera[3] = [0.0; 4];
        compare(&[[0.0; 3]], &[at_camera], how);
        assert!(expected(&[[0.0; 3]], &at_camera, &how).is_empty());
    }
}

#[test]
fn a_matrix_that_is_not_finite_draws_nothing() {
    let positions = Random(5).positions(300);
    let how = How::new(DepthKey::Bits32, DrawOrder::NearToFar);
    let mut matrices = Vec::new();
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for column in 0..4 {
            let mut matrix = SEES_ALL;
            matrix[column] = [value; 4];
            assert!(expected(&positions, &matrix, &how).is_empty());
            matrices.push(matrix);
        }
    }
    compare(&positions, &matrices, how);
}

#[test]
fn the_margin_is_how_far_out_of_the_picture_splats_are_drawn() {
    // x / w of 1, 1.25 and 1.5, at either side, and the same for y.
    let at = |x: f32, y: f32| [x, y, 0.0];
    let mut positions = Vec::new();
    for edge in [128.0, 160.0, 192.0] {
        positions.extend([at(edge, 0.0), at(-edge, 0.0), at(0.0, edge), at(0.0, -edge)]);
    }
    for (margin, drawn) in [(0.0, 4), (0.25, 8), (0.499, 8), (0.5, 12), (1e30, 12)] {
        let how = How {
            margin,
            ..How::new(DepthKey::Bits32, DrawOrder::FarToNear)
        };
        compare(&positions, &[SEES_ALL], how);
        assert_eq!(
            expected(&positions, &SEES_ALL, &how).len(),
            drawn,
            "{margin}"
        );
    }
}
