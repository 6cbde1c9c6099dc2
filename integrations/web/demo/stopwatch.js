/** The time that a sort takes on the GPU. */

/** For promises that reject when the device is lost, which is said elsewhere. */
const ignore = () => {};

/**
 * A buffer to read timestamps from.
 * @typedef {object} Slot
 * @property {GPUBuffer} buffer
 * @property {boolean} busy
 * @property {() => void} read
 */

/** Measures the sort on the GPU: with timestamps, or else by when the queue reports it done. */
export class Stopwatch {
  /** The latest measurement. */
  ms = NaN;
  /** Whether the GPU itself takes the time. */
  precise;
  #queue;
  /** @type {GPUComputePassTimestampWrites | undefined} */
  #writes;
  /** @type {GPUQuerySet | undefined} */
  #queries;
  /** @type {GPUBuffer | undefined} */
  #resolved;
  // As many as frames that may be on their way; a frame that finds none free is not measured.
  /** @type {Slot[]} */
  #slots = [];
  /** The one of the frame that is being recorded. @type {Slot | undefined} */
  #slot;
  #begun = NaN;
  #finish = () => {
    this.ms = performance.now() - this.#begun;
    this.#begun = NaN;
  };

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#queue = device.queue;
    this.precise = device.features.has('timestamp-query');
    if (!this.precise) {
      return;
    }
    const queries = device.createQuerySet({ type: 'timestamp', count: 2 });
    this.#queries = queries;
    this.#writes = {
      querySet: queries,
      beginningOfPassWriteIndex: 0,
      endOfPassWriteIndex: 1,
    };
    this.#resolved = device.createBuffer({
      size: 16,
      usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
    });
    this.#slots = Array.from({ length: 4 }, () => {
      const buffer = device.createBuffer({
        size: 16,
        usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
      });
      /** @type {Slot} */
      const slot = {
        buffer,
        busy: false,
        read: () => {
          const [begin, end] = new BigUint64Array(buffer.getMappedRange());
          buffer.unmap();
          slot.busy = false;
          // Some drivers restart their counter between the two.
          if (end >= begin) {
            this.ms = Number(end - begin) / 1e6;
          }
        },
      };
      return slot;
    });
  }

  /** What to record the sort with, in a frame that is measured by timestamps. */
  begin() {
    this.#slot = this.#slots.find(({ busy }) => !busy);
    return this.#slot && this.#writes;
  }

  /** @param {GPUCommandEncoder} encoder which the sort was recorded to */
  end(encoder) {
    if (this.#slot && this.#queries && this.#resolved) {
      encoder.resolveQuerySet(this.#queries, 0, 2, this.#resolved, 0);
      encoder.copyBufferToBuffer(this.#resolved, 0, this.#slot.buffer, 0, 16);
    }
  }

  /** To be called when the sort's commands have been submitted. */
  submitted() {
    const slot = this.#slot;
    if (slot) {
      slot.busy = true;
      slot.buffer.mapAsync(GPUMapMode.READ).then(slot.read, ignore);
      this.#slot = undefined;
    } else if (!this.precise && Number.isNaN(this.#begun)) {
      this.#begun = performance.now();
      this.#queue.onSubmittedWorkDone().then(this.#finish, ignore);
    }
  }
}

/**
 * The time of one run of a sort by the GPU's timestamps, or NaN if it has none.
 * @param {GPUDevice} device
 * @param {import('../dist/index.js').PreparedSort} sort
 */
export async function timeOnce(device, sort) {
  if (!device.features.has('timestamp-query')) {
    return NaN;
  }
  const querySet = device.createQuerySet({ type: 'timestamp', count: 2 });
  const resolved = device.createBuffer({
    size: 16,
    usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
  });
  const read = device.createBuffer({
    size: 16,
    usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
  });
  try {
    const encoder = device.createCommandEncoder();
    sort.record(encoder, {
      timestampWrites: { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 },
    });
    encoder.resolveQuerySet(querySet, 0, 2, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, read, 0, 16);
    device.queue.submit([encoder.finish()]);
    await read.mapAsync(GPUMapMode.READ);
    const [begin, end] = new BigUint64Array(read.getMappedRange());
    return end > begin ? Number(end - begin) / 1e6 : NaN;
  } finally {
    querySet.destroy();
    resolved.destroy();
    read.destroy();
  }
}
