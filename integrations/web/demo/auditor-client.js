/**
 * The page's side of the auditor's worker.
 */

/**
 * The reason why a run has no report.
 * @typedef {object} Problem
 * @property {string} message
 * @property {number} line from 1; 0 if it is unknown
 * @property {number} column in bytes, from 1
 * @property {number} length in bytes
 * @property {string} detail the message with lines of the source, for monospaced text
 */

/**
 * A passage of the source.
 * @typedef {object} Place
 * @property {number} line from 1; 0 if it is unknown
 * @property {number} column in bytes, from 1
 * @property {number} length in bytes
 */

/**
 * @typedef {object} Note
 * @property {string} rule
 * @property {'failure' | 'warning' | 'note'} severity
 * @property {number} line from 1; 0 if it concerns the whole shader
 * @property {number} column in bytes, from 1
 * @property {number} length in bytes
 * @property {Place | null} other a race's other access
 * @property {string} message
 * @property {string | null} detail
 * @property {string} help
 */

/** A call that was stopped, by this page. */
export class Stopped extends Error {}

/** A call that the auditor answered with a problem of its input. */
export class Refused extends Error {
  /** @param {Problem} problem */
  constructor(problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** The auditor: calls are answered in order, by a worker that is started when it is needed. */
export class Auditor {
  /** @type {Worker | undefined} */
  #worker;
  /** @type {Map<number, { resolve: (value: any) => void, reject: (reason: Error) => void }>} */
  #calls = new Map();
  #next = 0;

  /**
   * @param {'audit' | 'limits' | 'resources'} call
   * @param {object} request
   * @returns {Promise<any>} the answer
   */
  call(call, request) {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#calls.set(id, { resolve, reject });
      this.#start().postMessage({ id, call, request: JSON.stringify(request) });
    });
  }

  /** Ends all calls. The next one starts another worker. */
  stop() {
    this.#end(new Stopped('stopped'));
  }

  #start() {
    if (!this.#worker) {
      const worker = new Worker(new URL('./auditor-worker.js', import.meta.url), {
        type: 'module',
      });
      worker.addEventListener('message', ({ data }) => this.#receive(data));
      worker.addEventListener('error', (event) => {
        event.preventDefault();
        const reason = event.message ?? 'dist/auditor is missing: npm run build makes it';
        this.#end(new Error(`the auditor could not be loaded (${reason})`));
      });
      this.#worker = worker;
    }
    return this.#worker;
  }

  /** @param {{ id: number, text?: string, failed?: string }} reply */
  #receive({ id, text, failed }) {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (text === undefined) {
      call?.reject(new Error(`the auditor broke off: ${failed}`));
      // What that left behind in its memory cannot be trusted: the next call starts it anew.
      this.#end(new Stopped('stopped'));
      return;
    }
    const answer = JSON.parse(text);
    if (answer.error) {
      call?.reject(new Refused(answer.error));
    } else {
      call?.resolve(answer);
    }
  }

  /** @param {Error} reason */
  #end(reason) {
    this.#worker?.terminate();
    this.#worker = undefined;
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const { reject } of calls) {
      reject(reason);
    }
  }
}
