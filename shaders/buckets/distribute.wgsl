// Uses lib/bank_matrix, lib/key, lib/workgroup.
//
// Distribution: moves each run's part of each bucket to its offset (paper, section 3.2, and
// Algorithm 6).
//
// source[ranks[b][k] .. ranks[b+1][k]] goes to destination[separators[b][k] ..], for each run k and
// bucket b. `pieces` workgroups of 64 lanes share its chunks of 1024 keys, interleaved. Source and
// destination may be misaligned by any number of keys, so the keys pass through workgroup memory,
// and both sides access aligned groups of 32.
//
// Clamped: the tables may hold anything, if other work that shares the memory ran meanwhile.
//
// No bank conflict: consecutive lanes, consecutive cells.

struct Params {
    // Keys in the buffers.
    len: u32,
    // The number of runs, the first run of this dispatch, and the workgroups in x per run.
    runs: u32,
    first: u32,
    pieces: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<Key>;
@group(0) @binding(2) var<storage, read_write> destination: array<Key>;
@group(0) @binding(3) var<storage, read> ranks: array<u32>;
@group(0) @binding(4) var<storage, read> separators: array<u32>;

const LANES: u32 = 64u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let run = params.first + group.x / params.pieces;
    let bucket = group.y;
    let start = min(ranks[bucket * params.runs + run], params.len);
    let end = clamp(ranks[(bucket + 1u) * params.runs + run], start, params.len);
    let position = min(separators[bucket * (params.runs + 1u) + run], params.len);
    let keys = min(end - start, params.len - position);

    let first_chunk = (group.x % params.pieces) * TILE_CELLS;
    for (var done = first_chunk; done < keys; done += params.pieces * TILE_CELLS) {
        let count = min(TILE_CELLS, keys - done);
        let origin = start + done;
        let to = position + done;
        for (var i = lane; i < count + origin % W; i += LANES) {
            if i >= origin % W {
                tile_store(i - origin % W, source[origin - origin % W + i]);
            }
        }
        workgroupBarrier();
        for (var i = lane; i < count + to % W; i += LANES) {
            if i >= to % W {
                destination[to - to % W + i] = tile_load(i - to % W);
            }
        }
        workgroupBarrier();
    }
}
