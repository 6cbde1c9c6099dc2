/** The plot of what frames and their sorts take. */

const HISTORY = 240;

/** The last values of two series in milliseconds, against a logarithmic axis. */
export class Plot {
  #canvas;
  #context;
  #sort = new Float32Array(HISTORY).fill(NaN);
  #frame = new Float32Array(HISTORY).fill(NaN);
  #next = 0;
  #colors = { line: '', muted: '', sort: '', frame: '' };
  #font = '';
  #width = 0;
  #height = 0;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.#canvas = canvas;
    this.#context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    this.restyle();
    new ResizeObserver(() => this.#resize()).observe(canvas);
  }

  #resize() {
    const canvas = this.#canvas;
    this.#width = canvas.clientWidth;
    this.#height = canvas.clientHeight;
    canvas.width = Math.round(this.#width * devicePixelRatio);
    canvas.height = Math.round(this.#height * devicePixelRatio);
  }

  /** Takes the colours of the page, which depend on the reader's preference. */
  restyle() {
    const style = getComputedStyle(this.#canvas);
    const color = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    this.#colors = {
      line: color('--line'),
      muted: color('--muted'),
      sort: color('--accent'),
      frame: color('--series'),
    };
    this.#font = `11px ${style.fontFamily}`;
  }

  /**
   * @param {number} sort
   * @param {number} frame
   */
  add(sort, frame) {
    this.#sort[this.#next] = sort;
    this.#frame[this.#next] = frame;
    this.#next = (this.#next + 1) % HISTORY;
  }

  /** @param {'sort' | 'frame'} series */
  mean(series) {
    const values = series === 'sort' ? this.#sort : this.#frame;
    let sum = 0;
    let count = 0;
    for (let back = 1; back <= 24; back++) {
      const value = values[(this.#next - back + HISTORY) % HISTORY];
      if (!Number.isNaN(value)) {
        sum += value;
        count++;
      }
    }
    return count > 0 ? sum / count : NaN;
  }

  /** Forgets the sort's values: those of another way to sort are not comparable. */
  clear() {
    this.#sort.fill(NaN);
  }

  draw() {
    const context = this.#context;
    const width = this.#width;
    const height = this.#height;
    if (width === 0) {
      return;
    }
    const [left, right, top, bottom] = [54, width - 4, 8, height - 20];
    let most = 100;
    for (let i = 0; i < HISTORY; i++) {
      while (this.#frame[i] > most || this.#sort[i] > most) {
        most *= 10;
      }
    }
    const decades = Math.round(Math.log10(most)) + 2;
    const y = (/** @type {number} */ ms) =>
      top + ((bottom - top) * (Math.log10(most) - Math.log10(Math.max(ms, 0.01)))) / decades;

    context.setTransform(this.#canvas.width / width, 0, 0, this.#canvas.height / height, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = this.#font;
    context.lineWidth = 1;
    context.strokeStyle = this.#colors.line;
    context.fillStyle = this.#colors.muted;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    context.beginPath();
    for (let decade = 0; decade <= decades; decade++) {
      const ms = most / 10 ** decade;
      const at = Math.round(y(ms)) + 0.5;
      context.moveTo(left, at);
      context.lineTo(right, at);
      const label = ms < 1000 ? `${Number(ms.toFixed(2))} ms` : `${ms / 1000} s`;
      context.fillText(label, left - 6, at);
    }
    context.stroke();
    context.textBaseline = 'alphabetic';
    context.textAlign = 'left';
    context.fillText(`${HISTORY} frames ago`, left, height - 4);
    context.textAlign = 'right';
    context.fillText('now', right, height - 4);

    context.save();
    context.beginPath();
    context.rect(left, top - 2, right - left, bottom - top + 4);
    context.clip();
    this.#line(this.#frame, this.#colors.frame, left, right, y);
    this.#line(this.#sort, this.#colors.sort, left, right, y);
    context.restore();
  }

  /**
   * @param {Float32Array} values
   * @param {string} color
   * @param {number} left
   * @param {number} right
   * @param {(ms: number) => number} y
   */
  #line(values, color, left, right, y) {
    const context = this.#context;
    context.strokeStyle = color;
    context.lineWidth = 1.5;
    context.lineJoin = 'round';
    context.beginPath();
    let started = false;
    for (let i = 0; i < HISTORY; i++) {
      const ms = values[(this.#next + i) % HISTORY];
      if (Number.isNaN(ms)) {
        started = false;
        continue;
      }
      const x = left + ((right - left) * i) / (HISTORY - 1);
      if (started) {
        context.lineTo(x, y(ms));
      } else {
        context.moveTo(x, y(ms));
        started = true;
      }
    }
    context.stroke();
  }
}
