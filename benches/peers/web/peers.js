/**
 * The sorts, each by its own documented calls. `offers` says what its documentation promises: what
 * it does not is not asked.
 */

/** @typedef {import('./cases.js').Case} Case */

const PEERS = new URL(globalThis.PEERS_URL ?? '/peers/', globalThis.location?.href).href;
const OURS = new URL(globalThis.OURS_URL ?? '/ours/', globalThis.location?.href).href;

/** A device, with limits above the least ones and with features where the adapter has them. */
async function open({ least }, limits = {}, features = []) {
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice(least ? {} : {
    requiredFeatures: features.filter((feature) => adapter.features.has(feature)),
    requiredLimits: Object.fromEntries(
      Object.entries(limits).map(([name, value]) => [name, Math.min(value, adapter.limits[name])]),
    ),
  });
  watch(device);
  return device;
}

/** What a device says that nobody asked for. */
export const complaints = [];

function watch(device) {
  device.addEventListener('uncapturederror', ({ error }) => complaints.push(error.message));
  device.lost.then(({ message }) => complaints.push(`the device was lost: ${message}`));
}

function upload(device, data, usage = 0) {
  const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
  const size = Math.max(data.byteLength, 4);
  const buffer = device.createBuffer({ size, usage: STORAGE | COPY_SRC | COPY_DST | usage });
  // (Of no bytes, Deno 2.9.6 panics.)
  if (data.byteLength > 0) {
    device.queue.writeBuffer(buffer, 0, data);
  }
  return buffer;
}

async function download(device, buffer, keys) {
  const size = keys.byteLength;
  const staging = device.createBuffer({
    size: Math.max(size, 4), usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  return new keys.constructor(staging.getMappedRange(0, size).slice(0));
}

const numbers = (length) => Uint32Array.from({ length }, (_, i) => i);

export const peers = {
  'wgpu-bcfsort': {
    offers: () => true,
    async sort(asked, keys) {
      const { Sorter, requestDevice } = await import(`${OURS}index.js`);
      const device = asked.least ? await open(asked) : await requestDevice();
      watch(device);
      const sorter = await Sorter.create(device);
      const { descending } = asked;
      if (asked.pairs) {
        return { indices: await sorter.argsort(keys, { descending }) };
      }
      const sorted = keys.slice();
      await sorter.sort(sorted, { descending });
      return { keys: sorted };
    },
  },

  'webgpu-radix-sort': {
    offers: ({ type, descending }) => type === 'u32' && !descending,
    async sort(asked, keys) {
      const device = await open(asked);
      const { RadixSortKernel } = await import(
        `${PEERS}webgpu-radix-sort/dist/esm/radix-sort-esm.js`);
      const buffer = upload(device, keys);
      const values = asked.pairs ? upload(device, numbers(keys.length)) : undefined;
      const kernel = new RadixSortKernel({ device, keys: buffer, values, count: keys.length });
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      kernel.dispatch(pass);
      pass.end();
      device.queue.submit([encoder.finish()]);
      return {
        keys: await download(device, buffer, keys),
        indices: values && await download(device, values, numbers(keys.length)),
      };
    },
  },

  gridwise: {
    // (Lengths are multiples of 4, says its example.)
    offers: ({ length }) => length % 4 === 0,
    async sort(asked, keys) {
      const limits = { maxComputeWorkgroupStorageSize: 32_768 };
      const device = await open(asked, limits, ['subgroups', 'timestamp-query']);
      const { OneSweepSort } = await import(`${PEERS}gridwise/onesweep.mjs`);
      const temporary = () => upload(device, new Uint32Array(keys.length));
      const buffers = { keysInOut: upload(device, keys), keysTemp: temporary() };
      if (asked.pairs) {
        buffers.payloadInOut = upload(device, numbers(keys.length));
        buffers.payloadTemp = temporary();
      }
      const primitive = new OneSweepSort({
        device,
        datatype: asked.type,
        type: asked.pairs ? 'keyvalue' : 'keysonly',
        direction: asked.descending ? 'descending' : 'ascending',
        inputLength: keys.length,
        copyOutputToTemp: false,
      });
      await primitive.execute(buffers);
      return {
        keys: await download(device, buffers.keysInOut, keys),
        indices: asked.pairs
          ? await download(device, buffers.payloadInOut, numbers(keys.length)) : undefined,
      };
    },
  },

  'three BitonicSort': {
    needsPage: true,
    offers: ({ descending, pairs, least }) => !descending && !pairs && !least,
    async sort(asked, keys) {
      const [{ WebGPURenderer }, { instancedArray }, { BitonicSort }] = await Promise.all([
        import('three/webgpu'), import('three/tsl'), import('three/addons/gpgpu/BitonicSort.js'),
      ]);
      const renderer = await started(WebGPURenderer);
      const types = { u32: 'uint', i32: 'int', f32: 'float' };
      const buffer = instancedArray(keys.slice(), types[asked.type]);
      const sort = new BitonicSort(renderer, buffer);
      await sort.compute(renderer);
      const sorted = await renderer.getArrayBufferAsync(buffer.value);
      return { keys: new keys.constructor(sorted).slice(0, keys.length) };
    },
  },

  'three CountingSort': {
    needsPage: true,
    most: 4096,
    // (Equal keys have no specified order, says its documentation.)
    offers: ({ type, descending, least, stable }) =>
      type === 'u32' && !descending && !least && !stable,
    async sort(_, keys) {
      const [{ WebGPURenderer }, { instancedArray, instanceIndex }, { CountingSort }] =
        await Promise.all([
          import('three/webgpu'), import('three/tsl'),
          import('three/addons/gpgpu/CountingSort.js'),
        ]);
      const renderer = await started(WebGPURenderer);
      const bins = instancedArray(keys.slice(), 'uint');
      const sort = new CountingSort(keys.length, { binCount: 4096 });
      sort.setBinNode(() => bins.element(instanceIndex));
      sort.compute(renderer);
      const order = await renderer.getArrayBufferAsync(sort.orderAttribute);
      return { indices: new Uint32Array(order).slice(0, keys.length) };
    },
  },

  'PlayCanvas ComputeRadixSort': {
    needsPage: true,
    offers: ({ type, descending, least }) => type === 'u32' && !descending && !least,
    async sort(_, keys) {
      const playcanvas = await import('playcanvas');
      const device = await playcanvas.createGraphicsDevice(document.createElement('canvas'), {
        deviceTypes: [playcanvas.DEVICETYPE_WEBGPU],
      });
      watch(device.wgpu);
      const usage = playcanvas.BUFFERUSAGE_COPY_SRC | playcanvas.BUFFERUSAGE_COPY_DST;
      const buffer = new playcanvas.StorageBuffer(device, Math.max(keys.byteLength, 4), usage);
      buffer.write(0, keys);
      const order = new playcanvas.ComputeRadixSort(device).sort(buffer, keys.length, 32);
      const indices = numbers(keys.length);
      await order.read(0, indices.byteLength, indices, true);
      return { indices };
    },
  },
};

async function started(WebGPURenderer) {
  const renderer = new WebGPURenderer({ canvas: document.createElement('canvas') });
  await renderer.init();
  if (!renderer.backend.isWebGPUBackend) {
    throw new Error('three chose WebGL');
  }
  watch(renderer.backend.device);
  return renderer;
}
