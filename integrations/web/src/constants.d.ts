/**
 * The flags of WebGPU, as globals: the library `dom` of TypeScript 7 has only their types. Not for
 * programs with the package `@webgpu/types`, which declares them, too.
 */

export {};

declare global {
  const GPUBufferUsage: {
    readonly MAP_READ: 0x1;
    readonly MAP_WRITE: 0x2;
    readonly COPY_SRC: 0x4;
    readonly COPY_DST: 0x8;
    readonly INDEX: 0x10;
    readonly VERTEX: 0x20;
    readonly UNIFORM: 0x40;
    readonly STORAGE: 0x80;
    readonly INDIRECT: 0x100;
    readonly QUERY_RESOLVE: 0x200;
  };

  const GPUMapMode: {
    readonly READ: 0x1;
    readonly WRITE: 0x2;
  };

  const GPUShaderStage: {
    readonly VERTEX: 0x1;
    readonly FRAGMENT: 0x2;
    readonly COMPUTE: 0x4;
  };

  const GPUTextureUsage: {
    readonly COPY_SRC: 0x1;
    readonly COPY_DST: 0x2;
    readonly TEXTURE_BINDING: 0x4;
    readonly STORAGE_BINDING: 0x8;
    readonly RENDER_ATTACHMENT: 0x10;
  };

  const GPUColorWrite: {
    readonly RED: 0x1;
    readonly GREEN: 0x2;
    readonly BLUE: 0x4;
    readonly ALPHA: 0x8;
    readonly ALL: 0xf;
  };
}
