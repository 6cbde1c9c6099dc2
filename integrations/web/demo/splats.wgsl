// Gaussian splats of a braided knot: generated, projected and drawn on the GPU.

struct Camera {
    // From world to camera space, where the camera looks along -z.
    view: mat4x4f,
    // Normalized device coordinates per unit of x / depth and y / depth.
    focal: vec2f,
    // In pixels.
    viewport: vec2f,
    near: f32,
    count: u32,
    // How light the page is, from 0 to 1: the ground follows it.
    lightness: f32,
}

@group(0) @binding(0) var<uniform> camera: Camera;
// xyz: the centre. w: the length of the third axis, which is perpendicular to the other two.
@group(0) @binding(1) var<storage, read_write> places: array<vec4f>;
// xyz: the first two axes, 6 x f16. w: the colour, 4 x unorm8.
@group(0) @binding(2) var<storage, read_write> shapes: array<vec4u>;
// Splats as they lie on the screen. x: the centre in normalized device coordinates, halved, 2 x
// snorm16. y and z: the axes of the ellipse in pixels, one standard deviation long, 2 x f16 each.
// w: the colour, 4 x unorm8; an alpha of 0 marks a splat that is not seen.
@group(0) @binding(3) var<storage, read_write> quads: array<vec4u>;
@group(0) @binding(4) var<storage, read_write> order: array<u32>;
@group(0) @binding(5) var<storage, read> drawn_quads: array<vec4u>;
@group(0) @binding(6) var<storage, read> drawn_order: array<u32>;

const TAU = 6.2831853;

// ---- The scene ----

const STRANDS = 5u;
const BRAID_RADIUS = 0.135;
const STRAND_RADIUS = 0.092;
const BRAID_TURNS = 9.0;
const STRAND_AREA = 27.0;
const GROUND = -1.22;
const GROUND_RADIUS = 2.5;
const LIGHT = vec3f(0.431, 0.833, 0.347);

const MOTES = 700u;
const YARN = 0.76;
const SPINE_POINTS = 128u;
// Points of the knot's curve, which stand for it where light and shadow are computed. An array for
// each coordinate: lanes that store points side by side would meet in the banks.
var<workgroup> spine_x: array<f32, SPINE_POINTS>;
var<workgroup> spine_y: array<f32, SPINE_POINTS>;
var<workgroup> spine_z: array<f32, SPINE_POINTS>;

fn hash(seed: u32) -> u32 {
    let state = seed * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

// The next number of a random sequence, from 0 to 1.
fn random(state: ptr<function, u32>) -> f32 {
    *state = hash(*state);
    return f32(*state >> 8u) / 16777216.0;
}

fn normal_distributed(state: ptr<function, u32>) -> f32 {
    let radius = sqrt(-2.0 * log(max(random(state), 1e-7)));
    return radius * cos(TAU * random(state));
}

// The knot lies in the plane of x and z; this raises its far side towards the viewer.
fn tilted(p: vec3f) -> vec3f {
    const C = 0.79;
    const S = 0.613;
    return vec3f(p.x, C * p.y - S * p.z, S * p.y + C * p.z) * 0.42;
}

fn core(t: f32) -> vec3f {
    return tilted(vec3f(
        sin(t) + 2.0 * sin(2.0 * t),
        1.15 * sin(3.0 * t),
        cos(t) - 2.0 * cos(2.0 * t),
    ));
}

fn core_velocity(t: f32) -> vec3f {
    return tilted(vec3f(
        cos(t) + 4.0 * cos(2.0 * t),
        3.45 * cos(3.0 * t),
        -sin(t) + 4.0 * sin(2.0 * t),
    ));
}

fn core_acceleration(t: f32) -> vec3f {
    return tilted(vec3f(
        -sin(t) - 8.0 * sin(2.0 * t),
        -10.35 * sin(3.0 * t),
        -cos(t) + 8.0 * cos(2.0 * t),
    ));
}

// The centre line of a strand, which winds around the core.
fn strand(t: f32, phase: f32) -> vec3f {
    let tangent = normalize(core_velocity(t));
    let bend = core_acceleration(t);
    let inward = normalize(bend - tangent * dot(tangent, bend));
    let angle = BRAID_TURNS * t + phase;
    let across = cos(angle) * inward + sin(angle) * cross(tangent, inward);
    return core(t) + BRAID_RADIUS * across;
}

fn strand_color(index: u32) -> vec3f {
    switch index {
        case 0u: { return vec3f(0.055, 0.36, 0.55); }
        case 1u: { return vec3f(0.94, 0.90, 0.82); }
        case 2u: { return vec3f(0.10, 0.60, 0.60); }
        case 3u: { return vec3f(0.93, 0.53, 0.22); }
        default: { return vec3f(0.80, 0.25, 0.24); }
    }
}

// x: the share of the sky that the knot leaves free. y: the share of the light.
fn light_at(p: vec3f, normal: vec3f) -> vec2f {
    var covered = 0.0;
    var shadow = 0.0;
    for (var i = 0u; i < SPINE_POINTS; i++) {
        let to = vec3f(spine_x[i], spine_y[i], spine_z[i]) - p;
        let squared = dot(to, to);
        let distance = sqrt(squared);
        covered += max(dot(normal, to) / distance, 0.0) / (1.0 + 14.0 * squared);
        let along = dot(to, LIGHT);
        let beside = sqrt(max(squared - along * along, 0.0));
        // The farther away what throws it, the softer the shadow. What is near is the strand
        // itself and its neighbours, whose shading is that of the normal.
        let softness = 0.07 + 0.13 * along;
        let reach = BRAID_RADIUS + STRAND_RADIUS;
        let hit = 1.0 - smoothstep(reach - softness, reach + softness, beside);
        shadow = max(shadow, hit * smoothstep(0.22, 0.42, along));
    }
    return vec2f(exp(-0.12 * covered), 1.0 - shadow);
}

fn lit(albedo: vec3f, p: vec3f, normal: vec3f) -> vec3f {
    let free = light_at(p, normal);
    let sun = max(dot(normal, LIGHT), 0.0) * free.y;
    let sky = (0.62 + 0.38 * normal.y) * free.x;
    return albedo * (vec3f(1.0, 0.95, 0.87) * sun * 0.86 + vec3f(0.52, 0.60, 0.72) * sky * 0.72);
}

fn store(index: u32, p: vec3f, a: vec3f, b: vec3f, third: f32, color: vec4f) {
    places[index] = vec4f(p, third);
    shapes[index] = vec4u(
        pack2x16float(a.xy),
        pack2x16float(vec2f(a.z, b.z)),
        pack2x16float(b.xy),
        pack4x8unorm(clamp(color, vec4f(0.0), vec4f(1.0))),
    );
}

// A point on one of the strands, with the grain of twisted yarn; some stand off as its fluff.
fn store_yarn(index: u32, total: f32, seed: ptr<function, u32>) {
    let which = min(u32(random(seed) * f32(STRANDS)), STRANDS - 1u);
    let phase = TAU * f32(which) / f32(STRANDS);
    let t = TAU * random(seed);
    let around = TAU * random(seed);
    let center = strand(t, phase);
    let step = 2e-3;
    let velocity = (strand(t + step, phase) - strand(t - step, phase)) / (2.0 * step);
    let speed = length(velocity);
    let tangent = velocity / speed;
    let side = normalize(cross(tangent, vec3f(0.31, 0.87, 0.38)));
    let normal = cos(around) * side + sin(around) * cross(side, tangent);
    let binormal = cross(tangent, normal);

    // The fibres wind around the strand: a splat lies along its fibre.
    let fibres = 11.0;
    let winding = around / TAU * fibres - t * 26.0;
    let fibre = i32(floor(winding));
    let in_fibre = fract(winding) - 0.5;
    let slant = normalize(tangent * fibres / (TAU * STRAND_RADIUS)
        + binormal * 26.0 / speed);
    let over = cross(slant, normal);
    let tone = f32(hash(u32(fibre + 4096) * 31u + which) & 255u) / 255.0;
    // A fibre is round: its flanks are lower, look away and get less light.
    let grain = 1.0 - 2.6 * in_fibre * in_fibre;
    let bumped = normalize(normal + over * in_fibre * 0.9);
    let surface = center + normal * (STRAND_RADIUS - 0.012 * (1.0 - grain));

    let spacing = sqrt(STRAND_AREA / total);
    // Where the curve runs faster its points are farther apart.
    let stretch = clamp(speed / 2.3, 0.6, 1.8);
    let albedo = strand_color(which) * (0.80 + 0.26 * tone) * (0.55 + 0.45 * grain);
    let color = lit(albedo, surface, bumped);
    if random(seed) < 0.07 {
        let lift = 0.004 + 0.016 * random(seed) * random(seed);
        let stray = normalize(slant + normal * (0.9 * random(seed) - 0.2)
            + over * 1.6 * (random(seed) - 0.5));
        let aside = normalize(cross(stray, normal));
        let long = clamp(2.4 * spacing, 0.008, 0.03);
        store(index, surface + normal * lift, stray * long, aside * 0.22 * spacing,
            0.22 * spacing, vec4f(color * 1.12, 0.5));
        return;
    }
    store(index, surface, slant * spacing * 1.25 * stretch, over * spacing * 0.42,
        spacing * 0.2, vec4f(color, 0.93));
}

fn store_ground(index: u32, total: f32, seed: ptr<function, u32>) {
    let radius = GROUND_RADIUS * sqrt(random(seed));
    let angle = TAU * random(seed);
    let wave = 34.0 * radius;
    let height = 0.008 * cos(wave) * smoothstep(0.0, 0.3, radius);
    let outward = vec3f(cos(angle), 0.0, sin(angle));
    let normal = normalize(vec3f(0.0, 1.0, 0.0) + outward * 0.30 * sin(wave));
    let p = vec3f(0.0, GROUND + height, 0.0) + outward * radius;
    let fade = 1.0 - smoothstep(0.45, 1.0, radius / GROUND_RADIUS);
    let grain = 0.93 + 0.14 * random(seed);
    let base = mix(vec3f(0.17, 0.20, 0.245), vec3f(0.86, 0.89, 0.93), camera.lightness);
    let free = light_at(p, normal);
    // On light ground a shadow is the stronger contrast: it is softened there.
    let depth = mix(0.80, 0.52, camera.lightness);
    let shade = mix(1.0, free.y, depth) * mix(1.0, free.x, depth);
    let relief = mix(0.74 + 0.31 * max(dot(normal, LIGHT), 0.0), 1.0, 0.2);
    let spacing = GROUND_RADIUS * sqrt(0.5 * TAU / total);
    let along = vec3f(-sin(angle), 0.0, cos(angle));
    store(index, p, along * spacing * 1.3, normalize(cross(along, normal)) * spacing * 0.62,
        spacing * 0.1, vec4f(base * grain * shade * relief, 0.9 * fade));
}

// Motes in the air, which give the turning scene its parallax.
fn store_mote(index: u32, seed: ptr<function, u32>) {
    let p = vec3f(normal_distributed(seed), 0.62 * normal_distributed(seed),
        normal_distributed(seed)) * 0.95 + vec3f(0.0, 0.1, 0.0);
    let size = 0.0035 + 0.009 * pow(random(seed), 6.0);
    let glow = random(seed);
    let color = mix(vec3f(0.98, 0.83, 0.60), vec3f(0.62, 0.80, 0.98), glow);
    let alpha = select(0.34 * random(seed), 0.0, p.y < GROUND + 0.02);
    store(index, p, vec3f(size, 0.0, 0.0), vec3f(0.0, size, 0.0), size, vec4f(color, alpha));
}

@compute @workgroup_size(256)
fn generate(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    if lane < SPINE_POINTS {
        let point = core(TAU * f32(lane) / f32(SPINE_POINTS));
        spine_x[lane] = point.x;
        spine_y[lane] = point.y;
        spine_z[lane] = point.z;
    }
    workgroupBarrier();
    let index = id.x;
    if index >= camera.count {
        return;
    }
    var seed = hash(index ^ 0x5bd1e995u);
    let total = f32(camera.count);
    // (In a small scene the motes are at most one in 200.)
    if index < min(MOTES, camera.count / 200u) {
        store_mote(index, &seed);
    } else if random(&seed) < YARN {
        store_yarn(index, YARN * total, &seed);
    } else {
        store_ground(index, (1.0 - YARN) * total, &seed);
    }
}

// ---- Each frame ----

// Where each splat lies on the screen.
@compute @workgroup_size(256)
fn project(@builtin(global_invocation_id) id: vec3u) {
    let index = id.x;
    if index >= camera.count {
        return;
    }
    let place = places[index];
    let p = (camera.view * vec4f(place.xyz, 1.0)).xyz;
    quads[index] = quad(p, place.w, shapes[index]);
}

// The quad of a splat at p in camera space.
fn quad(p: vec3f, thickness: f32, shape: vec4u) -> vec4u {
    let depth = -p.z;
    if depth < camera.near {
        return vec4u();
    }
    let ndc = camera.focal * p.xy / depth;
    if any(abs(ndc) > vec2f(1.35)) {
        return vec4u();
    }
    let color = unpack4x8unorm(shape.w);
    let z = unpack2x16float(shape.y);
    let first = vec3f(unpack2x16float(shape.x), z.x);
    let second = vec3f(unpack2x16float(shape.z), z.y);
    let third = normalize(cross(first, second)) * thickness;
    let a = on_screen(first, p);
    let b = on_screen(second, p);
    let c = on_screen(third, p);
    // The covariance on the screen. The pixel is a filter of its own width, without which what is
    // smaller would flicker; alpha makes up for the area that it adds.
    const PIXEL = 0.3;
    let sharp = vec3f(
        a.x * a.x + b.x * b.x + c.x * c.x,
        a.x * a.y + b.x * b.y + c.x * c.y,
        a.y * a.y + b.y * b.y + c.y * c.y,
    );
    let xx = sharp.x + PIXEL;
    let yy = sharp.z + PIXEL;
    let xy = sharp.y;
    let area = max(sharp.x * sharp.z - xy * xy, 0.0) / max(xx * yy - xy * xy, 1e-9);
    let alpha = color.a * sqrt(area);
    if alpha < 1.0 / 255.0 {
        return vec4u();
    }

    // The ellipse's axes are the eigenvectors.
    let mean = 0.5 * (xx + yy);
    let spread = length(vec2f(0.5 * (xx - yy), xy));
    let angle = 0.5 * atan2(2.0 * xy, xx - yy);
    let direction = vec2f(cos(angle), sin(angle));
    let long = min(sqrt(mean + spread), 1024.0);
    let short = min(sqrt(max(mean - spread, 0.05)), 1024.0);
    return vec4u(
        pack2x16snorm(ndc * 0.5),
        pack2x16float(direction * long),
        pack2x16float(vec2f(-direction.y, direction.x) * short),
        pack4x8unorm(vec4f(color.rgb, alpha)),
    );
}

// An axis at p, from world space to pixels: the projection's derivative.
fn on_screen(axis: vec3f, p: vec3f) -> vec2f {
    let turned = (camera.view * vec4f(axis, 0.0)).xyz;
    let depth = -p.z;
    let slope = p.xy / depth;
    return camera.focal * camera.viewport * 0.5 * (turned.xy + slope * turned.z) / depth;
}

// The order of those who do not sort.
@compute @workgroup_size(256)
fn number(@builtin(global_invocation_id) id: vec3u) {
    if id.x < camera.count {
        order[id.x] = id.x;
    }
}

struct Corner {
    @builtin(position) position: vec4f,
    // In standard deviations from the centre.
    @location(0) offset: vec2f,
    @location(1) @interpolate(flat, either) color: vec4f,
}

@vertex
fn corner(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) instance: u32,
) -> Corner {
    let quad = drawn_quads[drawn_order[instance]];
    let color = unpack4x8unorm(quad.w);
    var result: Corner;
    result.color = color;
    // As far out as alpha can be seen, but not where the last few levels of 255 take as many
    // fragments as all the others.
    let radius = min(sqrt(2.0 * log(max(color.a * 255.0, 1.0))), 2.8);
    let offset = (vec2f(f32(vertex & 1u), f32(vertex >> 1u)) * 2.0 - 1.0) * radius;
    result.offset = offset;
    let pixels = offset.x * unpack2x16float(quad.y) + offset.y * unpack2x16float(quad.z);
    let center = unpack2x16snorm(quad.x) * 2.0;
    // Quads without area, outside of the clip space, for what is not drawn.
    let place = select(vec2f(2.0), center + 2.0 * pixels / camera.viewport, color.a > 0.0);
    result.position = vec4f(place, 0.0, 1.0);
    return result;
}

@fragment
fn shade(splat: Corner) -> @location(0) vec4f {
    let squared = dot(splat.offset, splat.offset);
    let alpha = splat.color.a * exp(-0.5 * squared);
    if alpha < 1.0 / 255.0 {
        discard;
    }
    return vec4f(splat.color.rgb * alpha, alpha);
}
