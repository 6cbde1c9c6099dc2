/** Pictures of the README: tests write them to pictures/ with `GALLERY=1`, in Chromium. */

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';

/** The pictures are in the repository: bytes that each may have. */
export const MOST = 60_000;
export const PICTURES = new URL('../pictures/', import.meta.url);

/** A picture of a page, or of a place in it; it is written if it is for the README. */
export async function still(page, name, { place = page, style } = {}) {
  const png = await place.screenshot({ style });
  if (process.env.GALLERY && page.engine === 'chromium') {
    assert.ok(png.length <= MOST, `pictures/${name}.png would have ${png.length} bytes`);
    await mkdir(PICTURES, { recursive: true });
    await writeFile(new URL(`${name}.png`, PICTURES), png);
  }
  return png;
}
