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
