/** The sorter in each engine: see cases.js for each case. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { inEngines, inPages } from './engines.mjs';

/** Bytes of the package that a page downloads, compressed. */
const BUDGET = 1_000_000;

const CASES = [
  'everyTypeOnAFallbackAdapter', 'everyTypeOnAGpu', 'defaultDevice', 'maxLength', 'views',
  'changingArrays', 'jobs', 'found', 'compactions', 'scans', 'topKs', 'merges',
  'particleGrid', 'sharedScratch', 'chunks', 'twoSorters', 'errors', 'lostDevice',
  'destroyedDevice', 'frameLoop',
];
for (const name of CASES) {
  inEngines(name, (engine) => engine.call('/tests/cases.js', name));
}

inEngines('what is wrong is refused, and the message names it', async (engine) => {
  const { wrong, faults } = await engine.call('/tests/wrong-calls.js', 'wrongCalls');
  assert.deepEqual(faults, []);
  assert.ok(wrong > 1500, `${wrong} calls`);
});

inEngines('no adapter', (engine) =>
  engine.call('/tests/cases.js', 'noAdapter', { webgpu: false }));

inPages('frames leave no memory behind', async (page) => {
  const frames = () => page.evaluate(async () => {
    const cases = await import('/tests/cases.js');
    await cases.frameLoop();
  });
  const heap = await page.heap();
  await frames();
  const before = await heap();
  await frames();
  const grown = (await heap()) - before;
  assert.ok(grown < 1 << 20, `${grown} bytes more after 300 frames`);
}, { url: '/tests/blank.html', unable: { firefox: 'WebDriver BiDi tells no size of the heap' } });

test('what a page downloads is within its budget', async () => {
  const files = [
    'index.js', 'arguments.js', 'errors.js', 'executor.js', 'jobs.js', 'keys.js', 'scratch.js',
    'sorter.js', 'splats.js', 'planner/planner.js', 'planner/planner_bg.wasm',
  ];
  const read = files.map((file) => readFile(new URL(`../dist/${file}`, import.meta.url)));
  const sizes = (await Promise.all(read)).map((bytes) => gzipSync(bytes, { level: 9 }).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`${total} bytes, compressed`);
  assert.ok(total <= BUDGET, `${total} bytes`);
});
