/** What tests run in an engine: the Rust library, loaded by wasm-bindgen's own glue. */

import init, { errors as errorsOfLibrary, every_call } from '../dist/tests/library.js';

export async function everyCall() {
  await init();
  await every_call();
}

export async function errors() {
  await init();
  await errorsOfLibrary();
}
