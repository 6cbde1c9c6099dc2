/** What the cases in engines are made of: checks, random numbers, and buffers of a device. */

import { Sorter, SortError, requestDevice } from '../dist/index.js';

export function check(condition, message) {
  if (!condition) {
    throw new Error(message);
  }
}

/** Whether two arrays have the same numbers, NaN and the sign of zero included. */
export function same(a, b, message) {
  check(a.length === b.length, `${message}: ${a.length} and ${b.length} items`);
  for (let i = 0; i < a.length; i += 1) {
    check(Object.is(a[i], b[i]), `${message}: item ${i} is ${a[i]} and not ${b[i]}`);
  }
}

export async function fails(code, call) {
  let error;
  try {
    await call();
  } catch (thrown) {
    error = thrown;
  }
  check(error instanceof SortError, `${code}: ${error ?? 'no error'}`);
  check(error.code === code, `${error.code} (${error.message}) and not ${code}`);
  check(error.message.length > 10 && error.name !== 'SortError' || code === 'Device', error.name);
  return error;
}

/** A mistake in an argument, which the message names. */
export async function names(argument, call) {
  const error = await fails('InvalidArgument', call);
  check(error.message.includes(argument), `${error.message} does not name ${argument}`);
}

/** Numbers that are the same in each run. */
export function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The buffers of a device, with what is in them. */
export class Buffers {
  constructor(device) {
    this.device = device;
  }

  upload(array, usage = GPUBufferUsage.STORAGE) {
    const size = Math.ceil(array.byteLength / 4) * 4;
    const { COPY_SRC } = GPUBufferUsage;
    const descriptor = { size, usage: usage | COPY_SRC, mappedAtCreation: true };
    const buffer = this.device.createBuffer(descriptor);
    new Uint8Array(buffer.getMappedRange()).set(new Uint8Array(array.buffer));
    buffer.unmap();
    return buffer;
  }

  async download(buffer, Array) {
    const { MAP_READ, COPY_DST } = GPUBufferUsage;
    const { size } = buffer;
    const staging = this.device.createBuffer({ size, usage: MAP_READ | COPY_DST });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, staging, 0, size);
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const array = new Array(staging.getMappedRange().slice(0));
    staging.destroy();
    return array;
  }
}

export async function opened(options) {
  const device = await requestDevice();
  return [await Sorter.create(device, options), new Buffers(device)];
}
