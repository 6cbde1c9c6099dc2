/**
 * The page: its tabs, the GPU that its sections share, and what it says where there is none.
 */

import { mountRace } from './race.js';
import { mountSplats } from './splats.js';

/**
 * What the sections sort with.
 * @typedef {object} Engine
 * @property {GPUDevice} device
 * @property {import('../dist/index.js').Sorter} sorter
 */

/**
 * A section of the page, which works only while it is shown.
 * @typedef {object} View
 * @property {() => void} [show]
 * @property {() => void} [hide]
 */

/** The device and its sorter: made when they are first asked for, and anew after a loss. */
export class Gpu extends EventTarget {
  /** @type {Promise<Engine> | undefined} */
  #engine;

  /**
   * Rejects if there is no WebGPU here. If a device that it returned is lost later, it dispatches
   * "lost" with the reason as `detail`.
   * @returns {Promise<Engine>}
   */
  acquire() {
    if (!this.#engine) {
      const engine = create((reason) => {
        this.#forget(engine);
        this.dispatchEvent(new CustomEvent('lost', { detail: reason }));
      });
      this.#engine = engine;
      engine.catch(() => this.#forget(engine));
    }
    return this.#engine;
  }

  /** @param {Promise<Engine>} engine */
  #forget(engine) {
    if (this.#engine === engine) {
      this.#engine = undefined;
    }
  }
}

/**
 * @param {(reason: string) => void} onLost
 * @returns {Promise<Engine>}
 */
async function create(onLost) {
  const bcfsort = await import('../dist/index.js').catch((cause) => {
    throw Object.assign(new Error('../dist/index.js cannot be loaded.', { cause }), {
      code: 'NotBuilt',
    });
  });
  const device = await bcfsort.requestDevice({ powerPreference: 'high-performance' });
  const sorter = await bcfsort.Sorter.create(device);
  device.lost.then((info) => onLost(info.message || 'The browser gave no reason.'));
  return { device, sorter };
}

const BROWSERS = 'WebGPU is in Chrome and Edge since version 113 (Windows, macOS, ChromeOS) and '
  + '121 (Android), in Safari since 26, and in Firefox since 141 (Windows) and 145 (macOS). On '
  + 'Linux it may have to be turned on, in Chrome at chrome://flags/#enable-unsafe-webgpu.';

/**
 * What is missing for WebGPU, in words.
 * @param {any} error
 * @returns {string[]} a title and paragraphs
 */
function missing(error) {
  if (error?.code === 'NotBuilt') {
    return ['The package has not been built.', `${error.message} npm run build makes it.`];
  }
  if (!isSecureContext) {
    return [
      'This page did not come over a secure connection.',
      'Browsers offer WebGPU (navigator.gpu) only to pages from https:// and from localhost.',
    ];
  }
  if (!navigator.gpu) {
    return [
      'This browser has no WebGPU.',
      'There is no navigator.gpu: the browser is too old for it, or has it turned off.',
      BROWSERS,
    ];
  }
  if (error?.code === 'NoAdapter') {
    return [
      'This browser has WebGPU, but no GPU for it.',
      'navigator.gpu.requestAdapter() found no adapter: the browser does not support this GPU or '
        + 'its driver, or hardware acceleration is turned off.',
      BROWSERS,
    ];
  }
  return ['The GPU could not be started.', String(error?.message ?? error)];
}

/** @param {unknown} error */
function explain(error) {
  const [title, ...lines] = missing(error);
  const heading = document.createElement('strong');
  heading.textContent = title;
  const paragraphs = lines.map((line) => {
    const paragraph = document.createElement('p');
    paragraph.textContent = line;
    return paragraph;
  });
  const rest = document.createElement('p');
  rest.append('The ', link('race', 'sort race'), ' still runs the browser’s own sorts. The ',
    link('auditor', 'shader auditor'), ' needs no GPU.');
  notice.replaceChildren(heading, ...paragraphs, rest);
  document.body.classList.add('no-gpu');
}

/**
 * @param {string} tab
 * @param {string} text
 */
function link(tab, text) {
  const anchor = document.createElement('a');
  anchor.href = `#${tab}`;
  anchor.textContent = text;
  return anchor;
}

const notice = /** @type {HTMLElement} */ (document.getElementById('no-webgpu'));
const gpu = new Gpu();

/** @type {Record<string, (section: HTMLElement) => View | Promise<View>>} */
const mounts = {
  async splats(section) {
    const parameters = new URLSearchParams(location.search);
    return mountSplats(section, { gpu, parameters, engine: await gpu.acquire() });
  },
  race: (section) => mountRace(section, { gpu, onNoGpu: explain }),
  async auditor(section) {
    const { mount } = await import('./playground.js');
    await mount(section);
    return {};
  },
};

/** @type {Record<string, Promise<View | undefined>>} */
const views = {};
let shown = '';

/**
 * Shows one section; mounts it if it is shown for the first time.
 * @param {string} name
 */
async function show(name) {
  if (name === shown) {
    return;
  }
  const previous = shown;
  shown = name;
  document.body.dataset.tab = name;
  for (const tab of tabs) {
    const selected = tab.hash === `#${name}`;
    tab.setAttribute('aria-selected', String(selected));
    tab.tabIndex = selected ? 0 : -1;
    panel(tab.hash.slice(1)).hidden = !selected;
  }
  views[previous]?.then((view) => view?.hide?.());
  views[name] ??= mountPanel(name);
  const view = await views[name];
  // Another tab may have been chosen while this one was being mounted.
  if (shown === name) {
    view?.show?.();
  }
}

/**
 * @param {string} name
 * @returns {Promise<View | undefined>}
 */
async function mountPanel(name) {
  try {
    return await mounts[name](panel(name));
  } catch (error) {
    delete views[name];
    if (name === 'splats') {
      explain(error);
    } else {
      const message = document.createElement('p');
      message.className = 'notice';
      message.textContent = `This part of the page could not be loaded: ${error}`;
      panel(name).replaceChildren(message);
    }
    return undefined;
  }
}

/** @param {string} name */
function panel(name) {
  return /** @type {HTMLElement} */ (document.getElementById(`panel-${name}`));
}

/** A section may add its own state to its name, as in `#auditor?example=transpose`. */
function route() {
  const [name] = location.hash.slice(1).split(/[^a-z]/);
  show(name in mounts ? name : 'splats');
}

const tabs = [
  .../** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll('[role="tab"]')),
];
const STEPS = /** @type {Record<string, (index: number) => number>} */ ({
  ArrowLeft: (index) => index - 1,
  ArrowRight: (index) => index + 1,
  Home: () => 0,
  End: () => -1,
});
for (const [index, tab] of tabs.entries()) {
  tab.addEventListener('keydown', (event) => {
    const step = STEPS[event.key];
    if (step) {
      event.preventDefault();
      const next = tabs.at(step(index) % tabs.length);
      next?.focus();
      next?.click();
    } else if (event.key === ' ') {
      event.preventDefault();
      tab.click();
    }
  });
}
document.getElementById('skip')?.addEventListener('click', (event) => {
  // Its address would count as the name of a tab.
  event.preventDefault();
  document.getElementById('content')?.focus();
});
addEventListener('hashchange', route);
route();
