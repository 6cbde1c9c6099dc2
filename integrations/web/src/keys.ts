/** Types of keys, and the typed arrays that hold them. */

import { InvalidArgumentError } from './errors.js';

/** A type of keys. `f16`, `f32` and `f64` are in the total order of IEEE 754. */
export type KeyType =
  | 'u8' | 'i8' | 'u16' | 'i16' | 'f16' | 'u32' | 'i32' | 'f32' | 'u64' | 'i64' | 'f64';

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

/** The key type of an array: of its own class, whatever it is derived from. */
export function keyType(array: TypedArray): KeyType {
  // (By name: an array of another frame is of another class.)
  const type = ArrayBuffer.isView(array) && TYPES[array[Symbol.toStringTag]];
  if (!type) {
    throw new InvalidArgumentError('InvalidArgument', 'keys must be in a typed array of numbers');
  }
  return type;
}

/** The bytes of an array, not copied. */
export function bytesOf({ buffer, byteOffset, byteLength }: TypedArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** A copy of the first items of an array. */
export function copyOf<T extends ArrayLike<unknown>>(array: T, length = array.length): T {
  // (Node's Buffer is a typed array whose own method does not copy.)
  const { slice } = ArrayBuffer.isView(array)
    ? Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array
    : Array.prototype;
  return (slice as Function).call(array, 0, length) as T;
}
