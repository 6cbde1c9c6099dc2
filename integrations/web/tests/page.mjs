/**
 * A page of a browser that puppeteer drives, and places in it by test id, text or role: what an
 * action needs is waited for, so that tests say no more than what a visitor does.
 */

const PATIENCE = 30_000;
const ROLES = { alert: '[role="alert"]', button: 'button', link: 'a[href]' };

/** In the page: the elements that a chain of steps leads to. */
function find(steps) {
  const plain = (text) => text.replace(/\s+/g, ' ').toLowerCase();
  const hasText = (element, text) => plain(element.textContent).includes(plain(text));
  const isNamed = (element, name) =>
    plain(element.getAttribute('aria-label') ?? element.textContent).includes(plain(name));
  let found = [document];
  for (const { css, text, name, index } of steps) {
    if (index !== undefined) {
      found = found.slice(index, index + 1);
      continue;
    }
    const inside = new Set(found.flatMap((root) => [...root.querySelectorAll(css)]));
    found = [...inside].filter((element) => (
      (name === undefined || isNamed(element, name))
      // Of nested elements with a text, the innermost.
      && (text === undefined || hasText(element, text)
        && ![...element.children].some((child) => hasText(child, text)))
    ));
  }
  return found;
}

/** In the page: whether an element is seen. */
function isSeen(element) {
  const { width, height } = element.getBoundingClientRect();
  return width > 0 && height > 0 && element.checkVisibility({ visibilityProperty: true });
}

/**
 * Acts, and waits until the page has got the event: Firefox is told of actions before it has.
 * Returns whether the event was one of the element.
 */
async function acted(page, type, element, act) {
  const happened = await page.evaluateHandle((type, element) => {
    const happened = { yet: false, hit: false };
    const listener = ({ target }) => {
      happened.yet = true;
      happened.hit = element.contains(target);
    };
    addEventListener(type, listener, { capture: true, once: true });
    return happened;
  }, type, element);
  await act();
  await page.waitForFunction((happened) => happened.yet, { timeout: PATIENCE }, happened);
  return happened.evaluate(({ hit }) => hit);
}

/** Elements of a page, found anew for each action. */
export class Locator {
  #page;
  #steps;

  /** @param {import('puppeteer-core').Page} page */
  constructor(page, steps = []) {
    this.#page = page;
    this.#steps = steps;
  }

  #then(step) {
    return new Locator(this.#page, [...this.#steps, step]);
  }

  locator(css) {
    return this.#then({ css });
  }

  getByTestId(id) {
    return this.#then({ css: `[data-testid="${id}"]` });
  }

  getByText(text) {
    return this.#then({ css: ':not(script, style)', text });
  }

  getByRole(role, { name } = {}) {
    return this.#then({ css: ROLES[role], name });
  }

  nth(index) {
    return this.#then({ index });
  }

  first() {
    return this.nth(0);
  }

  /** Calls a function of this module in the page, with the elements and another argument. */
  async #all(call, argument) {
    return this.#page.evaluate(`(() => {
      ${isSeen}
      ${find}
      return (${call})(find(${JSON.stringify(this.#steps)}), ${JSON.stringify(argument)});
    })()`);
  }

  /** The first element, once there is one; if it must be seen, once it is. */
  async #one({ seen = false, enabled = false, timeout = PATIENCE } = {}) {
    const ready = `(() => {
      ${isSeen}
      ${find}
      const [element] = find(${JSON.stringify(this.#steps)});
      return element && (!${seen} || isSeen(element)) && (!${enabled} || !element.disabled)
        ? element : null;
    })()`;
    try {
      return (await this.#page.waitForFunction(ready, { timeout })).asElement();
    } catch (cause) {
      const place = JSON.stringify(this.#steps);
      throw new Error(`nothing ${seen ? 'is seen' : 'is'} at ${place}`, { cause });
    }
  }

  async waitFor() {
    await this.#one({ seen: true });
  }

  async evaluate(call, argument) {
    return (await this.#one()).evaluate(call, argument);
  }

  async evaluateAll(call) {
    return this.#all(call);
  }

  count() {
    return this.#all((elements) => elements.length);
  }

  isVisible() {
    return this.#all((elements) => elements.length > 0 && isSeen(elements[0]));
  }

  async isHidden() {
    return !(await this.isVisible());
  }

  isDisabled() {
    return this.evaluate((element) => element.disabled);
  }

  textContent() {
    return this.evaluate((element) => element.textContent);
  }

  allTextContents() {
    return this.#all((elements) => elements.map(({ textContent }) => textContent));
  }

  innerText() {
    return this.evaluate((element) => element.innerText);
  }

  inputValue() {
    return this.evaluate((element) => element.value);
  }

  getAttribute(name) {
    return this.evaluate((element, name) => element.getAttribute(name), name);
  }

  focus() {
    return this.evaluate((element) => element.focus());
  }

  blur() {
    return this.evaluate((element) => element.blur());
  }

  async click() {
    const element = await this.#one({ seen: true, enabled: true });
    // A click that ends the edit of a field can move what it was meant for, and so miss it: as a
    // visitor does, it clicks again.
    for (let tries = 0; tries < 3; tries++) {
      if (await acted(this.#page, 'click', element, () => element.click())) {
        return;
      }
    }
    throw new Error(`three clicks missed ${JSON.stringify(this.#steps)}`);
  }

  /** Chooses an option by its value, or by its text: `{ label }`. */
  async selectOption(wanted) {
    await (await this.#one({ seen: true, enabled: true })).evaluate((select, wanted) => {
      const option = [...select.options].find(({ value, text }) =>
        wanted.label === undefined ? value === wanted : text.trim() === wanted.label);
      if (!option) {
        throw new Error(`there is no option ${JSON.stringify(wanted)}`);
      }
      select.value = option.value;
      select.dispatchEvent(new Event('input', { bubbles: true }));
      select.dispatchEvent(new Event('change', { bubbles: true }));
    }, wanted);
  }

  /** Types a text over what a field has, as one edit that can be undone. */
  async fill(text) {
    await (await this.#one({ seen: true, enabled: true })).evaluate((field, text) => {
      field.focus();
      field.select();
      document.execCommand(text === '' ? 'delete' : 'insertText', false, text);
    }, text);
  }

  /** Presses keys, such as `Control+Enter`. */
  async press(keys) {
    await this.focus();
    const element = await this.#one();
    const all = keys.split('+').map((key) => (key === 'ControlOrMeta' ? 'Control' : key));
    const last = all.pop();
    for (const key of all) {
      await this.#page.keyboard.down(key);
    }
    const shifted = all.includes('Shift') ? last.toUpperCase() : last;
    await acted(this.#page, 'keyup', element, () => this.#page.keyboard.press(shifted));
    for (const key of all.reverse()) {
      await this.#page.keyboard.up(key);
    }
  }

  async boundingBox() {
    return (await this.#one({ seen: true })).boundingBox();
  }

  /** A picture as PNG, while `style` holds, if it is given. */
  async screenshot({ style } = {}) {
    const element = await this.#one({ seen: true });
    const sheet = style && (await this.#page.addStyleTag({ content: style }));
    const picture = await element.screenshot();
    await sheet?.evaluate((sheet) => sheet.remove());
    return Buffer.from(picture);
  }
}

/** A page, and all that is in it. */
export class Page extends Locator {
  #page;

  /** @param {import('puppeteer-core').Page} page */
  constructor(page, engine) {
    super(page);
    this.#page = page;
    /** The name of the browser. */
    this.engine = engine;
  }

  evaluate(call, argument) {
    return this.#page.evaluate(call, argument);
  }

  async waitForFunction(call, argument, { timeout = PATIENCE } = {}) {
    await this.#page.waitForFunction(call, { timeout }, argument);
  }

  /** Waits until the address has a form, as it does after scripts changed it. */
  async waitForURL(form) {
    const { source, flags } = form;
    await this.waitForFunction(
      ({ source, flags }) => new RegExp(source, flags).test(location.href), { source, flags });
  }

  waitForTimeout(milliseconds) {
    return new Promise((after) => setTimeout(after, milliseconds));
  }

  /** Runs a script in the page before its own, from the next address on. */
  addInitScript(call) {
    return this.#page.evaluateOnNewDocument(call);
  }

  goto(url) {
    return this.#page.goto(url);
  }

  reload() {
    return this.#page.reload();
  }

  goBack() {
    return this.evaluate(() => history.back());
  }

  url() {
    return this.#page.url();
  }

  on(event, listener) {
    this.#page.on(event, listener);
  }

  async screenshot() {
    return Buffer.from(await this.#page.screenshot());
  }

  get keyboard() {
    const { keyboard } = this.#page;
    return {
      down: (key) => keyboard.down(key),
      up: (key) => keyboard.up(key),
      press: (key) => keyboard.press(key),
      insertText: (text) => this.evaluate(
        (text) => document.execCommand('insertText', false, text), text),
    };
  }

  get mouse() {
    const { mouse } = this.#page;
    return {
      move: (x, y, options) => mouse.move(x, y, options),
      down: () => mouse.down(),
      up: () => mouse.up(),
      wheel: (deltaX, deltaY) => mouse.wheel({ deltaX, deltaY }),
    };
  }

  /** A function that collects garbage and tells the bytes that scripts hold: of Chromium. */
  async heap() {
    const session = await this.#page.createCDPSession();
    return async () => {
      await session.send('HeapProfiler.collectGarbage');
      return (await session.send('Runtime.getHeapUsage')).usedSize;
    };
  }
}
