/** One case of one sort: in a page, or in Deno. */

import { CASES, keysOf, wrong } from './cases.js';
import { complaints, peers } from './peers.js';

/**
 * @returns {Promise<{verdict: 'right' | 'wrong' | 'refused', why?: string, seconds?: number}>}
 *   `seconds` includes the start of the device and the compilation of kernels
 */
export async function ask(peer, number) {
  const [asked, { most, sort }] = [CASES[number], peers[peer]];
  const keys = keysOf(asked, most);
  const begin = performance.now();
  let answer;
  try {
    answer = await sort(asked, keys.slice());
  } catch (error) {
    return { verdict: 'refused', why: complaints[0] ?? String(error?.message ?? error) };
  }
  const seconds = Math.round(performance.now() - begin) / 1000;
  const why = wrong(asked, keys, answer);
  if (why === undefined) {
    return { verdict: 'right', seconds };
  }
  // (A device that refuses a call says so, and the sort goes on.)
  return complaints.length > 0
    ? { verdict: 'refused', why: complaints[0] } : { verdict: 'wrong', why };
}
