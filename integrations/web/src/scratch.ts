/** Scratch memory. */

import { InvalidArgumentError } from './errors.js';

/**
 * Scratch memory that several sorts share: of each kind of buffer as much as the sort that needs
 * most of it. The sorts must not run at the same time; sorts that are submitted one after the
 * other do not. Prepare the largest one first. It belongs to one device.
 */
export class Scratch {
  #buffers = new Map<string, GPUBuffer>();
  /** Those that were too small for a later sort. Earlier sorts still use them. */
  #outgrown: GPUBuffer[] = [];
  /** Of the buffers. */
  #device: GPUDevice | undefined;

  /** Bytes of device memory. */
  get bytes(): number {
    const buffers = [...this.#buffers.values(), ...this.#outgrown];
    return buffers.reduce((bytes, buffer) => bytes + buffer.size, 0);
  }

  /**
   * Makes the buffers that are missing or smaller than these sizes. They are not part of the
   * memory before they are {@link keep kept}.
   *
   * @internal
   */
  missing(device: GPUDevice, sizes: Record<string, number>): Map<string, GPUBuffer> {
    if (this.#buffers.size > 0 && this.#device !== device) {
      const message = 'scratch belongs to another device: its memory was made for a sort there';
      throw new InvalidArgumentError('InvalidArgument', message);
    }
    this.#device = device;
    const made = new Map<string, GPUBuffer>();
    for (const [role, size] of Object.entries(sizes)) {
      const buffer = this.#buffers.get(role);
      if (!buffer || buffer.size < size) {
        const usage = GPUBufferUsage.STORAGE;
        made.set(role, device.createBuffer({ label: `bcfsort.${role}`, size, usage }));
      }
    }
    return made;
  }

  /** @internal */
  get(role: string): GPUBuffer | undefined {
    return this.#buffers.get(role);
  }

  /** @internal */
  keep(made: Map<string, GPUBuffer>): void {
    for (const [role, buffer] of made) {
      const before = this.#buffers.get(role);
      if (before) {
        this.#outgrown.push(before);
      }
      this.#buffers.set(role, buffer);
    }
  }

  /** Frees the memory. The sorts that were prepared with it can no longer run. */
  dispose(): void {
    [...this.#buffers.values(), ...this.#outgrown].forEach((buffer) => buffer.destroy());
    this.#buffers.clear();
    this.#outgrown = [];
  }
}
