/** Transparent points in PlayCanvas, drawn back to front in each frame. */

import {
  AppBase, AppOptions, BLEND_NORMAL, BUFFERUSAGE_COPY_DST, BUFFERUSAGE_COPY_SRC, BoundingBox,
  CULLFACE_NONE, CameraComponentSystem, Color, DEVICETYPE_WEBGPU, Entity, FILLMODE_NONE, Mat4, Mesh,
  MeshInstance, PRIMITIVE_TRIANGLES, RESOLUTION_AUTO, RenderComponentSystem, SEMANTIC_POSITION,
  ShaderMaterial, StorageBuffer, Vec3, createGraphicsDevice, version,
} from 'playcanvas';
import { playcanvas } from './adapters.js';
import { LENGTH, Order, SIZE, cloud, eye, fail } from './cloud.js';

/** Bytes of the arguments of an indirect draw in PlayCanvas's buffer of them. */
const SLOT = 20;
/** PlayCanvas's cameras have z from -w to w: its renderer brings that to WebGPU's 0 to w. */
const TO_WEBGPU = new Mat4().set([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0.5, 0, 0, 0, 0.5, 1]);

const VERTEX = /* wgsl */ `
attribute corner : vec3f;
uniform matrix_view : mat4x4f;
uniform matrix_projection : mat4x4f;
varying hue : f32;
varying away : vec2f;
var<storage, read> rows : array<vec4f>;
var<storage, read> order : array<u32>;

@vertex
fn vertexMain(input : VertexInput) -> VertexOutput {
  let point = rows[order[input.instanceIndex]];
  let at = uniform.matrix_view * vec4f(point.xyz, 1.0) + vec4f(${SIZE} * input.corner, 0.0);
  var output : VertexOutput;
  output.position = uniform.matrix_projection * at;
  output.hue = point.w;
  output.away = input.corner.xy;
  return output;
}
`;

const FRAGMENT = /* wgsl */ `
varying hue : f32;
varying away : vec2f;

@fragment
fn fragmentMain(input : FragmentInput) -> FragmentOutput {
  let thirds = vec3f(0.0, 1.0, 2.0) / 3.0;
  let color = 0.5 + 0.45 * cos(${2 * Math.PI} * (input.hue + thirds));
  let opacity = 0.7 * exp(-3.0 * dot(input.away, input.away));
  var output : FragmentOutput;
  output.color = vec4f(color, opacity);
  return output;
}
`;

async function start() {
  const canvas = document.getElementById('canvas');
  const graphicsDevice = await createGraphicsDevice(canvas, {
    deviceTypes: [DEVICETYPE_WEBGPU], antialias: false,
  });
  const options = new AppOptions();
  options.graphicsDevice = graphicsDevice;
  options.componentSystems = [RenderComponentSystem, CameraComponentSystem];
  const app = new AppBase(canvas);
  app.init(options);
  app.setCanvasFillMode(FILLMODE_NONE);
  app.setCanvasResolution(RESOLUTION_AUTO);

  // The buffers are PlayCanvas's own.
  const rows = new StorageBuffer(graphicsDevice, 16 * LENGTH,
    BUFFERUSAGE_COPY_SRC | BUFFERUSAGE_COPY_DST);
  rows.write(0, cloud());
  const order = new StorageBuffer(graphicsDevice, 4 * LENGTH,
    BUFFERUSAGE_COPY_SRC | BUFFERUSAGE_COPY_DST);

  const material = new ShaderMaterial({
    uniqueName: 'points',
    vertexWGSL: VERTEX,
    fragmentWGSL: FRAGMENT,
    attributes: { corner: SEMANTIC_POSITION },
  });
  material.blendType = BLEND_NORMAL;
  material.depthWrite = false;
  material.cull = CULLFACE_NONE;
  material.setParameter('rows', rows);
  material.setParameter('order', order);
  material.update();

  const mesh = new Mesh(graphicsDevice);
  mesh.setPositions([-1, -1, 0, 1, -1, 0, -1, 1, 0, -1, 1, 0, 1, -1, 0, 1, 1, 0]);
  mesh.update(PRIMITIVE_TRIANGLES);
  mesh.aabb = new BoundingBox(new Vec3(), new Vec3(4, 4, 4));
  const points = new Entity();
  const instance = new MeshInstance(mesh, material, points);
  instance.setInstancing(true);
  instance.instancingCount = LENGTH;
  points.addComponent('render', { meshInstances: [instance] });
  app.root.addChild(points);

  const eyes = new Entity();
  eyes.addComponent('camera', {
    clearColor: new Color().fromString('#0b1020'), fov: 45, nearClip: 0.1, farClip: 100,
  });
  app.root.addChild(eyes);

  const name = `PlayCanvas ${version}`;
  const sorted = await Order.create(name, playcanvas.deviceOf(graphicsDevice), {
    rows: playcanvas.bufferOf(rows), order: playcanvas.bufferOf(order),
  });
  const viewProjection = new Mat4();
  app.on('update', () => {
    eyes.setPosition(...eye(sorted.frame));
    eyes.lookAt(0, 0, 0);
  });
  app.on('prerender', () => {
    const { viewMatrix, projectionMatrix } = eyes.camera;
    viewProjection.mul2(TO_WEBGPU, projectionMatrix).mul(viewMatrix);
    // In each frame, arguments of draws get their places anew.
    const slot = graphicsDevice.getIndirectDrawSlot();
    instance.setIndirect(null, slot);
    const buffer = playcanvas.bufferOf(graphicsDevice.indirectDrawBuffer);
    sorted.sort(viewProjection.data, { buffer, offset: SLOT * slot });
  });
  app.start();
}

start().catch(fail);
