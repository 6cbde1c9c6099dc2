//! Descriptors that are refused, and why.

use crate::reference::{camera, sorter};
use bcfsort_splat::wgpu_bcfsort::{self, Options, Sorter, wgpu};
use bcfsort_splat::{DepthKey, Error, Positions, SplatSorter, SplatSorterDescriptor};

/// The error of a descriptor, as text.
fn refusal(descriptor: &SplatSorterDescriptor<'_>) -> String {
    match SplatSorter::new(sorter(), descriptor) {
        Ok(_) => panic!("{descriptor:?} is accepted"),
        Err(error) => error.to_string(),
    }
}

fn buffer(size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    sorter().device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation: false,
    })
}

#[test]
fn an_order_that_does_not_fit_its_buffer_is_refused() {
    use wgpu::BufferUsages as Usage;
    let rows = sorter().upload(&[[0.0_f32; 4]; 10]).unwrap();
    let camera = camera();
    let positions = Positions::Strided {
        rows: rows.slice(..),
        stride: 16,
        offset: 0,
    };
    let [of_nine, vertices] =
        [(36, Usage::STORAGE), (40, Usage::VERTEX)].map(|(size, usage)| buffer(size, usage));
    let of = |order| SplatSorterDescriptor {
        order_buffer: Some(order),
        ..SplatSorterDescriptor::new(positions, 10, camera.slice(..))
    };
    assert_eq!(
        refusal(&of(&of_nine)),
        "the order buffer has 36 bytes, and needs 40: give a larger slice, or fewer splats"
    );
    let text = refusal(&of(&vertices));
    assert!(text.contains("the order buffer has the usages"), "{text}");
}

#[test]
fn errors_say_what_is_wrong_and_what_to_do() {
    use wgpu::BufferUsages as Usage;
    let rows = sorter().upload(&[[0.0_f32; 4]; 10]).unwrap();
    let camera = camera();
    let strided = |stride, offset| Positions::Strided {
        rows: rows.slice(..),
        stride,
        offset,
    };
    let of = |positions, len| SplatSorterDescriptor::new(positions, len, camera.slice(..));
    // The last row need not be whole.
    for (stride, offset, len) in [
        (16, 0, 10),
        (16, 4, 10),
        (12, 0, 13),
        (72, 0, 3),
        (40, 28, 4),
    ] {
        SplatSorter::new(sorter(), &of(strided(stride, offset), len)).unwrap();
    }
    assert_eq!(
        refusal(&of(strided(16, 4), 11)),
        "the positions buffer has 160 bytes, and needs 176: give a larger slice, or fewer splats"
    );
    for (stride, offset) in [
        (16, 8),
        (0, 0),
        (14, 0),
        (16, 2),
        (8, 0),
        (16, u32::MAX - 3),
    ] {
        let refusal = refusal(&of(strided(stride, offset), 1));
        assert!(refusal.contains(&format!("at byte {offset} of rows of {stride} bytes: both")));
    }
    let [short, long] = [rows.slice(4..40), rows.slice(4..44)];
    assert_eq!(
        refusal(&of(Positions::Arrays([long, short, long]), 10)),
        "the y buffer has 36 bytes, and needs 40: give a larger slice, or fewer splats"
    );
    let odd = Positions::Arrays([long, long, rows.slice(2..42)]);
    assert_eq!(
        refusal(&of(odd, 10)),
        "the z buffer is used from byte 2 on: this offset must be a multiple of 4"
    );
    let vertices = buffer(160, Usage::VERTEX);
    let other = Positions::Strided {
        rows: vertices.slice(..),
        stride: 16,
        offset: 0,
    };
    assert_eq!(
        refusal(&of(other, 10)),
        "the positions buffer has the usages BufferUsages(VERTEX), but also needs \
         BufferUsages(STORAGE): add it where the buffer is created"
    );

    let good = of(strided(16, 0), 10);
    let at = |camera| SplatSorterDescriptor {
        camera,
        ..good.clone()
    };
    let matrices = buffer(512, Usage::UNIFORM);
    let align = sorter()
        .device()
        .limits()
        .min_uniform_buffer_offset_alignment;
    SplatSorter::new(sorter(), &at(matrices.slice(256..320))).unwrap();
    assert!(refusal(&at(matrices.slice(..60))).contains("the camera buffer has 60 bytes, and"));
    assert!(refusal(&at(rows.slice(..))).contains("the camera buffer has the usages"));
    assert_eq!(
        refusal(&at(matrices.slice(4..))),
        format!(
            "the camera buffer is used from byte 4 on: this offset must be a multiple of {align}"
        )
    );
    for margin in [-0.1, f32::NAN, f32::INFINITY] {
        let descriptor = SplatSorterDescriptor {
            margin,
            ..good.clone()
        };
        let text = refusal(&descriptor);
        assert!(
            text.contains(&format!("the margin is {margin}, but must be 0 or")),
            "{text}"
        );
    }
    for (nearest, farthest) in [(1.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (0.1, f32::INFINITY)] {
        let descriptor = SplatSorterDescriptor {
            key: DepthKey::Bits16 { nearest, farthest },
            ..good.clone()
        };
        let text = refusal(&descriptor);
        assert!(
            text.contains(&format!("from {nearest} to {farthest}: both must")),
            "{text}"
        );
    }
}

/// A device that binds little: the numbers are checked before anything is allocated.
#[test]
fn more_splats_than_the_device_binds_are_refused() {
    let limit = sorter().device().limits().max_storage_buffer_binding_size;
    let rows = sorter().upload(&[0_u32; 64]).unwrap();
    let camera = camera();
    let positions = Positions::Strided {
        rows: rows.slice(..),
        stride: 12,
        offset: 0,
    };
    let descriptor = SplatSorterDescriptor::new(positions, u32::MAX, camera.slice(..));
    assert!(refusal(&descriptor).contains("the positions buffer has 256 bytes, and needs"));

    // A small device of its own.
    let adapter = wgpu_bcfsort::adapters().remove(0);
    let limits = wgpu::Limits {
        max_storage_buffer_binding_size: 16 << 20,
        ..wgpu::Limits::default()
    };
    assert!(limits.max_storage_buffer_binding_size < limit);
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        required_limits: limits,
        ..Default::default()
    }))
    .unwrap();
    let small = Sorter::new(&device, &queue, Options::default()).unwrap();
    let make = |size, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation: false,
        })
    };
    let rows = make(20 << 20, wgpu::BufferUsages::STORAGE);
    let camera = make(64, wgpu::BufferUsages::UNIFORM);
    let describe = |stride, offset, len| {
        let positions = Positions::Strided {
            rows: rows.slice(offset..),
            stride,
            offset: 0,
        };
        SplatSorterDescriptor::new(positions, len, camera.slice(..))
    };
    let error = SplatSorter::new(&small, &describe(64, 0, 300_000)).unwrap_err();
    assert!(matches!(error, Error::BindingTooLarge { .. }), "{error}");
    let text = "would be bound with 19199948 bytes, and this device binds at most 16777216";
    assert!(error.to_string().contains(text), "{error}");
    // From there on they are few enough.
    SplatSorter::new(&small, &describe(64, 3 << 20, 200_000)).unwrap();
}
