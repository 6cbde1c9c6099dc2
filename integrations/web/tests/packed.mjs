/**
 * The tarball as others get it: installed into an empty project, used in Node and in Deno, compiled
 * with TypeScript, and on pages of Vite. Run by pack.sh: `TARBALL=FILE node --test tests/packed.mjs`.
 */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inPages } from './engines.mjs';

const FOLDER = fileURLToPath(new URL('..', import.meta.url));
const TOOLS = join(FOLDER, 'node_modules');
/** A folder of the package's own server, which no tarball contains. */
const BUILT = join(FOLDER, 'dist/tests/packed');
const SWIFTSHADER = '/usr/lib/chromium/vk_swiftshader_icd.json';

let project;

/** Runs a command in the project, with a tool of the development dependencies or without. */
const run = (file, ...words) =>
  promisify(execFile)(file, words, {
    cwd: project,
    env: {
      ...(existsSync(SWIFTSHADER) && { VK_ICD_FILENAMES: SWIFTSHADER }),
      ...process.env,
    },
  }).catch(({ message, stdout }) => assert.fail(`${message}${stdout}`));

const tool = (name, ...words) => run(join(TOOLS, '.bin', name), ...words);

before(async () => {
  project = await mkdtemp(join(tmpdir(), 'bcfsort-packed-'));
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  await run('npm', 'install', '--silent', '--no-audit', '--no-fund', resolve(process.env.TARBALL));
  await cp(join(FOLDER, 'tests/packed'), project, { recursive: true });
});

after(() => rm(project, { recursive: true, force: true }));

test('it is installed alone: it depends on nothing', async () => {
  const all = (await readdir(join(project, 'node_modules'))).filter((name) => name[0] !== '.');
  assert.deepEqual(all, ['wgpu-bcfsort']);
});

for (const [resolution, module] of [['bundler', 'esnext'], ['nodenext', 'nodenext']]) {
  test(`a program in TypeScript compiles, with modules found as '${resolution}' does`, () => tool(
    'tsc', '--noEmit', '--strict', '--target', 'es2022', '--module', module,
    '--moduleResolution', resolution, '--lib', 'es2022,dom', '--types', '', '--ignoreConfig',
    'program.ts',
  ));
}

test('it sorts in Node', async () => {
  await symlink(join(TOOLS, 'webgpu'), join(project, 'node_modules/webgpu'), 'dir');
  const { stdout } = await run(process.execPath, 'program.mjs');
  assert.equal(stdout, '100000 keys are in order\n');
});

test('it sorts in Deno', async () => {
  const { stdout } = await tool(
    'deno', 'run', '--quiet', '--unstable-webgpu', '--allow-read=.', 'program.mjs');
  assert.equal(stdout, '100000 keys are in order\n');
});

async function assertSorts(page) {
  assert.deepEqual(await page.evaluate(() => globalThis.sorted), [1, 2, 3]);
}

let built;
inPages('it sorts on a page that Vite has built', async (page) => {
  built ??= tool(
    'vite', 'build', '--logLevel', 'warn', '--base', './', '--outDir', BUILT, '--emptyOutDir',
  );
  await built;
  await page.goto(new URL('/dist/tests/packed/index.html', page.url()).href);
  await assertSorts(page);
}, { url: '/tests/blank.html' });

inPages("it sorts on a page of Vite's server", async (page) => {
  const server = spawn(join(TOOLS, '.bin/vite'), ['--host', '127.0.0.1', '--port', '0'], {
    cwd: project, env: { ...process.env, NO_COLOR: '1' },
  });
  try {
    const url = await new Promise((found, failed) => {
      let output = '';
      for (const stream of [server.stdout, server.stderr]) {
        stream.on('data', (data) => {
          output += data;
          const [address] = output.match(/http:\/\/127\.0\.0\.1:\d+\//) ?? [];
          if (address) {
            found(address);
          }
        });
      }
      server.on('exit', () => failed(new Error(output)));
    });
    await page.goto(url);
    await assertSorts(page);
  } finally {
    server.kill();
  }
}, { url: '/tests/blank.html' });
