/** Errors, each of a class of its own, and with a code that does not change between versions. */

/**
 * Any error of this package. By itself it is a defect of this package or of a driver: of the codes
 * `Device`, `Kernel` and `Internal`; or `NotLoaded`, where the planner could not be loaded.
 */
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

/**
 * A limit of the device is below what the kernels need: `AdapterTooSmall`, `WorkgroupMemory`,
 * `WorkgroupLanes`.
 */
export class DeviceTooSmallError extends SortError {}

/**
 * The keys, or a buffer of the sort, exceed what the device can bind at once: `TooLarge`,
 * `BindingTooLarge`.
 */
export class TooLargeError extends SortError {}

/**
 * An argument is not valid, and the message says which one: `InvalidArgument`, `InvalidOption`,
 * `LengthsDiffer`, `Comparator`, `Predicate`, `BufferTooSmall`, `BufferUsage`, `SameBuffer`,
 * `Offset`, `NotInOrder`, `NoCells`, `NoBits`, `Stride`, `Margin`, `DepthRange`.
 */
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

/** Calls the planner. Its failures, which are JSON, become errors. */
export function planned<T>(call: () => T): T {
  try {
    return call();
  } catch (failure) {
    if (typeof failure !== 'string') {
      throw new SortError('Internal', `the planner failed: ${failure}`, { cause: failure });
    }
    const { code, message } = JSON.parse(failure) as { code: string; message: string };
    // (All that is not listed is a mistake in a job.)
    throw new (CLASSES[code] ?? InvalidArgumentError)(code, message);
  }
}
