/**
 * A patch, as bytes: the difference of an instance's memory and globals from an earlier state.
 *
 * The first two 32-bit words are the pages of its memory and the length of its globals as text, which follows, padded
 * to whole words. Then come the runs of changed words: a head, which has the distance from the end of the previous run
 * and, in its lowest bits, the run's length, both in words; then the run's words.
 */
import {
  currentBody,
  globalsFrom,
  globalsOf,
  globalsText,
  growTo,
  memoryOf,
  PAGE,
  type Image,
  type Patched,
} from "./image.ts";
import type { Instance } from "./link.ts";
import { BLOCK } from "./marks.ts";

/** Bits of a head for the length of its run. */
const COUNT_BITS = 10;
const MOST_WORDS = 2 ** COUNT_BITS - 1;
const MOST_GAP = 2 ** (32 - COUNT_BITS) - 1;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const wordsOf = ({ buffer, byteOffset, length }: Uint8Array): Uint32Array =>
  new Uint32Array(buffer, byteOffset, length >> 2);

/** The changes of an instance since its memory was `before`, which counts as zero beyond its end. */
export function encodePatch(
  exports: WebAssembly.Exports,
  before: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const now = wordsOf(memoryOf(exports));
  const old = wordsOf(before);
  const differs = (at: number) => at < now.length && now[at] !== (old[at] ?? 0);
  const text = encoder.encode(
    JSON.stringify(globalsText(globalsOf(exports).map(({ value }) => value as number | bigint))),
  );
  const padded = new Uint8Array(Math.ceil(text.length / 4) * 4);
  padded.set(text);
  const words = [now.length / (PAGE / 4), text.length, ...wordsOf(padded)];
  let end = 0;
  for (let at = 0; at < now.length; at++) {
    if (!differs(at)) continue;
    for (; at - end > MOST_GAP; end += MOST_GAP) words.push((MOST_GAP << COUNT_BITS) >>> 0);
    const head = words.push(0) - 1;
    const begin = at;
    // One unchanged word takes no more room than another head.
    while (at - begin < MOST_WORDS && (differs(at) || differs(at + 1))) words.push(now[at++]!);
    words[head] = (((begin - end) << COUNT_BITS) | (at - begin)) >>> 0;
    end = at--;
  }
  return new Uint8Array(Uint32Array.from(words).buffer);
}

interface Decoded {
  pages: number;
  globals: (number | bigint)[];
  runs: Uint32Array;
}

const known = new WeakMap<ArrayBuffer, Decoded>();

function decoded(patch: ArrayBuffer): Decoded {
  let found = known.get(patch);
  if (found === undefined) {
    const [pages = 0, length = 0] = new Uint32Array(patch, 0, 2);
    const text = decoder.decode(new Uint8Array(patch, 8, length));
    const runs = new Uint32Array(patch, 8 + Math.ceil(length / 4) * 4);
    found = { pages, globals: globalsFrom(JSON.parse(text) as string[]), runs };
    known.set(patch, found);
  }
  return found;
}

/** Applies a patch to an instance whose memory is as before. Its memory may be larger. */
export function applyPatch(instance: Instance, patch: ArrayBuffer): void {
  const { pages, globals, runs } = decoded(patch);
  growTo(instance.exports, pages);
  const body = currentBody(instance);
  for (let at = 0; at < globals.length; at++) body.globals[at]!.value = globals[at];
  const words = wordsOf(body.memory);
  // A loop of single words is faster than copying runs of a few.
  for (let from = 0, to = 0; from < runs.length;) {
    const head = runs[from++]!;
    to += head >>> COUNT_BITS;
    for (const end = from + (head & MOST_WORDS); from < end; from++, to++) words[to] = runs[from]!;
  }
}

/** Restores the contents that a memory had `before` the patch (sorted runs), wherever the patch changed them. */
export function undoPatch(memory: Uint8Array, before: Image["runs"], patch: ArrayBuffer): void {
  const { runs } = decoded(patch);
  const words = wordsOf(memory);
  let [nth, begin] = [0, 0];
  let old: Uint32Array = new Uint32Array();
  for (let from = 0, to = 0; from < runs.length;) {
    const count = runs[from]! & MOST_WORDS;
    to += runs[from]! >>> COUNT_BITS;
    from += 1 + count;
    for (const end = to + count; to < end;) {
      while (to >= begin + old.length && nth < before.length) {
        begin = before[nth]!.at >> 2;
        old = wordsOf(before[nth++]!.bytes);
      }
      // For a few words, loops are faster than `fill` and `set`.
      const stop = begin + old.length;
      if (to < begin) for (const until = Math.min(begin, end); to < until; to++) words[to] = 0;
      else if (to >= stop) for (; to < end; to++) words[to] = 0;
      else for (const until = Math.min(stop, end); to < until; to++) words[to] = old[to - begin]!;
    }
  }
}

const endOf = ({ at, bytes }: Image["runs"][number]): number => at + bytes.length;

/** The memory in a patch's state; it shares unchanged parts with `before`. */
export function patchedImage(
  memory: Uint8Array,
  before: Image["runs"],
  patch: ArrayBuffer,
): Patched {
  const { pages, globals, runs } = decoded(patch);
  const image: Patched = { pages, globals, runs: [], ownBytes: 0 };
  let [from, to, end, nth] = [0, 0, 0, 0];
  const push = (until: number) => {
    if (from < to) image.runs.push({ at: from, bytes: memory.slice(from, to) });
    image.ownBytes += to - from;
    while (nth < before.length && endOf(before[nth]!) <= to) nth++;
    for (let next = nth; next < before.length && before[next]!.at < until; next++) {
      const { at, bytes } = before[next]!;
      const begin = Math.max(at, to);
      image.runs.push({ at: begin, bytes: bytes.subarray(begin - at, until - at) });
    }
  };
  for (let at = 0; at < runs.length; at += 1 + (runs[at]! & MOST_WORDS)) {
    const count = runs[at]! & MOST_WORDS;
    const begin = end + (runs[at]! >>> COUNT_BITS);
    end = begin + count;
    if (count === 0) continue;
    const block = Math.floor((begin * 4) / BLOCK) * BLOCK;
    if (block > to) {
      push(block);
      from = block;
    }
    to = Math.ceil((end * 4) / BLOCK) * BLOCK;
  }
  push(Infinity);
  return image;
}
