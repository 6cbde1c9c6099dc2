/**
 * The inputs of a run: the entry point, the number of workgroups, the contents of buffers, values
 * of overrides, the hardware and the limits.
 */

import { make, plural } from './auditor-dom.js';

/**
 * What a shader declares, as the auditor lists it.
 * @typedef {object} Listing
 * @property {Entry[]} entries
 * @property {{ name: string, id: number | null, kind: string, has_default: boolean }[]} overrides
 */

/**
 * @typedef {object} Entry
 * @property {string} name
 * @property {import('./auditor-client.js').Problem | null} error
 * @property {[number, number, number]} workgroup_size
 * @property {number} workgroup_bytes
 * @property {BufferField[]} buffers
 */

/**
 * @typedef {object} BufferField
 * @property {number} group
 * @property {number} binding
 * @property {string} name
 * @property {string} space
 * @property {boolean} writable
 * @property {number} min_words
 * @property {number | null} stride
 * @property {string} contents by default
 */

/**
 * The inputs of a run, as in the auditor's request.
 * @typedef {object} Run
 * @property {string} [entry]
 * @property {[number, number, number]} workgroups
 * @property {Record<string, string>} buffers contents by `group.binding`
 * @property {Record<string, string>} overrides
 * @property {number} seed
 * @property {number} warp
 * @property {number} banks
 * @property {number} [max_degree]
 * @property {number} max_iterations
 * @property {number} max_lane_instructions
 */

/** The contents that a buffer can have, with the words for them. */
const FILLS = /** @type {const} */ ([
  ['', 'Default'],
  ['random', 'Random'],
  ['zero', 'Zeros'],
  ['iota', '0, 1, 2, …'],
  ['words', 'These words'],
]);

/** A field in which a text is to be a count, such as 4096 or 2^12. */
const COUNT = String.raw`\s*\d[\d_]*(\^\d+|[kKmMgG])?\s*`;

/** @param {BufferField} field */
function keyOf({ group, binding }) {
  return `${group}.${binding}`;
}

/**
 * What a buffer is known by as its shader changes: another variable at the same binding is another
 * buffer, with contents of its own.
 * @param {BufferField} field
 */
function idOf(field) {
  return `${keyOf(field)} ${field.name}`;
}

/** One buffer's fields. */
class BufferRow {
  #fill = make('select', {}, ...FILLS.map(([value, text]) => make('option', { value }, text)));
  #count = make('input', { inputmode: 'numeric', pattern: COUNT, required: true, size: '8' });
  #words = make('input', { required: true, placeholder: '1, -2, 0x10, 1.5', size: '8' });
  #note = make('span', { class: 'au-hint' });

  /**
   * @param {BufferField} field
   * @param {string | undefined} contents
   * @param {() => void} onChange
   */
  constructor(field, contents, onChange) {
    this.key = keyOf(field);
    this.id = idOf(field);
    const what = `buffer ${field.name}`;
    this.#fill.setAttribute('aria-label', `Contents of ${what}`);
    this.#fill.dataset.testid = `audit-fill-${this.key}`;
    this.#count.setAttribute('aria-label', `Words of ${what}`);
    this.#count.dataset.testid = `audit-size-${this.key}`;
    this.#words.setAttribute('aria-label', `List of words of ${what}`);
    this.#words.dataset.testid = `audit-words-${this.key}`;
    this.#note.textContent = field.contents.replace(':', ', ').concat(' words');
    const [fill, value] = (contents ?? '').split(':');
    const [, count] = field.contents.split(':');
    this.#fill.value = fill;
    this.#count.value = fill && fill !== 'words' ? value : count;
    this.#words.value = fill === 'words' ? value : '';
    this.#fill.addEventListener('change', () => this.#show());
    const access = field.space === 'uniform' ? 'uniform' : field.writable ? 'read, write' : 'read';
    const least = field.stride ? `at least ${field.min_words} words` : `${field.min_words} words`;
    this.element = make(
      'div',
      { class: 'au-buffer', change: onChange },
      make('span', { class: 'au-name' }, make('code', {}, field.name), make('span', {
        class: 'au-hint',
        title: `binding ${field.binding} of group ${field.group}: ${access}, ${least}`,
      }, `${this.key} ${access}`)),
      this.#fill,
      this.#count,
      this.#words,
      this.#note,
    );
    this.#show();
  }

  #show() {
    const fill = this.#fill.value;
    const shown = { count: !['', 'words'].includes(fill), words: fill === 'words' };
    for (const [input, is] of /** @type {const} */ ([
      [this.#count, shown.count],
      [this.#words, shown.words],
    ])) {
      input.hidden = !is;
      input.disabled = !is;
    }
    this.#note.hidden = fill !== '';
  }

  /** As for the command's option `--buffer`; undefined if the default is taken. */
  get contents() {
    const fill = this.#fill.value;
    if (!fill) {
      return undefined;
    }
    const value = fill === 'words' ? this.#words.value : this.#count.value;
    return `${fill}:${value.trim()}`;
  }
}

/** Texts by their names. @param {unknown} of @returns {Map<string, string>} */
function texts(of) {
  return new Map(Object.entries(of ?? {}).map(([name, value]) => [name, String(value)]));
}

/** A field with its label. @param {string} text @param {HTMLElement} input */
function field(text, input) {
  return make('label', { class: 'au-field' }, make('span', {}, text), input);
}

/**
 * @param {string} name
 * @param {Record<string, string | number | boolean | undefined>} attributes
 */
function numberField(name, attributes) {
  const id = `audit-${name}`;
  return make('input', { type: 'number', step: '1', 'data-testid': id, ...attributes });
}

export class Inputs {
  /** For a button elsewhere that submits them. */
  static ID = 'au-inputs';

  #entry = make('select', { 'data-testid': 'audit-entry' });
  #entryField = field('Entry point', this.#entry);
  #workgroups = ['x', 'y', 'z'].map((axis) => numberField(`workgroups-${axis}`, {
    'aria-label': `Workgroups in ${axis}`,
    min: '1',
    max: '4294967295',
    required: true,
    value: '1',
  }));
  #size = make('span', { class: 'au-hint' });
  #buffers = make('div', { class: 'au-buffers' });
  #overrides = make('div', { class: 'au-overrides' });
  #warp = make('select', { 'data-testid': 'audit-warp' }, ...[4, 8, 16, 32, 64].map((lanes) => (
    make('option', { selected: lanes === 32 }, String(lanes)))));
  #banks = numberField('bank-count', { min: '1', max: '64', required: true, value: '32' });
  #maxDegree = numberField('max-degree', { min: '1', max: '64', placeholder: 'no limit' });
  #seed = numberField('seed', { min: '0', max: '9007199254740991', required: true, value: '1' });
  #iterations = numberField('max-iterations', { min: '1', required: true });
  #instructions = numberField('max-lane-instructions', { min: '1', required: true });
  #limits = make('p', { class: 'au-hint' });
  /** @type {Record<string, number> | undefined} */
  #defaults;
  /** @type {Listing | undefined} */
  #listing;
  /** What was last chosen for each buffer: see `idOf`. @type {Map<string, string>} */
  #contents = new Map();
  /** By group and binding, for a shader that is not listed yet. @type {Map<string, string>} */
  #wantedContents = new Map();
  /** @type {Map<string, string>} */
  #values = new Map();
  /** @type {BufferRow[]} */
  #rows = [];
  /** The entry point of inputs whose shader is not listed yet. @type {string | undefined} */
  #wantedEntry;
  #onChange;
  #onOverride;

  /** @param {{ onChange: () => void, onOverride: () => void, onRun: () => void }} listeners */
  constructor({ onChange, onOverride, onRun }) {
    this.#onChange = onChange;
    this.#onOverride = onOverride;
    this.#entry.addEventListener('change', () => this.#show());
    this.element = make(
      'form',
      {
        id: Inputs.ID,
        class: 'au-inputs',
        'aria-label': 'Inputs of the run',
        // Its own messages could not point at fields that are folded away.
        novalidate: true,
        change: onChange,
        submit: (/** @type {Event} */ event) => {
          event.preventDefault();
          onRun();
        },
      },
      make(
        'div',
        { class: 'au-row' },
        this.#entryField,
        make(
          'fieldset',
          { class: 'au-field' },
          make('legend', {}, 'Workgroups'),
          make('div', { class: 'au-axes' }, ...this.#workgroups.flatMap((input, i) => (
            i === 0 ? [input] : [make('span', { 'aria-hidden': 'true' }, '×'), input]))),
        ),
        this.#size,
      ),
      this.#buffers,
      this.#overrides,
      make(
        'details',
        {},
        make('summary', {}, 'Hardware and limits'),
        make(
          'div',
          { class: 'au-grid' },
          field('Lanes of a warp', this.#warp),
          field('Banks', this.#banks),
          field('Degree at most', this.#maxDegree),
          field('Seed of random words', this.#seed),
          field('Iterations of a loop', this.#iterations),
          field('Lane-instructions', this.#instructions),
        ),
        this.#limits,
      ),
    );
  }

  /** The auditor's limits, for the fields that have one. @param {Record<string, number>} limits */
  setLimits(limits) {
    this.#defaults = limits;
    this.#iterations.value ||= String(limits.iterations);
    this.#iterations.max = String(limits.most_iterations);
    this.#instructions.value ||= String(limits.lane_instructions);
    this.#instructions.max = String(limits.most_lane_instructions);
    this.#limits.textContent = 'On this page a loop may have at most '
      + `2^${Math.log2(limits.most_iterations)} iterations and a run `
      + `2^${Math.log2(limits.most_lane_instructions)} lane-instructions, buffers may take `
      + `${limits.most_memory / 2 ** 20} MiB with the records of who accessed them, and a shader `
      + `${limits.most_text / 2 ** 20} MiB. The command has no such limits.`;
  }

  /**
   * The inputs of a shader that is about to be listed.
   * @param {Partial<Run>} run
   */
  set(run) {
    this.#rows = [];
    this.#overrides.replaceChildren();
    this.#contents = new Map();
    this.#wantedContents = texts(run.buffers);
    this.#values = texts(run.overrides);
    for (const [i, input] of this.#workgroups.entries()) {
      input.value = String(run.workgroups?.[i] ?? 1);
    }
    this.#warp.value = String(run.warp ?? 32);
    this.#banks.value = String(run.banks ?? 32);
    this.#seed.value = String(run.seed ?? 1);
    this.#maxDegree.value = String(run.max_degree ?? '');
    this.#iterations.value = String(run.max_iterations ?? this.#defaults?.iterations ?? '');
    this.#instructions.value = String(
      run.max_lane_instructions ?? this.#defaults?.lane_instructions ?? '',
    );
    this.#wantedEntry = run.entry;
  }

  /** Shows the fields that a shader needs. @param {Listing} listing */
  list(listing) {
    this.#keep();
    const listed = listing.entries.flatMap(({ buffers }) => buffers);
    for (const buffer of listed) {
      const contents = this.#wantedContents.get(keyOf(buffer));
      if (contents !== undefined) {
        this.#contents.set(idOf(buffer), contents);
      }
    }
    // (Others may be listed later, when an override has its value.)
    for (const buffer of listed) {
      this.#wantedContents.delete(keyOf(buffer));
    }
    const entry = this.#wantedEntry ?? this.#entry.value;
    this.#wantedEntry = undefined;
    this.#listing = listing;
    const names = listing.entries.map(({ name }) => name);
    this.#entry.replaceChildren(...names.map((name) => make('option', {}, name)));
    this.#entryField.hidden = names.length < 2;
    if (names.includes(entry)) {
      this.#entry.value = entry;
    }
    this.#overrides.replaceChildren(...listing.overrides.map(({ name, kind, has_default }) => {
      const input = make('input', {
        'data-override': name,
        value: this.#values.get(name),
        placeholder: has_default ? 'default' : 'needed',
        size: '8',
        change: () => this.#onOverride(),
      });
      return field(`${name}: ${kind}`, input);
    }));
    this.#show();
  }

  /** Remembers what was chosen, for when the fields are made anew. */
  #keep() {
    for (const row of this.#rows) {
      this.#contents.delete(row.id);
      if (row.contents !== undefined) {
        this.#contents.set(row.id, row.contents);
      }
    }
    for (const input of this.#overrides.querySelectorAll('input')) {
      this.#values.set(input.dataset.override ?? '', input.value);
    }
  }

  #show() {
    this.#keep();
    const entry = this.#current();
    this.#rows = (entry?.buffers ?? []).map((buffer) => (
      new BufferRow(buffer, this.#contents.get(idOf(buffer)), () => {
        this.#keep();
        this.#onChange();
      })));
    this.#buffers.replaceChildren(...this.#rows.map((row) => row.element));
    const lanes = entry?.workgroup_size.reduce((a, b) => a * b) ?? 0;
    this.#size.textContent = !entry ? '' : entry.error?.message ?? (
      `of ${plural(lanes, 'lane')}, ${plural(entry.workgroup_bytes, 'byte')} of workgroup memory`);
  }

  #current() {
    const entries = this.#listing?.entries ?? [];
    return entries.find(({ name }) => name === this.#entry.value) ?? entries[0];
  }

  /** Shows what is wrong with a field, if anything is. */
  get areValid() {
    const invalid = this.element.querySelector(':invalid:not(fieldset)');
    const details = invalid?.closest('details');
    if (details) {
      // What is folded away cannot be pointed at.
      details.open = true;
    }
    return this.element.reportValidity();
  }

  /** The values of overrides, those of an earlier text included. */
  get overrides() {
    this.#keep();
    return Object.fromEntries([...this.#values]
      .map(([name, value]) => [name, value.trim()])
      .filter(([, value]) => value !== ''));
  }

  /**
   * What {@link set} takes: also the inputs that wait for their fields to be listed.
   * @returns {Run}
   */
  get all() {
    const { run } = this;
    return {
      ...run,
      entry: this.#wantedEntry ?? run.entry,
      buffers: { ...Object.fromEntries(this.#wantedContents), ...run.buffers },
      overrides: this.overrides,
    };
  }

  /** @returns {Run} */
  get run() {
    const entries = this.#listing?.entries ?? [];
    const buffers = this.#rows.map((row) => [row.key, row.contents]);
    const declared = new Set(this.#listing?.overrides.map(({ name }) => name));
    const overrides = Object.entries(this.overrides).filter(([name]) => declared.has(name));
    return {
      entry: entries.length > 1 ? this.#entry.value : undefined,
      workgroups: /** @type {[number, number, number]} */ (
        this.#workgroups.map((input) => input.valueAsNumber)),
      buffers: Object.fromEntries(buffers.filter(([, contents]) => contents !== undefined)),
      overrides: Object.fromEntries(overrides),
      seed: this.#seed.valueAsNumber,
      warp: Number(this.#warp.value),
      banks: this.#banks.valueAsNumber,
      max_degree: this.#maxDegree.value === '' ? undefined : this.#maxDegree.valueAsNumber,
      max_iterations: this.#iterations.valueAsNumber,
      max_lane_instructions: this.#instructions.valueAsNumber,
    };
  }
}
