//! The model in which the proofs run kernels: it finds bank conflicts and transposes in w/2 rounds.
//!
//! Each model of a kernel makes the accesses of its shader: all lanes of a step together, at the
//! shader's addresses. A step in which two lanes meet in a bank panics, at every width. A key is a
//! `u64` of 64 independent zeros and ones, so one run of a model tests 64 inputs: a comparator is
//! an AND and an OR.

use std::ops::Range;
use wgpu_bcfsort::internals::shader::Network;

/// Workgroup memory of `banks` banks, which panics on conflicts.
pub(crate) struct Memory<T> {
    banks: usize,
    pub(crate) cells: Vec<T>,
}

impl<T: Copy + Default> Memory<T> {
    pub(crate) fn new(banks: usize) -> Self {
        Self::of(banks, 1)
    }

    /// Memory for `h` matrices side by side.
    pub(crate) fn of(banks: usize, h: usize) -> Self {
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
    pub(crate) fn load_all(&self, address: &dyn Fn(usize, usize) -> usize) -> Registers<T> {
        let w = self.banks;
        let columns: Vec<_> = (0..w)
            .map(|j| self.load(0..w, &|t| address(t, j)))
            .collect();
        (0..w)
            .map(|t| (0..w).map(|j| columns[j][t]).collect())
            .collect()
    }

    pub(crate) fn store_all(&mut self, address: &dyn Fn(usize, usize) -> usize, r: &Registers<T>) {
        let w = self.banks;
        for j in 0..w {
            let keys: Vec<T> = r.iter().map(|lane| lane[j]).collect();
            self.store(0..w, &|t| address(t, j), &keys);
        }
    }
}

/// r[t][j]: register j of lane t.
pub(crate) type Registers<T> = Vec<Vec<T>>;

pub(crate) fn apply(network: &Network, r: &mut Registers<u64>) {
    for lane in r {
        for &(low, high) in network.comparators() {
            let (a, b) = (lane[low as usize], lane[high as usize]);
            lane[low as usize] = a & b;
            lane[high as usize] = a | b;
        }
    }
}

pub(crate) fn cell(w: usize, bank: usize, column: usize) -> usize {
    column * w + bank
}

pub(crate) fn padded(w: usize, line: usize, position: usize) -> usize {
    line * (w + 1) + position
}

/// `rounds` rounds of exchanges; w/2 rounds transpose. Half of the lanes do the last of these.
pub(crate) fn transpose<T: Copy + Default>(memory: &mut Memory<T>, rounds: usize) {
    transpose_at(memory, 0, rounds);
}

/// The same for the square matrix that begins at cell `first`.
pub(crate) fn transpose_at<T: Copy + Default>(memory: &mut Memory<T>, first: usize, rounds: usize) {
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

pub(crate) fn by_rank(r: &Registers<u64>) -> Vec<u64> {
    let w = r.len();
    (0..w * w).map(|rank| r[rank % w][rank / w]).collect()
}

/// A mask of the 64 inputs that are unsorted: those with a one before a zero.
pub(crate) fn unsorted(keys: &[u64]) -> u64 {
    keys.windows(2)
        .fold(0, |bad, pair| bad | (pair[0] & !pair[1]))
}

/// Calls `try_64` with 64 inputs at a time. `fill` makes an input from a state. Returns the number
/// of inputs, and of those that `try_64` found wrong.
pub(crate) fn sweep<S>(
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

/// A generator of test inputs (xorshift64*, Vigna 2016).
pub(crate) fn random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// Random words: a third of the inputs have few ones, a third have equally many ones and zeros, a
/// third have few zeros.
pub(crate) fn random_words(state: &mut u64, keys: usize) -> Vec<u64> {
    let word = |_| {
        let [a, b, c, d] = [(); 4].map(|()| random(state));
        let (few, many) = (a & b & c & d, a | b | c | d);
        (few << 42) | (a & 0x1f_ffff << 21) | (many & 0x1f_ffff)
    };
    (0..keys).map(word).collect()
}

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
#[should_panic(expected = "meets another in bank")]
fn a_bank_conflict_is_found() {
    // The unpadded matrix, one lane per line.
    Memory::<u64>::new(32).load_all(&|t, j| t * 32 + j);
}
