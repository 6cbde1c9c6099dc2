/**
 * The sorts of the CPU, away from the page's own thread: the order of the splats by depth, as
 * viewers of splats usually compute it, and the browser's sorts in the race.
 */

/** @typedef {Uint32Array | Int32Array | Float32Array | BigUint64Array | BigInt64Array
 *   | Float64Array | Uint16Array | Int16Array | Uint8Array | Int8Array} Keys */

const BUCKETS = 1 << 16;
const KEYS_TO_TIME = 4e5;

/**
 * Orders splats from back to front: a counting sort by 16 bits of depth.
 */
class DepthSort {
  // x, y, z and something else for each splat.
  #places;
  #depths;
  #buckets;
  #counts = new Uint32Array(BUCKETS);

  /** @param {Float32Array} places */
  constructor(places) {
    this.#places = places;
    this.#depths = new Float32Array(places.length / 4);
    this.#buckets = new Uint16Array(places.length / 4);
  }

  get length() {
    return this.#depths.length;
  }

  /**
   * @param {number[]} forward where the camera looks
   * @param {Uint32Array} order is overwritten
   */
  sort([x, y, z], order) {
    const places = this.#places;
    const depths = this.#depths;
    const buckets = this.#buckets;
    const counts = this.#counts;
    let nearest = Infinity;
    let farthest = -Infinity;
    for (let i = 0, at = 0; i < depths.length; i++, at += 4) {
      const depth = x * places[at] + y * places[at + 1] + z * places[at + 2];
      depths[i] = depth;
      nearest = Math.min(nearest, depth);
      farthest = Math.max(farthest, depth);
    }
    // A little less than one bucket per step, so that rounding leaves none beyond the last one.
    const scale = (BUCKETS - 1) / Math.max(farthest - nearest, 1e-9);
    counts.fill(0);
    for (let i = 0; i < depths.length; i++) {
      const bucket = (farthest - depths[i]) * scale;
      buckets[i] = bucket;
      counts[buckets[i]]++;
    }
    for (let i = 0, before = 0; i < BUCKETS; i++) {
      const count = counts[i];
      counts[i] = before;
      before += count;
    }
    for (let i = 0; i < buckets.length; i++) {
      order[counts[buckets[i]]++] = i;
    }
  }
}

/** @type {Record<string, new (length: number | ArrayBufferLike) => Keys>} */
const ARRAYS = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  f64: Float64Array,
};

/**
 * A generator of random words, xorshift with 128 bits of state: the same ones for the same seed.
 * @param {number} seed
 */
function randomWords(seed) {
  let [x, y, z, w] = [seed | 1, 0x9e3779b9, 0x243f6a88, 0xb7e15162];
  const next = () => {
    const t = x ^ (x << 11);
    [x, y, z] = [y, z, w];
    w = (w ^ (w >>> 19) ^ t ^ (t >>> 8)) | 0;
    return w >>> 0;
  };
  for (let i = 0; i < 32; i++) {
    next();
  }
  return next;
}

/**
 * @param {string} type
 * @param {number} length
 * @param {string} distribution
 * @returns {Keys}
 */
function makeKeys(type, length, distribution) {
  const next = randomWords(length);
  const keys = new ARRAYS[type](length);
  if (distribution === 'few') {
    const wide = typeof keys[0] === 'bigint';
    for (let i = 0; i < length; i++) {
      const value = next() >>> 28;
      keys[i] = /** @type {never} */ (wide ? BigInt(value) : value);
    }
    return keys;
  }
  if (keys instanceof Float32Array || keys instanceof Float64Array) {
    for (let i = 0; i < length; i++) {
      keys[i] = (next() + 0.5) / 2147483648 - 1;
    }
  } else {
    // Bits are numbers of these types already.
    const words = new Uint32Array(Math.ceil(keys.byteLength / 4));
    for (let i = 0; i < words.length; i++) {
      words[i] = next();
    }
    new Uint8Array(keys.buffer).set(new Uint8Array(words.buffer, 0, keys.byteLength));
  }
  return distribution === 'sorted' ? keys.sort() : keys;
}

/**
 * Whether two arrays have the same bits.
 * @param {Keys} a
 * @param {Keys} b
 */
function same(a, b) {
  if (a.byteLength !== b.byteLength) {
    return false;
  }
  const words = a.byteLength >>> 2;
  const left = new Uint32Array(a.buffer, 0, words);
  const right = new Uint32Array(b.buffer, 0, words);
  for (let i = 0; i < words; i++) {
    if (left[i] !== right[i]) {
      return false;
    }
  }
  const tail = words * 4;
  const rest = new Uint8Array(b.buffer, tail);
  return new Uint8Array(a.buffer, tail).every((byte, i) => byte === rest[i]);
}

/**
 * Whether keys are in order, and as far as a sum tells, the same ones as before. It examines the
 * sort that the others are compared with.
 * @param {Keys} sorted
 * @param {Keys} keys
 */
function inOrder(sorted, keys) {
  for (let i = 1; i < sorted.length; i++) {
    if (sorted[i - 1] > sorted[i]) {
      return false;
    }
  }
  return sumOfHashes(sorted) === sumOfHashes(keys);
}

/** @param {Keys} keys */
function sumOfHashes(keys) {
  const bytes = keys.BYTES_PER_ELEMENT;
  const parts = bytes === 1 ? new Uint8Array(keys.buffer)
    : bytes === 2 ? new Uint16Array(keys.buffer) : new Uint32Array(keys.buffer);
  const each = Math.max(bytes / 4, 1);
  let sum = 0;
  for (let i = 0; i < parts.length; i += each) {
    let hash = Math.imul(parts[i] ^ 0x5bd1e995, 0x9e3779b1);
    if (each === 2) {
      hash = Math.imul(hash ^ (hash >>> 15) ^ parts[i + 1], 0x85ebca6b);
    }
    sum = (sum + (hash ^ (hash >>> 13))) | 0;
  }
  return sum;
}

/** The keys of a race, and the order that they must get. */
class Race {
  /** @type {Keys} */
  #keys;
  /** @type {Keys | undefined} */
  #expected;

  /** @param {Keys} keys */
  constructor(keys) {
    this.#keys = keys;
  }

  get keys() {
    return this.#keys;
  }

  /** TypedArray.prototype.sort, whose result is the expected one. */
  typed() {
    const [ms, sorted] = this.#time(() => this.#keys.slice(), (keys) => keys.sort());
    this.#expected = sorted;
    return { ms, correct: inOrder(sorted, this.#keys) };
  }

  /** Array.prototype.sort with a comparator. */
  array() {
    const compare = typeof this.#keys[0] === 'bigint'
      ? (/** @type {bigint} */ a, /** @type {bigint} */ b) => (a < b ? -1 : Number(a > b))
      : (/** @type {number} */ a, /** @type {number} */ b) => a - b;
    const unsorted = /** @type {ArrayLike<any>} */ (this.#keys);
    const [ms, sorted] = this.#time(() => Array.from(unsorted), (keys) => keys.sort(compare));
    const Type = /** @type {any} */ (this.#keys.constructor);
    return { ms, correct: this.check(Type.from(sorted)) };
  }

  /**
   * The time of one sort, and a result. A few keys are sorted many times, because the clock of a
   * page is coarse.
   * @template T
   * @param {() => T} copy
   * @param {(keys: T) => unknown} sort
   * @returns {[ms: number, sorted: T]}
   */
  #time(copy, sort) {
    const times = Math.max(Math.floor(KEYS_TO_TIME / this.#keys.length), 1);
    const copies = Array.from({ length: times }, copy);
    const begin = performance.now();
    for (const keys of copies) {
      sort(keys);
    }
    return [(performance.now() - begin) / times, copies[0]];
  }

  /** @param {Keys} sorted */
  check(sorted) {
    return this.#expected !== undefined && same(sorted, this.#expected);
  }
}

/** @type {DepthSort | undefined} */
let depths;
/** @type {Race | undefined} */
let race;

/** @type {Record<string, (request: any) => [reply: object, transfer?: Transferable[]]>} */
const answers = {
  places({ places }) {
    depths = new DepthSort(places);
    return [{}];
  },
  order({ forward, spare }) {
    const begin = performance.now();
    const length = depths?.length ?? 0;
    const order = spare?.length === length ? spare : new Uint32Array(length);
    depths?.sort(forward, order);
    return [{ order, ms: performance.now() - begin }, [order.buffer]];
  },
  keys({ type, length, distribution }) {
    race = new Race(makeKeys(type, length, distribution));
    const keys = race.keys.slice();
    return [{ keys }, [keys.buffer]];
  },
  typed: () => [race?.typed() ?? {}],
  array: () => [race?.array() ?? {}],
  check: ({ sorted }) => [{ correct: race?.check(sorted) }],
};

addEventListener('message', ({ data }) => {
  const [reply, transfer] = answers[data.kind](data);
  postMessage({ ...reply, id: data.id }, { transfer });
});

// Makes this file a module, whose types others import.
export {};
