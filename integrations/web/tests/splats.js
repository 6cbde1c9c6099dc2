/**
 * The draw order of splats, in each engine: each export is a case. The CPU's order is the
 * reference. No product or sum of a position and a matrix is rounded, unless it is said, so that a
 * device which fuses them gets the same.
 */

import { Scratch, Sorter, SplatSorter, requestDevice } from '../dist/index.js';
import { Buffers, check, fails, names, opened, random, same } from './checks.js';

const KEYS = [{ bits: 32 }, { bits: 16, nearest: 0.5, farthest: 64 }];
const ORDERS = ['far-to-near', 'near-to-far'];

/** Sees every one of {@link cloud}, at depths from 32 to 96. Columns, as in WGSL. */
const SEES_ALL = [0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 1, 0, 0, 1, 64];
/** All of them are behind it. */
const SEES_NONE = [0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, -1, 0, 0, 0, -64];

/** A matrix with other values at some places. */
const changed = (matrix, parts) => Object.assign([...matrix], parts);

/** Random positions: multiples of 1/8 from -32 to 32, so many depths are equal. */
const cloud = (next, length) =>
  Float32Array.from({ length: 3 * length }, () => Math.floor(next() * 513) / 8 - 32);

/** A camera that sees some of them: w is a distance along any direction, and z is in its range. */
function randomCamera(next) {
  const factor = () => Math.floor(next() * 65) / 16 - 2;
  const columns = [0, 1, 2].map(() => {
    const w = factor();
    return [factor(), factor(), w / 2, w];
  });
  const w = Math.floor(next() * 33);
  return [...columns, [factor(), factor(), w / 2 - 4, w]].flat();
}

const bits = new DataView(new ArrayBuffer(4));

function bitsOf(float) {
  bits.setFloat32(0, float);
  return bits.getUint32(0);
}

/** A number that ascends with the depth, as finely as keys tell depths apart. */
function rank(depth, { bits: width, nearest, farthest }) {
  if (width === 32) {
    return bitsOf(Math.abs(depth));
  }
  const from = (float) => bitsOf(float) - bitsOf(nearest);
  // The range is divided by the least power of two that leaves 65,535 ranks or fewer.
  let divisor = 1;
  while (Math.floor(from(farthest) / divisor) >= 65_535) {
    divisor *= 2;
  }
  return Math.floor(from(Math.min(Math.max(depth, nearest), farthest)) / divisor);
}

/** The indices of the splats that are drawn, in order. */
function expected(positions, matrix, { key, depth = 'w', order = 'far-to-near', margin }) {
  const { fround } = Math;
  const drawn = [];
  for (let splat = 0; splat < positions.length / 3; splat += 1) {
    const position = positions.subarray(3 * splat, 3 * splat + 3);
    const clip = [0, 1, 2, 3].map((row) => {
      const [a, b, c] = [0, 1, 2].map((i) => fround(fround(matrix[4 * i + row]) * position[i]));
      return fround(fround(fround(a + b) + c) + fround(matrix[12 + row]));
    });
    const [x, y, z, w] = clip;
    const edge = fround(fround(1 + margin) * w);
    const isInside = Math.abs(x) <= edge && Math.abs(y) <= edge && z >= 0 && z <= w && w > 0;
    if (isInside && [...position, ...clip].every(Number.isFinite)) {
      const of = { w, z, 'reversed-z': fround(w - z) }[depth];
      drawn.push({ splat, rank: rank(of, key) });
    }
  }
  const sign = order === 'far-to-near' ? -1 : 1;
  return drawn.sort((a, b) => sign * (a.rank - b.rank)).map(({ splat }) => splat);
}

/** The positions in both layouts, from places that are not aligned. */
function layouts(buffers, positions) {
  const words = new Uint32Array(positions.buffer);
  const length = words.length / 3;
  // Rows of 20 bytes with the position in the middle, after three other words.
  const rows = new Uint32Array(3 + 5 * length).fill(0xffff_ffff);
  // All x, all y and all z in one buffer, one behind the other.
  const arrays = new Uint32Array(1 + 3 * length).fill(0xffff_ffff);
  words.forEach((word, i) => {
    const [splat, axis] = [Math.floor(i / 3), i % 3];
    rows[3 + 5 * splat + 1 + axis] = word;
    arrays[1 + axis * length + splat] = word;
  });
  const strided = { buffer: buffers.upload(rows), offset: 12 };
  const buffer = buffers.upload(arrays);
  return [
    { rows: strided, stride: 20, offset: 4 },
    [0, 1, 2].map((axis) => ({ buffer, offset: 4 + 4 * axis * length, size: 4 * length })),
  ];
}

const makeCamera = (device) => device.createBuffer({
  size: 64, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
});

/** Runs a frame for each matrix, and returns the count, draw arguments and order of each. */
async function run(splats, buffers, camera, matrices) {
  const { device } = buffers;
  const { length } = splats;
  const each = 4 * (5 + length);
  const usage = GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  // All are read at once: each reading takes 100 ms in Firefox.
  const results = device.createBuffer({ size: each * matrices.length, usage });
  matrices.forEach((matrix, frame) => {
    device.queue.writeBuffer(camera, 0, Float32Array.from(matrix));
    const encoder = device.createCommandEncoder();
    splats.record(encoder);
    const copy = (buffer, at, size) =>
      encoder.copyBufferToBuffer(buffer, 0, results, each * frame + at, size);
    copy(splats.count, 0, 4);
    copy(splats.indirect, 4, 16);
    if (length > 0) {
      copy(splats.order, 20, 4 * length);
    }
    device.queue.submit([encoder.finish()]);
  });
  const words = await buffers.download(results, Uint32Array);
  results.destroy();
  return matrices.map((_, frame) => {
    const of = words.subarray((each / 4) * frame, (each / 4) * (frame + 1));
    return { count: of[0], indirect: of.subarray(1, 5), order: of.subarray(5) };
  });
}

/** Compares the frames of some positions in both layouts with the CPU's. */
async function compare(sorter, buffers, positions, matrices, how) {
  const camera = makeCamera(buffers.device);
  const length = positions.length / 3;
  const { vertices = 4 } = how;
  for (const place of layouts(buffers, positions)) {
    const descriptor = { positions: place, length, camera, ...how };
    const splats = await SplatSorter.create(sorter, descriptor);
    const frames = await run(splats, buffers, camera, matrices);
    frames.forEach(({ count, indirect, order }, i) => {
      const what = `${length} splats, ${JSON.stringify(how)}, matrix ${matrices[i]}`;
      const drawn = expected(positions, matrices[i], how);
      check(count === drawn.length, `${what}: ${count} are drawn, and not ${drawn.length}`);
      same(indirect, [vertices, count, 0, 0], `draw arguments of ${what}`);
      const rest = new Set(Array(length).keys());
      drawn.forEach((splat) => rest.delete(splat));
      same(order, [...drawn, ...rest], `order of ${what}`);
    });
    splats.dispose();
  }
  camera.destroy();
}

/** All sizes of less than a tile, and some of more, in both layouts and with both keys. */
export async function splatOrders() {
  const [sorter, buffers] = await opened();
  const next = random(1);
  for (const length of [0, 1, 2, 255, 257, 1000, 5000]) {
    const positions = cloud(next, length);
    const matrices = [randomCamera(next), SEES_ALL, randomCamera(next), SEES_NONE];
    for (const key of KEYS) {
      for (const order of ORDERS) {
        await compare(sorter, buffers, positions, matrices, { key, order, margin: 0.25 });
      }
    }
  }
  const how = { key: KEYS[0], margin: 0.25, vertices: 6 };
  await compare(sorter, buffers, cloud(next, 10), [SEES_ALL], how);
  sorter.dispose();
}

/** A hundred cameras, as a GPU sorts. */
export async function splatCameras() {
  const [sorter, buffers] = await opened({ isFallbackAdapter: false });
  const next = random(2);
  const positions = cloud(next, 1500);
  const matrices = Array.from({ length: 100 }, () => randomCamera(next));
  for (const key of KEYS) {
    await compare(sorter, buffers, positions, matrices, { key, margin: 0.25 });
  }
  // They see something, and not all.
  const drawn = matrices.map((matrix) =>
    expected(positions, matrix, { key: KEYS[0], margin: 0.25 }).length);
  check(drawn.filter((number) => number > 15).length > 50, `${drawn}`);
  check(drawn.every((number) => number < 1500), `${drawn}`);
  sorter.dispose();
}

/** Depths of orthographic projections: z, either way round. On a device with the least limits. */
export async function splatDepths() {
  const device = await (await navigator.gpu.requestAdapter()).requestDevice();
  const sorter = await Sorter.create(device, { isFallbackAdapter: false });
  const buffers = new Buffers(device);
  const positions = cloud(random(3), 1000);
  const key = { bits: 16, nearest: 0, farthest: 1 };
  // z from 0 to 1 for distances from 0 to 64.
  const matrix = [1 / 32, 0, 0, 0, 0, 1 / 16, 0, 0, 0, 0, 1 / 64, 0, 0, 0, 0.25, 1];
  for (const how of [
    { depth: 'z', key: KEYS[0], margin: 0 },
    { depth: 'reversed-z', key, margin: 0 },
  ]) {
    await compare(sorter, buffers, positions, [matrix], how);
    const drawn = expected(positions, matrix, how);
    check(drawn.length > 100 && drawn.length < 900, `${drawn.length} are drawn`);
    // The farthest is the first.
    const [first, last] = [drawn[0], drawn.at(-1)].map((splat) => positions[3 * splat + 2]);
    check(how.depth === 'z' ? first > last : first < last, how.depth);
  }
  const many = cloud(random(8), 6000);
  for (const key of KEYS) {
    await compare(sorter, buffers, many, [SEES_ALL], { key, margin: 0.25 });
  }
  sorter.dispose();
}

/** Equal depths keep the order of their indices: the same bytes in each frame. */
export async function splatTies() {
  const [sorter, buffers] = await opened({ isFallbackAdapter: false });
  const positions = cloud(random(4), 5000);
  // w is 64 everywhere.
  const matrix = changed(SEES_ALL, { 11: 0 });
  for (const key of KEYS) {
    for (const order of ORDERS) {
      const how = { key, order, margin: 0.25 };
      await compare(sorter, buffers, positions, Array(5).fill(matrix), how);
      same(expected(positions, matrix, how), [...Array(5000).keys()], 'the order of indices');
    }
  }
  sorter.dispose();
}

/** What is not finite, behind the camera, or out of the picture, is not drawn. */
export async function splatsOutside() {
  const [sorter, buffers] = await opened();
  const inside = [1, 2, 3];
  const list = [inside, [-0, 0, -0], [1e-40, -1e-40, 1e-40], inside];
  const first = list.length;
  for (let odd = 0; odd < 5; odd += 1) {
    list.push(...[0, 1, 2].map((axis) => changed(inside, { [axis]: 9 })));
  }
  // These are finite, but not all that is computed of them.
  for (const value of [3.4e38, -3.4e38, 1e30, -1e30]) {
    list.push([value, 0, 0], [0, value, 0], [0, 0, value]);
  }
  const positions = Float32Array.from(list.flat());
  // NaN of both signs, one that signals, and infinities: by bits, which JavaScript may change.
  const words = new Uint32Array(positions.buffer);
  [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0x7f80_0000, 0xff80_0000].forEach((value, odd) =>
    [0, 1, 2].forEach((axis) => (words[3 * (first + 3 * odd + axis) + axis] = value)));
  // Every coordinate has its part in w.
  const all = changed(SEES_ALL, { 3: 2, 7: 2, 11: 2 });
  for (const key of KEYS) {
    const how = { key, margin: 0.25 };
    await compare(sorter, buffers, positions, [SEES_ALL, all, SEES_NONE], how);
    const drawn = expected(positions, all, how);
    same(drawn.filter((splat) => splat < first + 15).sort(), [0, 1, 2, 3], 'what is drawn');
    // A splat that is exactly at the camera is not before it.
    const at = changed(SEES_ALL, { 12: 0, 13: 0, 14: 0, 15: 0 });
    await compare(sorter, buffers, new Float32Array(3), [at], how);
    // A matrix that is not finite draws nothing.
    const matrices = [NaN, Infinity, -Infinity].flatMap((value) => [0, 4, 8, 12].map((column) =>
      changed(SEES_ALL, Object.fromEntries([0, 1, 2, 3].map((row) => [column + row, value])))));
    await compare(sorter, buffers, cloud(random(5), 300), matrices, how);
  }
  // x / w of 1, 1.25 and 1.5, at either side, and the same for y.
  const edges = Float32Array.from([128, 160, 192].flatMap((edge) =>
    [edge, 0, 0, -edge, 0, 0, 0, edge, 0, 0, -edge, 0]));
  for (const [margin, drawn] of [[0, 4], [0.25, 8], [0.499, 8], [0.5, 12], [1e30, 12]]) {
    const how = { key: KEYS[0], margin };
    await compare(sorter, buffers, edges, [SEES_ALL], how);
    check(expected(edges, SEES_ALL, how).length === drawn, `a margin of ${margin}`);
  }
  sorter.dispose();
}

/** Frames, of two sorters that share scratch memory in one pass: no object is made in them. */
export async function splatFrames() {
  const [sorter, buffers] = await opened({ isFallbackAdapter: false });
  const { device } = sorter;
  const next = random(6);
  const positions = cloud(next, 1200);
  const scratch = new Scratch();
  const camera = makeCamera(device);
  const [place] = layouts(buffers, positions);
  // A buffer of the page, larger than it need be.
  const orderBuffer = buffers.upload(new Uint32Array(1300));
  const [far, near] = await Promise.all(KEYS.map((key, i) => SplatSorter.create(sorter, {
    positions: place, length: 1200, camera, key, order: ORDERS[i], margin: 0.25, scratch,
    orderBuffer: i === 1 ? orderBuffer : undefined,
  })));
  check(far.memory > 2 * 4 * 1200 && near.length === 1200, `${far.memory} bytes`);
  check(near.order === orderBuffer && far.order !== orderBuffer, 'the order of the second');
  let made = 0;
  const creates = [];
  for (let of = device; of; of = Object.getPrototypeOf(of)) {
    creates.push(...Object.getOwnPropertyNames(of).filter((name) => /^create/.test(name)));
  }
  for (const name of creates.filter((name) => name !== 'createCommandEncoder')) {
    const original = device[name].bind(device);
    device[name] = (...descriptor) => {
      made += 1;
      return original(...descriptor);
    };
  }
  check(creates.length > 8, `${creates}`);
  let matrix;
  for (let frame = 0; frame < 300; frame += 1) {
    matrix = randomCamera(next);
    device.queue.writeBuffer(camera, 0, Float32Array.from(matrix));
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    far.recordInPass(pass);
    near.recordInPass(pass);
    pass.end();
    device.queue.submit([encoder.finish()]);
    // (Deno has no frames.)
    await new Promise(globalThis.requestAnimationFrame ?? setTimeout);
  }
  check(made === 0, `${made} objects were made in frames`);
  for (const [i, splats] of [far, near].entries()) {
    const drawn = expected(positions, matrix, { key: KEYS[i], order: ORDERS[i], margin: 0.25 });
    same(await buffers.download(splats.count, Uint32Array), [drawn.length], 'the last count');
    const order = await buffers.download(splats.order, Uint32Array);
    same(order.slice(0, drawn.length), drawn, 'the last order');
  }
  const last = await buffers.download(orderBuffer, Uint32Array);
  check(last.subarray(1200).every((word) => word === 0), 'words after the order');
  sorter.dispose();
  await fails('Disposed', () => far.record(device.createCommandEncoder()));
  // The page's buffer is still there.
  same(await buffers.download(orderBuffer, Uint32Array), last, 'the order of the page');
  scratch.dispose();
}

/** Descriptors that are refused, and why. */
export async function splatErrors() {
  const [sorter, buffers] = await opened();
  const { device } = sorter;
  device.onuncapturederror = ({ error }) => {
    throw new Error(`an error that no scope caught: ${error.message}`);
  };
  const rows = buffers.upload(new Float32Array(40));
  const camera = makeCamera(device);
  const good = { positions: { rows, stride: 16 }, length: 10, camera };
  const of = (parts) => () => SplatSorter.create(sorter, { ...good, ...parts });
  const message = async (code, parts, text) => {
    const error = await fails(code, of(parts));
    check(error.message.includes(text), error.message);
  };
  // The last row need not be whole.
  for (const [stride, offset, length] of [[16, 4, 10], [12, 0, 13], [72, 0, 3], [40, 28, 4]]) {
    (await of({ positions: { rows, stride, offset }, length })()).dispose();
  }
  const small = 'positions.rows has 160 bytes, but needs 172';
  await message('BufferTooSmall', { length: 11 }, small);
  await message('Stride', { positions: { rows, stride: 16, offset: 8 } }, 'positions.offset 8');
  const [short, long] = [36, 40].map((size) => ({ buffer: rows, offset: 4, size }));
  await message('BufferTooSmall', { positions: [long, short, long] }, 'positions[1] has 36 bytes');
  const odd = { buffer: rows, offset: 2 };
  await message('Offset', { positions: [long, long, odd] }, 'positions[2] is 2, but must be');
  await message('BufferUsage', { positions: { rows: camera, stride: 12 } }, 'usage STORAGE');
  await message('BufferUsage', { camera: rows }, 'camera is a GPUBuffer without the usage UNIFORM');
  await message('BufferTooSmall', { camera: { buffer: camera, size: 60 } }, 'camera has 60 bytes');
  await message('Offset', { camera: { buffer: camera, offset: 4 } }, 'camera is 4, but must be');
  const ofNine = buffers.upload(new Uint32Array(9));
  const tooShort = 'orderBuffer has 36 bytes, but needs 40';
  await message('BufferTooSmall', { orderBuffer: ofNine }, tooShort);
  await message('BufferUsage', { orderBuffer: camera }, 'orderBuffer is a GPUBuffer without');
  await message('Margin', { margin: -0.1 }, 'margin is -0.1');
  await message('DepthRange', { key: { bits: 16, nearest: 1, farthest: 1 } }, 'key.nearest is 1');
  await names('key.nearest', of({ key: { bits: 16, farthest: 1 } }));
  await names('key has no part "nearest"', of({ key: { bits: 32, nearest: 1 } }));
  await names('Sorter.create(device)', () => SplatSorter.create(device, good));
  await names('SplatSorter.create', () => new SplatSorter());
  const foreign = makeCamera(await requestDevice());
  await names('camera is not a valid buffer', of({ camera: foreign }));
  const theirs = (await requestDevice()).createBuffer({ size: 40, usage: GPUBufferUsage.STORAGE });
  await names('orderBuffer is not a valid buffer', of({ orderBuffer: theirs }));
  const bound = device.limits.maxStorageBufferBindingSize;
  const many = { length: Math.min(bound / 4 + 1000, 2 ** 32 - 1) };
  await message('BufferTooSmall', many, 'positions.rows has 160 bytes');

  // A device with the least limits.
  const least = await (await navigator.gpu.requestAdapter()).requestDevice();
  const size = 2 ** 27 + 2 ** 16;
  const large = least.createBuffer({ size, usage: GPUBufferUsage.STORAGE });
  const other = await Sorter.create(least);
  const descriptor = { positions: { rows: large, stride: 64 }, camera: makeCamera(least) };
  const tooMany = () => SplatSorter.create(other, { ...descriptor, length: size / 64 });
  const error = await fails('BindingTooLarge', tooMany);
  check(error.message.startsWith('positions.rows would need'), error.message);
  const few = await SplatSorter.create(other, { ...descriptor, length: 1000 });
  few.dispose();
  await fails('Disposed', () => few.record(least.createCommandEncoder()));
  other.dispose();
  await fails('Disposed', () => SplatSorter.create(other, { ...descriptor, length: 1000 }));
  least.destroy();

  const pending = of({})();
  sorter.dispose();
  await fails('Disposed', () => pending);
  // (Events come after the calls that cause them.)
  await device.queue.onSubmittedWorkDone();
  await new Promise((after) => setTimeout(after, 50));
}
