// The values that scans add up. A kernel takes the section for their type.

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
