//! Partial sorts of segments in lock-step: some ranks of each segment, compared with the CPU.

use bcfsort_testkit::recordings::{Execution, unexpected};
use std::ops::Range;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::layout::{LayoutSort, Output, SortLayout};
use wgpu_bcfsort::internals::recording::Buffer;
use wgpu_bcfsort::internals::samplesort;
use wgpu_bcfsort::{KeyType, Order, Tuning};
use wgsl_lockstep::Config;

const LIMITS: DeviceLimits = DeviceLimits {
    workgroup_bytes: 32 << 10,
    ..bcfsort_testkit::LIMITS
};

/// Records of a sort: several tiles, so that items outside of the ranks are left unsorted.
const LEN: u32 = 6000;

/// The state of an item that needs no sort, in `samplesort/params.wgsl`.
const DONE: u32 = 1;

fn key(key: KeyType, i: u32) -> u64 {
    let mixed = (u64::from(i) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    // Every third key has an equal one.
    let mixed = if i.is_multiple_of(3) {
        u64::from(i % 40)
    } else {
        mixed
    };
    mixed & u64::MAX >> (64 - 32 * key.words())
}

/// Sorts these ranks of each segment, and returns the number of items that needed no sort. If
/// offsets descend, no order is expected.
fn check(
    (of, order): (KeyType, Order),
    is_argsort: bool,
    offsets: &[u32],
    ranks: Range<u32>,
) -> u32 {
    let what = format!("{of} {order:?}, {is_argsort}, {offsets:?}, {ranks:?}");
    let layout = SortLayout {
        segments: Some(offsets.len() as u32),
        offsets_first: 1,
        indices: is_argsort.then_some(0),
        output: if is_argsort {
            Output::None
        } else {
            Output::InPlace
        },
        ..SortLayout::default()
    };
    let tuning = Tuning {
        merged: 0,
        ..Tuning::cpu()
    };
    let job = LayoutSort {
        len: LEN,
        key: of,
        order,
        layout: &layout,
        ranks: Some(ranks.clone()),
        maps_keys: true,
        counting: None,
        limits: &LIMITS,
    };
    let recording = job.record(&|recording, sort| {
        samplesort::record(recording, sort, &tuning, &LIMITS);
    });
    let keys: Vec<u64> = (0..LEN).map(|i| key(of, i)).collect();
    let words: Vec<u32> = keys
        .iter()
        .flat_map(|&key| {
            [key as u32, (key >> 32) as u32]
                .into_iter()
                .take(of.words() as usize)
        })
        .collect();
    let mut execution = Execution::new(&recording, &words, Config::default());
    execution.set_buffer(Buffer::Offsets, [&[u32::MAX], offsets].concat());
    execution.set_buffer(Buffer::Values, vec![7; LEN as usize]);
    for kernel in execution.run().unwrap() {
        let findings = unexpected(&kernel.report);
        assert!(findings.is_empty(), "{what}: {findings:?}");
    }

    let code = |key: u64| of.map(order).encode(key);
    // What a record is told apart by: its key, and of an argsort its index.
    let found: Vec<(u64, u32)> = if is_argsort {
        let indices = execution.buffer(Buffer::Values).iter();
        indices.map(|&i| (code(keys[i as usize]), i)).collect()
    } else {
        let sorted = execution.buffer(Buffer::Keys).chunks(of.words() as usize);
        let key = |words: &[u32]| {
            u64::from(words[0]) | u64::from(words.get(1).copied().unwrap_or(0)) << 32
        };
        sorted.map(|words| (code(key(words)), 0)).collect()
    };
    let all = (0..LEN).map(|i| (code(keys[i as usize]), if is_argsort { i } else { 0 }));
    let all: Vec<(u64, u32)> = all.collect();
    let parts = if offsets.is_sorted() { offsets } else { &[] };
    let mut bounds: Vec<usize> = parts.iter().map(|&at| at.min(LEN) as usize).collect();
    bounds.insert(0, 0);
    bounds.push(LEN as usize);
    for of in bounds.windows(2) {
        let [begin, end] = [of[0], of[1]];
        let at = |rank: u32| (begin + rank as usize).min(end);
        let [mut found, mut expected] = [&found, &all].map(|all| all[begin..end].to_vec());
        let [first, last] = [at(ranks.start) - begin, at(ranks.end) - begin];
        expected.sort_unstable();
        if parts.is_empty() {
            found.sort_unstable();
        } else {
            found[..first].sort_unstable();
            found[last..].sort_unstable();
        }
        assert!(found == expected, "{what}: {begin} to {end}");
    }
    let items = execution.buffer(Buffer::Items);
    let states = items[1..].chunks(3).take(items[0] as usize);
    states.filter(|item| item[2] == DONE).count() as u32
}

#[test]
fn some_ranks_of_each_segment_are_sorted() {
    let offsets: [&[u32]; 4] = [
        &[0],
        &[0, 0, 9, 10, 3000],
        &[700, 2500, 5998, 6000],
        &[1, 9000],
    ];
    for (of, order) in [
        (KeyType::U32, Order::Ascending),
        (KeyType::F32, Order::Descending),
        (KeyType::I64, Order::Ascending),
    ] {
        for is_argsort in [false, true] {
            for (number, offsets) in offsets.into_iter().enumerate() {
                let ranks = [0..5, 100..900, 2..2, 0..LEN];
                let which = (number + of.words() as usize + usize::from(is_argsort)) % 4;
                let ranks = ranks[which].clone();
                let left = check((of, order), is_argsort, offsets, ranks.clone());
                assert!(
                    left > 0 || ranks.len() > 5,
                    "{offsets:?}, {ranks:?}: all sorted"
                );
            }
        }
    }
    // Offsets that descend say nothing of the order, but all records are there.
    check(
        (KeyType::U32, Order::Ascending),
        true,
        &[4000, 3000, 5],
        1..50,
    );
}
