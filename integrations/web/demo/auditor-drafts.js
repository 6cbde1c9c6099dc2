/**
 * The visitor's own shaders, which outlive the page: each of them once, the latest first.
 */

/**
 * @typedef {object} Draft
 * @property {string} id
 * @property {string} wgsl
 * @property {Partial<import('./auditor-inputs.js').Run>} run
 * @property {string} [link] the packed shader of the link that it came from
 */

const KEY = 'bcfsort-auditor-drafts';
const CURRENT = 'bcfsort-auditor-draft';

/** The oldest are given up beyond this, or beyond what the browser stores. */
const MOST = 30;

/** Memory with the calls of a `Storage`, where the browser allows neither of its own. */
class Transient {
  #items = new Map();

  /** @param {string} key */
  getItem(key) {
    return this.#items.get(key) ?? null;
  }

  /** @param {string} key @param {string} value */
  setItem(key, value) {
    this.#items.set(key, value);
  }
}

/**
 * The first kind of storage that works: private windows and blocked cookies may leave out some.
 * @param {('localStorage' | 'sessionStorage')[]} names
 * @returns {Pick<Storage, 'getItem' | 'setItem'>}
 */
function storage(...names) {
  for (const name of names) {
    try {
      const found = globalThis[name];
      found.setItem(`${KEY}-test`, '');
      found.removeItem(`${KEY}-test`);
      return found;
    } catch {
      // The next one may work.
    }
  }
  return new Transient();
}

export class Drafts {
  #all = storage('localStorage', 'sessionStorage');
  /** Each tab has a draft of its own, which it opens again when it is reloaded. */
  #tab = storage('sessionStorage');

  /** @returns {Draft[]} */
  get list() {
    try {
      const list = JSON.parse(this.#all.getItem(KEY) ?? '[]');
      return list.filter((/** @type {any} */ draft) => typeof draft?.wgsl === 'string');
    } catch {
      return [];
    }
  }

  /** The draft that this tab had open. */
  get current() {
    const id = this.#tab.getItem(CURRENT);
    return this.list.find((draft) => draft.id === id);
  }

  /** @param {Draft | undefined} draft */
  set current(draft) {
    this.#tab.setItem(CURRENT, draft?.id ?? '');
  }

  /** @param {string} [link] @returns {Draft} */
  begin(link) {
    return { id: crypto.randomUUID(), wgsl: '', run: {}, link };
  }

  /** Stores a draft, in place of what it was before. @param {Draft} draft */
  keep(draft) {
    // (Read anew: other tabs have drafts, too.)
    const others = this.list.filter(({ id, wgsl }) => id !== draft.id && wgsl !== draft.wgsl);
    for (let most = MOST; most > 0; most = Math.floor(most / 2)) {
      try {
        this.#all.setItem(KEY, JSON.stringify([draft, ...others].slice(0, most)));
        return;
      } catch {
        // The storage is full: fewer may fit.
      }
    }
  }
}

/** What a draft is called: its first line with a word in it. @param {Draft} draft */
export function titleOf({ wgsl }) {
  const line = wgsl.split('\n').find((text) => /\w/.test(text))?.trim() ?? 'empty';
  return line.length > 48 ? `${line.slice(0, 47)}…` : line;
}
