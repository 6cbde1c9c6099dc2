// Uses lib/bank_matrix, lib/key, lib/workgroup.
//
// Regular samples of each sorted run (paper, section 3.2, "Distribution", and Algorithm 6).
//
// Run k gives `samples` keys, at floor(i * |run k| / samples) for i = 0 .. samples-1, to
// sampled[k * samples ..]. One lane per sample. A run shorter than `samples` gives some keys twice.
//
// Departure from Algorithm 6: i ends at samples-1. `t + 1` samples per run overlap the next run's.

struct Params {
    // Keys in `source`, in runs of `run`.
    len: u32,
    run: u32,
    // Samples per run, and samples of all runs.
    samples: u32,
    total: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<Key>;
@group(0) @binding(2) var<storage, read_write> sampled: array<Key>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = workgroup_number(group, groups) * 64u + lane;
    if number >= params.total {
        return;
    }
    let start = (number / params.samples) * params.run;
    let count = min(params.run, params.len - start);
    // floor(i * count / samples) without a product of more than 32 bits.
    let i = number % params.samples;
    let position = i * (count / params.samples) + i * (count % params.samples) / params.samples;
    sampled[number] = source[start + position];
}
