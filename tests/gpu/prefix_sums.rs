//! Colored prefix sums on this machine's adapter, compared with the CPU and with their definition.

use crate::device::{Gpu, gpu, open};
use bcfsort_testkit::recordings::Coloring;
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::paper::{
    PrefixSums, PrefixSumsMethod, PrefixSumsOptions, Scan, Summand, prefix_sums_on_cpu,
};
use wgpu_bcfsort::{BufferRole, Detail, Error, KeyType, Options, Sorter, requirements};

/// One instance for all tests, so that its kernels are compiled once.
fn prefix_sums(gpu: &Gpu) -> &PrefixSums {
    gpu.sums.get_or_init(|| PrefixSums::new(&gpu.first))
}

/// Values of all magnitudes (xorshift64*, Vigna 2016).
fn random<T: Summand>(count: usize, seed: u64) -> Vec<T> {
    let mut state = seed * 2 + 1;
    (0..count)
        .map(|_| {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            let bits = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
            if T::KEY_TYPE == KeyType::F32 {
                // Both signs, and fractions that are rounded in sums.
                let value = (bits as u32).cast_signed() as f32 / 1e5;
                T::from_bits64(value.to_bits().into())
            } else {
                T::from_bits64(bits)
            }
        })
        .collect()
}

fn bits<T: Summand>(values: &[T]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits64()).collect()
}

/// Runs on the device, and compares bit for bit with the CPU.
fn check<T: Summand>(gpu: &Gpu, len: usize, coloring: Coloring, options: &PrefixSumsOptions) {
    let values: Vec<T> = random(len, len as u64 + 7);
    let colors = coloring.make(len as u32, options.colors);
    let mut expected = values.clone();
    prefix_sums_on_cpu(&mut expected, &colors, options).unwrap();
    let mut sums = values;
    prefix_sums(gpu).run(&mut sums, &colors, options).unwrap();
    let (sums, expected) = (bits(&sums), bits(&expected));
    let wrong = (0..len).find(|&i| sums[i] != expected[i]);
    assert_eq!(
        wrong.map(|i| (i, sums[i], expected[i])),
        None,
        "{len} {} values, {coloring:?}, {options:?}",
        T::KEY_TYPE
    );
}

/// The largest number of loop iterations of an invocation.
#[test]
fn the_longest_tile_of_the_most_colors_equals_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let options = PrefixSumsOptions::default().colors(16).tiles(1);
    let len = wgpu_bcfsort::internals::prefix_sums::LONGEST_TILE as usize + 1;
    for method in PrefixSumsMethod::ALL {
        check::<u32>(gpu, len, Coloring::Random, &options.clone().method(method));
    }
}

const SIZES: [usize; 12] = [
    0,
    1,
    2,
    31,
    32,
    33,
    1023,
    1024,
    1025,
    3 * 1024 + 5,
    40_000,
    70_001,
];

#[test]
fn every_size_color_count_method_scan_and_type_gives_the_cpus_bits() {
    let Some(gpu) = gpu() else { return };
    let colorings = [
        Coloring::Random,
        Coloring::Equal,
        Coloring::Lanes,
        Coloring::Worst,
    ];
    let mut i = 0;
    for colors in 1..=16 {
        for method in PrefixSumsMethod::ALL {
            for scan in Scan::ALL {
                // Every size with every number of colors. Tiles and colorings alternate with other
                // periods.
                for len in SIZES {
                    let mut options = PrefixSumsOptions::default()
                        .colors(colors)
                        .method(method)
                        .scan(scan);
                    options.tiles = [None, Some(1), Some(3), Some(16_384), Some(7)][i % 5];
                    let coloring = colorings[i % 4];
                    match i % 3 {
                        0 => check::<u32>(gpu, len, coloring, &options),
                        1 => check::<i32>(gpu, len, coloring, &options),
                        _ => check::<f32>(gpu, len, coloring, &options),
                    }
                    i += 1;
                }
                // The 12 sizes are a multiple of the periods of types and colorings: shift these.
                i += 1;
            }
        }
    }
}

#[test]
fn a_million_values_in_a_thousand_tiles() {
    let Some(gpu) = gpu() else { return };
    for method in PrefixSumsMethod::ALL {
        let options = PrefixSumsOptions::default().colors(16).method(method);
        check::<f32>(gpu, 1_000_003, Coloring::Random, &options);
        check::<u32>(
            gpu,
            1_000_003,
            Coloring::Random,
            &options.clone().tiles(100),
        );
    }
}

#[test]
fn floats_are_near_the_exact_sums_and_infinities_and_nans_propagate() {
    let Some(gpu) = gpu() else { return };
    let sums = prefix_sums(gpu);
    let one = PrefixSumsOptions::default();
    let values: Vec<f32> = random(100_000, 3);
    let mut of = values.clone();
    sums.run(&mut of, &vec![0; values.len()], &one).unwrap();
    let (mut exact, mut size) = (0.0_f64, 0.0_f64);
    for (i, (&value, &sum)) in values.iter().zip(&of).enumerate() {
        exact += f64::from(value);
        size += f64::from(value.abs());
        // Each addition that a value passes rounds by at most 2^-24 of the sum so far.
        let bound = 1000.0 * size * f64::from(f32::EPSILON);
        assert!(
            (f64::from(sum) - exact).abs() <= bound,
            "{i}: {sum}, {exact}"
        );
    }

    let mut values = vec![1.0_f32; 5000];
    (values[100], values[3000]) = (f32::INFINITY, f32::NEG_INFINITY);
    values[4000] = f32::NAN;
    let colors: Vec<u32> = (0..5000)
        .map(|i| u32::from(i == 4000 || i >= 4500))
        .collect();
    sums.run(&mut values, &colors, &one.clone().colors(2))
        .unwrap();
    assert_eq!(values[99].to_bits(), 100_f32.to_bits());
    assert!(values[100..3000].iter().all(|&v| v == f32::INFINITY));
    assert!(values[3000..].iter().all(|v| v.is_nan()));

    // Sums begin with +0.
    let mut zeros = [-0.0_f32; 3];
    sums.run(&mut zeros, &[0; 3], &one).unwrap();
    assert_eq!(zeros.map(f32::to_bits), [0; 3]);
}

#[test]
fn values_of_no_color_stay_as_they_are() {
    let Some(gpu) = gpu() else { return };
    for (method, d) in [
        (PrefixSumsMethod::Naive, 16),
        (PrefixSumsMethod::ConflictFree, 5),
    ] {
        let options = PrefixSumsOptions::default()
            .colors(d)
            .method(method)
            .tiles(4);
        let values: Vec<u32> = random(10_000, 1);
        let colors = Coloring::Beyond.make(10_000, d);
        assert!(colors.iter().any(|&color| color >= d));
        let (buffer, of) = (gpu.buffer(&values), gpu.buffer(&colors));
        let sums = prefix_sums(gpu).prepare(&buffer, &of, 9_999, KeyType::I32, &options);
        sums.unwrap().run().unwrap();
        let mut running = [0_u32; 16];
        for (i, (sum, &color)) in gpu.read(&buffer).into_iter().zip(&colors).enumerate() {
            let expected = if color < d && i < 9_999 {
                let running = &mut running[color as usize];
                *running = running.wrapping_add(values[i]);
                *running
            } else {
                values[i]
            };
            assert_eq!(sum, expected, "{i}");
        }
        assert!(gpu.read(&of) == colors);
    }
}

#[test]
fn prepared_sums_are_recorded_any_number_of_times() {
    let Some(gpu) = gpu() else { return };
    let sums = prefix_sums(gpu);
    let (values, colors) = (gpu.buffer(&[1; 2000]), gpu.buffer(&[0; 2000]));
    let options = PrefixSumsOptions::default();
    let prepared = sums
        .prepare(&values, &colors, 2000, KeyType::U32, &options)
        .unwrap();
    assert_eq!(prepared.recording().steps.len(), 3);
    let mut encoder = gpu
        .device
        .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    prepared.record(&mut encoder);
    prepared.record(&mut encoder);
    gpu.queue.submit([encoder.finish()]);
    let expected: Vec<u32> = (1..=2000).map(|i| i * (i + 1) / 2).collect();
    assert!(gpu.read(&values) == expected);

    // Or run any number of times.
    gpu.queue
        .write_buffer(&values, 0, bytemuck::cast_slice(&[1_u32; 2000]));
    prepared.run().unwrap();
    let profile = prepared.profile(Detail::Phases).unwrap();
    assert!(gpu.read(&values) == expected);
    let phases: Vec<_> = profile.phases.iter().map(|p| p.phase).collect();
    assert_eq!(phases, ["tile sums", "tile offsets", "prefix sums"]);
}

#[test]
fn the_profile_names_the_phases() {
    let Some(gpu) = gpu() else { return };
    let options = PrefixSumsOptions::default().colors(2);
    let mut values = vec![1_u32; 5000];
    let profile = prefix_sums(gpu)
        .profile(&mut values, &vec![1; 5000], &options)
        .unwrap();
    let phases: Vec<_> = profile.phases.iter().map(|p| p.phase).collect();
    assert_eq!(phases, ["tile sums", "tile offsets", "prefix sums"]);
    assert!(profile.phases.iter().all(|p| p.dispatches == 1));
    assert!(profile.upload > std::time::Duration::ZERO);
    assert_eq!(values[4999], 5000);
    // Nothing to do takes no dispatch.
    let profile = prefix_sums(gpu)
        .profile::<u32>(&mut [], &[], &options)
        .unwrap();
    assert!(profile.phases.is_empty());
}

#[test]
fn buffers_that_cannot_be_used_are_refused_with_the_numbers() {
    let Some(gpu) = gpu() else { return };
    let sums = prefix_sums(gpu);
    let options = PrefixSumsOptions::default();
    let of = |values: &wgpu::Buffer, colors: &wgpu::Buffer, len, key| {
        sums.prepare(values, colors, len, key, &options)
            .unwrap_err()
    };
    let (large, small) = (gpu.empty_buffer(4000), gpu.empty_buffer(3996));
    for (values, colors, role) in [
        (&large, &small, BufferRole::Colors),
        (&small, &large, BufferRole::Values),
    ] {
        let error = of(values, colors, 1000, KeyType::U32);
        let numbers = matches!(
            error,
            Error::BufferTooSmall {
                buffer,
                needed: 4000,
                actual: 3996,
                ..
            } if buffer == role
        );
        assert!(numbers, "{error:?}");
    }
    let error = of(&large, &large.clone(), 1000, KeyType::U32);
    assert!(matches!(error, Error::SameBuffer { .. }), "{error:?}");
    for key in [KeyType::U64, KeyType::I64, KeyType::F64] {
        let error = of(&large, &small, 100, key);
        assert!(matches!(error, Error::NoSums(k) if k == key), "{error:?}");
    }
    let most = gpu.first.max_len(KeyType::F32);
    let error = of(&large, &small, most + 1, KeyType::F32);
    assert!(
        matches!(error, Error::TooLarge { max_len, .. } if max_len == most),
        "{error:?}"
    );
    assert!(sums.scratch_size(most, &options).unwrap() <= 16 * 16_384 * 4);

    let no_storage = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4000,
        usage: wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    for (values, colors) in [(&large, &no_storage), (&no_storage, &large)] {
        let error = of(values, colors, 1000, KeyType::U32);
        assert!(matches!(error, Error::BufferUsage { .. }), "{error:?}");
    }

    // Buffers of another device of the same instance.
    let (device, queue) = open(&gpu.adapter, requirements(&gpu.adapter).unwrap().limits);
    let foreign = PrefixSums::new(&Sorter::new(&device, &queue, Options::default()).unwrap());
    let error = foreign
        .prepare(&large, &small, 100, KeyType::U32, &options)
        .unwrap_err();
    assert!(matches!(error, Error::Device(_)), "{error:?}");
}

#[test]
fn slices_of_different_lengths_and_wrong_colors_are_refused() {
    let Some(gpu) = gpu() else { return };
    let sums = prefix_sums(gpu);
    let options = PrefixSumsOptions::default().colors(3);
    let mut values = [1_u32, 2, 3];
    let error = sums.run(&mut values, &[0; 4], &options).unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthsDiffer {
                first: 3,
                second: 4,
                ..
            }
        ),
        "{error:?}"
    );
    let error = sums.run(&mut values, &[0, 2, 3], &options).unwrap_err();
    let numbers = matches!(
        error,
        Error::ColorOutOfRange {
            index: 2,
            color: 3,
            colors: 3
        }
    );
    assert!(numbers, "{error:?}");
    let error = sums
        .run(&mut values, &[0; 3], &options.colors(17))
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::InvalidOption {
                name: "colors",
                value: 17,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(values, [1, 2, 3]);
}

#[test]
fn threads_share_one_prefix_sums() {
    fn check_sync<T: Send + Sync + 'static>() {}
    let Some(gpu) = gpu() else { return };
    check_sync::<PrefixSums>();
    check_sync::<wgpu_bcfsort::paper::PreparedPrefixSums>();
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            scope.spawn(move || {
                for round in 0..4 {
                    let options = PrefixSumsOptions::default().colors(1 + thread as u32);
                    check::<u32>(gpu, 3000 + 500 * thread + round, Coloring::Random, &options);
                }
            });
        }
    });
}
