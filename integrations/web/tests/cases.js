/** What tests run in each engine: each export is a case, which throws where the sorter is wrong. */

import { Scratch, Sorter, requestDevice } from '../dist/index.js';
import { Buffers, check, fails, names, opened, random, same } from './checks.js';

const ARRAYS = [
  Uint8Array, Uint8ClampedArray, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array,
  Float32Array, BigUint64Array, BigInt64Array, Float64Array,
  ...('Float16Array' in globalThis ? [Float16Array] : []),
];

const PATTERNS = {
  random: (next) => (next() - 0.5) * 2 ** 40,
  ascending: (_, i) => i - 1000,
  equal: () => 7,
  few: (next) => Math.floor(next() * 3),
};

/** An array with a pattern; of floats some are NaN, infinite or -0. */
function keysOf(Array, length, pattern, seed = 1) {
  const next = random(seed);
  const isBig = Array === BigInt64Array || Array === BigUint64Array;
  const isFloat = Array.name.startsWith('Float');
  const special = [NaN, Infinity, -Infinity, -0, 0];
  return Array.from({ length }, (_, i) => {
    const number = PATTERNS[pattern](next, i);
    if (isFloat && pattern === 'random' && next() < 0.1) {
      return special[Math.floor(next() * special.length)];
    }
    return isBig ? BigInt(Math.floor(number)) : number;
  });
}

/** The order of typed arrays' own sort. */
function compare(a, b) {
  if (Number.isNaN(a) || Number.isNaN(b)) {
    return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  }
  if (a === b) {
    return Number(Object.is(b, -0)) - Number(Object.is(a, -0));
  }
  return a < b ? -1 : 1;
}

function argsorted(keys, descending) {
  const sign = descending ? -1 : 1;
  return Uint32Array.from(keys.keys()).sort((i, j) => sign * compare(keys[i], keys[j]) || i - j);
}

async function everyCall(sorter, lengths) {
  for (const Array of ARRAYS) {
    for (const length of lengths) {
      // At the same time: each call waits for the device, in Firefox at least 100 ms.
      await Promise.all(Object.keys(PATTERNS).map((pattern) =>
        everyCallOn(sorter, Array, length, pattern)));
    }
  }
}

async function everyCallOn(sorter, Array, length, pattern) {
  const keys = keysOf(Array, length, pattern, length + 1);
  const descending = pattern !== 'random' && length % 2 === 1;
  const indices = argsorted(keys, descending);
  const sorted = Array.from(indices, (i) => keys[i]);
  const what = `${length} ${pattern} keys in ${Array.name}, descending ${descending}`;
  const values = globalThis.Array.from(keys.keys(), String);
  const pairs = keys.slice();
  const k = Math.min(length, 10);
  const [inOrder, argsort, top] = await Promise.all([
    sorter.sort(keys.slice(), { descending }),
    sorter.argsort(keys, { descending }),
    sorter.topk(keys, 10, { largest: descending }),
    sorter.sortPairs(pairs, values, { descending }),
  ]);
  same(inOrder, sorted, `sort ${what}`);
  same(argsort, indices, `argsort ${what}`);
  same(pairs, sorted, `sortPairs ${what}`);
  same(values, globalThis.Array.from(indices, String), `values of ${what}`);
  same(top.values, sorted.slice(0, k), `topk ${what}`);
  same(top.indices, indices.slice(0, k), `indices of topk ${what}`);
}

/** As a software adapter sorts: keys alone by the paper's mergesort. */
export async function everyTypeOnAFallbackAdapter() {
  const sorter = await Sorter.create(await requestDevice(), { isFallbackAdapter: true });
  await everyCall(sorter, [0, 1, 2, 33, 1025, 5001]);
  sorter.dispose();
}

/** As a GPU sorts: by the sample sort. */
export async function everyTypeOnAGpu() {
  const sorter = await Sorter.create(await requestDevice(), { isFallbackAdapter: false });
  await everyCall(sorter, [0, 1, 2, 33, 1025, 5001]);
  const many = keysOf(Float32Array, 300_001, 'random');
  same(await sorter.sort(many.slice()), many.slice().sort(), 'many floats');
  sorter.dispose();
}

/** A device of a page that asked for nothing: with the least limits that WebGPU allows. */
export async function defaultDevice() {
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  check(device.limits.maxComputeWorkgroupStorageSize === 16_384, 'the least limits');
  for (const isFallbackAdapter of [false, true]) {
    const sorter = await Sorter.create(device, { isFallbackAdapter });
    for (const Array of [Float32Array, BigUint64Array]) {
      const keys = Array.from(keysOf(Uint32Array, 20_000, 'random'), (key) =>
        Array === BigUint64Array ? BigInt(key) : key);
      const indices = argsorted(keys, false);
      same(await sorter.argsort(keys), indices, 'argsort');
      const sorted = keys.slice().sort();
      same(await sorter.sort(keys), sorted, 'sort');
    }
    sorter.dispose();
  }
}

/**
 * As many keys as the device can bind, and one more, which is refused. A device with the least
 * limits binds 128 MiB, and so does the largest of Firefox and Deno on lavapipe. As many keys are
 * bound on the former, of which a count on the GPU says to sort few.
 */
export async function maxLength() {
  const adapter = await navigator.gpu.requestAdapter();
  for (const [device, isLeast] of [
    [await adapter.requestDevice(), true],
    [await requestDevice(), false],
  ]) {
    const { maxStorageBufferBindingSize: binding, maxBufferSize } = device.limits;
    check(!isLeast || binding === 2 ** 27, `the least limit is ${binding} bytes`);
    const bytes = Math.min(binding, maxBufferSize);
    const sorter = await Sorter.create(device, { isFallbackAdapter: false });
    for (const [type, size] of [['u8', 4], ['f16', 4], ['u32', 4], ['f64', 8]]) {
      const most = sorter.maxLength(type);
      check(most * size <= bytes, `${type}: ${most} keys are more than ${bytes} bytes`);
      check((most + 20_000) * size > bytes, `${type}: ${most} keys of ${bytes} bytes`);
    }
    const most = sorter.maxLength('u32');
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const keys = device.createBuffer({ size: bytes, usage });
    const job = { keys, type: 'u32' };
    const { message } = await fails('TooLarge', () => sorter.prepare({ ...job, length: most + 1 }));
    check(message.includes(`${most}`), message);
    const bytesOfKeys = new Uint8Array(sorter.maxLength('u8') + 1);
    bytesOfKeys[0] = 7;
    await fails('TooLarge', () => sorter.sort(bytesOfKeys));
    check(bytesOfKeys[0] === 7, 'the array is unchanged');
    // (SwiftShader takes minutes for the workgroups of as many keys, although they are empty.)
    if (isLeast && adapter.info.architecture !== 'swiftshader') {
      const buffers = new Buffers(device);
      const few = keysOf(Uint32Array, 50_000, 'random');
      device.queue.writeBuffer(keys, 0, few);
      const count = buffers.upload(Uint32Array.of(few.length));
      const sort = await sorter.prepare({ ...job, length: most, count });
      sort.run();
      sort.dispose();
      const size = few.byteLength;
      const start = buffers.upload(new Uint32Array(few.length), usage);
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(keys, 0, start, 0, size);
      device.queue.submit([encoder.finish()]);
      same(await buffers.download(start, Uint32Array), few.sort(), 'few of the most keys');
    }
    keys.destroy();
    sorter.dispose();
    device.destroy();
  }
}

/** A view into the middle of a buffer: nothing around it may change. */
export async function views() {
  const sorter = await Sorter.create(await requestDevice());
  const memory = new Uint8Array(100).fill(9);
  const view = memory.subarray(3, 90);
  view.set(Uint8Array.from({ length: 87 }, (_, i) => (i * 37) % 87));
  await sorter.sort(view);
  same(view, Uint8Array.from(view.keys()), 'the view');
  check(memory.subarray(0, 3).every((x) => x === 9), 'before the view');
  check(memory.subarray(90).every((x) => x === 9), 'after the view');
  const shared = new Int16Array(new ArrayBuffer(10), 2, 3);
  shared.set([3, -1, 2]);
  same(await sorter.sort(shared), Int16Array.of(-1, 2, 3), 'three shorts');
  sorter.dispose();
}

/** Arrays that are used twice, change or go while they are sorted. */
export async function changingArrays() {
  const sorter = await Sorter.create(await requestDevice());
  const twice = Uint32Array.of(5, 3, 9, 1, 7);
  await sorter.sortPairs(twice, twice);
  same(twice, Uint32Array.of(1, 3, 5, 7, 9), 'the same array twice');
  const keys = Uint32Array.of(2, 1);
  await fails('InvalidArgument', () => sorter.sortPairs(keys, Object.freeze(['b', 'a'])));
  same(keys, Uint32Array.of(2, 1), 'keys of frozen values');

  // What the array holds at the call counts.
  const changed = Float32Array.of(4, 3, 2, 1);
  const indices = sorter.argsort(changed);
  changed.fill(0);
  same(await indices, Uint32Array.of(3, 2, 1, 0), 'argsort of an array that changes');
  const moved = Float32Array.of(4, 3, 2, 1);
  const sorting = sorter.sort(moved);
  structuredClone(moved.buffer, { transfer: [moved.buffer] });
  await fails('InvalidArgument', () => sorting);

  const memory = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true });
  const shared = new Int16Array(memory.buffer, 2, 3);
  shared.set([3, -1, 2]);
  same(await sorter.sort(shared), Int16Array.of(-1, 2, 3), 'shared memory');

  const resizable = new ArrayBuffer(10, { maxByteLength: 16 });
  const tracking = new Int16Array(resizable);
  tracking.set([3, -1, 2, 0, -2]);
  same(await sorter.sort(tracking), Int16Array.of(-2, -1, 0, 2, 3), 'a resizable buffer');
  same(await sorter.argsort(tracking), Uint32Array.of(0, 1, 2, 3, 4), 'argsort of it');
  const letters = [...'abcde'];
  await sorter.sortPairs(tracking, letters, { descending: true });
  check(letters.join('') === 'edcba', 'sortPairs of it');
  const outside = new Int16Array(resizable, 6, 2);
  resizable.resize(8);
  for (const call of [
    () => sorter.sort(outside),
    () => sorter.argsort(moved),
    () => sorter.topk(moved, 1),
    () => sorter.sortPairs(moved, []),
    () => sorter.sortPairs(new Uint8Array(0), moved),
  ]) {
    const { message } = await fails('InvalidArgument', call);
    check(message.includes('detached'), message);
  }
  sorter.dispose();
}

/** What a job describes, each by itself and together. */
export async function jobs() {
  const [sorter, buffers] = await opened();
  const numbers = Uint32Array.of(5, 3, 9, 1, 7, 3);
  const run = async (job) => {
    const sort = await sorter.prepare({ type: 'u32', length: 6, ...job });
    sort.run();
    sort.dispose();
  };
  const expect = async (buffer, items, message, Array = Uint32Array) =>
    same(await buffers.download(buffer, Array), Array.from(items), message);

  let keys = buffers.upload(numbers);
  const values = buffers.upload(Uint32Array.of(50, 30, 90, 10, 70, 31));
  await run({ keys, values, descending: true });
  await expect(keys, [9, 7, 5, 3, 3, 1], 'descending keys');
  const moved = await buffers.download(values, Uint32Array);
  same(moved.slice(0, 3), Uint32Array.of(90, 70, 50), 'values');

  keys = buffers.upload(numbers);
  const output = buffers.upload(new Uint32Array(6));
  const indices = buffers.upload(new Uint32Array(6));
  const rows = buffers.upload(Float32Array.from({ length: 12 }, (_, i) => i));
  const sortedRows = buffers.upload(new Float32Array(12));
  const payload = [{ rows, bytes: 8, output: sortedRows }];
  await run({ keys, output, indices, payload });
  await expect(keys, numbers, 'the input');
  await expect(output, [1, 3, 3, 5, 7, 9], 'the output');
  await expect(indices, [3, 1, 5, 0, 4, 2], 'indices');
  await expect(sortedRows, [6, 7, 2, 3, 10, 11, 0, 1, 8, 9, 4, 5], 'rows', Float32Array);

  await run({ keys, keepKeys: true, indices });
  await expect(keys, numbers, 'kept keys');

  const range = { buffer: keys, offset: 4, size: 16 };
  await run({ keys: range, length: 4 });
  await expect(keys, [5, 1, 3, 7, 9, 3], 'a range of the buffer');

  keys = buffers.upload(numbers);
  const count = buffers.upload(Uint32Array.of(0, 3));
  await run({ keys, count: { buffer: count, offset: 4 } });
  await expect(keys, [3, 5, 9, 1, 7, 3], 'a count on the GPU');

  keys = buffers.upload(numbers);
  const offsets = buffers.upload(Uint32Array.of(0, 2, 2));
  await run({ keys, segments: { offsets, count: 3 } });
  await expect(keys, [3, 5, 1, 3, 7, 9], 'segments');

  const structs = buffers.upload(Float32Array.of(0, 9, 1, -9, 2, 0.5));
  await run({ keys: structs, type: 'f32', length: 3, field: { stride: 8, offset: 4 } });
  await expect(structs, [1, -9, 2, 0.5, 0, 9], 'a field of structs', Float32Array);

  keys = buffers.upload(Uint32Array.of(0x109, 0x003, 0x101, 0x105));
  await run({ keys, length: 4, bits: [8, 9] });
  await expect(keys, [0x003, 0x109, 0x101, 0x105], 'one bit');

  const comparator = `struct Point { x: f32, y: f32 }
    fn precedes(a: Point, b: Point) -> bool { return a.x > b.x; }`;
  const sort = await sorter.prepare({ keys: structs, length: 3, comparator });
  sort.run();
  await expect(structs, [2, 0.5, 1, -9, 0, 9], 'a comparator', Float32Array);

  const points = buffers.upload(Float32Array.of(1, 0, 2, 1, 3, 2, 4, 3, 5, 4));
  const twoSegments = { offsets: buffers.upload(Uint32Array.of(0, 2)), count: 2 };
  const within = await sorter.prepare({
    keys: points, length: 5, comparator, segments: twoSegments,
  });
  within.run();
  await expect(points, [2, 1, 1, 0, 5, 4, 4, 3, 3, 2], 'a comparator in segments', Float32Array);

  // The upper halves of 1, -2 and 0.5 as f32.
  keys = buffers.upload(Uint16Array.of(0x3f80, 0xc000, 0x3f00));
  await run({ keys, type: 'bf16', length: 3 });
  const halves = await buffers.download(keys, Uint16Array);
  same(halves.slice(0, 3), Uint16Array.of(0xc000, 0x3f00, 0x3f80), 'bf16');

  const many = Uint32Array.from({ length: 50_000 }, (_, i) => (i * 7919) % 50_000);
  keys = buffers.upload(many);
  const order = buffers.upload(new Uint32Array(50_000));
  await run({ keys, keepKeys: true, indices: order, length: 50_000, bits: [4, 16] });
  const byBits = Uint32Array.from(many.keys());
  byBits.sort((a, b) => (many[a] >>> 4) - (many[b] >>> 4) || a - b);
  await expect(order, byBits, 'many by bits');
  await run({ keys, length: 50_000, top: 100 });
  const first = await buffers.download(keys, Uint32Array);
  same(first.slice(0, 100), Uint32Array.from({ length: 100 }, (_, i) => i), 'the first 100');
  keys = buffers.upload(many);
  const both = { offsets: buffers.upload(Uint32Array.of(0, 25_000)), count: 2 };
  await run({ keys, length: 50_000, segments: both, top: 100 });
  const half = (await buffers.download(keys, Uint32Array)).slice(25_000);
  same(half.slice(0, 100), many.slice(25_000).sort().slice(0, 100), 'the first 100 of a half');
  same(first.sort(), many.sort(), 'all of them');
  sorter.dispose();
}

/** What comes after a sort, or without one where keys are in order already. */
export async function found() {
  const [sorter, buffers] = await opened();
  const room = (words) => buffers.upload(new Uint32Array(words));
  for (const [Array, type] of [[Uint8Array, 'u8'], [Uint32Array, 'u32'], [Float64Array, 'f64']]) {
    const length = 5001;
    const next = random(length);
    const numbers = Array.from({ length }, () => Math.floor(next() * 200));
    const sorted = numbers.slice().sort();
    const different = [...new Set(sorted)];
    const starts = different.map((key) => sorted.indexOf(key));
    const firsts = different.map((key) => numbers.indexOf(key));
    const needles = Array.of(250, 0, 7, 7, 199);
    const places = (isBefore) => globalThis.Array.from(needles, (needle) =>
      sorted.filter((key) => isBefore(key, needle)).length);
    const expect = async (buffer, Array, items, what) => {
      const there = await buffers.download(buffer, Array);
      same(there.slice(0, items.length), Array.from(items), `${type}, ${what}`);
    };
    for (const isSorted of [false, true]) {
      const rows = buffers.upload(Uint32Array.from({ length }, (_, i) => i));
      const firstRows = room(length);
      const runs = {
        count: room(1), starts: room(length), lengths: room(length),
        keys: buffers.upload(new Array(length)),
      };
      const search = { needles: buffers.upload(needles), count: 5, places: room(5) };
      const startsOf = { table: room(101), cells: 100 };
      const job = {
        keys: buffers.upload(isSorted ? sorted : numbers), type, length, sorted: isSorted, runs,
        payload: [{ rows, bytes: 4, firsts: firstRows }], lowerBound: search,
        ...(type !== 'f64' && { startsOf }),
      };
      (await sorter.prepare(job)).run();
      await expect(runs.count, Uint32Array, [different.length], 'runs.count');
      await expect(runs.starts, Uint32Array, starts, 'runs.starts');
      const lengths = starts.map((start, i) => (starts[i + 1] ?? length) - start);
      await expect(runs.lengths, Uint32Array, lengths, 'runs.lengths');
      await expect(runs.keys, Array, different, 'runs.keys');
      await expect(firstRows, Uint32Array, isSorted ? starts : firsts, 'firsts');
      await expect(search.places, Uint32Array, places((a, b) => a < b), 'lowerBound');
      if (type !== 'f64') {
        const table = globalThis.Array.from({ length: 101 }, (_, cell) =>
          sorted.filter((key) => key < cell).length);
        await expect(startsOf.table, Uint32Array, table, 'startsOf.table');
      }
    }
    const keys = buffers.upload(new Array(length));
    const [unique, upperBound] = [{ keys, count: room(1) }, {
      needles: buffers.upload(needles), count: 5, places: room(5),
    }];
    const of = { keys: buffers.upload(sorted), type, length, sorted: true, unique, upperBound };
    (await sorter.prepare(of)).run();
    await expect(unique.count, Uint32Array, [different.length], 'unique.count');
    await expect(keys, Array, different, 'unique.keys');
    await expect(upperBound.places, Uint32Array, places((a, b) => a <= b), 'upperBound');
    const { values, counts } = await sorter.unique(numbers);
    same(values, Array.from(different), `${type}, unique`);
    check(values.constructor === Array, 'the class of unique');
    check(counts.reduce((sum, count) => sum + count, 0) === length, 'counts of unique');
  }
  const none = await sorter.unique(new Int16Array(0));
  check(none.values.length === 0 && none.counts.length === 0, 'unique of nothing');
  const keys = buffers.upload(Float32Array.of(1, 2, 3, 4));
  const of = (parts) => () => sorter.prepare({ keys, type: 'f32', length: 4, ...parts });
  const message = async (code, parts, text) => {
    const error = await fails(code, of(parts));
    check(error.message.includes(text), error.message);
  };
  const [count, other] = [room(1), room(1)];
  await message('BufferTooSmall', { runs: { count, starts: other } }, 'runs.starts has 4 bytes');
  await message('BufferTooSmall', { unique: { count, keys: other } }, 'unique.keys has 4 bytes');
  await message('SameBuffer', { unique: { count: keys, keys: other } }, 'keys and unique.count');
  await message('NoCells', { startsOf: { table: other, cells: 0 } }, 'startsOf');
  await message('NoBits', { bits: [0, 8] }, 'u32 keys, not of f32');
  await message('InvalidOption', { type: 'u32', bits: [8, 33] }, 'bits[1] is 33');
  await message('NotInOrder', { top: 1, runs: { count } }, 'only some ranks are sorted');
  const search = { needles: other, count: 1, places: count };
  const both = { lowerBound: search, upperBound: search };
  await message('InvalidArgument', both, 'either lowerBound or upperBound');
  const twice = { runs: { count }, unique: { count, keys: other } };
  await message('InvalidArgument', twice, 'either runs or unique');
  await message('InvalidArgument', { sorted: true }, 'sorted leaves nothing to write');
  const kept = { payload: [{ rows: other, bytes: 4, firsts: count }] };
  await message('InvalidArgument', kept, 'payload[].firsts');
  sorter.dispose();
}

/** Records that have a flag. */
export async function compactions() {
  const [sorter, buffers] = await opened();
  const length = 20_001;
  const next = random(3);
  const flags = Uint8Array.from({ length }, () => (next() < 0.3 ? 1 + next() * 200 : 0));
  const there = buffers.upload(flags);
  const items = Float32Array.from({ length: 2 * length }, (_, i) => i);
  const rows = buffers.upload(items);
  const output = buffers.upload(new Float32Array(2 * length));
  const [kept, indices, count] = [1, length, 1].map((n) => buffers.upload(new Uint32Array(n)));
  const payload = [{ rows, bytes: 8, output }];
  const job = { flags: there, type: 'u8', length, kept, indices, payload };
  const all = [...flags.keys()].filter((i) => flags[i] !== 0);
  for (const most of [length, 700]) {
    const limit = buffers.upload(Uint32Array.of(most));
    const compact = await sorter.prepareCompact(most < length ? { ...job, count: limit } : job);
    compact.run();
    const expected = all.filter((i) => i < most);
    same(await buffers.download(kept, Uint32Array), [expected.length], 'kept');
    const numbers = await buffers.download(indices, Uint32Array);
    same(numbers.slice(0, expected.length), expected, 'indices');
    const moved = await buffers.download(output, Float32Array);
    const pairs = expected.flatMap((i) => [2 * i, 2 * i + 1]);
    same(moved.slice(0, pairs.length), pairs, 'rows');
  }
  const predicate = `struct Pair { x: f32, y: f32 }
    fn keeps(pair: Pair) -> bool { return fract(pair.x / 8.0) == 0.0; }`;
  const tested = { flags: rows, predicate, length, kept, indices, payload };
  (await sorter.prepareCompact(tested)).run();
  const fourths = [...flags.keys()].filter((i) => i % 4 === 0);
  same(await buffers.download(kept, Uint32Array), [fourths.length], 'kept by a predicate');
  const found = await buffers.download(indices, Uint32Array);
  same(found.slice(0, fourths.length), fourths, 'indices by a predicate');
  const own = await buffers.download(output, Float32Array);
  const pairsOfFourths = fourths.flatMap((i) => [2 * i, 2 * i + 1]);
  same(own.slice(0, pairsOfFourths.length), pairsOfFourths, 'rows by a predicate');
  await fails('Predicate', () => sorter.prepareCompact({ ...tested, predicate: 'fn keeps() {}' }));
  const typed = { ...tested, type: 'u8' };
  const both = await fails('InvalidArgument', () => sorter.prepareCompact(typed));
  check(both.message.includes('neither type nor field'), both.message);

  const small = { ...job, payload: [{ rows, bytes: 8, output: count }] };
  const { message } = await fails('BufferTooSmall', () => sorter.prepareCompact(small));
  check(message.startsWith('payload[0].output has 4 bytes'), message);
  const twice = () => sorter.prepareCompact({ ...job, kept: there });
  const error = await fails('SameBuffer', twice);
  check(error.message.startsWith('flags and kept are in one buffer'), error.message);
  sorter.dispose();
}

/** Prefix sums of every type, from offsets that are not aligned, too. */
export async function scans() {
  const [sorter, buffers] = await opened();
  const length = 20_001;
  for (const [Array, type] of [
    [Uint32Array, 'u32'], [Int32Array, 'i32'], [Float32Array, 'f32'], [BigUint64Array, 'u64'],
    [BigInt64Array, 'i64'],
  ]) {
    const number = Array.name.startsWith('Big') ? BigInt : Number;
    const next = random(5);
    const values = Array.from({ length }, () => number(Math.floor(next() * 100)));
    const scanned = (first, isExclusive) => {
      const sums = values.slice();
      let sum = number(0);
      for (let i = first; i < length; i += 1) {
        sums[i] = isExclusive ? sum : sum + values[i];
        sum += values[i];
      }
      return sums;
    };
    const there = buffers.upload(values);
    const output = buffers.upload(values);
    const job = { values: there, type, length };
    (await sorter.prepareScan({ ...job, output, exclusive: true })).run();
    same(await buffers.download(output, Array), scanned(0, true), `exclusive, ${type}`);
    const range = { buffer: there, offset: 3 * Array.BYTES_PER_ELEMENT };
    const count = buffers.upload(Uint32Array.of(99, length - 3));
    const counted = { values: range, type, length: length - 3 };
    (await sorter.prepareScan({ ...counted, count: { buffer: count, offset: 4 } })).run();
    same(await buffers.download(there, Array), scanned(3, false), `inclusive, ${type}`);
    const twice = () => sorter.prepareScan({ ...job, count: there });
    const { message } = await fails('SameBuffer', twice);
    check(message.startsWith('values and count'), message);
  }
  sorter.dispose();
}

/** The first keys of rows, and of segments of all lengths. */
export async function topKs() {
  const [sorter, buffers] = await opened();
  const [rows, each] = [13, 1500];
  const length = rows * each;
  const offsets = Uint32Array.of(7, 7, 40, 45, 3000, 3001, 19_000);
  const segments = [...offsets].map((begin, i) => [begin, offsets[i + 1] ?? length]);
  const ofRows = Array.from({ length: rows }, (_, row) => [row * each, (row + 1) * each]);
  const there = buffers.upload(offsets);
  for (const [Keys, type] of [
    [Uint8Array, 'u8'], [Int16Array, 'i16'], [Uint32Array, 'u32'], [Float32Array, 'f32'],
    [BigInt64Array, 'i64'],
  ]) {
    const number = Keys.name.startsWith('Big') ? BigInt : Number;
    const next = random(length);
    // Few different ones: of equal keys, those with lower indices come first.
    const numbers = Keys.from({ length }, () => number(Math.floor(next() * 100)));
    const keys = buffers.upload(numbers);
    for (const [k, descending, parts, ranges] of [
      [1, false, { rows }, ofRows],
      [100, true, { rows }, ofRows],
      [1024, false, { rows }, ofRows],
      [6, true, { segments: { offsets: there, count: offsets.length } }, segments],
    ]) {
      const before = 0xffff_fff0;
      const size = ranges.length * k;
      const indices = buffers.upload(new Uint32Array(size + 1).fill(before));
      const output = buffers.upload(new Keys(size).fill(number(101)));
      const wanted = new Uint32Array(size + 1).fill(before);
      const values = new Keys(size).fill(number(101));
      ranges.forEach(([begin, end], row) => {
        const sorted = argsorted(numbers.subarray(begin, end), descending);
        sorted.slice(0, k).forEach((index, i) => {
          wanted[row * k + i + 1] = begin + index;
          values[row * k + i] = numbers[begin + index];
        });
      });
      const job = {
        keys, type, length, k, descending, ...parts, indices: { buffer: indices, offset: 4 },
        ...(Keys.BYTES_PER_ELEMENT >= 4 && { output }),
      };
      const search = await sorter.prepareTopK(job);
      check(search.scratchBytes === 0, 'no scratch memory');
      search.run();
      const what = `top ${k} of ${ranges.length} ranges, ${type}`;
      same(await buffers.download(indices, Uint32Array), wanted, `indices, ${what}`);
      if (Keys.BYTES_PER_ELEMENT >= 4) {
        same(await buffers.download(output, Keys), values, `keys, ${what}`);
      }
      search.dispose();
    }
  }
  // The second numbers of pairs, and of those the upper bits.
  const seconds = [0x11, 0x23, 0x12, 0x22, 0x01, 0x02];
  const pairs = buffers.upload(Uint32Array.from(seconds.flatMap((second) => [9, second])));
  const indices = buffers.upload(new Uint32Array(4));
  (await sorter.prepareTopK({
    keys: pairs, type: 'u32', length: 6, k: 2, rows: 2, descending: true, indices,
    field: { stride: 8, offset: 4 }, bits: [4, 8],
  })).run();
  same(await buffers.download(indices, Uint32Array), Uint32Array.of(1, 0, 3, 4), 'bits of pairs');
  const wrong = { keys: pairs, type: 'u32', length: 12, k: 2, indices };
  await names('rows', () => sorter.prepareTopK({ ...wrong, rows: 5 }));
  await names('segments', () => sorter.prepareTopK(wrong));
  const of = (parts) => () => sorter.prepareTopK({ ...wrong, rows: 2, ...parts });
  await names('output or indices', of({ indices: undefined }));
  await fails('InvalidOption', of({ type: 'u8', output: pairs }));
  const { message } = await fails('BufferTooSmall', of({ rows: 3 }));
  check(message.startsWith('indices has 16 bytes'), message);
  sorter.dispose();
}

/** Merges of two inputs, in one buffer or two, with values and with counts on the GPU. */
export async function merges() {
  const [sorter, buffers] = await opened();
  const [a, b] = [5003, 2001];
  for (const [Keys, type] of [
    [Int32Array, 'i32'], [Float32Array, 'f32'], [BigUint64Array, 'u64'], [Float64Array, 'f64'],
  ]) {
    const number = Keys.name.startsWith('Big') ? BigInt : Number;
    const next = random(a);
    const numbers = Keys.from({ length: a + b }, () => number(Math.floor(next() * 1000)));
    for (const [descending, counts] of [[false, [a, b]], [true, [4000, 0]], [false, [0, 1999]]]) {
      const sign = descending ? -1 : 1;
      const sorted = (keys) => keys.sort((x, y) => sign * compare(x, y));
      sorted(numbers.subarray(0, a));
      sorted(numbers.subarray(a));
      const input = buffers.upload(numbers);
      const values = buffers.upload(Uint32Array.from(numbers.keys()));
      const count = buffers.upload(Uint32Array.from(counts));
      const keys = buffers.upload(new Keys(a + b));
      const moved = buffers.upload(new Uint32Array(a + b));
      const part = (first, length, i) => ({
        length,
        keys: { buffer: input, offset: first * Keys.BYTES_PER_ELEMENT },
        values: { buffer: values, offset: first * 4 },
        count: { buffer: count, offset: 4 * i },
      });
      (await sorter.prepareMerge({
        type, descending, first: part(0, a, 0), second: part(a, b, 1),
        output: { keys, values: moved },
      })).run();
      const chosen = [...numbers.keys()].filter((i) => i < a ? i < counts[0] : i - a < counts[1]);
      const order = chosen.sort((i, j) => sign * compare(numbers[i], numbers[j]) || i - j);
      const what = `${type}, ${counts}, descending ${descending}`;
      const merged = await buffers.download(keys, Keys);
      same(merged.subarray(0, order.length), Keys.from(order, (i) => numbers[i]), `keys, ${what}`);
      const indices = await buffers.download(moved, Uint32Array);
      same(indices.subarray(0, order.length), Uint32Array.from(order), `values, ${what}`);
      check(indices.subarray(order.length).every((value) => value === 0), `the rest, ${what}`);
    }
  }
  const [few, none] = [buffers.upload(Uint32Array.of(2, 4)), buffers.upload(new Uint32Array(1))];
  const output = { keys: buffers.upload(new Uint32Array(2)) };
  const scratch = new Scratch();
  const [first, second] = [{ keys: none, length: 0 }, { keys: few, length: 2 }];
  const job = { type: 'u32', first, second, output, scratch };
  (await sorter.prepareMerge(job)).run();
  same(await buffers.download(output.keys, Uint32Array), Uint32Array.of(2, 4), 'one input');
  check(scratch.bytes > 0, 'its scratch memory is that which was given');
  const wrong = (parts) => () => sorter.prepareMerge({ ...job, ...parts });
  const { message } = await fails('SameBuffer', wrong({ output: { keys: few } }));
  check(message.startsWith('second.keys and output.keys'), message);
  const short = await fails('BufferTooSmall', wrong({ first: { keys: none, length: 2 } }));
  check(short.message.startsWith('first.keys has 4 bytes'), short.message);
  await names('values', wrong({ output: { ...output, values: none } }));
  await names('count', wrong({ first: { keys: none, length: 0, count: none } }));
  scratch.dispose();
  sorter.dispose();
}

/** The example of the README: a sort, a scan and a compaction in one encoder, with one scratch. */
export async function particleGrid() {
  const [sorter, buffers] = await opened();
  const [length, cells] = [10_000, 512];
  const next = random(8);
  const numbers = Uint32Array.from({ length }, () => Math.floor(next() * cells));
  const flags = Uint32Array.from({ length: cells }, (_, cell) => cell % 3);
  const keys = buffers.upload(numbers);
  const [order, table, sums, kept, busy] = [length, cells + 1, cells, 1, cells].map((words) =>
    buffers.upload(new Uint32Array(words)));
  const scratch = new Scratch();
  const there = buffers.upload(flags);
  const grid = [
    await sorter.prepare({
      keys, type: 'u32', length, indices: order, startsOf: { table, cells }, scratch,
    }),
    await sorter.prepareScan({
      values: there, type: 'u32', length: cells, output: sums, exclusive: true, scratch,
    }),
    await sorter.prepareCompact({
      flags: there, type: 'u32', length: cells, kept, indices: busy, scratch,
    }),
  ];
  const encoder = sorter.device.createCommandEncoder();
  grid.forEach((part) => part.record(encoder));
  sorter.device.queue.submit([encoder.finish()]);
  same(await buffers.download(order, Uint32Array), argsorted(numbers, false), 'the order');
  const starts = await buffers.download(table, Uint32Array);
  const sorted = numbers.slice().sort();
  starts.forEach((start, cell) =>
    check(start === sorted.filter((key) => key < cell).length, `the start of cell ${cell}`));
  let sum = 0;
  const expected = flags.map((flag) => (sum += flag) - flag);
  same(await buffers.download(sums, Uint32Array), expected, 'sums');
  const chosen = [...flags.keys()].filter((cell) => flags[cell] !== 0);
  same(await buffers.download(kept, Uint32Array), [chosen.length], 'kept');
  const indices = await buffers.download(busy, Uint32Array);
  same(indices.slice(0, chosen.length), chosen, 'busy cells');
  scratch.dispose();
  sorter.dispose();
}

/** Several sorts share scratch memory, in one encoder and one pass. */
export async function sharedScratch() {
  const [sorter, buffers] = await opened();
  const scratch = new Scratch();
  const length = 20_000;
  const keys = [1, 2].map((seed) => keysOf(Float64Array, length, 'random', seed));
  const there = keys.map((array) => buffers.upload(array));
  const prepare = (keys) => sorter.prepare({ keys, type: 'f64', length, scratch });
  const first = await prepare(there[0]);
  const { bytes } = scratch;
  check(bytes > 0 && bytes >= first.scratchBytes, `${bytes} bytes`);
  const second = await prepare(there[1]);
  check(scratch.bytes === bytes, 'the second sort takes no more');
  const encoder = sorter.device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  first.recordInPass(pass);
  second.recordInPass(pass);
  pass.end();
  sorter.device.queue.submit([encoder.finish()]);
  for (const [i, array] of keys.entries()) {
    same(await buffers.download(there[i], Float64Array), array.sort(), `sort ${i}`);
  }
  // What is larger grows the memory, and the sorts before it still run.
  const large = keysOf(Float64Array, 3 * length, 'random', 3);
  const largest = buffers.upload(large);
  const third = await sorter.prepare({ keys: largest, type: 'f64', length: 3 * length, scratch });
  check(scratch.bytes > bytes, 'the third sort takes more');
  third.run();
  first.run();
  same(await buffers.download(largest, Float64Array), large.sort(), 'the third sort');
  same(await buffers.download(there[0], Float64Array), keys[0], 'sorted again');
  // A sort that cannot be prepared leaves the memory as it was.
  const other = new Buffers(await requestDevice()).upload(new Float64Array(4 * length));
  const grown = scratch.bytes;
  const refused = { keys: other, type: 'f64', length: 4 * length, scratch };
  const { message } = await fails('InvalidArgument', () => sorter.prepare(refused));
  check(message.startsWith('keys is not a valid buffer of the sorter'), message);
  check(scratch.bytes === grown, 'a failure takes none');
  await prepare(there[0]);
  const [elsewhere, its] = await opened();
  const foreign = { keys: its.upload(keys[0]), type: 'f64', length, scratch };
  const error = await fails('InvalidArgument', () => elsewhere.prepare(foreign));
  check(error.message.startsWith('scratch belongs to another device'), error.message);
  elsewhere.dispose();
  scratch.dispose();
  sorter.dispose();
}

/** Chunks: every submission is short. */
export async function chunks() {
  const [sorter, buffers] = await opened({ isFallbackAdapter: false, keysPerDispatch: 1024 });
  const numbers = keysOf(Int32Array, 30_000, 'random');
  const keys = buffers.upload(numbers);
  const sort = await sorter.prepare({ keys, type: 'i32', length: numbers.length });
  check(sort.chunks > 10, `${sort.chunks} chunks`);
  for (let chunk = 0; chunk < sort.chunks; chunk += 1) {
    const encoder = sorter.device.createCommandEncoder();
    sort.recordChunk(encoder, chunk);
    sorter.device.queue.submit([encoder.finish()]);
  }
  same(await buffers.download(keys, Int32Array), numbers.slice().sort(), 'chunk by chunk');
  const encoder = sorter.device.createCommandEncoder();
  await fails('InvalidArgument', () => sort.recordChunk(encoder, sort.chunks));
  sorter.device.queue.writeBuffer(keys, 0, Int32Array.from(numbers));
  sort.run();
  same(await buffers.download(keys, Int32Array), numbers.sort(), 'in chunks');
  sorter.dispose();
}

/** Two sorters at the same time, on one device and on two. */
export async function twoSorters() {
  const device = await requestDevice();
  const devices = [device, device, await requestDevice()];
  const sorters = await Promise.all(devices.map((device) => Sorter.create(device)));
  const work = sorters.flatMap((sorter, seed) =>
    [3000, 2000].map(async (length) => {
      const keys = keysOf(Float32Array, length, 'random', seed + 1);
      same(await sorter.sort(keys.slice()), keys.sort(), `sorter ${seed}`);
    }),
  );
  await Promise.all(work);
  sorters[0].dispose();
  await fails('Disposed', () => sorters[0].sort(Uint32Array.of(2, 1)));
  same(await sorters[1].sort(Uint32Array.of(2, 1)), Uint32Array.of(1, 2), 'the other sorter');
}

/** Mistakes are errors with a code, and leave the arrays and the page's handlers alone. */
export async function errors() {
  const [sorter, buffers] = await opened();
  sorter.device.onuncapturederror = ({ error }) => {
    throw new Error(`an error that no scope caught: ${error.message}`);
  };
  await fails('InvalidArgument', () => sorter.sort([3, 1, 2]));
  await fails('InvalidArgument', () => sorter.sort(new DataView(new ArrayBuffer(8))));
  await fails('LengthsDiffer', () => sorter.sortPairs(Uint32Array.of(1, 2), [1]));
  await fails('InvalidArgument', () => sorter.topk(Uint32Array.of(1, 2), -1));
  const keys = buffers.upload(Uint32Array.of(3, 1, 2));
  const of = (job) => () => sorter.prepare({ keys, type: 'u32', length: 3, ...job });
  await fails('BufferTooSmall', of({ length: 4 }));
  await fails('TooLarge', of({ length: 2 ** 31 }));
  await fails('SameBuffer', of({ indices: keys }));
  await fails('Offset', of({ keys: { buffer: keys, offset: 2 }, length: 1 }));
  await fails('InvalidArgument', of({ type: 'u128' }));
  await fails('InvalidArgument', of({ length: 1.5 }));
  await fails('InvalidArgument', of({ sorted: true }));
  await fails('InvalidOption', of({ range: [2, 1] }));
  await fails('Comparator', of({ type: undefined, comparator: 'fn precedes() {}' }));
  const copied = buffers.upload(Uint32Array.of(1), GPUBufferUsage.COPY_DST);
  await fails('BufferUsage', of({ indices: copied }));
  const other = await requestDevice();
  const foreign = new Buffers(other).upload(Uint32Array.of(3, 1, 2));
  await names('payload[0].rows', of({ payload: [{ rows: foreign, bytes: 4 }] }));
  await names('values', of({ values: foreign }));
  await names('keepKeys', of({ keepKeys: true }));
  await names('type', of({ type: undefined }));
  await names('await it', () => Sorter.create(requestDevice()));
  await names('requestDevice()', async () => Sorter.create(await navigator.gpu.requestAdapter()));
  await names('{ descending: true }', () => sorter.sort(Uint32Array.of(1, 2), (a, b) => b - a));
  await names('Sorter.create', () => new Sorter());
  for (const job of [undefined, null, {}, { keys: null }, { keys, type: 'u32', length: 1n }]) {
    await fails('InvalidArgument', () => sorter.prepare(job));
  }
  await fails('InvalidArgument', of({ payload: null }));
  await fails('InvalidArgument', of({ top: 1, range: [0, 1] }));
  await fails('InvalidArgument', () => sorter.argsort(null));
  await fails('InvalidArgument', () => sorter.topk(new DataView(new ArrayBuffer(8)), 1));
  // A text that would overflow the planner's stack, and end it.
  const deep = `fn precedes(a: P, b: P) -> bool { return ${'!'.repeat(9001)}true; }`;
  const struct = 'struct P { x: u32 } ';
  const comparator = `${struct}${deep}`;
  await fails('Comparator', of({ type: undefined, comparator }));
  const right = `${struct} fn precedes(a: P, b: P) -> bool { return a.x < b.x; }`;
  await names('neither type nor field', of({ comparator: right }));

  const sort = await of({})();
  sort.dispose();
  await fails('Disposed', () => sort.run());
  const encoder = sorter.device.createCommandEncoder();
  await fails('Disposed', () => sort.record(encoder));
  sorter.device.queue.submit([encoder.finish()]);
  const short = await Sorter.create(sorter.device);
  const pending = short.prepare({ keys, type: 'u32', length: 3 });
  short.dispose();
  await fails('Disposed', () => pending);
  await fails('InvalidOption', () => Sorter.create(sorter.device, { tile: 1000 }));
  const error = await fails('TooLarge', of({ length: 2 ** 31 }));
  check(error.message.includes('maxStorageBufferBindingSize'), error.message);
  // (Events come after the calls that cause them.)
  await sorter.device.queue.onSubmittedWorkDone();
  await new Promise((after) => setTimeout(after, 50));
}

/** A device that is lost before, during and after a sort. */
export async function lostDevice() {
  const [sorter] = await opened();
  const keys = Uint32Array.from({ length: 5000 }, (_, i) => 5000 - i);
  await sorter.sort(keys.slice());
  const sorting = sorter.sort(keys);
  sorter.device.destroy();
  const error = await fails('DeviceLost', () => sorting);
  check(error.message.includes('lost'), error.message);
  check(keys[0] === 5000 && keys[4999] === 1, 'the keys are unchanged');
  await fails('DeviceLost', () => sorter.sort(keys));
  await fails('DeviceLost', () => sorter.argsort(keys));
  sorter.dispose();
}

/** A device that was destroyed, of which the browser may not have told yet. */
export async function destroyedDevice() {
  for (const wait of [undefined, 0, 20, 100]) {
    const [sorter, buffers] = await opened();
    const keys = buffers.upload(Uint32Array.of(3, 1, 2));
    await sorter.sort(Uint32Array.of(2, 1));
    sorter.device.destroy();
    if (wait !== undefined) {
      await new Promise((after) => setTimeout(after, wait));
    }
    await fails('DeviceLost', () => sorter.sort(Uint32Array.of(2, 1)));
    await fails('DeviceLost', () => sorter.prepare({ keys, type: 'u32', length: 3 }));
    sorter.dispose();
  }
}

/** Frames: nothing is made in them, and every one is right. */
export async function frameLoop() {
  const [sorter, buffers] = await opened({ isFallbackAdapter: false });
  const { device } = sorter;
  const length = 2000;
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
  const keys = buffers.upload(new Float32Array(length), usage);
  const indices = buffers.upload(new Uint32Array(length));
  const sort = await sorter.prepare({ keys, type: 'f32', length, keepKeys: true, indices });
  let made = 0;
  for (const name of ['createBuffer', 'createBindGroup', 'createComputePipeline']) {
    const original = device[name].bind(device);
    device[name] = (...descriptor) => {
      made += 1;
      return original(...descriptor);
    };
  }
  let last;
  for (let frame = 0; frame < 300; frame += 1) {
    last = keysOf(Float32Array, length, 'random', frame);
    device.queue.writeBuffer(keys, 0, last);
    const encoder = device.createCommandEncoder();
    sort.record(encoder);
    device.queue.submit([encoder.finish()]);
    // (Deno has no frames.)
    await new Promise(globalThis.requestAnimationFrame ?? setTimeout);
  }
  check(made === 0, `${made} objects were made in frames`);
  const sorted = await buffers.download(indices, Uint32Array);
  same(sorted, argsorted(last, false), 'the last frame');
  sorter.dispose();
}

/** No adapter, and no WebGPU. The engine has none. */
export async function noAdapter() {
  await fails('NoAdapter', () => requestDevice());
  Object.defineProperty(navigator, 'gpu', { value: undefined, configurable: true });
  await fails('NoWebGpu', () => requestDevice());
}
