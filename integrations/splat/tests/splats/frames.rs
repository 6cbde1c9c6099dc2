//! Many frames by one recording.

use crate::reference::{
    BITS_16, How, Random, SEES_ALL, SEES_NONE, camera, expected, frame, sorter,
};
use bcfsort_splat::wgpu_bcfsort::{KeyType, Keys, Options, Order, Scratch, SortJob, Sorter, wgpu};
use bcfsort_splat::{DepthKey, DrawOrder, Positions, SplatSorter, SplatSorterDescriptor};

const STRIDE: u32 = 12;

/// Frames with other cameras, moved splats, and garbage of other sorts in the scratch memory.
#[test]
fn a_frame_depends_on_nothing_that_an_earlier_one_left() {
    let sorter = sorter();
    let mut random = Random(6);
    let len = 20_000;
    for key in [DepthKey::Bits32, BITS_16] {
        let mut positions = random.positions(len);
        let rows = sorter.upload(&positions).unwrap();
        let camera = camera();
        let scratch = Scratch::default();
        let how = How::new(key, DrawOrder::FarToNear);
        let layout = Positions::Strided {
            rows: rows.slice(..),
            stride: STRIDE,
            offset: 0,
        };
        let descriptor = SplatSorterDescriptor {
            scratch: Some(&scratch),
            ..how.describe(layout, len, &camera)
        };
        let splats = SplatSorter::new(sorter, &descriptor).unwrap();
        let noise: Vec<u32> = (0..len).map(|_| random.below(u32::MAX)).collect();
        let (keys, ids) = (
            sorter.upload(&noise).unwrap(),
            sorter.upload(&noise).unwrap(),
        );
        let other = SortJob::argsort(Keys::new(&keys, KeyType::F32), &ids, len.into())
            .order(Order::Descending)
            .scratch(&scratch);
        let other = other.prepare(sorter).unwrap();

        let cameras = [
            random.camera(),
            SEES_NONE,
            random.camera(),
            SEES_ALL,
            random.camera(),
        ];
        for matrix in cameras {
            other.run().unwrap();
            let drawn = frame(&splats, &camera, &matrix);
            assert!(drawn == expected(&positions, &matrix, &how));
            // The same again, byte by byte.
            assert!(drawn == frame(&splats, &camera, &matrix));
            // They move.
            positions.rotate_left(1);
            positions[0] = [f32::NAN, 0.0, 0.0];
            sorter
                .queue()
                .write_buffer(&rows, 0, bytemuck::cast_slice(&positions));
        }
    }
}

/// Two cameras in one submission, and both orders of one.
#[test]
fn sorters_of_one_encoder_do_not_meet() {
    let sorter = sorter();
    let mut random = Random(7);
    let positions = random.positions(4000);
    let rows = sorter.upload(&positions).unwrap();
    let layout = Positions::Strided {
        rows: rows.slice(..),
        stride: STRIDE,
        offset: 0,
    };
    let scratch = Scratch::default();
    let matrices = [random.camera(), random.camera(), SEES_ALL];
    let how = How::new(DepthKey::Bits32, DrawOrder::FarToNear);
    let cameras = matrices.map(|_| camera());
    let mut sorters = Vec::new();
    let mut encoder = sorter
        .device()
        .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    for (matrix, camera) in matrices.iter().zip(&cameras) {
        sorter
            .queue()
            .write_buffer(camera, 0, bytemuck::cast_slice(matrix));
        let descriptor = SplatSorterDescriptor {
            scratch: Some(&scratch),
            ..how.describe(layout, 4000, camera)
        };
        let splats = SplatSorter::new(sorter, &descriptor).unwrap();
        splats.record(&mut encoder);
        sorters.push(splats);
    }
    sorter.queue().submit([encoder.finish()]);
    for (splats, matrix) in sorters.iter().zip(&matrices) {
        let expected = expected(&positions, matrix, &how);
        let count = sorter.download::<u32>(splats.count()).unwrap()[0] as usize;
        let order = sorter.download::<u32>(splats.order()).unwrap();
        assert!(order[..count] == expected);
    }
}

/// A buffer that is larger than need be: only its first words are written.
#[test]
fn the_order_is_written_to_the_programs_buffer() {
    let sorter = sorter();
    let mut random = Random(9);
    let len = 1000;
    let positions = random.positions(len);
    let rows = sorter.upload(&positions).unwrap();
    let camera = camera();
    let layout = Positions::Strided {
        rows: rows.slice(..),
        stride: STRIDE,
        offset: 0,
    };
    for key in [DepthKey::Bits32, BITS_16] {
        let how = How::new(key, DrawOrder::NearToFar);
        let own = SplatSorter::new(sorter, &how.describe(layout, len, &camera)).unwrap();
        let order = sorter.upload(&vec![7_u32; len as usize + 9]).unwrap();
        let descriptor = SplatSorterDescriptor {
            order_buffer: Some(&order),
            ..how.describe(layout, len, &camera)
        };
        let splats = SplatSorter::new(sorter, &descriptor).unwrap();
        assert_eq!(splats.order(), &order);
        assert_eq!(splats.memory() + 4 * u64::from(len), own.memory());
        frame(&own, &camera, &SEES_ALL);
        let mut encoder = sorter
            .device()
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        splats.record(&mut encoder);
        sorter.queue().submit([encoder.finish()]);
        let mut expected = sorter.download::<u32>(own.order()).unwrap();
        expected.extend([7; 9]);
        assert_eq!(sorter.download::<u32>(&order).unwrap(), expected);
    }
}

/// By wgpu's own report of device memory, on a device that no other test uses.
#[test]
fn frames_allocate_nothing() {
    let sorter = Sorter::open(Options::default()).unwrap();
    let (device, queue) = (sorter.device(), sorter.queue());
    let rows = sorter.upload(&Random(8).positions(3000)).unwrap();
    let camera = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("camera"),
        size: 64,
        usage: wgpu::BufferUsages::UNIFORM,
        mapped_at_creation: false,
    });
    let layout = Positions::Strided {
        rows: rows.slice(..),
        stride: STRIDE,
        offset: 0,
    };
    let how = How::new(DepthKey::Bits32, DrawOrder::FarToNear);
    let splats = SplatSorter::new(&sorter, &how.describe(layout, 3000, &camera)).unwrap();
    let run = || {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        splats.record(&mut encoder);
        queue.submit([encoder.finish()]);
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    };
    let memory = || {
        let report = device
            .generate_allocator_report()
            .expect("a report, as of Vulkan");
        (report.allocations.len(), report.total_allocated_bytes)
    };
    run();
    run();
    let before = memory();
    assert!(before.0 > 0);
    for _ in 0..300 {
        run();
    }
    assert_eq!(memory(), before);
}

/// What the documentation says of memory.
#[test]
fn memory_is_as_documented() {
    let sorter = sorter();
    let len = 1 << 20;
    let rows = sorter.upload(&vec![[0.0_f32; 3]; len as usize]).unwrap();
    let camera = camera();
    let layout = Positions::Strided {
        rows: rows.slice(..),
        stride: STRIDE,
        offset: 0,
    };
    for (key, most) in [(DepthKey::Bits32, 18), (BITS_16, 13)] {
        let how = How::new(key, DrawOrder::FarToNear);
        let splats = SplatSorter::new(sorter, &how.describe(layout, len, &camera)).unwrap();
        let each = splats.memory() as f64 / f64::from(len);
        assert!(
            (8.0..f64::from(most)).contains(&each),
            "{key:?}: {each} bytes for each"
        );
        println!("{each:.2} bytes for each splat: {splats:?}");
    }
}
