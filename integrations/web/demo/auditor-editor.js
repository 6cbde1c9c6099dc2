/**
 * The text area for WGSL: line numbers, colours, and what the last run found in each line.
 */

import { degreeClass, indexOfColumn, make } from './auditor-dom.js';

const KEYWORDS = new Set(`alias break case const const_assert continue continuing default diagnostic
  discard else enable false fn for if let loop override requires return struct switch true var
  while`.split(/\s+/));
const TYPES = new Set(`array atomic bool f16 f32 i32 u32 ptr vec2 vec3 vec4 vec2f vec3f vec4f vec2i
  vec3i vec4i vec2u vec3u vec4u mat2x2 mat2x3 mat2x4 mat3x2 mat3x3 mat3x4 mat4x2 mat4x3 mat4x4
  storage uniform workgroup private function read write read_write`.split(/\s+/));
const TOKEN = new RegExp([
  String.raw`(?<comment>\/\/[^\n]*|\/\*[^]*?(?:\*\/|$))`,
  String.raw`(?<attribute>@\w+)`,
  String.raw`(?<number>\b\d[\w.]*)`,
  String.raw`(?<word>[A-Za-z_]\w*)(?<call>(?=\s*\())?`,
].join('|'), 'g');

/** What Tab writes. */
const INDENT = '    ';

/** Longer texts have no colours: each keystroke would take too long. */
const MOST_COLOURED = 1 << 16;

/**
 * A passage of a line, as string indices.
 * @typedef {object} Passage
 * @property {number} start
 * @property {number} end
 * @property {string} style
 */

/** @param {Record<string, string | undefined>} token */
function styleOf({ comment, attribute, number, word, call }) {
  if (comment || attribute || number) {
    return comment ? 'comment' : attribute ? 'attribute' : 'number';
  }
  const name = /** @type {string} */ (word);
  if (KEYWORDS.has(name)) {
    return 'keyword';
  }
  return TYPES.has(name) ? 'type' : call === undefined ? '' : 'call';
}

/**
 * The coloured passages of each line.
 * @param {string[]} lines
 * @param {string} text
 */
function colour(lines, text) {
  /** @type {Passage[][]} */
  const passages = lines.map(() => []);
  if (text.length > MOST_COLOURED) {
    return passages;
  }
  let line = 0;
  let lineStart = 0;
  for (const token of text.matchAll(TOKEN)) {
    const style = styleOf(token.groups ?? {});
    if (!style) {
      continue;
    }
    let start = token.index;
    const end = start + token[0].length;
    // A comment may span several lines.
    while (start < end) {
      while (start > lineStart + lines[line].length) {
        lineStart += lines[line].length + 1;
        line += 1;
      }
      const last = Math.min(end, lineStart + lines[line].length);
      passages[line].push({ start: start - lineStart, end: last - lineStart, style });
      start = last + 1;
    }
  }
  return passages;
}

/**
 * A line of text in pieces, each with the styles of all passages that cover it.
 * @param {string} text
 * @param {Passage[]} passages
 */
function pieces(text, passages) {
  const bounds = new Set([0, text.length]);
  for (const { start, end } of passages) {
    bounds.add(Math.min(start, text.length)).add(Math.min(end, text.length));
  }
  const sorted = [...bounds].sort((a, b) => a - b);
  return sorted.slice(1).map((end, i) => {
    const start = sorted[i];
    const covering = passages.filter((passage) => passage.start <= start && end <= passage.end);
    const piece = text.slice(start, end);
    const style = covering.map((passage) => passage.style).join(' ');
    return style ? make('span', { class: style }, piece) : piece;
  });
}

/**
 * What is marked in a line.
 * @typedef {object} Mark
 * @property {number} line from 1
 * @property {number} column in bytes, from 1
 * @property {number} length in bytes
 * @property {'failure' | 'warning' | 'note' | 'degree'} kind
 * @property {number} [degree] of the bank conflict
 */

export class Editor {
  #area;
  #text = make('pre', { class: 'au-text', 'aria-hidden': 'true' });
  #gutter = make('div', { class: 'au-gutter', 'aria-hidden': 'true' });
  /** @type {Mark[]} */
  #marks = [];
  /** @type {Mark | undefined} */
  #selected;
  #frame = 0;
  #isReplacing = false;
  /** Whether Tab leaves the text, which the key before it decides. */
  #isLeaving = false;
  /** What is drawn: of the text, and of the gutter. */
  #drawn = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];

  /** @param {{ onInput: () => void }} listeners */
  constructor({ onInput }) {
    this.#area = make('textarea', {
      'data-testid': 'audit-source',
      'aria-label': 'WGSL source',
      spellcheck: 'false',
      autocapitalize: 'off',
      autocomplete: 'off',
      autocorrect: 'off',
      wrap: 'off',
      'aria-description': 'Tab indents. To leave with Tab, press Escape first.',
      keydown: (/** @type {KeyboardEvent} */ event) => this.#indent(event),
      input: () => {
        if (this.#isReplacing) {
          return;
        }
        // Their places may have moved.
        this.#marks = [];
        this.#selected = undefined;
        // (Browsers dispatch an event for each line of a text that is pasted.)
        this.#frame ||= requestAnimationFrame(() => this.#draw());
        onInput();
      },
    });
    this.element = make(
      'div',
      { class: 'au-editor' },
      this.#gutter,
      make('div', { class: 'au-code' }, this.#text, this.#area),
    );
    this.#draw();
  }

  get value() {
    return this.#area.value;
  }

  /** Replaces the text. The visitor can undo it. */
  set value(text) {
    this.#replace(text);
    this.#marks = [];
    this.#selected = undefined;
    this.#draw();
    this.element.scrollTo(0, 0);
  }

  /**
   * Types a text in place of the old one: unlike `value`, this keeps what can be undone.
   * @param {string} text
   */
  #replace(text) {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    this.#isReplacing = true;
    this.#area.focus({ preventScroll: true });
    this.#area.select();
    // (Deprecated, and the only way that browsers have.)
    document.execCommand(text === '' ? 'delete' : 'insertText', false, text);
    // Where the text area has no focus, as in a hidden section, there is nothing to be undone yet.
    if (this.#area.value !== text) {
      this.#area.value = text;
    }
    this.#isReplacing = false;
    this.#area.setSelectionRange(0, 0);
    if (before !== this.#area) {
      this.#area.blur();
      before?.focus({ preventScroll: true });
    }
  }

  /** @param {KeyboardEvent} event */
  #indent(event) {
    const { key, shiftKey, ctrlKey, altKey, metaKey } = event;
    if (key === 'Tab' && !this.#isLeaving && !(shiftKey || ctrlKey || altKey || metaKey)) {
      event.preventDefault();
      document.execCommand('insertText', false, INDENT);
    }
    this.#isLeaving = key === 'Escape';
  }

  /** Shows what a run found. @param {Mark[]} marks */
  mark(marks) {
    this.#marks = marks;
    this.#selected = undefined;
    this.#draw();
  }

  /**
   * Highlights a passage, and scrolls to its line.
   * @param {import('./auditor-client.js').Place} place
   * @param {{ reveal?: boolean }} [options] whether the page may scroll, too
   */
  select({ line, column, length }, { reveal = true } = {}) {
    this.#selected = { line, column, length, kind: 'note' };
    this.#draw();
    const row = /** @type {HTMLElement | undefined} */ (this.#text.children[line - 1]);
    if (!row) {
      return;
    }
    const { scrollTop, clientHeight } = this.element;
    const end = row.offsetTop + 2 * row.offsetHeight;
    if (row.offsetTop < scrollTop || end > scrollTop + clientHeight) {
      this.element.scrollTop = row.offsetTop - clientHeight / 3;
    }
    if (reveal) {
      const { top, bottom } = row.getBoundingClientRect();
      if (top < 0 || bottom > innerHeight) {
        row.scrollIntoView({ block: 'center', inline: 'nearest' });
      }
    }
  }

  #draw() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const text = this.#area.value;
    const lines = text.split('\n');
    const passages = colour(lines, text);
    /** @type {Mark[][]} */
    const marks = lines.map(() => []);
    for (const mark of this.#marks) {
      const i = mark.line - 1;
      marks[i]?.push(mark);
      passages[i]?.push(passage(lines[i], mark));
    }
    const selected = this.#selected;
    if (selected && lines[selected.line - 1] !== undefined) {
      const i = selected.line - 1;
      passages[i].push({ ...passage(lines[i], selected), style: 'selected' });
    }
    const digits = String(lines.length).length;
    this.#gutter.style.setProperty('--digits', String(digits));
    const drawn = [
      lines.map((line, i) => JSON.stringify([line, passages[i]])),
      marks.map((all) => JSON.stringify(all)),
    ];
    patch(this.#text, this.#drawn[0], drawn[0], (i) => make(
      'div',
      { class: passages[i].some(({ style }) => style === 'selected') ? 'at' : undefined },
      ...pieces(lines[i], passages[i]),
    ));
    patch(this.#gutter, this.#drawn[1], drawn[1], (i) => signs(marks[i]));
    this.#drawn = drawn;
  }
}

/**
 * Makes those lines anew that differ from what is drawn.
 * @param {HTMLElement} parent
 * @param {string[]} before what is drawn of each line
 * @param {string[]} now
 * @param {(line: number) => HTMLElement} build
 */
function patch(parent, before, now, build) {
  const most = Math.min(before.length, now.length);
  let start = 0;
  while (start < most && before[start] === now[start]) {
    start += 1;
  }
  let end = 0;
  while (end < most - start && before[before.length - 1 - end] === now[now.length - 1 - end]) {
    end += 1;
  }
  const elements = [...parent.children];
  for (const element of elements.slice(start, before.length - end)) {
    element.remove();
  }
  const next = elements[before.length - end] ?? null;
  for (let i = start; i < now.length - end; i += 1) {
    parent.insertBefore(build(i), next);
  }
}

/**
 * @param {string} line
 * @param {Mark} mark
 * @returns {Passage}
 */
function passage(line, { column, length, kind, degree = 0 }) {
  const start = indexOfColumn(line, column);
  // A construct may go on in the next line. It has one character at least.
  const end = Math.max(indexOfColumn(line, column + length), start + 1);
  const style = kind === 'degree' ? `degree-mark d${degreeClass(degree)}` : `${kind}-mark`;
  return { start: Math.min(start, Math.max(line.length - 1, 0)), end, style };
}

/**
 * A line's degree and its worst fault. The style sheet counts the lines.
 * @param {Mark[]} marks
 */
function signs(marks) {
  const degrees = marks.filter((mark) => mark.kind === 'degree').map((mark) => mark.degree ?? 0);
  const degree = Math.max(0, ...degrees);
  const fault = ['failure', 'warning'].find((kind) => marks.some((mark) => mark.kind === kind));
  const badge = make('span', {
    class: `au-degree${degree > 0 ? ` d${degreeClass(degree)}` : ''}`,
    title: degree > 0 ? `degree ${degree}` : undefined,
  }, degree > 0 ? String(degree) : '');
  const sign = make('span', { class: `au-sign ${fault ?? ''}`, title: fault }, fault ? '!' : '');
  return make('div', {}, badge, sign);
}
