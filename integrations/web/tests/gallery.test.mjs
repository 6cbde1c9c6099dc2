/** The README's pictures: tests of examples/ make some, and those of the demo are made here. */

import assert from 'node:assert/strict';
import { readFile, readdir, stat } from 'node:fs/promises';
import test from 'node:test';
import { inPages } from './engines.mjs';
import { MOST, PICTURES, still } from './gallery.mjs';

const PATIENCE = { timeout: 600_000 };
/** Of pictures, every pixel counts: they are drawn small. */
const view = (width, height, deviceScaleFactor) => ({
  canvas: true, viewport: { width, height, deviceScaleFactor }, reducedMotion: 'reduce',
});

test('the README shows the pictures that there are, and they are small', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const shown = [...readme.matchAll(/\(pictures\/(\w+\.png)\)/g)].map(([, name]) => name);
  const names = await readdir(PICTURES);
  assert.deepEqual(shown.sort(), names.sort());
  const sizes = await Promise.all(names.map(async (name) =>
    (await stat(new URL(name, PICTURES))).size));
  assert.ok(Math.max(...sizes) <= MOST, `bytes: ${sizes}`);
});

if (process.env.GALLERY) {
  inPages('a picture of the splats', async (page) => {
    await page.waitForFunction(
      () => Number(document.getElementById('splat-frames').textContent) > 8, undefined, PATIENCE);
    const style = '.stage-foot { visibility: hidden; }';
    await still(page, 'splats', { place: page.locator('.stage'), style });
  }, { ...view(380, 640, 0.6), url: '/demo/index.html?n=50000' });

  inPages('a picture of the race', async (page) => {
    await page.getByTestId('race-run').click();
    await page.waitForFunction(
      () => document.querySelectorAll('[data-entry][data-correct="true"]').length === 4
        && document.getElementById('race-run').textContent === 'Race', undefined, PATIENCE);
    await still(page, 'race', { place: page.locator('.results') });
  }, { ...view(740, 640, 0.65), url: '/demo/index.html#race' });

  inPages('a picture of the auditor', async (page) => {
    await page.waitForFunction(() => /^(?!running).+/.test(
      document.querySelector('[data-testid="audit-status"]').textContent), undefined, PATIENCE);
    await still(page, 'auditor', { place: page.locator('.au-editor') });
  }, { ...view(640, 640, 0.65), url: '/demo/index.html#auditor' });
}
