//! Proofs by the 0-1 principle: Shearsort and bitonic sort of a matrix of any width w.
//!
//! A network that sorts all inputs of zeros and ones sorts all inputs (Knuth, vol. 3, section
//! 5.3.4).

use crate::proofs_model::{Memory, Registers, apply, by_rank, cell, padded, transpose};
use crate::proofs_model::{random_words, sweep, unsorted};
use wgpu_bcfsort::internals::shader::Network;

/// Returns the keys in output order: lane t writes rank j*w + t.
fn shearsort_transpose(rows: &Registers<u64>, rounds: u32) -> Vec<u64> {
    let w = rows.len();
    let network = Network::odd_even_merge_sort(w as u32);
    let mut memory = Memory::new(w);
    memory.store_all(&|t, j| cell(w, t, j), rows);
    for sweep in 0..=2 * rounds {
        let mut r = memory.load_all(&|t, j| cell(w, t, j));
        apply(&network, &mut r);
        let descending = |t| sweep % 2 == 0 && sweep < 2 * rounds && t % 2 == 1;
        memory.store_all(
            &|t, j| cell(w, t, if descending(t) { w - 1 - j } else { j }),
            &r,
        );
        transpose(&mut memory, w / 2);
    }
    by_rank(&memory.load_all(&|t, j| cell(w, t, j)))
}

fn shearsort_diagonal(rows: &Registers<u64>, rounds: u32) -> Vec<u64> {
    let w = rows.len();
    let network = Network::odd_even_merge_sort(w as u32);
    let mut memory = Memory::new(w);
    memory.store_all(&|t, j| cell(w, (t + j) % w, j), rows);
    for sweep in 0..=2 * rounds {
        let diagonal = sweep % 2 == 0;
        let address = |t, j| cell(w, (t + j) % w, if diagonal { j } else { t });
        let mut r = memory.load_all(&address);
        apply(&network, &mut r);
        if diagonal && sweep < 2 * rounds {
            r.iter_mut()
                .skip(1)
                .step_by(2)
                .for_each(|lane| lane.reverse());
        }
        memory.store_all(&address, &r);
    }
    by_rank(&memory.load_all(&|t, j| cell(w, (t + j) % w, t)))
}

/// The comparators of the loops that sort rows in `ShearSort` without registers, in order. The rest
/// of that kernel is the transposing form.
///
/// Odd-even transposition sort has conflicts and no model here. It needs no proof: 1024 rounds sort
/// 1024 keys (Knuth, exercise 5.3.4-37).
fn comparators_of_the_loops(w: u32) -> Vec<(u32, u32)> {
    let mut comparators = Vec::new();
    let mut block = 1;
    while block < w {
        let mut distance = block;
        while distance >= 1 {
            let skipped = if distance == block { 0 } else { distance };
            for start in (0..w).step_by(2 * block as usize) {
                let mut group = start + skipped;
                while group + distance < start + 2 * block {
                    comparators.extend((group..group + distance).map(|i| (i, i + distance)));
                    group += 2 * distance;
                }
            }
            distance /= 2;
        }
        block *= 2;
    }
    comparators
}

/// Bitonic sort for k = `from` to `to`, in the padded layout: lines sorted in blocks of
/// 2^(from - 1) become sorted in blocks of 2^to.
fn bitonic_passes(lines: &Registers<u64>, from: u32, to: u32) -> Registers<u64> {
    let w = lines.len();
    let mut memory = Memory::new(w);
    let store_lines = |memory: &mut Memory<u64>, r: &Registers<u64>, k: u32| {
        let mut lines = r.clone();
        for (t, line) in lines.iter_mut().enumerate() {
            if t >> k & 1 == 1 {
                line.reverse();
            }
        }
        memory.store_all(&|t, j| padded(w, t, j), &lines);
    };
    store_lines(&mut memory, lines, from - 1);
    for k in from..=to {
        let mut r = memory.load_all(&|t, j| padded(w, j, t));
        apply(&Network::bitonic_cross(w as u32, k), &mut r);
        memory.store_all(&|t, j| padded(w, j, t), &r);
        let mut r = memory.load_all(&|t, j| padded(w, t, j));
        apply(&Network::bitonic_merger(w as u32), &mut r);
        store_lines(&mut memory, &r, if k == to { w.ilog2() } else { k });
    }
    let columns = memory.load_all(&|t, j| padded(w, j, t));
    (0..w)
        .map(|j| (0..w).map(|t| columns[t][j]).collect())
        .collect()
}

fn bitonic_matrix(lines: &Registers<u64>) -> Vec<u64> {
    let w = lines.len();
    let mut lines = lines.clone();
    apply(&Network::odd_even_merge_sort(w as u32), &mut lines);
    bitonic_passes(&lines, 1, w.ilog2()).concat()
}

fn rows(words: &[u64], w: usize) -> Registers<u64> {
    words.chunks_exact(w).map(<[u64]>::to_vec).collect()
}

type Shearsort = fn(&Registers<u64>, u32) -> Vec<u64>;
const SHEARSORTS: [(&str, Shearsort); 2] = [
    ("transposing", shearsort_transpose),
    ("diagonal", shearsort_diagonal),
];

#[test]
fn shearsort_of_2_and_4_sorts_every_zero_one_input() {
    for (name, sort) in SHEARSORTS {
        for w in [2usize, 4] {
            let fill = |value: &u64, set: &mut dyn FnMut(usize)| {
                (0..w * w).filter(|i| value >> i & 1 == 1).for_each(set);
            };
            let inputs = 1 << (w * w);
            let run = |rounds| {
                sweep(0..inputs, w * w, fill, |words| {
                    unsorted(&sort(&rows(words, w), rounds))
                })
            };
            assert_eq!(run(w.ilog2()), (inputs, 0), "{name}, w = {w}");
            let (_, wrong) = run(w.ilog2() - 1);
            assert!(wrong > 0, "{name}, w = {w}, one round fewer");
        }
    }
}

/// The 495 ways to choose four counts of 0..=8 in ascending order.
fn counts() -> Vec<[usize; 4]> {
    let mut found = Vec::new();
    for a in 0..=8 {
        for b in a..=8 {
            for c in b..=8 {
                found.extend((c..=8).map(|d| [a, b, c, d]));
            }
        }
    }
    found
}

/// After the first pass, its number of ones determines a row. How many even rows and how many odd
/// rows have each number determines the columns. So 495 * 495 states represent all 2^64 inputs.
#[test]
fn shearsort_of_8_sorts_every_zero_one_input() {
    let counts = counts();
    for (name, sort) in SHEARSORTS {
        let states = || {
            counts
                .iter()
                .flat_map(|even| counts.iter().map(move |odd| (even, odd)))
        };
        let fill = |&(even, odd): &(&[usize; 4], &[usize; 4]), set: &mut dyn FnMut(usize)| {
            for i in 0..4 {
                (0..even[i]).for_each(|j| set(2 * i * 8 + j));
                (0..odd[i]).for_each(|j| set((2 * i + 1) * 8 + j));
            }
        };
        let run = |rounds| {
            sweep(states(), 64, fill, |words| {
                unsorted(&sort(&rows(words, 8), rounds))
            })
        };
        assert_eq!(run(3), (245_025, 0), "{name}");
        assert!(run(2).1 > 0, "{name}, one round fewer");
    }
}

#[test]
fn shearsort_of_32_sorts_random_inputs_and_the_tight_one() {
    let mut state = 1;
    // The only zeros are in column 0 of each even row: every round halves them.
    let tight: Vec<u64> = (0..1024)
        .map(|i| if i % 64 == 0 { 0 } else { u64::MAX })
        .collect();
    for (name, sort) in SHEARSORTS {
        assert_eq!(unsorted(&sort(&rows(&tight, 32), 5)), 0, "{name}");
        assert_ne!(
            unsorted(&sort(&rows(&tight, 32), 4)),
            0,
            "{name}, one round fewer"
        );
        for _ in 0..100 {
            let words = random_words(&mut state, 1024);
            assert_eq!(unsorted(&sort(&rows(&words, 32), 5)), 0, "{name}");
        }
    }
}

#[test]
fn the_loops_of_shearsort_without_registers_are_batchers_network() {
    for w in [2, 4, 8, 16, 32] {
        let network = Network::odd_even_merge_sort(w);
        assert_eq!(comparators_of_the_loops(w), network.comparators());
    }
}

#[test]
fn bitonic_of_2_and_4_sorts_every_zero_one_input() {
    for w in [2usize, 4] {
        let inputs = 1 << (w * w);
        let counted = sweep(
            0..inputs,
            w * w,
            |value: &u64, set| (0..w * w).filter(|i| value >> i & 1 == 1).for_each(set),
            |words| unsorted(&bitonic_matrix(&rows(words, w))),
        );
        assert_eq!(counted, (inputs, 0), "w = {w}");
    }
}

/// Pass k merges blocks of 2^(k-1) sorted lines into blocks of 2^k: tested for every pair of sorted
/// halves in every block. `src/shader/network.rs` proves the sort of single lines, so this covers
/// all inputs.
#[test]
fn bitonic_of_8_and_32_merges_all_halves_of_all_blocks() {
    for w in [8usize, 32] {
        for k in 1..=w.ilog2() {
            let half = (w << k) / 2;
            let blocks = w >> k;
            // A different pair in each block.
            let pairs: Vec<_> = (0..=half)
                .flat_map(|a| (0..=half).map(move |b| (a, b)))
                .collect();
            let (_, wrong) = sweep(
                pairs.chunks(blocks),
                w * w,
                |pairs: &&[(usize, usize)], set| {
                    for (block, &(a, b)) in pairs.iter().enumerate() {
                        let first = 2 * half * block;
                        (first + half - a..first + half).for_each(&mut *set);
                        (first + 2 * half - b..first + 2 * half).for_each(&mut *set);
                    }
                },
                |words| {
                    let keys = bitonic_passes(&rows(words, w), k, k).concat();
                    let bad = keys.chunks(2 * half).map(unsorted);
                    bad.fold(0, |all, bad| all | bad)
                },
            );
            assert_eq!(wrong, 0, "w = {w}, k = {k}");
        }
    }
}

#[test]
fn bitonic_of_32_sorts_random_inputs() {
    let mut state = 1;
    for _ in 0..100 {
        let words = random_words(&mut state, 1024);
        assert_eq!(unsorted(&bitonic_matrix(&rows(&words, 32))), 0);
    }
}
