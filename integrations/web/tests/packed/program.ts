/** A program in TypeScript of someone who installed the package. */

import { Sorter, requestDevice, type SortJob } from 'wgpu-bcfsort';
import type {} from 'wgpu-bcfsort/constants';

const sorter = await Sorter.create(await requestDevice());
const usage: number = GPUBufferUsage.STORAGE;
const keys = sorter.device.createBuffer({ size: 64, usage });
export const job: SortJob = { keys, type: 'u32', length: 16 };
export const sorted: Float32Array = await sorter.sort(Float32Array.of(2, 1));
