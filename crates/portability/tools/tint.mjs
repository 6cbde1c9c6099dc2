//! Compiles WGSL with Tint, and makes pipelines of it on Dawn's null backend: no driver is needed.
//!
//! node tint.mjs PACKAGE: takes [{label, wgsl}] in JSON, gives {label: {messages, pipeline}}.

import { readFileSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { create, globals } = await import(pathToFileURL(process.argv[2]));
Object.assign(globalThis, globals);

// No feature and no limit is asked for: so these are the ones that every device has.
// Kept: were it collected, Dawn would crash below.
const gpu = create(['backend=null']);
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice();

const verdicts = {};
for (const { label, wgsl } of JSON.parse(readFileSync(0, 'utf8'))) {
  // Else the errors would go to standard error.
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ label, code: wgsl });
  const { messages } = await module.getCompilationInfo();
  const invalid = await device.popErrorScope();

  device.pushErrorScope('validation');
  if (!invalid) device.createComputePipeline({ label, layout: 'auto', compute: { module } });
  const refused = await device.popErrorScope();

  verdicts[label] = {
    messages: messages.map((m) => `${m.type}: ${m.lineNum}:${m.linePos}: ${m.message}`),
    pipeline: refused?.message ?? null,
  };
}
writeSync(1, JSON.stringify(verdicts));
device.destroy();
