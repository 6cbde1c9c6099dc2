/** Transparent points in three.js, drawn back to front in each frame. */

import {
  BufferAttribute, Color, IndirectStorageBufferAttribute, InstancedBufferGeometry, Matrix4, Mesh,
  NodeMaterial, PerspectiveCamera, REVISION, Scene, StorageBufferAttribute, WebGPURenderer,
} from 'three/webgpu';
import {
  cameraProjectionMatrix, cameraViewMatrix, cos, dot, exp, instanceIndex, positionGeometry,
  storage, varying, vec3, vec4,
} from 'three/tsl';
import { three } from './adapters.js';
import { LENGTH, Order, SIZE, cloud, eye, fail } from './cloud.js';

const CORNERS = new Float32Array([-1, -1, 0, 1, -1, 0, -1, 1, 0, -1, 1, 0, 1, -1, 0, 1, 1, 0]);

async function start() {
  const canvas = document.getElementById('canvas');
  const renderer = new WebGPURenderer({ canvas });
  renderer.setSize(canvas.clientWidth, canvas.clientHeight, false);
  await renderer.init();

  // The buffers are three's own: attributes.
  const rows = new StorageBufferAttribute(cloud(), 4);
  const order = new StorageBufferAttribute(new Uint32Array(LENGTH), 1);
  const indirect = new IndirectStorageBufferAttribute(new Uint32Array(4), 1);

  const rank = storage(order, 'uint', LENGTH).toReadOnly().element(instanceIndex);
  const point = storage(rows, 'vec4', LENGTH).toReadOnly().element(rank);
  const corner = positionGeometry.mul(SIZE);
  const material = new NodeMaterial();
  material.transparent = true;
  material.depthWrite = false;
  material.vertexNode = cameraProjectionMatrix.mul(
    cameraViewMatrix.mul(vec4(point.xyz, 1)).add(vec4(corner, 0)));
  const hue = varying(point.w).add(vec3(0, 1 / 3, 2 / 3)).mul(2 * Math.PI);
  material.colorNode = cos(hue).mul(0.45).add(0.5);
  const away = varying(positionGeometry);
  material.opacityNode = exp(dot(away, away).mul(-3)).mul(0.7);

  const geometry = new InstancedBufferGeometry();
  geometry.setAttribute('position', new BufferAttribute(CORNERS, 3));
  geometry.instanceCount = LENGTH;
  geometry.setIndirect(indirect);
  const mesh = new Mesh(geometry, material);
  mesh.frustumCulled = false;
  const scene = new Scene();
  scene.background = new Color('#0b1020');
  scene.add(mesh);

  const camera = new PerspectiveCamera(45, canvas.clientWidth / canvas.clientHeight, 0.1, 100);
  // (WebGPU's clip space from the first frame on: the renderer sets it only when it draws.)
  camera.coordinateSystem = renderer.coordinateSystem;
  camera.updateProjectionMatrix();

  const name = `three.js ${REVISION}`;
  const sorted = await Order.create(name, three.deviceOf(renderer), {
    rows: three.bufferOf(renderer, rows), order: three.bufferOf(renderer, order),
  });
  const draw = { buffer: three.bufferOf(renderer, indirect), offset: 0 };
  const viewProjection = new Matrix4();
  renderer.setAnimationLoop(() => {
    camera.position.set(...eye(sorted.frame));
    camera.lookAt(0, 0, 0);
    camera.updateMatrixWorld();
    viewProjection.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
    sorted.sort(viewProjection.elements, draw);
    renderer.render(scene, camera);
  });
}

start().catch(fail);
