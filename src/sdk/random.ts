import { running } from "./host.ts";

const atBuild = Math.random;
const WORDS = 128;
let words: Uint32Array | undefined;
let used = 0;

/** Forgets random numbers of before: a snapshot must not carry any into its calls. */
export function reseed(): void {
  words = undefined;
}

function word(): number {
  if (words === undefined || used === WORDS) {
    words = new Uint32Array(__host.random(WORDS * 4));
    used = 0;
  }
  return words[used++] ?? 0;
}

/** In the place of the engine's `Math.random`, whose seed is that of the snapshot. */
export function random(): number {
  if (!running.call) return atBuild();
  return ((word() >>> 5) * 0x4000000 + (word() >>> 6)) / 0x20000000000000;
}
