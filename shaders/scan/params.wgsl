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
