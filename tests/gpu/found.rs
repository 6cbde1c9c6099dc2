//! What is found among sorted keys, on this machine's adapter: runs, cells and places.

use crate::device::{Gpu, gpu};
use crate::rows::{by_field, tail};
use bcfsort_data::{Pattern, Spec, generate};
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::{
    CompactJob, Comparator, Error, KeyType, Keys, Order, Payload, Predicate, Runs, Scratch,
    SortJob, SortKey, members,
};

/// Starts and lengths of the runs of equal keys.
fn runs_of<T: SortKey>(sorted: &[T]) -> (Vec<u32>, Vec<u32>) {
    let chunks = sorted.chunk_by(|a, b| a.to_bits64() == b.to_bits64());
    let lengths: Vec<u32> = chunks.map(|run| run.len() as u32).collect();
    let mut end = 0;
    let starts = lengths.iter().map(|length| {
        end += length;
        end - length
    });
    (starts.collect(), lengths)
}

/// Sorts keys, and finds runs and places among them.
fn check<T: SortKey>(gpu: &Gpu, (pattern, len): (Pattern, usize), order: Order) {
    let what = format!("{pattern} {len} {} {}", T::KEY_TYPE, order.name());
    let keys: Vec<T> = generate(&Spec::new(pattern, len as u64)).unwrap();
    let needles: Vec<T> = generate(&Spec::new(pattern, 3000).seed(9)).unwrap();
    let mut sorted = keys.clone();
    sort_on_cpu(&mut sorted, order);
    let room = vec![7; len.max(1) * (T::KEY_TYPE.words() as usize)];
    let on_gpu = gpu.buffer(bytemuck::cast_slice(&[&keys[..], &needles[..1]].concat()));
    let in_order = gpu.buffer(bytemuck::cast_slice(&[&sorted[..], &needles[..1]].concat()));
    let asked = gpu.buffer(bytemuck::cast_slice(&needles));
    let [unique, starts, lengths] = [(); 3].map(|()| gpu.buffer(&room));
    let (count, places) = (gpu.buffer(&[7, 7]), gpu.buffer(&[7; 3000]));
    let (expected_starts, expected_lengths) = runs_of(&sorted);
    let (map, many) = (T::KEY_TYPE.map(order), len as u64);
    let code = |key: T| map.encode(key.to_bits64());
    for is_sorted in [false, true] {
        let runs = Runs::new(count.slice(4..)).keys(&unique);
        let runs = runs.starts(&starts).lengths(&lengths);
        let job = if is_sorted {
            SortJob::of_sorted(Keys::new(&in_order, T::KEY_TYPE), many)
                .upper_bound(&asked, 3000, &places)
        } else {
            SortJob::new(Keys::new(&on_gpu, T::KEY_TYPE), many).lower_bound(&asked, 3000, &places)
        };
        job.order(order)
            .runs(runs)
            .prepare(&gpu.first)
            .unwrap()
            .run()
            .unwrap();
        let number = expected_starts.len();
        assert_eq!(gpu.read(&count), [7, number as u32], "{what}");
        assert!(gpu.read(&starts)[..number] == expected_starts, "{what}");
        assert!(gpu.read(&lengths)[..number] == expected_lengths, "{what}");
        let words = gpu.read(&unique);
        let found: &[T] = bytemuck::cast_slice(&words);
        for (found, &start) in found.iter().zip(&expected_starts) {
            let expected = sorted[start as usize].to_bits64();
            assert!(found.to_bits64() == expected, "{what}");
        }
        let place = |&needle: &T| {
            let needle = code(needle);
            let before = |&key: &T| code(key) < needle || is_sorted && code(key) == needle;
            sorted.partition_point(before) as u32
        };
        let expected: Vec<u32> = needles.iter().map(place).collect();
        assert!(gpu.read(&places) == expected, "{what}, {is_sorted}");
    }
}

#[test]
fn runs_and_places_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let few = [(Pattern::Full, 70_001), (Pattern::Duplicates, 5000)];
    let more = [
        (Pattern::Full, 0),
        (Pattern::Full, 1),
        (Pattern::Constant, 9001),
        (Pattern::FewDistinct, 300_000),
        (Pattern::Zipf, 70_001),
    ];
    for (number, case) in gpu.cases(&few, &more).into_iter().enumerate() {
        let order = [Order::Ascending, Order::Descending][number % 2];
        check::<u32>(gpu, case, order);
        check::<f32>(gpu, case, order);
        check::<u64>(gpu, case, order);
        check::<f64>(gpu, case, Order::Descending);
        check::<i64>(gpu, case, Order::Ascending);
    }
}

/// 0.0 and -0.0 are two keys, and so are two NaNs.
#[test]
fn equal_keys_have_equal_bits() {
    let Some(gpu) = gpu() else { return };
    let nan = f32::from_bits(0x7fc0_0001);
    let keys = [0.0_f32, f32::NAN, -0.0, nan, 0.0, -0.0, nan].map(f32::to_bits);
    let (on_gpu, unique, count) = (gpu.buffer(&keys), gpu.buffer(&[0; 7]), gpu.buffer(&[0]));
    let job = SortJob::new(Keys::new(&on_gpu, KeyType::F32), 7).unique(&unique, &count);
    job.prepare(&gpu.first).unwrap().run().unwrap();
    assert_eq!(gpu.read(&count), [4]);
    let expected = [-0.0, 0.0, f32::NAN, nan].map(f32::to_bits);
    assert_eq!(gpu.read(&unique)[..4], expected);
}

/// The cells of particles: in place, as a field of structs, packed, with a count on the GPU, and of
/// indices only.
#[test]
fn each_cell_has_its_records() {
    const CELLS: u32 = 5000;
    let Some(gpu) = gpu() else { return };
    let len = 20_000_u32;
    // None in some, and 100 beyond the last one.
    let cell = |i: u32| match i {
        i if i < 100 => CELLS + i % 7,
        i => i.wrapping_mul(0x9e37_79b9) % CELLS / 3 * 3,
    };
    let cells: Vec<u32> = (0..len).map(cell).collect();
    let table_of = |cells: &[u32], number: u32| -> Vec<u32> {
        let mut sorted = cells.to_vec();
        sorted.sort_unstable();
        let start = |cell| sorted.partition_point(|&other| other < cell) as u32;
        (0..=number).map(start).collect()
    };
    let table = gpu.buffer(&vec![7; CELLS as usize + 3]);
    let expect = |table: &wgpu_bcfsort::wgpu::Buffer, expected: Vec<u32>, what: &str| {
        let got = gpu.read(table);
        assert!(got[1..=expected.len()] == expected, "{what}");
        let mut others = got[..1].iter().chain(&got[expected.len() + 1..]);
        assert!(others.all(|&word| word == 7), "{what}");
        gpu.queue
            .write_buffer(table, 0, bytemuck::cast_slice(&vec![7_u32; got.len()]));
    };
    let run = |job: SortJob<'_>| job.prepare(&gpu.first).unwrap().run().unwrap();
    let many = u64::from(len);

    let keys = gpu.buffer(&cells);
    let indices = gpu.buffer(&vec![0; len as usize]);
    let job = SortJob::argsort(Keys::new(&keys, KeyType::U32), &indices, many);
    run(job.starts_of(table.slice(4..), CELLS));
    expect(&table, table_of(&cells, CELLS), "indices");
    assert!(gpu.read(&keys) == cells);
    let order = gpu.read(&indices);
    assert!(order.is_sorted_by_key(|&i| (cells[i as usize], i)));

    let count = gpu.buffer(&[12_345]);
    let job = SortJob::new(Keys::new(&keys, KeyType::U32), many).len_from(&count);
    run(job.starts_of(table.slice(4..), CELLS));
    expect(&table, table_of(&cells[..12_345], CELLS), "a count");

    let rows: Vec<u32> = cells.iter().flat_map(|&cell| [1, cell, 2]).collect();
    let rows = gpu.buffer(&[&[0; 30], &rows[..]].concat());
    let to = gpu.buffer(&vec![0; 3 * len as usize]);
    let field = by_field(tail(&rows, 10, 12), KeyType::U32, 12, 4);
    run(SortJob::new(field, many)
        .output(&to)
        .starts_of(table.slice(4..), CELLS));
    expect(&table, table_of(&cells, CELLS), "structs");

    // As many cells as values, and more.
    let bytes: Vec<u8> = cells.iter().map(|&cell| cell as u8).collect();
    let as_cells: Vec<u32> = bytes.iter().map(|&byte| byte.into()).collect();
    for number in [256, 300] {
        let on_gpu = gpu.buffer(bytemuck::cast_slice(&bytes));
        let job = SortJob::new(Keys::new(&on_gpu, KeyType::U8), many);
        run(job.starts_of(table.slice(4..), number));
        expect(&table, table_of(&as_cells, number), "bytes");
    }
}

#[test]
fn packed_keys_are_unique() {
    let Some(gpu) = gpu() else { return };
    let keys: Vec<i8> = (0..9001_u32)
        .map(|i| (i.wrapping_mul(77) % 200) as i8)
        .collect();
    let mut expected = keys.clone();
    expected.sort_unstable();
    expected.dedup();
    let words: Vec<i8> = keys.iter().copied().chain([0; 3]).collect();
    let on_gpu = gpu.buffer(bytemuck::cast_slice(&words));
    let (unique, count) = (gpu.buffer(&[u32::MAX; 2251]), gpu.buffer(&[0]));
    let job = SortJob::new(Keys::new(&on_gpu, KeyType::I8), 9001).unique(&unique, &count);
    job.prepare(&gpu.first).unwrap().run().unwrap();
    assert_eq!(gpu.read(&count), [expected.len() as u32]);
    let found = gpu.read(&unique);
    let found: &[i8] = bytemuck::cast_slice(&found);
    assert_eq!(found[..expected.len()], expected);
    assert!(found[expected.len()..].iter().all(|&byte| byte == -1));
}

/// Flags of all widths, in front of others, with rows and indices, and with a count on the GPU.
#[test]
fn flagged_records_are_kept() {
    let Some(gpu) = gpu() else { return };
    for (case, key) in [KeyType::U8, KeyType::F16, KeyType::I32, KeyType::F64]
        .into_iter()
        .enumerate()
    {
        for len in [0, 1, 70_001_u32] {
            let is_set = |i: u32| i.wrapping_mul(0x9e37_79b9) >> 28 > 4 * case as u32;
            let bytes = key.bytes() as usize;
            // Any bit counts: the sign of a -0.0 is the only one of a flag.
            let flag =
                |i: u32| (0..bytes).map(move |at| u8::from(at + 1 == bytes && is_set(i)) << 7);
            let mut flags: Vec<u8> = (0..len).flat_map(flag).collect();
            flags.resize((flags.len() + 8) / 8 * 8, 0xff);
            let rows: Vec<u32> = (0..len.max(1)).flat_map(|i| [i, !i, i ^ 7]).collect();
            let used = if case == 1 { len / 3 } else { len };
            let kept: Vec<u32> = (0..used).filter(|&i| is_set(i)).collect();
            let [on_gpu, rows] =
                [bytemuck::pod_collect_to_vec(&flags), rows].map(|w| gpu.buffer(&w));
            let room = len as usize + 2;
            let (indices, to) = (gpu.buffer(&vec![7; room]), gpu.buffer(&vec![7; 3 * room]));
            let (count, number) = (gpu.buffer(&[7, 7]), gpu.buffer(&[used]));
            let flags = Keys::new(&on_gpu, key);
            let mut job = CompactJob::new(flags, len.into(), count.slice(4..));
            job = job.rows(&rows, 12, to.slice(4..)).len_from(&number);
            if case % 2 == 0 {
                job = job.indices(indices.slice(4..));
            }
            let scratch = Scratch::default();
            let job = job.scratch(&scratch);
            job.prepare(&gpu.first).unwrap().run().unwrap();
            let what = format!("{key} {len}");
            assert_eq!(gpu.read(&count), [7, kept.len() as u32], "{what}");
            let found = gpu.read(&to);
            let expected: Vec<u32> = kept.iter().flat_map(|&i| [i, !i, i ^ 7]).collect();
            assert!(found[1..=expected.len()] == expected, "{what}");
            let mut rest = found[..1].iter().chain(&found[expected.len() + 1..]);
            assert!(rest.all(|&word| word == 7), "{what}");
            if case % 2 == 0 {
                let found = gpu.read(&indices);
                assert!(found[1..=kept.len()] == kept, "{what}");
            }
            assert_eq!(
                scratch.bytes(),
                job.scratch_size(&gpu.first).unwrap(),
                "{what}"
            );
        }
    }
}

#[repr(C)]
struct Padded {
    key: u32,
    padding: [u32; 2],
}

type Keeps = fn(u32) -> bool;

/// Rows of one word and of several, with a count on the GPU and without, in a range of a buffer; a
/// predicate with functions, constants and a loop.
#[test]
fn rows_are_kept_by_a_predicate() {
    let Some(gpu) = gpu() else { return };
    let is_odd =
        "struct Row { key: u32 } fn keeps(row: Row) -> bool { return (row.key & 1u) > 0u; }";
    let has_many_bits = "const LEAST = 17u;
        struct Row { key: u32, padding: array<u32, 2> }
        fn bits(value: u32) -> u32 {
            var all = 0u;
            for (var rest = value; rest > 0u; rest = rest & (rest - 1u)) { all++; }
            return all;
        }
        fn keeps(row: Row) -> bool { return bits(row.key) >= LEAST; }";
    let odd = Predicate::new(is_odd).unwrap();
    let many_bits = Predicate::of(has_many_bits, members!(Padded { key, padding })).unwrap();
    let cases: [(&Predicate, Keeps); 2] = [
        (&odd, |key| key % 2 == 1),
        (&many_bits, |key| key.count_ones() >= 17),
    ];
    for (predicate, keeps) in cases {
        let words = predicate.row_words() as usize;
        for (len, used) in [(0, 0), (1, 1), (70_001, 70_001), (70_001, 12_345_u32)] {
            let key = |i: u32| !i.wrapping_mul(0x9e37_79b9);
            let row = |i: u32| [key(i), 7, i].into_iter().take(words);
            let in_front = vec![1; 64];
            let rows: Vec<u32> = (0..len).flat_map(row).chain([0; 3]).collect();
            let kept: Vec<u32> = (0..used).filter(|&i| keeps(key(i))).collect();
            let on_gpu = gpu.buffer(&[in_front, rows].concat());
            let room = len as usize + 1;
            let (indices, to) = (
                gpu.buffer(&vec![7; room]),
                gpu.buffer(&vec![7; words * room]),
            );
            let (count, number) = (gpu.buffer(&[7, 7]), gpu.buffer(&[used]));
            let rows = on_gpu.slice(256..);
            let job = CompactJob::by(rows, predicate, len.into(), count.slice(4..));
            let mut job = job.indices(&indices).rows(rows, 4 * words as u32, &to);
            if used < len {
                job = job.len_from(&number);
            }
            let job = job.prepare(&gpu.first).unwrap();
            job.run().unwrap();
            let what = format!("{predicate:?} {len} {used}");
            assert_eq!(gpu.read(&count), [7, kept.len() as u32], "{what}");
            let found = gpu.read(&indices);
            assert!(found[..kept.len()] == kept, "{what}");
            assert!(found[kept.len()..].iter().all(|&word| word == 7), "{what}");
            let expected: Vec<u32> = kept.iter().flat_map(|&i| row(i)).collect();
            let moved = gpu.read(&to);
            let (moved, rest) = moved.split_at(expected.len());
            assert!(moved == expected, "{what}");
            assert!(rest.iter().all(|&word| word == 7), "{what}");
        }
    }
    let (rows, count) = (gpu.buffer(&[0; 80]), gpu.buffer(&[0]));
    let job = CompactJob::by(rows.slice(4..), &odd, 8, &count);
    let error = job.prepare(&gpu.first).unwrap_err().to_string();
    assert!(error.contains("flags") && error.contains("256"), "{error}");
    let into_itself = CompactJob::by(&rows, &odd, 8, &count).rows(&rows, 4, &rows);
    let onto_itself = CompactJob::by(&rows, &odd, 8, &rows);
    for job in [into_itself, onto_itself] {
        let error = job.prepare(&gpu.first).unwrap_err();
        assert!(matches!(error, Error::SameBuffer { .. }), "{error}");
    }
}

#[test]
fn errors_of_a_compaction_name_its_buffers() {
    let Some(gpu) = gpu() else { return };
    let [flags, count, small] = [100, 1, 9].map(|words| gpu.buffer(&vec![0; words]));
    let job = |len| CompactJob::new(Keys::new(&flags, KeyType::U32), len, &count);
    let error = |job: CompactJob<'_>| job.prepare(&gpu.first).unwrap_err().to_string();
    let text = error(job(101));
    assert!(text.starts_with("the flags buffer has 400 bytes"), "{text}");
    let text = error(job(10).indices(&small));
    assert!(
        text.starts_with("the indices buffer has 36 bytes"),
        "{text}"
    );
    let rows = gpu.buffer(&[0; 100]);
    let text = error(job(10).rows(&rows, 8, &small));
    assert!(
        text.starts_with("the payload output 0 buffer has"),
        "{text}"
    );
    let text = error(job(10).indices(&count));
    assert!(text.contains("kept count"), "{text}");
}

/// Of records with equal keys, the first one of the input: in place, out of place, and of keys that
/// are in order already; with a count on the GPU.
#[test]
fn unique_keys_have_the_rows_of_their_first_records() {
    const LEN: usize = 20_000;
    let Some(gpu) = gpu() else { return };
    let keys: Vec<u32> = (0..LEN as u32)
        .map(|i| i.wrapping_mul(0x9e37_79b9) >> 20)
        .collect();
    let mut in_order = keys.clone();
    in_order.sort_unstable();
    let rows: Vec<u32> = (0..LEN as u32).flat_map(|i| [i, !i]).collect();
    let firsts_of = |keys: &[u32]| -> Vec<u32> {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_by_key(|&i| keys[i as usize]);
        let groups = order.chunk_by(|&a, &b| keys[a as usize] == keys[b as usize]);
        groups.flat_map(|group| [group[0], !group[0]]).collect()
    };
    for (case, len) in [LEN, LEN, LEN, 12_345].into_iter().enumerate() {
        let is_sorted = case == 2;
        let of = if is_sorted { &in_order } else { &keys };
        let (on_gpu, on_gpu_rows) = (gpu.buffer(of), gpu.buffer(&rows));
        let [unique, starts] = [(); 2].map(|()| gpu.buffer(&vec![7; LEN + 1]));
        let [firsts, sorted_rows] = [(); 2].map(|()| gpu.buffer(&vec![7; 2 * LEN + 1]));
        let (count, number) = (gpu.buffer(&[0]), gpu.buffer(&[len as u32]));
        let mut payload = Payload::new(&on_gpu_rows, 8).firsts(firsts.slice(4..));
        if case == 1 {
            payload = payload.output(&sorted_rows);
        }
        let keys = Keys::new(&on_gpu, KeyType::U32);
        let job = if is_sorted {
            SortJob::of_sorted(keys, LEN as u64)
        } else {
            SortJob::new(keys, LEN as u64)
        };
        let mut runs = Runs::new(&count).keys(&unique);
        if case == 1 {
            runs = runs.starts(starts.slice(4..));
        }
        let job = job.payload(payload).runs(runs).len_from(&number);
        job.prepare(&gpu.first).unwrap().run().unwrap();
        let expected = firsts_of(&of[..len]);
        assert_eq!(gpu.read(&count), [expected.len() as u32 / 2], "{case}");
        let found = gpu.read(&firsts);
        assert!(found[1..=expected.len()] == expected, "{case}");
        let mut others = found[..1].iter().chain(&found[expected.len() + 1..]);
        assert!(others.all(|&word| word == 7), "{case}");
    }
    let (keys, rows) = (gpu.buffer(&keys), gpu.buffer(&rows));
    let firsts = gpu.buffer(&vec![0; 2 * LEN]);
    let payload = Payload::new(&rows, 8).firsts(&firsts);
    let without = SortJob::new(Keys::new(&keys, KeyType::U32), 9).payload(payload);
    let error = without.prepare(&gpu.first).unwrap_err();
    assert!(matches!(error, Error::NotInOrder(_)), "{error}");
}

#[test]
fn what_cannot_be_found_is_refused() {
    let Some(gpu) = gpu() else { return };
    let keys = gpu.buffer(&[3; 100]);
    let [unique, table, indices] = [(); 3].map(|()| gpu.buffer(&[0; 100]));
    let (count, few) = (gpu.buffer(&[0]), gpu.buffer(&[0; 99]));
    let of = |key| SortJob::new(Keys::new(&keys, key), 100);
    let whole = || of(KeyType::U32);
    let refused = |job: SortJob<'_>| job.prepare(&gpu.first).unwrap_err();
    let comparator = Comparator::new(
        "struct Row { key: u32 }
        fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }",
    )
    .unwrap();
    for job in [
        whole().top(5),
        whole().keep_keys(),
        SortJob::by(&keys, &comparator, 100)
            .indices(&indices)
            .keep_keys(),
    ] {
        let error = refused(job.unique(&unique, &count));
        assert!(matches!(error, Error::NotInOrder(_)), "{error}");
    }
    let error = refused(SortJob::by(&keys, &comparator, 100).starts_of(&table, 5));
    assert!(matches!(error, Error::NotInOrder(_)), "{error}");
    let segmented = SortJob::segmented(Keys::new(&keys, KeyType::U32), 100, &table, 3);
    let kept = segmented.indices(&indices).keep_keys();
    let error = kept.unique(&unique, &count).prepare(&gpu.first);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("runs in segments"), "{error}");
    let error = refused(of(KeyType::F32).starts_of(&table, 5));
    assert!(matches!(error, Error::NoCells(KeyType::F32)), "{error}");
    let too_small = [
        whole().unique(&few, &count),
        whole().starts_of(&table, 100),
        whole().lower_bound(&few, 100, &table),
        whole().lower_bound(&unique, 100, &few),
    ];
    for job in too_small {
        let error = refused(job);
        assert!(matches!(error, Error::BufferTooSmall { .. }), "{error}");
    }
    let same = [whole().unique(&keys, &count), whole().starts_of(&keys, 9)];
    for job in same {
        let error = refused(job);
        assert!(matches!(error, Error::SameBuffer { .. }), "{error}");
    }
    // Neither needs the keys.
    let kept = SortJob::argsort(Keys::new(&keys, KeyType::U32), &indices, 100);
    kept.unique(&unique, &count).prepare(&gpu.first).unwrap();
    // No needles, and no records.
    let none = whole().lower_bound(&unique, 0, &table);
    none.prepare(&gpu.first).unwrap().run().unwrap();
    let empty = SortJob::new(Keys::new(&keys, KeyType::U32), 0).unique(&unique, &count);
    gpu.queue.write_buffer(&count, 0, &[9, 0, 0, 0]);
    empty.prepare(&gpu.first).unwrap().run().unwrap();
    assert_eq!(gpu.read(&count), [0]);
}

/// The scratch memory is what the documentation says.
#[test]
fn what_is_found_takes_little_scratch_memory() {
    let Some(gpu) = gpu() else { return };
    let keys = gpu.buffer(&[0; 4]);
    let [unique, starts, lengths, count, table] = [(); 5].map(|()| gpu.buffer(&[0; 4]));
    let len = 1 << 22;
    let scratch = Scratch::default();
    let sort = SortJob::new(Keys::new(&keys, KeyType::U32), len).scratch(&scratch);
    let alone = sort.scratch_size(&gpu.first).unwrap();
    let runs = || Runs::new(&count).keys(&unique).starts(&starts);
    let with = |job: SortJob<'_>| job.scratch_size(&gpu.first).unwrap() - alone;
    // A bit for each record, and 8 bytes for a tile.
    let heads = len / 8 + len / 1024;
    assert_eq!(with(sort.clone().runs(runs())), heads);
    assert_eq!(with(sort.clone().runs(runs().lengths(&lengths))), heads);
    let lengths = Runs::new(&count).lengths(&lengths);
    assert_eq!(with(sort.clone().runs(lengths)), heads + 4 * len);
    assert_eq!(with(sort.starts_of(&table, 1 << 20)), (1 << 20) / 512 + 8);
}
