/**
 * The results of a run: figures, findings with advice, the banks, and tables of all accesses.
 */

import { counted, degreeClass, make, plural, ratio, share } from './auditor-dom.js';
import { cyclesOf } from './auditor-cycles.js';

/** @typedef {import('./auditor-client.js').Note} Note */
/** @typedef {import('./auditor-client.js').Place} Place */

/**
 * A location that accesses memory, as in the report.
 * @typedef {object} Site
 * @property {number} line
 * @property {number} column
 * @property {number} length
 * @property {'workgroup' | 'storage'} space
 * @property {string} variable
 * @property {string} kind
 * @property {number} bytes
 * @property {boolean} oblivious
 * @property {number} accesses
 * @property {number} lanes
 * @property {Banks} [banks]
 * @property {Banks} [banks_by_word]
 * @property {number[]} [bank_degrees]
 * @property {number} [sectors]
 * @property {number} [min_sectors]
 * @property {[number, number][]} worst lane and byte address
 */

/**
 * @typedef {object} Banks
 * @property {number} conflict_free
 * @property {number} max_degree
 * @property {number} cycles
 * @property {number} min_cycles
 */

/**
 * The command's JSON.
 * @typedef {object} Report
 * @property {boolean} clean
 * @property {string[]} failures
 * @property {{ warp: number, banks: number }} config
 * @property {number} seconds
 * @property {number} lane_instructions
 * @property {[number, number, number]} workgroup_size
 * @property {Kernel[]} kernels
 */

/**
 * @typedef {object} Kernel
 * @property {Banks & { accesses: number, oblivious: boolean }} workgroup
 * @property {{ accesses: number, sectors: number, min_sectors: number }} storage
 * @property {Site[]} sites
 */

/**
 * @typedef {object} Answer
 * @property {Report} report
 * @property {Note[]} notes
 */

/** What a legend says of each class of degrees. */
const LEGEND = ['unused', '1', '2', '3–4', '5–8', '9–16', '17–32', '33–64'];

/** More rows would take long to draw, and nobody would read them. */
const MOST_ROWS = 200;

/** The advice of later findings is folded away: it mostly repeats that of the first. */
const IN_FULL = 2;

const SEVERITIES = { failure: 'Failure', warning: 'Warning', note: 'Note' };

/** The fields of the page that are options of the command, by these. */
const FIELDS = /** @type {Record<string, string>} */ ({
  '--buffer': 'the field of the buffer',
  '--override': 'the field of the override',
  '--workgroups': 'the field “Workgroups”',
  '--entry': 'the field “Entry point”',
  '--max-degree': '“Degree at most”',
  '--max-iterations': '“Iterations of a loop”',
  '--max-lane-instructions': '“Lane-instructions”',
  '--seed': '“Seed of random words”',
  '--warp': '“Lanes of a warp”',
  '--banks': '“Banks”',
});

/**
 * A text that was written for the command, with the names of the page's fields.
 * @param {string} text
 */
function inFields(text) {
  return text.replace(/\bby (--[a-z-]+)/g, (all, option) => `in ${FIELDS[option] ?? option}`)
    .replace(/--[a-z-]+/g, (option) => FIELDS[option] ?? option);
}

/** What a workgroup has at most on a device with WebGPU's default limits. */
const MOST_LANES = 256;

/** @param {Site} site */
const nameOf = (site) => `${site.line}:${site.column}`;

export class Results {
  #onSelect;
  #figures = make('dl', { class: 'au-figures' });
  #findings = make('ul', { class: 'au-findings', 'data-testid': 'audit-findings' });
  #banks = make('div', { class: 'au-scroll', 'data-testid': 'audit-banks' });
  #legend = legend();
  #worst = make('div', { class: 'au-worst', 'data-testid': 'audit-worst' });
  #sites = make('div', { 'data-testid': 'audit-sites' });
  #json = make('pre', { class: 'au-json', tabindex: 0, 'data-testid': 'audit-json' });
  #command = make('pre', { class: 'au-json', tabindex: 0, 'data-testid': 'audit-command' });
  /** @type {Report | undefined} */
  #report;
  /** The rows of the banks. @type {Map<Site, HTMLTableRowElement>} */
  #rows = new Map();

  /**
   * @param {{ onSelect: (place: Place, options?: { reveal: boolean }) => void }} listeners
   */
  constructor({ onSelect }) {
    this.#onSelect = onSelect;
    this.element = make(
      'div',
      { class: 'au-results', hidden: true },
      this.#figures,
      section('Findings', this.#findings),
      section('Banks', this.#banks, this.#legend, this.#worst),
      section('Accesses', this.#sites),
      make(
        'details',
        { class: 'au-raw' },
        make('summary', {}, 'Report as JSON'),
        this.#json,
      ),
      make(
        'details',
        { class: 'au-raw' },
        make('summary', {}, 'The same on the command line'),
        this.#command,
      ),
    );
  }

  /** Shows that the source or the inputs were changed after the run. @param {boolean} stale */
  set stale(stale) {
    this.element.classList.toggle('stale', stale);
  }

  /** Whether there is a report, of the source and the inputs as they are. */
  get isCurrent() {
    return !this.element.hidden && !this.element.classList.contains('stale');
  }

  hide() {
    this.element.hidden = true;
  }

  /**
   * @param {Answer} answer
   * @param {string} command
   * @param {Report} [before] the report to compare with
   */
  show({ report, notes }, command, before) {
    this.#report = report;
    const [kernel] = report.kernels;
    this.#figures.replaceChildren(...figures(report, notes, before));
    this.#findings.replaceChildren(
      ...this.#findingItems(notes),
      ...tooLarge(report.workgroup_size),
    );
    this.#sites.replaceChildren(...this.#tables(kernel.sites));
    this.#json.textContent = JSON.stringify(report, null, 2);
    this.#command.textContent = command;
    const banked = kernel.sites.filter(({ space }) => space === 'workgroup');
    // The worst access, or the first where there is no conflict.
    const worst = banked.reduce((most, site) => (
      degreeOf(site) > degreeOf(most) ? site : most), banked[0]);
    this.#drawBanks(banked);
    this.#choose(worst, { quiet: true });
    this.stale = false;
    this.element.hidden = false;
  }

  /** @param {Note[]} notes */
  #findingItems(notes) {
    if (notes.length === 0) {
      return [make('li', { class: 'au-none' }, 'Nothing: no conflict, race or other fault.')];
    }
    const items = notes.map((note, i) => {
      const more = [
        ...(note.detail ? [make('p', { class: 'au-detail' }, inFields(note.detail))] : []),
        make('p', { class: 'au-help' }, make('strong', {}, 'Advice: '), inFields(note.help)),
      ];
      return make(
        'li',
        { class: note.severity, 'data-rule': note.rule, 'data-line': note.line },
        make(
          'p',
          {},
          make('span', { class: `au-severity ${note.severity}` }, SEVERITIES[note.severity]),
          ' ',
          ...(note.line > 0 ? [this.#link(note), ' '] : []),
          inFields(note.message),
        ),
        ...(i < IN_FULL
          ? more
          : [make('details', {}, make('summary', {}, 'Evidence and advice'), ...more)]),
      );
    });
    return items;
  }

  /** A button that shows a place in the source. @param {Place} place */
  #link(place) {
    return make('button', {
      type: 'button',
      class: 'au-link',
      'aria-label': `line ${place.line}, column ${place.column}: show it in the source`,
      click: () => this.#onSelect(place),
    }, `${place.line}:${place.column}`);
  }

  /** @param {Site[]} sites of workgroup memory */
  #drawBanks(sites) {
    this.#legend.hidden = sites.length === 0;
    if (sites.length === 0) {
      this.#rows.clear();
      const none = 'No access to workgroup memory.';
      this.#banks.replaceChildren(make('p', { class: 'au-none' }, none));
      return;
    }
    const { banks: count } = /** @type {Report} */ (this.#report).config;
    const head = Array.from({ length: count }, (_, bank) => make(
      'th',
      { scope: 'col', 'aria-label': `bank ${bank}` },
      bank % 4 === 0 ? String(bank) : '',
    ));
    const rows = sites.slice(0, MOST_ROWS).map((site) => this.#bankRow(site));
    this.#rows = new Map(rows.map((row, i) => [sites[i], row]));
    const more = sites.length - rows.length;
    this.#banks.replaceChildren(
      make(
        'table',
        { class: 'au-heat', style: `--banks: ${count}` },
        make('caption', { class: 'au-unseen' }, 'The degree of each access in each bank'),
        make('thead', {}, make('tr', {}, make('td', {}, 'bank'), ...head)),
        make('tbody', {}, ...rows),
      ),
      ...(more > 0
        ? [make('p', { class: 'au-hint' }, `${counted(more)} more are in the table below.`)]
        : []),
    );
  }

  /** The degree of a site in each bank. @param {Site} site */
  #bankRow(site) {
    const name = `${nameOf(site)} ${site.variable} ${site.kind}`;
    return make(
      'tr',
      { 'data-site': nameOf(site) },
      make(
        'th',
        { scope: 'row' },
        make('button', {
          type: 'button',
          class: 'au-link',
          'aria-pressed': 'false',
          title: `${name}: show its worst access`,
          click: () => this.#choose(site),
        }, make('b', {}, nameOf(site)), ` ${site.variable} ${site.kind}`),
      ),
      ...(site.bank_degrees ?? []).map((degree, bank) => {
        const text = degree === 0 ? 'unused' : `degree ${degree}`;
        return make('td', {
          class: `d${degreeClass(degree)}`,
          title: `${name}, bank ${bank}: ${text}`,
          'aria-label': `bank ${bank}: ${text}`,
        }, degree > 1 ? String(degree) : '');
      }),
    );
  }

  /**
   * Shows the worst access of a site, cycle by cycle.
   * @param {Site | undefined} site
   * @param {{ quiet?: boolean }} [options]
   */
  #choose(site, { quiet = false } = {}) {
    for (const [other, row] of this.#rows) {
      row.classList.toggle('chosen', other === site);
      row.querySelector('button')?.setAttribute('aria-pressed', String(other === site));
    }
    if (!site || site.worst.length === 0) {
      this.#worst.replaceChildren();
      return;
    }
    if (!quiet) {
      // Whoever looks at the banks wants to go on doing so.
      this.#onSelect(site, { reveal: false });
    }
    const { banks } = /** @type {Report} */ (this.#report).config;
    const cycles = cyclesOf(site.worst, site.bytes, banks);
    const rows = cycles.map((words, cycle) => make(
      'tr',
      {},
      make('th', { scope: 'row' }, String(cycle + 1)),
      ...words.map((word, bank) => (word
        ? make('td', {
          class: 'busy',
          title: `cycle ${cycle + 1}, bank ${bank}: word ${word.word}, `
            + `${word.lanes.length === 1 ? 'lane' : 'lanes'} ${word.lanes.join(', ')}`,
        }, word.lanes.length === 1 ? String(word.lanes[0]) : `${word.lanes.length}×`)
        : make('td', {}))),
    ));
    const shared = cycles.some((words) => words.some((word) => word && word.lanes.length > 1));
    this.#worst.replaceChildren(
      make(
        'p',
        {},
        site.banks && site.banks.max_degree > 1 ? 'The worst access of ' : 'An access of ',
        this.#link(site),
        `, a ${site.kind} of `,
        make('code', {}, site.variable),
        `, takes ${plural(cycles.length, 'cycle')}. `,
        make('span', { class: 'au-hint' }, 'A row is a cycle, a column a bank, and a number the '
          + `lane that is served.${shared ? ' 4× are four lanes that share one word.' : ''}`),
      ),
      make(
        'div',
        { class: 'au-scroll' },
        make(
          'table',
          { class: 'au-heat au-cycles', style: `--banks: ${banks}` },
          make('caption', { class: 'au-unseen' }, 'The lanes that each bank serves in each cycle'),
          make('thead', {}, make(
            'tr',
            {},
            make('td', {}, 'cycle'),
            ...Array.from({ length: banks }, (_, bank) => make('th', {
              scope: 'col',
              'aria-label': `bank ${bank}`,
            }, bank % 4 === 0 ? String(bank) : '')),
          )),
          make('tbody', {}, ...rows),
        ),
      ),
    );
  }

  /** @param {Site[]} sites */
  #tables(sites) {
    /** @param {Site} site */
    const lanes = (site) => (site.lanes / Math.max(site.accesses, 1)).toFixed(1);
    /** @param {Site} site */
    const start = (site) => [
      this.#link(site),
      make('code', {}, site.variable),
      site.kind,
      counted(site.bytes),
      site.accesses === 0 ? 'none' : counted(site.accesses),
      lanes(site),
    ];
    const banked = sites.filter(({ space }) => space === 'workgroup').map((site) => {
      const banks = /** @type {Banks} */ (site.banks);
      const byWord = /** @type {Banks} */ (site.banks_by_word);
      const degree = banks.max_degree === byWord.max_degree
        ? String(banks.max_degree)
        : `${banks.max_degree} (by word ${byWord.max_degree})`;
      return [
        ...start(site),
        share(banks.conflict_free, site.accesses),
        make('span', { class: `au-degree d${degreeClass(banks.max_degree)}` }, degree),
        site.oblivious ? 'yes' : 'no',
        counted(banks.cycles),
        ratio(banks.cycles, banks.min_cycles),
      ];
    });
    const stored = sites.filter(({ space }) => space === 'storage').map((site) => [
      ...start(site),
      counted(site.sectors ?? 0),
      ratio(site.sectors ?? 0, site.min_sectors ?? 0),
    ]);
    const common = ['Line', 'Variable', 'Kind', 'Bytes', 'Accesses', 'Lanes'];
    const tables = [
      table(
        'Workgroup memory',
        [...common, 'Conflict-free', 'Degree', 'Oblivious', 'Cycles', '/ least'],
        banked,
      ),
      table('Storage', [...common, 'Sectors', '/ least'], stored),
    ].filter((made) => made !== undefined);
    return tables.length > 0
      ? tables
      : [make('p', { class: 'au-none' }, 'No access to workgroup memory or storage.')];
  }
}

/**
 * What devices with the default limits refuse.
 * @param {[number, number, number]} size
 */
function tooLarge(size) {
  const lanes = size.reduce((a, b) => a * b);
  return lanes <= MOST_LANES && size[2] <= 64 ? [] : [make(
    'li',
    { class: 'au-none au-hint', 'data-testid': 'audit-too-large' },
    `A workgroup of ${size.join(' × ')} lanes needs higher limits than WebGPU’s defaults, which `
      + `are ${MOST_LANES} lanes in all, and 64 in the last dimension.`,
  )];
}

/** @param {Site} site */
function degreeOf(site) {
  return site.banks?.max_degree ?? 0;
}

/** @param {string} title @param {...Node} children */
function section(title, ...children) {
  return make('section', {}, make('h3', {}, title), ...children);
}

function legend() {
  const classes = LEGEND.map((text, i) => (
    make('span', {}, make('i', { class: `d${i}` }), text)));
  return make(
    'p',
    { class: 'au-legend au-hint' },
    'Degree: the most words of a bank that one access of a warp takes. ',
    make('span', { class: 'au-keys' }, ...classes),
  );
}

/**
 * @param {string} title
 * @param {string[]} head
 * @param {(string | Node)[][]} rows
 */
function table(title, head, rows) {
  // The first three columns are words, the others numbers.
  const cell = (/** @type {string | Node} */ content, /** @type {number} */ i) => (
    make('td', { class: i > 2 ? 'number' : undefined }, content));
  return rows.length === 0 ? undefined : make(
    'div',
    { class: 'au-scroll' },
    make(
      'table',
      { class: 'au-table' },
      make('caption', {}, title),
      make('thead', {}, make('tr', {}, ...head.map((text, i) => (
        make('th', { scope: 'col', class: i > 2 ? 'number' : undefined }, text))))),
      make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map(cell)))),
    ),
  );
}

/**
 * @param {Report} report
 * @param {Note[]} notes
 * @param {Report} [before]
 */
function figures(report, notes, before) {
  const [{ workgroup, storage }] = report.kernels;
  const earlier = before?.kernels[0];
  const count = (/** @type {string} */ severity) => (
    notes.filter((note) => note.severity === severity).length);
  const failures = count('failure');
  const warnings = count('warning');
  const items = [
    figure('Degree', workgroup.accesses ? String(workgroup.max_degree) : '–', {
      style: workgroup.accesses ? `d${degreeClass(workgroup.max_degree)}` : '',
      note: workgroup.accesses === 0
        ? 'no access'
        : workgroup.max_degree > 1 ? 'bank conflicts' : 'no bank conflict',
      before: earlier && String(earlier.workgroup.max_degree),
    }),
    figure('Cycles', workgroup.accesses ? counted(workgroup.cycles) : '–', {
      note: leastOf(workgroup.cycles, workgroup.min_cycles),
      before: earlier && counted(earlier.workgroup.cycles),
    }),
    figure('Sectors', storage.accesses ? counted(storage.sectors) : '–', {
      note: leastOf(storage.sectors, storage.min_sectors),
      before: earlier && counted(earlier.storage.sectors),
    }),
    figure('Failures', String(failures), {
      style: failures > 0 ? 'bad' : 'good',
      note: warnings > 0 ? plural(warnings, 'warning') : 'no warning',
      before: before && String(before.failures.length),
    }),
  ];
  return items;
}

/** @param {number} count @param {number} least */
function leastOf(count, least) {
  return least === 0 ? 'no access' : `${ratio(count, least)} the least`;
}

/**
 * @param {string} title
 * @param {string} value
 * @param {{ style?: string, note: string, before?: string }} more
 */
function figure(title, value, { style, note, before }) {
  const changed = before !== undefined && before !== value;
  return make(
    'div',
    {},
    make('dt', {}, title),
    make('dd', {}, make('span', { class: `au-value ${style ?? ''}` }, value), changed
      ? make('span', { class: 'au-before' }, ` was ${before}`)
      : ''),
    make('dd', { class: 'au-hint' }, note),
  );
}
