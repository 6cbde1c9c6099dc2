/** A page in headless Chromium, for tests. */

import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { serve } from '../serve.mjs';

/** WebGPU on SwiftShader, where there is no GPU. */
export const WEBGPU = ['--enable-unsafe-webgpu'];

const FLAGS = [
  '--no-sandbox',
  '--no-first-run',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Opens an address of the package's own server, calls `callback` with the page, and fails if the
 * console had an error. Chromium is Debian's, or the one that the variable CHROMIUM names.
 *
 * @param {(page: import('playwright-core').Page) => Promise<void>} callback
 * @param {{flags?: string[], url?: string, viewport?: {width: number, height: number},
 *   colorScheme?: 'light' | 'dark'}} options
 */
export async function withPage(callback, options = {}) {
  const { flags = WEBGPU, url = '/demo/index.html', ...context } = options;
  const server = await serve();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [...FLAGS, ...flags],
  });
  try {
    const page = await browser.newPage(context);
    const errors = [];
    page.on('console', (message) => {
      if (message.type() === 'error') {
        errors.push(message.text());
      }
    });
    page.on('pageerror', (error) => errors.push(error.stack ?? String(error)));
    await page.goto(server.url + url);
    await callback(page);
    assert.deepEqual(errors, [], 'the console has errors');
  } finally {
    await browser.close();
    server.close();
  }
}
