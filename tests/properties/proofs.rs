//! Proofs by the 0-1 principle: the matrix kernels, as models for a matrix of any width w.
//!
//! Each model makes the accesses of its shader: all lanes of a step together, at the shader's
//! addresses. A step in which two lanes meet in a bank panics, at every width. A key is a `u64` of
//! 64 independent zeros and ones, so one run of a model tests 64 inputs: a comparator is an AND and
//! an OR.
//!
//! A network that sorts all inputs of zeros and ones sorts all inputs (Knuth, vol. 3, section
//! 5.3.4).

use std::ops::Range;
use wgpu_bcfsort::internals::shader::Network;

/// Workgroup memory of `banks` banks, which panics on conflicts.
struct Memory<T> {
    banks: usize,
    cells: Vec<T>,
}

impl<T: Copy + Default> Memory<T> {
    fn new(banks: usize) -> Self {
        Self::of(banks, 1)
    }

    /// Memory for `h` matrices side by side.
    fn of(banks: usize, h: usize) -> Self {
        // Room for the padded layout.
        let cells = vec![T::default(); h * banks * (banks + 1)];
        Self { banks, cells }
    }

    fn check(&self, lanes: Range<usize>, address: &dyn Fn(usize) -> usize) {
        let mut met = vec![false; self.banks];
        for t in lanes {
            let bank = &mut met[address(t) % self.banks];
            assert!(
                !*bank,
                "lane {t} meets another in bank {}",
                address(t) % self.banks
            );
            *bank = true;
        }
    }

    /// A load by each of `lanes`.
    fn load(&self, lanes: Range<usize>, address: &dyn Fn(usize) -> usize) -> Vec<T> {
        self.check(lanes.clone(), address);
        lanes.map(|t| self.cells[address(t)]).collect()
    }

    /// A store by each of `lanes`.
    fn store(&mut self, lanes: Range<usize>, address: &dyn Fn(usize) -> usize, keys: &[T]) {
        self.check(lanes.clone(), address);
        for t in lanes.clone() {
            self.cells[address(t)] = keys[t - lanes.start];
        }
    }

    /// w loads by each lane into its registers.
    fn load_all(&self, address: &dyn Fn(usize, usize) -> usize) -> Registers<T> {
        let w = self.banks;
        let columns: Vec<_> = (0..w)
            .map(|j| self.load(0..w, &|t| address(t, j)))
            .collect();
        (0..w)
            .map(|t| (0..w).map(|j| columns[j][t]).collect())
            .collect()
    }

    fn store_all(&mut self, address: &dyn Fn(usize, usize) -> usize, r: &Registers<T>) {
        let w = self.banks;
        for j in 0..w {
            let keys: Vec<T> = r.iter().map(|lane| lane[j]).collect();
            self.store(0..w, &|t| address(t, j), &keys);
        }
    }
}

/// r[t][j]: register j of lane t.
type Registers<T> = Vec<Vec<T>>;

fn apply(network: &Network, r: &mut Registers<u64>) {
    for lane in r {
        for &(low, high) in network.comparators() {
            let (a, b) = (lane[low as usize], lane[high as usize]);
            lane[low as usize] = a & b;
            lane[high as usize] = a | b;
        }
    }
}

fn cell(w: usize, bank: usize, column: usize) -> usize {
    column * w + bank
}

fn padded(w: usize, line: usize, position: usize) -> usize {
    line * (w + 1) + position
}

/// `rounds` rounds of exchanges; w/2 rounds transpose. Half of the lanes do the last of these.
fn transpose<T: Copy + Default>(memory: &mut Memory<T>, rounds: usize) {
    transpose_at(memory, 0, rounds);
}

/// The same for the square matrix that begins at cell `first`.
fn transpose_at<T: Copy + Default>(memory: &mut Memory<T>, first: usize, rounds: usize) {
    let w = memory.banks;
    for i in 1..=rounds {
        let lanes = if i < w / 2 { 0..w } else { 0..w / 2 };
        let upper = |t| first + cell(w, t, (t + i) % w);
        let lower = |t| first + cell(w, (t + i) % w, t);
        let key = memory.load(lanes.clone(), &upper);
        let other = memory.load(lanes.clone(), &lower);
        memory.store(lanes.clone(), &upper, &other);
        memory.store(lanes, &lower, &key);
    }
}

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

fn by_rank(r: &Registers<u64>) -> Vec<u64> {
    let w = r.len();
    (0..w * w).map(|rank| r[rank % w][rank / w]).collect()
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

/// A mask of the 64 inputs that are unsorted: those with a one before a zero.
fn unsorted(keys: &[u64]) -> u64 {
    keys.windows(2)
        .fold(0, |bad, pair| bad | (pair[0] & !pair[1]))
}

/// Calls `try_64` with 64 inputs at a time. `fill` makes an input from a state. Returns the number
/// of inputs, and of those that `try_64` found wrong.
fn sweep<S>(
    states: impl Iterator<Item = S>,
    keys: usize,
    fill: impl Fn(&S, &mut dyn FnMut(usize)),
    try_64: impl Fn(&[u64]) -> u64,
) -> (u64, u64) {
    let mut states = states.peekable();
    let (mut tried, mut wrong) = (0, 0);
    while states.peek().is_some() {
        let mut words = vec![0; keys];
        let mut used = 0u64;
        for (bit, state) in states.by_ref().take(64).enumerate() {
            used |= 1 << bit;
            fill(&state, &mut |key| words[key] |= 1 << bit);
        }
        tried += u64::from(used.count_ones());
        wrong += u64::from((try_64(&words) & used).count_ones());
    }
    (tried, wrong)
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
fn transposition_takes_half_as_many_rounds_as_lanes() {
    for w in [2, 4, 8, 16, 32] {
        let mut memory = Memory::new(w);
        memory.cells[..w * w].copy_from_slice(&(0..w * w).collect::<Vec<_>>());
        let transposed: Vec<usize> = (0..w * w).map(|i| cell(w, i / w, i % w)).collect();
        let mut short = Memory {
            banks: w,
            cells: memory.cells.clone(),
        };
        transpose(&mut memory, w / 2);
        assert_eq!(memory.cells[..w * w], transposed, "w = {w}");
        transpose(&mut short, w / 2 - 1);
        let wrong = (0..w * w)
            .filter(|&i| short.cells[i] != transposed[i])
            .count();
        assert_eq!(wrong, w, "w = {w}: the paper's w/2 - 1 rounds");
    }
}

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

/// A generator of test inputs (xorshift64*, Vigna 2016).
fn random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
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

/// Random words: a third of the inputs have few ones, a third have equally many ones and zeros, a
/// third have few zeros.
fn random_words(state: &mut u64, keys: usize) -> Vec<u64> {
    let word = |_| {
        let [a, b, c, d] = [(); 4].map(|()| random(state));
        let (few, many) = (a & b & c & d, a | b | c | d);
        (few << 42) | (a & 0x1f_ffff << 21) | (many & 0x1f_ffff)
    };
    (0..keys).map(word).collect()
}

#[test]
fn bitonic_of_32_sorts_random_inputs() {
    let mut state = 1;
    for _ in 0..100 {
        let words = random_words(&mut state, 1024);
        assert_eq!(unsorted(&bitonic_matrix(&rows(&words, 32))), 0);
    }
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

#[test]
#[should_panic(expected = "meets another in bank")]
fn a_bank_conflict_is_found() {
    // The unpadded matrix, one lane per line.
    Memory::<u64>::new(32).load_all(&|t, j| t * 32 + j);
}
