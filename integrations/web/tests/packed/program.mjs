/** A program of someone who installed the package, in Node or in Deno, which has WebGPU itself. */

import { Sorter, requestDevice } from 'wgpu-bcfsort';

if (!globalThis.navigator?.gpu) {
  const { create, globals } = await import('webgpu');
  const navigator = { gpu: create([]) };
  Object.assign(globalThis, globals);
  Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true });
}

const sorter = await Sorter.create(await requestDevice());
const keys = Float32Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 100_000);
await sorter.sort(keys);
if (!keys.every((key, i) => key === i)) {
  throw new Error('the keys are not in order');
}
console.log(`${keys.length} keys are in order`);
sorter.dispose();
sorter.device.destroy();
