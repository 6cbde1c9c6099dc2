// Particles on a torus of 65536 by 65536, in cells of 2048 by 2048. All numbers are integers, so
// that the CPU finds the same.

const CELL = 2048;
const SIDE = 32;
const RADIUS = 2048;

@group(0) @binding(0) var<storage, read_write> at: array<vec2i>;
@group(0) @binding(1) var<storage, read> velocity: array<vec2i>;
@group(0) @binding(2) var<storage, read_write> cell_of: array<u32>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read> begins: array<u32>;
@group(0) @binding(5) var<storage, read_write> neighbours: array<u32>;

// Moves each particle, and writes the number of its cell: the key of the sort.
@compute @workgroup_size(64)
fn advance(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if i < arrayLength(&at) {
    let moved = (at[i] + velocity[i]) & vec2i(SIDE * CELL - 1);
    at[i] = moved;
    cell_of[i] = u32(moved.y / CELL * SIDE + moved.x / CELL);
  }
}

// Counts the particles that are near each, in its cell and the eight around it.
@compute @workgroup_size(64)
fn meet(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if i >= arrayLength(&at) {
    return;
  }
  var count = 0u;
  for (var around = 0; around < 9; around++) {
    let cell = (at[i] / CELL + vec2i(around % 3, around / 3) - 1) & vec2i(SIDE - 1);
    let number = cell.y * SIDE + cell.x;
    for (var rank = begins[number]; rank < begins[number + 1]; rank++) {
      // (The nearest way: over the edges, too.)
      let between = at[order[rank]] - at[i] + SIDE * CELL * 3 / 2;
      let way = (between & vec2i(SIDE * CELL - 1)) - SIDE * CELL / 2;
      count += u32(dot(way, way) < RADIUS * RADIUS);
    }
  }
  neighbours[i] = count - 1;
}

struct Corner {
  @builtin(position) position: vec4f,
  @location(0) away: vec2f,
  @location(1) heat: f32,
}

@group(0) @binding(0) var<storage, read> seen_at: array<vec2i>;
@group(0) @binding(1) var<storage, read> seen_neighbours: array<u32>;

@vertex
fn corner(@builtin(vertex_index) v: u32, @builtin(instance_index) i: u32) -> Corner {
  let away = vec2f(f32(v & 1), f32(v >> 1)) * 2 - 1;
  let centre = vec2f(seen_at[i]) / f32(SIDE * CELL / 2) - 1;
  let position = centre + vec2f(0.01, 0.016) * away;
  let heat = min(f32(seen_neighbours[i]) / 80, 1);
  return Corner(vec4f(position, 0, 1), away, heat);
}

@fragment
fn color(c: Corner) -> @location(0) vec4f {
  let hot = mix(vec3f(0.13, 0.3, 0.7), vec3f(1, 0.7, 0.2), c.heat);
  return vec4f(hot, 1) * f32(dot(c.away, c.away) < 1);
}
