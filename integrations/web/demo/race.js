/**
 * The race: the browser's own sorts and bcfsort, with the same keys.
 */

import { counted, element, rounded } from './dom.js';
import { timeOnce } from './stopwatch.js';

/** @typedef {import('./main.js').Engine} Engine */
/** @typedef {import('./main.js').Gpu} Gpu */
/** @typedef {import('../dist/index.js').KeyType} KeyType */
/** @typedef {import('./sort-worker.js').Keys} Keys */

const RUNS = 3;
// With more keys, a comparator takes so long that nobody would wait for it.
const MOST_OF_ARRAY_SORT = 2e6;

/** @param {number} ms */
const inMs = (ms) => ms.toFixed(ms < 1 ? 3 : ms < 10 ? 2 : ms < 100 ? 1 : 0);

/** A rate in millions per second, or a factor. @param {number} value */
const brief = (value) => (value < 10 ? String(rounded(value)) : counted(rounded(value)));

/** @param {number[]} values */
const median = (values) => values.slice().sort((a, b) => a - b)[values.length >> 1];

/**
 * One of the sorts.
 * @typedef {object} Entry
 * @property {string} name
 * @property {string} title
 * @property {string} detail
 * @property {boolean} [gpu] whether it needs the GPU
 */

/** In the order of the table. @type {Entry[]} */
const ENTRIES = [
  {
    name: 'array',
    title: 'Array.prototype.sort',
    detail: 'with a comparator',
  },
  {
    name: 'typed',
    title: 'TypedArray.prototype.sort',
    detail: 'the browser’s fastest',
  },
  {
    name: 'sorter',
    title: 'bcfsort, from and to memory',
    detail: 'sorter.sort(keys): upload, sort and download',
    gpu: true,
  },
  {
    name: 'resident',
    title: 'bcfsort, keys on the GPU',
    detail: 'from submission until the queue is done',
    gpu: true,
  },
];

/** A row of the table. */
class Row {
  #row = document.createElement('tr');
  #bar = document.createElement('span');
  #detail = document.createElement('small');
  #ms = cell('number ms');
  #rate = cell('number rate');
  #check = cell('check');
  #entry;
  /** The median, once it is known. */
  ms = NaN;

  /** @param {Entry} entry */
  constructor(entry) {
    this.#entry = entry;
    this.#row.dataset.entry = entry.name;
    this.#row.setAttribute('role', 'row');
    const head = document.createElement('th');
    head.scope = 'row';
    head.setAttribute('role', 'rowheader');
    const title = document.createElement('span');
    title.textContent = entry.title;
    const track = document.createElement('span');
    track.className = 'track';
    this.#bar.className = entry.gpu ? 'bar ours' : 'bar';
    track.append(this.#bar);
    head.append(title, this.#detail, track);
    this.#row.append(head, this.#ms, this.#rate, this.#check);
    this.reset();
  }

  get element() {
    return this.#row;
  }

  reset() {
    this.ms = NaN;
    this.#state('');
    this.#detail.textContent = this.#entry.detail;
    this.#bar.style.width = '0';
    this.#ms.textContent = '–';
    this.#rate.textContent = '–';
    this.#check.textContent = '';
    delete this.#row.dataset.correct;
  }

  /** @param {string} state */
  #state(state) {
    this.#row.dataset.state = state;
  }

  /** @param {number} run from 0, which is the one to warm up */
  running(run) {
    this.#state('running');
    this.#check.textContent = run === 0 ? 'warming up' : `run ${run} of ${RUNS}`;
  }

  /** @param {string} why */
  skip(why) {
    this.#state('skipped');
    this.#check.textContent = why;
  }

  /** @param {string} message */
  fail(message) {
    this.#state('failed');
    this.#row.dataset.correct = 'false';
    this.#check.textContent = message;
  }

  /**
   * @param {number} ms
   * @param {number} length
   * @param {boolean} correct
   * @param {string} detail
   */
  finish(ms, length, correct, detail) {
    this.ms = ms;
    this.#state('done');
    this.#row.dataset.correct = String(correct);
    this.#ms.textContent = inMs(ms);
    this.#rate.textContent = brief(length / ms / 1000);
    this.#check.textContent = correct ? '✓ correct' : '✗ wrong';
    if (detail) {
      this.#detail.textContent = detail;
    }
  }

  /** @param {number} slowest */
  scale(slowest) {
    if (!Number.isNaN(this.ms)) {
      this.#bar.style.width = `${Math.max((100 * this.ms) / slowest, 0.2)}%`;
    }
  }
}

/** @param {string} className */
function cell(className) {
  const result = document.createElement('td');
  result.className = className;
  result.setAttribute('role', 'cell');
  return result;
}

/** The worker's side of a race: it has the keys, sorts on the CPU, and checks all results. */
class Referee {
  #worker = new Worker(new URL('./sort-worker.js', import.meta.url), { type: 'module' });
  #signal;

  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.#signal = signal;
  }

  /**
   * @param {string} kind
   * @param {object} [options]
   * @param {Transferable[]} [transfer]
   * @returns {Promise<any>}
   */
  ask(kind, options, transfer = []) {
    return new Promise((resolve, reject) => {
      this.#signal.throwIfAborted();
      this.#signal.addEventListener('abort', () => reject(this.#signal.reason), { once: true });
      this.#worker.onmessage = ({ data }) => resolve(data);
      this.#worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message || 'The worker could not be loaded.'));
      };
      this.#worker.postMessage({ kind, ...options }, transfer);
    });
  }

  dispose() {
    this.#worker.terminate();
  }
}

/**
 * What all entries of one race have in common.
 * @typedef {object} Course
 * @property {Referee} referee
 * @property {AbortSignal} signal
 * @property {Keys} keys
 * @property {KeyType} type
 * @property {Engine | undefined} engine
 */

/**
 * Runs an entry with a callback that measures it once.
 * @param {Row} row
 * @param {Course} course
 * @param {() => Promise<{ms: number, correct: boolean}>} run
 * @param {(times: number[]) => Promise<string> | string} [detail] what else there is to say
 */
async function measure(row, { signal, keys }, run, detail = () => '') {
  const times = [];
  let correct = true;
  for (let i = 0; i <= RUNS; i++) {
    signal.throwIfAborted();
    row.running(i);
    const result = await run();
    correct &&= result.correct;
    if (i > 0) {
      times.push(result.ms);
    }
  }
  row.finish(median(times), keys.length, correct, await detail(times));
}

/** @type {Record<string, (row: Row, course: Course) => Promise<void>>} */
const RUNNERS = {
  array: (row, course) => measure(row, course, () => course.referee.ask('array')),
  typed: (row, course) => measure(row, course, () => course.referee.ask('typed')),

  async sorter(row, course) {
    const { sorter } = /** @type {Engine} */ (course.engine);
    await measure(row, course, async () => {
      const keys = course.keys.slice();
      const begin = performance.now();
      await sorter.sort(keys);
      const ms = performance.now() - begin;
      return { ms, correct: await check(course, keys) };
    });
  },

  async resident(row, course) {
    const { device, sorter } = /** @type {Engine} */ (course.engine);
    const { keys, type } = course;
    const { queue } = device;
    const size = Math.ceil(keys.byteLength / 4) * 4;
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    /** @type {GPUBuffer[]} */
    const buffers = [];
    const buffer = (/** @type {number} */ usage) => {
      const made = device.createBuffer({ size, usage });
      buffers.push(made);
      return made;
    };
    const unsorted = buffer(COPY_SRC | COPY_DST);
    const sorted = buffer(STORAGE | COPY_SRC | COPY_DST);
    const read = buffer(COPY_DST | MAP_READ);
    const copy = (/** @type {GPUBuffer} */ from, /** @type {GPUBuffer} */ to) => {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(from, 0, to, 0, size);
      queue.submit([encoder.finish()]);
    };
    /** @type {import('../dist/index.js').PreparedSort | undefined} */
    let sort;
    try {
      const padded = new Uint8Array(size);
      padded.set(new Uint8Array(keys.buffer));
      queue.writeBuffer(unsorted, 0, padded);
      const prepared = await sorter.prepare({ keys: sorted, type, length: keys.length });
      sort = prepared;
      await measure(row, course, async () => {
        copy(unsorted, sorted);
        await queue.onSubmittedWorkDone();
        const begin = performance.now();
        prepared.run();
        await queue.onSubmittedWorkDone();
        const ms = performance.now() - begin;
        copy(sorted, read);
        await read.mapAsync(GPUMapMode.READ);
        const Type = /** @type {any} */ (keys.constructor);
        const result = new Type(read.getMappedRange().slice(0, keys.byteLength));
        read.unmap();
        return { ms, correct: await check(course, result) };
      }, async () => {
        copy(unsorted, sorted);
        const ms = await timeOnce(device, prepared);
        return Number.isNaN(ms) ? '' : `of which the GPU sorts for ${rounded(ms)} ms`;
      });
    } finally {
      sort?.dispose();
      for (const made of buffers) {
        made.destroy();
      }
    }
  },
};

/**
 * @param {Course} course
 * @param {Keys} sorted
 * @returns {Promise<boolean>}
 */
async function check({ referee }, sorted) {
  const { correct } = await referee.ask('check', { sorted }, [sorted.buffer]);
  return correct;
}

/** The section: its form and its table. */
class View {
  #gpu;
  #onNoGpu;
  /** @type {Map<string, Row>} */
  #rows = new Map();
  /** @type {AbortController | undefined} */
  #running;
  #button = element('race-run');
  #slider = element('race-n');
  #status = element('race-status');

  /**
   * @param {Gpu} gpu
   * @param {(error: unknown) => void} onNoGpu
   */
  constructor(gpu, onNoGpu) {
    this.#gpu = gpu;
    this.#onNoGpu = onNoGpu;
    for (const entry of ENTRIES) {
      const row = new Row(entry);
      this.#rows.set(entry.name, row);
      element('race-rows').append(row.element);
    }
    this.#slider.addEventListener('input', () => this.#showLength());
    this.#showLength();
    element('race-form').addEventListener('submit', (/** @type {Event} */ event) => {
      event.preventDefault();
      if (this.#running) {
        this.#running.abort();
      } else {
        this.#race();
      }
    });
  }

  get #length() {
    return rounded(10 ** Number(this.#slider.value));
  }

  #showLength() {
    const text = counted(this.#length);
    element('race-n-value').textContent = text;
    this.#slider.setAttribute('aria-valuetext', `${text} keys`);
    element('race-note').textContent = this.#length > MOST_OF_ARRAY_SORT
      ? `Array.prototype.sort is left out above ${counted(MOST_OF_ARRAY_SORT)} keys: it would `
        + 'take many seconds.'
      : '';
  }

  /** Asks for the GPU, so that the first race need not wait for it. */
  async prepare() {
    const engine = await this.#acquire();
    element('race-device').textContent = [
      engine?.device.adapterInfo?.isFallbackAdapter
        && 'The adapter computes in software: what bcfsort takes here says nothing of a GPU.',
      engine && navigator.userAgent.includes('Firefox/')
        && 'Firefox takes some 100 ms to map a buffer, which each “sorter.sort” waits for.',
    ].filter(Boolean).join(' ');
  }

  async #acquire() {
    try {
      return await this.#gpu.acquire();
    } catch (error) {
      this.#onNoGpu(error);
      return undefined;
    }
  }

  async #race() {
    const running = new AbortController();
    this.#running = running;
    const { signal } = running;
    const length = this.#length;
    const type = element('race-type').value;
    const distribution = element('race-distribution').value;
    const referee = new Referee(signal);
    this.#button.textContent = 'Cancel';
    for (const row of this.#rows.values()) {
      row.reset();
    }
    try {
      this.#say(`Racing with ${counted(length)} keys of ${type}.`);
      const engine = await this.#acquire();
      const { keys } = await referee.ask('keys', { type, length, distribution });
      const course = { referee, signal, keys, type, engine };
      // The typed array's sort gives the order that the others are compared with. The slowest is
      // the last one.
      for (const name of ['typed', 'sorter', 'resident', 'array']) {
        await this.#enter(name, course);
      }
      this.#say(this.#summary(length, type));
    } catch (error) {
      this.#say(signal.aborted ? 'Cancelled.' : `The race has failed: ${error}`);
      for (const row of this.#rows.values()) {
        if (row.element.dataset.state === 'running') {
          row.reset();
        }
      }
    } finally {
      referee.dispose();
      this.#running = undefined;
      this.#button.textContent = 'Race';
    }
  }

  /**
   * @param {string} name
   * @param {Course} course
   */
  async #enter(name, course) {
    const row = /** @type {Row} */ (this.#rows.get(name));
    const entry = ENTRIES.find((each) => each.name === name);
    if (entry?.gpu && !course.engine) {
      row.skip('needs WebGPU');
      return;
    }
    if (name === 'array' && course.keys.length > MOST_OF_ARRAY_SORT) {
      row.skip('left out');
      return;
    }
    if (name === 'resident') {
      const most = course.engine?.sorter.maxLength(course.type) ?? 0;
      if (course.keys.length > most) {
        row.skip(`at most ${counted(most)}`);
        return;
      }
    }
    try {
      await RUNNERS[name](row, course);
    } catch (error) {
      if (course.signal.aborted || !entry?.gpu) {
        throw error;
      }
      row.fail(/** @type {Error} */ (error).message);
    }
    const rows = [...this.#rows.values()];
    const slowest = Math.max(...rows.map(({ ms }) => ms || 0));
    for (const each of rows) {
      each.scale(slowest);
    }
  }

  /**
   * @param {number} length
   * @param {string} type
   */
  #summary(length, type) {
    const typed = this.#rows.get('typed')?.ms ?? NaN;
    const sorter = this.#rows.get('sorter')?.ms ?? NaN;
    const what = `${counted(length)} keys of ${type}`;
    if (Number.isNaN(sorter)) {
      return `${what}: TypedArray.prototype.sort took ${inMs(typed)} ms.`;
    }
    const factor = (/** @type {number} */ of) => `${brief(of)} times`;
    return typed > sorter
      ? `${what}: bcfsort was ${factor(typed / sorter)} as fast as TypedArray.prototype.sort, `
        + 'upload and download included.'
      : `${what}: bcfsort took ${factor(sorter / typed)} as long as TypedArray.prototype.sort, `
        + 'upload and download included.';
  }

  /** @param {string} text */
  #say(text) {
    this.#status.textContent = text;
  }
}

/**
 * @param {HTMLElement} _section
 * @param {{gpu: Gpu, onNoGpu: (error: unknown) => void}} options
 */
export function mountRace(_section, { gpu, onNoGpu }) {
  new View(gpu, onNoGpu).prepare();
  return {};
}
