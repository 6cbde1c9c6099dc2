// The values that scans add up, the parameters, and where the sums are written. A kernel takes the
// section for the type; `prefix_sums` also takes one for the place.

// ---- words

// u32. Sums of i32 have the same bits, since both types wrap.

alias Summand = u32;

const NOTHING: Summand = 0u;

// Summands that all banks hold at once.
const SCAN_LINE: u32 = 32u;

fn added(a: Summand, b: Summand) -> Summand {
    return a + b;
}

// ---- wide

// u64: the low word and the high word. Sums of i64 have the same bits.

alias Summand = vec2<u32>;

const NOTHING: Summand = vec2<u32>(0u, 0u);

// Summands that all banks hold at once.
const SCAN_LINE: u32 = 16u;

fn added(a: Summand, b: Summand) -> Summand {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + u32(low < a.x));
}

// ---- floats

// f32. They are only added, two at a time, in an order that does not depend on timing. So every
// device that rounds as IEEE 754 specifies gets the same bits.

alias Summand = f32;

const NOTHING: Summand = 0.0;

// Summands that all banks hold at once.
const SCAN_LINE: u32 = 32u;

fn added(a: Summand, b: Summand) -> Summand {
    return a + b;
}

// ---- params

// Parameters of all kernels of scans; each kernel reads the ones it needs.

struct Params {
    // Values.
    len: u32,
    // The first tile of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The indices of the first value, and of the first sum in the output.
    value_first: u32,
    output_first: u32,
    // 1: sums without the value itself.
    exclusive: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// ---- in_place

// `values`: from number value_first on. The sums replace them.

@group(0) @binding(1) var<storage, read_write> values: array<Summand>;

fn store(i: u32, sum: Summand) {
    values[params.value_first + i] = sum;
}

// ---- out_of_place

// `values`: from number value_first on. `output`: their sums, from number output_first on.

@group(0) @binding(1) var<storage, read> values: array<Summand>;
@group(0) @binding(3) var<storage, read_write> output: array<Summand>;

fn store(i: u32, sum: Summand) {
    output[params.output_first + i] = sum;
}
