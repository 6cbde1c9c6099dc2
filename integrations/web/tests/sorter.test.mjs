/** The sorter in a page: see cases.js for each case. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { withPage } from './page.mjs';

/** Bytes of the package that a page downloads, compressed. */
const BUDGET = 1_000_000;

/** Runs a case in a page. */
async function run(page, name) {
  await page.evaluate(async (name) => {
    const cases = await import('/tests/cases.js');
    await cases[name]();
  }, name);
}

const CASES = [
  'everyTypeOnAFallbackAdapter', 'everyTypeOnAGpu', 'defaultDevice', 'views',
  'changingArrays', 'jobs', 'found', 'compactions', 'scans', 'topKs', 'merges',
  'particleGrid', 'sharedScratch', 'chunks', 'twoSorters', 'errors', 'lostDevice',
  'destroyedDevice',
];
for (const name of CASES) {
  test(name, () => withPage((page) => run(page, name), { url: '/tests/blank.html' }));
}

test('what is wrong is refused, and the message names it', () =>
  withPage(async (page) => {
    const { wrong, faults } = await page.evaluate(async () => {
      const { wrongCalls } = await import('/tests/wrong-calls.js');
      return wrongCalls(await import('/dist/index.js'));
    });
    assert.deepEqual(faults, []);
    assert.ok(wrong > 1500, `${wrong} calls`);
  }, { url: '/tests/blank.html' }));

test('frames leave no memory behind', () =>
  withPage(async (page) => {
    const session = await page.context().newCDPSession(page);
    const heap = async () => {
      await session.send('HeapProfiler.collectGarbage');
      return (await session.send('Runtime.getHeapUsage')).usedSize;
    };
    await run(page, 'frameLoop');
    const before = await heap();
    await run(page, 'frameLoop');
    const grown = (await heap()) - before;
    assert.ok(grown < 1 << 20, `${grown} bytes more after 300 frames`);
  }, { url: '/tests/blank.html' }));

test('no adapter', () =>
  withPage((page) => run(page, 'noAdapter'), { url: '/tests/blank.html', flags: [] }));

test('what a page downloads is within its budget', async () => {
  const files = [
    'index.js', 'arguments.js', 'errors.js', 'executor.js', 'jobs.js', 'keys.js', 'scratch.js',
    'sorter.js', 'planner/planner.js', 'planner/planner_bg.wasm',
  ];
  const read = files.map((file) => readFile(new URL(`../dist/${file}`, import.meta.url)));
  const sizes = (await Promise.all(read)).map((bytes) => gzipSync(bytes, { level: 9 }).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`${total} bytes, compressed`);
  assert.ok(total <= BUDGET, `${total} bytes`);
});
