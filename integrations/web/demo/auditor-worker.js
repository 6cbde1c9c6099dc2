/**
 * Runs the auditor in a thread of its own, so that a page stays alive and can end it.
 *
 * A message `{ id, call, request }` is answered by `{ id, text }`, or by `{ id, failed }` if the
 * auditor could not be loaded or broke down.
 */

import init, { audit, limits, resources } from '../dist/auditor/auditor.js';

/** @type {Record<string, (request: string) => string>} */
const CALLS = { audit, limits, resources };

const loaded = init();

self.addEventListener('message', async ({ data: { id, call, request } }) => {
  try {
    await loaded;
    self.postMessage({ id, text: CALLS[call](request) });
  } catch (error) {
    self.postMessage({ id, failed: reasonOf(error) });
  }
});

/** @param {unknown} error */
function reasonOf(error) {
  // The auditor refuses what it knows to be nested too deeply, and this is what it does not know.
  // (Of a stack that is full, Firefox says "too much recursion", as an InternalError.)
  const isDeep = error instanceof RangeError
    || /stack|out of bounds|recursion/.test(String(error));
  return isDeep ? 'the shader is nested too deeply for the stack of a page' : String(error);
}
