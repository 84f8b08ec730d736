/** `Math.random` of a servlet. */
import { running } from "./host.ts";

const atBuild = Math.random;
const WORDS = 128;
let used = 0;

function word(): number {
  if (used >= running.words.length) {
    running.words = new Uint32Array(__host.random(WORDS * 4));
    used = 0;
  }
  return running.words[used++]!;
}

/** Replaces the interpreter's `Math.random`, whose seed comes from the snapshot and is the same in every call. */
export function random(): number {
  if (!running.call) return atBuild();
  return ((word() >>> 5) * 0x4000000 + (word() >>> 6)) / 0x20000000000000;
}
