//! Merges of two sorted buffers on this machine's adapter.

use crate::device::gpu;
use wgpu_bcfsort::{Error, KeyType, MergeJob, Order, Scratch, SortKey as _, Sorter};

/// Pseudo-random words.
fn noise(len: u32, seed: u32) -> Vec<u32> {
    let word = |i: u32| {
        let mixed = (u64::from(i) << 32 | u64::from(seed)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ mixed >> 31).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32
    };
    (0..len).map(word).collect()
}

/// The merge of two inputs by a stable sort: the keys, and the number of each record.
fn merged<T: Copy>(inputs: [&[T]; 2], rank: impl Fn(T) -> u64) -> (Vec<T>, Vec<u32>) {
    let all = inputs.concat().into_iter().zip(0..);
    let mut all: Vec<(T, u32)> = all.collect();
    all.sort_by_key(|&(key, _)| rank(key));
    all.into_iter().unzip()
}

fn check(sorter: &Sorter, [a, b]: [&[f32]; 2], order: Order) {
    let rank = |key: f32| key.rank(order);
    let [a, b] = [a, b].map(|keys| {
        let mut keys = keys.to_vec();
        keys.sort_by_key(|&key| rank(key));
        keys
    });
    let what = format!("{} and {} records, {order:?}", a.len(), b.len());
    let lens = [&a, &b].map(|keys| keys.len() as u64);
    let [on_a, on_b] = [&a, &b].map(|keys| sorter.upload(keys).unwrap());
    let numbers: Vec<u32> = (0..(lens[0] + lens[1]) as u32).collect();
    let (values_a, values_b) = numbers.split_at(a.len());
    let [values_a, values_b] = [values_a, values_b].map(|of| sorter.upload(of).unwrap());
    let output = sorter.upload(&vec![0_f32; numbers.len()]).unwrap();
    let values = sorter.upload(&vec![0_u32; numbers.len()]).unwrap();
    let inputs = ((&on_a, lens[0]), (&on_b, lens[1]));
    let job = MergeJob::new(inputs.0, inputs.1, KeyType::F32, &output)
        .order(order)
        .values(&values_a, &values_b, &values);
    job.prepare(sorter).unwrap().run().unwrap();
    let (keys, origins) = merged([&a, &b], rank);
    let bits = |keys: &[f32]| keys.iter().map(|key| key.to_bits()).collect::<Vec<u32>>();
    let read = sorter.download::<f32>(&output).unwrap();
    assert!(bits(&read) == bits(&keys), "keys of {what}");
    let read = sorter.download::<u32>(&values).unwrap();
    assert!(read == origins, "values of {what}");
}

#[test]
fn merges_of_floats_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    // Some are not numbers, or are 0 with either sign.
    let float = |word: u32| match word % 16 {
        0 => -0.0,
        1 => 0.0,
        _ => f32::from_bits(word),
    };
    let floats = |len, seed| -> Vec<f32> { noise(len, seed).into_iter().map(float).collect() };
    for order in [Order::Ascending, Order::Descending] {
        for lens in [
            [0, 0],
            [0, 1],
            [1, 0],
            [1, 1],
            [3327, 1],
            [3328, 3328],
            [1, 3328],
            [0, 100_000],
            [100_000, 33],
            [50_000, 100_000],
        ] {
            let [a, b] = [floats(lens[0], 1), floats(lens[1], 2)];
            check(&gpu.first, [&a, &b], order);
        }
        let numbers: Vec<f32> = (0..20_000).map(|i| i as f32).collect();
        let equal = vec![0.5; 9000];
        let odd: Vec<f32> = numbers.iter().map(|number| number + 0.5).collect();
        let negative: Vec<f32> = numbers.iter().map(|number| -number - 1.0).collect();
        check(&gpu.first, [&equal, &equal], order);
        check(&gpu.first, [&numbers, &odd], order);
        check(&gpu.first, [&numbers, &negative], order);
        check(&gpu.first, [&negative, &numbers], order);
    }
}

/// So many tiles that several workgroups search for splits, with counts and offsets.
#[test]
fn merges_of_64_bits_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let key = |pair: &[u32]| u64::from(pair[0]) << 32 | u64::from(pair[1] % 3);
    let rank = |key: u64| key.cast_signed().rank(Order::Ascending);
    let input = |len: u32, seed| -> Vec<u64> {
        let mut keys: Vec<u64> = noise(2 * len, seed).chunks(2).map(key).collect();
        keys.sort_by_key(|&key| rank(key));
        keys
    };
    let (a, b) = (input(70_000, 3), input(80_000, 4));
    let (used_a, used_b) = (69_000, 77_777);
    // Both inputs are in one buffer, and so are both counts.
    let inputs = gpu.first.upload(&[&[7], &a[..], &b[..]].concat()).unwrap();
    let counts = gpu.buffer(&[9, used_a as u32, used_b as u32]);
    let output = gpu
        .first
        .upload(&vec![7_u64; 1 + a.len() + b.len()])
        .unwrap();
    let begin_b = 8 * (1 + a.len() as u64);
    let scratch = Scratch::default();
    let keys = (
        (inputs.slice(8..), a.len() as u64),
        (inputs.slice(begin_b..), b.len() as u64),
    );
    let job = MergeJob::new(keys.0, keys.1, KeyType::I64, output.slice(8..))
        .len_from(counts.slice(4..), counts.slice(8..))
        .scratch(&scratch);
    job.prepare(&gpu.first).unwrap().run().unwrap();
    assert_eq!(scratch.bytes(), job.scratch_size(&gpu.first).unwrap());
    let (mut expected, _) = merged([&a[..used_a], &b[..used_b]], rank);
    expected.insert(0, 7);
    expected.resize(1 + a.len() + b.len(), 7);
    assert!(gpu.first.download::<u64>(&output).unwrap() == expected);
}

#[test]
fn errors_of_merges_say_what_to_change() {
    let Some(gpu) = gpu() else { return };
    let [a, b, output] = [8, 4, 12].map(|words| gpu.buffer(&vec![0; words]));
    let of = |key, lens: [u64; 2]| MergeJob::new((&a, lens[0]), (&b, lens[1]), key, &output);
    let error = |job: MergeJob<'_>| job.prepare(&gpu.first).unwrap_err();
    for key in [KeyType::U8, KeyType::F16] {
        assert!(matches!(error(of(key, [1, 1])), Error::NoMerge(_)), "{key}");
    }
    let text = error(of(KeyType::U32, [8, 5])).to_string();
    let begin = "the second keys buffer has 16 bytes, and needs 20";
    assert!(text.starts_with(begin), "{text}");
    let text = error(of(KeyType::U64, [4, 3])).to_string();
    assert!(text.starts_with("the second keys buffer has 16"), "{text}");
    let short = MergeJob::new((&a, 8), (&b, 4), KeyType::U32, output.slice(4..));
    let text = error(short).to_string();
    assert!(text.starts_with("the output buffer has 44 bytes"), "{text}");
    let text = error(MergeJob::new((&a, 2), (&b, 1), KeyType::U32, &b)).to_string();
    let begin = "the second keys and the output are in one buffer";
    assert!(text.starts_with(begin), "{text}");
    let valued = of(KeyType::U32, [4, 4]).values(&a, &b, &output);
    let text = error(valued).to_string();
    let begin = "the output and the payload output 0 are in one buffer";
    assert!(text.starts_with(begin), "{text}");
    for lens in [[u64::MAX, 1], [1 << 31, 1 << 31]] {
        let error = error(of(KeyType::U32, lens));
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }
    let job = MergeJob::new((a.slice(4..), 1), (&b, 1), KeyType::U64, &output);
    assert!(matches!(error(job), Error::Offset { .. }));
}
