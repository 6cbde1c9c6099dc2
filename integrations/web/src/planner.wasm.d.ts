/** The address of the planner, as a bundler gives it that takes `.wasm` for a file. */
declare const address: string;
export default address;
