/**
 * What is asked of each sort, and whether an answer is right. Any order of -0 beside 0 is right,
 * and any place of NaNs but between numbers. Each case has one difficulty: where that is not the
 * length, the length is a power of two.
 */

/** @typedef {{name: string, type: 'u32' | 'i32' | 'f32', length: number, descending?: boolean,
 *   pairs?: boolean, stable?: boolean, least?: boolean, few?: boolean, special?: boolean}} Case */

/** @type {Case[]} */
export const CASES = [
  { name: '65,536 keys', type: 'u32', length: 65_536 },
  { name: '1,000 keys', type: 'u32', length: 1000 },
  { name: '1,000,001 keys', type: 'u32', length: 1_000_001 },
  { name: 'one key', type: 'u32', length: 1 },
  { name: 'no key', type: 'u32', length: 0 },
  { name: 'pairs', type: 'u32', length: 8192, pairs: true },
  { name: 'pairs, equal keys keep their order', type: 'u32', length: 8192, pairs: true,
    stable: true, few: true },
  { name: 'descending', type: 'u32', length: 8192, descending: true },
  { name: 'negative integers', type: 'i32', length: 8192 },
  { name: 'floats of both signs', type: 'f32', length: 8192 },
  { name: 'floats with NaN, infinities and -0', type: 'f32', length: 8192, special: true },
  { name: 'a device with the least limits', type: 'u32', length: 8192, least: true },
];

const ARRAYS = { u32: Uint32Array, i32: Int32Array, f32: Float32Array };
const SPECIAL = [NaN, Infinity, -Infinity, -0, 0, -NaN, 1e-45, -3.4e38];

/** The keys of a case, the same in each run. `most`: what a sort with few bins takes. */
export function keysOf({ type, length, few, special }, most = 0xffff_ffff) {
  let state = 1;
  const random = () => {
    // (A linear congruential generator: its high bits are the good ones.)
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return ((state >>> 16) | (Math.imul(state, 69_069) & 0xffff_0000)) >>> 0;
  };
  return ARRAYS[type].from({ length }, (_, i) => {
    if (special && i % 16 === 0) {
      return SPECIAL[(i / 16) % SPECIAL.length];
    }
    const bits = random();
    if (few) {
      return bits % 16;
    }
    if (type === 'f32') {
      return (bits / 2 ** 31 - 1) * 1000;
    }
    return most === 0xffff_ffff ? bits : bits % most;
  });
}

function bitsOf(keys) {
  return new Uint32Array(keys.buffer, keys.byteOffset, keys.length).slice().sort();
}

function isInOrder(keys, descending) {
  const numbers = [...keys].filter((key) => !Number.isNaN(key));
  const begin = keys.findIndex((key) => !Number.isNaN(key));
  const between = keys.subarray(Math.max(begin, 0), Math.max(begin, 0) + numbers.length);
  if (between.some((key) => Number.isNaN(key))) {
    return 'NaN is between numbers';
  }
  for (let i = 1; i < numbers.length; i += 1) {
    if (descending ? numbers[i - 1] < numbers[i] : numbers[i - 1] > numbers[i]) {
      return `keys ${i - 1} and ${i} of ${keys.length} are not in order`;
    }
  }
  return undefined;
}

/**
 * Why an answer is wrong, or undefined if it is right.
 *
 * @param {Case} asked
 * @param {{keys?: ArrayLike<number>, indices?: Uint32Array}} answer
 */
export function wrong(asked, keys, answer) {
  if (answer.indices) {
    const seen = new Uint8Array(keys.length);
    for (const index of answer.indices) {
      if (index >= keys.length || seen[index] === 1) {
        return `index ${index} comes twice, or is no index`;
      }
      seen[index] = 1;
    }
    if (answer.indices.length !== keys.length) {
      return `${answer.indices.length} indices of ${keys.length} keys`;
    }
  }
  const gathered = answer.indices && keys.slice().map((_, i) => keys[answer.indices[i]]);
  const sorted = answer.keys ?? gathered;
  const [before, after] = [bitsOf(keys), bitsOf(sorted)];
  if (before.length !== after.length || before.some((bits, i) => bits !== after[i])) {
    return 'keys are lost or changed';
  }
  const order = isInOrder(sorted, asked.descending);
  if (order) {
    return order;
  }
  if (gathered && answer.keys && gathered.some((key, i) => key !== sorted[i])) {
    return 'values are not with their keys';
  }
  if (asked.stable) {
    const { indices } = answer;
    for (let i = 1; i < indices.length; i += 1) {
      if (sorted[i - 1] === sorted[i] && indices[i - 1] > indices[i]) {
        return 'equal keys change their order';
      }
    }
  }
  return undefined;
}
