// Culls splats, writes a depth key for each, and counts those that are drawn.
//
// Two kernels, one after the other:
//
//   begin       writes the draw arguments without an instance, and sets the count to 0
//   write_keys  writes keys[i] for each splat i, and adds the splats that are drawn to both
//
// Keys ascend in the order of drawing: a splat that is drawn has a key below `parameters.culled`,
// and any other has this key. So one ascending sort by keys puts the splats that are drawn first.
//
// Floats that are not finite are found by their bits, before and after the multiplication: a shader
// compiler may take a comparison with a NaN to be false, or true.

struct Parameters {
    // The number of splats, and of tiles of TILE splats.
    len: u32,
    tiles: u32,
    // Workgroups in a row of the grid.
    width: u32,
    // Words from a splat to the next one, and before the coordinates of the first one.
    stride: u32,
    first_x: u32,
    first_y: u32,
    first_z: u32,
    // The depths that are told apart, as bits of non-negative floats, and how many low bits of
    // their difference are left out.
    nearest: u32,
    farthest: u32,
    shift: u32,
    // The key of splats that are not drawn: one more than the last other key.
    culled: u32,
    // Whether the farthest splat is the first (1), or the nearest (0).
    far_first: u32,
    // What the depth is: w (0), z (1), or w - z (2) in clip space.
    depth: u32,
    // How far from the centre splats are drawn, in halves of the picture's width and height.
    limit: f32,
    // Vertices of a splat.
    vertices: u32,
}

// The layout of draw-indirect arguments.
struct Draw {
    vertex_count: u32,
    instance_count: atomic<u32>,
    first_vertex: u32,
    first_instance: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
// From the splats' space to clip space.
@group(0) @binding(1) var<uniform> view_projection: mat4x4<f32>;
// The coordinates, as bits of floats. Where they are in rows, it is one buffer three times.
@group(0) @binding(2) var<storage, read> x: array<u32>;
@group(0) @binding(3) var<storage, read> y: array<u32>;
@group(0) @binding(4) var<storage, read> z: array<u32>;
@group(0) @binding(5) var<storage, read_write> keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> count: atomic<u32>;
@group(0) @binding(7) var<storage, read_write> draw: Draw;

const LANES: u32 = 256u;
// Splats of a lane. They are LANES apart, so that neighbouring lanes read neighbouring splats.
const EACH: u32 = 4u;
const TILE: u32 = LANES * EACH;

var<workgroup> sums: array<u32, LANES>;

@compute @workgroup_size(1)
fn begin() {
    draw.vertex_count = parameters.vertices;
    atomicStore(&draw.instance_count, 0u);
    draw.first_vertex = 0u;
    draw.first_instance = 0u;
    atomicStore(&count, 0u);
}

// The bits of a float's exponent: all of them are set if it is infinite or NaN.
const EXPONENT: u32 = 0x7f800000u;

fn key(splat: u32) -> u32 {
    let row = splat * parameters.stride;
    let bits = vec3<u32>(
        x[parameters.first_x + row],
        y[parameters.first_y + row],
        z[parameters.first_z + row],
    );
    if any((bits & vec3<u32>(EXPONENT)) == vec3<u32>(EXPONENT)) {
        return parameters.culled;
    }
    let clip = view_projection * vec4<f32>(bitcast<vec3<f32>>(bits), 1.0);
    let clip_bits = bitcast<vec4<u32>>(clip);
    if any((clip_bits & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT)) {
        return parameters.culled;
    }
    let edge = parameters.limit * clip.w;
    let is_drawn = clip.w > 0.0 && abs(clip.x) <= edge && abs(clip.y) <= edge
        && clip.z >= 0.0 && clip.z <= clip.w;
    if !is_drawn {
        return parameters.culled;
    }
    var depth = clip.w;
    if parameters.depth == 1u {
        depth = clip.z;
    } else if parameters.depth == 2u {
        depth = clip.w - clip.z;
    }
    // Non-negative floats have the order of their bits. (-0 is 0.)
    let depth_bits = bitcast<u32>(depth) & 0x7fffffffu;
    let distance = clamp(depth_bits, parameters.nearest, parameters.farthest) - parameters.nearest;
    let rank = distance >> parameters.shift;
    if parameters.far_first == 1u {
        return parameters.culled - 1u - rank;
    }
    return rank;
}

@compute @workgroup_size(LANES)
fn write_keys(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = workgroup.y * parameters.width + workgroup.x;
    var drawn = 0u;
    // The last row of the grid may be longer than the tiles need.
    if tile < parameters.tiles {
        for (var i = 0u; i < EACH; i++) {
            let splat = tile * TILE + i * LANES + lane;
            if splat < parameters.len {
                let own = key(splat);
                keys[splat] = own;
                drawn += select(0u, 1u, own != parameters.culled);
            }
        }
    }
    // One addition for a workgroup.
    sums[lane] = drawn;
    workgroupBarrier();
    for (var rest = LANES / 2u; rest > 0u; rest /= 2u) {
        if lane < rest {
            sums[lane] += sums[lane + rest];
        }
        workgroupBarrier();
    }
    if lane == 0u && sums[0] > 0u {
        atomicAdd(&count, sums[0]);
        atomicAdd(&draw.instance_count, sums[0]);
    }
}
