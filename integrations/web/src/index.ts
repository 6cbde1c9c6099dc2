/**
 * Sorts typed arrays and GPU buffers on a page's own WebGPU device.
 *
 * @packageDocumentation
 */

export {
  DeviceLostError, DeviceTooSmallError, DisposedError, InvalidArgumentError, NoAdapterError,
  NoWebGpuError, OutOfMemoryError, SortError, TooLargeError,
} from './errors.js';
export { Scratch } from './executor.js';
export type { KeyType, TypedArray } from './keys.js';
export {
  PreparedSort, Sorter, requestDevice,
  type BufferRange, type OrderOptions, type SortJob, type SorterOptions,
} from './sorter.js';
