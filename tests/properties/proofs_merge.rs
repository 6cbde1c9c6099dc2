//! Proofs by the 0-1 principle: SHEARSORT-MERGE, which merges two sorted pages.

use crate::proofs_model::{Memory, Registers, apply, padded, sweep, unsorted};
use std::ops::Range;
use wgpu_bcfsort::internals::shader::Network;

/// SHEARSORT-MERGE, whole or with a part left out, to see that it then fails.
#[derive(Clone, Copy, PartialEq)]
enum Merge {
    Whole,
    ColumnsOnly,
    BothAscending,
}

/// Merges two ascending pages `a` and `b` of together w*w keys. In the first pass, lane t is in row
/// (t + shift) % w, as for a run that starts unaligned.
fn shearsort_merge(a: &[u64], b: &[u64], w: usize, shift: usize, parts: Merge) -> Vec<u64> {
    let network = Network::bitonic_merger(w as u32);
    let position = |p: usize| match parts {
        _ if p < a.len() => a[p],
        Merge::BothAscending => b[p - a.len()],
        _ => b[w * w - 1 - p],
    };
    let row = |t: usize| (t + shift) % w;
    let mut memory = Memory::new(w);
    let mut r: Registers<u64> = (0..w)
        .map(|t| (0..w).map(|j| position(j * w + row(t))).collect())
        .collect();
    apply(&network, &mut r);
    memory.store_all(&|t, j| padded(w, j, row(t)), &r);
    if parts != Merge::ColumnsOnly {
        let mut r = memory.load_all(&|t, j| padded(w, t, j));
        apply(&network, &mut r);
        memory.store_all(&|t, j| padded(w, t, j), &r);
    }
    let r = memory.load_all(&|t, j| padded(w, j, row(t)));
    let mut sorted = vec![0; w * w];
    for t in 0..w {
        for j in 0..w {
            sorted[j * w + row(t)] = r[t][j];
        }
    }
    sorted
}

/// Merges every pair of sorted pages of zeros and ones. Returns the number of pairs, and of wrong
/// results.
fn merge_all(w: usize, lengths: Range<usize>, shift: usize, parts: Merge) -> (u64, u64) {
    let (mut tried, mut wrong) = (0, 0);
    for len in lengths {
        let states = (0..=len).flat_map(|a| (0..=w * w - len).map(move |b| (a, b)));
        let (now, bad) = sweep(
            states,
            w * w,
            |&(a, b), set| {
                (len - a..len).for_each(&mut *set);
                (w * w - b..w * w).for_each(set);
            },
            |words| {
                let (a, b) = words.split_at(len);
                unsorted(&shearsort_merge(a, b, w, shift, parts))
            },
        );
        tried += now;
        wrong += bad;
    }
    (tried, wrong)
}

#[test]
fn shearsort_merge_merges_all_pages_at_all_splits() {
    for w in [2usize, 4, 8] {
        for shift in 0..w {
            let (tried, wrong) = merge_all(w, 0..w * w + 1, shift, Merge::Whole);
            let pairs = (0..=w * w)
                .map(|a| (a + 1) * (w * w - a + 1))
                .sum::<usize>();
            assert_eq!((tried, wrong), (pairs as u64, 0), "w = {w}, shift {shift}");
        }
    }
}

#[test]
fn shearsort_merge_of_32_merges_all_pages() {
    for shift in [0, 13] {
        let counted = merge_all(32, 512..513, shift, Merge::Whole);
        assert_eq!(counted, (513 * 513, 0), "shift {shift}");
    }
}

#[test]
fn shearsort_merge_needs_both_passes_and_one_page_reversed() {
    for w in [4, 8, 32] {
        let half = w * w / 2;
        for parts in [Merge::ColumnsOnly, Merge::BothAscending] {
            assert!(merge_all(w, half..half + 1, 0, parts).1 > 0, "w = {w}");
        }
    }
}
