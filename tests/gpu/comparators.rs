//! Sorts by a custom comparator, on this machine's adapter.

use crate::device::gpu;
use crate::pairs::sorter;
use crate::rows;
use bcfsort_data::{Pattern, Spec, generate};
use std::cmp::Ordering;
use wgpu_bcfsort::{Comparator, Detail, Error, Order, Payload, Runs, SortJob, members};

const PARTICLES: &str = "
struct Particle {
    cell: u32,
    position: vec2<f32>,
    depth: f32,
}

fn precedes(a: Particle, b: Particle) -> bool {
    if a.cell != b.cell {
        return a.cell < b.cell;
    }
    return a.depth < b.depth;
}
";

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
struct Particle {
    cell: u32,
    number: u32,
    position: [f32; 2],
    depth: f32,
    padding: u32,
}

/// Numbered particles with few different cells and depths.
fn particles(len: u64) -> Vec<Particle> {
    let random: Vec<u32> = generate(&Spec::new(Pattern::Full, len)).unwrap();
    let particle = |(i, random): (usize, u32)| Particle {
        cell: random % 16,
        number: i as u32,
        position: [1.0, 2.0],
        depth: (random >> 8 & 255) as f32,
        padding: 7,
    };
    random.into_iter().enumerate().map(particle).collect()
}

/// `number` and `padding` are in gaps of the WGSL struct.
fn by_depth() -> Comparator {
    let members = members!(Particle {
        cell,
        position,
        depth
    });
    Comparator::of(PARTICLES, members).unwrap()
}

fn by_cell_and_depth(a: &Particle, b: &Particle) -> Ordering {
    (a.cell.cmp(&b.cell)).then(a.depth.total_cmp(&b.depth))
}

#[test]
fn structs_are_sorted_in_segments() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let comparator = by_depth();
    let offsets = [3_u32, 3, 700, 20_000, 40_000];
    let offsets_there = sorter.upload(&offsets).unwrap();
    for (len, order, keeps) in [
        (1_u64, Order::Ascending, false),
        (900, Order::Descending, true),
        (30_001, Order::Ascending, false),
        (30_001, Order::Descending, true),
    ] {
        let before = particles(len);
        let mut expected = before.clone();
        let segment =
            |particle: &Particle| offsets.partition_point(|&offset| offset <= particle.number);
        expected.sort_by(|a, b| {
            let by_members = match order {
                Order::Ascending => by_cell_and_depth(a, b),
                Order::Descending => by_cell_and_depth(b, a),
            };
            segment(a).cmp(&segment(b)).then(by_members)
        });
        let structs = sorter.upload(&before).unwrap();
        let indices = sorter.upload(&vec![0_u32; len as usize]).unwrap();
        let count = offsets.len() as u32;
        let job = SortJob::segmented_by(&structs, &comparator, len, &offsets_there, count);
        let job = job.order(order).indices(&indices);
        let job = if keeps { job.keep_keys() } else { job };
        job.prepare(&sorter).unwrap().run().unwrap();
        let numbers: Vec<u32> = expected.iter().map(|particle| particle.number).collect();
        assert!(
            sorter.download::<u32>(&indices).unwrap() == numbers,
            "{len}"
        );
        let after: Vec<Particle> = sorter.download(&structs).unwrap();
        assert!(after == if keeps { before } else { expected }, "{len}");
    }
}

/// Runs of structs of which none precedes the other: of all, and in segments; of structs that are
/// kept, moved, and written elsewhere.
#[test]
fn runs_are_those_of_the_comparator() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let comparator = by_depth();
    let len = 20_001_usize;
    let before = particles(len as u64);
    for (number, offsets) in [&[][..], &[0, 700, 700, 9000], &[5]]
        .into_iter()
        .enumerate()
    {
        let segment = |particle: &Particle| {
            offsets.partition_point(|&offset: &u32| offset <= particle.number)
        };
        let mut sorted = before.clone();
        sorted.sort_by(|a, b| segment(a).cmp(&segment(b)).then(by_cell_and_depth(b, a)));
        let is_head = |&i: &usize| {
            let differs = |a: &Particle, b: &Particle| {
                segment(a) != segment(b) || by_cell_and_depth(a, b).is_ne()
            };
            i == 0 || differs(&sorted[i - 1], &sorted[i])
        };
        let starts: Vec<usize> = (0..len).filter(is_head).collect();
        let structs = sorter.upload(&before).unwrap();
        let [elsewhere, unique] = [(); 2].map(|()| sorter.upload(&before).unwrap());
        let [starts_there, indices] = [(); 2].map(|()| sorter.upload(&vec![0_u32; len]).unwrap());
        let count = sorter.upload(&[7_u32]).unwrap();
        let runs = Runs::new(&count).starts(&starts_there);
        // The structs of runs are written from those that are sorted.
        let kept = number == 2;
        let all = if kept { runs } else { runs.keys(&unique) };
        let many = len as u64;
        if offsets.is_empty() {
            let job = SortJob::by(&structs, &comparator, many).output(&elsewhere);
            job.order(Order::Descending)
                .runs(all)
                .prepare(&sorter)
                .unwrap()
                .run()
                .unwrap();
        } else {
            let begins = sorter.upload(offsets).unwrap();
            let of = offsets.len() as u32;
            let job = SortJob::segmented_by(&structs, &comparator, many, &begins, of);
            let job = job.order(Order::Descending).indices(&indices).runs(all);
            let job = if kept { job.keep_keys() } else { job };
            job.prepare(&sorter).unwrap().run().unwrap();
        }
        assert_eq!(
            sorter.download::<u32>(&count).unwrap(),
            [starts.len() as u32]
        );
        let found = sorter.download::<u32>(&starts_there).unwrap();
        let found = found[..starts.len()].iter().map(|&start| start as usize);
        assert!(found.eq(starts.iter().copied()), "{number}");
        if !kept {
            let found: Vec<Particle> = sorter.download(&unique).unwrap();
            let expected = starts.iter().map(|&start| sorted[start]);
            assert!(
                found[..starts.len()].iter().copied().eq(expected),
                "{number}"
            );
        }
    }
}

#[test]
fn structs_are_sorted_stably_by_two_members() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let comparator = by_depth();
    for (len, order) in [
        (0, Order::Ascending),
        (1, Order::Ascending),
        (2, Order::Descending),
        (1000, Order::Ascending),
        (1024, Order::Descending),
        (1025, Order::Ascending),
        (30_001, Order::Ascending),
    ] {
        let before = particles(len);
        let mut expected = before.clone();
        expected.sort_by(|a, b| match order {
            Order::Ascending => by_cell_and_depth(a, b),
            Order::Descending => by_cell_and_depth(b, a),
        });
        let rows = gpu.buffer(bytemuck::cast_slice(&before));
        let sort = SortJob::by(&rows, &comparator, len).order(order);
        let sort = sort.prepare(&sorter).unwrap();
        sort.profile(Detail::Phases).unwrap();
        let words = gpu.read(&rows);
        let after: &[Particle] = bytemuck::cast_slice(&words);
        assert!(after == expected, "{len} particles, {}", order.name());
    }
}

#[test]
fn host_structs_must_have_the_type_of_the_comparator() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let comparator = by_depth();
    let before = particles(1000);
    let mut sorted = before.clone();
    (sorter.sort_by(&mut sorted, &comparator, Order::Ascending)).unwrap();
    let mut expected = before.clone();
    expected.sort_by(by_cell_and_depth);
    assert!(sorted == expected);

    // Items of another type, or a comparator without a Rust type: nothing is sorted.
    let mut words = vec![[7_u32; 6]; 2];
    let refused = |sorted: Result<(), Error>| sorted.unwrap_err().to_string();
    let error = refused(sorter.sort_by(&mut words, &comparator, Order::Ascending));
    assert!(
        error.contains("it was made of") && error.ends_with("[u32; 6]"),
        "{error}"
    );
    let unknown = Comparator::new(PARTICLES).unwrap();
    let error = refused(sorter.sort_by(&mut sorted, &unknown, Order::Ascending));
    assert!(error.contains("Comparator::of(wgsl, members!"), "{error}");
    let mut short = [1_u32];
    let error = refused(sorter.sort_by(&mut short, &unknown, Order::Ascending));
    assert!(
        error.ends_with("u32 has 4 bytes, but the WGSL struct 24"),
        "{error}"
    );
}

/// Small rows are moved in workgroup memory word by word, for all types of members.
#[test]
fn rows_of_any_members_are_sorted() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    // The type of each word (i32, f32 or u32), and the words that are compared.
    let cases = [
        (
            "struct Inner { key: i32, other: array<f32, 1> }
            struct Row { inner: array<Inner, 1>, rest: vec2<u32> }
            fn precedes(a: Row, b: Row) -> bool {
                if a.inner[0].other[0] != b.inner[0].other[0] {
                    return a.inner[0].other[0] < b.inner[0].other[0];
                }
                return a.rest.y < b.rest.y;
            }",
            "ifuu",
            [1, 3],
        ),
        (
            // A gap in a row.
            "struct Row { key: i32, other: vec2<i32> }
            fn precedes(a: Row, b: Row) -> bool {
                if a.other.y != b.other.y { return a.other.y < b.other.y; }
                return a.key < b.key;
            }",
            "iuii",
            [3, 0],
        ),
    ];
    for (case, (text, kinds, compared)) in cases.into_iter().enumerate() {
        let comparator = Comparator::new(text).unwrap();
        let words = kinds.len();
        assert_eq!(comparator.row_words() as usize, words);
        // A capacity of one tile needs one kernel, which loads rows like those for several tiles.
        let room = if case == 0 || gpu.runs_all_cases() {
            5000
        } else {
            1024
        };
        let numbers = rows::keys((room * words) as u64);
        let numbers: Vec<i32> = numbers
            .iter()
            .map(|&n| (n % 50).cast_signed() - 25)
            .collect();
        let word = |(i, &n): (usize, &i32)| match kinds.as_bytes()[i % words] {
            b'f' => (n as f32).to_bits(),
            b'i' => n.cast_unsigned(),
            _ => (n + 25).cast_unsigned(),
        };
        let bits: Vec<u32> = numbers.iter().enumerate().map(word).collect();
        let (on_gpu, count) = (gpu.buffer(&bits), gpu.buffer(&[0]));
        let sort = SortJob::by(&on_gpu, &comparator, room as u64).len_from(&count);
        let sort = sort.prepare(&sorter).unwrap();
        for there in [0, 1, 37, room.min(1025), room] {
            gpu.queue
                .write_buffer(&on_gpu, 0, bytemuck::cast_slice(&bits));
            gpu.queue
                .write_buffer(&count, 0, &(there as u32).to_le_bytes());
            sort.profile(Detail::Phases).unwrap();
            let mut order: Vec<u32> = (0..room as u32).collect();
            order[..there]
                .sort_by_key(|&i| compared.map(|word| numbers[i as usize * words + word]));
            let expected = rows::in_order(&bits, words as u32, &order);
            assert!(gpu.read(&on_gpu) == expected, "{there}: {text}");
        }
    }
}

#[test]
fn comparators_sort_indices_payload_and_indirect_counts() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    let comparator = by_depth();
    let before = particles(3000);
    let rows = gpu.buffer(bytemuck::cast_slice(&before));
    let (indices, count) = (gpu.buffer(&vec![9; 3000]), gpu.buffer(&[2000]));
    let sort = SortJob::by(&rows, &comparator, 3000)
        .keep_keys()
        .indices(&indices)
        .len_from(&count);
    let sort = sort.prepare(&sorter).unwrap();
    sort.profile(Detail::Phases).unwrap();
    let mut expected: Vec<u32> = (0..2000).collect();
    expected.sort_by(|&a, &b| by_cell_and_depth(&before[a as usize], &before[b as usize]));
    // Structs with payload.
    let (moved, numbers) = (
        gpu.buffer(bytemuck::cast_slice(&before)),
        (0..3000).collect::<Vec<u32>>(),
    );
    let with_it = gpu.buffer(&numbers);
    let with_payload = SortJob::by(&moved, &comparator, 3000).payload(Payload::new(&with_it, 4));
    with_payload
        .prepare(&sorter)
        .unwrap()
        .profile(Detail::Phases)
        .unwrap();
    let (words, order) = (gpu.read(&moved), gpu.read(&with_it));
    let moved: &[Particle] = bytemuck::cast_slice(&words);
    assert!(moved.is_sorted_by(|a, b| by_cell_and_depth(a, b).is_le()));
    assert!((moved.iter().zip(&order)).all(|(row, &number)| row.number == number));

    let after = gpu.read(&indices);
    assert!(after[..2000] == expected);
    assert!(after[2000..].iter().all(|&i| i == 9));
    assert!(gpu.read(&rows) == bytemuck::cast_slice::<_, u32>(&before));
}

/// Comparators that are not an order: the result still is a permutation of the rows.
#[test]
fn inconsistent_comparators_leave_a_permutation() {
    let Some(gpu) = gpu() else { return };
    let sorter = sorter(gpu);
    // Each row selects the function, since lavapipe compiles a comparator's kernels slowly.
    let comparator = Comparator::new(
        "struct Row { key: u32, function: u32 }
        fn precedes(a: Row, b: Row) -> bool {
            switch a.function {
                case 0u: { return true; }
                case 1u: { return false; }
                // A hash.
                case 2u: { return ((a.key * 0x9e3779b9u) ^ (b.key * 0x85ebca6bu)) % 7u < 3u; }
                // A cycle.
                case 3u: { return (a.key % 3u + 1u) % 3u == b.key % 3u; }
                // NaNs.
                default: { return bitcast<f32>(a.key | 0x7fc00000u) < bitcast<f32>(b.key); }
            }
        }",
    )
    .unwrap();
    for function in 0..5 {
        // Up to one tile, few tiles and many, with full and ragged tiles at the end.
        for len in [2, 900, 1024, 1025, 2048, 5003, 16_384, 26_000, 70_001] {
            let rows: Vec<[u32; 2]> = (0..len)
                .map(|i: u32| [i.wrapping_mul(2_654_435_761), function])
                .collect();
            let on_gpu = gpu.buffer(bytemuck::cast_slice(&rows));
            let sort = SortJob::by(&on_gpu, &comparator, len.into());
            let sort = sort.prepare(&sorter).unwrap();
            sort.profile(Detail::Phases).unwrap();
            let after = gpu.read(&on_gpu);
            let mut after: Vec<[u32; 2]> = bytemuck::cast_slice(&after).to_vec();
            if function < 2 {
                assert!(after == rows, "{function}: nothing tells them apart");
            }
            after.sort_unstable();
            let mut before = rows.clone();
            before.sort_unstable();
            assert!(after == before, "{function}: {len} rows");
        }
    }
}

/// Byte strings of fixed width, compared without case. Equal strings keep their order.
#[test]
fn strings_are_sorted_without_case() {
    #[repr(C)]
    #[derive(Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
    struct Name {
        letters: [u8; 8],
        number: u32,
    }

    let Some(gpu) = gpu() else { return };
    let comparator = Comparator::of(
        "struct Name { letters: array<u32, 2>, number: u32 }

        fn lower(word: u32, at: u32) -> u32 {
            let letter = (word >> (8u * at)) & 0xffu;
            return select(letter, letter + 32u, letter >= 65u && letter <= 90u);
        }

        fn precedes(a: Name, b: Name) -> bool {
            var left = a.letters;
            var right = b.letters;
            for (var i = 0u; i < 8u; i++) {
                let x = lower(left[i / 4u], i % 4u);
                let y = lower(right[i / 4u], i % 4u);
                if x != y { return x < y; }
            }
            return false;
        }",
        members!(Name { letters, number }),
    )
    .unwrap();
    // Letters, their neighbours in ASCII, and other bytes.
    let letters = b"aAzZmM@[`{_0\x00\x7f\xc1\xe1";
    let random: Vec<u32> = generate(&Spec::new(Pattern::Full, 2 * 900)).unwrap();
    let name = |(i, random): (usize, &[u32])| {
        // Many have a common prefix, and differ late or not at all.
        let letter = |at: u32| letters[(random[0] >> (4 * at)) as usize % 16];
        let case = |at: u32| b"sS"[(random[1] >> at) as usize % 2];
        let letters = [
            case(0),
            case(1),
            case(2),
            letter(0),
            case(3),
            case(4),
            letter(1),
            0,
        ];
        let number = i as u32;
        Name { letters, number }
    };
    let before: Vec<Name> = random.chunks(2).enumerate().map(name).collect();
    let lower = |name: &Name| name.letters.to_ascii_lowercase();
    for order in [Order::Ascending, Order::Descending] {
        let mut expected = before.clone();
        expected.sort_by(|a, b| match order {
            Order::Ascending => lower(a).cmp(&lower(b)),
            Order::Descending => lower(b).cmp(&lower(a)),
        });
        let mut sorted = before.clone();
        (sorter(gpu).sort_by(&mut sorted, &comparator, order)).unwrap();
        assert!(sorted == expected, "{}", order.name());
    }
}
