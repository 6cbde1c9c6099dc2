//! Proofs by the 0-1 principle: SHEARSORT-LONG, which sorts several matrices as one.

use crate::proofs_model::{Memory, Registers, apply, by_rank, cell, transpose_at};
use crate::proofs_model::{random, random_words, sweep, unsorted};
use wgpu_bcfsort::internals::shader::Network;

/// The form of SHEARSORT-LONG.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Long {
    Transposing,
    Diagonal,
}

/// SHEARSORT-LONG of w*w*h keys by h warps. `keys` has the order of the cells. `outer` and `inner`
/// are the numbers of rounds; log2(w) and log2(h) rounds sort.
fn shearsort_long(keys: &[u64], w: usize, form: Long, outer: usize, inner: usize) -> Vec<u64> {
    let h = keys.len() / (w * w);
    let lines_network = Network::odd_even_merge_sort(w as u32);
    let segments_network = Network::odd_even_merge_sort(h as u32).side_by_side((w / h) as u32);
    let transposes = form == Long::Transposing;
    let mut memory = Memory::of(w, h);
    memory.cells[..keys.len()].copy_from_slice(keys);
    // All warps load, then all warps store, as with the shader's barriers.
    let load = |memory: &Memory<u64>, address: &dyn Fn(usize, usize, usize) -> usize| {
        (0..h)
            .map(|warp| memory.load_all(&|t, j| address(warp, t, j)))
            .collect::<Vec<_>>()
    };
    let store = |memory: &mut Memory<u64>,
                 address: &dyn Fn(usize, usize, usize) -> usize,
                 r: &[Registers<u64>]| {
        for (warp, r) in r.iter().enumerate() {
            memory.store_all(&|t, j| address(warp, t, j), r);
        }
    };
    let transpose_all = |memory: &mut Memory<u64>| {
        for warp in (0..h).filter(|_| transposes) {
            transpose_at(memory, warp * w * w, w / 2);
        }
    };
    // The address of position p of a line in matrix `square`.
    let position = |square: usize, line: usize, p: usize| {
        let bank = if transposes { p } else { (line + p) % w };
        let column = if transposes { line } else { p };
        square * w * w + cell(w, bank, column)
    };
    let of_lines = |warp: usize, t: usize, j: usize| position(warp, j, t);
    let of_parts = |warp: usize, t: usize, j: usize| position(j % h, warp * (w / h) + j / h, t);

    let round = 2 * inner + 2;
    for sweep in 0..=round * outer + 2 * inner {
        let pass = sweep % round;
        if pass == 0 {
            let r = load(&memory, &of_parts);
            store(&mut memory, &of_lines, &r);
        }
        transpose_all(&mut memory);
        if pass == round - 1 {
            // Odd rows of the long matrix are reversed. If w = h, a warp has one row.
            let r = load(&memory, &|warp, t, j| {
                if (warp * (w / h) + j / h) % 2 == 1 {
                    of_lines(warp, w - 1 - t, j - j % h + (h - 1 - j % h))
                } else {
                    of_lines(warp, t, j)
                }
            });
            store(&mut memory, &of_parts, &r);
        }
        let lines = pass.is_multiple_of(2);
        let address = |warp: usize, t: usize, j: usize| {
            warp * w * w
                + match form {
                    Long::Transposing => cell(w, t, j),
                    Long::Diagonal => cell(w, (t + j) % w, if lines { j } else { t }),
                }
        };
        let mut r = load(&memory, &address);
        for warp in &mut r {
            if lines || pass == round - 1 {
                apply(&lines_network, warp);
            } else {
                apply(&segments_network, warp);
            }
            if lines && pass < 2 * inner {
                // The shader's transposing form does this by address, in the same row.
                let odd = warp.iter_mut().skip(1).step_by(2);
                odd.for_each(|lane| lane.reverse());
            }
        }
        store(&mut memory, &address, &r);
    }
    transpose_all(&mut memory);
    // The keys of warp 0, then those of warp 1. Lane t writes rank j*w + t of its warp.
    load(&memory, &of_lines).iter().flat_map(by_rank).collect()
}

const LONG_FORMS: [Long; 2] = [Long::Transposing, Long::Diagonal];

/// Fills `w` rows of w*h keys, each given by its number of ones. The numbers are the digits of the
/// state. After the first pass, the positions of the ones in a row do not matter.
fn fill_rows(w: usize, h: usize) -> impl Fn(&u64, &mut dyn FnMut(usize)) {
    move |state, set| {
        let mut state = *state as usize;
        for row in 0..w {
            let ones = state % (w * h + 1);
            state /= w * h + 1;
            // Part k of row `row` is a column of the square matrix k before the first sort.
            (0..ones).for_each(|i| set(i % h * w * w + row * w + i / h));
        }
    }
}

/// Moves the columns of square matrices to where a form of the kernel stores them: columns or
/// diagonals.
fn in_form(form: Long, words: &[u64], w: usize) -> Vec<u64> {
    let mut keys = words.to_vec();
    if form == Long::Diagonal {
        for (i, key) in keys.iter_mut().enumerate() {
            let (square, bank, p) = (i / (w * w), i % w, i / w % w);
            let diagonal = (bank + w - p) % w;
            *key = words[square * w * w + cell(w, p, diagonal)];
        }
    }
    keys
}

/// Without outer rounds, SHEARSORT-LONG sorts rows of h lines each. After the first sort, a line is
/// determined by its number of ones. How many even and how many odd lines have each number
/// determines the columns across the lines.
#[test]
fn segmented_shearsort_sorts_every_zero_one_input_in_log_h_rounds_and_not_in_fewer() {
    let multisets = |w: usize, size: usize| -> Vec<Vec<usize>> {
        (0..size).fold(vec![Vec::new()], |sets, _| {
            let longer = |set: &Vec<usize>| -> Vec<Vec<usize>> {
                let first = set.last().copied().unwrap_or(0);
                (first..=w)
                    .map(|next| [set.as_slice(), &[next]].concat())
                    .collect()
            };
            sets.iter().flat_map(longer).collect()
        })
    };
    for (w, h, all) in [
        (4usize, 2usize, true),
        (4, 4, true),
        (8, 2, true),
        (8, 4, true),
        (8, 8, true),
        (32, 2, true),
        (32, 4, true),
        (32, 8, false),
    ] {
        // The numbers of ones of a row's lines.
        let mut states: Vec<Vec<usize>> = Vec::new();
        let alternating = |even: &[usize], odd: &[usize]| -> Vec<usize> {
            even.iter()
                .zip(odd)
                .flat_map(|(&even, &odd)| [even, odd])
                .collect()
        };
        if all {
            let half = multisets(w, h / 2);
            for even in &half {
                states.extend(half.iter().map(|odd| alternating(even, odd)));
            }
        } else {
            // One zero in each even line and no other zeros; and random states.
            states.push(alternating(&vec![w - 1; h / 2], &vec![w; h / 2]));
            let mut state = 1;
            let mut ones = |_| (random(&mut state) >> 32) as usize % (w + 1);
            states.extend((0..20_000).map(|_| (0..h).map(&mut ones).collect::<Vec<_>>()));
        }
        let run = |form, inner: u32| {
            // A different state in each of the w rows.
            let fill = |states: &&[Vec<usize>], set: &mut dyn FnMut(usize)| {
                for (row, lines) in states.iter().enumerate() {
                    for (line, &ones) in lines.iter().enumerate() {
                        (0..ones).for_each(|p| set(line * w * w + cell(w, p, row)));
                    }
                }
            };
            let (_, wrong) = sweep(states.chunks(w), w * w * h, fill, |words| {
                let keys = in_form(form, words, w);
                let keys = shearsort_long(&keys, w, form, 0, inner as usize);
                keys.chunks(w * h)
                    .map(unsorted)
                    .fold(0, |all, bad| all | bad)
            });
            wrong
        };
        for form in LONG_FORMS {
            let what = format!("{form:?}, w = {w}, h = {h}");
            assert_eq!(run(form, h.ilog2()), 0, "{what}");
            assert!(run(form, h.ilog2() - 1) > 0, "{what}, one round fewer");
        }
    }
}

#[test]
fn long_shearsort_of_2_and_4_sorts_every_zero_one_input_and_not_in_fewer_rounds() {
    for (w, h) in [(2usize, 1usize), (2, 2), (4, 1), (4, 2), (4, 4)] {
        let states = ((w * h + 1) as u64).pow(w as u32);
        let run = |form, outer: u32, inner: u32| {
            let fill = fill_rows(w, h);
            sweep(0..states, w * w * h, fill, |words| {
                let keys = in_form(form, words, w);
                unsorted(&shearsort_long(
                    &keys,
                    w,
                    form,
                    outer as usize,
                    inner as usize,
                ))
            })
        };
        for form in LONG_FORMS {
            let what = format!("{form:?}, w = {w}, h = {h}");
            assert_eq!(run(form, w.ilog2(), h.ilog2()), (states, 0), "{what}");
            let (_, wrong) = run(form, w.ilog2() - 1, h.ilog2());
            assert!(wrong > 0, "{what}, one outer round fewer");
            if h > 1 {
                let (_, wrong) = run(form, w.ilog2(), h.ilog2() - 1);
                assert!(wrong > 0, "{what}, one inner round fewer");
            }
        }
        if w * w * h <= 16 {
            // Every input, without the reduction to numbers of ones.
            let inputs = 1 << (w * w * h);
            for form in LONG_FORMS {
                let counted = sweep(
                    0..inputs,
                    w * w * h,
                    |value: &u64, set| (0..w * w * h).filter(|i| value >> i & 1 == 1).for_each(set),
                    |words| {
                        let (outer, inner) = (w.ilog2() as usize, h.ilog2() as usize);
                        unsorted(&shearsort_long(words, w, form, outer, inner))
                    },
                );
                assert_eq!(counted, (inputs, 0), "{form:?}, w = {w}, h = {h}");
            }
        }
    }
}

#[test]
fn long_shearsort_of_8_and_32_sorts_random_and_tight_inputs_and_not_in_fewer_outer_rounds() {
    let mut state = 1;
    for (w, h) in [
        (8usize, 1usize),
        (8, 2),
        (8, 4),
        (8, 8),
        (32, 1),
        (32, 2),
        (32, 4),
        (32, 8),
    ] {
        let keys = w * w * h;
        let (outer, inner) = (w.ilog2() as usize, h.ilog2() as usize);
        // The only zeros are one in each even row, in part 0: every outer round halves them.
        let tight: Vec<u64> = (0..keys)
            .map(|i| {
                if i < w * w && i % (2 * w) == 0 {
                    0
                } else {
                    u64::MAX
                }
            })
            .collect();
        let mut inputs: Vec<Vec<u64>> = (0..20).map(|_| random_words(&mut state, keys)).collect();
        // Rows that are mostly all ones or all zeros, with a few keys flipped.
        for _ in 0..20 {
            let rows: Vec<u64> = (0..w * h).map(|_| random(&mut state)).collect();
            let mixed = random_words(&mut state, keys);
            let key = |i: usize| {
                let kept = random(&mut 1_u64.wrapping_add(i as u64));
                rows[i / w] ^ (mixed[i] & kept & mixed[(i * 7) % keys])
            };
            inputs.push((0..keys).map(key).collect());
        }
        for form in LONG_FORMS {
            let what = format!("{form:?}, w = {w}, h = {h}");
            let sorts = |keys: &[u64], outer, inner| {
                unsorted(&shearsort_long(keys, w, form, outer, inner)) == 0
            };
            let all = || std::iter::once(&tight).chain(&inputs);
            assert!(all().all(|keys| sorts(keys, outer, inner)), "{what}");
            assert!(
                !all().all(|keys| sorts(keys, outer - 1, inner)),
                "{what}, one outer round fewer"
            );
        }
    }
}
