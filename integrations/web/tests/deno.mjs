/** Calls an export of a module in Deno, and prints its result as JSON. */

const [module, name] = Deno.args;
const result = await (await import(module))[name]();
if (result !== undefined) {
  console.log(JSON.stringify(result));
}
// (An open device may keep the process.)
Deno.exit();
