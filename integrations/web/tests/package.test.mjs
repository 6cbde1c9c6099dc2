/** The package as others use it: compiled with TypeScript, and bundled. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inPages } from './engines.mjs';

const FOLDER = fileURLToPath(new URL('..', import.meta.url));
const MADE = new URL('../dist/tests/', import.meta.url);

/** Runs a command of the development dependencies. */
const command = (name, ...words) =>
  promisify(execFile)(`node_modules/.bin/${name}`, words, { cwd: FOLDER })
    .catch(({ stdout, stderr }) => assert.fail(`${name}: ${stdout}${stderr}`));

/** What the examples of the README use without saying where it comes from. */
const GIVEN = `
declare const keys: Uint32Array;
declare const names: string[];
declare const scores: Float32Array;
declare const depths: GPUBuffer;
declare const order: GPUBuffer;
declare const visible: GPUBuffer;
declare const encoder: GPUCommandEncoder;
declare const cellOfEach: GPUBuffer;
declare const table: GPUBuffer;
declare const pairs: GPUBuffer;
declare const begins: GPUBuffer;
declare const busyCount: GPUBuffer;
declare const busyCells: GPUBuffer;
declare const candidates: GPUBuffer;
declare const best: GPUBuffer;
declare const particles: GPUBuffer;
declare const viewProjection: GPUBuffer;
declare const pass: GPURenderPassEncoder;
declare const countPairs: (encoder: GPUCommandEncoder) => void;
`;

test('programs in TypeScript compile, the examples of the README among them', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const examples = [...readme.matchAll(/^```[jt]s\n(.*?)^```/gms)].map(([, text]) => text);
  assert.equal(examples.length, 6);
  await mkdir(MADE, { recursive: true });
  const [bundlers, ...others] = examples;
  await writeFile(new URL('bundlers.ts', MADE), bundlers);
  await writeFile(new URL('readme.ts', MADE), others.join('\n') + GIVEN);
  await command(
    'tsc', '--noEmit', '--strict', '--target', 'es2022', '--module', 'esnext',
    '--moduleResolution', 'bundler', '--lib', 'es2022,dom', '--types', '', '--ignoreConfig',
    'dist/tests/bundlers.ts', 'dist/tests/readme.ts', 'tests/consumer.ts',
  );
});

/** The bundle, made once. */
let bundled;
const bundle = () => bundled ??= (async () => {
  await mkdir(MADE, { recursive: true });
  await writeFile(new URL('app.js', MADE), `
    import { Sorter, requestDevice } from 'wgpu-bcfsort';
    import wasm from 'wgpu-bcfsort/planner.wasm';
    const address = new URL(wasm, import.meta.url);
    const sorter = await Sorter.create(await requestDevice(), { wasm: address });
    globalThis.sorted = await sorter.sort(Uint32Array.of(3, 1, 2));
  `);
  await command(
    'esbuild', 'dist/tests/app.js', '--bundle', '--format=esm', '--loader:.wasm=file',
    '--log-level=warning', '--outdir=dist/tests/bundle',
  );
})();

inPages('a bundle of esbuild sorts', async (page) => {
  await bundle();
  const sorted = await page.evaluate(async () => {
    await import('/dist/tests/bundle/app.js');
    return [...globalThis.sorted];
  });
  assert.deepEqual(sorted, [1, 2, 3]);
}, { url: '/tests/blank.html' });
