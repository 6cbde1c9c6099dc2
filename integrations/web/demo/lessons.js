/**
 * The shaders that the auditor begins with: each has a fault, and a fix to compare it with.
 */

/**
 * The inputs of a run: workgroups in x, y and z, and the contents of buffers by `group.binding`.
 * @typedef {object} Inputs
 * @property {[number, number, number]} workgroups
 * @property {Record<string, string>} buffers
 */

/**
 * @typedef {object} Lesson
 * @property {string} id
 * @property {string} title
 * @property {string} about what the shader does, and what is wrong
 * @property {string} change what the fix changes, and why it helps
 * @property {string} faulty
 * @property {string} fixed
 * @property {Inputs} inputs
 */

/**
 * Replaces passages of a shader.
 * @param {string} shader
 * @param {...[string, string]} passages each with its replacement
 */
function changed(shader, ...passages) {
  for (const [passage, replacement] of passages) {
    if (!shader.includes(passage)) {
      throw new Error(`the shader has no passage '${passage}'`);
    }
    shader = shader.replace(passage, () => replacement);
  }
  return shader;
}

const TRANSPOSE = `// Transposes a 32 x 32 matrix through workgroup memory, so
// that reads and writes of storage are both contiguous.
@group(0) @binding(0) var<storage, read> matrix: array<u32, 1024>;
@group(0) @binding(1) var<storage, read_write> transposed: array<u32, 1024>;

// Words from one row of the tile to the next.
const ROW = 32u;
var<workgroup> tile: array<u32, 32 * ROW>;

@compute @workgroup_size(32, 8)
fn main(@builtin(local_invocation_id) lane: vec3<u32>) {
    for (var row = lane.y; row < 32u; row += 8u) {
        tile[row * ROW + lane.x] = matrix[row * 32u + lane.x];
    }
    workgroupBarrier();
    for (var row = lane.y; row < 32u; row += 8u) {
        transposed[row * 32u + lane.x] = tile[lane.x * ROW + row];
    }
}
`;

const SCAN = `// The exclusive prefix sums of 512 values, by Blelloch's scan:
// one sweep up the tree of partial sums, and one down.
@group(0) @binding(0) var<storage, read_write> values: array<u32, 512>;

const COUNT = 512u;
const LANES = COUNT / 2u;
var<workgroup> sums: array<u32, COUNT>;

// The word of workgroup memory that holds element i.
fn word(i: u32) -> u32 {
    return i;
}

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    sums[word(lane)] = values[lane];
    sums[word(lane + LANES)] = values[lane + LANES];

    // Up: each node becomes the sum of its children.
    for (var step = 1u; step < COUNT; step *= 2u) {
        workgroupBarrier();
        let end = (lane + 1u) * step * 2u;
        if end <= COUNT {
            sums[word(end - 1u)] += sums[word(end - 1u - step)];
        }
    }

    workgroupBarrier();
    if lane == 0u {
        sums[word(COUNT - 1u)] = 0u;
    }

    // Down: each node passes on the sum of all that precede its children.
    for (var step = LANES; step > 0u; step /= 2u) {
        workgroupBarrier();
        let end = (lane + 1u) * step * 2u;
        if end <= COUNT {
            let right = word(end - 1u);
            let left = word(end - 1u - step);
            let sum = sums[left];
            sums[left] = sums[right];
            sums[right] += sum;
        }
    }

    workgroupBarrier();
    values[lane] = sums[word(lane)];
    values[lane + LANES] = sums[word(lane + LANES)];
}
`;

const MATRIX = `// The bank matrix of Sitchinava and Weichert's paper: 32 rows,
// one for each bank, filled column by column. Each lane reads
// one row, and writes it as a column: a transposition.
@group(0) @binding(0) var<storage, read_write> keys: array<u32, 1024>;

const W = 32u;
var<workgroup> matrix: array<u32, W * W>;

// The cell in row 'bank' and column 'column'.
fn cell(bank: u32, column: u32) -> u32 {
    return column * W + bank;
}

@compute @workgroup_size(W)
fn main(@builtin(local_invocation_index) t: u32) {
    for (var j = 0u; j < W; j++) {
        matrix[cell(t, j)] = keys[cell(t, j)];
    }
    workgroupBarrier();

    // Lane t reads row t: all lanes are in different banks.
    var line: array<u32, W>;
    for (var j = 0u; j < W; j++) {
        line[j] = matrix[cell(t, j)];
    }
    workgroupBarrier();

    // It writes them as column t. Round j: all lanes are in row j.
    for (var j = 0u; j < W; j++) {
        matrix[cell(j, t)] = line[j];
    }
    workgroupBarrier();

    for (var j = 0u; j < W; j++) {
        keys[cell(t, j)] = matrix[cell(t, j)];
    }
}
`;

const RACE = `// Reverses 64 values through workgroup memory.
@group(0) @binding(0) var<storage, read_write> values: array<u32, 64>;

var<workgroup> tile: array<u32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
    tile[lane] = values[lane];
    values[lane] = tile[63u - lane];
}
`;

/** @type {Lesson[]} */
export const LESSONS = [
  {
    id: 'transpose',
    title: 'Transpose',
    about: 'Rows are written to the tile, and columns are read from it. Words of a column are 32 '
      + 'apart, and there are 32 banks: all lanes of a warp are in one bank, which serves them '
      + 'one after the other, in 32 cycles.',
    change: 'Rows of 33 words, one of them unused. Neighbours in a column are 33 words apart, in '
      + 'neighbouring banks. Rows still are contiguous, and have no conflict either.',
    faulty: TRANSPOSE,
    fixed: changed(TRANSPOSE, ['ROW = 32u', 'ROW = 33u']),
    inputs: { workgroups: [1, 1, 1], buffers: { '0.0': 'iota:1024', '0.1': 'zero:1024' } },
  },
  {
    id: 'scan',
    title: 'Scan',
    about: 'Each level of the tree takes every second, fourth, eighth … element. Where '
      + 'neighbouring lanes are 2 words apart, two of them share each bank; at 8 words it is eight '
      + 'of them, and at 16 and 32 words sixteen.',
    change: 'One word is left unused after every 32, so element i is at word i + i / 32. A step '
      + 'across a row of 32 now moves on by a bank, too, and no level has a conflict.',
    faulty: SCAN,
    fixed: changed(
      SCAN,
      ['array<u32, COUNT>', 'array<u32, COUNT + COUNT / 32u>'],
      ['holds element i.', 'holds element i: one is unused after each 32.'],
      ['return i;', 'return i + i / 32u;'],
    ),
    inputs: { workgroups: [1, 1, 1], buffers: { '0.0': 'iota:512' } },
  },
  {
    id: 'matrix',
    title: 'Bank matrix',
    about: 'The layout that this sorter builds on: a row is a bank, so lanes in different rows '
      + 'never conflict. Each lane reads its own row, which is free of conflicts. But as it writes '
      + 'its own column, all lanes are in the same row in each round.',
    change: 'Both loops begin at the diagonal: in round j, lane t is at position (t + j) % 32 of '
      + 'its line, so the lanes are in 32 different rows. No word is wasted on padding.',
    faulty: MATRIX,
    fixed: changed(
      MATRIX,
      ['different banks.', 'different banks,\n    // wherever in it they begin.'],
      ['line[j] = matrix[cell(t, j)]', 'line[j] = matrix[cell(t, (t + j) % W)]'],
      ['Round j: all lanes are in row j.', 'Round j: lane t is in row t + j.'],
      ['matrix[cell(j, t)] = line[j]', 'matrix[cell((t + j) % W, t)] = line[j]'],
    ),
    inputs: { workgroups: [1, 1, 1], buffers: { '0.0': 'iota:1024' } },
  },
  {
    id: 'race',
    title: 'Race',
    about: 'A lane reads the word that another lane writes. Nothing orders the two: with two warps '
      + 'the result depends on which comes first.',
    change: 'A barrier between the writes and the reads.',
    faulty: RACE,
    fixed: changed(RACE, ['values[lane];\n', 'values[lane];\n    workgroupBarrier();\n']),
    inputs: { workgroups: [1, 1, 1], buffers: { '0.0': 'iota:64' } },
  },
];
