/**
 * Shaders in addresses: JSON, compressed, in characters that addresses may have.
 */

/** A longer text in a link is no shader that anyone shared. */
const MOST_TEXT = 1 << 20;

/**
 * @param {BlobPart} data
 * @param {ReadableWritablePair<Uint8Array<ArrayBuffer>, BufferSource>} transform
 */
async function through(data, transform) {
  const stream = new Blob([data]).stream().pipeThrough(transform);
  const parts = [];
  let length = 0;
  // (Safari's streams are no asynchronous iterables.)
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > MOST_TEXT) {
      throw new RangeError('the text is too long');
    }
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** @param {object} state @returns {Promise<string>} */
export async function pack(state) {
  const bytes = await through(JSON.stringify(state), new CompressionStream('deflate-raw'));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** @param {string} text @returns {Promise<any>} what was packed */
export async function unpack(text) {
  const packed = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
  const json = await through(bytes, new DecompressionStream('deflate-raw'));
  const state = JSON.parse(new TextDecoder().decode(json));
  if (typeof state?.wgsl !== 'string') {
    throw new TypeError('there is no shader');
  }
  return state;
}
