/** Errors, each of a class of its own, and with a code that does not change between versions. */

/** Any error of this package. */
export class SortError extends Error {
  /** A name that a program can compare, e.g. `'TooLarge'`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The browser has no WebGPU, or not on this page: WebGPU needs https or localhost. */
export class NoWebGpuError extends SortError {}

/** WebGPU has no adapter: no GPU, or a driver that the browser does not trust. */
export class NoAdapterError extends SortError {}

/** A limit of the device is below what the kernels need. */
export class DeviceTooSmallError extends SortError {}

/** The keys, or a buffer of the sort, exceed what the device can bind at once. */
export class TooLargeError extends SortError {}

/** An argument is not valid: the message says which one, and what is allowed. */
export class InvalidArgumentError extends SortError {}

/** The device is out of memory. */
export class OutOfMemoryError extends SortError {}

/** The device was lost: make another one, and a sorter on it. */
export class DeviceLostError extends SortError {}

/** The sorter, or the prepared sort, was disposed of. */
export class DisposedError extends SortError {}

const CLASSES: Record<string, typeof SortError> = {
  AdapterTooSmall: DeviceTooSmallError,
  TooLarge: TooLargeError,
  BindingTooLarge: TooLargeError,
  WorkgroupMemory: DeviceTooSmallError,
  WorkgroupLanes: DeviceTooSmallError,
  Kernel: SortError,
  Device: SortError,
};

/** The error of a failure of the planner, which is JSON. Another failure is returned as it is. */
export function plannerError(failure: unknown): unknown {
  if (typeof failure !== 'string') {
    return failure;
  }
  const { code, message } = JSON.parse(failure) as { code: string; message: string };
  // (All that is not listed is a mistake in a job.)
  return new (CLASSES[code] ?? InvalidArgumentError)(code, message);
}
