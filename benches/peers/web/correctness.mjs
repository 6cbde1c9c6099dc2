/**
 * Asks the sorts of others, and ours, for the cases of `cases.js` in Chromium, Firefox and Deno,
 * and writes what they did to benches/results/web-correctness.json:
 *
 *     bash benches/peers/web/fetch                          # the sorts of others
 *     bash integrations/web/build.sh                        # ours, and puppeteer: after 'npm ci'
 *     node benches/peers/web/correctness.mjs [PEER...]      # all, or these
 *     node benches/peers/web/correctness.mjs --table        # what was written, as a table
 *
 * Variables: ENGINES (chromium,firefox,deno), CHROMIUM, FIREFOX, DENO, PATIENCE (seconds that a
 * case may take before it is said to hang; 60). Each case has a page of its own, and a browser that
 * hangs is ended. Without a GPU, Chromium computes by SwiftShader, and the others by lavapipe.
 */

import { execFile, execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CASES } from './cases.js';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const WEB = join(ROOT, 'integrations/web');
const FOLDERS = {
  peers: join(process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target'), 'peers-web'),
  ours: join(WEB, 'dist'),
  own: HERE,
};
const RESULT = join(ROOT, 'benches/results/web-correctness.json');
const PATIENCE = Number(process.env.PATIENCE ?? 60) * 1000;
const HANGS = `no answer in ${PATIENCE / 1000} s`;
const TYPES = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
};
const { default: puppeteer } = await import(
  pathToFileURL(createRequire(join(WEB, 'package.json')).resolve('puppeteer-core')));

async function serve() {
  const server = createServer(async (request, response) => {
    const [, folder, ...path] = new URL(request.url, 'http://localhost').pathname.split('/');
    const file = normalize(join(FOLDERS[folder] ?? HERE, ...path));
    const type = TYPES[extname(file)];
    const found = type && file.startsWith(normalize(FOLDERS[folder] ?? HERE))
      && await stat(file).catch(() => undefined);
    if (!found?.isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': type });
    createReadStream(file).pipe(response);
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return server;
}

const BROWSERS = {
  chromium: {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--no-first-run', '--enable-unsafe-webgpu'],
  },
  firefox: {
    browser: 'firefox',
    executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
    extraPrefsFirefox: { 'dom.webgpu.enabled': true, 'gfx.webgpu.ignore-blocklist': true },
  },
};

/** What a promise gives, or that it hangs. */
function within(promise) {
  let end;
  const hangs = new Promise((answer) => {
    end = setTimeout(() => answer({ verdict: 'hangs', why: HANGS }), PATIENCE);
  });
  return Promise.race([promise, hangs]).finally(() => clearTimeout(end));
}

/** Asks in pages of a browser, which is started anew after one that hung. */
class Pages {
  constructor(name, url) {
    Object.assign(this, { name, url });
  }

  async ask(peer, number) {
    this.browser ??= await puppeteer.launch({ ...BROWSERS[this.name], protocolTimeout: 600_000 });
    this.version ??= await this.browser.version();
    const page = await this.browser.newPage();
    await page.goto(`${this.url}/own/page.html`);
    const asking = page.evaluate(async (peer, number) => {
      const { ask } = await import('/own/ask.js');
      return ask(peer, number);
    }, peer, number).catch((error) => ({ verdict: 'refused', why: error.message }));
    const answer = await within(asking);
    if (answer.verdict === 'hangs') {
      await this.close();
    } else {
      await page.close().catch(() => this.close());
    }
    return answer;
  }

  async close() {
    this.browser?.process()?.kill('SIGKILL');
    await this.browser?.close().catch(() => {});
    this.browser = undefined;
  }
}

class Deno {
  command = process.env.DENO ?? join(WEB, 'node_modules/.bin/deno');

  ask(peer, number) {
    this.version ??= execFileSync(this.command, ['--version'], { encoding: 'utf8' }).split(' (')[0];
    const code = `
      globalThis.PEERS_URL = ${JSON.stringify(`${pathToFileURL(FOLDERS.peers)}/`)};
      globalThis.OURS_URL = ${JSON.stringify(`${pathToFileURL(FOLDERS.ours)}/`)};
      const { ask } = await import(${JSON.stringify(pathToFileURL(join(HERE, 'ask.js')).href)});
      const answer = await ask(${JSON.stringify(peer)}, ${number});
      console.log('\\n' + JSON.stringify(answer));
      Deno.exit();`;
    const words = ['eval', '--quiet', '--no-lock', '--unstable-webgpu', '--ext=mjs', code];
    return new Promise((answer) => {
      execFile(this.command, words, { timeout: PATIENCE, killSignal: 'SIGKILL' },
        (error, stdout, stderr) => {
          if (error?.killed) {
            answer({ verdict: 'hangs', why: HANGS });
            return;
          }
          try {
            answer(JSON.parse(stdout.trim().split('\n').at(-1)));
          } catch {
            answer({ verdict: 'refused', why: stderr.trim().split('\n')[0] });
          }
        });
    });
  }

  async close() {}
}

/** The table of README.md, in Markdown. */
async function table() {
  const { rows } = JSON.parse(await readFile(RESULT, 'utf8'));
  const names = [...new Set(rows.map(({ peer }) => peer))];
  const print = (cells) => console.log(`| ${cells.join(' | ')} |`);
  print(['', ...names]);
  print(['---', ...names.map(() => '---')]);
  for (const asked of CASES) {
    const cell = (name) => {
      const answers = rows.filter(({ peer, case: of, verdict }) =>
        peer === name && of === asked.name && verdict !== 'needs a page');
      const verdicts = [...new Set(answers.map(({ verdict }) => verdict))];
      if (verdicts.length === 1) {
        return verdicts[0] === 'not offered' ? '' : verdicts[0];
      }
      return verdicts.map((of) => {
        const engines = answers.filter(({ verdict }) => verdict === of);
        return `${of} (${engines.map(({ engine }) => engine).join(', ')})`;
      }).join(', ');
    };
    print([asked.name, ...names.map(cell)]);
  }
}

async function versions() {
  const of = async (folder) =>
    JSON.parse(await readFile(join(FOLDERS.peers, folder, 'package.json'), 'utf8')).version;
  const { version } = JSON.parse(await readFile(join(WEB, 'package.json'), 'utf8'));
  const three = await of('node_modules/three');
  const commit = (folder) => execFileSync(
    'git', ['-C', join(FOLDERS.peers, folder), 'rev-parse', '--short', 'HEAD'],
    { encoding: 'utf8' }).trim();
  return {
    'wgpu-bcfsort': version,
    'webgpu-radix-sort': `${await of('webgpu-radix-sort')}, ${commit('webgpu-radix-sort')}`,
    gridwise: `${await of('gridwise')}, ${commit('gridwise')}`,
    'three BitonicSort': three,
    'three CountingSort': three,
    'PlayCanvas ComputeRadixSort': await of('node_modules/playcanvas'),
  };
}

if (process.argv.includes('--table')) {
  await table();
  process.exit();
}
globalThis.location ??= new URL('http://localhost/');
const { peers } = await import('./peers.js');
const server = await serve();
const url = `http://127.0.0.1:${server.address().port}`;
const wanted = process.argv.slice(2);
const engines = (process.env.ENGINES ?? 'chromium,firefox,deno').split(',');
const all = await versions();
const rows = [];
const of = {};
for (const name of engines) {
  const engine = name === 'deno' ? new Deno() : new Pages(name, url);
  for (const [peer, { needsPage, offers }] of Object.entries(peers)) {
    if (wanted.length > 0 && !wanted.includes(peer)) {
      continue;
    }
    for (const [number, asked] of CASES.entries()) {
      let answer;
      if (!offers(asked)) {
        answer = { verdict: 'not offered' };
      } else if (needsPage && name === 'deno') {
        answer = { verdict: 'needs a page' };
      } else {
        answer = await engine.ask(peer, number);
      }
      if (answer.why) {
        [answer.why] = answer.why.trim().split('\n');
      }
      rows.push({ engine: name, peer, case: asked.name, ...answer });
      console.error([name, peer, asked.name, answer.verdict,
        answer.why ?? answer.seconds ?? ''].join(' | '));
    }
    // (Nothing of one sort is left to the next one.)
    await engine.close();
  }
  of[name] = engine.version;
}
server.close();
const date = new Date().toISOString().slice(0, 10);
await writeFile(RESULT, `${JSON.stringify({ date, engines: of, versions: all, rows }, null, 1)}\n`);
process.exit();
