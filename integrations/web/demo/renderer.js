/**
 * The splats on the GPU: their buffers, the sort that is prepared for them, and the frames.
 */

import { SplatSorter } from '../dist/index.js';
import { counted } from './dom.js';
import { Stopwatch } from './stopwatch.js';

/** @typedef {import('./main.js').Engine} Engine */
/** @typedef {import('./orbit.js').Orbit} Orbit */
/** @typedef {'gpu' | 'worker' | 'none'} Sorting */

/** The most splats that the page offers. */
export const MOST = 4e6;
const WORKGROUP = 256;
const CAMERA_FLOATS = 24;
// The bytes of a splat in the largest of the buffers.
const LARGEST = 16;
// How far out of the picture splats are drawn: as `quad` in the shader has it.
const MARGIN = 0.35;

/** The order of the splats as a Web Worker computes it, which arrives some frames late. */
class DepthWorker {
  /** The latest order's time on the CPU. */
  ms = NaN;
  /** How many frames have begun since the camera was where the order drawn is right for. */
  age = NaN;
  #worker = new Worker(new URL('./sort-worker.js', import.meta.url), { type: 'module' });
  #busy = true;
  #asked = 0;
  /** @type {Uint32Array | undefined} */
  #spare;
  /** @type {Uint32Array | undefined} */
  #order;
  #orderOf = NaN;

  /**
   * @param {Float32Array} places
   * @param {(message: string) => void} onError
   */
  constructor(places, onError) {
    this.#worker.addEventListener('error', (event) => {
      event.preventDefault();
      onError(event.message || 'The worker could not be loaded.');
    });
    this.#worker.addEventListener('message', ({ data }) => {
      this.#busy = false;
      if (data.order) {
        this.#order = data.order;
        this.#orderOf = this.#asked;
        this.ms = data.ms;
      }
    });
    this.#worker.postMessage({ kind: 'places', places }, [places.buffer]);
  }

  /**
   * Takes the order that has arrived, if one has, and asks for that of this frame, unless another
   * is still being computed.
   * @param {number} frame
   * @param {number[]} forward where the camera looks
   * @param {GPUQueue} queue
   * @param {GPUBuffer} target
   */
  step(frame, forward, queue, target) {
    if (this.#order) {
      queue.writeBuffer(target, 0, /** @type {any} */ (this.#order));
      this.#spare = this.#order;
      this.#order = undefined;
    }
    this.age = frame - this.#orderOf;
    if (!this.#busy) {
      this.#busy = true;
      this.#asked = frame;
      const transfer = this.#spare ? [this.#spare.buffer] : [];
      this.#worker.postMessage({ kind: 'order', forward, spare: this.#spare }, transfer);
      this.#spare = undefined;
    }
  }

  dispose() {
    this.#worker.terminate();
  }
}

/** The buffers of one number of splats, and the sorter that is made for them. */
class Scene {
  /**
   * @param {Pipelines} pipelines
   * @param {Engine} engine
   * @param {number} count
   */
  constructor(pipelines, { device }, count) {
    this.count = count;
    const buffer = (/** @type {number} */ bytes, /** @type {number} */ usage) =>
      device.createBuffer({ size: bytes * count, usage: usage | GPUBufferUsage.STORAGE });
    this.places = buffer(16, GPUBufferUsage.COPY_SRC);
    this.shapes = buffer(16, 0);
    this.quads = buffer(16, 0);
    // The worker's order, or that of those who do not sort.
    this.order = buffer(4, GPUBufferUsage.COPY_DST);
    const entries = (/** @type {[number, GPUBuffer][]} */ ...bound) =>
      bound.map(([binding, bufferOf]) => ({ binding, resource: { buffer: bufferOf } }));
    this.computeGroup = device.createBindGroup({
      layout: pipelines.computeLayout,
      entries: entries([0, pipelines.camera], [1, this.places], [2, this.shapes], [3, this.quads],
        [4, this.order]),
    });
    /** Draws in an order. */
    this.drawGroup = (/** @type {GPUBuffer} */ order) => device.createBindGroup({
      layout: pipelines.drawLayout,
      entries: entries([0, pipelines.camera], [5, this.quads], [6, order]),
    });
    this.unsortedGroup = this.drawGroup(this.order);
    /** @type {SplatSorter | undefined} */
    this.splats = undefined;
    /** @type {GPUBindGroup | undefined} */
    this.sortedGroup = undefined;
    /** Whether `splats` has sorted a frame. */
    this.isSorted = false;
  }

  /**
   * Rejects if there is not enough memory.
   * @param {Pipelines} pipelines
   * @param {Engine} engine
   * @param {number} count
   */
  static async create(pipelines, engine, count) {
    const { device, sorter } = engine;
    device.pushErrorScope('validation');
    device.pushErrorScope('out-of-memory');
    const scene = new Scene(pipelines, engine, count);
    const errors = await Promise.all([device.popErrorScope(), device.popErrorScope()]);
    try {
      for (const error of errors) {
        if (error) {
          throw new Error(error.message);
        }
      }
      scene.splats = await SplatSorter.create(sorter, {
        positions: { rows: scene.places, stride: 16 },
        length: count,
        camera: pipelines.matrix,
        margin: MARGIN,
      });
      scene.sortedGroup = scene.drawGroup(scene.splats.order);
      return scene;
    } catch (error) {
      scene.dispose();
      throw error;
    }
  }

  /** The centres of the splats, four floats each. @param {GPUDevice} device */
  async readPlaces(device) {
    const size = this.places.size;
    const copy = device.createBuffer({
      size,
      usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
    });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.places, 0, copy, 0, size);
    device.queue.submit([encoder.finish()]);
    try {
      await copy.mapAsync(GPUMapMode.READ);
      return new Float32Array(copy.getMappedRange().slice(0));
    } finally {
      copy.destroy();
    }
  }

  dispose() {
    this.splats?.dispose();
    for (const buffer of [this.places, this.shapes, this.quads, this.order]) {
      buffer.destroy();
    }
  }
}

/**
 * What does not depend on the number of splats.
 * @typedef {object} Pipelines
 * @property {GPUBuffer} camera
 * @property {GPUBuffer} matrix
 * @property {GPUBindGroupLayout} computeLayout
 * @property {GPUBindGroupLayout} drawLayout
 * @property {GPUComputePipeline} generate
 * @property {GPUComputePipeline} project
 * @property {GPUComputePipeline} number
 * @property {GPURenderPipeline} draw
 */

/**
 * @param {GPUDevice} device
 * @param {GPUTextureFormat} format of the canvas
 * @returns {Promise<Pipelines>}
 */
async function createPipelines(device, format) {
  const response = await fetch(new URL('./splats.wgsl', import.meta.url));
  if (!response.ok) {
    throw new Error(`splats.wgsl: ${response.status} ${response.statusText}`);
  }
  const module = device.createShaderModule({ label: 'splats.wgsl', code: await response.text() });
  const uniform = /** @type {const} */ ({ type: 'uniform' });
  const storage = /** @type {const} */ ({ type: 'storage' });
  const readOnly = /** @type {const} */ ({ type: 'read-only-storage' });
  const { COMPUTE, VERTEX } = GPUShaderStage;
  const computeLayout = device.createBindGroupLayout({
    entries: [uniform, storage, storage, storage, storage].map((buffer, binding) => ({
      binding,
      visibility: COMPUTE,
      buffer,
    })),
  });
  const drawLayout = device.createBindGroupLayout({
    entries: [
      { binding: 0, visibility: VERTEX, buffer: uniform },
      { binding: 5, visibility: VERTEX, buffer: readOnly },
      { binding: 6, visibility: VERTEX, buffer: readOnly },
    ],
  });
  const layout = device.createPipelineLayout({ bindGroupLayouts: [computeLayout] });
  const compute = (/** @type {string} */ entryPoint) =>
    device.createComputePipelineAsync({ layout, compute: { module, entryPoint } });
  // Premultiplied: each splat covers what was drawn before it by its alpha.
  const over = /** @type {const} */ ({ srcFactor: 'one', dstFactor: 'one-minus-src-alpha' });
  const [generate, project, number, draw] = await Promise.all([
    compute('generate'),
    compute('project'),
    compute('number'),
    device.createRenderPipelineAsync({
      layout: device.createPipelineLayout({ bindGroupLayouts: [drawLayout] }),
      vertex: { module, entryPoint: 'corner' },
      fragment: {
        module,
        entryPoint: 'shade',
        targets: [{ format, blend: { color: over, alpha: over } }],
      },
      primitive: { topology: 'triangle-strip' },
    }),
  ]);
  const [camera, matrix] = [CAMERA_FLOATS, 16].map((floats) => device.createBuffer({
    size: floats * 4,
    usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
  }));
  return { camera, matrix, computeLayout, drawLayout, generate, project, number, draw };
}

/** Draws on one device: made anew when the device is lost. */
export class Renderer {
  frames = 0;
  /** @type {Scene | undefined} */
  scene;
  /** @type {DepthWorker | undefined} */
  worker;
  stopwatch;
  /** @type {Sorting} */
  sorting = 'gpu';
  /** What a worker that fails says. @type {(message: string) => void} */
  onWorkerError = () => {};
  engine;
  #pipelines;
  #canvas;
  #context;
  #uniforms = new Float32Array(CAMERA_FLOATS);
  #counts = new Uint32Array(this.#uniforms.buffer);
  #matrix = new Float32Array(16);
  #needsNumbers = false;
  #attachment = {
    view: /** @type {any} */ (undefined),
    clearValue: { r: 0, g: 0, b: 0, a: 0 },
    loadOp: /** @type {const} */ ('clear'),
    storeOp: /** @type {const} */ ('store'),
  };
  #drawPass = { colorAttachments: [this.#attachment] };
  #sortOptions = { timestampWrites: /** @type {any} */ (undefined) };

  /**
   * @param {Engine} engine
   * @param {HTMLCanvasElement} canvas
   * @param {GPUCanvasContext} context
   * @param {Pipelines} pipelines
   */
  constructor(engine, canvas, context, pipelines) {
    this.engine = engine;
    this.stopwatch = new Stopwatch(engine.device);
    this.#canvas = canvas;
    this.#context = context;
    this.#pipelines = pipelines;
  }

  /**
   * @param {Engine} engine
   * @param {HTMLCanvasElement} canvas
   */
  static async create(engine, canvas) {
    const context = canvas.getContext('webgpu');
    if (!context) {
      throw new Error('This canvas cannot be drawn to with WebGPU.');
    }
    const format = navigator.gpu.getPreferredCanvasFormat();
    const pipelines = await createPipelines(engine.device, format);
    context.configure({ device: engine.device, format, alphaMode: 'premultiplied' });
    return new Renderer(engine, canvas, context, pipelines);
  }

  /** The number of splats that this device can hold, and what limits it. */
  most() {
    const { device, sorter } = this.engine;
    const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
    const bytes = Math.min(maxStorageBufferBindingSize, maxBufferSize);
    const held = Math.floor(bytes / LARGEST);
    const sorted = sorter.maxLength('u32');
    const why = held < sorted
      ? `it binds buffers of ${counted(bytes / 2 ** 20)} MiB`
      : 'it sorts no more keys at once';
    return { most: Math.min(MOST, held, sorted), why };
  }

  /**
   * @param {number} count
   * @param {number} lightness of the page
   */
  async setScene(count, lightness) {
    const { device } = this.engine;
    const scene = await Scene.create(this.#pipelines, this.engine, count);
    this.scene?.dispose();
    this.scene = scene;
    this.#counts[21] = count;
    this.#uniforms[22] = lightness;
    device.queue.writeBuffer(this.#pipelines.camera, 0, this.#uniforms);
    const encoder = device.createCommandEncoder();
    this.#dispatch(encoder, this.#pipelines.generate, scene);
    device.queue.submit([encoder.finish()]);
    this.#needsNumbers = true;
    await this.setSorting(this.sorting);
  }

  /** @param {Sorting} sorting */
  async setSorting(sorting) {
    const { scene } = this;
    const wasSorted = this.sorting === 'gpu' && scene?.isSorted;
    this.sorting = sorting;
    this.worker?.dispose();
    this.worker = undefined;
    this.#needsNumbers ||= sorting === 'none';
    if (wasSorted && sorting === 'worker') {
      // The worker's first order replaces the one that is there.
      this.#keepOrder(scene);
    }
    if (sorting !== 'worker' || !scene) {
      return;
    }
    const places = await scene.readPlaces(this.engine.device);
    if (this.sorting === 'worker' && this.scene === scene && !this.worker) {
      this.worker = new DepthWorker(places, this.onWorkerError);
    }
  }

  /**
   * Draws on in the GPU's latest order, until there is another.
   * @param {Scene} scene
   */
  #keepOrder({ splats, order }) {
    const { device } = this.engine;
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(/** @type {SplatSorter} */ (splats).order, 0, order, 0, order.size);
    device.queue.submit([encoder.finish()]);
    this.#needsNumbers = false;
  }

  /** The latest time of the sort. */
  get sortMs() {
    return this.sorting === 'gpu' ? this.stopwatch.ms : (this.worker?.ms ?? NaN);
  }

  /** @param {Orbit} orbit */
  draw(orbit) {
    const { device } = this.engine;
    const { scene } = this;
    if (!scene) {
      return;
    }
    const { width, height } = this.#canvas;
    orbit.write(this.#uniforms, width, height);
    device.queue.writeBuffer(this.#pipelines.camera, 0, this.#uniforms);
    this.#project();
    device.queue.writeBuffer(this.#pipelines.matrix, 0, this.#matrix);
    this.worker?.step(this.frames, orbit.forward, device.queue, scene.order);

    let encoder = device.createCommandEncoder();
    this.#dispatch(encoder, this.#pipelines.project, scene);
    const isGpu = this.sorting === 'gpu';
    if (isGpu) {
      this.#sortOptions.timestampWrites = this.stopwatch.begin();
      scene.splats?.record(encoder, this.#sortOptions);
      scene.isSorted = true;
      this.stopwatch.end(encoder);
      if (!this.stopwatch.precise) {
        // On its own, so that its end can be told from that of the drawing.
        device.queue.submit([encoder.finish()]);
        this.stopwatch.submitted();
        encoder = device.createCommandEncoder();
      }
    } else if (this.#needsNumbers) {
      this.#needsNumbers = false;
      this.#dispatch(encoder, this.#pipelines.number, scene);
    }
    this.#attachment.view = this.#context.getCurrentTexture().createView();
    const pass = encoder.beginRenderPass(this.#drawPass);
    pass.setPipeline(this.#pipelines.draw);
    if (isGpu && scene.splats) {
      pass.setBindGroup(0, scene.sortedGroup);
      pass.drawIndirect(scene.splats.indirect, 0);
    } else {
      pass.setBindGroup(0, scene.unsortedGroup);
      pass.draw(4, scene.count);
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
    if (isGpu && this.stopwatch.precise) {
      this.stopwatch.submitted();
    }
    this.frames++;
  }

  /** The matrix of the camera, from the world to clip space: without a far plane. */
  #project() {
    const [matrix, uniforms] = [this.#matrix, this.#uniforms];
    const near = uniforms[20];
    for (let column = 0; column < 16; column += 4) {
      const depth = -uniforms[column + 2];
      matrix[column] = uniforms[16] * uniforms[column];
      matrix[column + 1] = uniforms[17] * uniforms[column + 1];
      matrix[column + 2] = depth - near * uniforms[column + 3];
      matrix[column + 3] = depth;
    }
  }

  /**
   * @param {GPUCommandEncoder} encoder
   * @param {GPUComputePipeline} pipeline
   * @param {Scene} scene
   */
  #dispatch(encoder, pipeline, scene) {
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, scene.computeGroup);
    pass.dispatchWorkgroups(Math.ceil(scene.count / WORKGROUP));
    pass.end();
  }

  /** Ends the worker, and lets none begin. The device's objects are lost with it. */
  dispose() {
    this.worker?.dispose();
    this.worker = undefined;
    this.scene = undefined;
  }
}
