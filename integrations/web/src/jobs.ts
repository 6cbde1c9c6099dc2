/** The jobs: what they are made of, and their descriptions for the planner. */

import { refuse } from './arguments.js';
import type { KeyType, MergeType, SumType } from './keys.js';
import type { Scratch } from './scratch.js';

/** A buffer, or a range of it in bytes. A range begins at a multiple of the size of its items. */
export type BufferRange = GPUBuffer | { buffer: GPUBuffer; offset?: number; size?: number };

/** The parts of a job that combine freely with all others. */
interface JobParts {
  /** The keys, or the structs that they are fields of. The buffer's usage has `STORAGE`. */
  keys: BufferRange;
  /** The number of keys; with a {@link count}, the most that there can be. */
  length: number;
  /** From the greatest key to the smallest. */
  descending?: boolean;
  /** Where the index of each key is written, a u32, in sorted order. Stable. */
  indices?: BufferRange;
  /** A u32 that moves with each key. Values of equal keys are in no particular order. */
  values?: BufferRange;
  /**
   * Rows of bytes that move with the keys, each kind in a buffer of its own. Stable. `firsts`, with
   * {@link Found runs}: where the row of each run's first record is written.
   */
  payload?: { rows: BufferRange; bytes: number; output?: BufferRange; firsts?: BufferRange }[];
  /** A u32 on the GPU with the number of keys (indirect count). */
  count?: BufferRange;
  /** Scratch memory that other sorts share. */
  scratch?: Scratch;
}

/** Parts that a job of some kind does not have. */
type Without<Parts extends string> = { [Part in Parts]?: undefined };

/** The parts that need keys which are all in order. */
type FoundPart = 'runs' | 'unique' | 'startsOf' | 'lowerBound' | 'upperBound';

/** What is compared. */
interface Keyed {
  /** The type of the keys. */
  type: KeyType;
  /** Where a key is in its struct, in bytes. The structs are what moves. */
  field?: { stride: number; offset: number };
  /**
   * Only these bits of `u32` keys count, from the first to before the second: keys that differ in
   * others alone keep their order. At most 16 bits are sorted faster.
   */
  bits?: [number, number];
  comparator?: undefined;
}

interface Compared extends Without<FoundPart> {
  /**
   * A custom order of structs in WGSL: a struct of any name, and a function
   * `fn precedes(a: Row, b: Row) -> bool`.
   */
  comparator: string;
  type?: undefined;
  field?: undefined;
  bits?: undefined;
}

/** Where sorted keys are written: without either part, in place. */
interface Written {
  /** Where sorted keys are written, in place of `keys`. */
  output?: BufferRange;
  keepKeys?: false;
  sorted?: false;
}

interface Kept {
  /** Leaves the keys as they are: only indices, values and payload are written. */
  keepKeys: boolean;
  output?: undefined;
  sorted?: false;
}

interface InOrder extends Without<'output' | 'keepKeys' | 'indices' | 'values'> {
  /** The keys are in order already: nothing is sorted, and things are only found among them. */
  sorted: true;
}

/** What is limited. */
interface Segmented extends Without<FoundPart> {
  /** Sorts each segment by itself: u32 offsets of their first keys. */
  segments?: { offsets: BufferRange; count: number };
}

interface Ranked extends Segmented {
  /** Only the first so many ranks must be in order (top-k): of all keys, or in each segment. */
  top?: number;
  range?: undefined;
}

interface InRange extends Segmented {
  /** Only these ranks must be in order, from the first to before the second. */
  range: [number, number];
  top?: undefined;
}

/** What is found among the keys once they are sorted. */
interface Cells extends Without<'top' | 'range' | 'segments'> {
  /**
   * For unsigned keys that are numbers of cells: writes to `table`, for each number from 0 to
   * `cells`, how many records precede it, a u32. Cell c has the records from `table[c]` to before
   * `table[c + 1]`. The table has `cells + 1` words.
   */
  startsOf?: { table: BufferRange; cells: number };
}

/**
 * Runs of equal keys: of those with all bits equal that count. Each buffer but the number has room
 * for as many runs as there are records.
 */
interface InRuns extends Without<'unique'> {
  /** Writes their number, a u32, and on request the first rank, the length and the key of each. */
  runs?: {
    count: BufferRange;
    starts?: BufferRange;
    lengths?: BufferRange;
    keys?: BufferRange;
  };
}

interface Unique extends Without<'runs'> {
  /** Writes each key once, and their number, a u32: short for `runs: { count, keys }`. */
  unique: { keys: BufferRange; count: BufferRange };
}

/** Other keys, of the same type and in any order, and where their places are written, as u32. */
export interface Search {
  needles: BufferRange;
  /** The number of needles. */
  count: number;
  places: BufferRange;
}

interface Lower extends Without<'upperBound'> {
  /** The place of a needle is the number of keys that precede it. */
  lowerBound?: Search;
}

interface Upper extends Without<'lowerBound'> {
  /** The place of a needle is the number of keys that it does not precede. */
  upperBound: Search;
}

type Found = Cells & (InRuns | Unique) & (Lower | Upper);

/** One sort of GPU buffers: where keys are, what comes out, and what is limited. */
export type SortJob =
  JobParts & (Keyed | Compared) & (Written | Kept | InOrder)
  & (Ranked | InRange | Found);

interface Flagged {
  /** The type of the flags. */
  type: KeyType;
  /** Where a flag is in its struct, in bytes. */
  field?: { stride: number; offset: number };
  predicate?: undefined;
}

interface Tested {
  /**
   * Which structs are kept, in WGSL: a struct of any name, and a function
   * `fn keeps(row: Row) -> bool`.
   */
  predicate: string;
  type?: undefined;
  field?: undefined;
}

/** Stream compaction: which records are kept, and what is written of them, in their order. */
export type CompactJob = CompactParts & (Flagged | Tested);

interface CompactParts {
  /**
   * Numbers, or structs with a `field`: records are kept where any bit is set. Or the structs that
   * a `predicate` reads.
   */
  flags: BufferRange;
  /** The number of records; with a {@link count}, the most that there can be. */
  length: number;
  /** Where the number of records that are kept is written, a u32. */
  kept: BufferRange;
  /** Where their indices are written, u32, in ascending order. Has room for all records. */
  indices?: BufferRange;
  /** Rows of bytes. Those of kept records are written to `output`, which has room for all. */
  payload?: { rows: BufferRange; bytes: number; output: BufferRange }[];
  /** A u32 on the GPU with the number of records (indirect count). */
  count?: BufferRange;
  /** Scratch memory that sorts share. */
  scratch?: Scratch;
}

/** Prefix sums: the sum of each value and all before it. */
export interface ScanJob {
  /** The values. Without {@link output} the sums take their places. */
  values: BufferRange;
  /** Their type. Integers wrap around. */
  type: SumType;
  /** The number of values; with a {@link count}, the most that there can be. */
  length: number;
  /** A sum is that of the values before its own: the first one is 0. */
  exclusive?: boolean;
  /** Where sums are written, in place of `values`. */
  output?: BufferRange;
  /** A u32 on the GPU with the number of values (indirect count). */
  count?: BufferRange;
  /** Scratch memory that sorts share. */
  scratch?: Scratch;
}

interface TopKParts {
  /** The keys of all rows or segments, or the structs that they are fields of. Read-only. */
  keys: BufferRange;
  /** Their type. */
  type: KeyType;
  /** The number of keys in all. */
  length: number;
  /** How many of each row or segment are written: 1 to 1024. */
  k: number;
  /** From the greatest key to the smallest: the largest k. */
  descending?: boolean;
  /** Where a key is in its struct, in bytes. */
  field?: { stride: number; offset: number };
  /** Only these bits of `u32` keys count, from the first to before the second. */
  bits?: [number, number];
  /** Where keys of 32 or 64 bits are written, k for each row or segment. */
  output?: BufferRange;
  /** Where the index of each among all keys is written, a u32, k for each row or segment. */
  indices?: BufferRange;
}

interface OfRows {
  /** The number of rows, which have equal lengths: up to 2^20 keys. */
  rows: number;
  segments?: undefined;
}

interface OfSegments {
  /**
   * u32 offsets of the first keys of segments, which end where the next one begins. Of a segment
   * with fewer than k keys, the rest of what is written for it stays as it is.
   */
  segments: { offsets: BufferRange; count: number };
  rows?: undefined;
}

/** The first k keys of each row of a matrix, or of each segment: stable, in one dispatch. */
export type TopKJob = TopKParts & (OfRows | OfSegments);

/** One of the two inputs of a merge. */
export interface MergeInput {
  /** The keys, in order. They are only read. */
  keys: BufferRange;
  /** Their number; with a {@link count}, the most that there can be. */
  length: number;
  /** A u32 for each key, which moves with it. */
  values?: BufferRange;
  /** A u32 on the GPU with the number of keys (indirect count): for both inputs, or for none. */
  count?: BufferRange;
}

/**
 * A merge of two sorted inputs. Of equal keys, those of the first input come first. Both inputs may
 * be ranges of one buffer.
 */
export interface MergeJob {
  /** The type of the keys, of 32 or 64 bits. */
  type: MergeType;
  /** Both inputs are in descending order. */
  descending?: boolean;
  first: MergeInput;
  second: MergeInput;
  /** Where merged keys are written, and the values of both inputs if they have any. */
  output: { keys: BufferRange; values?: BufferRange };
  /** Scratch memory that sorts share. */
  scratch?: Scratch;
}

/** What the planner and the executor get of a job. */
export interface Description {
  /** The job for the planner, as JSON. */
  text: string;
  /** The buffers, by their names in plans. */
  buffers: Map<string, GPUBuffer>;
  /** What the job calls them. */
  names: Map<string, string>;
}

/** The buffers of a job. */
export class Buffers {
  readonly #buffers = new Map<string, GPUBuffer>();
  readonly #names = new Map<string, string>();
  readonly #numbers = new Map<GPUBuffer, number>();

  /** Describes a range. Plans call it `role`, and the job `name`. */
  range(role: string, of: BufferRange | undefined, name = role): object | undefined {
    if (!of) {
      return undefined;
    }
    const { buffer, offset = 0, size } = 'buffer' in of ? of : { buffer: of };
    this.#buffers.set(role, buffer);
    this.#names.set(role, name);
    const number = this.#numbers.get(buffer) ?? this.#numbers.size;
    this.#numbers.set(buffer, number);
    const bufferSize = buffer.size;
    return { buffer: number, offset, size: size ?? Math.max(bufferSize - offset, 0), bufferSize };
  }

  /** A description with these ranges. */
  describe(job: object): Description {
    const names = Object.fromEntries(this.#names);
    const text = JSON.stringify({ ...job, names });
    return { text, buffers: this.#buffers, names: this.#names };
  }
}

export function describeSort(job: SortJob): Description {
  const { type, length, descending, field, bits, comparator, keepKeys, sorted } = job;
  const { payload = [], values, top, range, segments, startsOf } = job;
  const { runs, unique, lowerBound, upperBound } = job;
  const alternatives = { top, range, runs, unique, lowerBound, upperBound };
  for (const [one, other] of [
    ['top', 'range'], ['runs', 'unique'], ['lowerBound', 'upperBound'],
  ] as const) {
    if (alternatives[one] !== undefined && alternatives[other] !== undefined) {
      refuse(`a job has either ${one} or ${other}`);
    }
  }
  const buffers = new Buffers();
  const rows = payload.map((of, i) => ({ ...of, name: `payload[${i}].rows`, unstable: false }));
  if (values) {
    rows.push({ rows: values, bytes: 4, name: 'values', unstable: true });
  }
  const ofRuns: SortJob['runs'] = runs ?? unique;
  const [run, search] = [runs ? 'runs' : 'unique', lowerBound ? 'lowerBound' : 'upperBound'];
  const searched = lowerBound ?? upperBound;
  return buffers.describe({
    type, length, descending, field, bits, comparator, keepKeys, sorted,
    keys: buffers.range('keys', job.keys),
    output: buffers.range('output', job.output),
    indices: buffers.range('values', job.indices, 'indices'),
    count: buffers.range('count', job.count),
    payload: rows.map((of, i) => ({
      bytes: of.bytes,
      unstable: of.unstable,
      rows: buffers.range(`payload.${i}`, of.rows, of.name),
      output: buffers.range(`payload_output.${i}`, of.output, `payload[${i}].output`),
      firsts: buffers.range(`run_payload.${i}`, of.firsts, `payload[${i}].firsts`),
    })),
    range: range ?? (top === undefined ? undefined : [0, Math.min(top, length)]),
    segments: segments && {
      offsets: buffers.range('offsets', segments.offsets, 'segments.offsets'),
      count: segments.count,
    },
    runs: ofRuns && {
      count: buffers.range('run_count', ofRuns.count, `${run}.count`),
      starts: buffers.range('run_starts', ofRuns.starts, `${run}.starts`),
      lengths: buffers.range('run_lengths', ofRuns.lengths, `${run}.lengths`),
      keys: buffers.range('run_keys', ofRuns.keys, `${run}.keys`),
    },
    startsOf: startsOf && {
      table: buffers.range('cells', startsOf.table, 'startsOf.table'),
      cells: startsOf.cells,
    },
    search: searched && {
      needles: buffers.range('needles', searched.needles, `${search}.needles`),
      count: searched.count,
      places: buffers.range('places', searched.places, `${search}.places`),
      upper: !lowerBound,
    },
  });
}

/** A compaction is a job of sorted keys, whose runs begin at the flags. */
export function describeCompact(job: CompactJob): Description {
  const { type, length, field, predicate, payload = [] } = job;
  const buffers = new Buffers();
  return buffers.describe({
    type, length, field, predicate, sorted: true,
    keys: buffers.range('keys', job.flags, 'flags'),
    count: buffers.range('count', job.count),
    payload: payload.map((of, i) => ({
      bytes: of.bytes,
      rows: buffers.range(`payload.${i}`, of.rows, `payload[${i}].rows`),
      firsts: buffers.range(`run_payload.${i}`, of.output, `payload[${i}].output`),
    })),
    runs: {
      ofFlags: true,
      count: buffers.range('run_count', job.kept, 'kept'),
      starts: buffers.range('run_starts', job.indices, 'indices'),
    },
  });
}

export function describeScan(job: ScanJob): Description {
  const { type, length, exclusive } = job;
  const buffers = new Buffers();
  return buffers.describe({
    type, length, exclusive,
    values: buffers.range('keys', job.values, 'values'),
    output: buffers.range('output', job.output),
    count: buffers.range('count', job.count),
  });
}

export function describeTopK(job: TopKJob): Description {
  const { type, length, k, descending, field, bits, rows, segments } = job;
  const buffers = new Buffers();
  return buffers.describe({
    type, length, k, descending, field, bits, rows,
    keys: buffers.range('keys', job.keys),
    segments: segments && {
      offsets: buffers.range('offsets', segments.offsets, 'segments.offsets'),
      count: segments.count,
    },
    output: buffers.range('output', job.output),
    indices: buffers.range('values', job.indices, 'indices'),
  });
}

export function describeMerge(job: MergeJob): Description {
  const { type, descending, first, second, output } = job;
  const buffers = new Buffers();
  return buffers.describe({
    type, descending,
    first: {
      length: first.length,
      keys: buffers.range('keys', first.keys, 'first.keys'),
      values: buffers.range('payload.0', first.values, 'first.values'),
      count: buffers.range('count', first.count, 'first.count'),
    },
    second: {
      length: second.length,
      keys: buffers.range('second_keys', second.keys, 'second.keys'),
      values: buffers.range('payload.1', second.values, 'second.values'),
      count: buffers.range('second_count', second.count, 'second.count'),
    },
    output: {
      keys: buffers.range('output', output.keys, 'output.keys'),
      values: buffers.range('payload_output.0', output.values, 'output.values'),
    },
  });
}
