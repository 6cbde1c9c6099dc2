/** The order in which splats are drawn, found on the GPU in each frame. */

import { isSorter, isSplats, refuse } from './arguments.js';
import { Buffers, type BufferRange, type Description } from './jobs.js';
import type { Scratch } from './scratch.js';
import { PreparedSort, type Sorter } from './sorter.js';

/**
 * Where the positions of splats are, three f32 each: all x, all y and all z (structure of arrays);
 * or rows of `stride` bytes, with x, y and z from byte `offset` on (array of structures).
 *
 * The buffers have the usage `STORAGE`, and ranges begin at multiples of 4 bytes. The three arrays
 * may be ranges of one buffer. Stride and offset are multiples of 4. Positions are only read.
 */
export type Positions =
  | readonly [x: BufferRange, y: BufferRange, z: BufferRange]
  | { rows: BufferRange; stride: number; offset?: number };

/**
 * What the depth of a splat is. It grows with the distance from the camera. In clip space, the
 * matrix times (position, 1):
 *
 * - `w` for perspective projections: the distance along the direction of view, whichever way z is
 *   mapped;
 * - `z` for orthographic projections, whose w is 1 everywhere;
 * - `reversed-z` for orthographic projections with reversed z, which is 1 near the camera: w - z.
 */
export type Depth = 'w' | 'z' | 'reversed-z';

/**
 * How finely depths are told apart. Splats with equal keys are drawn in the order of their indices.
 *
 * Keys of 32 bits tell all depths apart. Those of 16 bits are faster to sort, and take less scratch
 * memory. They divide the range as floats are divided: from 0.1 to 1000, two depths that differ by
 * a 4000th part are told apart. Depths out of the range count as its ends, and are drawn all the
 * same. `nearest` is 0 or more, but 0 takes most keys for depths that are next to nothing.
 */
export type DepthKey = { bits: 32 } | { bits: 16; nearest: number; farthest: number };

/**
 * Which splats are drawn first: the farthest, to blend each over those behind it; or the nearest,
 * to blend each under those before it, or for opaque ones.
 */
export type DrawOrder = 'far-to-near' | 'near-to-far';

/** Describes a {@link SplatSorter}: where the splats and the camera are, and how to sort. */
export interface SplatSorterDescriptor {
  /** Where the splats are. */
  positions: Positions;
  /** The number of splats. */
  length: number;
  /**
   * The view-projection matrix: 16 f32, column by column as in WGSL, in a buffer with the usage
   * `UNIFORM`. It leads to WebGPU's clip space, where z is from 0 to w. A range begins at a
   * multiple of 256, or of the device's own `minUniformBufferOffsetAlignment`. Each frame is drawn
   * with the matrix that is in the buffer when it runs.
   */
  camera: BufferRange;
  /** What the depth is. By default `w`, for perspective projections. */
  depth?: Depth;
  /** How finely depths are told apart. By default by 32 bits. */
  key?: DepthKey;
  /** Which splats are drawn first. By default the farthest. */
  order?: DrawOrder;
  /**
   * How far out of the picture centres of splats may be, for splats that reach into it: a part of
   * half the picture's width and height, by default 0.3. It does not move the near and the far
   * plane.
   */
  margin?: number;
  /** Vertices of each splat, for the draw arguments. By default 4: a triangle strip. */
  vertices?: number;
  /**
   * Where the order is written: the first `length` u32 of a buffer with the usage `STORAGE`, such
   * as one that an engine draws from. {@link SplatSorter.dispose} leaves it. By default a buffer of
   * the sorter's own.
   */
  orderBuffer?: GPUBuffer;
  /** Scratch memory that is shared with other sorts, which must not run at the same time. */
  scratch?: Scratch;
}

/** The buffers of a sorter, by their names in plans; `values`, the order, if it is its own. */
type Made = Record<'keys' | 'drawn' | 'indirect', GPUBuffer> & { values?: GPUBuffer };

/**
 * Puts splats in the order in which they are drawn, on the GPU, in each frame: culls those that
 * cannot be seen, sorts the others by depth, and writes the arguments of an indirect draw.
 *
 * A splat is drawn if its position and its product with the matrix are finite, and in clip space
 * `0 < w`, `0 <= z <= w`, and `|x|` and `|y|` are at most `(1 + margin) w`. With a matrix that is
 * not finite, nothing is drawn. Splats with equal keys are in the order of their indices: the same
 * positions and matrix give the same bytes in each frame.
 *
 * Recording makes no GPU object, submits nothing and waits for nothing. The number of splats that
 * are drawn stays on the GPU. O(n log n) time for n splats, O(n) with keys of 16 bits. All splats
 * are sorted: the time hardly depends on the camera. For two cameras make two sorters, which may
 * share scratch memory.
 */
export class SplatSorter {
  /**
   * The indices of all splats, u32, in the order of drawing. Only the first {@link count} are to be
   * drawn; the others follow in ascending order. Its usages are `STORAGE`, `VERTEX` and `COPY_SRC`,
   * unless it is the page's own {@link SplatSorterDescriptor.orderBuffer}.
   */
  readonly order: GPUBuffer;
  /** The number of splats that are drawn, a u32. Its usages are `STORAGE` and `COPY_SRC`. */
  readonly count: GPUBuffer;
  /**
   * The arguments of `drawIndirect` at offset 0: an instance for each splat that is drawn. Its
   * usages are `INDIRECT`, `STORAGE` and `COPY_SRC`.
   */
  readonly indirect: GPUBuffer;
  /** The number of all splats. */
  readonly length: number;
  /**
   * Bytes of device memory: of keys, order, count and draw arguments, and of scratch memory, be it
   * shared or not. The page's own buffer for the order is not among them.
   */
  readonly memory: number;
  readonly #sort: PreparedSort;

  private constructor(sort: PreparedSort, made: Made, order: GPUBuffer, length: number) {
    if (!(sort instanceof PreparedSort)) {
      refuse('a SplatSorter is made by SplatSorter.create(sorter, descriptor), not by new');
    }
    this.#sort = sort;
    this.order = order;
    this.count = made.drawn;
    this.indirect = made.indirect;
    this.length = length;
    const own = Object.values(made).reduce((bytes, { size }) => bytes + size, 0);
    this.memory = own + sort.scratchBytes;
  }

  /**
   * Makes a sorter of splats on a sorter's device: checks the descriptor, compiles kernels, without
   * a pause of the page, and allocates all memory. The sorter's `dispose` disposes of it, too.
   *
   * @throws {InvalidArgumentError} A part of the descriptor is not valid.
   * @throws {TooLargeError} More splats than the device can bind.
   * @throws {OutOfMemoryError} @throws {DeviceLostError} @throws {DisposedError}
   */
  static async create(sorter: Sorter, descriptor: SplatSorterDescriptor): Promise<SplatSorter> {
    isSorter(sorter, 'sorter');
    isSplats(descriptor, 'descriptor');
    const { device } = sorter;
    const { length, orderBuffer, scratch } = descriptor;
    const { STORAGE, COPY_SRC, VERTEX, INDIRECT } = GPUBufferUsage;
    const buffer = (name: string, words: number, usage: GPUBufferUsageFlags) =>
      device.createBuffer({ label: `bcfsort.splat.${name}`, size: words * 4, usage });
    // (No buffer is empty: that could not be bound.)
    const words = Math.max(length, 1);
    if (orderBuffer && orderBuffer.size < words * 4) {
      const text = `orderBuffer has ${orderBuffer.size} bytes, but needs ${words * 4}`;
      refuse(text, 'BufferTooSmall');
    }
    let made: Made | undefined;
    const sort = await sorter.prepareOwning(
      describe(descriptor, device),
      scratch,
      (planner, text) => planner.planSplats(text),
      {
        bytes: words * (orderBuffer ? 4 : 8) + 20,
        make: () => (made = {
          keys: buffer('keys', words, STORAGE),
          ...orderBuffer ? {} : { values: buffer('order', words, STORAGE | VERTEX | COPY_SRC) },
          drawn: buffer('count', 1, STORAGE | COPY_SRC),
          indirect: buffer('indirect', 4, STORAGE | INDIRECT | COPY_SRC),
        }),
      },
    );
    return new SplatSorter(sort, made!, orderBuffer ?? made!.values!, length);
  }

  /**
   * Records a frame into an encoder of the page, as a compute pass.
   *
   * @throws {DisposedError} It was disposed of.
   */
  record(
    encoder: GPUCommandEncoder,
    descriptor: Omit<GPUComputePassDescriptor, 'label'> = {},
  ): void {
    this.#sort.record(encoder, descriptor);
  }

  /**
   * Records a frame into a compute pass of the page, between other dispatches: after those that
   * move the splats, for example. Sets its pipeline and bind group 0.
   *
   * @throws {DisposedError} It was disposed of.
   */
  recordInPass(pass: GPUComputePassEncoder): void {
    this.#sort.recordInPass(pass);
  }

  /**
   * Destroys order, count and draw arguments, but not a buffer of the page, and frees the memory.
   * Submissions that were made still run.
   */
  dispose(): void {
    this.#sort.dispose();
  }
}

/** The descriptor for the planner. */
function describe(descriptor: SplatSorterDescriptor, device: GPUDevice): Description {
  const { positions, length, camera, depth, key, order, margin, vertices } = descriptor;
  const buffers = new Buffers();
  buffers.range('values', descriptor.orderBuffer, 'orderBuffer');
  const axes = ['x', 'y', 'z'] as const;
  const where = 'rows' in positions
    ? { strided: {
        stride: positions.stride,
        offset: positions.offset ?? 0,
        rows: ['positions', ...axes].map((role) =>
          buffers.range(role, positions.rows, 'positions.rows'))[0],
      } }
    : { arrays: axes.map((axis, i) => buffers.range(axis, positions[i], `positions[${i}]`)) };
  return buffers.describe({
    ...where, length, depth, order, margin, vertices,
    camera: buffers.range('camera', camera),
    uniformAlignment: device.limits.minUniformBufferOffsetAlignment,
    range: key?.bits === 16 ? [key.nearest, key.farthest] : undefined,
  });
}
