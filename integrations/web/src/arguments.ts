/**
 * Checks what JavaScript passes, before it is used: a table for each object says what its parts
 * are. The messages name the argument or the part, as the caller wrote it.
 */

import { InvalidArgumentError } from './errors.js';
import { KEY_TYPES, MERGE_TYPES, SUM_TYPES } from './keys.js';
import { Scratch } from './scratch.js';

/** Fails unless a value is what an argument of this name must be. */
export type Check = (value: unknown, name: string) => void;

const U32 = 2 ** 32 - 1;

export function refuse(message: string, code = 'InvalidArgument'): never {
  throw new InvalidArgumentError(code, message);
}

/** A value in a message: a number or a short text itself, and otherwise of which kind it is. */
function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
    case 'bigint':
      return `${value}n`;
    case 'function':
      return 'a function';
    case 'symbol':
      return 'a symbol';
    case 'object':
      if (Array.isArray(value)) {
        return `an array of ${value.length}`;
      }
      return value === null ? 'null' : `of the class ${classOf(value)}`;
    default:
      return Object.is(value, -0) ? '-0' : String(value);
  }
}

function classOf(value: object): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

function must(be: string, value: unknown, name: string, more = ''): never {
  return refuse(`${name} must be ${be}, but is ${shown(value)}${more}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Whether a value has these methods. (Not by its class: a page may have several realms.) */
function has(value: unknown, ...methods: string[]): value is Record<string, unknown> {
  return isObject(value) && methods.every((name) => typeof value[name] === 'function');
}

export const isBoolean: Check = (value, name) => {
  if (typeof value !== 'boolean') {
    must('true or false', value, name);
  }
};

export const isText: Check = (value, name) => {
  if (typeof value !== 'string') {
    must('a string', value, name);
  }
};

/** A whole number, a multiple of `step`. */
export function whole(least = 0, most = U32, step = 1): Check {
  const multiple = step > 1 ? `, a multiple of ${step}` : '';
  const be = most === Infinity
    ? `a whole number that is not negative${multiple}`
    : `a whole number from ${least} to ${most}${multiple}`;
  return (value, name) => {
    const isRight = Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
      && Number(value) % step === 0;
    if (!isRight) {
      must(be, value, name);
    }
  };
}

export function oneOf(names: readonly unknown[]): Check {
  return (value, name) => {
    if (!names.includes(value)) {
      must(`one of ${names.join(', ')}`, value, name);
    }
  };
}

const isNumber: Check = (value, name) => {
  if (!Number.isFinite(value)) {
    must('a finite number', value, name);
  }
};

/** A check that a part may also be left out. */
export function optional(check: Check): Check {
  return (value, name) => {
    if (value !== undefined) {
      check(value, name);
    }
  };
}

function array(item: Check, length?: number): Check {
  const be = length === undefined ? 'an array' : `an array of ${length}`;
  return (value, name) => {
    if (!Array.isArray(value) || (length !== undefined && value.length !== length)) {
      must(be, value, name);
    }
    // (By index: iteration passes over the holes.)
    for (let i = 0; i < (value as unknown[]).length; i += 1) {
      item((value as unknown[])[i], `${name}[${i}]`);
    }
  };
}

/** An object that has no other parts than these. `prefix` stands before the names of its parts. */
export function object(parts: Record<string, Check>, prefix?: string): Check {
  const all = Object.keys(parts);
  return (value, name) => {
    // (A Map, say, has none of these parts, and whoever passes one meant something by it.)
    if (!isObject(value) || classOf(value) !== 'Object') {
      must('an object', value, name);
    }
    const unknown = Object.keys(value as object).find((part) => !all.includes(part));
    if (unknown !== undefined) {
      refuse(`${name} has no part ${JSON.stringify(unknown)}: its parts are ${all.join(', ')}`);
    }
    for (const part of all) {
      const full = `${prefix ?? `${name}.`}${part}`;
      parts[part]!((value as Record<string, unknown>)[part], full);
    }
  };
}

/** A buffer with this usage. `be`: what a value must be that is none. */
function bufferFor(usage: 'STORAGE' | 'UNIFORM', needed: string, be = 'a GPUBuffer'): Check {
  return (value, name) => {
    if (!has(value, 'mapAsync', 'destroy')) {
      const more = ArrayBuffer.isView(value)
        ? ': sort and argsort take arrays, and prepare takes buffers of the GPU'
        : '';
      must(be, value, name, more);
    }
    const { usage: usages } = value as unknown as GPUBuffer;
    if ((Number(usages) & GPUBufferUsage[usage]) === 0) {
      refuse(`${name} is a GPUBuffer without the usage ${usage}, ${needed}`, 'BufferUsage');
    }
  };
}

/** A buffer with this usage, or a range of one. */
function rangeFor(usage: 'STORAGE' | 'UNIFORM', needed: string): Check {
  const be = 'a GPUBuffer, or a range { buffer, offset, size } of one';
  const isBuffer = bufferFor(usage, needed, be);
  const isRangeObject = object({
    buffer: isBuffer,
    offset: optional(whole(0, Infinity)),
    size: optional(whole(0, Infinity)),
  });
  return (value, name) => {
    const isPlain = isObject(value) && 'buffer' in value && !ArrayBuffer.isView(value);
    (isPlain ? isRangeObject : isBuffer)(value, name);
  };
}

const isRange = rangeFor('STORAGE', 'which sorts need');

const isPayload = array(object({
  rows: isRange,
  bytes: whole(4, U32 - 3, 4),
  output: optional(isRange),
  firsts: optional(isRange),
}));

const isField = object({ stride: whole(), offset: whole() });

const isSearch = object({ needles: isRange, count: whole(0, Infinity), places: isRange });

const isScratch: Check = (value, name) => {
  if (!(value instanceof Scratch)) {
    must('a Scratch', value, name);
  }
};

const isWgsl: Check = (value, name) => {
  if (typeof value !== 'string') {
    const more = typeof value === 'function' ? ': the GPU runs no JavaScript' : '';
    must('a string of WGSL', value, name, more);
  }
};

export const isJob = object({
  keys: isRange,
  type: optional(oneOf(KEY_TYPES)),
  length: whole(0, Infinity),
  descending: optional(isBoolean),
  field: optional(isField),
  bits: optional(array(whole(), 2)),
  comparator: optional(isWgsl),
  output: optional(isRange),
  keepKeys: optional(isBoolean),
  indices: optional(isRange),
  values: optional(isRange),
  payload: optional(isPayload),
  top: optional(whole(0, Infinity)),
  range: optional(array(whole(0, Infinity), 2)),
  count: optional(isRange),
  segments: optional(object({ offsets: isRange, count: whole() })),
  sorted: optional(isBoolean),
  runs: optional(object({
    count: isRange,
    starts: optional(isRange),
    lengths: optional(isRange),
    keys: optional(isRange),
  })),
  unique: optional(object({ keys: isRange, count: isRange })),
  startsOf: optional(object({ table: isRange, cells: whole() })),
  lowerBound: optional(isSearch),
  upperBound: optional(isSearch),
  scratch: optional(isScratch),
}, '');

export const isCompactJob = object({
  flags: isRange,
  type: optional(oneOf(KEY_TYPES)),
  length: whole(0, Infinity),
  field: optional(isField),
  predicate: optional(isWgsl),
  kept: isRange,
  indices: optional(isRange),
  payload: optional(array(object({ rows: isRange, bytes: whole(4, U32 - 3, 4), output: isRange }))),
  count: optional(isRange),
  scratch: optional(isScratch),
}, '');

export const isScanJob = object({
  values: isRange,
  type: oneOf(SUM_TYPES),
  length: whole(0, Infinity),
  exclusive: optional(isBoolean),
  output: optional(isRange),
  count: optional(isRange),
  scratch: optional(isScratch),
}, '');

export const isTopKJob = object({
  keys: isRange,
  type: oneOf(KEY_TYPES),
  length: whole(0, Infinity),
  k: whole(1, 1024),
  descending: optional(isBoolean),
  field: optional(isField),
  bits: optional(array(whole(), 2)),
  rows: optional(whole()),
  segments: optional(object({ offsets: isRange, count: whole() })),
  output: optional(isRange),
  indices: optional(isRange),
}, '');

const isMergeInput = object({
  keys: isRange,
  length: whole(0, Infinity),
  values: optional(isRange),
  count: optional(isRange),
});

export const isMergeJob = object({
  type: oneOf(MERGE_TYPES),
  descending: optional(isBoolean),
  first: isMergeInput,
  second: isMergeInput,
  output: object({ keys: isRange, values: optional(isRange) }),
  scratch: optional(isScratch),
}, '');

const isArrays = array(isRange, 3);

const isStrided = object({ rows: isRange, stride: whole(), offset: optional(whole()) });

const isPositions: Check = (value, name) => {
  if (!Array.isArray(value) && (!isObject(value) || classOf(value) !== 'Object')) {
    must('the buffers [x, y, z], or an object { rows, stride, offset }', value, name);
  }
  (Array.isArray(value) ? isArrays : isStrided)(value, name);
};

const isBits = oneOf([16, 32]);

const isKey32 = object({ bits: isBits });

const isKey16 = object({ bits: isBits, nearest: isNumber, farthest: isNumber });

export const isSplats = object({
  positions: isPositions,
  length: whole(),
  camera: rangeFor('UNIFORM', 'which a matrix needs'),
  depth: optional(oneOf(['w', 'z', 'reversed-z'])),
  key: optional((value, name) =>
    (isObject(value) && value['bits'] === 16 ? isKey16 : isKey32)(value, name)),
  order: optional(oneOf(['far-to-near', 'near-to-far'])),
  margin: optional(isNumber),
  vertices: optional(whole()),
  orderBuffer: optional(bufferFor('STORAGE', 'which the order needs')),
  scratch: optional(isScratch),
}, '');

const isOptions = (parts: Record<string, Check>): Check => {
  const check = object(parts, '');
  return (value, name) => {
    if (typeof value === 'function') {
      must('an object', value, name, ': the GPU runs no JavaScript; { descending: true } sorts '
        + 'from the greatest key on, and a job takes a comparator in WGSL');
    }
    check(value, name);
  };
};

export const isOrderOptions = isOptions({ descending: optional(isBoolean) });

export const isTopOptions = isOptions({ largest: optional(isBoolean) });

export const isSorterOptions = isOptions({
  isFallbackAdapter: optional(isBoolean),
  wasm: optional((value, name) => {
    if (typeof value !== 'string' && !isObject(value)) {
      must('an address, bytes or a WebAssembly.Module', value, name);
    }
  }),
  tile: optional(whole()),
  keysPerDispatch: optional(whole()),
});

export const isAdapterOptions = isOptions({
  featureLevel: optional(isText),
  powerPreference: optional(oneOf(['low-power', 'high-performance'])),
  forceFallbackAdapter: optional(isBoolean),
  xrCompatible: optional(isBoolean),
});

export const keyTypeNamed = oneOf(KEY_TYPES);

export const isDevice: Check = (value, name) => {
  const isDevice = has(value, 'createBuffer', 'pushErrorScope') && has(value.lost, 'then')
    && isObject(value.limits);
  if (!isDevice) {
    const more = has(value, 'then')
      ? ': await it'
      : has(value, 'requestDevice')
        ? ': await its requestDevice()'
        : '';
    must('a GPUDevice', value, name, more);
  }
};

/** A sorter, which is not checked by its class: this module is below it. */
export const isSorter: Check = (value, name) => {
  if (!has(value, 'prepare', 'prepareOwning')) {
    const more = has(value, 'then')
      ? ': await it'
      : has(value, 'createBuffer') ? ': make one of the device, by Sorter.create(device)' : '';
    must('a Sorter', value, name, more);
  }
};

export const isEncoder: Check = (value, name) => {
  if (!has(value, 'beginComputePass')) {
    must('a GPUCommandEncoder', value, name);
  }
};

export const isPass: Check = (value, name) => {
  if (!has(value, 'dispatchWorkgroups')) {
    must('a GPUComputePassEncoder', value, name);
  }
};

export const isPassDescriptor = object({
  timestampWrites: optional(object({
    querySet: (value, name) => {
      if (!has(value, 'destroy') || !('count' in value)) {
        must('a GPUQuerySet', value, name);
      }
    },
    beginningOfPassWriteIndex: optional(whole()),
    endOfPassWriteIndex: optional(whole()),
  })),
});
