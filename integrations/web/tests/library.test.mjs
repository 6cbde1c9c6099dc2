/** The Rust library on wgpu's WebGPU backend: see library/src/lib.rs. */

import { inEngines } from './engines.mjs';

for (const name of ['everyCall', 'errors']) {
  inEngines(`the library in a browser: ${name}`, (engine) =>
    engine.call('/tests/library.js', name));
}
