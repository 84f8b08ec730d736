import { expect, test } from "vitest";
import { viewsOf, PAGE, restoreImage, usedRuns } from "../../../src/server/kernel/wasm/image.ts";
import {
  applyPatch,
  encodePatch,
  patchedImage,
  undoPatch,
} from "../../../src/server/kernel/wasm/patch.ts";
import { Chance } from "../fuzz/chance.ts";

/** The exports of an instance whose memory has so many pages. */
function instanceOf(pages: number) {
  const memory = new WebAssembly.Memory({ initial: pages });
  const exports = {
    memory,
    edge_memory: new WebAssembly.Memory({ initial: 1 }),
    edge_pages: new WebAssembly.Global({ value: "i32", mutable: true }, pages),
    edge_global_0: new WebAssembly.Global({ value: "i32", mutable: true }, 7),
    edge_global_1: new WebAssembly.Global({ value: "i64", mutable: true }, 8n),
  };
  return { guest: undefined, suspends: false, exports };
}

const bytesOf = ({ exports }: ReturnType<typeof instanceOf>) =>
  new Uint8Array(exports.memory.buffer);

/** Writes runs of random bytes of random lengths, near each other and far away. */
function scribble(bytes: Uint8Array, chance: Chance): void {
  for (let runs = chance.below(40); runs >= 0; runs--) {
    const at = chance.below(bytes.length);
    const length = chance.pick([1, 3, 4, 5, 60, 5000]);
    for (let next = at; next < Math.min(at + length, bytes.length); next++) {
      bytes[next] = chance.below(256);
    }
  }
}

test.each(Array.from({ length: 30 }, (_, seed) => seed))("patches of seed %i", (seed) => {
  const chance = new Chance(seed);
  const [from, to] = [instanceOf(3), instanceOf(4)];
  scribble(bytesOf(from), chance);
  const before = bytesOf(from).slice();
  const runs = usedRuns(from.exports);
  bytesOf(to).set(before);
  scribble(bytesOf(to), chance);
  to.exports.edge_global_0.value = -1;
  to.exports.edge_global_1.value = 2n ** 63n - 1n;

  const patch = encodePatch(to.exports, before).buffer;
  applyPatch(from, patch);
  expect(Buffer.compare(bytesOf(from), bytesOf(to))).toBe(0);
  expect(from.exports.edge_pages.value).toBe(4);
  expect(from.exports.edge_global_0.value).toBe(-1);
  expect(from.exports.edge_global_1.value).toBe(2n ** 63n - 1n);

  const image = patchedImage(bytesOf(from), runs, patch);
  scribble(bytesOf(from), chance);
  from.exports.edge_global_0.value = 9;
  restoreImage(viewsOf(from.exports), image);
  expect(Buffer.compare(bytesOf(from), bytesOf(to))).toBe(0);
  expect(from.exports.edge_global_0.value).toBe(-1);
  expect(image.ownBytes).toBeLessThanOrEqual(bytesOf(from).length);

  undoPatch(bytesOf(from), runs, patch);
  expect(Buffer.compare(bytesOf(from).subarray(0, before.length), before)).toBe(0);
  expect(
    bytesOf(from)
      .subarray(before.length)
      .every((byte) => byte === 0),
  ).toBe(true);
});

test("changes that are farther away than one head can say", () => {
  const [from, to] = [instanceOf(600), instanceOf(600)];
  bytesOf(to)[0] = 1;
  bytesOf(to)[600 * PAGE - 1] = 2;
  const patch = encodePatch(to.exports, new Uint8Array()).buffer;
  expect(patch.byteLength).toBeLessThan(100);
  applyPatch(from, patch);
  expect(Buffer.compare(bytesOf(from), bytesOf(to))).toBe(0);
});

test("a patch of an instance whose memory is larger than the guest knows", () => {
  const [from, to] = [instanceOf(5), instanceOf(2)];
  bytesOf(to)[PAGE] = 3;
  applyPatch(from, encodePatch(to.exports, new Uint8Array()).buffer);
  expect(from.exports.edge_pages.value).toBe(2);
  expect(bytesOf(from)[PAGE]).toBe(3);
});
