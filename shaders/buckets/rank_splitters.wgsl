// Uses lib/bank_matrix, lib/key, lib/workgroup.
//
// Ranks of the splitters in each run (paper, section 3.2, "Distribution", and Algorithm 6).
//
// Splitter c = 1 .. P-1 is the sorted sample of rank floor(c * samples / P). One lane per run and
// splitter. Row c of `ranks` holds, for each run, the start of bucket c: an index into `source`.
//
//   buckets (P):          row 0: the run's start; row c: upper_bound(splitter c); row P: its end
//   pivot buckets (2P-1): row 0: the run's start; row 2c-1: lower_bound(splitter c);
//                         row 2c: upper_bound(splitter c); row 2P-1: its end
//
// Departures from Algorithm 6:
//  1. a binary search for each splitter, not a scan of the run: the same ranks with fewer reads;
//  2. the first and the last row, which the paper leaves out;
//  3. repeated splitters: the bucket of the second one is empty. Its lower bound is less than the
//     upper bound of the first, and would give a negative size.
//
// No workgroup memory.

struct Params {
    // Keys in `source`, in `runs` runs of `run` keys.
    len: u32,
    run: u32,
    runs: u32,
    // P, the number of sorted samples, and 1 if each splitter's copies have a bucket of their own.
    buckets: u32,
    samples: u32,
    pivots: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<Key>;
@group(0) @binding(2) var<storage, read> sampled: array<Key>;
@group(0) @binding(3) var<storage, read_write> ranks: array<u32>;

fn splitter(c: u32) -> Key {
    return sampled[c * params.samples / params.buckets];
}

// The upper bound of `key` in [start, end): the first index with a larger key. With `equal`, the
// lower bound.
fn search(start: u32, end: u32, key: Key, equal: bool) -> u32 {
    var low = start;
    var high = end;
    while low < high {
        let middle = low + (high - low) / 2u;
        let other = source[middle];
        if precedes(key, other) || (equal && !precedes(other, key)) {
            high = middle;
        } else {
            low = middle + 1u;
        }
    }
    return low;
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = workgroup_number(group, groups) * 64u + lane;
    if number >= (params.buckets + 1u) * params.runs {
        return;
    }
    let c = number / params.runs;
    let run = number % params.runs;
    let start = run * params.run;
    let end = start + min(params.run, params.len - start);
    let rows = select(1u, 2u, params.pivots != 0u);
    if c == 0u {
        ranks[run] = start;
    } else if c == params.buckets {
        ranks[(rows * c - (rows - 1u)) * params.runs + run] = end;
    } else {
        let key = splitter(c);
        let upper = search(start, end, key, false);
        ranks[rows * c * params.runs + run] = upper;
        if params.pivots != 0u {
            var lower = upper;
            if c == 1u || precedes(splitter(c - 1u), key) {
                lower = search(start, end, key, true);
            }
            ranks[(2u * c - 1u) * params.runs + run] = lower;
        }
    }
}
