/** The Rust library on wgpu's WebGPU backend: see library/src/lib.rs. */

import test from 'node:test';
import { withPage } from './page.mjs';

for (const name of ['every_call', 'errors']) {
  test(`the library in a browser: ${name}`, () =>
    withPage(
      (page) =>
        page.evaluate(async (name) => {
          const library = await import('/dist/tests/library.js');
          await library.default();
          await library[name]();
        }, name),
      { url: '/tests/blank.html' },
    ));
}
