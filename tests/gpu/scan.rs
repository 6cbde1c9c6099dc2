//! Scans on this machine's adapter.

use crate::device::gpu;
use wgpu_bcfsort::{Error, KeyType, ScanJob, Scratch};

/// More tiles than the workgroup that adds them up takes at once.
const MANY: u32 = (1 << 24) + 12_345;

#[test]
fn sums_of_integers_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for len in [1, 255, 8192, 70_001, MANY] {
        let value = |i: u32| i.wrapping_mul(0x9e37_79b9);
        let values: Vec<u32> = (0..len).map(value).collect();
        let on_gpu = gpu.buffer(&values);
        let job = ScanJob::inclusive(&on_gpu, KeyType::I32, len.into());
        job.prepare(&gpu.first).unwrap().run().unwrap();
        let mut sum = 0_u32;
        let sums = values.iter().map(|&value| {
            sum = sum.wrapping_add(value);
            sum
        });
        assert!(gpu.read(&on_gpu).into_iter().eq(sums), "{len}");

        // 64 bits, out of place, from the second value on, of fewer values.
        let pairs = len / 2;
        let on_gpu = gpu.buffer(&[&values[..], &[0; 3]].concat());
        let output = gpu.buffer(&vec![7; len as usize + 4]);
        let used = pairs.saturating_sub(1) / 2;
        let count = gpu.buffer(&[used]);
        let scratch = Scratch::default();
        let job = ScanJob::exclusive(on_gpu.slice(8..), KeyType::U64, pairs.into())
            .output(output.slice(8..))
            .len_from(&count)
            .scratch(&scratch);
        job.prepare(&gpu.first).unwrap().run().unwrap();
        assert_eq!(scratch.bytes(), job.scratch_size(&gpu.first).unwrap());
        let mut expected = vec![7_u32; 2];
        let mut sum = 0_u64;
        for i in 1..=used as usize {
            expected.extend([sum as u32, (sum >> 32) as u32]);
            let pair = [2 * i, 2 * i + 1].map(|at| u64::from(values.get(at).copied().unwrap_or(0)));
            sum = sum.wrapping_add(pair[0] | pair[1] << 32);
        }
        expected.resize(len as usize + 4, 7);
        assert!(gpu.read(&output) == expected, "{len}");
    }
}

/// The same bits twice, exact where they are integers, and near the exact sums where not.
#[test]
fn sums_of_floats_are_the_same_each_time() {
    let Some(gpu) = gpu() else { return };
    let len = 300_000_u32;
    let values: Vec<f32> = (0..len).map(|i| (i % 1000) as f32 / 3.0).collect();
    let run = |values: &[f32]| {
        let on_gpu = gpu.buffer(bytemuck::cast_slice(values));
        let job = ScanJob::inclusive(&on_gpu, KeyType::F32, len.into());
        job.prepare(&gpu.first).unwrap().run().unwrap();
        gpu.read(&on_gpu)
    };
    let sums = run(&values);
    assert!(sums == run(&values));
    let mut exact = 0.0_f64;
    for (&value, &sum) in values.iter().zip(&sums) {
        exact += f64::from(value);
        let got = f64::from(f32::from_bits(sum));
        assert!((got - exact).abs() <= 1e-5 * exact, "{got} {exact}");
    }
    let integers: Vec<f32> = (0..len).map(|i| (i % 7) as f32).collect();
    let mut sum = 0.0_f32;
    let expected = integers.iter().map(|value| {
        sum += value;
        sum.to_bits()
    });
    assert!(run(&integers).into_iter().eq(expected));
}

#[test]
fn errors_of_scans_say_what_to_change() {
    let Some(gpu) = gpu() else { return };
    let [values, count] = [8, 1].map(|words| gpu.buffer(&vec![0; words]));
    let of = |key, len| ScanJob::inclusive(&values, key, len);
    let error = |job: ScanJob<'_>| job.prepare(&gpu.first).unwrap_err();
    for key in [KeyType::F64, KeyType::U8, KeyType::F16] {
        assert!(matches!(error(of(key, 1)), Error::NoSums(_)), "{key}");
    }
    let text = error(of(KeyType::U64, 5)).to_string();
    assert!(
        text.starts_with("the values buffer has 32 bytes, and needs 40"),
        "{text}"
    );
    let text = error(of(KeyType::U32, 8).output(&count)).to_string();
    assert!(text.starts_with("the output buffer has 4 bytes"), "{text}");
    let text = error(of(KeyType::U32, 8).output(&values)).to_string();
    assert!(
        text.starts_with("the values and the output are in one buffer"),
        "{text}"
    );
    let job = ScanJob::exclusive(values.slice(4..), KeyType::U64, 1);
    assert!(matches!(error(job), Error::Offset { .. }));
    // Nothing to add.
    of(KeyType::U32, 0)
        .prepare(&gpu.first)
        .unwrap()
        .run()
        .unwrap();
}
