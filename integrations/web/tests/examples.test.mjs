/** The pages of examples/: three.js, Babylon.js, PlayCanvas, and particles in a grid. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { before } from 'node:test';
import { inPages } from './engines.mjs';
import { still } from './gallery.mjs';

const INSTALLED = new URL('../examples/node_modules', import.meta.url);
/** Few points, as software draws them; more in pictures. */
const POINTS = process.env.GALLERY ? 60_000 : 10_000;
const VIEW = { canvas: true, viewport: { width: 320, height: 200 }, reducedMotion: 'reduce' };

before(() => assert.ok(existsSync(INSTALLED), "the engines are missing: 'npm ci' in examples/"));

/** Waits for the check of a page, and returns its result. */
async function result(page) {
  await page.waitForFunction(
    () => globalThis.result && (globalThis.result.error || globalThis.frames >= 5),
    undefined, { timeout: 600_000 });
  const found = await page.evaluate(() => globalThis.result);
  assert.equal(found.error, undefined);
  return found;
}

/** Fails if a page shows next to nothing. */
async function isPainted(page, picture) {
  const colors = await page.evaluate(async (png) => {
    const bytes = Uint8Array.from(atob(png), (character) => character.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
    return new Set(new Uint32Array(data.buffer)).size;
  }, picture.toString('base64'));
  assert.ok(colors > 1000, `${colors} colours`);
}

for (const [name, title, unable] of [
  ['three', 'three.js'],
  ['babylon', 'Babylon.js', {
    firefox: "an error of Babylon's own is on the console: naga has no texture_external, of which "
      + 'its shader for videos is made',
  }],
  ['playcanvas', 'PlayCanvas'],
]) {
  inPages(`points of ${title} are drawn back to front`, async (page) => {
    const { right, length, drawn, before: unsorted, ...found } = await result(page);
    assert.ok(right, JSON.stringify(found));
    assert.ok(drawn > 0.9 * length && drawn < length, `${drawn} are drawn`);
    assert.ok(unsorted > 0.4 * length, 'they are in order without a sort, too');
    await isPainted(page, await still(page, name));
  }, { ...VIEW, url: `/examples/${name}.html?n=${POINTS}`, unable });
}

inPages('particles in a grid have the neighbours that they have', async (page) => {
  const { right, length, pairs, wrong } = await result(page);
  assert.ok(right, `${wrong} numbers are wrong`);
  assert.ok(pairs > length);
  await still(page, 'grid');
}, { ...VIEW, url: '/examples/grid.html?n=4000' });
