/**
 * What the pages share: a cloud of points, their order in each frame, and its check.
 */

import { Sorter, SplatSorter } from 'wgpu-bcfsort';

/** How many points there are: `?n=` in the address. */
export const LENGTH = Number(new URLSearchParams(location.search).get('n') ?? 100_000);
/** The half width of a point's square. */
export const SIZE = 0.05;
/** Bytes of a row: x, y, z and a hue from 0 to 1, all f32. */
const ROW = 16;

/** The points: a knot in a mist, in no order. */
export function cloud() {
  let state = 1;
  const random = () => (state = Math.imul(state, 48271) >>> 0) / 2 ** 32;
  const rows = new Float32Array(4 * LENGTH);
  for (let i = 0; i < LENGTH; i++) {
    rows.set(i % 64 === 0 ? mote(random) : strand(random), 4 * i);
  }
  return rows;
}

/** A point of the mist, which is around the camera, too. */
const mote = (random) => [...Array.from({ length: 3 }, () => 16 * random() - 8), random()];

/** A point in the rope of the knot. */
function strand(random) {
  const turn = 2 * Math.PI * random();
  const away = 0.4 * Math.sqrt(random());
  const around = 2 * Math.PI * random();
  const radius = 1.6 + 0.8 * Math.cos(3 * turn) + away * Math.cos(around);
  const height = 0.8 * Math.sin(3 * turn) + away * Math.sin(around);
  return [radius * Math.cos(2 * turn), radius * Math.sin(2 * turn), height, turn / (2 * Math.PI)];
}

/** Where the camera is in a frame: it turns around the cloud, unless motion is not wanted. */
export function eye(frame) {
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const angle = 0.5 + (still ? 0 : frame * 0.01);
  return [6.5 * Math.sin(angle), 1.5, 6.5 * Math.cos(angle)];
}

/** The order of the points, in buffers of an engine. */
export class Order {
  /** How many frames were sorted. */
  frame = 0;
  #device;
  #splats;
  #camera;
  #buffers;
  #matrix = new Float32Array(16);
  #engine;

  /**
   * @param {string} engine its name and version
   * @param {GPUDevice} device of the engine
   * @param {{rows: GPUBuffer, order: GPUBuffer}} buffers of the engine: the points, which are read
   *   where they are; and a u32 for each, for their order
   */
  static async create(engine, device, buffers) {
    const camera = device.createBuffer({
      size: 64, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
    const splats = await SplatSorter.create(await Sorter.create(device), {
      positions: { rows: buffers.rows, stride: ROW }, length: LENGTH, camera, vertices: 6,
      orderBuffer: buffers.order,
    });
    const order = new Order();
    order.#engine = engine;
    order.#device = device;
    order.#buffers = buffers;
    order.#camera = camera;
    order.#splats = splats;
    return order;
  }

  /**
   * Sorts for a frame that the engine has not submitted yet.
   *
   * @param {ArrayLike<number>} viewProjection 16 numbers, column by column, for z from 0 to w
   * @param {{buffer: GPUBuffer, offset: number}} [draw] where the engine has the arguments of an
   *   indirect draw without an index buffer: without, it draws all points, also those outside
   */
  sort(viewProjection, draw) {
    this.#matrix.set(viewProjection);
    this.#device.queue.writeBuffer(this.#camera, 0, this.#matrix);
    const encoder = this.#device.createCommandEncoder();
    this.#splats.record(encoder);
    if (draw) {
      encoder.copyBufferToBuffer(this.#splats.indirect, 0, draw.buffer, draw.offset, 16);
    }
    this.#device.queue.submit([encoder.finish()]);
    this.frame += 1;
    globalThis.frames = this.frame;
    if (this.frame === 3) {
      this.#check().then((result) => show(this.#engine, result)).catch(fail);
    }
  }

  /** Reads the engine's order of the last frame back, and compares it with the CPU's. */
  async #check() {
    const matrix = this.#matrix.slice();
    const [order, [count], rows] = await Promise.all([
      this.#read(this.#buffers.order, LENGTH),
      this.#read(this.#splats.count, 1),
      this.#read(this.#buffers.rows, 4 * LENGTH),
    ]);
    return compare(new Float32Array(rows.buffer), matrix, order, count);
  }

  async #read(buffer, words) {
    const size = 4 * words;
    const copy = this.#device.createBuffer({
      size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, size);
    this.#device.queue.submit([encoder.finish()]);
    await copy.mapAsync(GPUMapMode.READ);
    const read = new Uint32Array(copy.getMappedRange().slice());
    copy.destroy();
    return read;
  }
}

/**
 * Compares an order with what the CPU finds. Devices round products and sums in their own ways, so
 * depths, and places at the edge of the picture, may differ by a few units in the last place.
 */
function compare(rows, matrix, order, count) {
  const TOLERANCE = 1e-5;
  const dot = (i, row) => [0, 1, 2].reduce(
    (sum, axis) => sum + matrix[4 * axis + row] * rows[4 * i + axis], matrix[12 + row]);
  const depths = Float64Array.from({ length: LENGTH }, (_, i) => dot(i, 3));
  /** How far inside of what is drawn a point is, in clip space; below 0 it is outside. */
  const inside = (i) => {
    const [x, y, z, w] = [dot(i, 0), dot(i, 1), dot(i, 2), depths[i]];
    return Math.min(w, z, w - z, 1.3 * w - Math.abs(x), 1.3 * w - Math.abs(y));
  };
  const disorder = (ranks, length) => {
    let found = 0;
    for (let i = 1; i < length; i++) {
      found += Number(depths[ranks[i]] > depths[ranks[i - 1]] + TOLERANCE);
    }
    return found;
  };
  const ofEach = new Uint8Array(LENGTH);
  order.forEach((i) => (ofEach[i] += 1));
  return {
    length: LENGTH,
    drawn: count,
    /** Points that are not there just once. */
    lost: ofEach.filter((times) => times !== 1).length,
    /** Points that are drawn and should not be, or the other way round. */
    misplaced: order.filter((i, rank) =>
      rank < count ? inside(i) < -TOLERANCE : inside(i) > TOLERANCE).length,
    /** Neighbours in the order of which the first is nearer. */
    disorder: disorder(order, count),
    /** The same without a sort. */
    before: disorder(Uint32Array.from({ length: LENGTH }, (_, i) => i), LENGTH),
  };
}

/** Shows the result of the check, and leaves it to the tests. */
function show(engine, result) {
  const { drawn, lost, misplaced, disorder } = result;
  const right = drawn > 0 && lost + misplaced + disorder === 0;
  const verdict = right ? "in the CPU's order" : 'in a WRONG order';
  document.getElementById('result').textContent =
    `${engine}: ${drawn.toLocaleString('en')} points, ${verdict}`;
  globalThis.result = { engine, right, ...result };
}

/** Shows an error in place of a result. */
export function fail(error) {
  document.getElementById('result').textContent = `${error}`;
  globalThis.result = { error: `${error.stack ?? error}` };
}
