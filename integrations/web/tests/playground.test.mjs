/** The auditor: its lessons, its inputs, and what it does where a shader is wrong or never ends. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inPages } from './engines.mjs';

const AUDITOR = '/demo/index.html#auditor';
const MANIFEST = fileURLToPath(new URL('../../../Cargo.toml', import.meta.url));
const PATIENCE = { timeout: 120_000 };

/** An element by its test id, or the text of it. */
const by = (page, id) => page.getByTestId(id);
const text = (page, id) => by(page, id).textContent();
const status = (page) => text(page, 'audit-status');

/** Defines a test of the auditor, once its first lesson has run. */
function inAuditor(name, callback, options = {}) {
  inPages(name, async (page) => {
    await by(page, 'audit-status').waitFor();
    await finished(page);
    await callback(page);
  }, { webgpu: false, url: AUDITOR, ...options });
}

/** Waits until the run is over, and returns what the status line says of it. */
async function finished(page) {
  await page.waitForFunction(() => (
    !/^(running|$)/.test(document.querySelector('[data-testid="audit-status"]').textContent)
  ), undefined, PATIENCE);
  return status(page);
}

/** Clicks on a button that runs something, and waits for the end. */
async function click(page, id) {
  await by(page, id).click();
  return finished(page);
}

/** Runs a shader. */
async function run(page, wgsl) {
  await by(page, 'audit-source').fill(wgsl);
  return click(page, 'audit-run');
}

/** Makes this tab one that had no shader open, from its next page on. */
function forget(page) {
  return page.evaluate(() => addEventListener('pagehide', () => sessionStorage.clear()));
}

/** Waits for the fields of a shader that was written, but not run. */
async function write(page, wgsl, field) {
  await by(page, 'audit-source').fill(wgsl);
  await by(page, field).waitFor();
}

const report = async (page) => JSON.parse(await text(page, 'audit-json'));

/** The rules of the findings, with their lines. */
function findings(page) {
  return by(page, 'audit-findings').locator('[data-rule]').evaluateAll(
    (items) => items.map(({ dataset }) => `${dataset.rule}:${dataset.line}`),
  );
}

/** What the gutter says of the lines with a degree: their numbers and degrees. */
function degrees(page) {
  return page.locator('.au-gutter > div').evaluateAll((lines) => Object.fromEntries(lines
    .map((line, i) => [i + 1, line.querySelector('.au-degree').textContent])
    .filter(([, degree]) => degree !== '')));
}

/** The JSON that the command prints for the shader and the inputs of the page's last run. */
async function command(page) {
  // (None of the words in these tests is quoted.)
  const [name, ...words] = (await text(page, 'audit-command')).split(' ');
  assert.equal(name, 'wgsl-audit');
  const folder = await mkdtemp(join(tmpdir(), 'auditor-'));
  try {
    await writeFile(join(folder, 'shader.wgsl'), await by(page, 'audit-source').inputValue());
    const args = [
      'run', '--quiet', '--locked', '--manifest-path', MANIFEST, '--package', 'wgsl-lockstep',
      '--features', 'cli', '--bin', 'wgsl-audit', '--', ...words, '--json',
    ];
    const { stdout } = await promisify(execFile)('cargo', args, { cwd: folder })
      // (1 is the exit code of an audit that found failures.)
      .catch((error) => (error.code === 1 && error.stdout ? error : Promise.reject(error)));
    return JSON.parse(stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Checks that the page's report is the command's, but for the time that it took. */
async function assertSameAsCommand(page) {
  const untimed = ({ seconds, lane_instructions_per_second: rate, ...rest }) => {
    assert.ok(seconds >= 0 && rate >= 0);
    return rest;
  };
  assert.deepEqual(untimed(await report(page)), untimed(await command(page)));
}

const LESSONS = [
  {
    id: 'transpose',
    faulty: { findings: ['bank-conflict:17'], degrees: { 13: '1', 17: '32' }, cycles: 32 },
    fixed: { degrees: { 13: '1', 17: '1' } },
  },
  {
    id: 'scan',
    faulty: {
      findings: [24, 40, 41, 42].map((line) => `bank-conflict:${line}`),
      degrees: {
        16: '1', 17: '1', 24: '16', 30: '1', 40: '16', 41: '16', 42: '16', 47: '1', 48: '1',
      },
      cycles: 16,
    },
    fixed: {
      degrees: {
        16: '1', 17: '1', 24: '1', 30: '1', 40: '1', 41: '1', 42: '1', 47: '1', 48: '1',
      },
    },
  },
  {
    id: 'matrix',
    faulty: {
      findings: ['bank-conflict:30'],
      degrees: { 17: '1', 24: '1', 30: '32', 35: '1' },
      cycles: 32,
    },
    fixed: { degrees: { 17: '1', 25: '1', 31: '1', 36: '1' } },
  },
  {
    id: 'race',
    faulty: { findings: ['race:9'], degrees: { 8: '1', 9: '1' }, cycles: 1 },
    fixed: { degrees: { 8: '1', 10: '1' } },
  },
];

for (const { id, faulty, fixed } of LESSONS) {
  inAuditor(`the lesson '${id}' has a fault, and its fix has none`, async (page) => {
    assert.match(await click(page, `lesson-${id}`), /^done/);
    assert.deepEqual(await findings(page), faulty.findings);
    assert.deepEqual(await degrees(page), faulty.degrees);
    const { kernels: [{ workgroup, sites }] } = await report(page);
    const most = Math.max(...Object.values(faulty.degrees).map(Number));
    assert.equal(workgroup.max_degree, most);
    // A row for each access to workgroup memory, with a cell for each bank.
    const banked = sites.filter(({ space }) => space === 'workgroup');
    const cells = by(page, 'audit-banks').locator('tbody td');
    assert.deepEqual(
      await cells.evaluateAll((all) => all.map((cell) => Number(cell.innerText || 1))),
      banked.flatMap((site) => site.bank_degrees.map((degree) => Math.max(degree, 1))),
    );
    assert.equal(await by(page, 'audit-worst').locator('tbody tr').count(), faulty.cycles);
    assert.equal(
      await by(page, 'audit-sites').locator('tbody tr').count(),
      sites.length,
    );
    await assertSameAsCommand(page);

    const about = await text(page, 'lesson-about');
    assert.match(await click(page, 'lesson-fix'), /^done: degree 1; nothing found/);
    assert.notEqual(await text(page, 'lesson-about'), about);
    assert.deepEqual(await findings(page), []);
    assert.deepEqual(await degrees(page), fixed.degrees);
    assert.equal(await by(page, 'audit-worst').locator('tbody tr').count(), 1);
    await assertSameAsCommand(page);

    // And back.
    await click(page, 'lesson-fix');
    assert.deepEqual(await findings(page), faulty.findings);
  });
}

inAuditor('a row of the banks shows its access, and a finding its line', async (page) => {
  const rows = by(page, 'audit-banks').locator('tbody tr');
  assert.equal(await rows.nth(1).getAttribute('class'), 'chosen');
  await rows.nth(0).getByRole('button').click();
  assert.equal(await rows.nth(0).getAttribute('class'), 'chosen');
  assert.match(await text(page, 'audit-worst'), /13:9, a store of tile, takes 1 cycle/);
  const selected = page.locator('.au-text .selected');
  assert.match((await selected.allTextContents()).join(''), /^tile\[row \* ROW \+ lane.x\]/);
  await by(page, 'audit-findings').getByRole('button', { name: 'line 17' }).click();
  assert.match((await selected.allTextContents()).join(''), /^tile\[lane.x \* ROW \+ row\]/);
});

inAuditor('all inputs reach the report', async (page) => {
  const wgsl = `override STEP = 1u;
    @group(0) @binding(0) var<uniform> size: u32;
    @group(1) @binding(2) var<storage, read_write> data: array<u32>;
    var<workgroup> tile: array<u32, 512>;
    @compute @workgroup_size(64)
    fn first() { data[0] = 1u; }
    @compute @workgroup_size(64)
    fn second(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) id: vec3u) {
      tile[lane * STEP] = data[lane * id.x];
      if lane < size { data[id.x + id.y] += tile[lane * STEP]; }
    }`;
  await write(page, wgsl, 'audit-fill-1.2');
  await by(page, 'audit-entry').selectOption('second');
  await by(page, 'audit-workgroups-x').fill('3');
  await by(page, 'audit-workgroups-y').fill('2');
  await by(page, 'audit-fill-0.0').selectOption('words');
  await by(page, 'audit-words-0.0').fill('0x5');
  await by(page, 'audit-fill-1.2').selectOption('random');
  await by(page, 'audit-size-1.2').fill('100');
  await page.locator('[data-override="STEP"]').fill('2^2');
  await page.getByText('Hardware and limits').click();
  await by(page, 'audit-warp').selectOption('64');
  await by(page, 'audit-bank-count').fill('16');
  await by(page, 'audit-max-degree').fill('2');
  await by(page, 'audit-seed').fill('7');
  await by(page, 'audit-max-iterations').fill('1000');
  await by(page, 'audit-max-lane-instructions').fill('1000000');
  assert.match(await click(page, 'audit-run'), /^done: degree 4; \d failures/);
  const { entry, dispatched, buffers, config } = await report(page);
  assert.equal(entry, 'second');
  assert.deepEqual(dispatched, [3, 2, 1]);
  assert.deepEqual(buffers.map(({ contents }) => contents), ['words:5', 'random:100']);
  assert.deepEqual(config, {
    warp: 64, banks: 16, max_iterations: 1000, max_lane_instructions: 1_000_000,
  });
  await assertSameAsCommand(page);
  assert.ok((await findings(page)).some((finding) => finding.startsWith('race:')));
  // The advice names fields of the page, and no options of the command.
  assert.doesNotMatch(await text(page, 'audit-findings'), /--\w/);

  // A buffer that is not given has the command's contents, and edits are of no effect until then.
  await by(page, 'audit-fill-1.2').selectOption('');
  await by(page, 'audit-source').press('Control+Enter');
  await finished(page);
  assert.equal((await report(page)).buffers[1].contents, 'random:4096');
  await assertSameAsCommand(page);
});

inAuditor('a shader that is wrong shows its line', async (page) => {
  const found = await run(page, 'fn main() {\n  let grün = "ä";\n  let x = ;\n}');
  assert.match(found, /^error: line 2:1[45]: /);
  assert.match(await text(page, 'audit-problem'), /shader\.wgsl:2:1/);
  assert.ok(await page.locator('.au-gutter > div').nth(1).locator('.failure').isVisible());
  assert.ok(await by(page, 'audit-json').isHidden());

  assert.match(await run(page, ''), /^error: no compute entry point/);
  const graphics = '@vertex fn vs() -> @builtin(position) vec4f { return vec4f(); }';
  assert.match(await run(page, graphics), /the shader has: none that computes$/);
  const deep = `@compute @workgroup_size(1) fn main() {\nlet x = ${'!'.repeat(9999)}true; }`;
  assert.match(await run(page, deep), /^error: line 2:/);
  const sums = Array.from({ length: 9999 }, (_, i) => `const A${9999 - i} = A${9998 - i} + 1;`);
  const chain = `${sums.join(' ')} const A0 = 1;
    @compute @workgroup_size(1) fn main() { var x = A9999; }`;
  assert.match(await run(page, chain), /^error: the auditor broke off: the shader is nested/);
  const huge = '@group(0) @binding(0) var<storage, read_write> data: array<u32, 0x10000000>;\n'
    + '@compute @workgroup_size(1) fn main() { data[0] = 1u; }';
  assert.match(await run(page, huge), /^error: .* at most 512 MiB are allowed/);
  const needed = 'override LANES: u32; @compute @workgroup_size(LANES) fn main() { }';
  assert.match(await run(page, needed), /^error: the override 'LANES' has no default/);
  await page.locator('[data-override="LANES"]').fill('many');
  // (Headless Firefox may miss the button with a click that ends the edit of a field.)
  await page.locator('[data-override="LANES"]').blur();
  assert.match(await click(page, 'audit-run'), /^error: override LANES: 'many' is not a number/);

  assert.match(await click(page, 'lesson-transpose'), /^done: degree 32/);
});

inAuditor('a loop without end is stopped', async (page) => {
  const endless = '@compute @workgroup_size(32)\nfn main() {\n  loop { }\n}';
  assert.match(await run(page, endless), /^done: 1 failure/);
  assert.deepEqual(await findings(page), ['runaway-loop:3']);
  await assertSameAsCommand(page);

  // One that ends, but after minutes.
  await page.getByText('Hardware and limits').click();
  await by(page, 'audit-max-iterations').fill(String(2 ** 24));
  await by(page, 'audit-max-lane-instructions').fill(String(2 ** 34));
  await by(page, 'audit-source').fill(`@group(0) @binding(0) var<storage, read_write> sum: u32;
    @compute @workgroup_size(1) fn main() {
      for (var i = 0u; i < 1000000000u; i++) { for (var j = 0u; j < 100000u; j++) { sum += j; } }
    }`);
  await by(page, 'audit-run').click();
  await page.waitForTimeout(1000);
  assert.match(await status(page), /^running/);
  assert.match(await click(page, 'audit-stop'), /^stopped/);
  assert.ok(await by(page, 'audit-stop').isDisabled());
  assert.match(await click(page, 'lesson-scan'), /^done: degree 16/);
  // A lesson that is opened during a run ends it.
  await by(page, 'lesson-race').click();
  assert.match(await click(page, 'lesson-matrix'), /^done: degree 32/);
});

inAuditor('a link has the shader and its inputs', async (page) => {
  const wgsl = `// Ein Schlüssel: 鍵
    override LANES: u32;
    @group(0) @binding(0) var<storage, read_write> data: array<u32>;
    @compute @workgroup_size(LANES)
    fn main(@builtin(local_invocation_index) i: u32) { data[i] = i; }`;
  await by(page, 'audit-source').fill(wgsl);
  await page.locator('[data-override="LANES"]').fill('8');
  await page.locator('[data-override="LANES"]').blur();
  await by(page, 'audit-fill-0.0').selectOption('zero');
  await by(page, 'audit-size-0.0').fill('5');
  await by(page, 'audit-share').click();
  await page.waitForURL(/#auditor\?shader=/);
  const link = page.url();
  // Another visitor opens it.
  await forget(page);
  await page.goto('about:blank');
  await page.goto(link);
  await page.getByText('came with the link').waitFor();
  assert.equal(await by(page, 'audit-source').inputValue(), wgsl);
  assert.match(await click(page, 'audit-run'), /^done: 1 failure/);
  const { buffers: [{ contents }], workgroup_size: [lanes] } = await report(page);
  assert.deepEqual([contents, lanes], ['zero:5', 8]);

  await page.goto('about:blank');
  await page.goto(`${link.slice(0, -9)}x`);
  await page.getByText('The link is damaged').waitFor();
  await page.goto('about:blank');
  await page.goto(link.replace(/\?.*/, '?lesson=scan'));
  await page.getByText('degree 16').first().waitFor();
});

const OWN = `// Mine.
  @group(0) @binding(0) var<storage, read_write> data: array<u32>;
  @compute @workgroup_size(8)
  fn main(@builtin(local_invocation_index) i: u32) { data[i] = i; }`;

inAuditor('what a visitor typed is not lost, and is no lesson', async (page) => {
  const source = by(page, 'audit-source');
  const isLesson = async () => [
    await by(page, 'lesson-fix').isVisible(),
    await page.locator('[data-testid^=lesson-][aria-pressed=true]').count() > 0,
  ];
  const type = async (wgsl) => {
    await source.press('ControlOrMeta+a');
    await page.keyboard.insertText(wgsl);
  };
  await type(OWN);
  assert.deepEqual(await isLesson(), [false, false]);
  assert.match(await text(page, 'lesson-about'), /^Your own shader/);
  // The fields of the lesson go when the text is listed.
  await page.getByText('of 8 lanes').waitFor();
  await by(page, 'audit-fill-0.0').selectOption('zero');
  await by(page, 'audit-size-0.0').fill('5');
  assert.match(await click(page, 'audit-run'), /^done: 1 failure/);
  assert.equal(await page.locator('.au-before').count(), 0, 'figures of the lesson');

  // A lesson, and what undoes it.
  await click(page, 'lesson-scan');
  assert.deepEqual(await isLesson(), [true, true]);
  await source.press('ControlOrMeta+z');
  assert.equal(await source.inputValue(), OWN);
  assert.deepEqual(await isLesson(), [false, false]);
  await by(page, 'audit-fill-0.0').waitFor();
  await click(page, 'audit-run');
  assert.equal((await report(page)).buffers[0].contents, 'zero:5');
  await source.press('ControlOrMeta+Shift+z');
  assert.deepEqual(await isLesson(), [true, true]);

  // A lesson that was edited, and undone.
  await source.press('ControlOrMeta+a');
  await source.press('x');
  assert.deepEqual(await isLesson(), [false, false]);
  await source.press('ControlOrMeta+z');
  assert.deepEqual(await isLesson(), [true, true]);

  await by(page, 'draft-select').selectOption({ label: '// Mine.' });
  assert.equal(await source.inputValue(), OWN);
  await page.keyboard.insertText('// More.\n');
  await page.reload();
  await page.getByText('as you left it').waitFor();
  const more = await source.inputValue();
  assert.ok(more.includes('// More.') && more.includes('data[i] = i'), more);
  await click(page, 'audit-run');
  assert.equal((await report(page)).buffers[0].contents, 'zero:5');
  // Another tab begins with a lesson, and has the draft, too.
  await forget(page);
  const url = page.url();
  await page.goto('about:blank');
  await page.goto(url);
  await by(page, 'audit-status').waitFor();
  await finished(page);
  assert.match(await status(page), /^done: degree 32/);
  assert.ok((await text(page, 'draft-select')).includes('// M'));
});

inAuditor('a workgroup beyond the default limits is told', async (page) => {
  await run(page, '@compute @workgroup_size(32, 32) fn main() { }');
  assert.match(await text(page, 'audit-too-large'), /^A workgroup of 32 × 32 × 1 lanes/);
  await run(page, '@compute @workgroup_size(16, 16) fn main() { }');
  assert.equal(await by(page, 'audit-too-large').count(), 0);
});

inAuditor('Tab indents, and leaves the text after Escape', async (page) => {
  const source = by(page, 'audit-source');
  await source.fill('');
  await source.press('Tab');
  assert.equal(await source.inputValue(), '    ');
  await source.press('Escape');
  await source.press('Tab');
  assert.equal(await source.evaluate((area) => document.activeElement === area), false);
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [360, 800, 1440]) {
    inAuditor(`the page is no wider than ${width} pixels, ${colorScheme}`, async (page) => {
      for (const id of ['transpose', 'scan', 'matrix', 'race']) {
        await click(page, `lesson-${id}`);
        const [inside, room] = await page.evaluate(() => [
          document.documentElement.scrollWidth, document.documentElement.clientWidth,
        ]);
        // (Without a scroll bar, which Firefox has.)
        assert.equal(inside, room);
      }
    }, { viewport: { width, height: 800 }, colorScheme });
  }
}
