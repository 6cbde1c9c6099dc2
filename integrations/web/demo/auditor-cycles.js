/**
 * How the banks serve one access of a warp, cycle by cycle.
 */

/**
 * A word that a bank serves in a cycle, and the lanes that take it.
 * @typedef {{ word: number, lanes: number[] }} Served
 */

/**
 * The words that each bank serves in each cycle, in the executor's model: a warp is served in parts
 * of as many words as there are banks; in each part, a bank serves its different words one after
 * the other.
 * @param {[number, number][]} access each active lane, with the first byte that it takes
 * @param {number} bytes of a lane
 * @param {number} banks
 * @returns {(Served | undefined)[][]} for each cycle, what each bank serves
 */
export function cyclesOf(access, bytes, banks) {
  const words = Math.ceil(bytes / 4);
  // Only accesses of 8 and 16 bytes are served as a whole; others are split into words.
  const isWide = bytes === 8 || bytes === 16;
  const all = Array.from({ length: words }, (_, word) => word);
  const steps = isWide ? [all] : all.map((word) => [word]);
  return steps.flatMap((taken) => {
    const lanes = Math.max(Math.floor(banks / taken.length), 1);
    /** @type {Map<number, [number, number][]>} */
    const parts = new Map();
    for (const each of access) {
      const part = Math.floor(each[0] / lanes);
      parts.set(part, [...(parts.get(part) ?? []), each]);
    }
    return [...parts.values()].flatMap((part) => cyclesOfPart(part, taken, banks));
  });
}

/**
 * @param {[number, number][]} part
 * @param {number[]} taken the words of each lane, counted from its first
 * @param {number} banks
 */
function cyclesOfPart(part, taken, banks) {
  /** For each bank its words, each with its lanes. @type {Map<number, number[]>[]} */
  const queues = Array.from({ length: banks }, () => new Map());
  for (const [lane, byte] of part) {
    for (const step of taken) {
      const word = Math.floor(byte / 4) + step;
      const queue = queues[word % banks];
      queue.set(word, [...(queue.get(word) ?? []), lane]);
    }
  }
  const served = queues.map((queue) => [...queue].map(([word, lanes]) => ({ word, lanes })));
  const degree = Math.max(...served.map((queue) => queue.length));
  return Array.from({ length: degree }, (_, cycle) => served.map((queue) => queue[cycle]));
}
