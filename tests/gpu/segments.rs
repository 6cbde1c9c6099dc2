//! Segmented sorts on this machine's adapter.

use crate::device::{Gpu, gpu};
use crate::pairs::{sorter, stable};
use crate::rows::{bits, by_field, in_order, keys, ordered, pack, rows, run, tail};
use bcfsort_data::{Pattern, Spec, generate};
use wgpu_bcfsort::{BufferRole, Error, KeyType, Keys, Order, Payload, SortJob, SortKey, ToBinding};

/// Segments that are empty, of one record, of several, and of about half of all records.
const OFFSETS: [u32; 13] = [0, 0, 1, 1, 2, 9, 40, 1500, 1500, 2900, 2999, 3000, 3000];

/// A segmented sort whose segments begin at `offsets`, which are in the buffer `starts`.
fn segmented<'a>(
    keys: Keys<'a>,
    len: usize,
    starts: impl ToBinding<'a>,
    offsets: &[u32],
) -> SortJob<'a> {
    SortJob::segmented(keys, len as u64, starts, offsets.len() as u32)
}

/// The indices of all records after a segmented sort on the CPU.
fn expected<T: SortKey>(keys: &[T], offsets: &[u32], order: Order) -> Vec<u32> {
    let mut all = Vec::new();
    for (i, &begin) in offsets.iter().enumerate() {
        let end = offsets.get(i + 1).copied();
        let end = end.unwrap_or(u32::MAX).min(keys.len() as u32);
        let segment = &keys[begin.min(end) as usize..end as usize];
        let indices = stable(segment, order);
        all.extend(indices.into_iter().map(|index| index + begin));
    }
    all
}

/// Sorts keys and payload in place, then argsorts with an indirect count.
fn check<T: SortKey>(gpu: &Gpu, keys: &[T], first: usize, order: Order) {
    let sorter = sorter(gpu);
    let (len, words) = (keys.len() - first, T::KEY_TYPE.words());
    let what = format!("{} from {first}, {}", T::KEY_TYPE, order.name());
    let before: &[u32] = bytemuck::cast_slice(keys);
    let rows = rows(keys.len() as u64, 2);
    let starts = gpu.buffer(&OFFSETS);
    let sort = |keys| {
        let part = tail(keys, first, T::KEY_TYPE.bytes());
        segmented(Keys::new(part, T::KEY_TYPE), len, &starts, &OFFSETS).order(order)
    };
    let (on_gpu, with_it) = (gpu.buffer(before), gpu.buffer(&rows));
    let payload = Payload::new(tail(&with_it, first, 8), 8);
    run(&sorter, &sort(&on_gpu).payload(payload));
    let order_of_all = expected(&keys[first..], &OFFSETS, order);
    for (buffer, before, words) in [(&on_gpu, before, words), (&with_it, &rows[..], 2)] {
        let after = gpu.read(buffer);
        let before = before.split_at(first * words as usize);
        assert!(
            after[..first * words as usize] == *before.0,
            "{what}: before"
        );
        let sorted = in_order(before.1, words, &order_of_all);
        assert!(after[first * words as usize..] == sorted, "{what}");
    }

    let there = len * 2 / 3;
    let (on_gpu, count) = (gpu.buffer(before), gpu.buffer(&[there as u32]));
    let indices = gpu.buffer(&vec![7; keys.len()]);
    let counted = sort(&on_gpu).keep_keys().indices(tail(&indices, first, 4));
    run(&sorter, &counted.len_from(&count));
    assert!(gpu.read(&on_gpu) == before, "{what}: kept");
    let after = gpu.read(&indices);
    let expected = expected(&keys[first..][..there], &OFFSETS, order);
    assert!(after[first..][..there] == expected, "{what}: indices");
    assert!(after[..first].iter().all(|&i| i == 7), "{what}");
    assert!(after[first + there..].iter().all(|&i| i == 7), "{what}");
}

#[test]
fn keys_of_32_bits() {
    let Some(gpu) = gpu() else { return };
    for first in [0, 70, 128] {
        check(gpu, &keys(first + 3000), first as usize, Order::Ascending);
    }
    if gpu.runs_all_cases() {
        check_nans::<f32>(gpu, [-f32::NAN, f32::NAN]);
    }
}

#[test]
fn keys_of_64_bits() {
    let Some(gpu) = gpu() else { return };
    for spec in [
        // The largest keys, which are also the padding.
        Spec::new(Pattern::Maximal, 3070),
        Spec::new(Pattern::FewDistinct, 3070).distinct(90),
        Spec::new(Pattern::Full, 3070),
    ] {
        // The largest floats are NaNs.
        let keys: Vec<f64> = generate(&spec).unwrap();
        check(gpu, &keys, 70, Order::Ascending);
        if gpu.runs_all_cases() {
            let keys: Vec<u64> = generate(&spec).unwrap();
            check(gpu, &keys, 70, Order::Ascending);
        }
    }
    check_nans::<f64>(gpu, [-f64::NAN, f64::NAN]);
}

fn check_nans<T: SortKey>(gpu: &Gpu, nans: [T; 2]) {
    let mut keys: Vec<T> = generate(&Spec::new(Pattern::Full, 900)).unwrap();
    [keys[5], keys[50]] = nans;
    check(gpu, &keys, 0, Order::Descending);
}

/// More than a tile of keys: in thousands of segments, and in a giant one between empty ones.
fn check_many<T: SortKey>(gpu: &Gpu, with_indices: bool) {
    let sorter = sorter(gpu);
    let len = 40_000_u64;
    let keys: Vec<T> = generate(&Spec::new(Pattern::FewDistinct, len).distinct(900)).unwrap();
    let small: Vec<u32> = (0..13_000).map(|i| 3 * i).collect();
    let giant = [vec![0; 500], vec![1], vec![39_999; 500]].concat();
    for offsets in [small, giant] {
        let order = expected(&keys, &offsets, Order::Ascending);
        let bits: Vec<u32> = bytemuck::pod_collect_to_vec(&keys);
        let (on_gpu, indices) = (gpu.buffer(&bits), gpu.empty_buffer(4 * len));
        let starts = gpu.buffer(&offsets);
        let on_gpu_keys = Keys::new(&on_gpu, T::KEY_TYPE);
        let sort = segmented(on_gpu_keys, keys.len(), &starts, &offsets);
        if with_indices {
            run(&sorter, &sort.indices(&indices));
            assert!(gpu.read(&indices) == order);
        } else {
            run(&sorter, &sort);
        }
        assert!(gpu.read(&on_gpu) == in_order(&bits, T::KEY_TYPE.words(), &order));
    }
}

#[test]
fn many_keys_of_32_bits() {
    let Some(gpu) = gpu() else { return };
    check_many::<u32>(gpu, true);
    if gpu.runs_all_cases() {
        check_many::<f32>(gpu, false);
    } else {
        check_many::<u32>(gpu, false);
    }
}

#[test]
fn many_keys_of_64_bits() {
    let Some(gpu) = gpu() else { return };
    check_many::<f64>(gpu, false);
    if gpu.runs_all_cases() {
        check_many::<i64>(gpu, true);
    } else {
        check_many::<f64>(gpu, true);
    }

    // An argsort, which is one segment.
    let len = 40_000;
    let keys: Vec<f64> = generate(&Spec::new(Pattern::FewDistinct, len).distinct(900)).unwrap();
    let bits: &[u32] = bytemuck::cast_slice(&keys);
    let (on_gpu, indices) = (gpu.buffer(bits), gpu.empty_buffer(4 * len));
    let sort = SortJob::argsort(Keys::new(&on_gpu, f64::KEY_TYPE), &indices, len);
    run(&sorter(gpu), &sort);
    assert!(gpu.read(&indices) == expected(&keys, &[0], Order::Ascending));
    assert!(gpu.read(&on_gpu) == bits);
}

/// Structs sorted by a field, in place and out of place.
#[test]
fn rows_by_a_field() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let keys: Vec<f64> = generate(&Spec::new(Pattern::ZeroOne, 3000)).unwrap();
    let mut structs = rows(3000, 4);
    for (row, key) in structs.chunks_mut(4).zip(&keys) {
        row[2..].copy_from_slice(bytemuck::cast_slice(&[*key]));
    }
    let sorted = in_order(&structs, 4, &expected(&keys, &OFFSETS, Order::Ascending));
    let starts = gpu.buffer(&OFFSETS);
    let (on_gpu, output) = (gpu.buffer(&structs), gpu.empty_buffer(4 * 4 * 3000));
    let sort = || {
        let keys = by_field(&on_gpu, f64::KEY_TYPE, 16, 8);
        segmented(keys, 3000, &starts, &OFFSETS)
    };
    run(&sorter, &sort().output(&output));
    assert!(gpu.read(&output) == sorted);
    assert!(gpu.read(&on_gpu) == structs);
    run(&sorter, &sort());
    assert!(gpu.read(&on_gpu) == sorted);
}

/// The offsets of segments of these lengths.
fn starts(lengths: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let begin = |next: &mut u32, len: u32| {
        *next += len;
        Some(*next - len)
    };
    lengths.into_iter().scan(0, begin).collect()
}

/// A million segments, or a tenth of that. Most are empty or have a few records, a few have several
/// tiles, and one has a fifth of all records.
#[test]
fn many_segments_of_all_sizes() {
    let Some(gpu) = gpu() else { return };
    let (segments, largest) = if gpu.runs_all_cases() {
        (1_000_000_u32, 200_001)
    } else {
        (100_000, 40_001)
    };
    let lengths = (0..segments).map(|i| match i {
        _ if i == segments / 2 + 3 => largest,
        _ if i % (segments / 10 - 9) == 7 => 3 * i % 10_000 + 900,
        _ if i % 3 == 0 => i / 3 % 5,
        _ => 0,
    });
    let lengths: Vec<u32> = lengths.collect();
    let offsets = starts(lengths.iter().copied());
    let len = lengths.iter().map(|&len| u64::from(len)).sum();
    let spec = Spec::new(Pattern::FewDistinct, len).distinct(900);
    let keys: Vec<u32> = generate(&spec).unwrap();
    let [on_gpu, starts] = [&keys, &offsets].map(|words| gpu.buffer(words));
    let indices = gpu.empty_buffer(4 * len);
    let sort = segmented(
        Keys::new(&on_gpu, u32::KEY_TYPE),
        keys.len(),
        &starts,
        &offsets,
    );
    run(&sorter(gpu), &sort.indices(&indices));
    let order = expected(&keys, &offsets, Order::Ascending);
    assert!(gpu.read(&indices) == order);
    assert!(gpu.read(&on_gpu) == in_order(&keys, 1, &order));
}

/// Each value moves with its key. As payload, values of equal keys keep their order.
#[test]
fn values_move_with_the_keys_of_their_segments() {
    fn check<T: SortKey + std::fmt::Debug>(gpu: &Gpu, first: usize, is_stable: bool) {
        let (len, words) = (3000, T::KEY_TYPE.words());
        let what = format!("{} from {first}, stable: {is_stable}", T::KEY_TYPE);
        let spec = Spec::new(Pattern::FewDistinct, (first + len) as u64).distinct(90);
        let keys: Vec<T> = generate(&spec).unwrap();
        let bits: &[u32] = bytemuck::cast_slice(&keys);
        // Each value identifies its key.
        let values: Vec<u32> = (0..keys.len() as u32).map(|i| 7 * i).collect();
        let [on_gpu, with_it] = [bits, &values].map(|words| gpu.buffer(words));
        let starts = gpu.buffer(&OFFSETS);
        let part = Keys::new(tail(&on_gpu, first, T::KEY_TYPE.bytes()), T::KEY_TYPE);
        let sort = segmented(part, len, &starts, &OFFSETS);
        let part = tail(&with_it, first, 4);
        let sort = if is_stable {
            sort.payload(Payload::new(part, 4))
        } else {
            sort.values(part)
        };
        run(&sorter(gpu), &sort);

        let of_all = |i: &u32| i + first as u32;
        let mut order: Vec<u32> = (0..first as u32).collect();
        let of_part = expected(&keys[first..], &OFFSETS, Order::Ascending);
        order.extend(of_part.iter().map(of_all));
        let sorted = in_order(bits, words, &order);
        assert!(gpu.read(&on_gpu) == sorted, "{what}");
        let moved = gpu.read(&with_it);
        if is_stable {
            assert!(moved == in_order(&values, 1, &order), "{what}: values");
        }
        let owners: Vec<u32> = moved.iter().map(|value| value / 7).collect();
        assert!(in_order(bits, words, &owners) == sorted, "{what}: pairs");
        // Each value stays in its segment, even if another segment has an equal key.
        let bounds = OFFSETS.map(|begin| first + begin as usize);
        for (&begin, &end) in bounds.iter().zip(&bounds[1..]) {
            let mut owners = owners[begin..end].to_vec();
            owners.sort_unstable();
            assert!(owners.into_iter().eq(begin as u32..end as u32), "{what}");
        }
        assert!(moved[..first] == values[..first], "{what}: before");
    }
    let Some(gpu) = gpu() else { return };
    for is_stable in [false, true] {
        check::<u32>(gpu, 0, is_stable);
        check::<u32>(gpu, 70, is_stable);
        check::<f64>(gpu, 70, is_stable);
        if gpu.runs_all_cases() {
            check::<u64>(gpu, 70, is_stable);
        }
    }
}

/// Sorts packed keys in the middle of a buffer.
fn check_packed(gpu: &Gpu, key: KeyType, first: usize, offsets: &[u32], len: usize) {
    let what = format!("{key:?}, {len} from {first}");
    let trailing = 11;
    let all = first + len + trailing;
    let random: Vec<u32> = generate(&Spec::new(Pattern::Full, all as u64)).unwrap();
    let numbers = random.iter().map(|word| word >> (32 - bits(key)));
    let mut numbers: Vec<u32> = numbers.collect();
    let on_gpu = gpu.buffer(&pack(&numbers, key));
    let starts = gpu.buffer(offsets);
    let part = Keys::new(tail(&on_gpu, first, key.bytes()), key);
    run(&sorter(gpu), &segmented(part, len, &starts, offsets));

    let part = &mut numbers[first..][..len];
    let ends = offsets.iter().copied().skip(1).chain([len as u32]);
    for (&begin, end) in offsets.iter().zip(ends) {
        part[begin as usize..end as usize].sort_unstable_by_key(|&number| ordered(number, key));
    }
    assert!(gpu.read(&on_gpu) == pack(&numbers, key), "{what}");
}

#[test]
fn packed_keys_of_segments_of_all_sizes() {
    let Some(gpu) = gpu() else { return };
    // One segment of each length.
    let rising = starts(0..240);
    // A few segments, which begin within words.
    let few = [0, 0, 1, 250_003, 250_003, 250_006, 777_777];
    for key in gpu.cases(&[KeyType::F16], &[KeyType::I8, KeyType::U16]) {
        check_packed(gpu, key, 1, &OFFSETS, 3001);
        check_packed(gpu, key, 0, &OFFSETS, 3001);
        check_packed(gpu, key, 3, &rising, 28_683);
        check_packed(gpu, key, 5, &few, 830_001);
        check_packed(gpu, key, 256, &few, 830_001);
    }
}

/// Offsets must ascend. If they do not, or are past the end, the result still is a permutation of
/// the records, each with its payload, and other records stay.
#[test]
fn invalid_offsets_leave_a_permutation() {
    let Some(gpu) = gpu() else { return };
    let first = 70;
    for len in [3000_u32, 40_000] {
        let random: Vec<u32> = generate(&Spec::new(Pattern::Full, 3000)).unwrap();
        let falling: Vec<u32> = (0..3000).map(|i| len - 1 - 11 * i % len).collect();
        let wrong = [
            ("anywhere", random.clone()),
            ("of records", random.iter().map(|i| i % len).collect()),
            ("falling", falling),
            ("behind all", vec![u32::MAX; 500]),
            ("from behind all", [vec![u32::MAX; 9], vec![0; 9]].concat()),
            ("from the end on", (0..200).map(|i| len - 100 + i).collect()),
        ];
        for (what, offsets) in wrong {
            let what = format!("{len}, {what}");
            let keys = keys((first + len + 9).into());
            let end = (first + len) as usize;
            let [on_gpu, with_it] = [&keys, &vec![7; keys.len()]].map(|words| gpu.buffer(words));
            let starts = gpu.buffer(&offsets);
            let first = first as usize;
            let part = Keys::new(tail(&on_gpu, first, 4), u32::KEY_TYPE);
            let sort = segmented(part, len as usize, &starts, &offsets);
            run(&sorter(gpu), &sort.indices(tail(&with_it, first, 4)));
            let (after, indices) = (gpu.read(&on_gpu), gpu.read(&with_it));
            let mut found = indices[first..end].to_vec();
            let moved = in_order(&keys[first..end], 1, &found);
            assert!(after[first..end] == moved, "{what}");
            found.sort_unstable();
            assert!(found.into_iter().eq(0..len), "{what}: indices");
            assert!(after[..first] == keys[..first], "{what}: before");
            assert!(after[end..] == keys[end..], "{what}: behind");

            let packed = &random[..len.min(12_000) as usize / 4];
            let on_gpu = gpu.buffer(packed);
            let halves = Keys::new(&on_gpu, KeyType::F16);
            let sort = segmented(halves, 2 * packed.len(), &starts, &offsets);
            run(&sorter(gpu), &sort);
            let after = gpu.read(&on_gpu);
            let mut after: Vec<u16> = bytemuck::cast_slice(&after).to_vec();
            after.sort_unstable();
            let mut before: Vec<u16> = bytemuck::cast_slice(packed).to_vec();
            before.sort_unstable();
            assert!(after == before, "{what}: packed");
        }
    }
}

/// With one segment for each key, nothing changes.
#[test]
fn one_segment_per_packed_key_changes_nothing() {
    let Some(gpu) = gpu() else { return };
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Full, 1000)).unwrap();
    let each: Vec<u32> = (0..4000).collect();
    let (on_gpu, starts) = (gpu.buffer(&keys), gpu.buffer(&each));
    let key = if gpu.runs_all_cases() {
        KeyType::I8
    } else {
        KeyType::F16
    };
    let len = 1000 * 32 / bits(key) as usize;
    let sort = segmented(Keys::new(&on_gpu, key), len, &starts, &each[..len]);
    run(&sorter(gpu), &sort);
    assert!(gpu.read(&on_gpu) == keys);
}

/// Composed records have 8 bytes, so a segmented sort allows fewer 4-byte keys per binding.
#[test]
fn composed_records_too_large_for_a_binding_are_refused() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let (keys, starts) = (gpu.buffer(&[0]), gpu.buffer(&[0]));
    let most = sorter.max_len(KeyType::U32);
    let sort = |len| SortJob::segmented(Keys::new(&keys, KeyType::U32), len, &starts, 1);
    let refused = sort(most).scratch_size(&sorter);
    assert!(
        matches!(
            refused,
            Err(Error::BindingTooLarge {
                buffer: BufferRole::Scratch,
                needed,
                ..
            }) if needed == u128::from(most) * 8
        ),
        "{refused:?}"
    );
    sort(most / 2).scratch_size(&sorter).unwrap();
}
