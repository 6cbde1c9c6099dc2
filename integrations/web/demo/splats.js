/**
 * The splats: a scene that turns, and is sorted by depth in every frame.
 */

import { counted, element, rounded } from './dom.js';
import { Orbit } from './orbit.js';
import { Plot } from './plot.js';
import { MOST, Renderer } from './renderer.js';

/** @typedef {import('./main.js').Engine} Engine */
/** @typedef {import('./main.js').Gpu} Gpu */
/** @typedef {import('./renderer.js').Sorting} Sorting */

const FEWEST = 1e5;
const FEWEST_AFTER_FAILURE = 1000;

/** @param {number} ms */
const inMs = (ms) => (Number.isNaN(ms) ? '–' : ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0));

/** The section: its controls, and the loop. */
class View {
  #gpu;
  #orbit;
  #plot;
  /** @type {Renderer | undefined} */
  #renderer;
  #canvas = element('splat-canvas');
  #slider = element('splat-count');
  #select = element('splat-sorter');
  #count;
  /** Whether the scene is another one than the controls ask for. */
  #isStale = false;
  #isBuilding = false;
  #shown = false;
  #request = 0;
  #timer = 0;
  #last = NaN;
  #lastText = 0;
  #light = matchMedia('(prefers-color-scheme: light)');

  /**
   * @param {Gpu} gpu
   * @param {URLSearchParams} parameters
   * @param {Engine} engine
   */
  constructor(gpu, parameters, engine) {
    this.#gpu = gpu;
    this.#orbit = new Orbit(this.#canvas);
    this.#plot = new Plot(element('splat-plot'));
    const sorting = parameters.get('sorter') ?? '';
    if (['gpu', 'worker', 'none'].includes(sorting)) {
      this.#select.value = sorting;
    }
    const count = Math.floor(Number(parameters.get('n')));
    this.#count = count > 0 ? Math.min(count, MOST) : usualCount(engine.device);

    this.#slider.addEventListener('input', () => {
      this.#count = rounded(10 ** Number(this.#slider.value));
      this.#showCount();
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#rebuild(), 150);
    });
    this.#select.addEventListener('change', () => this.#choose());
    this.#light.addEventListener('change', () => {
      this.#plot.restyle();
      this.#rebuild();
    });
    new ResizeObserver(() => this.#resize()).observe(this.#canvas);
    document.addEventListener('visibilitychange', () => this.#run());
    gpu.addEventListener('lost', (event) => {
      this.#stop(`The GPU device was lost. ${/** @type {CustomEvent} */ (event).detail}`);
    });
    element('splat-restart').addEventListener('click', () => this.#restart());
    this.#showSorting();
  }

  /** @param {Engine} engine */
  async start(engine) {
    const { device } = engine;
    const renderer = await Renderer.create(engine, this.#canvas);
    renderer.sorting = this.#select.value;
    renderer.onWorkerError = (message) => (element('splat-clock').textContent = message);
    this.#renderer = renderer;
    const { most, why } = renderer.most();
    this.#count = Math.min(this.#count, most);
    this.#slider.min = Math.log10(Math.min(FEWEST, this.#count));
    this.#slider.max = Math.log10(most);
    this.#slider.value = Math.log10(this.#count);
    element('splat-count-note').textContent = most < MOST
      ? `This device holds at most ${counted(most)}: ${why}.`
      : '';
    const { vendor, architecture, description, isFallbackAdapter } = device.adapterInfo ?? {};
    const name = description || [vendor, architecture].filter(Boolean).join(' ');
    element('splat-device').textContent = [
      name && `Adapter: ${name}`,
      isFallbackAdapter && 'The adapter computes in software: do not judge the speed by it.',
    ].filter(Boolean).join('. ');
    this.#resize();
    this.#showCount();
    this.#showSorting();
    await this.#rebuild();
  }

  show() {
    this.#shown = true;
    this.#run();
  }

  hide() {
    this.#shown = false;
    this.#run();
  }

  /** Runs the loop if there is something to see, and else stops it. */
  #run() {
    cancelAnimationFrame(this.#request);
    this.#last = NaN;
    if (this.#shown && this.#renderer && !document.hidden) {
      this.#request = requestAnimationFrame(this.#frame);
    }
  }

  #frame = (/** @type {number} */ now) => {
    const renderer = this.#renderer;
    if (!renderer) {
      return;
    }
    this.#request = requestAnimationFrame(this.#frame);
    const ms = now - this.#last;
    this.#last = now;
    // After a pause the camera goes on where it was.
    this.#orbit.move(Math.min(ms || 0, 100) / 1000);
    renderer.draw(this.#orbit);
    this.#plot.add(renderer.sortMs, ms);
    this.#plot.draw();
    element('splat-frames').textContent = renderer.frames;
    element('splat-wait').hidden = renderer.frames > 0;
    if (now - this.#lastText > 250) {
      this.#lastText = now;
      this.#showTimes(renderer);
    }
  };

  /** @param {Renderer} renderer */
  #showTimes(renderer) {
    element('splat-ms').textContent = inMs(this.#plot.mean('sort'));
    element('splat-frame-ms').textContent = inMs(this.#plot.mean('frame'));
    const { worker } = renderer;
    if (worker && !Number.isNaN(worker.age)) {
      const age = worker.age === 1 ? '1 frame' : `${worker.age} frames`;
      element('splat-clock').textContent = `CPU time in the worker. The order is ${age} old.`;
    }
  }

  #showCount() {
    element('splat-count-value').textContent = counted(this.#count);
    this.#slider.setAttribute('aria-valuetext', `${counted(this.#count)} splats`);
  }

  #showSorting() {
    const sorting = /** @type {Sorting} */ (this.#select.value);
    element('splat-sorter-note').textContent = NOTES[sorting];
    element('splat-clock').textContent = {
      gpu: this.#renderer?.stopwatch.precise === false
        ? 'From submission until the queue is done: this device has no timestamps.'
        : 'GPU time of culling and the sort, by timestamps.',
      worker: 'CPU time in the worker.',
      none: 'There is no sort to be timed.',
    }[sorting];
  }

  #resize() {
    const canvas = this.#canvas;
    // The pixels of a software adapter cost more than they are worth.
    const software = this.#renderer?.engine.device.adapterInfo?.isFallbackAdapter;
    const scale = software ? 1 : Math.min(devicePixelRatio, 2);
    const most = this.#renderer?.engine.device.limits.maxTextureDimension2D ?? 8192;
    canvas.width = Math.min(Math.max(Math.round(canvas.clientWidth * scale), 1), most);
    canvas.height = Math.min(Math.max(Math.round(canvas.clientHeight * scale), 1), most);
  }

  async #choose() {
    this.#plot.clear();
    this.#showSorting();
    const renderer = this.#renderer;
    try {
      await renderer?.setSorting(this.#select.value);
    } catch (error) {
      if (renderer && !(await isLost(renderer.engine.device))) {
        element('splat-clock').textContent = /** @type {Error} */ (error).message;
      }
    }
  }

  /**
   * Makes the scene that was asked for last. There is never more than one being made, so that no
   * more than two are in memory.
   */
  async #rebuild() {
    this.#isStale = true;
    if (this.#isBuilding) {
      return;
    }
    this.#isBuilding = true;
    while (this.#isStale) {
      this.#isStale = false;
      const renderer = this.#renderer;
      const count = this.#count;
      try {
        await renderer?.setScene(count, Number(this.#light.matches));
      } catch (error) {
        if (renderer && !(await isLost(renderer.engine.device))) {
          this.#tooMany(count, error);
        }
      }
    }
    this.#isBuilding = false;
  }

  /**
   * Goes back to what did fit.
   * @param {number} count
   * @param {any} error
   */
  #tooMany(count, error) {
    const before = this.#renderer?.scene?.count;
    const next = before && before < count ? before : Math.floor(count / 2);
    const text = `${counted(count)} splats do not fit on this device: ${error.message}`;
    if (next < FEWEST_AFTER_FAILURE) {
      this.#stop(text);
      return;
    }
    this.#slider.max = Math.log10(next);
    this.#slider.value = Math.log10(next);
    this.#count = next;
    this.#showCount();
    element('splat-count-note').textContent = text;
    this.#isStale = next !== before;
  }

  /** @param {string} reason */
  #stop(reason) {
    element('splat-wait').hidden = true;
    this.#renderer?.dispose();
    this.#renderer = undefined;
    this.#run();
    element('splat-message-text').textContent = reason;
    element('splat-message').hidden = false;
  }

  async #restart() {
    element('splat-message').hidden = true;
    element('splat-wait').hidden = false;
    try {
      await this.start(await this.#gpu.acquire());
      this.#run();
    } catch (error) {
      this.#stop(`It could not be restarted. ${/** @type {Error} */ (error).message}`);
    }
  }
}

/**
 * Whether a failure is that of a lost device, which is said elsewhere. A loss may be announced only
 * after the calls that it makes fail.
 * @param {GPUDevice} device
 */
function isLost(device) {
  const later = new Promise((resolve) => setTimeout(resolve, 200, false));
  return Promise.race([device.lost.then(() => true), later]);
}

/** @type {Record<Sorting, string>} */
const NOTES = {
  gpu: 'Culled, sorted and drawn in one command buffer: the order is always that of the frame.',
  worker: 'A counting sort by 16 bits of depth, as viewers usually do it. Its order arrives late.',
  none: 'In the order in which they were generated: what is behind shines through.',
};

/**
 * What a device of its class draws well at once.
 * @param {GPUDevice} device
 */
function usualCount(device) {
  if (device.adapterInfo?.isFallbackAdapter) {
    return 50_000;
  }
  return matchMedia('(pointer: coarse)').matches ? 400_000 : 1_000_000;
}

/**
 * @param {HTMLElement} _section
 * @param {{gpu: Gpu, parameters: URLSearchParams, engine: Engine}} options
 */
export async function mountSplats(_section, { gpu, parameters, engine }) {
  const view = new View(gpu, parameters, engine);
  await view.start(engine);
  return view;
}
