/** The flags of WebGPU, which the library `dom` has as types only. */

declare const GPUBufferUsage: Readonly<
  Record<'MAP_READ' | 'COPY_SRC' | 'COPY_DST' | 'UNIFORM' | 'STORAGE', number>
>;
declare const GPUMapMode: Readonly<Record<'READ', number>>;
declare const GPUShaderStage: Readonly<Record<'COMPUTE', number>>;
