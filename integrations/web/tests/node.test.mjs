/** The package in Node, on the WebGPU of the package `webgpu`. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import test from 'node:test';
import { wrongCalls } from './wrong-calls.js';

// Debian's Chromium brings a Vulkan driver in software that Dawn accepts.
const SWIFTSHADER = '/usr/lib/chromium/vk_swiftshader_icd.json';
if (existsSync(SWIFTSHADER)) {
  process.env.VK_ICD_FILENAMES ??= SWIFTSHADER;
}

const { create, globals } = await import('webgpu');
Object.assign(globalThis, globals);
const navigator = { gpu: create([]) };
Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true });

test('sorts in Node', async () => {
  const { Sorter, requestDevice } = await import('../dist/index.js');
  const sorter = await Sorter.create(await requestDevice());
  const keys = Float64Array.from({ length: 3000 }, (_, i) => ((i * 7919) % 3000) - 1500);
  const expected = keys.slice().sort();
  assert.equal(await sorter.sort(keys), keys);
  assert.deepEqual(keys, expected);
  const { values, indices } = await sorter.topk(Uint8Array.of(5, 9, 2), 2);
  assert.deepEqual([...values, ...indices], [9, 5, 1, 0]);
  sorter.dispose();
  sorter.device.destroy();
});

test('what is wrong is refused in Node, too', async () => {
  const { wrong, faults } = await wrongCalls();
  assert.deepEqual(faults, []);
  assert.ok(wrong > 1500, `${wrong} calls`);
});
