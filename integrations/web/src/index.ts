/**
 * Sorts typed arrays and GPU buffers on a page's own WebGPU device.
 *
 * @packageDocumentation
 */

export {
  DeviceLostError, DeviceTooSmallError, DisposedError, InvalidArgumentError, NoAdapterError,
  NoWebGpuError, OutOfMemoryError, SortError, TooLargeError,
} from './errors.js';
export type { HalfArray, KeyType, TypedArray } from './keys.js';
export { Scratch } from './scratch.js';
export {
  PreparedSort, Sorter, requestDevice,
  type BufferRange, type OrderOptions, type SortJob, type SorterOptions,
} from './sorter.js';
