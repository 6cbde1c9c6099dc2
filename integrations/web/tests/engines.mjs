/**
 * The engines that tests run in: Chromium, Firefox and Deno, or those that the variable ENGINES
 * names, such as `ENGINES=firefox,deno`.
 *
 * puppeteer drives both browsers: Chromium by its own protocol, and Firefox by WebDriver BiDi. Deno
 * has WebGPU, and no pages: a process of it makes one call. What a test needs and an engine lacks
 * is said where the test is defined, and the test is reported as skipped, with the reason.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import puppeteer from 'puppeteer-core';
import { serve } from '../serve.mjs';
import { Page } from './page.mjs';

const FOLDER = fileURLToPath(new URL('..', import.meta.url));
const BLANK = '/tests/blank.html';
/** Milliseconds that a call in an engine may take: software sorts slowly on a busy machine. */
const PATIENCE = 600_000;

/**
 * What a page is like.
 *
 * @typedef {{webgpu?: boolean, canvas?: boolean, colorScheme?: 'light' | 'dark',
 *   reducedMotion?: 'reduce', url?: string, viewport?: {width: number, height: number}}} Options
 */

/** A browser: tests share it, and each has a page and storage of its own. */
class Browser {
  hasPages = true;
  #opened = new Map();

  /**
   * @param {(options: Options) => import('puppeteer-core').LaunchOptions} launch
   * @param {(page: import('puppeteer-core').Page, options: Options) => Promise<void>} prepare
   */
  constructor(name, launch, prepare) {
    Object.assign(this, { name, launch, prepare });
    after(() => this.close());
  }

  /** A browser with these options, which is started for the first of its tests. */
  #browser(options) {
    const launch = this.launch(options);
    const key = JSON.stringify(launch);
    if (!this.#opened.has(key)) {
      const patience = { timeout: PATIENCE, protocolTimeout: PATIENCE };
      this.#opened.set(key, puppeteer.launch({ ...patience, ...launch }));
    }
    return this.#opened.get(key);
  }

  async close() {
    const browsers = [...this.#opened.values()];
    this.#opened.clear();
    await Promise.all(browsers.map(async (launched) => {
      const browser = await launched;
      // (One that does not end by itself is ended.)
      const end = setTimeout(() => browser.process()?.kill('SIGKILL'), 10_000);
      await browser.close().catch(() => {});
      clearTimeout(end);
    }));
  }

  /**
   * Opens an address of the package's own server, calls `callback` with the page, and fails if the
   * console had an error.
   *
   * @param {(page: Page) => Promise<void>} callback
   * @param {Options} options
   */
  async withPage(callback, { webgpu = true, url = '/demo/index.html', ...options } = {}) {
    const server = await serve();
    const browser = await this.#browser({ webgpu, ...options });
    const context = await browser.createBrowserContext();
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE);
      await page.setViewport(options.viewport ?? { width: 1280, height: 720 });
      await this.prepare?.(page, options);
      const errors = [];
      page.on('console', (message) => {
        if (message.type() === 'error') {
          errors.push(message.text());
        }
      });
      page.on('pageerror', (error) => errors.push(error.stack ?? String(error)));
      await page.goto(server.url + url);
      await callback(new Page(page, this.name));
      assert.deepEqual(errors, [], 'the console has errors');
    } finally {
      await context.close();
      server.close();
    }
  }

  /** Calls an export of a module of this folder in an empty page, and returns its result. */
  async call(module, name, options = {}) {
    let result;
    await this.withPage(async (page) => {
      result = await page.evaluate(async ({ module, name }) => {
        const exports = await import(module);
        return exports[name]();
      }, { module, name });
    }, { url: BLANK, ...options });
    return result;
  }
}

/** Deno's own WebGPU, by wgpu. */
class Deno {
  name = 'deno';
  hasPages = false;

  async call(module, name, { webgpu = true } = {}) {
    const command = process.env.DENO ?? 'node_modules/.bin/deno';
    const words = ['run', '--quiet', '--no-lock', '--unstable-webgpu', '--allow-read=.'];
    // Vulkan alone, and of it no driver: so there is no adapter.
    const none = {
      DENO_WEBGPU_BACKEND: 'vulkan', VK_DRIVER_FILES: '/dev/null', VK_ICD_FILENAMES: '/dev/null',
    };
    const env = webgpu ? process.env : { ...process.env, ...none };
    const { stdout } = await promisify(execFile)(
      command,
      [...words, 'tests/deno.mjs', `..${module}`, name],
      { cwd: FOLDER, env, timeout: PATIENCE },
    ).catch((error) => assert.fail(`deno: ${error.stderr || error}`));
    return stdout === '' ? undefined : JSON.parse(stdout);
  }
}

const chromium = () => new Browser('chromium', ({ webgpu, canvas }) => ({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--no-first-run',
    '--disable-quic',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    // WebGPU on SwiftShader, where there is no GPU.
    ...(webgpu ? ['--enable-unsafe-webgpu'] : []),
    // What WebGPU draws there is presented only if Chromium composes with Vulkan, too.
    ...(canvas ? [
      '--use-angle=swiftshader', '--enable-features=Vulkan', '--use-vulkan=swiftshader',
    ] : []),
  ],
}), (page, { colorScheme = 'light', reducedMotion = 'no-preference' }) =>
  page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: colorScheme },
    { name: 'prefers-reduced-motion', value: reducedMotion },
  ]));

// (BiDi sets no features of media: preferences do.)
const firefox = () => new Browser('firefox', ({ webgpu, colorScheme, reducedMotion }) => ({
  browser: 'firefox',
  executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
  extraPrefsFirefox: {
    'dom.webgpu.enabled': true,
    // Software adapters are on the list. Without them there is WebGPU, and no adapter.
    'gfx.webgpu.ignore-blocklist': webgpu,
    'layout.css.prefers-color-scheme.content-override': colorScheme === 'dark' ? 0 : 1,
    'ui.prefersReducedMotion': reducedMotion ? 1 : 0,
  },
}));

const ALL = { chromium, firefox, deno: () => new Deno() };

/** The engines that are tested. */
export const engines = (process.env.ENGINES ?? Object.keys(ALL).join()).split(',').map((name) => {
  assert.ok(ALL[name], `ENGINES: '${name}' is none of ${Object.keys(ALL).join(', ')}`);
  return ALL[name]();
});

/**
 * Defines a test in each engine.
 *
 * @param {(engine: Browser | Deno, t: object) => Promise<void>} callback
 * @param {Record<string, string>} unable engines that cannot run it, with the reason
 */
export function inEngines(name, callback, unable = {}) {
  for (const engine of engines) {
    test(`${name} (${engine.name})`, { skip: unable[engine.name] ?? false }, (t) =>
      callback(engine, t));
  }
}

/**
 * Defines a test in a page of each browser.
 *
 * @param {(page: Page, t: object) => Promise<void>} callback
 * @param {Options & {unable?: Record<string, string>}} options
 */
export function inPages(name, callback, { unable, ...options } = {}) {
  inEngines(name, (engine, t) => engine.withPage((page) => callback(page, t), options), {
    deno: 'Deno has no pages',
    ...unable,
  });
}
