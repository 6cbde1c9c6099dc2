/**
 * Sorts typed arrays and GPU buffers on a page's own WebGPU device.
 *
 * @packageDocumentation
 */

export {
  DeviceLostError, DeviceTooSmallError, DisposedError, InvalidArgumentError, NoAdapterError,
  NoWebGpuError, OutOfMemoryError, SortError, TooLargeError,
} from './errors.js';
export type {
  BufferRange, CompactJob, MergeInput, MergeJob, ScanJob, Search, SortJob, TopKJob,
} from './jobs.js';
export type { HalfArray, KeyType, MergeType, SumType, TypedArray } from './keys.js';
export { Scratch } from './scratch.js';
export {
  PreparedSort, Sorter, requestDevice, type OrderOptions, type SorterOptions,
} from './sorter.js';
export {
  SplatSorter,
  type Depth, type DepthKey, type DrawOrder, type Positions, type SplatSorterDescriptor,
} from './splats.js';
