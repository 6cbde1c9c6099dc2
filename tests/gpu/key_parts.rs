//! Sorts by parts of records, on this machine's adapter: by some bits of the keys, and by several
//! fields; and slices of keys that have no words of their own, or several.

use crate::device::{Gpu, gpu};
use crate::rows::tail;
use bcfsort_data::{Pattern, Spec, generate};
use std::ops::Range;
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::{Error, Field, KeyField, KeyType, Keys, Order, Payload, Runs, SortJob, SortKey};

/// The stable order of keys by their bits.
fn stable(keys: &[u32], bits: &Range<u32>, order: Order) -> Vec<u32> {
    let selected = |i: u32| {
        let key = (keys[i as usize] << (32 - bits.end)) >> (32 - (bits.end - bits.start));
        match order {
            Order::Ascending => key,
            Order::Descending => !key,
        }
    };
    let mut indices: Vec<u32> = (0..keys.len() as u32).collect();
    indices.sort_by_key(|&i| selected(i));
    indices
}

fn gathered(words: &[u32], order: &[u32]) -> Vec<u32> {
    order.iter().map(|&i| words[i as usize]).collect()
}

fn run(gpu: &Gpu, job: &SortJob<'_>) {
    job.prepare(&gpu.first).unwrap().run().unwrap();
}

/// In place: keys alone, with values, and with indices; the argsort; and rows out of place.
fn check(gpu: &Gpu, (pattern, len): (Pattern, usize), bits: Range<u32>, order: Order) {
    let what = format!("{pattern} {len} {bits:?} {}", order.name());
    let keys: Vec<u32> = generate(&Spec::new(pattern, len as u64)).unwrap();
    let expected = stable(&keys, &bits, order);
    let sorted = gathered(&keys, &expected);
    let many = len as u64;
    let of = |keys| SortJob::new(Keys::new(keys, KeyType::U32).bits(bits.clone()), many);

    let on_gpu = gpu.buffer(&keys);
    run(gpu, &of(&on_gpu).order(order));
    assert!(gpu.read(&on_gpu) == sorted, "keys, {what}");

    let values: Vec<u32> = keys.iter().map(|key| key ^ 0x5555_5555).collect();
    let (on_gpu, moved) = (gpu.buffer(&keys), gpu.buffer(&values));
    run(gpu, &of(&on_gpu).order(order).values(&moved));
    assert!(gpu.read(&on_gpu) == sorted, "pairs, {what}");
    assert!(gpu.read(&moved) == gathered(&values, &expected), "{what}");

    let (on_gpu, indices) = (gpu.buffer(&keys), gpu.buffer(&values));
    run(gpu, &of(&on_gpu).order(order).indices(&indices));
    assert!(gpu.read(&on_gpu) == sorted, "indices, {what}");
    assert!(gpu.read(&indices) == expected, "indices, {what}");

    let (on_gpu, indices) = (gpu.buffer(&keys), gpu.buffer(&values));
    let (rows, to) = (gpu.buffer(&values), gpu.buffer(&values));
    let payload = Payload::new(&rows, 4).output(&to);
    let job = of(&on_gpu).order(order).keep_keys();
    run(gpu, &job.indices(&indices).payload(payload));
    assert!(gpu.read(&on_gpu) == keys, "argsort, {what}");
    assert!(gpu.read(&indices) == expected, "argsort, {what}");
    assert!(gpu.read(&to) == gathered(&values, &expected), "{what}");
}

#[test]
fn sorts_by_bits_are_stable() {
    let Some(gpu) = gpu() else { return };
    // Few records, and many, have different steps; and so have few bits and many.
    let few = [
        ((Pattern::Full, 70_001), 0..16, Order::Ascending),
        ((Pattern::Full, 66_000), 5..14, Order::Descending),
        ((Pattern::Zipf, 3000), 4..20, Order::Ascending),
    ];
    let more = [
        ((Pattern::Full, 0), 0..16, Order::Ascending),
        ((Pattern::Full, 1), 0..16, Order::Descending),
        ((Pattern::Full, 300_000), 16..32, Order::Descending),
        ((Pattern::Full, 131_072), 31..32, Order::Ascending),
        ((Pattern::Constant, 99_999), 0..11, Order::Ascending),
        ((Pattern::Ascending, 90_000), 8..24, Order::Descending),
        ((Pattern::FewDistinct, 90_001), 1..8, Order::Ascending),
        ((Pattern::Full, 80_000), 3..30, Order::Descending),
        ((Pattern::Full, 80_000), 0..32, Order::Ascending),
    ];
    for (case, bits, order) in gpu.cases(&few, &more) {
        check(gpu, case, bits, order);
    }
}

/// A field of structs, with a count on the GPU, and what is found by the bits.
#[test]
fn runs_and_cells_are_those_of_the_bits() {
    const CELLS: u32 = 3000;
    let Some(gpu) = gpu() else { return };
    let (len, bits) = (90_000_u32, 3..15);
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Full, 100_000)).unwrap();
    let counted = &keys[..len as usize];
    for order in [Order::Ascending, Order::Descending] {
        let expected = stable(counted, &bits, order);
        let cell = |i: &u32| (keys[*i as usize] >> 3) & 0xfff;
        let starts = |i: &usize| *i == 0 || cell(&expected[*i]) != cell(&expected[*i - 1]);
        let starts: Vec<u32> = (0..len as usize).filter(starts).map(|i| i as u32).collect();
        let precedes = |a: u32, b: u32| match order {
            Order::Ascending => a < b,
            Order::Descending => a > b,
        };
        let place = |cell_of| expected.partition_point(|i| precedes(cell(i), cell_of)) as u32;
        let table: Vec<u32> = (0..=CELLS).map(place).collect();
        let structs: Vec<u32> = keys.iter().flat_map(|&key| [!key, key, 5]).collect();
        let field = Field {
            stride: 12,
            offset: 4,
        };
        let (packed, strided) = (gpu.buffer(&keys), gpu.buffer(&structs));
        let (values, count) = (gpu.buffer(&keys), gpu.buffer(&[len]));
        let found = gpu.buffer(&[0, 0]);
        let [of_runs, of_cells] = [(); 2].map(|()| gpu.buffer(&vec![0; keys.len()]));
        for number in 0..3 {
            let of = match number {
                0 | 1 => Keys::new(&packed, KeyType::U32),
                _ => Keys::strided(&strided, KeyType::U32, field),
            };
            let job = SortJob::new(of.bits(bits.clone()), keys.len() as u64);
            let job = match number {
                0 => job.indices(&values).keep_keys(),
                1 => job.values(&values),
                _ => job,
            };
            let job = job
                .order(order)
                .len_from(&count)
                .runs(Runs::new(found.slice(4..)).starts(&of_runs));
            run(gpu, &job.starts_of(&of_cells, CELLS));
            assert_eq!(gpu.read(&found), [0, starts.len() as u32], "{number}");
            assert!(gpu.read(&of_runs)[..starts.len()] == starts, "{number}");
            assert!(gpu.read(&of_cells)[..table.len()] == table, "{number}");
        }
        let sorted = gathered(counted, &expected);
        assert!(gpu.read(&packed)[..len as usize] == sorted);
        assert!(gpu.read(&packed)[len as usize..] == keys[len as usize..]);
        let expected: Vec<u32> = sorted.iter().flat_map(|&key| [!key, key, 5]).collect();
        assert!(gpu.read(&strided)[..expected.len()] == expected);
    }
}

/// Keys of 8 and 16 bits have few bits by themselves.
#[test]
fn packed_keys_are_sorted_by_digits() {
    let Some(gpu) = gpu() else { return };
    let words: Vec<u32> = generate(&Spec::new(Pattern::Full, 50_000)).unwrap();
    let halves: &[u16] = bytemuck::cast_slice(&words);
    let (len, first) = (80_000, 3);
    for (key, order) in [
        (KeyType::U16, Order::Ascending),
        (KeyType::F16, Order::Descending),
    ] {
        let part = &halves[first..first + len];
        let code = |half: u16| key.map(order).encode(u64::from(half) << 16);
        let mut expected: Vec<u32> = (0..len as u32).collect();
        expected.sort_by_key(|&i| code(part[i as usize]));
        let (on_gpu, indices) = (gpu.buffer(&words), gpu.buffer(&vec![0; len]));
        let keys = || Keys::new(tail(&on_gpu, first, 2), key);
        run(
            gpu,
            &SortJob::argsort(keys(), &indices, len as u64).order(order),
        );
        assert!(gpu.read(&on_gpu) == words, "{key}");
        assert!(gpu.read(&indices) == expected, "{key}");
        let job = SortJob::new(keys(), len as u64).order(order);
        run(gpu, &job.indices(&indices));
        assert!(gpu.read(&indices) == expected, "{key}");
        let mut sorted = halves.to_vec();
        for (to, &from) in sorted[first..].iter_mut().zip(&expected) {
            *to = part[from as usize];
        }
        let read = gpu.read(&on_gpu);
        assert!(bytemuck::cast_slice::<u32, u16>(&read) == sorted, "{key}");
    }
}

#[test]
fn bits_that_cannot_be_selected_are_refused() {
    let Some(gpu) = gpu() else { return };
    let [keys, other, count] = [(); 3].map(|()| gpu.buffer(&[0; 8]));
    let error = |job: SortJob<'_>| job.prepare(&gpu.first).unwrap_err();
    let of = |key, bits| SortJob::new(Keys::new(&keys, key).bits(bits), 4);
    assert!(matches!(
        error(of(KeyType::F32, 0..8)),
        Error::NoBits(KeyType::F32)
    ));
    for bits in [8..8, 0..33] {
        let error = error(of(KeyType::U32, bits));
        assert!(matches!(error, Error::InvalidOption { .. }), "{error}");
    }
    let unique = of(KeyType::U32, 0..8).unique(&other, &count);
    assert!(matches!(error(unique), Error::NotInOrder(_)));
    let search = of(KeyType::U32, 0..8).lower_bound(&other, 2, &count);
    assert!(matches!(error(search), Error::NotInOrder(_)));
}

/// The same in segments.
fn check_segments_of_fields(
    gpu: &Gpu,
    rows: &[[u32; 4]],
    codes: impl Fn(&[u32; 4]) -> Vec<u64>,
    fields: &[KeyField],
    order: Order,
) {
    let len = rows.len() as u32;
    let offsets = [0, 7000, 7001];
    let segment = |i: u32| offsets.partition_point(|&offset| offset <= i);
    let mut expected: Vec<u32> = (0..len).collect();
    expected.sort_by_key(|&i| (segment(i), codes(&rows[i as usize])));
    let words: Vec<u32> = rows.iter().flatten().copied().collect();
    let (on_gpu_offsets, on_gpu) = (gpu.buffer(&offsets), gpu.buffer(&words));
    let indices = gpu.buffer(&vec![0; rows.len()]);
    let keys = Keys::fields(&on_gpu, 16, fields);
    let job = SortJob::segmented(keys, len.into(), &on_gpu_offsets, 3).order(order);
    let sort = job.indices(&indices).prepare(&gpu.first).unwrap();
    sort.run().unwrap();
    let sorted: Vec<u32> = expected.iter().flat_map(|&i| rows[i as usize]).collect();
    assert!(gpu.read(&on_gpu) == sorted, "segments, {fields:?}");
    assert!(gpu.read(&indices) == expected, "segments, {fields:?}");
}

/// A field: its offset, its type and its direction.
type Listed = (u32, KeyType, Order);

/// Structs of four words, by fields of some types and directions: in place, with indices, in
/// segments, and their runs.
fn check_fields(gpu: &Gpu, fields: &[Listed], order: Order) {
    let len = 20_000_usize;
    let what = format!("{fields:?} {}", order.name());
    let few: Vec<u32> = generate(&Spec::new(Pattern::FewDistinct, 4 * len as u64)).unwrap();
    let rows: Vec<[u32; 4]> = few
        .chunks(4)
        .map(|row| [row[0], row[1], row[2], row[3]])
        .collect();
    // Each field as an unsigned number, in the order of the sort.
    let codes = |row: &[u32; 4]| -> Vec<u64> {
        let bytes: &[u8] = bytemuck::cast_slice(row);
        let code = |&(offset, key, direction): &Listed| {
            let from = &bytes[offset as usize..][..key.bytes() as usize];
            let mut bits = [0; 8];
            bits[..from.len()].copy_from_slice(from);
            let unused = 32_u64.saturating_sub(key.bytes() * 8);
            let is_ascending = direction == order;
            let direction = if is_ascending {
                Order::Ascending
            } else {
                Order::Descending
            };
            key.map(direction)
                .encode(u64::from_le_bytes(bits) << unused)
        };
        fields.iter().map(code).collect()
    };
    let mut expected: Vec<u32> = (0..len as u32).collect();
    expected.sort_by_key(|&i| codes(&rows[i as usize]));
    let fields: Vec<KeyField> = fields
        .iter()
        .map(|&(offset, key, order)| KeyField { offset, key, order })
        .collect();
    let words: Vec<u32> = rows.iter().flatten().copied().collect();
    let on_gpu = gpu.buffer(&words);
    let keys = || Keys::fields(&on_gpu, 16, &fields);
    let [indices, starts] = [(); 2].map(|()| gpu.buffer(&vec![0; len]));
    let count = gpu.buffer(&[0]);
    check_segments_of_fields(gpu, &rows, codes, &fields, order);
    let argsort = || SortJob::argsort(keys(), &indices, len as u64).order(order);
    let sorted =
        |order: &[u32]| -> Vec<u32> { order.iter().flat_map(|&i| rows[i as usize]).collect() };
    if fields.iter().map(|field| field.key.bytes()).sum::<u64>() > 8 {
        run(gpu, &argsort());
        assert!(gpu.read(&indices) == expected, "{what}");
        run(gpu, &SortJob::new(keys(), len as u64).order(order));
        assert!(gpu.read(&on_gpu) == sorted(&expected), "{what}");
        return;
    }
    run(gpu, &argsort().runs(Runs::new(&count).starts(&starts)));
    assert!(gpu.read(&indices) == expected, "{what}");
    let codes_at = |i: usize| codes(&rows[expected[i] as usize]);
    let is_start = |&i: &u32| i == 0 || codes_at(i as usize) != codes_at(i as usize - 1);
    let heads: Vec<u32> = (0..len as u32).filter(is_start).collect();
    assert!(gpu.read(&starts)[..heads.len()] == heads, "{what}");
    assert_eq!(gpu.read(&count), [heads.len() as u32], "{what}");

    let prefix = gpu
        .first
        .is_sorted_until(&keys(), len as u64, order)
        .unwrap();
    let falls = |i: &usize| codes(&rows[*i]) < codes(&rows[*i - 1]);
    assert_eq!(
        prefix as usize,
        (1..len).find(falls).unwrap_or(len),
        "{what}"
    );

    run(gpu, &SortJob::new(keys(), len as u64).order(order));
    assert!(gpu.read(&on_gpu) == sorted(&expected), "{what}");
}

#[test]
fn structs_are_sorted_by_several_fields() {
    use KeyType::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    use Order::{Ascending, Descending};
    let Some(gpu) = gpu() else { return };
    let few: [(&[Listed], Order); 5] = [
        (&[(8, U64, Ascending), (0, I64, Descending)], Ascending),
        (
            &[
                (12, U32, Descending),
                (4, F32, Ascending),
                (2, U16, Ascending),
            ],
            Descending,
        ),
        (&[(8, U32, Ascending), (0, F32, Descending)], Ascending),
        (&[(5, U8, Descending), (2, I16, Ascending)], Descending),
        (
            &[
                (4, U16, Ascending),
                (13, I8, Descending),
                (0, I32, Ascending),
            ],
            Ascending,
        ),
    ];
    let more: [(&[Listed], Order); 5] = [
        (
            &[
                (0, U8, Descending),
                (8, F64, Ascending),
                (4, U32, Ascending),
            ],
            Descending,
        ),
        (&[(8, F64, Descending)], Ascending),
        (&[(12, F32, Descending)], Descending),
        (&[(6, F16, Ascending), (4, U16, Descending)], Descending),
        (&[(0, U8, Ascending); 8], Ascending),
    ];
    for (fields, order) in gpu.cases(&few, &more) {
        check_fields(gpu, fields, order);
    }
}

#[test]
fn fields_that_cannot_be_a_key_are_refused() {
    let Some(gpu) = gpu() else { return };
    let [structs, other, count] = [(); 3].map(|()| gpu.buffer(&[0; 64]));
    let field = |offset, key| KeyField {
        offset,
        key,
        order: Order::Ascending,
    };
    let of = |fields: &[KeyField]| SortJob::new(Keys::fields(&structs, 16, fields), 4);
    let error = |job: SortJob<'_>| job.prepare(&gpu.first).unwrap_err().to_string();
    let word = |offset| field(offset, KeyType::U32);
    assert!(error(of(&[])).contains("bits of all fields"));
    assert!(error(of(&[word(0); 5])).contains("160"));
    assert!(error(of(&[word(16), word(4)])).contains("offset of the key"));
    assert!(error(of(&[word(2), word(4)])).contains("offset of the key"));
    let bits = Keys::fields(&structs, 16, &[word(0), word(4)]).bits(0..3);
    assert!(error(SortJob::new(bits, 4)).contains("fields of keys"));
    let wide = || Keys::fields(&structs, 16, &KeyField::U128);
    assert!(error(SortJob::new(wide(), 4).runs(Runs::new(&count))).contains("64 bits"));
    let refused = gpu.first.is_sorted_until(&wide(), 4, Order::Ascending);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("their order"), "{refused}");
    let two = || of(&[word(0), word(4)]);
    assert!(error(two().runs(Runs::new(&count))).contains("keeps the structs"));
    let unique = two().indices(&other).keep_keys().unique(&other, &count);
    assert!(error(unique).contains("parts of records"));
}

/// Keys of 128 bits that share their upper half with many others, with some, or with none.
#[test]
fn slices_of_128_bits_are_sorted() {
    let Some(gpu) = gpu() else { return };
    let few = [(u64::MAX, 5000), (0xff, 30_000)];
    let more = [(0, 9000), (0x8000_0000_0000_0003, 70_001), (0, 0), (3, 1)];
    for (upper, len) in gpu.cases(&few, &more) {
        let words: Vec<u64> = generate(&Spec::new(Pattern::Full, 2 * len)).unwrap();
        let key = |pair: &[u64]| u128::from(pair[0] & upper) << 64 | u128::from(pair[1]);
        let mut keys: Vec<u128> = words.chunks(2).map(key).collect();
        let mut signed: Vec<i128> = keys.iter().map(|key| key.cast_signed()).collect();
        let mut expected = (keys.clone(), signed.clone());
        let (up, down) = (Order::Ascending, Order::Descending);
        let sorter = &gpu.first;
        sorter
            .sort_by_fields(&mut keys, &KeyField::U128, down)
            .unwrap();
        expected.0.sort_unstable_by(|a, b| b.cmp(a));
        assert!(keys == expected.0, "{len}, {upper:#x}");
        let sort = sorter.sort_by_fields_async(&mut signed, &KeyField::I128, up);
        pollster::block_on(sort).unwrap();
        expected.1.sort_unstable();
        assert!(signed == expected.1, "{len}, {upper:#x}");
    }
}

/// Few records differ in the first part, so those of a rank are found among many ties.
#[test]
fn some_ranks_of_keys_of_128_bits_are_in_order() {
    let Some(gpu) = gpu() else { return };
    let words: Vec<u64> = generate(&Spec::new(Pattern::Full, 100_000)).unwrap();
    let key = |(i, &low): (usize, &u64)| u128::from(i as u64 % 100) << 64 | u128::from(low);
    let keys: Vec<u128> = words.iter().enumerate().map(key).collect();
    let mut expected = keys.clone();
    expected.sort_unstable();
    for ranks in [0..100, 0..1, 49_900..50_100, 70_000..70_000] {
        let on_gpu = gpu.buffer(bytemuck::cast_slice(&keys));
        let fields = Keys::fields(&on_gpu, 16, &KeyField::U128);
        let job = SortJob::new(fields, keys.len() as u64);
        let range = ranks.start as u64..ranks.end as u64;
        run(gpu, &job.range(range));
        let sorted: Vec<u128> = bytemuck::pod_collect_to_vec(&gpu.read(&on_gpu));
        assert!(
            sorted[ranks.clone()] == expected[ranks.clone()],
            "{ranks:?}"
        );
    }
}

#[test]
fn slices_of_structs_that_cannot_be_sorted_by_fields_are_refused() {
    let Some(gpu) = gpu() else { return };
    let refused = |fields: &[KeyField]| {
        let mut rows = [[3_u32, 1], [2, 1]];
        let sorted = gpu
            .first
            .sort_by_fields(&mut rows, fields, Order::Ascending);
        assert_eq!(rows, [[3, 1], [2, 1]]);
        sorted.unwrap_err().to_string()
    };
    assert!(refused(&[]).contains("bits of all fields"));
    assert!(refused(&KeyField::U128).contains("offset of the key"));
    let mut bytes = [[3_u8, 1, 2], [2, 1, 0]];
    let sorted = gpu.first.sort_by_fields(&mut bytes, &[], Order::Ascending);
    assert!(
        sorted
            .unwrap_err()
            .to_string()
            .contains("bytes of a struct")
    );
}

/// Slices of any length, also of one that is no whole number of words.
fn check_small<T: SortKey>(gpu: &Gpu) {
    let sorter = &gpu.first;
    let lens = gpu.cases(&[0, 1, 3, 1025, 70_003], &[2, 5, 300_001]);
    for (number, len) in lens.into_iter().enumerate() {
        let words: Vec<u32> = generate(&Spec::new(Pattern::Full, len)).unwrap();
        let keys: Vec<T> = words
            .iter()
            .map(|&word| T::from_bits64(word.into()))
            .collect();
        let order = [Order::Ascending, Order::Descending][number % 2];
        let what = format!("{len} {} {}", T::KEY_TYPE, order.name());
        let bits = |keys: &[T]| -> Vec<u64> { keys.iter().map(|key| key.to_bits64()).collect() };
        let mut expected = keys.clone();
        sort_on_cpu(&mut expected, order);
        let mut sorted = keys.clone();
        sorter.sort(&mut sorted, order).unwrap();
        assert!(bits(&sorted) == bits(&expected), "{what}");
        let mut indices: Vec<u32> = (0..len as u32).collect();
        indices.sort_by_key(|&i| keys[i as usize].rank(order));
        assert!(sorter.argsort(&keys, order).unwrap() == indices, "{what}");
        let mut taken = Vec::new();
        sorter
            .sort_to(&keys, order, |block| {
                taken.extend_from_slice(block);
                Ok::<_, Error>(())
            })
            .unwrap();
        assert!(bits(&taken) == bits(&expected), "{what}");
    }
}

#[test]
fn slices_of_8_and_16_bits_are_sorted() {
    let Some(gpu) = gpu() else { return };
    check_small::<u8>(gpu);
    check_small::<i8>(gpu);
    check_small::<u16>(gpu);
    check_small::<i16>(gpu);
}
