/** Particles in the cells of a grid: their neighbours, found by a sort in each frame. */

import { Sorter, requestDevice } from 'wgpu-bcfsort';
import { fail } from './cloud.js';

const LENGTH = Number(new URLSearchParams(location.search).get('n') ?? 10_000);
/** As in grid.wgsl. */
const [CELL, SIDE, RADIUS] = [2048, 32, 2048];
const CELLS = SIDE * SIDE;
const WORLD = SIDE * CELL;

/** Particles in swarms, and where they go: pairs of i32. */
function particles() {
  let state = 7;
  const random = () => (state = Math.imul(state, 48271) >>> 0) / 2 ** 32;
  const swarms = Array.from({ length: 24 }, () => ({
    at: [random() * WORLD, random() * WORLD],
    velocity: [random() * 400 - 200, random() * 400 - 200],
    width: 4000 + 10_000 * random(),
  }));
  const [at, velocity] = [new Int32Array(2 * LENGTH), new Int32Array(2 * LENGTH)];
  for (let i = 0; i < LENGTH; i++) {
    const swarm = swarms[i % swarms.length];
    const [angle, away] = [2 * Math.PI * random(), swarm.width * random()];
    const turned = [Math.cos(angle), Math.sin(angle)];
    for (const axis of [0, 1]) {
      at[2 * i + axis] = (swarm.at[axis] + away * turned[axis] + WORLD) & (WORLD - 1);
      velocity[2 * i + axis] = swarm.velocity[axis] + 40 * (random() - 0.5);
    }
  }
  return [at, velocity];
}

async function start() {
  const device = await requestDevice();
  const sorter = await Sorter.create(device);
  const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
  const make = (words) =>
    device.createBuffer({ size: 4 * words, usage: STORAGE | COPY_SRC | COPY_DST });
  const [at, velocity] = [make(2 * LENGTH), make(2 * LENGTH)];
  const [cellOfEach, order, neighbours] = [make(LENGTH), make(LENGTH), make(LENGTH)];
  const table = make(CELLS + 1);
  particles().forEach((data, i) => device.queue.writeBuffer([at, velocity][i], 0, data));

  // The particles of cell c are order[table[c]] to before order[table[c + 1]].
  const sort = await sorter.prepare({
    keys: cellOfEach,
    type: 'u32',
    length: LENGTH,
    indices: order,
    startsOf: { table, cells: CELLS },
  });

  const code = await (await fetch('grid.wgsl')).text();
  const module = device.createShaderModule({ code });
  const canvas = document.getElementById('canvas');
  [canvas.width, canvas.height] = [canvas.clientWidth, canvas.clientHeight];
  const context = canvas.getContext('webgpu');
  const format = navigator.gpu.getPreferredCanvasFormat();
  context.configure({ device, format });
  /** A pipeline, and a group of the buffers at their bindings. */
  const bound = (pipeline, buffers) => [pipeline, device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: Object.entries(buffers).map(([binding, buffer]) =>
      ({ binding: Number(binding), resource: { buffer } })),
  })];
  const compute = (entryPoint, buffers) => bound(
    device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint } }), buffers);
  const advance = compute('advance', { 0: at, 1: velocity, 2: cellOfEach });
  const meet = compute('meet', { 0: at, 3: order, 4: table, 5: neighbours });
  const over = { srcFactor: 'one', dstFactor: 'one-minus-src-alpha' };
  const draw = bound(device.createRenderPipeline({
    layout: 'auto',
    vertex: { module },
    fragment: { module, targets: [{ format, blend: { color: over, alpha: over } }] },
    primitive: { topology: 'triangle-strip' },
  }), { 0: at, 1: neighbours });

  const dispatch = (encoder, [pipeline, group]) => {
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(Math.ceil(LENGTH / 64));
    pass.end();
  };
  let frame = 0;
  const next = () => {
    const encoder = device.createCommandEncoder();
    dispatch(encoder, advance);
    sort.record(encoder);
    dispatch(encoder, meet);
    const pass = encoder.beginRenderPass({
      colorAttachments: [{
        view: context.getCurrentTexture().createView(),
        clearValue: { r: 0.03, g: 0.04, b: 0.09, a: 1 },
        loadOp: 'clear',
        storeOp: 'store',
      }],
    });
    pass.setPipeline(draw[0]);
    pass.setBindGroup(0, draw[1]);
    pass.draw(4, LENGTH);
    pass.end();
    device.queue.submit([encoder.finish()]);
    globalThis.frames = ++frame;
    if (frame === 3) {
      check(device, at, neighbours).catch(fail);
    }
    requestAnimationFrame(next);
  };
  next();
}

/** Reads the numbers of neighbours, and compares them with those that the CPU counts. */
async function check(device, at, neighbours) {
  const size = 4 * LENGTH;
  const copy = device.createBuffer({
    size: 3 * size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(at, 0, copy, 0, 2 * size);
  encoder.copyBufferToBuffer(neighbours, 0, copy, 2 * size, size);
  device.queue.submit([encoder.finish()]);
  await copy.mapAsync(GPUMapMode.READ);
  const words = new Int32Array(copy.getMappedRange());
  const cells = Array.from({ length: CELLS }, () => []);
  const cell = (x, y) => cells[((y + SIDE) % SIDE) * SIDE + (x + SIDE) % SIDE];
  const place = (i) => [words[2 * i], words[2 * i + 1]];
  for (let i = 0; i < LENGTH; i++) {
    cell(...place(i).map((z) => Math.floor(z / CELL))).push(i);
  }
  const way = (from, to) => ((to - from + 1.5 * WORLD) % WORLD) - WORLD / 2;
  let [wrong, pairs] = [0, 0];
  for (let i = 0; i < LENGTH; i++) {
    const [x, y] = place(i);
    let count = -1;
    for (let around = 0; around < 9; around++) {
      const near = cell(
        Math.floor(x / CELL) + around % 3 - 1, Math.floor(y / CELL) + Math.floor(around / 3) - 1);
      for (const other of near) {
        const [otherX, otherY] = place(other);
        count += Number(way(x, otherX) ** 2 + way(y, otherY) ** 2 < RADIUS ** 2);
      }
    }
    pairs += count;
    wrong += Number(count !== words[2 * LENGTH + i]);
  }
  copy.destroy();
  const right = wrong === 0;
  const verdict = right ? 'neighbours as on the CPU' : 'WRONG numbers of neighbours';
  document.getElementById('result').textContent =
    `${LENGTH.toLocaleString('en')} particles, ${verdict}`;
  globalThis.result = { right, length: LENGTH, pairs, wrong };
}

start().catch(fail);
