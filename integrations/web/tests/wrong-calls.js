/**
 * Calls the package with every kind of value in the place of every argument and of every part of
 * one: what is wrong must be a `SortError` whose message names the argument.
 */

import * as bcfsort from '../dist/index.js';

/** A value of each kind, by its name in a report. */
function values() {
  const detached = Uint32Array.of(2, 1);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  return {
    undefined: undefined,
    null: null,
    true: true,
    '0': 0,
    '1': 1,
    '-1': -1,
    '1.5': 1.5,
    '2 ** 53': 2 ** 53,
    NaN: NaN,
    Infinity: Infinity,
    bigint: 1n,
    'empty text': '',
    text: 'no',
    symbol: Symbol('no'),
    function: (a, b) => b - a,
    'empty array': [],
    array: [1, 2],
    'array with a hole': [, 1],
    object: {},
    'object with another part': { desc: true },
    map: new Map([['descending', true]]),
    date: new Date(0),
    promise: Promise.resolve(),
    'array buffer': new ArrayBuffer(8),
    'data view': new DataView(new ArrayBuffer(8)),
    'typed array': Uint32Array.of(2, 1),
    'detached array': detached,
  };
}

const never = () => false;
const unset = (value) => value === undefined;
const isBoolean = (value) => unset(value) || typeof value === 'boolean';
const isWhole = (value) => Number.isSafeInteger(value) && value >= 0;
const isWhole32 = (value) => isWhole(value) && value < 2 ** 32;
const isEmpty = (value) => unset(value)
  || Object.prototype.toString.call(value) === '[object Object]' && Object.keys(value).length === 0;
const isArray = (value) => Object.prototype.toString.call(value) === '[object Uint32Array]'
  && value.length > 0;

/**
 * The arguments and parts of arguments: what a message calls it, a call with a value in its place,
 * and which values are right there.
 */
function places({ Sorter, SplatSorter, requestDevice }, sorter, buffers, sort) {
  const { device } = sorter;
  const keys = () => Uint32Array.of(3, 1, 2);
  const good = { keys: buffers.keys, type: 'u32', length: 3 };
  const prepare = async (job) => (await sorter.prepare({ ...good, ...job })).dispose();
  const encoder = () => device.createCommandEncoder();
  const all = [];
  const place = (name, call, isRight = never) => all.push({ name, call, isRight });
  const part = (name, job, isRight) => place(name, (value) => prepare(job(value)), isRight);

  place('keys', (value) => sorter.sort(value), isArray);
  place('keys', (value) => sorter.argsort(value), isArray);
  place('keys', (value) => sorter.sortPairs(value, ['a', 'b']), isArray);
  place('keys', (value) => sorter.topk(value, 1), isArray);
  place('values', (value) => sorter.sortPairs(Uint32Array.of(2, 1), value),
    (value) => isArray(value) || Array.isArray(value) && value.length === 2);
  place('k', (value) => sorter.topk(keys(), value), isWhole);
  for (const [name, call] of Object.entries({
    sort: (options) => sorter.sort(keys(), options),
    argsort: (options) => sorter.argsort(keys(), options),
    sortPairs: (options) => sorter.sortPairs(keys(), [1, 2, 3], options),
    topk: (options) => sorter.topk(keys(), 1, options),
  })) {
    const option = name === 'topk' ? 'largest' : 'descending';
    place('options', call, isEmpty);
    place(option, (value) => call({ [option]: value }), isBoolean);
    place('"desc"', (value) => call({ [option]: true, desc: value }));
  }

  place('device', (value) => Sorter.create(value));
  const create = async (options) => (await Sorter.create(device, options)).dispose();
  place('options', create, isEmpty);
  for (const option of ['tile', 'keysPerDispatch']) {
    place(option, (value) => create({ [option]: value }), unset);
  }
  place('isFallbackAdapter', (value) => create({ isFallbackAdapter: value }), isBoolean);
  place('wasm', (value) => create({ wasm: value }),
    (value) => unset(value) || typeof value === 'string' || typeof value === 'object' && value);
  place('"tiles"', (value) => create({ tiles: value }));
  place('options', (value) => requestDevice(value), isEmpty);
  place('powerPreference', (value) => requestDevice({ powerPreference: value }), unset);
  place('forceFallbackAdapter', (value) => requestDevice({ forceFallbackAdapter: value }),
    isBoolean);
  place('type', async (value) => sorter.maxLength(value));

  place('job', async (value) => (await sorter.prepare(value)).dispose(),
    (value) => value !== undefined && isEmpty(value));
  part('keys', (value) => ({ keys: value }));
  part('keys.buffer', (value) => ({ keys: { buffer: value } }));
  part('offset', (offset) => ({ keys: { buffer: buffers.keys, offset }, length: 0 }),
    (value) => unset(value) || value === 0);
  part('keys', (size) => ({ keys: { buffer: buffers.keys, size } }),
    (value) => unset(value) || value === 2 ** 53);
  part('"begin"', (begin) => ({ keys: { buffer: buffers.keys, begin } }));
  part('type', (type) => ({ type }));
  part('length', (length) => ({ length }), (value) => value === 0 || value === 1);
  for (const name of ['descending', 'keepKeys']) {
    part(name, (value) => ({ [name]: value, indices: buffers.indices }), isBoolean);
  }
  for (const name of ['output', 'indices', 'values', 'count']) {
    part(name, (value) => ({ [name]: value }), unset);
  }
  part('comparator', (comparator) => ({ type: undefined, comparator }),
    (value) => unset(value) || typeof value === 'string');
  part('field', (field) => ({ field }), unset);
  part('field.stride', (stride) => ({ field: { stride, offset: 0 } }));
  part('field.offset', (offset) => ({ length: 1, field: { stride: 8, offset } }),
    (value) => value === 0);
  part('bits', (bits) => ({ bits }),
    (value) => unset(value) || Array.isArray(value) && 0 in value && value.length === 2);
  part('bits[0]', (start) => ({ bits: [start, 3] }), (value) => value === 0 || value === 1);
  part('bits[1]', (end) => ({ bits: [0, end] }), (value) => value === 1);
  part('payload', (payload) => ({ payload }),
    (value) => unset(value) || Array.isArray(value) && value.length === 0);
  part('payload[0]', (value) => ({ payload: [value] }));
  part('payload[0].rows', (rows) => ({ payload: [{ rows, bytes: 4 }] }));
  part('payload[0].bytes', (bytes) => ({ payload: [{ rows: buffers.rows, bytes }] }));
  part('payload[0].output', (output) => ({
    payload: [{ rows: buffers.rows, bytes: 4, output }],
  }), unset);
  part('top', (top) => ({ top }), (value) => unset(value) || isWhole(value));
  part('range', (range) => ({ range }),
    (value) => unset(value) || Array.isArray(value) && 0 in value && value.length === 2);
  part('range[0]', (start) => ({ range: [start, 3] }), (value) => value === 0 || value === 1);
  part('range[1]', (end) => ({ range: [0, end] }), (value) => value === 0 || value === 1);
  part('segments', (segments) => ({ segments }), unset);
  part('segments.offsets', (offsets) => ({ segments: { offsets, count: 1 } }));
  part('segments.count', (count) => ({ segments: { offsets: buffers.indices, count } }),
    (value) => value === 0 || value === 1);
  const found = { count: buffers.rows };
  part('sorted', (sorted) => ({ sorted, runs: found }), isBoolean);
  part('runs', (runs) => ({ runs }), unset);
  part('runs.count', (count) => ({ runs: { count } }));
  for (const name of ['starts', 'lengths', 'keys']) {
    part(`runs.${name}`, (value) => ({ runs: { ...found, [name]: value } }), unset);
  }
  part('unique', (unique) => ({ unique }), unset);
  part('unique.keys', (value) => ({ unique: { ...found, keys: value } }));
  part('unique.count', (count) => ({ unique: { count, keys: buffers.rows } }));
  part('startsOf', (startsOf) => ({ startsOf }), unset);
  part('startsOf.table', (table) => ({ startsOf: { table, cells: 1 } }));
  part('startsOf.cells', (value) => ({ startsOf: { table: buffers.rows, cells: value } }),
    (value) => value === 0 || value === 1);
  for (const name of ['lowerBound', 'upperBound']) {
    const search = { needles: buffers.rows, count: 1, places: buffers.indices };
    part(name, (value) => ({ [name]: value }), unset);
    part(`${name}.needles`, (needles) => ({ [name]: { ...search, needles } }));
    part(`${name}.count`, (count) => ({ [name]: { ...search, count } }),
      isWhole);
    part(`${name}.places`, (value) => ({ [name]: { ...search, places: value } }));
  }
  part('payload[0].firsts', (firsts) => ({
    runs: found, payload: [{ rows: buffers.indices, bytes: 4, firsts }],
  }), unset);
  for (const [method, from, good, others] of [
    ['prepareCompact', 'flags', { kept: buffers.rows }, ['field', 'payload', 'indices']],
    ['prepareScan', 'values', {}, ['output']],
  ]) {
    const job = { [from]: buffers.keys, type: 'u32', length: 3, ...good };
    const prepared = async (job) => (await sorter[method](job)).dispose();
    place('job', prepared, (value) => value !== undefined && isEmpty(value));
    for (const name of [from, 'type', ...Object.keys(good), 'length', 'count', 'scratch', ...others,
      '"desc"']) {
      place(name, (value) => prepared({ ...job, [name.replaceAll('"', '')]: value }),
        (value) => name === 'length' ? value === 0 || value === 1
          : name === 'payload' && Array.isArray(value) && value.length === 0
            || unset(value) && ['count', 'scratch', ...others].includes(name));
    }
  }
  place('predicate', async (predicate) => (await sorter.prepareCompact({
    flags: buffers.keys, type: 'u32', length: 3, kept: buffers.rows, predicate,
  })).dispose(), (value) => unset(value) || typeof value === 'string');
  place('exclusive', async (exclusive) => (await sorter.prepareScan({
    values: buffers.keys, type: 'u32', length: 3, exclusive,
  })).dispose(), isBoolean);
  const topK = async (parts) => (await sorter.prepareTopK({
    keys: buffers.keys, type: 'u32', length: 3, k: 1, rows: 3, indices: buffers.indices, ...parts,
  })).dispose();
  place('job', async (value) => (await sorter.prepareTopK(value)).dispose(),
    (value) => value !== undefined && isEmpty(value));
  for (const [name, isRight] of Object.entries({
    keys: never, type: never, length: (value) => value === 0, k: (value) => value === 1,
    descending: isBoolean, field: unset, bits: (value) => unset(value) || value?.[1] === 2,
    segments: unset, output: unset,
  })) {
    place(name, (value) => topK({ [name]: value }), isRight);
  }
  place('rows', (rows) => topK({ rows, length: 0 }), isWhole32);
  place('segments.offsets', (offsets) => topK({
    rows: undefined, segments: { offsets, count: 1 },
  }));
  place('segments.count', (count) => topK({
    rows: undefined, segments: { offsets: buffers.rows, count },
  }), (value) => value === 0 || value === 1);
  place('indices', (indices) => topK({ indices, output: buffers.rows }), unset);
  place('"desc"', (desc) => topK({ desc }));
  const merge = async (parts) => (await sorter.prepareMerge({
    type: 'u32', first: { keys: buffers.keys, length: 3 },
    second: { keys: buffers.keys, length: 3 }, output: { keys: buffers.rows }, ...parts,
  })).dispose();
  place('job', async (value) => (await sorter.prepareMerge(value)).dispose(),
    (value) => value !== undefined && isEmpty(value));
  for (const [name, isRight] of Object.entries({
    type: never, descending: isBoolean, first: never, second: never, output: never, scratch: unset,
  })) {
    place(name, (value) => merge({ [name]: value }), isRight);
  }
  for (const input of ['first', 'second']) {
    for (const [name, isRight] of Object.entries({
      keys: never, length: (value) => value === 0 || value === 1, values: unset, count: unset,
    })) {
      const parts = { keys: buffers.keys, length: 3 };
      place(name, (value) => merge({ [input]: { ...parts, [name]: value } }), isRight);
    }
  }
  place('output.keys', (keys) => merge({ output: { keys } }));
  place('output.values', (values) => merge({ output: { keys: buffers.rows, values } }), unset);
  place('keys', (value) => sorter.unique(value), isArray);
  splatPlaces(SplatSorter, sorter, buffers, place);
  part('scratch', (scratch) => ({ scratch }), unset);
  part('"desc"', (desc) => ({ desc }));
  part('has no part "constructor"', (value) => ({ constructor: value }));

  place('encoder', async (value) => sort.record(value));
  place('descriptor', async (value) => sort.record(encoder(), value), isEmpty);
  place('descriptor.timestampWrites',
    async (timestampWrites) => sort.record(encoder(), { timestampWrites }), unset);
  place('encoder', async (value) => sort.recordChunk(value, 0));
  place('chunk', async (value) => sort.recordChunk(encoder(), value), (value) => value === 0);
  place('pass', async (value) => sort.recordInPass(value));
  return all;
}

/** Those of a sorter of splats, of three. */
function splatPlaces(SplatSorter, sorter, buffers, place) {
  const { device } = sorter;
  const camera = device.createBuffer({ size: 64, usage: GPUBufferUsage.UNIFORM });
  const positions = { rows: buffers.keys, stride: 12 };
  const create = async (parts) =>
    (await SplatSorter.create(sorter, { positions, length: 3, camera, ...parts })).dispose();
  place('sorter', (value) => SplatSorter.create(value, { positions, length: 3, camera }));
  place('descriptor', (value) => SplatSorter.create(sorter, value),
    (value) => value !== undefined && isEmpty(value));
  place('positions', (value) => create({ positions: value }));
  place('positions[1]', (value) =>
    create({ positions: [buffers.keys, value, buffers.keys] }));
  const part = (name, isRight) => place(`positions.${name}`,
    (value) => create({ positions: { ...positions, [name]: value } }), isRight);
  part('rows');
  part('stride');
  part('offset', (value) => unset(value) || value === 0);
  place('"begin"', (begin) => create({ positions: { ...positions, begin } }));
  place('camera', (value) => create({ camera: value }));
  place('length', (length) => create({ length }), (value) => value === 0 || value === 1);
  for (const name of ['depth', 'order', 'orderBuffer', 'scratch']) {
    place(name, (value) => create({ [name]: value }), unset);
  }
  place('key', (key) => create({ key }), unset);
  place('key.bits', (value) => create({ key: { bits: value } }));
  place('key.nearest', (nearest) => create({ key: { bits: 16, nearest, farthest: 9 } }),
    (value) => Number.isFinite(value) && value >= 0 && value < 9);
  place('key.farthest', (farthest) => create({ key: { bits: 16, nearest: 0, farthest } }),
    (value) => Number.isFinite(value) && value > 0);
  place('margin', (margin) => create({ margin }),
    (value) => unset(value) || Number.isFinite(value) && value >= 0);
  place('vertices', (vertices) => create({ vertices }),
    (value) => unset(value) || isWhole32(value));
  place('"desc"', (desc) => create({ desc }));
}

/** Makes all calls, and returns how many were wrong, and what was not as it must be. */
export async function wrongCalls() {
  const { Sorter, SortError, requestDevice } = bcfsort;
  const sorter = await Sorter.create(await requestDevice());
  const buffer = () => sorter.device.createBuffer({ size: 64, usage: GPUBufferUsage.STORAGE });
  const buffers = { keys: buffer(), rows: buffer(), indices: buffer() };
  const sort = await sorter.prepare({ keys: buffers.keys, type: 'u32', length: 3 });
  const faults = [];
  let wrong = 0;
  for (const [number, { name, call, isRight }] of
    places(bcfsort, sorter, buffers, sort).entries()) {
    for (const [kind, value] of Object.entries(values())) {
      let error;
      try {
        await call(value);
      } catch (thrown) {
        error = thrown;
      }
      const what = `place ${number}, ${name}: ${kind}`;
      if (isRight(value)) {
        if (error && !(error instanceof SortError)) {
          faults.push(`${what}: ${error}`);
        }
        continue;
      }
      wrong += 1;
      if (!error) {
        faults.push(`${what}: no error`);
      } else if (!(error instanceof SortError) || error.constructor === SortError) {
        faults.push(`${what}: ${error}`);
      } else if (!error.message.includes(name) || /line 1 column|\n/.test(error.message)) {
        faults.push(`${what}: "${error.message}"`);
      }
    }
  }
  sorter.dispose();
  return { wrong, faults };
}
