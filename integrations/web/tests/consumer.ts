/** A program in TypeScript that uses the package: it must compile, but where an error is expected. */

import {
  Sorter, SplatSorter, requestDevice,
  type CompactJob, type DepthKey, type KeyType, type MergeJob, type ScanJob, type SortJob,
  type SplatSorterDescriptor, type TopKJob,
} from 'wgpu-bcfsort';
import type {} from 'wgpu-bcfsort/constants';

const device = await requestDevice({ powerPreference: 'low-power' });
const sorter = await Sorter.create(device, { tile: 2048 });
const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
const keys = device.createBuffer({ size: 64, usage });
const indices = device.createBuffer({ size: 64, usage });
const type: KeyType = 'bf16';
const comparator = 'struct Row { x: u32 } fn precedes(a: Row, b: Row) -> bool { return a.x < b.x; }';

export const jobs: SortJob[] = [
  { keys, type, length: 16 },
  { keys: { buffer: keys, offset: 32 }, type, length: 8, keepKeys: true, indices },
  { keys, type, length: 16, keepKeys: Math.random() < 0.5, indices },
  { keys, comparator, length: 16, top: 3 },
  { keys, type, length: 8, field: { stride: 8, offset: 4 }, range: [0, 1] },
  { keys, type, length: 8, segments: { offsets: indices, count: 2 }, descending: true },
  { keys, type, length: 8, sorted: true, runs: { count: indices } },
  { keys, type, length: 8, unique: { keys, count: indices }, startsOf: { table: keys, cells: 3 } },
  { keys, type, length: 8, upperBound: { needles: keys, count: 1, places: indices } },
  // @ts-expect-error: nothing moves
  { keys, type, length: 8, sorted: true, indices, runs: { count: keys } },
  // @ts-expect-error: both
  { keys, type, length: 8, unique: { keys, count: indices }, runs: { count: indices } },
  { keys, comparator, length: 16, segments: { offsets: indices, count: 2 } },
  // @ts-expect-error: no runs by a comparator
  { keys, comparator, length: 8, runs: { count: indices } },
  // @ts-expect-error: not all keys are in order
  { keys, type, length: 8, top: 3, runs: { count: indices } },
  // @ts-expect-error: neither type nor comparator
  { keys, length: 16 },
  // @ts-expect-error: both
  { keys, type, comparator, length: 16 },
  // @ts-expect-error: both
  { keys, type, length: 16, top: 3, range: [0, 3] },
  // @ts-expect-error: both
  { keys, type, length: 16, keepKeys: true, output: indices },
  { keys, type, length: 16, range: [0, 3], segments: { offsets: indices, count: 2 } },
  // @ts-expect-error: no runs of segments
  { keys, type, length: 8, segments: { offsets: indices, count: 2 }, runs: { count: keys } },
  // @ts-expect-error: no such type
  { keys, type: 'u128', length: 16 },
  // @ts-expect-error: no such part
  { keys, type, length: 16, desc: true },
];

// @ts-expect-error: no sums of bytes
export const scan: ScanJob = { values: keys, type: 'u8', length: 8 };
await sorter.prepareScan({ values: keys, type: 'u64', length: 8, exclusive: true });
// @ts-expect-error: either rows or segments
export const top: TopKJob = { keys, type: 'u8', length: 8, k: 2, indices };
await sorter.prepareTopK({ keys, type: 'u8', length: 8, k: 2, rows: 4, indices });
const [first, second, output] = [{ keys, length: 1 }, { keys, length: 1 }, { keys: indices }];
// @ts-expect-error: no merges of bytes
export const merge: MergeJob = { type: 'u8', first, second, output };
await sorter.prepareMerge({ type: 'f64', first, second, output });
await sorter.prepareCompact({ flags: keys, type: 'u8', length: 8, kept: indices });
const predicate = 'struct Row { x: u32 } fn keeps(row: Row) -> bool { return row.x > 3; }';
await sorter.prepareCompact({ flags: keys, predicate, length: 8, kept: indices });
// @ts-expect-error: both
export const compact: CompactJob = { flags: keys, type: 'u8', predicate, length: 8, kept: indices };

const array: Float32Array = await sorter.sort(Float32Array.of(2, 1), { descending: true });
await sorter.sortPairs(array, ['a', 'b']);
export const { values, counts }: { values: Float32Array; counts: Uint32Array } =
  await sorter.unique(array);
// @ts-expect-error: no such option
await sorter.sort(array, { desc: true });
// @ts-expect-error: no comparator in JavaScript
await sorter.sort(array, (a: number, b: number) => b - a);
// @ts-expect-error: no typed array
await sorter.sort([2, 1]);

const camera = device.createBuffer({ size: 64, usage: GPUBufferUsage.UNIFORM });
const key: DepthKey = { bits: 16, nearest: 0.1, farthest: 100 };
export const scenes: SplatSorterDescriptor[] = [
  { positions: { rows: keys, stride: 12 }, length: 5, camera, key, order: 'near-to-far' },
  { positions: [keys, keys, { buffer: keys, offset: 32 }], length: 4, camera, depth: 'reversed-z' },
  // @ts-expect-error: two of three coordinates
  { positions: [keys, keys], length: 4, camera },
  // @ts-expect-error: a range for all depths
  { positions: { rows: keys, stride: 12 }, length: 5, camera, key: { bits: 32, nearest: 1 } },
  // @ts-expect-error: no such depth
  { positions: { rows: keys, stride: 12 }, length: 5, camera, depth: 'y' },
];
const splats = await SplatSorter.create(sorter, scenes[0]!);
splats.record(device.createCommandEncoder());
export const buffers: GPUBuffer[] = [splats.order, splats.count, splats.indirect];
// @ts-expect-error: made by create
export const none = new SplatSorter();
