//! The shipped shaders, counted: accesses of workgroup memory, bank conflicts, races, comparators.
//!
//! A lane's loads and stores are those of a run on naga's IR with unknown keys, so the counts hold
//! for every input, and that they can be taken shows that no key decides an address.

mod lanes;

use lanes::Workgroup;
use wgpu_bcfsort::kernel::{Kernel, MATRIX, PAGE, W};
use wgpu_bcfsort::{KeyType, Order};

const LANES: usize = W as usize;

fn unknown(_: &str, _: u32) -> Option<u32> {
    None
}

fn run(kernel: Kernel, key: KeyType, parameters: &[(&str, u32)]) -> Workgroup {
    let workgroup = Workgroup::run(
        kernel.specialise(key, Order::Ascending),
        parameters,
        &unknown,
    );
    check(&workgroup, kernel);
    workgroup
}

fn check(workgroup: &Workgroup, kernel: Kernel) {
    let name = kernel.name();
    assert!(
        workgroup.worst_bank_degree() <= 1,
        "{name} has a bank conflict"
    );
    assert_eq!(workgroup.race(), None, "{name} has a race");
}

/// The planes of the tile: two-word keys have two, which are accessed alike.
fn planes(key: KeyType) -> &'static [&'static str] {
    match key.words() {
        1 => &["tile"],
        _ => &["tile_low", "tile_high"],
    }
}

/// Two key types stand for the two texts that touch memory.
const WIDTHS: [KeyType; 2] = [KeyType::U32, KeyType::F64];

fn base_case(kernel: Kernel, key: KeyType) -> Workgroup {
    let parameters = [("len", 5 * MATRIX), ("first", 0), ("end", 5)];
    let workgroup = run(kernel, key, &parameters);
    for lane in 0..LANES {
        // 191 comparators in each of the 11 sweeps: 65.7 a key.
        assert_eq!(workgroup.calls(lane, "compare_exchange"), 11 * 191);
    }
    let of_all = LANES as f64 * 11.0 * 191.0 / f64::from(MATRIX);
    assert!((of_all - 65.7).abs() < 0.05, "{of_all}");
    workgroup
}

#[test]
fn shearsort_diagonal_takes_768_accesses_a_lane() {
    for key in WIDTHS {
        for in_place in [false, true] {
            let workgroup = base_case(Kernel::ShearsortDiagonal { in_place }, key);
            assert!(workgroup.variables().into_iter().eq(planes_sorted(key)));
            for lane in 0..LANES {
                for plane in planes(key) {
                    // 32 to fill, 64 in each of 11 sweeps, 32 to read out.
                    assert_eq!(workgroup.accesses(lane, plane), 768, "{plane} {lane}");
                }
            }
        }
    }
}

fn planes_sorted(key: KeyType) -> Vec<&'static str> {
    let mut planes = planes(key).to_vec();
    planes.sort_unstable();
    planes
}

#[test]
fn shearsort_with_transpositions_takes_1472_accesses_a_lane() {
    for key in WIDTHS {
        for in_place in [false, true] {
            let workgroup = base_case(Kernel::ShearsortTranspose { in_place }, key);
            for lane in 0..LANES {
                // An exchange is two loads and two stores, and the last one of the 16 of a
                // transposition is done by half of the lanes.
                let exchanges = if lane < LANES / 2 { 16 } else { 15 };
                let expected = 32 + 11 * (64 + 4 * exchanges) + 32;
                for plane in planes(key) {
                    assert_eq!(workgroup.accesses(lane, plane), expected, "{plane} {lane}");
                }
            }
            assert_eq!(workgroup.accesses(0, planes(key)[0]), 1472);
        }
    }
}

/// Every matrix but the last of a dispatch that ends early: lanes without keys do the same.
#[test]
fn a_ragged_base_case_takes_as_many_accesses_but_the_reads_out() {
    let parameters = [("len", 1), ("first", 0), ("end", 1)];
    let kernel = Kernel::ShearsortDiagonal { in_place: true };
    let workgroup = run(kernel, KeyType::U32, &parameters);
    assert_eq!(workgroup.accesses(0, "tile"), 768 - 31);
    assert_eq!(workgroup.accesses(31, "tile"), 768 - 32);
}

fn merge_parameters(done: u32, steps: u32, run: u32, len: u32) -> Vec<(&'static str, u32)> {
    vec![
        ("first", 0),
        ("end", 1),
        ("done", done),
        ("steps", steps),
        ("len", len),
        ("run", run),
        ("substreams", 0),
        ("span", 0),
        ("pairs", 0),
        ("bucket_step", 0),
    ]
}

#[test]
fn a_page_merge_takes_128_accesses_a_lane_and_those_for_the_last_keys() {
    for key in WIDTHS {
        // Run length, length, merges done before, merges asked for, and merges done.
        for (run_len, len, done, steps, merges) in [
            (PAGE, 2 * PAGE, 0, 1, 1),
            (4 * PAGE, 8 * PAGE, 0, 3, 3),
            // 4 + 4 - 1, however many are asked for.
            (4 * PAGE, 8 * PAGE, 0, 100, 7),
            (4 * PAGE, 8 * PAGE, 5, 100, 2),
            (4 * PAGE, 8 * PAGE, 7, 100, 0),
            // Ragged: 4 and 2 pages, then B is unaligned.
            (4 * PAGE, 5 * PAGE + 7, 0, 100, 5),
            (4 * PAGE - 5, 6 * PAGE, 0, 100, 6),
        ] {
            let workgroup = run(
                Kernel::PageMerge,
                key,
                &merge_parameters(done, steps, run_len, len),
            );
            let shift = run_len % W;
            for lane in 0..LANES {
                let row = (lane as u32 + shift) % W;
                // One of the two last keys is written by the lane in the last row, the other by
                // that in the first; everyone reads both.
                let lasts = 2 + usize::from(row == 0) + usize::from(row == W - 1);
                for plane in planes(key) {
                    assert_eq!(
                        workgroup.accesses(lane, plane),
                        merges * (128 + lasts),
                        "lane {lane}: {merges} merges of runs of {run_len} of {len}"
                    );
                }
                // Two passes of the bitonic merger of 80 comparators: 5 a key.
                let comparators = workgroup.calls(lane, "compare_exchange");
                assert_eq!(comparators, merges as u64 * 2 * 80);
                assert_eq!(
                    comparators * u64::from(W),
                    5 * u64::from(MATRIX) * merges as u64
                );
            }
        }
    }
}

#[test]
fn copying_a_run_without_a_partner_takes_no_workgroup_memory() {
    let workgroup = run(
        Kernel::PageMerge,
        KeyType::U32,
        &merge_parameters(0, 4, 4 * PAGE, 3 * PAGE),
    );
    assert!(workgroup.variables().is_empty());
    assert_eq!(workgroup.calls(0, "compare_exchange"), 0);
}

#[test]
fn bucket_offsets_and_distribution_have_no_conflict_and_no_race() {
    let kernel = Kernel::BucketOffsets;
    for runs in [1, 255, 256, 257, 700] {
        let parameters = [("runs", runs), ("run", 1024), ("buckets", 3)];
        run(kernel, KeyType::U32, &parameters);
    }
    let kernel = Kernel::Distribute;
    for key in [KeyType::U32, KeyType::U64] {
        for (start, end, place) in [(0, 1024, 0), (5, 4000, 77), (31, 32, 1), (9, 9, 9)] {
            let tables = |name: &str, index: u32| match (name, index) {
                ("ranks", 0) => Some(start),
                ("ranks", 1) => Some(end),
                ("separators", 0) => Some(place),
                _ => None,
            };
            let parameters = [("runs", 1), ("first", 0), ("pieces", 1)];
            let specialised = kernel.specialise(key, Order::Ascending);
            let workgroup = Workgroup::run(specialised, &parameters, &tables);
            check(&workgroup, kernel);
            // Every key is stored once and loaded once.
            let accesses: usize = (0..64).map(|l| workgroup.accesses(l, planes(key)[0])).sum();
            assert_eq!(accesses, 2 * (end - start) as usize);
        }
    }
}
