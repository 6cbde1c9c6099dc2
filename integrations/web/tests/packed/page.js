/** A page of someone who installed the package: tests build it with a bundler. */

import { Sorter, requestDevice } from 'wgpu-bcfsort';

globalThis.sorted = (async () => {
  const sorter = await Sorter.create(await requestDevice());
  return [...await sorter.sort(Uint32Array.of(3, 1, 2))];
})();
