//! Page merges alone: their number in a pair of runs, and all pairs of pages of zeros and ones.

use crate::device::{Gpu, gpu};
use crate::execution::Execution;
use crate::phases::random;
use wgpu_bcfsort::internals::mergesort::kernels::{PairsParams, merge};
use wgpu_bcfsort::internals::mergesort::{PAGE, WARP_PAGE};
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording, Step};
use wgpu_bcfsort::{Engine, KeyType, Order};

/// A recording for page merges alone: the runs between the separators are merged from the keys into
/// the scratch buffer.
fn page_merge_recording(len: u32, pairs: u32) -> Recording {
    let mut recording = Recording::new(len, KeyType::U32, Order::Ascending);
    recording.reserve(Buffer::Scratch, u64::from(len) * 4);
    recording.reserve(Buffer::Separators(0), u64::from(2 * pairs + 1) * 4);
    recording.reserve(Buffer::Progress, u64::from(pairs) * 8);
    recording
}

/// The engines' merge kernels, with the keys of their pages.
const MERGES: [(Engine, u32); 2] = [(Engine::BcfMergesort, PAGE), (Engine::Warpsort, WARP_PAGE)];

fn page_merge_step(engine: Engine, pairs: u32, shape: PairsParams, done: u32, steps: u32) -> Step {
    Step {
        phase: Phase::Merge,
        round: 0,
        kernel: merge(engine, KeyType::U32),
        workgroups: [pairs.min(65_535), pairs.div_ceil(65_535)],
        bindings: vec![
            ("source", Buffer::Keys),
            ("destination", Buffer::Scratch),
            ("separators", Buffer::Separators(0)),
            ("progress", Buffer::Progress),
        ],
        parameters: PairsParams {
            end: pairs,
            done,
            steps,
            ..shape
        }
        .into(),
        keys: 0,
    }
}

fn pages(start: u32, end: u32, page: u32) -> u32 {
    if start < end {
        (end - start / 32 * 32).div_ceil(page)
    } else {
        0
    }
}

/// A pair takes n0/h + n1/h - 1 page merges, and not fewer. Each finishes a page.
#[test]
fn a_pair_is_merged_by_exactly_one_page_merge_less_than_it_has_pages() {
    let Some(gpu) = gpu() else { return };
    for (engine, page) in MERGES {
        merge_page_by_page(gpu, engine, page);
    }
}

fn merge_page_by_page(gpu: &Gpu, engine: Engine, page: u32) {
    // The ends of A and B: aligned, ragged, no multiples of 32, of very different lengths.
    for [start, middle, end] in [
        [0u32, 4096, 8192],
        [0, 512, 1024],
        [0, 512, 5120],
        [0, 6000, 6001],
        [13, 2061, 4109],
        [31, 32, 3000],
        [7, 1000, 2500],
        [100, 4444, 5555],
    ] {
        for skew in ["random", "A first", "B first", "equal", "interleaved"] {
            let mut keys = random(u64::from(end) + 40, u64::from(start) + 1);
            for (i, key) in keys.iter_mut().enumerate() {
                let in_a = (i as u32) < middle;
                *key = match skew {
                    "A first" => *key >> 1 | u32::from(!in_a) << 31,
                    "B first" => *key >> 1 | u32::from(in_a) << 31,
                    "equal" => 5,
                    "interleaved" => {
                        (i as u32 - if in_a { 0 } else { middle }) * 2 + u32::from(in_a)
                    }
                    _ => *key,
                };
            }
            let (a, b) = (
                start as usize..middle as usize,
                middle as usize..end as usize,
            );
            keys[a].sort_unstable();
            keys[b].sort_unstable();
            let mut expected = keys[start as usize..end as usize].to_vec();
            expected.sort_unstable();

            let recording = page_merge_recording(keys.len() as u32, 1);
            let execution = Execution::new(gpu, &recording, &keys);
            execution.write(Buffer::Separators(0), &[start, middle, end]);
            let marks = vec![0xdead_beef; keys.len()];
            execution.write(Buffer::Scratch, &marks);
            let shape = PairsParams {
                len: end,
                substreams: 2,
                span: 1,
                pairs: 1,
                bucket_step: 1,
                ..PairsParams::default()
            };
            let merges = pages(start, middle, page) + pages(middle, end, page) - 1;
            let what = format!("{skew}, {start} {middle} {end}, {merges} merges");
            for done in 0..merges {
                let before = execution.read(Buffer::Scratch);
                let sorted = before[start as usize..end as usize] == expected;
                assert!(!sorted, "{what}: sorted after {done}");
                execution.step(&page_merge_step(engine, 1, shape, done, 1));
                // The pages before the one held are final.
                let page_end = start / 32 * 32 + (done + 1) * page - middle % 32;
                let now = execution.read(Buffer::Scratch);
                let finished = (page_end.clamp(start, end) - start) as usize;
                assert!(
                    now[start as usize..][..finished] == expected[..finished],
                    "{what}: after {}",
                    done + 1
                );
            }
            let mut whole = marks;
            whole[start as usize..end as usize].copy_from_slice(&expected);
            assert!(execution.read(Buffer::Scratch) == whole, "{what}");
            // More steps do nothing.
            execution.step(&page_merge_step(engine, 1, shape, merges, 3));
            assert!(execution.read(Buffer::Scratch) == whole, "{what}: one more");
        }
    }
}

/// Pairs of pages in one dispatch: at most 64 MiB of keys, below the smallest binding limit.
const PAIRS: u32 = 1 << 14;

/// The network proof on the shipped kernels: they are data-oblivious, so zeros and ones suffice.
#[test]
fn all_pairs_of_sorted_pages_of_zeros_and_ones_are_merged() {
    let Some(gpu) = gpu() else { return };
    for (engine, page) in MERGES {
        merge_all_pages(gpu, engine, page);
    }
}

fn merge_all_pages(gpu: &Gpu, engine: Engine, page_keys: u32) {
    let page = page_keys as usize;
    // All pairs, or every seventh. 7 does not divide the 513 or 65 pairs of a row, so each number
    // of zeros occurs in A and in B.
    let stride = if gpu.runs_all_cases() { 1 } else { 7 };
    let all = ((page_keys + 1) * (page_keys + 1)).div_ceil(stride);
    let len = PAIRS * 2 * page_keys;
    let recording = page_merge_recording(len, PAIRS);
    let execution = Execution::new(gpu, &recording, &vec![0; len as usize]);
    let shape = PairsParams {
        len,
        run: page_keys,
        ..PairsParams::default()
    };
    let mut keys = vec![0u32; len as usize];
    for first in (0..all).step_by(PAIRS as usize) {
        let pair = |i: usize| {
            let number = (first as usize + i) * stride as usize;
            (number / (page + 1), number % (page + 1))
        };
        for (i, keys) in keys.chunks_exact_mut(2 * page).enumerate() {
            let (zeros_a, zeros_b) = pair(i);
            keys.fill(1);
            keys[..zeros_a.min(page)].fill(0);
            keys[page..page + zeros_b].fill(0);
        }
        execution.write(Buffer::Keys, &keys);
        execution.step(&page_merge_step(engine, PAIRS, shape, 0, 1));
        let merged = execution.read(Buffer::Scratch);
        for (i, merged) in merged.chunks_exact(2 * page).enumerate() {
            let (zeros_a, zeros_b) = pair(i);
            let zeros = zeros_a.min(page) + zeros_b;
            let right = merged[..zeros].iter().all(|key| *key == 0)
                && merged[zeros..].iter().all(|key| *key == 1);
            assert!(right, "{zeros_a} and {zeros_b} zeros");
        }
    }
}
