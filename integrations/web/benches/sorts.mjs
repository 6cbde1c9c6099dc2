/**
 * Times sorts in Node, on the adapter that the package `webgpu` finds, and prints a table in
 * Markdown: medians of nine runs after one that is not counted.
 *
 *     npm install && bash build.sh && node benches/sorts.mjs
 */

import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
Object.defineProperty(globalThis, 'navigator', {
  value: { gpu: create([]) },
  configurable: true,
});
const { Sorter, requestDevice } = await import('../dist/index.js');

const RUNS = 9;
/** Sorts of a buffer between two timestamps, which WebGPU rounds to 0.1 ms. */
const REPEATS = 10;
/** Milliseconds that the GPU works before it is timed: an idle one has a low clock. */
const WARM_UP = 300;

async function median(run) {
  await run();
  const times = [];
  for (let i = 0; i < RUNS; i += 1) {
    times.push(await run());
  }
  return times.sort((a, b) => a - b)[RUNS >> 1];
}

/** Milliseconds of a call. `before` is not timed. */
async function timed(call, before = () => undefined) {
  const input = await before();
  const begin = performance.now();
  await call(input);
  return performance.now() - begin;
}

const device = await requestDevice();
const hasTimestamps = device.features.has('timestamp-query');
const sorter = await Sorter.create(device);
const { STORAGE, COPY_DST, COPY_SRC, MAP_READ, QUERY_RESOLVE } = GPUBufferUsage;
const buffer = (size, usage) => device.createBuffer({ size, usage });
const stamps = hasTimestamps && {
  queries: device.createQuerySet({ type: 'timestamp', count: 2 }),
  resolved: buffer(16, QUERY_RESOLVE | COPY_SRC),
  staging: buffer(16, MAP_READ | COPY_DST),
};

/** Milliseconds of a sort on the GPU: by timestamps, or until the queue is done. */
async function onGpu(sort) {
  const begin = performance.now();
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass(stamps && {
    timestampWrites: {
      querySet: stamps.queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1,
    },
  });
  for (let i = 0; i < REPEATS; i += 1) {
    sort.recordInPass(pass);
  }
  pass.end();
  if (stamps) {
    encoder.resolveQuerySet(stamps.queries, 0, 2, stamps.resolved, 0);
    encoder.copyBufferToBuffer(stamps.resolved, 0, stamps.staging, 0, 16);
  }
  device.queue.submit([encoder.finish()]);
  await device.queue.onSubmittedWorkDone();
  if (!stamps) {
    return (performance.now() - begin) / REPEATS;
  }
  await stamps.staging.mapAsync(GPUMapMode.READ);
  const [first, last] = new BigUint64Array(stamps.staging.getMappedRange().slice(0));
  stamps.staging.unmap();
  return Number(last - first) / 1e6 / REPEATS;
}

const { vendor, architecture, description } = device.adapterInfo;
console.log(`${[vendor, architecture, description].filter(Boolean).join(' ')}, Node`
  + ` ${process.version}; GPU times by ${hasTimestamps ? 'timestamps' : 'the clock'}\n`);
console.log('| keys | `TypedArray.sort` | `sorter.sort` | argsort of a buffer, on the GPU |');
console.log('|---|---|---|---|');
const powers = process.argv.slice(2).map(Number);
for (const power of powers.length > 0 ? powers : [16, 20, 22, 24]) {
  const length = 2 ** power;
  const random = Float32Array.from({ length }, Math.random);
  const copy = () => random.slice();
  const ofArray = await median(() => timed((keys) => keys.sort(), copy));
  const ofSorter = await median(() => timed((keys) => sorter.sort(keys), copy));
  const keys = buffer(length * 4, STORAGE | COPY_DST);
  const indices = buffer(length * 4, STORAGE);
  device.queue.writeBuffer(keys, 0, random);
  const job = { keys, indices, keepKeys: true, type: 'f32', length };
  const sort = await sorter.prepare(job);
  for (const begin = performance.now(); performance.now() < begin + WARM_UP;) {
    await onGpu(sort);
  }
  const ofBuffer = await median(() => onGpu(sort));
  const times = [ofArray, ofSorter, ofBuffer].map((ms) => `${ms < 100 ? ms.toPrecision(3) : Math.round(ms)} ms`);
  console.log(`| 2^${power} | ${times.join(' | ')} |`);
  sort.dispose();
  keys.destroy();
  indices.destroy();
}
sorter.dispose();
device.destroy();
