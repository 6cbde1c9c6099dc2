/** The sorter: typed arrays and GPU buffers, on the device of the page. */

import {
  isAdapterOptions, isCompactJob, isDevice, isEncoder, isJob, isMergeJob, isOrderOptions, isPass,
  isPassDescriptor, isScanJob, isSorterOptions, isTopKJob, isTopOptions, keyTypeNamed, refuse,
  whole,
} from './arguments.js';
import {
  DisposedError, InvalidArgumentError, NoAdapterError, NoWebGpuError, SortError, planned,
} from './errors.js';
import { Executor, Prepared } from './executor.js';
import {
  describeCompact, describeMerge, describeScan, describeSort, describeTopK,
  type CompactJob, type Description, type MergeJob, type ScanJob, type SortJob, type TopKJob,
} from './jobs.js';
import {
  bytesOf, checkAttached, copyOf, keyType, type KeyType, type TypedArray,
} from './keys.js';
import init, { Planner, neededLimits, type Plan as NativePlan } from './planner/planner.js';
import type { Scratch } from './scratch.js';

/** Settings of a sorter. Each has a default that suits the device. */
export interface SorterOptions {
  /** Whether the device is a software adapter. By default the device is asked. */
  isFallbackAdapter?: boolean;
  /**
   * The planner's module, where it is not beside this file: an address, bytes or a module. It is
   * loaded once, for the first sorter.
   */
  wasm?: string | URL | Request | BufferSource | WebAssembly.Module;
  /** Words of a tile of the sample sort: a power of two from 1024 to 8192. */
  tile?: number;
  /** Keys that one dispatch may move, at least 1024. Chunks are a few times as long. */
  keysPerDispatch?: number;
}

/** The buffers that a job has of its own, by their names in plans. */
interface Own {
  /** Of all of them. */
  bytes: number;
  make: () => Record<string, GPUBuffer>;
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
  isAdapterOptions(options, 'options');
  const gpu = globalThis.navigator?.gpu;
  if (!gpu) {
    const message = globalThis.isSecureContext === false
      ? 'WebGPU needs a secure page: https, or localhost'
      : 'this browser has no WebGPU';
    throw new NoWebGpuError('NoWebGpu', message);
  }
  const preferences = { powerPreference: 'high-performance' as const, ...options };
  const adapter = await gpu.requestAdapter(preferences);
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
    if (!(executor instanceof Executor)) {
      refuse('a sorter is made by Sorter.create(device), not by new');
    }
    this.#executor = executor;
    this.#planner = planner;
  }

  /**
   * Makes a sorter on a device of the page. Compiles nothing yet.
   *
   * @throws {DeviceTooSmallError} A limit of the device is below what the kernels need.
   */
  static async create(device: GPUDevice, options: SorterOptions = {}): Promise<Sorter> {
    isDevice(device, 'device');
    isSorterOptions(options, 'options');
    if (!('GPUBufferUsage' in globalThis)) {
      const message = "WebGPU's constants are missing: GPUBufferUsage and others must be global";
      throw new NoWebGpuError('NoWebGpu', message);
    }
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
    keyTypeNamed(type, 'type');
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
    isJob(job, 'job');
    return this.#executor.attempt(() => this.#prepareSort(job));
  }

  /**
   * Makes a stream compaction ready to be recorded, as a sort is: the records that have a flag,
   * or that a predicate keeps, in their order. O(n) time.
   *
   * @throws The errors of {@link prepare}.
   */
  async prepareCompact(job: CompactJob): Promise<PreparedSort> {
    this.#check();
    isCompactJob(job, 'job');
    return this.#executor.attempt(() =>
      this.#prepare(describeCompact(job), job.scratch, (text) => this.#planner.plan(text)));
  }

  /**
   * Makes prefix sums ready to be recorded, as a sort is. Sums are the same in every run, those of
   * floats too: they are added in an order that depends on nothing but their number. O(n) time.
   *
   * @throws The errors of {@link prepare}.
   */
  async prepareScan(job: ScanJob): Promise<PreparedSort> {
    this.#check();
    isScanJob(job, 'job');
    return this.#executor.attempt(() =>
      this.#prepare(describeScan(job), job.scratch, (text) => this.#planner.planScan(text)));
  }

  /**
   * Makes the search for the first k keys of each row or segment ready to be recorded, as a sort
   * is: many small searches in one dispatch, which takes no scratch memory. For few and long rows,
   * sorts with `top` are faster.
   *
   * @throws The errors of {@link prepare}.
   */
  async prepareTopK(job: TopKJob): Promise<PreparedSort> {
    this.#check();
    isTopKJob(job, 'job');
    return this.#executor.attempt(() =>
      this.#prepare(describeTopK(job), undefined, (text) => this.#planner.planTopK(text)));
  }

  /**
   * Makes the merge of two sorted inputs ready to be recorded, as a sort is. Stable. O(n) time. If
   * an input is not in order, what is written are some of the records, each with its value.
   *
   * @throws The errors of {@link prepare}.
   */
  async prepareMerge(job: MergeJob): Promise<PreparedSort> {
    this.#check();
    isMergeJob(job, 'job');
    return this.#executor.attempt(() =>
      this.#prepare(describeMerge(job), job.scratch, (text) => this.#planner.planMerge(text)));
  }

  #prepareSort(job: SortJob): Promise<PreparedSort> {
    return this.#prepare(describeSort(job), job.scratch, (text) => this.#planner.plan(text));
  }

  /**
   * Makes what is planned ready to be recorded, with buffers of its own, which are destroyed when
   * it is disposed of. They are made when the plan is there, which checks their sizes.
   *
   * @internal
   */
  async prepareOwning(
    description: Description,
    scratch: Scratch | undefined,
    plan: (planner: Planner, text: string) => NativePlan,
    own: Own,
  ): Promise<PreparedSort> {
    this.#check();
    return this.#executor.attempt(() =>
      this.#prepare(description, scratch, (text) => plan(this.#planner, text), own));
  }

  async #prepare(
    { text, buffers, names }: Description,
    scratch: Scratch | undefined,
    plan: (text: string) => NativePlan,
    own?: Own,
  ): Promise<PreparedSort> {
    this.#check();
    const native = planned(() => plan(text));
    let made: Record<string, GPUBuffer> = {};
    const free = () => Object.values(made).forEach((buffer) => buffer.destroy());
    try {
      if (own) {
        await this.#executor.scoped(() => (made = own.make()), own.bytes);
      }
      const all = new Map([...buffers, ...Object.entries(made)]);
      const prepared = await this.#executor.prepare(native, all, names, scratch);
      if (this.#isDisposed) {
        prepared.dispose();
        this.#check();
      }
      const sort = new PreparedSort(this.device, prepared, () => {
        this.#sorts.delete(sort);
        free();
      });
      this.#sorts.add(sort);
      return sort;
    } catch (error) {
      free();
      throw error;
    } finally {
      native.free();
    }
  }

  /**
   * Sorts an array in place, and returns it. Until then the array must not be changed. It is
   * unchanged after an error. O(n log n) time for all inputs.
   */
  async sort<T extends TypedArray>(keys: T, options: OrderOptions = {}): Promise<T> {
    const { descending } = ordered(keys, options);
    await this.#run(keys, ({ keys }) => ({ keys, descending }), [{ from: 'keys', to: keys }]);
    return keys;
  }

  /** Returns the indices that sort an array: `keys[indices[i]]` is the i-th in order. Stable. */
  async argsort(keys: TypedArray, options: OrderOptions = {}): Promise<Uint32Array<ArrayBuffer>> {
    const { descending } = ordered(keys, options);
    const indices = new Uint32Array(keys.length);
    const job: JobOn = ({ keys, indices }) => ({ keys, indices, descending, keepKeys: true });
    await this.#run(keys, job, [{ from: 'indices', to: indices }]);
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
    const { descending } = ordered(keys, options);
    checkValues(values);
    if (keys.length !== values.length) {
      const message = `${keys.length} keys but ${values.length} values: the lengths must be equal`;
      refuse(message, 'LengthsDiffer');
    }
    const indices = new Uint32Array(keys.length);
    const [sorted, before] = [copyOf(keys), copyOf<ArrayLike<V>>(values)];
    await this.#run(sorted, (there) => ({ ...there, descending }), [
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
    options: { largest?: boolean } = {},
  ): Promise<{ values: T; indices: Uint32Array<ArrayBuffer> }> {
    keyType(keys);
    whole(0, Infinity)(k, 'k');
    isTopOptions(options, 'options');
    const { largest = true } = options;
    const top = Math.min(k, keys.length);
    // (A copy, so that the array has the keys' own class.)
    const values = copyOf(keys, top);
    const indices = new Uint32Array(top);
    await this.#run(keys, (there) => ({ ...there, descending: largest, top }), [
      { from: 'keys', to: values },
      { from: 'indices', to: indices, room: keys.length * 4 },
    ]);
    return { values, indices };
  }

  /**
   * Returns the different keys in ascending order, and how often each occurs. Keys are equal if all
   * their bits are: 0 and -0 are different, and so are NaNs of different bits. The array is
   * unchanged.
   */
  async unique<T extends TypedArray>(
    keys: T,
  ): Promise<{ values: T; counts: Uint32Array<ArrayBuffer> }> {
    keyType(keys);
    // (Copies, so that the array has the keys' own class.)
    const values = copyOf(keys);
    const lengths = new Uint32Array(keys.length);
    const count = new Uint32Array(1);
    const job: JobOn = ({ keys, values, lengths, count }) =>
      ({ keys, runs: { count, lengths, keys: values } });
    await this.#run(keys, job, [
      { from: 'values', to: values },
      { from: 'lengths', to: lengths },
      { from: 'count', to: count },
    ]);
    return { values: copyOf(values, count[0]), counts: lengths.slice(0, count[0]) };
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
    job: JobOn,
    results: Result[],
  ): Promise<void> {
    this.#check();
    const type = keyType(keys);
    const { length } = keys;
    if (length === 0 || results.every(({ to }) => to.length === 0)) {
      return;
    }
    const most = this.maxLength(type);
    if (length > most) {
      // The planner says which limit it is, before a buffer is made that exceeds it.
      planned(() => this.#planner.plan(JSON.stringify({
        type, length, keys: { buffer: 0, offset: 0, size: 0, bufferSize: 0 },
      })));
    }
    await this.#executor.attempt(() => this.#sortCopy(keys, type, job, results));
  }

  async #sortCopy(
    keys: TypedArray,
    type: KeyType,
    job: JobOn,
    results: Result[],
  ): Promise<void> {
    const { device } = this;
    const { length } = keys;
    const sizes = results.map(({ to }) => to.byteLength);
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const made: GPUBuffer[] = [];
    const buffer = (size: number, usage: GPUBufferUsageFlags) => {
      // A multiple of 4 bytes, as copies need.
      const of = device.createBuffer({ label: 'bcfsort', size: Math.ceil(size / 4) * 4, usage });
      made.push(of);
      return of;
    };
    let sort: PreparedSort | undefined;
    try {
      const bytes = keys.byteLength;
      // Before anything is awaited: what becomes of the array later does not matter.
      const there = await this.#executor.scoped(() => {
        const input = buffer(bytes, STORAGE | COPY_SRC | COPY_DST);
        write(device.queue, input, keys);
        const there: Record<string, GPUBuffer> = { keys: input };
        for (const { from, to, room = to.byteLength } of results) {
          there[from] ??= buffer(room, STORAGE | COPY_SRC);
        }
        return there;
      }, bytes);
      sort = await this.#prepareSort({ ...job(there), type, length } as SortJob);
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
      await Promise.all(staging.map((buffer) => buffer.mapAsync(GPUMapMode.READ)));
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

/** An array, the name of the buffer with its bytes, and that buffer's size, if it is larger. */
interface Result {
  from: string;
  to: TypedArray;
  room?: number;
}

/** A job on the keys and the results of an array's sort, but for its type and length. */
type JobOn = (there: Record<string, GPUBuffer>) => object;

/** The direction of a sort, of which the arguments are checked. */
function ordered(keys: TypedArray, options: OrderOptions): { descending: boolean } {
  keyType(keys);
  isOrderOptions(options, 'options');
  return { descending: options.descending ?? false };
}

function checkValues(values: unknown): void {
  if (!Array.isArray(values) && (!ArrayBuffer.isView(values) || values instanceof DataView)) {
    refuse('values must be an array or a typed array');
  }
  if (ArrayBuffer.isView(values)) {
    checkAttached(values, 'values');
  } else if (Object.isFrozen(values)) {
    refuse('values is a frozen array, which cannot be sorted in place');
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
  // (Browsers read neither shared memory nor buffers that can be resized.)
  const { buffer: memory } = all as { buffer: ArrayBufferLike & { resizable?: boolean } };
  const isFixed = memory instanceof ArrayBuffer && memory.resizable !== true;
  const bytes = (isFixed ? all : copyOf(all)) as Uint8Array<ArrayBuffer>;
  const whole = bytes.length - (bytes.length % 4);
  queue.writeBuffer(buffer, 0, bytes, 0, whole);
  if (whole < bytes.length) {
    const last = new Uint8Array(4);
    last.set(bytes.subarray(whole));
    queue.writeBuffer(buffer, whole, last);
  }
}

/**
 * A prepared sort, compaction, scan, top k or merge. Recording it makes no object, submits nothing,
 * and fails only after it was disposed of. It keeps the page's buffers, and its scratch memory.
 */
export class PreparedSort {
  readonly #device: GPUDevice;
  readonly #prepared: Prepared;
  readonly #disposed: () => void;

  /** @internal */
  constructor(device: GPUDevice, prepared: Prepared, disposed: () => void) {
    if (!(prepared instanceof Prepared)) {
      refuse('a prepared sort is made by sorter.prepare(job), not by new');
    }
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
    isPassDescriptor(descriptor, 'descriptor');
    this.#record(encoder, descriptor);
  }

  /**
   * Records one of the {@link chunks}, from 0, as a compute pass. Submit them in order; between
   * two of them nothing else may use the sort's buffers or its scratch memory.
   *
   * @throws {DisposedError} @throws {InvalidArgumentError} There is no such chunk.
   */
  recordChunk(encoder: GPUCommandEncoder, chunk: number): void {
    whole()(chunk, 'chunk');
    this.#record(encoder, {}, chunk);
  }

  #record(
    encoder: GPUCommandEncoder,
    descriptor: GPUComputePassDescriptor,
    chunk?: number,
  ): void {
    isEncoder(encoder, 'encoder');
    // (An error must not leave the page's encoder with an open pass.)
    this.#prepared.check(chunk);
    const pass = encoder.beginComputePass({ label: 'bcfsort', ...descriptor });
    this.#prepared.encode(pass, chunk);
    pass.end();
  }

  /** Records the sort into a compute pass of the page. Sets its pipeline and bind group 0. */
  recordInPass(pass: GPUComputePassEncoder): void {
    isPass(pass, 'pass');
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
