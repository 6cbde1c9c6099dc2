/** Types of keys, and the typed arrays that hold them. */

import { InvalidArgumentError } from './errors.js';

export const KEY_TYPES = [
  'u8', 'i8', 'u16', 'i16', 'f16', 'bf16', 'u32', 'i32', 'f32', 'u64', 'i64', 'f64',
] as const;

/**
 * A type of keys. Floats are in the total order of IEEE 754. There is no typed array of `bf16`, the
 * upper half of an `f32`: it is for buffers.
 */
export type KeyType = (typeof KEY_TYPES)[number];

export const SUM_TYPES = ['u32', 'i32', 'f32', 'u64', 'i64'] as const;

/** A type of values that scans add up. */
export type SumType = (typeof SUM_TYPES)[number];

export const MERGE_TYPES = ['u32', 'i32', 'f32', 'u64', 'i64', 'f64'] as const;

/** A type of keys that are merged. */
export type MergeType = (typeof MERGE_TYPES)[number];

/** `Float16Array`, also where the compiler does not know it. */
export interface HalfArray {
  readonly [Symbol.toStringTag]: 'Float16Array';
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly length: number;
  [index: number]: number;
}

/** An array of keys. `Uint8ClampedArray` has the order of `u8`. */
export type TypedArray =
  | Uint8Array | Uint8ClampedArray | Int8Array | Uint16Array | Int16Array | HalfArray
  | Uint32Array | Int32Array | Float32Array | BigUint64Array | BigInt64Array | Float64Array;

const TYPES: Record<string, KeyType> = {
  Uint8Array: 'u8',
  Uint8ClampedArray: 'u8',
  Int8Array: 'i8',
  Uint16Array: 'u16',
  Int16Array: 'i16',
  Float16Array: 'f16',
  Uint32Array: 'u32',
  Int32Array: 'i32',
  Float32Array: 'f32',
  BigUint64Array: 'u64',
  BigInt64Array: 'i64',
  Float64Array: 'f64',
};

const PROTOTYPE = Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array;

/** Fails if a typed array is detached, or lies outside of a buffer that was resized. */
export function checkAttached(array: ArrayBufferView, name: string): void {
  try {
    // (Any method asks this first. That the array is empty would not tell.)
    PROTOTYPE.values.call(array as Uint8Array);
  } catch (cause) {
    const message = `${name} is an array that was detached, or that its buffer no longer holds`;
    throw new InvalidArgumentError('InvalidArgument', message, { cause });
  }
}

/** The key type of an array: of its own class, whatever it is derived from. */
export function keyType(array: TypedArray): KeyType {
  // (By name: an array of another frame is of another class.)
  const type = ArrayBuffer.isView(array) && TYPES[array[Symbol.toStringTag]];
  if (!type) {
    throw new InvalidArgumentError('InvalidArgument', 'keys must be a typed array of numbers');
  }
  checkAttached(array, 'keys');
  return type;
}

/** The bytes of an array, not copied. */
export function bytesOf({ buffer, byteOffset, byteLength }: TypedArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** A copy of the first items of an array. */
export function copyOf<T extends ArrayLike<unknown>>(array: T, length = array.length): T {
  // (Node's Buffer is a typed array whose own method does not copy.)
  const { slice } = ArrayBuffer.isView(array) ? PROTOTYPE : Array.prototype;
  return (slice as Function).call(array, 0, length) as T;
}
