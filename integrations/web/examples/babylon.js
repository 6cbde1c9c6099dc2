/** Transparent points in Babylon.js, drawn back to front in each frame. */

import { StorageBuffer } from '@babylonjs/core/Buffers/storageBuffer.js';
import { TargetCamera } from '@babylonjs/core/Cameras/targetCamera.js';
import { WebGPUEngine } from '@babylonjs/core/Engines/webgpuEngine.js';
import { ShaderMaterial } from '@babylonjs/core/Materials/shaderMaterial.js';
import { ShaderLanguage } from '@babylonjs/core/Materials/shaderLanguage.js';
import { Color4 } from '@babylonjs/core/Maths/math.color.js';
import { Vector3 } from '@babylonjs/core/Maths/math.vector.js';
import { Mesh } from '@babylonjs/core/Meshes/mesh.js';
import { VertexData } from '@babylonjs/core/Meshes/mesh.vertexData.js';
import { Scene } from '@babylonjs/core/scene.js';
import { babylon } from './adapters.js';
import { LENGTH, Order, SIZE, cloud, eye, fail } from './cloud.js';

const VERTEX = /* wgsl */ `
attribute position : vec3f;
uniform view : mat4x4f;
uniform projection : mat4x4f;
varying hue : f32;
varying away : vec2f;
var<storage, read> rows : array<vec4f>;
var<storage, read> order : array<u32>;

@vertex
fn main(input : VertexInputs) -> FragmentInputs {
  let point = rows[order[vertexInputs.instanceIndex]];
  let corner = vec4f(${SIZE} * vertexInputs.position, 0.0);
  vertexOutputs.position =
    uniforms.projection * (uniforms.view * vec4f(point.xyz, 1.0) + corner);
  vertexOutputs.hue = point.w;
  vertexOutputs.away = vertexInputs.position.xy;
}
`;

const FRAGMENT = /* wgsl */ `
varying hue : f32;
varying away : vec2f;

@fragment
fn main(input : FragmentInputs) -> FragmentOutputs {
  let thirds = vec3f(0.0, 1.0, 2.0) / 3.0;
  let color = 0.5 + 0.45 * cos(${2 * Math.PI} * (fragmentInputs.hue + thirds));
  let opacity = 0.7 * exp(-3.0 * dot(fragmentInputs.away, fragmentInputs.away));
  fragmentOutputs.color = vec4f(color, opacity);
}
`;

async function start() {
  const engine = new WebGPUEngine(document.getElementById('canvas'), { antialias: false });
  await engine.initAsync();
  engine.resize();

  // The buffers are Babylon's own.
  const rows = new StorageBuffer(engine, 16 * LENGTH);
  rows.update(cloud());
  const order = new StorageBuffer(engine, 4 * LENGTH);

  const scene = new Scene(engine);
  scene.useRightHandedSystem = true;
  scene.clearColor = Color4.FromHexString('#0b1020ff');
  const camera = new TargetCamera('camera', new Vector3(...eye(0)), scene);
  [camera.fov, camera.minZ, camera.maxZ] = [Math.PI / 4, 0.1, 100];

  const material = new ShaderMaterial('points', scene, {
    vertexSource: VERTEX, fragmentSource: FRAGMENT,
  }, {
    attributes: ['position'],
    uniforms: ['view', 'projection'],
    storageBuffers: ['rows', 'order'],
    shaderLanguage: ShaderLanguage.WGSL,
    needAlphaBlending: true,
  });
  material.setStorageBuffer('rows', rows);
  material.setStorageBuffer('order', order);
  material.backFaceCulling = false;
  material.disableDepthWrite = true;
  const mesh = new Mesh('points', scene);
  const square = new VertexData();
  square.positions = [-1, -1, 0, 1, -1, 0, -1, 1, 0, 1, 1, 0];
  square.indices = [0, 1, 2, 2, 1, 3];
  square.applyToMesh(mesh);
  mesh.material = material;
  mesh.alwaysSelectAsActiveMesh = true;
  // (Babylon has no indirect draws of meshes. Points that are not seen are the last ones in order.)
  mesh.forcedInstanceCount = LENGTH;

  const name = `Babylon.js ${WebGPUEngine.Version}`;
  const sorted = await Order.create(name, babylon.deviceOf(engine), {
    rows: babylon.bufferOf(rows), order: babylon.bufferOf(order),
  });
  engine.runRenderLoop(() => {
    camera.position.set(...eye(sorted.frame));
    camera.setTarget(Vector3.Zero());
    sorted.sort(camera.getTransformationMatrix().asArray());
    scene.render();
  });
}

start().catch(fail);
