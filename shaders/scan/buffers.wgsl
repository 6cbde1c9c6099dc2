// The values and their sums. A kernel takes one section.

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
