//! Inputs that give pairwise merge sorts the most bank conflicts.
//!
//! A GPU merge sort that merges in workgroup memory gives each lane E consecutive outputs, which
//! the lane merges serially. The keys decide which banks the 32 lanes of a warp read in a step.
//! This order of keys makes E lanes read the same bank in nearly every step of every warp. The idea
//! is from Berney and Sitchinava, "Engineering worst-case inputs for pairwise merge sort on GPUs"
//! (IPDPS 2020); the construction is a dynamic program.
//!
//! For its E x 32 outputs, a warp reads `ceil(E/2) * 32` keys from run A and the rest from run B.
//! Both runs begin at bank 0, in this warp and in the next. Take a lane that reads first `a` keys
//! from A, then the rest from B, after `pa` and `pb` keys that earlier lanes consumed. While it
//! reads A, it reads bank `pa + step`; if `pa = s mod 32`, that is bank `s + step` in each of these
//! steps. If `pb - a = s mod 32`, its reads of B continue in bank `s + step`. A bank holds E of the
//! warp's keys, so each of E steps can have at most E lanes in bank `s + step`: the bound is
//! `E * E`.

use super::random::Random;
use super::values::from_rank;
use wgpu_bcfsort::SortKey;

/// Lanes of a warp and banks of its memory.
pub const WARP: u32 = 32;

/// How many keys a lane reads from run A, and which run it reads first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lane {
    from_a: usize,
    a_first: bool,
}

/// The lanes of a warp, and the number of reads that hit the crowded bank: at most `items * items`.
fn schedule(items: usize) -> (Vec<Lane>, usize) {
    let lanes = WARP as usize;
    let total_a = items.div_ceil(2) * lanes;
    let total_b = items * lanes - total_a;
    let mut best = (Vec::new(), 0);
    for s in 0..lanes {
        let crowded = |position: usize| (position + lanes - s).is_multiple_of(lanes);
        // Where a lane would have begun in its second run, had it read that run from step 0.
        let shifted = |position: usize, steps: usize| position + lanes * items - steps;
        // gains[pa]: the best score of the lanes so far, with pa keys read from A.
        let mut gains = vec![None; total_a + 1];
        gains[0] = Some(0);
        let mut choices = vec![vec![Lane::default(); total_a + 1]; lanes];
        for (lane, choices) in choices.iter_mut().enumerate() {
            let mut next: Vec<Option<usize>> = vec![None; total_a + 1];
            for pa in 0..=total_a.min(lane * items) {
                let (Some(gain), pb) = (gains[pa], lane * items - pa) else {
                    continue;
                };
                for a in 0..=items.min(total_a - pa) {
                    let b = items - a;
                    if pb + b > total_b {
                        continue;
                    }
                    let a_first =
                        a * usize::from(crowded(pa)) + b * usize::from(crowded(shifted(pb, a)));
                    let b_first =
                        b * usize::from(crowded(pb)) + a * usize::from(crowded(shifted(pa, b)));
                    let reached = gain + a_first.max(b_first);
                    if next[pa + a].is_none_or(|before| before < reached) {
                        next[pa + a] = Some(reached);
                        choices[pa + a] = Lane {
                            from_a: a,
                            a_first: a_first >= b_first,
                        };
                    }
                }
            }
            gains = next;
        }
        let gain = gains[total_a].unwrap_or(0);
        if gain > best.1 {
            let mut pa = total_a;
            let mut chosen = vec![Lane::default(); lanes];
            for lane in (0..lanes).rev() {
                chosen[lane] = choices[lane][pa];
                pa -= chosen[lane].from_a;
            }
            best = (chosen, gain);
        }
    }
    best
}

/// For each output of a warp: true if it comes from run A.
fn outputs(items: usize) -> Vec<bool> {
    let lane = |lane: Lane| {
        (0..items).map(move |step| {
            if lane.a_first {
                step < lane.from_a
            } else {
                step >= items - lane.from_a
            }
        })
    };
    schedule(items).0.into_iter().flat_map(lane).collect()
}

/// The keys of ranks 1 to `keys.len()`, which must be `32 * items * 2^k`, in adversarial order.
///
/// Starts from the sorted keys and un-merges them level by level. On entry `sorted` holds the keys,
/// and `scratch` has the same length. Runs of `32 * items` keys at the bottom are shuffled. Every
/// second warp uses the schedule with A and B exchanged, so that both runs of a merge have the same
/// length.
fn unmerge<T: SortKey>(
    sorted: &mut Vec<T>,
    scratch: &mut Vec<T>,
    items: usize,
    random: &mut Random,
) {
    let pattern = outputs(items);
    let mut length = sorted.len();
    while length > pattern.len() {
        for (from, to) in sorted
            .chunks_exact(length)
            .zip(scratch.chunks_exact_mut(length))
        {
            let (mut a, mut b) = (0, length / 2);
            for (warp, outputs) in from.chunks_exact(pattern.len()).enumerate() {
                for (&key, &from_a) in outputs.iter().zip(&pattern) {
                    let side = if from_a == (warp % 2 == 0) {
                        &mut a
                    } else {
                        &mut b
                    };
                    to[*side] = key;
                    *side += 1;
                }
            }
        }
        std::mem::swap(sorted, scratch);
        length /= 2;
    }
    for run in sorted.chunks_exact_mut(pattern.len()) {
        random.shuffle(run);
    }
}

/// Fills `keys` with `count` keys, which must be `32 * items * 2^k`. `keys` and `scratch` must be
/// empty; with that capacity they do not allocate.
pub(super) fn fill<T: SortKey>(
    mut keys: Vec<T>,
    mut scratch: Vec<T>,
    count: u64,
    items: u32,
    random: &mut Random,
) -> Vec<T> {
    keys.extend((1..=count).map(from_rank::<T>));
    scratch.extend_from_slice(&keys);
    unmerge(&mut keys, &mut scratch, items as usize, random);
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_reaches_the_known_scores() {
        for (items, gain) in [(17, 288), (15, 225)] {
            let (lanes, reached) = schedule(items);
            assert_eq!(reached, gain);
            let from_a: usize = lanes.iter().map(|lane| lane.from_a).sum();
            assert_eq!(from_a, items.div_ceil(2) * 32);
        }
    }

    /// Merges two sorted runs as a GPU would, 32 lanes with `items` outputs each, and returns for
    /// each warp the sum over the steps of the largest number of lanes in one bank.
    fn conflicts(a: &[u32], b: &[u32], items: usize) -> Vec<usize> {
        // The position in its run that each output is read from.
        let (mut i, mut j) = (0, 0);
        let reads: Vec<usize> = (0..a.len() + b.len())
            .map(|_| {
                let from_a = j == b.len() || (i < a.len() && a[i] <= b[j]);
                let side = if from_a { &mut i } else { &mut j };
                *side += 1;
                *side - 1
            })
            .collect();
        reads
            .chunks_exact(32 * items)
            .map(|warp| {
                (0..items)
                    .map(|step| {
                        let mut banks = [0; 32];
                        for lane in 0..32 {
                            banks[warp[lane * items + step] % 32] += 1;
                        }
                        banks.into_iter().max().unwrap_or(0)
                    })
                    .sum()
            })
            .collect()
    }

    #[test]
    fn every_merge_has_the_scheduled_conflicts() {
        for (items, gain) in [(17u32, 288), (15, 225)] {
            let unit = 32 * items as usize;
            let count = unit * 8;
            let keys = fill(
                Vec::new(),
                Vec::new(),
                count as u64,
                items,
                &mut Random::new(1),
            );
            let mut run = unit;
            let mut sorted: Vec<u32> = keys.clone();
            while run < count {
                sorted
                    .chunks_exact_mut(run)
                    .for_each(<[u32]>::sort_unstable);
                for pair in sorted.chunks_exact(2 * run) {
                    let (a, b) = pair.split_at(run);
                    let found = conflicts(a, b, items as usize);
                    assert!(found.iter().all(|&c| c >= gain), "{found:?}");
                }
                run *= 2;
            }
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(1..=count as u32));

            let mut random: Vec<u32> = keys;
            Random::new(2).shuffle(&mut random);
            let (a, b) = random.split_at_mut(count / 2);
            a.sort_unstable();
            b.sort_unstable();
            let found = conflicts(a, b, items as usize);
            assert!(found.iter().all(|&c| c < gain / 2), "{found:?}");
        }
    }

    #[test]
    fn every_number_of_items_works() {
        for items in 2..=33 {
            let keys: Vec<u32> = fill(
                Vec::new(),
                Vec::new(),
                u64::from(items) * 128,
                items,
                &mut Random::new(1),
            );
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(1..=items * 128));
        }
    }
}
