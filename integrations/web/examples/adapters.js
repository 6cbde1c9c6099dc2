/**
 * The device and the buffers of engines: a few lines for each, to copy. Buffers stay the engine's.
 *
 * No engine promises all of these fields: each comment says which are not documented, and in which
 * version they were seen. Submit a recorded sort before the engine submits its frame: the queue runs
 * them in that order.
 */

/**
 * three.js 0.187, `WebGPURenderer`. `renderer.backend` is documented, what the backend has is not:
 * `device`, `get` and the two `create...Attribute`. Call after `await renderer.init()`.
 */
export const three = {
  deviceOf: (renderer) => renderer.backend.device,

  /** The buffer of a `StorageBufferAttribute`, or one for indirect draws, made if it is not yet. */
  bufferOf({ backend }, attribute) {
    if (attribute.isIndirectStorageBufferAttribute) {
      backend.createIndirectStorageAttribute(attribute);
    } else {
      backend.createStorageAttribute(attribute);
    }
    return backend.get(attribute).buffer;
  },
};

/**
 * Babylon.js 9.35, `WebGPUEngine`. `_device` is not documented; `getBuffer` and
 * `underlyingResource` are. Call after `await engine.initAsync()`.
 */
export const babylon = {
  deviceOf: (engine) => engine._device,
  /** The buffer of a `StorageBuffer`. It is another one after a lost device. */
  bufferOf: (storageBuffer) => storageBuffer.getBuffer().underlyingResource,
};

/**
 * PlayCanvas 2.23, a `GraphicsDevice` for WebGPU. `wgpu`, `impl` and its `buffer` are not
 * documented.
 */
export const playcanvas = {
  deviceOf: (graphicsDevice) => graphicsDevice.wgpu,
  /** The buffer of a `StorageBuffer`, or of a `VertexBuffer` with the option `storage`. */
  bufferOf: ({ impl }) => impl.buffer,
};
