/** The demo page: its splats, its race, and what it is without WebGPU. */

import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { initSync, resources } from '../dist/auditor/auditor.js';
import { inPages } from './engines.mjs';

const SMALL = { width: 360, height: 480 };
// No splat moves by itself, so that pictures can be compared.
const STILL = { canvas: true, viewport: SMALL, reducedMotion: 'reduce' };
const PATIENCE = { timeout: 600_000 };
const DEMO = '/demo/index.html';

/** An element by its test id, or the text of it. */
const by = (page, id) => page.getByTestId(id);
const text = (page, id) => by(page, id).textContent();

/** Waits until so many frames have been drawn. */
async function frames(page, count) {
  await page.waitForFunction(
    (least) => Number(document.getElementById('splat-frames').textContent) >= least,
    count,
    PATIENCE,
  );
}

/** Waits until frames that were begun from now on are on the screen. */
async function newFrames(page) {
  await frames(page, Number(await text(page, 'splat-frames')) + 4);
}

/** Goes to the demo after `script` has run in its page. */
async function openAfter(page, script, address) {
  await page.addInitScript(script);
  await page.goto(new URL(address, page.url()).href);
}

/** In the page: counts its buffers that are not destroyed. */
function countBuffers() {
  globalThis.liveBuffers = 0;
  const { createBuffer } = GPUDevice.prototype;
  const { destroy } = GPUBuffer.prototype;
  GPUDevice.prototype.createBuffer = function create(descriptor) {
    globalThis.liveBuffers += 1;
    return createBuffer.call(this, descriptor);
  };
  GPUBuffer.prototype.destroy = function end() {
    globalThis.liveBuffers -= 1;
    destroy.call(this);
  };
}

/** A picture of the splats. */
async function picture(page) {
  const style = '.stage-foot { visibility: hidden; }';
  const png = await by(page, 'splat-canvas').screenshot({ style, ...PATIENCE });
  return png.toString('base64');
}

/** What two pictures have in common: their colours, and the share of pixels that differ. */
async function compare(page, one, other) {
  return page.evaluate(async (encoded) => {
    const [a, b] = await Promise.all(encoded.map(async (png) => {
      const bytes = Uint8Array.from(atob(png), (character) => character.charCodeAt(0));
      const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
      context.drawImage(bitmap, 0, 0);
      return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
    }));
    const colors = new Set();
    let different = 0;
    for (let i = 0; i < a.length; i += 4) {
      colors.add((a[i] << 16) | (a[i + 1] << 8) | a[i + 2]);
      const distance = Math.max(...[0, 1, 2].map((channel) =>
        Math.abs(a[i + channel] - b[i + channel])));
      different += Number(distance > 24);
    }
    return { colors: colors.size, different: different / (a.length / 4) };
  }, [one, other]);
}

/** Sets a slider, whose value is a logarithm. */
async function slide(page, id, count) {
  await by(page, id).evaluate((slider, value) => {
    slider.value = value;
    slider.dispatchEvent(new Event('input'));
  }, Math.log10(count));
}

/** Runs a race to its end, and returns its rows by their names. */
async function race(page, count, type) {
  await slide(page, 'race-n', count);
  await by(page, 'race-type').selectOption(type);
  await by(page, 'race-run').click();
  await page.waitForFunction(
    () => document.getElementById('race-run').textContent === 'Race',
    undefined,
    PATIENCE,
  );
  return Object.fromEntries(await by(page, 'race-results').locator('[data-entry]').evaluateAll(
    (rows) => rows.map(({ dataset, innerText }) => [dataset.entry, { ...dataset, innerText }]),
  ));
}

/** Writes a screenshot to the folder that the variable SCREENSHOTS names, if it does. */
async function screenshot(page, name) {
  const folder = process.env.SCREENSHOTS;
  if (folder) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `${name}-${page.engine}.png`), await page.screenshot(PATIENCE));
  }
}

test('the shader of the splats passes naga, the compiler of Firefox', async () => {
  const [wgsl, module] = await Promise.all([
    readFile(new URL('../demo/splats.wgsl', import.meta.url), 'utf8'),
    readFile(new URL('../dist/auditor/auditor_bg.wasm', import.meta.url)),
  ]);
  initSync({ module });
  const { entries, error } = JSON.parse(resources(JSON.stringify({ wgsl })));
  assert.equal(error, undefined);
  assert.deepEqual(entries.map(({ name }) => name), ['generate', 'project', 'number']);
  assert.deepEqual(entries.map((entry) => entry.error), [null, null, null]);
});

inPages('300 frames draw what is in order, and leave no buffers behind', async (page) => {
  await openAfter(page, countBuffers, `${DEMO}?n=4000&sorter=gpu`);
  const live = () => page.evaluate(() => globalThis.liveBuffers);
  await frames(page, 30);
  const before = await live();
  await frames(page, 330);
  assert.equal(await live(), before);
  assert.match(await text(page, 'splat-ms'), /^\d/);

  for (const count of [6000, 5000, 4000]) {
    await slide(page, 'splat-count', count);
    await page.waitForTimeout(300);
  }
  // Scenes that were replaced are destroyed, once the last one is there.
  await page.waitForFunction((few) => globalThis.liveBuffers === few, before, PATIENCE);
}, { canvas: true, viewport: SMALL, url: '/tests/blank.html' });

inPages('300 frames leave no objects behind', async (page, t) => {
  const heap = await page.heap();
  await frames(page, 30);
  const before = await heap();
  await frames(page, 330);
  const grown = (await heap()) - before;
  t.diagnostic(`${grown} bytes more after 300 frames`);
  assert.ok(grown < 1 << 19, `${grown} bytes more after 300 frames`);
}, {
  canvas: true, viewport: SMALL, url: `${DEMO}?n=4000&sorter=gpu`,
  unable: { firefox: 'WebDriver BiDi tells no size of the heap' },
});

inPages('the order matters, and two sorts agree on it', async (page) => {
  const pictures = {};
  for (const sorter of ['gpu', 'worker', 'none']) {
    await by(page, 'splat-sorter').selectOption(sorter);
    if (sorter === 'worker') {
      await page.waitForFunction(() => /\d/.test(
        document.getElementById('splat-ms').textContent), undefined, PATIENCE);
    }
    await newFrames(page);
    pictures[sorter] = await picture(page);
  }
  const agreed = await compare(page, pictures.gpu, pictures.worker);
  assert.ok(agreed.colors > 2000, `${agreed.colors} colours`);
  assert.ok(agreed.different < 0.01, `${agreed.different} of the pixels differ`);
  const unsorted = await compare(page, pictures.gpu, pictures.none);
  assert.ok(unsorted.different > 0.1, `only ${unsorted.different} of the pixels differ`);
}, { ...STILL, url: `${DEMO}?n=20000&sorter=gpu` });

inPages('splats turn by keys and by dragging, and rest where they are not seen', async (page) => {
  await newFrames(page);
  const first = await picture(page);
  await by(page, 'splat-canvas').focus();
  await page.keyboard.down('ArrowLeft');
  await newFrames(page);
  await page.keyboard.up('ArrowLeft');
  await newFrames(page);
  const turned = await picture(page);
  assert.ok((await compare(page, first, turned)).different > 0.05, 'by the keyboard');

  const { x, y } = await by(page, 'splat-canvas').boundingBox();
  await page.mouse.move(x + 100, y + 100);
  await page.mouse.down();
  await page.mouse.move(x + 200, y + 120, { steps: 4 });
  await page.mouse.up();
  await newFrames(page);
  const dragged = await picture(page);
  assert.ok((await compare(page, turned, dragged)).different > 0.05, 'by the mouse');
  await page.mouse.wheel(0, -400);
  await newFrames(page);
  assert.ok((await compare(page, dragged, await picture(page))).different > 0.05, 'by the wheel');

  await by(page, 'tab-splats').focus();
  await page.keyboard.press('ArrowRight');
  await by(page, 'race-run').waitFor();
  assert.equal(new URL(page.url()).hash, '#race');
  assert.equal(await by(page, 'tab-race').getAttribute('aria-selected'), 'true');
  const drawn = await text(page, 'splat-frames');
  await page.waitForTimeout(500);
  assert.equal(await text(page, 'splat-frames'), drawn);
  await page.goBack();
  await newFrames(page);
}, { ...STILL, url: `${DEMO}?n=5000` });

inPages('a lost device can be replaced', async (page) => {
  await openAfter(page, () => {
    const { requestDevice } = GPUAdapter.prototype;
    GPUAdapter.prototype.requestDevice = async function request(...options) {
      globalThis.device = await requestDevice.apply(this, options);
      return globalThis.device;
    };
  }, `${DEMO}?n=5000`);
  for (const sorter of ['gpu', 'worker']) {
    await by(page, 'splat-sorter').selectOption(sorter);
    await newFrames(page);
    await page.evaluate(() => globalThis.device.destroy());
    await page.getByRole('alert').getByText('The GPU device was lost').waitFor();
    await page.getByRole('button', { name: 'Restart' }).click();
    await newFrames(page);
    assert.ok(await page.getByRole('alert').isHidden());
  }
}, {
  ...STILL, url: '/tests/blank.html',
  unable: { firefox: 'Firefox draws no more once the device of a canvas is destroyed' },
});

inPages('all entries of the race are correct', async (page) => {
  for (const type of ['u32', 'f32', 'i64']) {
    const rows = await race(page, 10_000, type);
    assert.deepEqual(Object.keys(rows), ['array', 'typed', 'sorter', 'resident']);
    for (const { entry, correct, innerText } of Object.values(rows)) {
      assert.equal(correct, 'true', `${type}, ${entry}: ${innerText}`);
    }
    assert.match(await text(page, 'race-status'), /^10,000 keys/);
  }
  const rows = await race(page, 2_500_000, 'u8');
  assert.equal(rows.array.state, 'skipped');
  assert.equal(rows.resident.correct, 'true');
  await screenshot(page, 'race');
}, { url: `${DEMO}#race` });

inPages('a race can be cancelled, and another one begun', async (page) => {
  await slide(page, 'race-n', 2_000_000);
  await by(page, 'race-run').click();
  // (Whichever: on a busy machine one may have ended before it was seen.)
  await page.locator('[data-state="running"]').waitFor();
  await by(page, 'race-run').click();
  await page.waitForFunction(
    () => document.getElementById('race-status').textContent === 'Cancelled.');
  assert.equal(await page.locator('[data-state="running"]').count(), 0);
  const rows = await race(page, 1000, 'u32');
  assert.equal(rows.resident.correct, 'true');
}, { url: `${DEMO}#race` });

for (const [missing, script, words] of [
  ['adapter', () => {}, 'no GPU for it'],
  ['navigator.gpu', () => delete Navigator.prototype.gpu, 'no WebGPU'],
]) {
  inPages(`without ${missing} the page says so, and the race runs on the CPU`, async (page) => {
    await openAfter(page, script, DEMO);
    await by(page, 'no-webgpu').getByText(words).waitFor();
    assert.ok(await by(page, 'splat-canvas').isHidden());
    await screenshot(page, `without-${missing}`);
    await by(page, 'no-webgpu').getByRole('link', { name: 'sort race' }).click();
    const rows = await race(page, 10_000, 'f64');
    assert.equal(rows.typed.correct, 'true');
    assert.equal(rows.array.correct, 'true');
    assert.equal(rows.sorter.state, 'skipped');
    assert.equal(rows.resident.state, 'skipped');
  }, { webgpu: false, url: '/tests/blank.html' });
}

for (const colorScheme of ['light', 'dark']) {
  for (const [size, viewport] of Object.entries({
    narrow: { width: 360, height: 740 },
    wide: { width: 1280, height: 760 },
  })) {
    inPages(`the page fits a ${size} screen, ${colorScheme}`, async (page) => {
      const origin = new URL(page.url()).origin;
      const foreign = [];
      page.on('request', (request) => {
        if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) {
          foreign.push(request.url());
        }
      });
      await page.goto(`${origin}${DEMO}?n=5000`);
      await frames(page, 3);
      await screenshot(page, `splats-${size}-${colorScheme}`);
      await by(page, 'tab-race').click();
      await race(page, 1000, 'f32');
      await screenshot(page, `race-${size}-${colorScheme}`);
      for (const tab of ['splats', 'race']) {
        await by(page, `tab-${tab}`).click();
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= viewport.width, `${tab}: ${wide} pixels`);
      }
      assert.deepEqual(foreign, []);
    }, { canvas: true, viewport, colorScheme, url: '/tests/blank.html' });
  }
}
