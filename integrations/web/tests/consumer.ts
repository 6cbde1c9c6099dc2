/** A program in TypeScript that uses the package: it must compile, but where an error is expected. */

import { Sorter, requestDevice, type KeyType, type SortJob } from 'wgpu-bcfsort';
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
  // @ts-expect-error: neither type nor comparator
  { keys, length: 16 },
  // @ts-expect-error: both
  { keys, type, comparator, length: 16 },
  // @ts-expect-error: both
  { keys, type, length: 16, top: 3, range: [0, 3] },
  // @ts-expect-error: both
  { keys, type, length: 16, keepKeys: true, output: indices },
  // @ts-expect-error: segments take no range
  { keys, type, length: 16, range: [0, 3], segments: { offsets: indices, count: 2 } },
  // @ts-expect-error: no such type
  { keys, type: 'u128', length: 16 },
  // @ts-expect-error: no such part
  { keys, type, length: 16, desc: true },
];

const array: Float32Array = await sorter.sort(Float32Array.of(2, 1), { descending: true });
await sorter.sortPairs(array, ['a', 'b']);
// @ts-expect-error: no such option
await sorter.sort(array, { desc: true });
// @ts-expect-error: no comparator in JavaScript
await sorter.sort(array, (a: number, b: number) => b - a);
// @ts-expect-error: no typed array
await sorter.sort([2, 1]);
