/** Runs plans on a device: compiles kernels, makes buffers and bind groups, and records steps. */

import {
  DeviceLostError, DisposedError, InvalidArgumentError, OutOfMemoryError, SortError, planned,
} from './errors.js';
import type { Plan as NativePlan } from './planner/planner.js';
import { Scratch } from './scratch.js';

/** Bytes of the parameters of a step. */
const PARAMETER_BLOCK = 256;

/** Milliseconds in which browsers announce that a device was lost. Firefox takes up to 100. */
const LOSS = 250;

/** A plan, as the planner writes it. */
interface Plan {
  /** What is bound of each buffer of the user. */
  bindings: Record<string, { offset: number; size: number }>;
  /** Bytes of each scratch buffer. */
  buffers: Record<string, number>;
  scratchBytes: number;
  /** What names the texts of kernels, once each. */
  kernels: string[];
  steps: Step[];
  /** The first step of each submission, and the number of all. */
  submissions: number[];
}

interface Step {
  /** The number of its kernel. */
  kernel: number;
  workgroups: [number, number];
  bindings: Record<string, string>;
  isCounted: boolean;
  parameters: number;
}

/** The uniform with a step's parameters. Any other is a buffer of the user. */
const PARAMETERS = 'params';

interface Kernel {
  label: string;
  wgsl: string;
  entryPoint?: string;
  bindings: { binding: number; name: string; type: GPUBufferBindingType }[];
}

interface Compiled {
  kernel: Kernel;
  layout: GPUBindGroupLayout;
  pipeline: GPUComputePipeline;
}

/** What a step sets and dispatches. */
interface Dispatch {
  pipeline: GPUComputePipeline;
  group: GPUBindGroup;
  workgroups: [number, number];
}

/** A device, with the kernels that were compiled on it, and whether it was lost. */
export class Executor {
  readonly device: GPUDevice;
  #lost: GPUDeviceLostInfo | undefined;
  #kernels = new Map<string, Promise<Compiled>>();

  constructor(device: GPUDevice) {
    this.device = device;
    void device.lost.then((info) => (this.#lost = info));
  }

  /** Fails if the device is lost. */
  check(): void {
    if (this.#lost) {
      const { message, reason } = this.#lost;
      throw new DeviceLostError('DeviceLost', `the device was lost: ${message || reason}`);
    }
  }

  /**
   * Does work on the device. Whatever fails, fails as a {@link SortError}: as that of a lost
   * device, if it is lost.
   */
  async attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof SortError && cause.code !== 'Device') {
        throw cause;
      }
      await this.#checkSoon();
      if (cause instanceof SortError) {
        throw cause;
      }
      const message = `the device refused a call: ${(cause as Error).message}`;
      throw new SortError('Device', message, { cause });
    }
  }

  /** Fails if the device is lost: a loss may be announced only after the calls that it fails. */
  async #checkSoon(): Promise<void> {
    await Promise.race([this.device.lost, new Promise((after) => setTimeout(after, LOSS))]);
    this.check();
  }

  /** Calls WebGPU, and throws what it finds wrong, instead of passing it to the page's handler. */
  async scoped<T>(call: () => T, bytes = 0): Promise<T> {
    this.check();
    const { device } = this;
    const filters = ['validation', 'out-of-memory', 'internal'] as const;
    filters.forEach((filter) => device.pushErrorScope(filter));
    let made: T;
    let errors: Promise<GPUError | null>[] = [];
    try {
      made = call();
    } finally {
      // At once: what the page does until they are answered is not in the scopes.
      errors = filters.map(() => device.popErrorScope());
      // (After an exception nobody waits for them.)
      errors.forEach((error) => error.catch(() => {}));
    }
    const [error] = (await Promise.all(errors)).filter((error) => error !== null);
    this.check();
    if (!error) {
      return made;
    }
    if (error instanceof GPUOutOfMemoryError) {
      const message = `the device is out of memory: cannot allocate ${bytes} bytes`;
      throw new OutOfMemoryError('OutOfMemory', message, { cause: error });
    }
    throw new SortError('Device', `the device refused a call: ${error.message}`, { cause: error });
  }

  /** Fails if one of the user's buffers cannot be bound: the message names the first of them. */
  async #checkBuffers(buffers: Map<string, GPUBuffer>, names: Map<string, string>): Promise<void> {
    for (const [role, buffer] of buffers) {
      try {
        await this.scoped(() => {
          const isStorage = (buffer.usage & GPUBufferUsage.STORAGE) !== 0;
          const layout = this.device.createBindGroupLayout({
            entries: [{
              binding: 0,
              visibility: GPUShaderStage.COMPUTE,
              buffer: { type: isStorage ? 'read-only-storage' : 'uniform' },
            }],
          });
          const resource = { buffer, size: 4 };
          this.device.createBindGroup({ layout, entries: [{ binding: 0, resource }] });
        });
      } catch (cause) {
        const message = `${names.get(role)} is not a valid buffer of the sorter's device: it belongs to `
          + 'another device, or could not be made';
        throw new InvalidArgumentError('InvalidArgument', message, { cause });
      }
    }
  }

  /**
   * Makes the objects of a plan. `buffers` are the user's, by their names in the plan, and `names`
   * what the job calls those.
   */
  async prepare(
    native: NativePlan,
    buffers: Map<string, GPUBuffer>,
    names: Map<string, string>,
    scratch: Scratch | undefined,
  ): Promise<Prepared> {
    const plan = JSON.parse(native.json()) as Plan;
    const compiled = await this.#compile(native, plan);
    const memory = scratch ?? new Scratch();
    const parameters: GPUBuffer[] = [];
    let missing = new Map<string, GPUBuffer>();
    const make = () => {
      const parameterBuffer = (bytes: Uint8Array, usage: GPUBufferUsageFlags) => {
        // (WebGPU has no empty bindings.)
        const buffer = this.device.createBuffer({
          label: 'bcfsort.parameters',
          size: Math.max(bytes.length, PARAMETER_BLOCK),
          usage,
          mappedAtCreation: true,
        });
        parameters.push(buffer);
        new Uint8Array(buffer.getMappedRange()).set(bytes);
        buffer.unmap();
        return buffer;
      };
      const { UNIFORM, STORAGE } = GPUBufferUsage;
      const fixed = parameterBuffer(native.fixed(), UNIFORM);
      const indirect = parameterBuffer(native.indirect(), UNIFORM | STORAGE);
      missing = memory.missing(this.device, plan.buffers);
      const resource = (step: Step, { name, type }: Kernel['bindings'][number]) => {
        const role = step.bindings[name];
        if (role === undefined || role === 'parameters') {
          return type === 'uniform'
            ? { buffer: step.isCounted ? indirect : fixed, size: PARAMETER_BLOCK }
            : { buffer: indirect };
        }
        const binding = plan.bindings[role];
        const buffer = binding ? buffers.get(role) : missing.get(role) ?? memory.get(role);
        return { buffer: buffer!, ...(binding ?? { size: plan.buffers[role]! }) };
      };
      // Steps that use one kernel on the same buffers share a bind group.
      const groups = new Map<string, GPUBindGroup>();
      const dispatch = (step: Step): Dispatch => {
        const { kernel, layout, pipeline } = compiled[step.kernel]!;
        const key = JSON.stringify([step.kernel, step.bindings, step.isCounted]);
        let group = groups.get(key);
        if (!group) {
          group = this.device.createBindGroup({
            label: kernel.label,
            layout,
            entries: kernel.bindings.map((of) => ({
              binding: of.binding,
              resource: resource(step, of),
            })),
          });
          groups.set(key, group);
        }
        return { pipeline, group, workgroups: step.workgroups };
      };
      return plan.steps.map(dispatch);
    };
    try {
      const dispatches = plan.steps.length > 0
        ? await this.scoped(make, plan.scratchBytes)
        : [];
      memory.keep(missing);
      return new Prepared(plan, dispatches, () => {
        parameters.forEach((buffer) => buffer.destroy());
        if (!scratch) {
          memory.dispose();
        }
      });
    } catch (error) {
      [...parameters, ...missing.values()].forEach((buffer) => buffer.destroy());
      if (error instanceof SortError && error.code === 'Device') {
        await this.#checkSoon();
        await this.#checkBuffers(buffers, names);
      }
      throw error;
    }
  }

  /** The kernels of a plan, by their numbers. Those that are missing are compiled at once. */
  async #compile(native: NativePlan, plan: Plan): Promise<Compiled[]> {
    const compiled = plan.kernels.map(async (name, number) => {
      let kernel = this.#kernels.get(name);
      if (!kernel) {
        kernel = this.#compileKernel(JSON.parse(planned(() => native.kernel(number))) as Kernel);
        this.#kernels.set(name, kernel);
        // The next sort tries again.
        kernel.catch(() => this.#kernels.delete(name));
      }
      return kernel;
    });
    // (Every outcome is awaited, so that no failure is left without a handler.)
    await Promise.allSettled(compiled);
    return Promise.all(compiled);
  }

  async #compileKernel(kernel: Kernel): Promise<Compiled> {
    const { label, entryPoint } = kernel;
    const { device } = this;
    const [layout, descriptor] = await this.scoped(() => {
      const layout = device.createBindGroupLayout({
        label,
        entries: kernel.bindings.map(({ binding, name, type }) => ({
          binding,
          visibility: GPUShaderStage.COMPUTE,
          buffer: { type, hasDynamicOffset: name === PARAMETERS },
        })),
      });
      const module = device.createShaderModule({ label, code: kernel.wgsl });
      const pipelineLayout = device.createPipelineLayout({ label, bindGroupLayouts: [layout] });
      const compute = { module, ...(entryPoint !== undefined && { entryPoint }) };
      return [layout, { label, layout: pipelineLayout, compute }] as const;
    });
    try {
      const pipeline = await device.createComputePipelineAsync(descriptor);
      return { kernel, layout, pipeline };
    } catch (cause) {
      const { message } = cause as Error;
      throw new SortError('Device', `the device refused kernel ${label}: ${message}`, { cause });
    }
  }
}

/** The objects of a plan. */
export class Prepared {
  readonly scratchBytes: number;
  readonly #dispatches: Dispatch[];
  readonly #offsets: Uint32Array;
  readonly #submissions: number[];
  #release: (() => void) | undefined;

  constructor(plan: Plan, dispatches: Dispatch[], release: () => void) {
    this.scratchBytes = plan.scratchBytes;
    this.#dispatches = dispatches;
    this.#offsets = Uint32Array.from(plan.steps, (step) => step.parameters);
    this.#submissions = plan.submissions;
    this.#release = release;
  }

  get chunks(): number {
    return this.#dispatches.length > 0 ? this.#submissions.length - 1 : 0;
  }

  /** Fails if it was disposed of, or has no such chunk. */
  check(chunk = 0): void {
    if (!this.#release) {
      throw new DisposedError('Disposed', 'the prepared sort was disposed of');
    }
    if (chunk !== 0 && chunk >= this.chunks) {
      const message = `chunk is ${chunk}, but the sort has ${this.chunks} of them, from 0 on`;
      throw new InvalidArgumentError('InvalidArgument', message);
    }
  }

  /** Records the steps of a chunk, or all, into a pass. Makes no object. */
  encode(pass: GPUComputePassEncoder, chunk?: number): void {
    this.check(chunk);
    if (this.#dispatches.length === 0) {
      return;
    }
    const first = chunk === undefined ? 0 : this.#submissions[chunk]!;
    const end = chunk === undefined ? this.#dispatches.length : this.#submissions[chunk + 1]!;
    for (let i = first; i < end; i += 1) {
      const { pipeline, group, workgroups } = this.#dispatches[i]!;
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group, this.#offsets, i, 1);
      pass.dispatchWorkgroups(workgroups[0], workgroups[1]);
    }
  }

  dispose(): void {
    this.#release?.();
    this.#release = undefined;
  }
}
