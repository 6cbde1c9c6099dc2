/** The camera of the splats. */

// Outside of the rope: a splat right before the camera would fill the screen.
const NEAREST = 1.9;
const FARTHEST = 9;

/** A camera that circles around the origin. */
export class Orbit {
  /** Whether it turns by itself. */
  auto;
  #yaw = 0.55;
  #pitch = 0.42;
  #distance = 4.3;
  #yawSpeed = 0;
  #pitchSpeed = 0;
  #damped;
  /** What pointers are down, and where. @type {Map<number, {x: number, y: number}>} */
  #pointers = new Map();
  /** @type {Set<string>} */
  #keys = new Set();
  /** Where the camera looks. */
  forward = [0, 0, -1];

  /** @param {HTMLElement} surface */
  constructor(surface) {
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.auto = !calm;
    this.#damped = !calm;
    surface.addEventListener('pointerdown', (event) => {
      this.auto = false;
      surface.setPointerCapture(event.pointerId);
      this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    surface.addEventListener('pointermove', (event) => this.#drag(event));
    for (const type of ['pointerup', 'pointercancel', 'lostpointercapture']) {
      surface.addEventListener(type, (event) => {
        this.#pointers.delete(/** @type {PointerEvent} */ (event).pointerId);
      });
    }
    surface.addEventListener('wheel', (event) => {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
      this.#zoom(Math.exp(event.deltaY * lines * 0.0012));
    }, { passive: false });
    surface.addEventListener('keydown', (event) => {
      if (/^(Arrow\w+|[+=-])$/.test(event.key) && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        this.auto = false;
        this.#keys.add(event.key);
      }
    });
    surface.addEventListener('keyup', (event) => this.#keys.delete(event.key));
    surface.addEventListener('blur', () => this.#keys.clear());
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    const pointer = this.#pointers.get(event.pointerId);
    if (!pointer) {
      return;
    }
    const before = this.#spread();
    const dx = event.clientX - pointer.x;
    const dy = event.clientY - pointer.y;
    pointer.x = event.clientX;
    pointer.y = event.clientY;
    const share = 1 / this.#pointers.size;
    this.#turn(-dx * 0.006 * share, dy * 0.006 * share);
    if (before > 0) {
      this.#zoom(before / Math.max(this.#spread(), 1));
    } else {
      this.#yawSpeed = -dx * 0.006 * 30;
      this.#pitchSpeed = dy * 0.006 * 30;
    }
  }

  /** The distance between two fingers. */
  #spread() {
    if (this.#pointers.size !== 2) {
      return 0;
    }
    const [a, b] = this.#pointers.values();
    return Math.hypot(a.x - b.x, a.y - b.y);
  }

  /**
   * @param {number} yaw
   * @param {number} pitch
   */
  #turn(yaw, pitch) {
    this.#yaw += yaw;
    // Above the ground, and not quite overhead.
    this.#pitch = Math.min(Math.max(this.#pitch + pitch, -0.12), 1.45);
  }

  /** @param {number} factor */
  #zoom(factor) {
    this.auto = false;
    this.#distance = Math.min(Math.max(this.#distance * factor, NEAREST), FARTHEST);
  }

  /** @param {number} seconds since it was moved last */
  move(seconds) {
    if (this.auto) {
      this.#turn(0.22 * seconds, 0);
    }
    const held = this.#keys;
    const across = Number(held.has('ArrowRight')) - Number(held.has('ArrowLeft'));
    const up = Number(held.has('ArrowUp')) - Number(held.has('ArrowDown'));
    if (held.size > 0) {
      this.#turn(across * 1.4 * seconds, up * 1.0 * seconds);
      const out = Number(held.has('-')) - Number(held.has('+') || held.has('='));
      this.#zoom(Math.exp(out * 1.2 * seconds));
    }
    if (this.#pointers.size === 0 && this.#damped) {
      this.#turn(this.#yawSpeed * seconds, this.#pitchSpeed * seconds);
    }
    const kept = Math.exp(-6 * seconds);
    this.#yawSpeed *= kept;
    this.#pitchSpeed *= kept;
  }

  /**
   * Writes the uniforms of the shader that depend on where the camera is.
   * @param {Float32Array} uniforms
   * @param {number} width in pixels
   * @param {number} height
   */
  write(uniforms, width, height) {
    const [sinYaw, cosYaw] = [Math.sin(this.#yaw), Math.cos(this.#yaw)];
    const [sinPitch, cosPitch] = [Math.sin(this.#pitch), Math.cos(this.#pitch)];
    // The rows of the rotation: right, up and backward.
    uniforms.set([
      cosYaw, -sinYaw * sinPitch, sinYaw * cosPitch, 0,
      0, cosPitch, sinPitch, 0,
      -sinYaw, -cosYaw * sinPitch, cosYaw * cosPitch, 0,
      0, 0.1, -this.#distance, 1,
    ]);
    this.forward[0] = -sinYaw * cosPitch;
    this.forward[1] = -sinPitch;
    this.forward[2] = -cosYaw * cosPitch;
    // The scene is wider than high: a narrow canvas shows all of its width.
    const aspect = width / height;
    const focal = 2.35 * Math.min(1, aspect / 1.2);
    uniforms[16] = focal / aspect;
    uniforms[17] = focal;
    uniforms[18] = width;
    uniforms[19] = height;
    uniforms[20] = 0.05;
  }
}
