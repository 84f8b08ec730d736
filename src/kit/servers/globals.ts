/** Globals of Node, for scripts that use them. */
export { Buffer } from "node:buffer";
export {
  clearImmediate,
  clearInterval,
  clearTimeout,
  setImmediate,
  setInterval,
  setTimeout,
} from "./node-timers.ts";
export { process } from "./process.ts";

export const global = globalThis;

/** `import.meta` and `require.main` of packages; the bundle step defines those of the author's modules. */
export const __meta = {
  url: "file:///servlet/node_modules/package.js",
  filename: "/servlet/node_modules/package.js",
  dirname: "/servlet/node_modules",
  main: false,
};
export const __main = undefined;
