/** What the parts of the page share for its elements and their text. */

/**
 * @param {string} id
 * @returns {any} the element, of the type that the page gives it
 */
export function element(id) {
  return document.getElementById(id);
}

const COUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** With separators between thousands. @param {number} value */
export function counted(value) {
  return COUNT.format(value);
}

/** To two digits, for values of a logarithmic slider. @param {number} value */
export function rounded(value) {
  return Number(value.toPrecision(2));
}
