/** The sorter: typed arrays and GPU buffers, on the device of the page. */

import {
  DisposedError, InvalidArgumentError, NoAdapterError, NoWebGpuError, SortError, planned,
} from './errors.js';
import { Executor, Prepared } from './executor.js';
import { bytesOf, copyOf, keyType, type KeyType, type TypedArray } from './keys.js';
import init, { Planner, neededLimits } from './planner/planner.js';
import type { Scratch } from './scratch.js';

/** A buffer, or a range of it in bytes. A range begins at a multiple of the size of its items. */
export type BufferRange = GPUBuffer | { buffer: GPUBuffer; offset?: number; size?: number };

/** One sort of GPU buffers: where keys are, what comes out, and what is limited. */
export interface SortJob {
  /** The keys, or the structs that they are fields of. The buffer's usage has `STORAGE`. */
  keys: BufferRange;
  /** The type of the keys. Without, there is a {@link comparator}. */
  type?: KeyType;
  /** The number of keys; with a {@link count}, the most that there can be. */
  length: number;
  /** From the greatest key to the smallest. */
  descending?: boolean;
  /** Where a key is in its struct, in bytes. The structs are what moves. */
  field?: { stride: number; offset: number };
  /**
   * A custom order of structs in WGSL: a struct of any name, and a function
   * `fn precedes(a: Row, b: Row) -> bool`.
   */
  comparator?: string;
  /** Where sorted keys are written, in place of {@link keys}. */
  output?: BufferRange;
  /** Leaves the keys as they are: only indices and payload are written. */
  keepKeys?: boolean;
  /** Where the index of each key is written, a u32, in sorted order. Stable. */
  indices?: BufferRange;
  /** A u32 that moves with each key. Values of equal keys are in no particular order. */
  values?: BufferRange;
  /** Rows of bytes that move with the keys, each kind in a buffer of its own. Stable. */
  payload?: { rows: BufferRange; bytes: number; output?: BufferRange }[];
  /** Only the first so many ranks must be in order (top-k). */
  top?: number;
  /** Only these ranks must be in order, from the first to before the second. */
  range?: [number, number];
  /** A u32 on the GPU with the number of keys (indirect count). */
  count?: BufferRange;
  /** Sorts each segment by itself: u32 offsets of their first keys. */
  segments?: { offsets: BufferRange; count: number };
  /** Scratch memory that other sorts share. */
  scratch?: Scratch;
}

/** Settings of a sorter. Each has a default that suits the device. */
export interface SorterOptions {
  /** Whether the device is a software adapter. By default the device is asked. */
  isFallbackAdapter?: boolean;
  /**
   * The planner's module, where it is not beside this file: an address, bytes or a module. It is
   * loaded once, for the first sorter.
   */
  wasm?: string | URL | Request | BufferSource | WebAssembly.Module;
  /** Keys of a tile of the sample sort: a power of two from 1024 to 8192. */
  tile?: number;
  /** Keys that one dispatch may move. Chunks are a few times as long. */
  keysPerDispatch?: number;
}

/** The direction of a sort. */
export interface OrderOptions {
  /** From the greatest key to the smallest. */
  descending?: boolean;
}

let loading: Promise<unknown> | undefined;

/** Loads the planner, once. */
async function load(wasm: SorterOptions['wasm']): Promise<void> {
  const ours = loading ??= (async () => {
    const source = wasm ?? new URL('./planner/planner_bg.wasm', import.meta.url);
    if (source instanceof URL && source.protocol === 'file:') {
      // Node fetches no files.
      const files = 'node:fs/promises';
      const { readFile } = (await import(/* webpackIgnore: true */ /* @vite-ignore */ files)) as {
        readFile: (url: URL) => Promise<Uint8Array<ArrayBuffer>>;
      };
      return init({ module_or_path: await readFile(source) });
    }
    return init({ module_or_path: source });
  })();
  try {
    await ours;
  } catch (cause) {
    if (loading === ours) {
      loading = undefined;
    }
    const { message } = cause as Error;
    throw new SortError('NotLoaded', `the planner could not be loaded: ${message}`, { cause });
  }
}

const BUFFER_LIMITS = ['maxBufferSize', 'maxStorageBufferBindingSize'] as const;
const WORKGROUP_LIMITS = [
  'maxComputeWorkgroupStorageSize', 'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
] as const;

/**
 * Opens a device that sorts well: with the adapter's largest buffers, and timestamps if there are
 * any. A page that has a device needs none of this: the limits of every device suffice for small
 * sorts, and `requiredLimits` of the buffers allow larger ones.
 *
 * @throws {NoWebGpuError} The browser has no WebGPU, or not on this page.
 * @throws {NoAdapterError} There is no adapter.
 */
export async function requestDevice(options: GPURequestAdapterOptions = {}): Promise<GPUDevice> {
  const gpu = globalThis.navigator?.gpu;
  if (!gpu) {
    const message = globalThis.isSecureContext === false
      ? 'WebGPU needs a secure page: https, or localhost'
      : 'this browser has no WebGPU';
    throw new NoWebGpuError('NoWebGpu', message);
  }
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance', ...options });
  if (!adapter) {
    throw new NoAdapterError('NoAdapter', 'WebGPU found no adapter: no GPU that it may use');
  }
  const limits = [...BUFFER_LIMITS, ...WORKGROUP_LIMITS];
  const timestamps = adapter.features.has('timestamp-query');
  return adapter.requestDevice({
    requiredFeatures: timestamps ? ['timestamp-query'] : [],
    requiredLimits: Object.fromEntries(limits.map((name) => [name, adapter.limits[name]])),
  });
}

/** Sorts on one device. Make it once, and keep it: it holds the compiled kernels. */
export class Sorter {
  readonly #executor: Executor;
  readonly #planner: Planner;
  readonly #sorts = new Set<PreparedSort>();
  #isDisposed = false;

  private constructor(executor: Executor, planner: Planner) {
    this.#executor = executor;
    this.#planner = planner;
  }

  /**
   * Makes a sorter on a device of the page. Compiles nothing yet.
   *
   * @throws {DeviceTooSmallError} A limit of the device is below what the kernels need.
   */
  static async create(device: GPUDevice, options: SorterOptions = {}): Promise<Sorter> {
    await load(options.wasm);
    const names = [...Object.keys(JSON.parse(neededLimits()) as object), 'maxBufferSize'];
    const limits = device.limits as unknown as Record<string, number>;
    const { isFallbackAdapter, tile, keysPerDispatch } = options;
    const executor = new Executor(device);
    const description = JSON.stringify({
      isFallback: isFallbackAdapter ?? device.adapterInfo?.isFallbackAdapter ?? false,
      seed: crypto.getRandomValues(new Uint32Array(1))[0],
      limits: Object.fromEntries(names.map((name) => [name, limits[name]])),
      tile,
      keysPerDispatch,
    });
    return new Sorter(executor, planned(() => new Planner(description)));
  }

  /** The device. */
  get device(): GPUDevice {
    return this.#executor.device;
  }

  /** The largest number of keys of a type in one sort. */
  maxLength(type: KeyType): number {
    this.#check();
    return planned(() => this.#planner.maxLength(type));
  }

  /**
   * Makes a sort of GPU buffers ready to be recorded: compiles kernels, without a pause of the
   * page, and makes bind groups and scratch memory. O(n log n) time for all inputs.
   *
   * @throws {InvalidArgumentError} A part of the job is not valid.
   * @throws {TooLargeError} More keys than the device can bind.
   * @throws {OutOfMemoryError} @throws {DeviceLostError}
   */
  async prepare(job: SortJob): Promise<PreparedSort> {
    this.#check();
    const [description, buffers] = describe(job);
    const native = planned(() => this.#planner.plan(description));
    try {
      const prepared = await this.#executor.prepare(native, buffers, job.scratch);
      if (this.#isDisposed) {
        prepared.dispose();
        this.#check();
      }
      const sort = new PreparedSort(this.device, prepared, () => this.#sorts.delete(sort));
      this.#sorts.add(sort);
      return sort;
    } finally {
      native.free();
    }
  }

  /**
   * Sorts an array in place, and returns it. Until then the array must not be changed. It is
   * unchanged after an error. O(n log n) time for all inputs.
   */
  async sort<T extends TypedArray>(keys: T, options: OrderOptions = {}): Promise<T> {
    await this.#run(keys, options, {}, [{ from: 'keys', to: keys }]);
    return keys;
  }

  /** Returns the indices that sort an array: `keys[indices[i]]` is the i-th in order. Stable. */
  async argsort(keys: TypedArray, options: OrderOptions = {}): Promise<Uint32Array<ArrayBuffer>> {
    keyType(keys);
    const indices = new Uint32Array(keys.length);
    await this.#run(keys, options, { keepKeys: true }, [{ from: 'indices', to: indices }]);
    return indices;
  }

  /**
   * Sorts an array in place, and moves the values of another array of any kind along. Stable. Both
   * are unchanged after an error.
   */
  async sortPairs<K extends TypedArray, V>(
    keys: K,
    values: V[] | (TypedArray & ArrayLike<V>),
    options: OrderOptions = {},
  ): Promise<void> {
    keyType(keys);
    if (Object.isFrozen(values)) {
      throw new InvalidArgumentError('InvalidArgument', 'the values are frozen');
    }
    if (keys.length !== values.length) {
      const message = `${keys.length} keys and ${values.length} values: each needs one of the other`;
      throw new InvalidArgumentError('LengthsDiffer', message);
    }
    const indices = new Uint32Array(keys.length);
    const [sorted, before] = [copyOf(keys), copyOf<ArrayLike<V>>(values)];
    await this.#run(sorted, options, {}, [
      { from: 'keys', to: sorted },
      { from: 'indices', to: indices },
    ]);
    if (keys.length !== indices.length || values.length !== indices.length) {
      throw changed();
    }
    bytesOf(keys).set(bytesOf(sorted));
    const after = values as V[];
    indices.forEach((from, to) => (after[to] = before[from]!));
  }

  /**
   * Returns the `k` largest keys, from the largest on, and their indices; with
   * `{ largest: false }` the smallest. All keys if there are fewer.
   */
  async topk<T extends TypedArray>(
    keys: T,
    k: number,
    { largest = true }: { largest?: boolean } = {},
  ): Promise<{ values: T; indices: Uint32Array<ArrayBuffer> }> {
    if (!Number.isInteger(k) || k < 0) {
      throw new InvalidArgumentError('InvalidArgument', `k is ${k}, but must be a whole number`);
    }
    keyType(keys);
    const top = Math.min(k, keys.length);
    // (A copy, so that the array has the keys' own class.)
    const values = copyOf(keys, top);
    const indices = new Uint32Array(top);
    await this.#run(keys, { descending: largest }, { top }, [
      { from: 'keys', to: values },
      { from: 'indices', to: indices },
    ]);
    return { values, indices };
  }

  /** Frees what the sorter and the sorts that it prepared hold. The device goes on. */
  dispose(): void {
    if (!this.#isDisposed) {
      this.#isDisposed = true;
      [...this.#sorts].forEach((sort) => sort.dispose());
      this.#planner.free();
    }
  }

  #check(): void {
    if (this.#isDisposed) {
      throw new DisposedError('Disposed', 'the sorter was disposed of');
    }
    this.#executor.check();
  }

  /** Sorts a copy of an array on the device, and reads results into arrays. */
  async #run(
    keys: TypedArray,
    { descending = false }: OrderOptions,
    job: Partial<SortJob>,
    results: { from: 'keys' | 'indices'; to: TypedArray }[],
  ): Promise<void> {
    this.#check();
    const type = keyType(keys);
    const { length } = keys;
    if (length === 0 || results.every(({ to }) => to.length === 0)) {
      return;
    }
    const sizes = results.map(({ to }) => to.byteLength);
    const most = this.maxLength(type);
    if (length > most) {
      // The planner says which limit it is, before a buffer is made that exceeds it.
      planned(() => this.#planner.plan(JSON.stringify({
        type, length, keys: { buffer: 0, offset: 0, size: 0, bufferSize: 0 },
      })));
    }
    const { device } = this;
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const made: GPUBuffer[] = [];
    const buffer = (size: number, usage: GPUBufferUsageFlags) => {
      // A multiple of 4 bytes, as copies need.
      const of = device.createBuffer({ label: 'bcfsort', size: Math.ceil(size / 4) * 4, usage });
      made.push(of);
      return of;
    };
    const needsIndices = results.some(({ from }) => from === 'indices');
    let sort: PreparedSort | undefined;
    try {
      const bytes = keys.byteLength;
      // Before anything is awaited: what becomes of the array later does not matter.
      const there = await this.#executor.scoped(() => {
        const there = {
          keys: buffer(bytes, STORAGE | COPY_SRC | COPY_DST),
          ...(needsIndices && { indices: buffer(length * 4, STORAGE | COPY_SRC) }),
        };
        write(device.queue, there.keys, keys);
        return there;
      }, bytes);
      sort = await this.prepare({ ...job, ...there, type, length, descending });
      const staging = await this.#executor.scoped(() => {
        sort!.run();
        const encoder = device.createCommandEncoder({ label: 'bcfsort.download' });
        const staging = results.map(({ from }, i) => {
          const size = Math.ceil(sizes[i]! / 4) * 4;
          const staging = buffer(size, MAP_READ | COPY_DST);
          encoder.copyBufferToBuffer(there[from]!, 0, staging, 0, size);
          return staging;
        });
        device.queue.submit([encoder.finish()]);
        return staging;
      }, bytes);
      const mapped = staging.map((buffer) => buffer.mapAsync(GPUMapMode.READ));
      await this.#executor.ended(Promise.all(mapped));
      // A lost device maps zeros in some browsers.
      this.#executor.check();
      if (results.some(({ to }, i) => to.byteLength !== sizes[i])) {
        throw changed();
      }
      results.forEach(({ to }, i) => {
        bytesOf(to).set(new Uint8Array(staging[i]!.getMappedRange(), 0, sizes[i]));
      });
    } finally {
      sort?.dispose();
      made.forEach((buffer) => buffer.destroy());
    }
  }
}

/** The error for an array that was detached, or resized, before its result was there. */
function changed(): InvalidArgumentError {
  const message = 'an array was detached or resized while it was sorted';
  return new InvalidArgumentError('InvalidArgument', message);
}

/** Writes an array to a buffer. WebGPU copies whole words. */
function write(queue: GPUQueue, buffer: GPUBuffer, array: TypedArray): void {
  const all = bytesOf(array);
  // (Not every WebGPU reads shared memory.)
  const bytes = (all.buffer instanceof ArrayBuffer ? all : copyOf(all)) as Uint8Array<ArrayBuffer>;
  const whole = bytes.length - (bytes.length % 4);
  queue.writeBuffer(buffer, 0, bytes, 0, whole);
  if (whole < bytes.length) {
    const last = new Uint8Array(4);
    last.set(bytes.subarray(whole));
    queue.writeBuffer(buffer, whole, last);
  }
}

/**
 * A prepared sort. Recording it makes no object, submits nothing, and fails only after it was
 * disposed of. It keeps the page's buffers, and its scratch memory.
 */
export class PreparedSort {
  readonly #device: GPUDevice;
  readonly #prepared: Prepared;
  readonly #disposed: () => void;

  /** @internal */
  constructor(device: GPUDevice, prepared: Prepared, disposed: () => void) {
    this.#device = device;
    this.#prepared = prepared;
    this.#disposed = disposed;
  }

  /** Bytes of scratch memory. */
  get scratchBytes(): number {
    return this.#prepared.scratchBytes;
  }

  /**
   * Into how many chunks the sort is cut, so that each submission is short. On a GPU a sort of up
   * to 16 million keys of 32 bits has one.
   */
  get chunks(): number {
    return this.#prepared.chunks;
  }

  /**
   * Records the sort into an encoder of the page, as a compute pass.
   *
   * The whole sort runs in one submission. A driver's watchdog may stop one that takes seconds: a
   * sort with many {@link chunks} is better {@link run}, or recorded chunk by chunk.
   *
   * @throws {DisposedError} The sort was disposed of.
   */
  record(
    encoder: GPUCommandEncoder,
    descriptor: Omit<GPUComputePassDescriptor, 'label'> = {},
  ): void {
    this.#record(encoder, descriptor);
  }

  /**
   * Records one of the {@link chunks}, from 0, as a compute pass. Submit them in order; between
   * two of them nothing else may use the sort's buffers or its scratch memory.
   *
   * @throws {DisposedError} @throws {InvalidArgumentError} There is no such chunk.
   */
  recordChunk(encoder: GPUCommandEncoder, chunk: number): void {
    this.#record(encoder, {}, chunk);
  }

  #record(
    encoder: GPUCommandEncoder,
    descriptor: GPUComputePassDescriptor,
    chunk?: number,
  ): void {
    // (An error must not leave the page's encoder with an open pass.)
    this.#prepared.check(chunk);
    const pass = encoder.beginComputePass({ label: 'bcfsort', ...descriptor });
    this.#prepared.encode(pass, chunk);
    pass.end();
  }

  /** Records the sort into a compute pass of the page. Sets its pipeline and bind group 0. */
  recordInPass(pass: GPUComputePassEncoder): void {
    this.#prepared.encode(pass);
  }

  /**
   * Submits the sort, a chunk at a time, and does not wait. Later submissions see the result. What
   * WebGPU finds wrong, such as a buffer that was destroyed, goes to the page's error scope or
   * handler.
   *
   * @throws {DisposedError} The sort was disposed of.
   */
  run(): void {
    this.#prepared.check();
    for (let chunk = 0; chunk < this.chunks; chunk += 1) {
      const encoder = this.#device.createCommandEncoder({ label: 'bcfsort' });
      this.recordChunk(encoder, chunk);
      this.#device.queue.submit([encoder.finish()]);
    }
  }

  /** Frees its scratch memory. Submissions that were made still run. */
  dispose(): void {
    this.#prepared.dispose();
    this.#disposed();
  }
}

/** The description of a job for the planner, and its buffers by their names in plans. */
function describe(job: SortJob): [string, Map<string, GPUBuffer>] {
  try {
    return described(job);
  } catch (cause) {
    if (cause instanceof SortError) {
      throw cause;
    }
    const message = `the job is not valid: ${(cause as Error).message}`;
    throw new InvalidArgumentError('InvalidArgument', message, { cause });
  }
}

function described(job: SortJob): [string, Map<string, GPUBuffer>] {
  const { scratch: _, values, payload = [], top, range, segments, ...rest } = job;
  const buffers = new Map<string, GPUBuffer>();
  const numbers = new Map<GPUBuffer, number>();
  const place = (role: string, of: BufferRange, field = role) => {
    const { buffer, offset = 0, size } = 'buffer' in of ? of : { buffer: of };
    buffers.set(role, buffer);
    const number = numbers.get(buffer) ?? numbers.size;
    numbers.set(buffer, number);
    if ((buffer.usage & GPUBufferUsage.STORAGE) === 0) {
      const message = `the ${field} buffer needs the usage STORAGE`;
      throw new InvalidArgumentError('BufferUsage', message);
    }
    const bufferSize = buffer.size;
    return { buffer: number, offset, size: size ?? Math.max(bufferSize - offset, 0), bufferSize };
  };
  const rows = payload.map((of) => ({ ...of, unstable: false }));
  if (values) {
    rows.push({ rows: values, bytes: 4, unstable: true });
  }
  const named = (role: string, of: BufferRange | undefined, field?: string) =>
    of && place(role, of, field);
  if (top !== undefined && range) {
    throw new InvalidArgumentError('InvalidArgument', 'a job has either top or range');
  }
  const description = {
    ...rest,
    keys: place('keys', job.keys),
    output: named('output', job.output),
    indices: named('values', job.indices, 'indices'),
    count: named('count', job.count),
    payload: rows.map((of, i) => ({
      bytes: of.bytes,
      unstable: of.unstable,
      rows: place(`payload.${i}`, of.rows, of.unstable ? 'values' : undefined),
      output: named(`payload_output.${i}`, of.output),
    })),
    range: range ?? (top === undefined ? undefined : [0, Math.min(top, job.length)]),
    segments: segments && { ...segments, offsets: place('offsets', segments.offsets) },
  };
  return [JSON.stringify(description), buffers];
}
