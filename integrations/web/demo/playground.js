/**
 * The shader auditor: finds bank conflicts, races and other faults in WGSL, without a GPU.
 */

import { Auditor, Refused, Stopped } from './auditor-client.js';
import { counted, make, plural } from './auditor-dom.js';
import { Drafts, titleOf } from './auditor-drafts.js';
import { Editor } from './auditor-editor.js';
import { Inputs } from './auditor-inputs.js';
import { Results } from './auditor-results.js';
import { pack, unpack } from './auditor-link.js';
import { LESSONS } from './lessons.js';

/** @typedef {import('./auditor-editor.js').Mark} Mark */
/** @typedef {import('./auditor-drafts.js').Draft} Draft */
/** @typedef {import('./auditor-results.js').Answer} Answer */
/** @typedef {import('./auditor-results.js').Report} Report */

/** The name of the shader in messages. */
const FILE = 'shader.wgsl';

/** What stands in place of a lesson over other shaders. */
const OWN = 'Your own shader. This browser keeps it, under “Your shaders”, when you open a lesson or '
  + 'leave the page.';
const LINKED = 'The shader of the link. What you change is kept as a shader of your own.';

/** Milliseconds after the last keystroke until the shader is listed. */
const PAUSE = 250;

/** Puts the stylesheet in the page, unless it is there. */
function addStyles() {
  const { href } = new URL('./playground.css', import.meta.url);
  if (![...document.styleSheets].some((sheet) => sheet.href === href)) {
    document.head.append(make('link', { rel: 'stylesheet', href }));
  }
}

/**
 * A word of a command for a shell.
 * @param {string} word
 */
function quoted(word) {
  return /^[\w.,:=^+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * The command that does the same.
 * @param {import('./auditor-inputs.js').Run} run
 */
function commandOf(run) {
  const words = ['wgsl-audit', FILE];
  /** @param {string} option @param {unknown} value @param {unknown} standard */
  const add = (option, value, standard) => {
    if (value !== undefined && String(value) !== String(standard)) {
      words.push(option, quoted(String(value)));
    }
  };
  add('--entry', run.entry, undefined);
  add('--workgroups', run.workgroups.join(','), '1,1,1');
  for (const [name, contents] of Object.entries(run.buffers)) {
    add('--buffer', `${name}=${contents}`, undefined);
  }
  for (const [name, value] of Object.entries(run.overrides)) {
    add('--override', `${name}=${value}`, undefined);
  }
  add('--seed', run.seed, 1);
  add('--warp', run.warp, 32);
  add('--banks', run.banks, 32);
  add('--max-degree', run.max_degree, undefined);
  add('--max-iterations', run.max_iterations, 2 ** 20);
  add('--max-lane-instructions', run.max_lane_instructions, undefined);
  return words.join(' ');
}

/**
 * What to mark in the source.
 * @param {Answer} answer
 * @returns {Mark[]}
 */
function marksOf({ report, notes }) {
  const [{ sites }] = report.kernels;
  const degrees = sites.filter(({ banks }) => banks && banks.max_degree > 0).map((site) => ({
    ...placeOf(site),
    kind: /** @type {const} */ ('degree'),
    degree: site.banks?.max_degree,
  }));
  // Conflicts are marked by their degree.
  const faults = notes.filter(({ rule }) => rule !== 'bank-conflict').flatMap((note) => [
    { ...placeOf(note), kind: note.severity },
    ...(note.other ? [{ ...placeOf(note.other), kind: note.severity }] : []),
  ]);
  return [...degrees, ...faults];
}

/** @param {import('./auditor-client.js').Place} place */
function placeOf({ line, column, length }) {
  return { line, column, length };
}

class Playground {
  #auditor = new Auditor();
  #editor = new Editor({ onInput: () => this.#edited() });
  #inputs = new Inputs({
    onChange: () => {
      this.#outdate();
      this.#keep();
    },
    onOverride: () => this.#list(),
    onRun: () => this.#run(),
  });
  #results = new Results({
    onSelect: (place, options) => this.#editor.select(place, options),
  });
  #runButton = make('button', {
    type: 'submit',
    form: Inputs.ID,
    class: 'primary au-run',
    'data-testid': 'audit-run',
    title: 'Ctrl+Enter, or Command+Enter',
  }, 'Run');
  #stopButton = make('button', {
    type: 'button',
    'data-testid': 'audit-stop',
    disabled: true,
    click: () => this.#interrupt(),
  }, 'Stop');
  #shareButton = make('button', {
    type: 'button',
    'data-testid': 'audit-share',
    click: () => this.#copyLink(),
  }, 'Copy link');
  #status = make('p', {
    class: 'au-status',
    role: 'status',
    'aria-live': 'polite',
    'data-testid': 'audit-status',
  });
  #problem = make('pre', { class: 'au-problem', 'data-testid': 'audit-problem', hidden: true });
  #about = make('p', { 'data-testid': 'lesson-about' });
  #fixButton = make('button', {
    type: 'button',
    'data-testid': 'lesson-fix',
    click: () => this.#toggleFix(),
  });
  #lessonButtons = LESSONS.map((lesson) => make('button', {
    type: 'button',
    'aria-pressed': 'false',
    'data-testid': `lesson-${lesson.id}`,
    click: () => this.#open(lesson),
  }, lesson.title));
  #lessonBox = make('div', { class: 'au-lesson' }, this.#about, this.#fixButton);
  #drafts = new Drafts();
  #draftSelect = make('select', {
    'aria-label': 'Your shaders',
    'data-testid': 'draft-select',
    hidden: true,
    change: () => this.#openDraft(),
  });

  /** @type {import('./lessons.js').Lesson | undefined} */
  #lesson;
  #isFixed = false;
  /** The visitor's own shader, if it is not that of a lesson. @type {Draft | undefined} */
  #draft;
  /** The packed shader in the address. @type {string | undefined} */
  #link;
  /** Of the same lesson, to compare the next one with. @type {Report | undefined} */
  #last;
  /** Of the next listing, while the text is being written. */
  #timer = 0;
  /** The number of the last run: earlier ones count no more. */
  #runs = 0;
  /** Whether the worker is busy with a run. */
  #isAuditing = false;
  /** Settled once the fields have limits. */
  #limited = Promise.resolve();
  /** Whether the auditor works, once the fields of the shader are known. */
  #listed = Promise.resolve(true);

  /** @param {HTMLElement} section */
  constructor(section) {
    const root = make(
      'div',
      { class: 'au' },
      make(
        'div',
        { class: 'au-head' },
        make('div', { class: 'intro' }, make('h2', {}, 'Shader auditor'), make(
          'p',
          {},
          'Runs a WGSL compute shader in this browser, the lanes of each warp in lock-step, and '
            + 'finds bank conflicts, races, accesses out of bounds and divergent barriers. No GPU '
            + 'is needed, and nothing leaves the page.',
        )),
        make(
          'div',
          { class: 'au-lessons', role: 'group', 'aria-label': 'Lessons' },
          ...this.#lessonButtons,
          this.#draftSelect,
        ),
      ),
      make(
        'div',
        { class: 'au-columns' },
        make(
          'div',
          { class: 'au-left' },
          this.#lessonBox,
          this.#editor.element,
          this.#inputs.element,
        ),
        make(
          'div',
          { class: 'au-right' },
          make(
            'div',
            { class: 'au-bar' },
            this.#runButton,
            this.#stopButton,
            this.#shareButton,
            this.#status,
          ),
          this.#problem,
          this.#results.element,
        ),
      ),
    );
    root.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.#run();
      }
    });
    section.append(root);
    this.#showLesson();
    this.#showDrafts();
    this.#limited = this.#askLimits();
    this.#openLink(LESSONS[0]);
    addEventListener('hashchange', () => this.#openLink());
    addEventListener('pagehide', () => this.#keep());
  }

  async #askLimits() {
    try {
      this.#inputs.setLimits(await this.#auditor.call('limits', {}));
    } catch (error) {
      if (error instanceof Stopped) {
        // A run was ended that had nothing to do with it.
        await this.#askLimits();
      } else {
        this.#fail(error);
      }
    }
  }

  /**
   * Opens the shader or the lesson that the address names.
   * @param {import('./lessons.js').Lesson} [otherwise]
   */
  async #openLink(otherwise) {
    const [, state] = /^#auditor\?(.*)/.exec(location.hash) ?? [];
    const parameters = new URLSearchParams(state);
    const shader = parameters.get('shader');
    const lesson = LESSONS.find(({ id }) => id === parameters.get('lesson')) ?? otherwise;
    // What was edited before the page was reloaded. (Of another link's shader it is not.)
    const draft = otherwise && this.#drafts.current;
    if (draft && (shader ? draft.link === shader : !parameters.has('lesson'))) {
      this.#link = shader ?? undefined;
      this.#show(draft);
      return;
    }
    if (!shader) {
      if (lesson) {
        this.#open(lesson);
      }
      return;
    }
    if (shader === this.#link) {
      return;
    }
    try {
      const { wgsl, ...run } = await unpack(shader);
      this.#load(wgsl, run);
      this.#link = shader;
      this.#leaveLesson();
      this.#say('This shader came with the link. Run it to see what is found.');
    } catch {
      this.#say('The link is damaged: its shader cannot be read.', 'bad');
    }
  }

  /** @param {import('./lessons.js').Lesson} lesson */
  #open(lesson) {
    this.#load(lesson.faulty, lesson.inputs);
    this.#enterLesson(lesson);
    this.#run();
  }

  #toggleFix() {
    const lesson = /** @type {import('./lessons.js').Lesson} */ (this.#lesson);
    this.#isFixed = !this.#isFixed;
    this.#load(this.#isFixed ? lesson.fixed : lesson.faulty, lesson.inputs);
    this.#showLesson();
    this.#run();
  }

  /** Opens one of the visitor's own shaders. @param {Draft} draft */
  #show(draft) {
    this.#load(draft.wgsl, draft.run);
    this.#draft = draft;
    this.#leaveLesson();
    this.#drafts.current = draft;
    this.#showDrafts();
    this.#say('This is your shader, as you left it. Run it to see what is found.');
  }

  #openDraft() {
    const draft = this.#drafts.list.find(({ id }) => id === this.#draftSelect.value);
    if (draft) {
      this.#show(draft);
    }
  }

  /** Stores the text, if it is the visitor's own. */
  #keep() {
    if (this.#draft) {
      this.#draft.wgsl = this.#editor.value;
      this.#draft.run = this.#inputs.all;
      this.#drafts.keep(this.#draft);
      this.#drafts.current = this.#draft;
      this.#showDrafts();
    }
  }

  /** Lists the visitor's own shaders. */
  #showDrafts() {
    const { list } = this.#drafts;
    const none = make('option', { value: '' }, 'Your shaders …');
    this.#draftSelect.replaceChildren(none, ...list.map((draft) => (
      make('option', { value: draft.id }, titleOf(draft)))));
    this.#draftSelect.value = this.#draft?.id ?? '';
    this.#draftSelect.hidden = list.length === 0;
  }

  /** The visitor edited the text, or undid something. */
  #edited() {
    const wgsl = this.#editor.value;
    const lesson = LESSONS.find(({ faulty, fixed }) => wgsl === faulty || wgsl === fixed);
    if (lesson) {
      this.#enterLesson(lesson, wgsl === lesson.fixed);
      this.#inputs.set(lesson.inputs);
    } else if (!this.#draft) {
      const known = this.#drafts.list.find((draft) => draft.wgsl === wgsl);
      this.#draft = known ?? this.#drafts.begin(this.#link);
      // (The text below does not move while it is being written.)
      this.#leaveLesson(this.#lessonBox.offsetHeight);
      if (known) {
        this.#inputs.set(known.run);
      }
    }
    this.#changed();
  }

  #showLesson() {
    for (const [i, button] of this.#lessonButtons.entries()) {
      button.setAttribute('aria-pressed', String(LESSONS[i] === this.#lesson));
    }
    this.#fixButton.hidden = !this.#lesson;
    this.#lessonBox.classList.toggle('fixed', this.#isFixed);
    this.#lessonBox.style.minHeight = '';
    this.#about.textContent = this.#draft ? OWN : LINKED;
    if (this.#lesson) {
      this.#about.textContent = this.#isFixed ? this.#lesson.change : this.#lesson.about;
      this.#fixButton.textContent = this.#isFixed ? 'Show the fault' : 'Show the fix';
    }
  }

  /** @param {import('./lessons.js').Lesson} lesson @param {boolean} [isFixed] */
  #enterLesson(lesson, isFixed = false) {
    this.#lesson = lesson;
    this.#isFixed = isFixed;
    this.#last = undefined;
    this.#draft = undefined;
    this.#drafts.current = undefined;
    this.#showLesson();
    this.#showDrafts();
  }

  /** @param {number} [height] of the lesson, which its box keeps */
  #leaveLesson(height) {
    this.#lesson = undefined;
    this.#isFixed = false;
    this.#last = undefined;
    this.#showLesson();
    if (height) {
      this.#lessonBox.style.minHeight = `${height}px`;
    }
  }

  /**
   * Puts a shader in the text area, and its inputs in their fields.
   * @param {string} wgsl
   * @param {Partial<import('./auditor-inputs.js').Run>} run
   */
  #load(wgsl, run) {
    this.#keep();
    this.#draft = undefined;
    this.#cancel();
    this.#editor.value = wgsl;
    this.#inputs.set(run);
    this.#results.stale = true;
    this.#list();
  }

  /** The text was edited. */
  #changed() {
    this.#outdate();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#keep();
      this.#list();
    }, PAUSE);
  }

  /** The report is that of an earlier text, or of earlier inputs. */
  #outdate() {
    if (this.#results.isCurrent) {
      this.#results.stale = true;
      this.#say('Changed since the last run: run it again.');
    }
  }

  /** Lists the fields that the shader needs. */
  #list() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const wgsl = this.#editor.value;
    const request = { wgsl, file: FILE, overrides: this.#inputs.overrides };
    this.#listed = this.#auditor.call('resources', request).then((listing) => {
      if (wgsl === this.#editor.value) {
        this.#inputs.list(listing);
      }
      return true;
    }).catch((error) => {
      // A text that is being written need not be valid. The fields stay as they are, and a run
      // tells what is wrong.
      if (error instanceof Refused || error instanceof Stopped) {
        return true;
      }
      this.#fail(error);
      return false;
    });
  }

  /** Ends the run that is going on, if one is. Returns whether the worker was ended, too. */
  #cancel() {
    const was = this.#isAuditing;
    this.#runs += 1;
    this.#setRunning(false);
    if (was) {
      this.#isAuditing = false;
      this.#auditor.stop();
    }
    return was;
  }

  /** Ends the run at the user's wish. */
  #interrupt() {
    this.#cancel();
    // It may still be busy with the listing of a long shader.
    this.#auditor.stop();
    this.#say('stopped: the run was ended, and has no report.');
    this.#list();
  }

  async #run() {
    if (this.#cancel() || this.#timer) {
      this.#list();
    }
    const number = this.#runs;
    this.#setRunning(true);
    this.#problem.hidden = true;
    this.#say('running …');
    const [works] = await Promise.all([this.#listed, this.#limited]);
    if (number !== this.#runs) {
      return;
    }
    if (!works || !this.#inputs.areValid) {
      this.#setRunning(false);
      if (works) {
        this.#say('Nothing was run: an input is missing or wrong.', 'bad');
      }
      return;
    }
    const run = this.#inputs.run;
    const request = { wgsl: this.#editor.value, file: FILE, ...run };
    this.#isAuditing = true;
    try {
      const answer = await this.#auditor.call('audit', request);
      if (number === this.#runs) {
        this.#finish(answer, commandOf(run), request.wgsl);
      }
    } catch (error) {
      if (number === this.#runs) {
        this.#fail(error);
      }
    }
    if (number === this.#runs) {
      this.#isAuditing = false;
      this.#setRunning(false);
    }
  }

  /** @param {boolean} is */
  #setRunning(is) {
    this.#stopButton.disabled = !is;
    this.#runButton.setAttribute('aria-busy', String(is));
  }

  /**
   * @param {Answer} answer
   * @param {string} command
   * @param {string} wgsl
   */
  #finish(answer, command, wgsl) {
    const { report, notes } = answer;
    const [{ workgroup }] = report.kernels;
    this.#results.show(answer, command, this.#last);
    // Own shaders are not compared: the text may be another one altogether.
    this.#last = this.#lesson && report;
    if (this.#editor.value === wgsl) {
      this.#editor.mark(marksOf(answer));
    } else {
      // It was edited during the run.
      this.#results.stale = true;
    }
    const count = (/** @type {string} */ severity, /** @type {string} */ what) => {
      const number = notes.filter((note) => note.severity === severity).length;
      return number > 0 ? [plural(number, what)] : [];
    };
    const found = [
      ...count('failure', 'failure'),
      ...count('warning', 'warning'),
      ...count('note', 'note'),
    ];
    const degree = workgroup.accesses > 0 ? [`degree ${workgroup.max_degree}`] : [];
    const all = [...degree, found.length > 0 ? found.join(', ') : 'nothing found'];
    const time = report.seconds < 1
      ? `${(report.seconds * 1e3).toFixed(1)} ms`
      : `${report.seconds.toFixed(2)} s`;
    this.#say(
      `done: ${all.join('; ')}. ${counted(report.lane_instructions)} lane-instructions in ${time}.`,
      found.length === 0 ? 'good' : report.clean ? '' : 'bad',
    );
  }

  /** @param {any} error */
  #fail(error) {
    const problem = error instanceof Refused ? error.problem : undefined;
    const place = problem && problem.line > 0 ? `line ${problem.line}:${problem.column}: ` : '';
    this.#results.hide();
    this.#say(`error: ${place}${error.message}`, 'bad');
    if (problem?.detail) {
      this.#problem.textContent = problem.detail.trimEnd();
      this.#problem.hidden = false;
    }
    if (problem && problem.line > 0) {
      this.#editor.mark([{ ...placeOf(problem), kind: 'failure' }]);
      this.#editor.select(problem);
    }
  }

  /** @param {string} text @param {'good' | 'bad' | ''} [style] */
  #say(text, style = '') {
    this.#status.textContent = text;
    this.#status.className = `au-status ${style}`;
  }

  async #copyLink() {
    const packed = await pack({ wgsl: this.#editor.value, ...this.#inputs.run });
    this.#link = packed;
    if (this.#draft) {
      this.#draft.link = packed;
      this.#keep();
    }
    history.replaceState(null, '', `#auditor?shader=${packed}`);
    try {
      await navigator.clipboard.writeText(location.href);
      this.#say('The link is in the clipboard, and in the address bar.');
    } catch {
      this.#say('The link is in the address bar.');
    }
  }
}

/**
 * Puts the auditor in a section of the page.
 * @param {HTMLElement} section
 */
export function mount(section) {
  addStyles();
  new Playground(section);
}
