/** Serves this folder to the browsers of this machine: `node serve.mjs [PORT]`. */

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.md': 'text/plain; charset=utf-8',
  '.mjs': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.wgsl': 'text/plain; charset=utf-8',
};

/** Starts the server on a port of 127.0.0.1, 0 for any free one, and returns its address. */
export async function serve(port = 0) {
  const answer = async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    const file = normalize(join(ROOT, path === '/' ? 'demo/index.html' : path));
    const type = TYPES[extname(file)];
    const found = file.startsWith(ROOT + (ROOT.endsWith(sep) ? '' : sep)) && type
      && (await stat(file).catch(() => undefined));
    if (path === '/') {
      response.writeHead(302, { location: '/demo/index.html' }).end();
    } else if (!found || !found.isFile()) {
      response.writeHead(404).end('not found');
    } else {
      response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' });
      createReadStream(file).pipe(response);
    }
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.writeHead(400).end(error.message));
  });
  await new Promise((resolve, reject) => {
    server.on('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await serve(Number(process.argv[2] ?? 8080));
  console.log(`The demo is at ${url}/  (Ctrl-C ends the server)`);
}
