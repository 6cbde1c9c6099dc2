//! Proofs by the 0-1 principle: the networks of warpsort, which sort a tile and merge two pages.

use crate::proofs_model::{random, sweep, unsorted};

/// Keys that a warp of warpsort sorts: 4 for each of 32 lanes. A page is half of them.
const TILE: usize = 128;

/// A stage of warpsort's networks by one warp. Lane t has two comparators; each puts the smaller
/// key into its first cell. Every cell must be in exactly one comparator. Returns the largest
/// number of lanes in one bank.
fn stage(tile: &mut [u64; TILE], comparators: impl Fn(usize) -> [(usize, usize); 2]) -> usize {
    let mut seen = [false; TILE];
    let mut degree = 0;
    for first_or_second in 0..2 {
        let mut banks = [[0; 32]; 2];
        for t in 0..32 {
            let (low, high) = comparators(t)[first_or_second];
            let (a, b) = (tile[low], tile[high]);
            (tile[low], tile[high]) = (a & b, a | b);
            for (side, cell) in [low, high].into_iter().enumerate() {
                assert!(
                    !std::mem::replace(&mut seen[cell], true),
                    "cell {cell} twice"
                );
                banks[side][cell % 32] += 1;
            }
        }
        degree = degree.max(banks.into_iter().flatten().max().unwrap());
    }
    degree
}

/// `merge_bitonic`, with two ascending comparators per lane.
fn merge_bitonic(tile: &mut [u64; TILE]) -> usize {
    let distances = [64, 32, 16, 8, 4, 2, 1].into_iter();
    let degrees = distances.map(|distance| {
        stage(tile, |t| {
            [t, 32 + t].map(|number| {
                let low = number + (number & !(distance - 1));
                (low, low + distance)
            })
        })
    });
    degrees.max().unwrap()
}

/// The stages of warpsort's tile that merge into blocks of `block` keys. Each lane has an ascending
/// and a descending comparator.
fn merge_blocks(tile: &mut [u64; TILE], block: usize) -> usize {
    let distances = (0..block.ilog2()).rev().map(|log| 1 << log);
    let degrees = distances.map(|distance: usize| {
        stage(tile, |t| {
            let within = t & (block / 2 - 1);
            let low = 4 * (t - within) + within + (within & !(distance - 1));
            // No key leaves its block.
            assert_eq!(low / block, (low + distance) / block);
            [(low, low + distance), (low + block + distance, low + block)]
        })
    });
    degrees.max().unwrap()
}

fn to_tile(words: &[u64]) -> [u64; TILE] {
    words.try_into().unwrap()
}

/// A descending page and then an ascending one, as in the merge.
#[test]
fn warpsorts_merge_merges_all_pages() {
    const PAGE: usize = TILE / 2;
    let states = (0..=PAGE).flat_map(|a| (0..=PAGE).map(move |b| (a, b)));
    let counted = sweep(
        states,
        TILE,
        |&(a, b), set| {
            (0..a).for_each(&mut *set);
            (TILE - b..TILE).for_each(set);
        },
        |words| {
            let mut tile = to_tile(words);
            assert_eq!(merge_bitonic(&mut tile), 2);
            unsorted(&tile)
        },
    );
    assert_eq!(counted, (65 * 65, 0));
}

/// By induction over the blocks: a block of `block` keys is merged from two sorted halves, the
/// first ascending and the second descending, and the network does not leave a block. So it is
/// enough that every block sorts every such pair of zeros and ones. The last merge is of one block.
#[test]
fn warpsorts_tile_sorts_every_zero_one_input() {
    for (block, degree) in [(2, 4), (4, 4), (8, 4), (16, 4), (32, 2), (64, 2)] {
        let half = block / 2;
        let states = (0..=half).flat_map(|a| (0..=half).map(move |b| (a, b)));
        let counted = sweep(
            states,
            TILE,
            |&(a, b), set| {
                for start in (0..TILE).step_by(block) {
                    (start + half - a..start + half).for_each(&mut *set);
                    (start + half..start + half + b).for_each(&mut *set);
                }
            },
            |words| {
                let mut tile = to_tile(words);
                assert_eq!(merge_blocks(&mut tile, block), degree);
                let blocks = tile.chunks(block).enumerate();
                blocks.fold(0, |bad, (number, keys)| {
                    let mut keys = keys.to_vec();
                    if number % 2 == 1 {
                        keys.reverse();
                    }
                    bad | unsorted(&keys)
                })
            },
        );
        assert_eq!(
            counted,
            (((half + 1) * (half + 1)) as u64, 0),
            "blocks of {block}"
        );
    }
    let states = (0..=64).flat_map(|a| (0..=64).map(move |b| (a, b)));
    let counted = sweep(
        states,
        TILE,
        |&(a, b), set| (64 - a..64 + b).for_each(set),
        |words| {
            let mut tile = to_tile(words);
            merge_bitonic(&mut tile);
            unsorted(&tile)
        },
    );
    assert_eq!(counted, (65 * 65, 0));

    // The whole sort.
    let mut state = 2;
    for _ in 0..1000 {
        let words: Vec<u64> = (0..TILE).map(|_| random(&mut state)).collect();
        let mut tile = to_tile(&words);
        for log in 1..=6 {
            merge_blocks(&mut tile, 1 << log);
        }
        merge_bitonic(&mut tile);
        assert_eq!(unsorted(&tile), 0);
    }
}
