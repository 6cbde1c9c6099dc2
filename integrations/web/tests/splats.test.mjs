/** The draw order of splats in each engine: see splats.js for each case. */

import { inEngines } from './engines.mjs';

const CASES = [
  'splatOrders', 'splatCameras', 'splatDepths', 'splatTies', 'splatsOutside', 'splatFrames',
  'splatErrors',
];
for (const name of CASES) {
  inEngines(name, (engine) => engine.call('/tests/splats.js', name));
}
