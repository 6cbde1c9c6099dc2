/**
 * What the parts of the auditor share: elements, and places in a text.
 */

import { counted } from './dom.js';

export { counted };

/**
 * An attribute that is false or undefined is left out; a function listens to the event of its name.
 * @typedef {string | number | boolean | undefined | ((event: any) => void)} Attribute
 * @typedef {Record<string, Attribute>} Attributes
 */

/**
 * Makes an element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Attributes} attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') {
      element.addEventListener(key, value);
    } else if (value !== undefined && value !== false) {
      element.setAttribute(key, value === true ? '' : String(value));
    }
  }
  element.append(...children);
  return element;
}

const ENCODER = new TextEncoder();

/**
 * The place in a line that a report gives in bytes of UTF-8.
 * @param {string} line
 * @param {number} column from 1
 * @returns {number} the index in the string, from 0
 */
export function indexOfColumn(line, column) {
  let bytes = column - 1;
  let index = 0;
  for (const character of line) {
    if (bytes <= 0) {
      break;
    }
    bytes -= ENCODER.encode(character).length;
    index += character.length;
  }
  return index;
}

/**
 * @param {number} count
 * @param {string} what
 */
export function plural(count, what) {
  return `${counted(count)} ${what}${count === 1 ? '' : 's'}`;
}

/** The quotient of two counts, such as 1.25x. @param {number} value @param {number} least */
export function ratio(value, least) {
  return least === 0 ? '–' : `${(value / least).toFixed(2)}×`;
}

/** A part in percent. Only the whole itself is 100 %. @param {number} part @param {number} whole */
export function share(part, whole) {
  if (whole === 0) {
    return '–';
  }
  return part === whole ? '100 %' : `${(Math.floor((part / whole) * 1000) / 10).toFixed(1)} %`;
}

/**
 * The class of a degree: 0 for none, 1 without conflict, then by powers of two up to 7.
 * @param {number} degree
 */
export function degreeClass(degree) {
  return degree === 0 ? 0 : Math.min(Math.ceil(Math.log2(degree)) + 1, 7);
}
