// Where a workgroup counts. A kernel takes one section.

// ---- near

// In workgroup memory, where the bounds are, too; at the end it adds what it counted to `counts`.
// Additions to one word are serialized. So there are several copies of few bins, in different
// banks, and consecutive lanes use different copies.

var<workgroup> slots: array<atomic<u32>, SLOTS>;

fn begin(lane: u32) {
    for (var slot = lane; slot < SLOTS; slot += LANES) {
        atomicStore(&slots[slot], 0u);
    }
    for (var i = lane; i < min(params.bounds, BOUNDS); i += LANES) {
        keep_bound(i, bound_at(i));
    }
    workgroupBarrier();
}

// The first of the slots that a lane adds to.
fn own_slots(lane: u32) -> u32 {
    return (lane % params.copies) * params.copy_stride;
}

fn count_one(bin: u32, own: u32) {
    atomicAdd(&slots[own + bin], 1u);
}

fn end(lane: u32) {
    workgroupBarrier();
    for (var bin = lane; bin < params.bins; bin += LANES) {
        var sum = 0u;
        for (var copy = 0u; copy < params.copies; copy++) {
            sum += atomicLoad(&slots[copy * params.copy_stride + bin]);
        }
        if sum > 0u {
            atomicAdd(&counts[params.counts_first + bin], sum);
        }
    }
}

// ---- far

// In `counts`: there are too many bins for workgroup memory, or there is too little of that.

fn begin(lane: u32) {}

fn bound(i: u32) -> vec2<u32> {
    return bound_at(i);
}

fn own_slots(lane: u32) -> u32 {
    return params.counts_first;
}

fn count_one(bin: u32, own: u32) {
    atomicAdd(&counts[own + bin], 1u);
}

fn end(lane: u32) {}
