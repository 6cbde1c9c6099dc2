/** The time that a sort takes on the GPU. */

/** For promises that reject when the device is lost, which is said elsewhere. */
const ignore = () => {};

/** Two timestamps on the GPU: of the beginning and the end of a pass. */
class Timestamps {
  #device;
  #queries;
  #resolved;
  /** What to record the pass with. @type {GPUComputePassTimestampWrites} */
  writes;

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#device = device;
    this.#queries = device.createQuerySet({ type: 'timestamp', count: 2 });
    this.#resolved = device.createBuffer({
      size: 16,
      usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
    });
    this.writes = {
      querySet: this.#queries,
      beginningOfPassWriteIndex: 0,
      endOfPassWriteIndex: 1,
    };
  }

  /** A buffer to read them from. */
  reader() {
    return this.#device.createBuffer({
      size: 16,
      usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
    });
  }

  /**
   * @param {GPUCommandEncoder} encoder which the pass was recorded to
   * @param {GPUBuffer} reader
   */
  resolve(encoder, reader) {
    encoder.resolveQuerySet(this.#queries, 0, 2, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, reader, 0, 16);
  }

  destroy() {
    this.#queries.destroy();
    this.#resolved.destroy();
  }
}

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
  /** @type {Timestamps | undefined} */
  #timestamps;
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
    const timestamps = new Timestamps(device);
    this.#timestamps = timestamps;
    this.#slots = Array.from({ length: 4 }, () => {
      const buffer = timestamps.reader();
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
    return this.#slot && this.#timestamps?.writes;
  }

  /** @param {GPUCommandEncoder} encoder which the sort was recorded to */
  end(encoder) {
    if (this.#slot) {
      this.#timestamps?.resolve(encoder, this.#slot.buffer);
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
  const timestamps = new Timestamps(device);
  const read = timestamps.reader();
  try {
    const encoder = device.createCommandEncoder();
    sort.record(encoder, { timestampWrites: timestamps.writes });
    timestamps.resolve(encoder, read);
    device.queue.submit([encoder.finish()]);
    await read.mapAsync(GPUMapMode.READ);
    const [begin, end] = new BigUint64Array(read.getMappedRange());
    return end > begin ? Number(end - begin) / 1e6 : NaN;
  } finally {
    timestamps.destroy();
    read.destroy();
  }
}
