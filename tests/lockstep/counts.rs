//! The paper's counts of accesses to workgroup memory, in one workgroup of each shipped kernel.
//!
//! The counts are the same for all keys: the tests also assert [`Site::oblivious`].

use bcfsort_testkit::kernels_of_tests::note;
use wgpu_bcfsort::internals::mergesort::kernels::{
    self, BaseCaseParams, BucketOffsetsParams, DistributeParams, PairsParams,
};
use wgpu_bcfsort::internals::mergesort::{PAGE, WARP_PAGE, WARP_TILE};
use wgpu_bcfsort::internals::shader::Network;
use wgpu_bcfsort::internals::shader::{Access, Kernel, Parameters};
use wgpu_bcfsort::internals::shader::{MATRIX, W};
use wgpu_bcfsort::paper::BaseCase;
use wgpu_bcfsort::{Engine, KeyType};
use wgsl_lockstep::{Buffers, Config, Report, Shader, Space};

const LANES: u64 = W as u64;

/// One key type for each of the two shader texts.
const WIDTHS: [KeyType; 2] = [KeyType::U32, KeyType::F64];

/// Unordered keys: the counts do not depend on them.
fn keys(count: u32) -> Vec<u32> {
    (0..count).map(|i| i.wrapping_mul(0x9e37_79b9)).collect()
}

/// Runs one workgroup of a conflict-free kernel. `tables` are the contents of buffers without keys.
fn run(
    kernel: &Kernel,
    key: KeyType,
    parameters: impl Into<Parameters>,
    tables: &[(&str, Vec<u32>)],
) -> Report {
    let report = run_baseline(kernel, key, parameters, tables);
    let name = kernel.name();
    assert!(report.banks().max_degree <= 1, "{name} has a bank conflict");
    report
}

/// Runs one workgroup of any kernel.
fn run_baseline(
    kernel: &Kernel,
    key: KeyType,
    parameters: impl Into<Parameters>,
    tables: &[(&str, Vec<u32>)],
) -> Report {
    note(kernel.label());
    let parameters = parameters.into();
    assert!(parameters.is_like(&kernel.parameters()));
    let assembled = kernel.assemble().unwrap();
    let shader = Shader::new(&assembled.wgsl, None, &[]).unwrap();
    let mut buffers = Buffers::new();
    for binding in &assembled.bindings {
        let words = if binding.access == Access::Uniform {
            parameters.words().to_vec()
        } else {
            let table = tables.iter().find(|t| t.0 == binding.name);
            table.map_or_else(|| keys(64 * MATRIX * key.words()), |t| t.1.clone())
        };
        buffers.insert((0, binding.binding), words);
    }
    let report = shader
        .run(&mut buffers, [1, 1, 1], &Config::default())
        .unwrap();
    assert_eq!(report.findings, [], "{}", kernel.name());
    report
}

/// Accesses to workgroup memory by all lanes together. Two-word keys have two planes with equal
/// accesses; the result is for one plane.
fn accesses(report: &Report, key: KeyType) -> u64 {
    let of = |plane: &str| -> u64 {
        let sites = report.in_space(Space::Workgroup);
        sites.filter(|s| s.variable == plane).map(|s| s.lanes).sum()
    };
    if key.words() == 1 {
        of("tile")
    } else {
        assert_eq!(of("tile_low"), of("tile_high"));
        of("tile_low")
    }
}

fn base_case(form: BaseCase, key: KeyType, len: u32) -> u64 {
    let parameters = BaseCaseParams {
        len,
        first: 0,
        end: 1,
    };
    let report = run(&of(form, key), key, parameters, &[]);
    assert!(report.is_oblivious(Space::Workgroup));
    accesses(&report, key)
}

/// A base case with the warps of one tile.
fn of(form: BaseCase, key: KeyType) -> Kernel {
    kernels::base_case(form, form.warps(), key)
}

#[test]
fn shearsort_diagonal_takes_768_accesses_a_lane() {
    for key in WIDTHS {
        // 32 to fill, 64 in each of 11 sweeps, 32 to read out.
        let all = base_case(BaseCase::Diagonal, key, 5 * MATRIX);
        assert_eq!(all, LANES * 768);
    }
    assert_eq!(32 + 11 * 64 + 32, 768);
}

#[test]
fn shearsort_with_transpositions_takes_1472_accesses_a_lane() {
    for key in WIDTHS {
        // An exchange is two loads and two stores. Only half of the lanes do the last of the 16
        // exchanges of a transposition.
        let with = |exchanges: u64| 32 + 11 * (64 + 4 * exchanges) + 32;
        let all = base_case(BaseCase::Transpose, key, 5 * MATRIX);
        assert_eq!(all, LANES / 2 * (with(16) + with(15)));
        assert_eq!(with(16), 1472);
    }
}

#[test]
fn the_bitonic_base_case_takes_704_accesses_a_lane() {
    for key in WIDTHS {
        // 32 to store the sorted lines, 64 in each of 10 passes, 32 to read out.
        let all = base_case(BaseCase::Bitonic, key, 5 * MATRIX);
        assert_eq!(all, LANES * 704);
    }
    assert_eq!(32 + 10 * 64 + 32, 704);
}

const LONG: [(BaseCase, BaseCase); 3] = [
    (BaseCase::Long2, BaseCase::LongDiagonal2),
    (BaseCase::Long4, BaseCase::LongDiagonal4),
    (BaseCase::Long8, BaseCase::LongDiagonal8),
];

#[test]
fn long_shearsort_takes_1472_accesses_a_lane_and_more_for_each_doubling_of_h() {
    for (transposing, diagonal) in LONG {
        let h = transposing.warps();
        let (lanes, log_h) = (LANES * u64::from(h), u64::from(h.ilog2()));
        // Changes of order, and sorts of the lines, across the lines, and of the columns.
        let (changes, sorts) = (6 + 5, 6 * (2 * log_h + 1) + 5);
        let moves = 32 + 64 * (changes + sorts) + 32;
        let all = base_case(diagonal, KeyType::U32, 5 * diagonal.keys());
        assert_eq!(all, lanes * moves, "h = {h}");
        assert_eq!(moves, 1472 + 768 * log_h);

        let transpositions = 6 * (2 * log_h + 2);
        let all = base_case(transposing, KeyType::U32, 5 * transposing.keys());
        let exchanges = lanes / 2 * (16 + 15) * transpositions;
        assert_eq!(all, lanes * moves + 4 * exchanges, "h = {h}");
        assert_eq!(moves + 4 * 16 * transpositions, 2240 + 1536 * log_h);
    }
}

#[test]
fn shearsort_without_registers_takes_9172_accesses_a_lane() {
    for key in WIDTHS {
        let with = |exchanges: u64| 32 + 11 * 4 * (191 + exchanges) + 32;
        let all = base_case(BaseCase::NoRegisters, key, 5 * MATRIX);
        assert_eq!(all, LANES / 2 * (with(16) + with(15)));
        assert_eq!(with(16), 9172);
    }
}

/// Lanes without keys make the same accesses, except for the last reads.
#[test]
fn a_ragged_base_case_has_the_same_accesses_except_the_last_reads() {
    let all = base_case(BaseCase::Diagonal, KeyType::U32, 1);
    assert_eq!(all, LANES * 768 - 1023);
}

/// Comparators per key: 65.7 for 11 sweeps of a network of 191, 26.0 for the bitonic base case, and
/// 5 for a page merge, which is two passes of a merger of 80.
#[test]
fn comparators_per_key_are_those_of_the_paper() {
    let comparators = |kernel: &Kernel| kernel.networks()[0].1.comparators().len() as f64;
    let all = |form: BaseCase| -> Vec<(&str, usize)> {
        let kernel = of(form, KeyType::U32);
        let networks = kernel.networks();
        let count =
            |(name, network): &(&'static str, &Network)| (*name, network.comparators().len());
        networks.iter().map(count).collect()
    };
    // The merger is applied in each of the five rounds, the other networks once.
    let bitonic = all(BaseCase::Bitonic);
    assert_eq!(bitonic[0], ("sort_registers", 191));
    assert_eq!(bitonic[6], ("merge_registers", 80));
    let cross: usize = bitonic[1..6].iter().map(|cross| cross.1).sum();
    assert_eq!(cross, 240);
    let a_key = f64::from(191 + 240 + 5 * 80) * f64::from(W) / f64::from(MATRIX);
    assert!((a_key - 26.0).abs() < 0.05, "{a_key}");
    // Across the h lines of a row.
    for ((transposing, diagonal), segments) in LONG.into_iter().zip([16, 8 * 5, 4 * 19]) {
        for form in [transposing, diagonal] {
            assert_eq!(all(form)[1], ("sort_segments", segments));
        }
    }
    for form in [BaseCase::Diagonal, BaseCase::Transpose] {
        let a_key = f64::from(W) * 11.0 * comparators(&of(form, KeyType::U32)) / f64::from(MATRIX);
        assert!((a_key - 65.7).abs() < 0.05, "{a_key}");
    }
    let a_key =
        f64::from(W) * 2.0 * comparators(&kernels::page_merge(KeyType::U32)) / f64::from(MATRIX);
    assert!((a_key - 5.0).abs() < f64::EPSILON);
}

fn merge(key: KeyType, done: u32, steps: u32, run_len: u32, len: u32) -> Report {
    let report = merge_of(Engine::BcfMergesort, key, [done, steps, run_len, len]);
    assert!(report.banks().max_degree <= 1);
    report
}

fn merge_of(engine: Engine, key: KeyType, [done, steps, run_len, len]: [u32; 4]) -> Report {
    let parameters = PairsParams {
        end: 1,
        done,
        steps,
        len,
        run: run_len,
        ..PairsParams::default()
    };
    // The progress of the dispatch before this one: half of the pages of each run.
    let pages = |keys: u32| keys.div_ceil(engine.page());
    let loaded_a = (done + 2)
        .saturating_sub(pages(len - run_len.min(len)))
        .max(1);
    let progress = vec![loaded_a, done + 2 - loaded_a];
    let tables = [("separators", vec![0]), ("progress", progress)];
    run_baseline(&kernels::merge(engine, key), key, parameters, &tables)
}

#[test]
fn a_page_merge_takes_128_accesses_a_lane_besides_the_last_keys() {
    for key in WIDTHS {
        // Run length, length, merges done before, merges asked for, and merges done.
        for (run_len, len, done, steps, merges) in [
            (PAGE, 2 * PAGE, 0, 1, 1),
            (4 * PAGE, 8 * PAGE, 0, 3, 3),
            // 4 + 4 - 1, even if more are requested.
            (4 * PAGE, 8 * PAGE, 0, 100, 7),
            (4 * PAGE, 8 * PAGE, 5, 100, 2),
            (4 * PAGE, 8 * PAGE, 7, 100, 0),
            // Ragged: 4 and 2 pages, then B is unaligned.
            (4 * PAGE, 5 * PAGE + 7, 0, 100, 5),
            (4 * PAGE - 5, 6 * PAGE, 0, 100, 6),
        ] {
            let report = merge(key, done, steps, run_len, len);
            assert!(report.is_oblivious(Space::Workgroup));
            // Two passes over the matrix. The lane in the last row writes one of the two last keys,
            // the lane in the first row the other, and all lanes read both.
            assert_eq!(
                accesses(&report, key),
                merges * (LANES * (128 + 2) + 2),
                "{merges} merges of runs of {run_len} of {len}"
            );
        }
    }
}

#[test]
fn copying_a_run_without_a_partner_takes_no_workgroup_memory() {
    let report = merge(KeyType::U32, 0, 4, 4 * PAGE, 3 * PAGE);
    assert_eq!(report.accesses(Space::Workgroup), 0);
    assert!(report.accesses(Space::Storage) > 0);
}

#[test]
fn distribution_stores_and_loads_every_key_once() {
    for key in [KeyType::U32, KeyType::U64] {
        for (start, end, target) in [(0, 1024, 0), (5, 4000, 77), (31, 32, 1), (9, 9, 9)] {
            let parameters = DistributeParams {
                len: 8192,
                runs: 1,
                first: 0,
                pieces: 1,
            };
            let tables = [
                ("ranks", vec![start, end]),
                ("separators", vec![target, target + end - start]),
            ];
            let report = run(&kernels::distribute(key), key, parameters, &tables);
            assert_eq!(accesses(&report, key), u64::from(2 * (end - start)));
        }
    }
}

/// Tables give the starts of runs and buckets. Only their alignment to the banks matters, so every
/// alignment is tested. `run` asserts that there is no conflict.
#[test]
fn no_alignment_of_runs_and_buckets_causes_a_conflict() {
    for key in WIDTHS {
        for shift in 0..W {
            let report = merge(key, 0, 100, 4 * PAGE - shift, 6 * PAGE);
            assert!(report.accesses(Space::Workgroup) > 0);
        }
    }
    for from in 0..W {
        for to in 0..W {
            let parameters = DistributeParams {
                len: 8192,
                runs: 1,
                first: 0,
                pieces: 1,
            };
            let tables = [
                ("ranks", vec![from, from + 1500]),
                ("separators", vec![to, to + 1500]),
            ];
            run(
                &kernels::distribute(KeyType::U32),
                KeyType::U32,
                parameters,
                &tables,
            );
        }
    }
}

#[test]
fn the_scan_of_bucket_sizes_has_no_conflict_at_any_number_of_runs() {
    for runs in [1, 255, 256, 257, 700] {
        let parameters = BucketOffsetsParams {
            runs,
            run: 1024,
            buckets: 3,
        };
        let report = run(&kernels::bucket_offsets(), KeyType::U32, parameters, &[]);
        assert!(report.is_oblivious(Space::Workgroup));
        assert_eq!(report.banks().conflict_free, report.banks().cycles);
    }
}

/// Extra cycles of workgroup memory: for each access of a warp, its degree minus 1.
fn extra_cycles(report: &Report, key: KeyType) -> u64 {
    let sites = report.in_space(Space::Workgroup);
    let extra = sites.map(|s| s.banks.cycles - s.accesses).sum::<u64>();
    assert_eq!(extra % key.words() as u64, 0);
    extra / key.words() as u64
}

/// 28 stages of two comparators per lane. Each comparator loads and stores two keys.
#[test]
fn warpsorts_tile_takes_232_accesses_a_lane_and_the_conflicts_of_its_stages() {
    for key in WIDTHS {
        let parameters = BaseCaseParams {
            len: WARP_TILE + 1,
            first: 0,
            end: 1,
        };
        let report = run_baseline(&of(BaseCase::WarpBitonic, key), key, parameters, &[]);
        assert!(report.is_oblivious(Space::Workgroup));
        let stages = 28;
        assert_eq!(stages, (1..=WARP_TILE.ilog2()).sum::<u32>());
        assert_eq!(
            accesses(&report, key),
            LANES * (4 + 8 * u64::from(stages) + 4)
        );
        // A comparator has 4 accesses, and a stage 2 comparators: 8 accesses per warp, of degree 4
        // in 10 stages, 2 in 15 and 1 in 3.
        assert_eq!(extra_cycles(&report, key), 8 * (10 * 3 + 15));
        assert_eq!(report.banks().max_degree, 4);
        // 14 comparators per key.
        assert_eq!(stages * WARP_TILE / 2, 14 * WARP_TILE);
    }
}

#[test]
fn warpsorts_merge_takes_60_accesses_a_lane_besides_the_last_keys() {
    for key in WIDTHS {
        // Run length, length, merges done before, merges asked for, and merges done.
        for (run_len, len, done, steps, merges) in [
            (WARP_PAGE, 2 * WARP_PAGE, 0, 1, 1),
            (4 * WARP_PAGE, 8 * WARP_PAGE, 0, 3, 3),
            (4 * WARP_PAGE, 8 * WARP_PAGE, 0, 100, 7),
            (4 * WARP_PAGE, 8 * WARP_PAGE, 5, 100, 2),
            (4 * WARP_PAGE, 8 * WARP_PAGE, 7, 100, 0),
            (4 * WARP_PAGE, 5 * WARP_PAGE + 7, 0, 100, 5),
            (4 * WARP_PAGE - 5, 6 * WARP_PAGE, 0, 100, 6),
        ] {
            let what = [done, steps, run_len, len];
            let report = merge_of(Engine::Warpsort, key, what);
            assert!(report.is_oblivious(Space::Workgroup));
            // In each merge: 7 stages of two comparators of 4 accesses, 2 accesses to read a page
            // out, 2 to fill the next one in, and for the last keys two loads and one lane's store.
            // Once more, a page is filled in and the last one read out. The held page is filled in,
            // and its last key is stored by one lane and loaded by all.
            let each = LANES * (7 * 8 + 2 + 2 + 2) + 1;
            let once = LANES * (2 + 2 + 1 + 2) + 1;
            let expected = if merges == 0 { 0 } else { merges * each + once };
            assert_eq!(accesses(&report, key), expected, "{what:?}");
            // Two lanes per bank in 5 of 7 stages.
            assert_eq!(extra_cycles(&report, key), merges * 5 * 8, "{what:?}");
        }
    }
}

/// As in the other merge, the starts of runs cause no additional conflict.
#[test]
fn warpsorts_merge_has_the_same_conflicts_at_every_alignment_of_runs() {
    for shift in 0..W {
        let what = [0, 100, 4 * WARP_PAGE - shift, 6 * WARP_PAGE];
        let report = merge_of(Engine::Warpsort, KeyType::U32, what);
        // 4 pages and 2, or 3 if B begins in or before the last group of 32 of a page.
        let merges = 4 + (6 * WARP_PAGE - (4 * WARP_PAGE - shift) / W * W).div_ceil(WARP_PAGE) - 1;
        let merges = u64::from(merges);
        assert_eq!(
            extra_cycles(&report, KeyType::U32),
            merges * 5 * 8,
            "{shift}"
        );
    }
}

/// Workgroups past the end in the last row of a grid, near the largest possible offset.
#[test]
fn a_tile_past_the_end_reads_nothing() {
    for form in BaseCase::ALL {
        let kernel = of(form, KeyType::U32);
        if !kernel.has_bank_conflicts() {
            let last = u32::MAX / form.keys();
            let parameters = BaseCaseParams {
                len: 1000,
                first: last,
                end: last,
            };
            run(&kernel, KeyType::U32, parameters, &[]);
        }
    }
}
