import { describe, expect, test } from "vitest";
import {
  changedCells,
  inPieces,
  isZero,
  piecesOf,
} from "../../../../src/server/features/state/pieces.ts";
import { forgetOldest, StateBlocks } from "../../../../src/server/features/state/state-blocks.ts";
import {
  BLOCK,
  mark,
  MARKED,
  marksOf,
  takeWritten,
} from "../../../../src/server/kernel/wasm/marks.ts";
import { StateSealing } from "../../../../src/server/features/state/state-sealing.ts";
import { Database, random, sealing } from "../../../node/files/database.ts";

/** A memory that calls change, and its stored blocks: both always hold the same bytes. */

const PAGE = 65536;
const CELL = 16;
const stateSealing = new StateSealing(new Uint8Array(32), sealing);
const SEEDS = Array.from({ length: 12 }, (_, seed) => seed);

/** Changes some bytes, often the first or last of a block, or makes a block zero. Returns which may have changed. */
function change(memory: Uint8Array, below: ReturnType<typeof random>, count: number) {
  return Array.from({ length: count }, () => {
    const block = below(memory.length / BLOCK) * BLOCK;
    if (below(8) === 0) {
      memory.fill(0, block, block + BLOCK);
      return { at: block, length: BLOCK };
    }
    const at = block + [0, BLOCK - 1, below(BLOCK), below(BLOCK)][below(4)]!;
    const length = Math.min([1, 3, 8, 300, BLOCK][below(5)]!, memory.length - at);
    const bits = 1 << below(8);
    for (let nth = at; nth < at + length; nth++) memory[nth]! ^= bits;
    return { at, length };
  });
}

test.each(SEEDS)("changed cells are those of which a byte differs: %d", (seed) => {
  const below = random(seed);
  const memory = Uint8Array.from({ length: PAGE }, () => below(256));
  const known = new Map<number, Uint8Array>();
  for (let nth = 0; nth < PAGE / BLOCK; nth++)
    if (below(4) > 0) known.set(nth, memory.slice(nth * BLOCK, (nth + 1) * BLOCK));
  change(memory, below, 20);
  const from = below(32) * MARKED;
  const to = Math.min(from + below(36) * MARKED + 256, PAGE);
  const differs = (cell: number) => {
    const nth = Math.floor((cell * CELL) / BLOCK);
    const now = memory.subarray(cell * CELL, (cell + 1) * CELL);
    return now.some((byte, at) => byte !== known.get(nth)?.[cell * CELL + at - nth * BLOCK]);
  };
  const cells = Array.from({ length: (to - from) / CELL }, (_, nth) => from / CELL + nth);
  const isKnown = (cell: number) => known.has(Math.floor((cell * CELL) / BLOCK));
  const changed = changedCells(memory, known, [{ from, to }]);
  expect(changed).toEqual(cells.filter((cell) => isKnown(cell) && differs(cell)));
  const pieces = [...inPieces(piecesOf(memory, changed))];
  expect(
    pieces.flatMap(({ nth, cell, bytes }) =>
      Array.from({ length: bytes.length / CELL }, (_, at) => (nth * BLOCK) / CELL + cell + at),
    ),
  ).toEqual(changed);
  for (const { nth, cell, bytes } of pieces)
    expect(bytes).toEqual(memory.slice(nth * BLOCK + cell * CELL).subarray(0, bytes.length));
});

test("a block is zero if each of its bytes is", () => {
  const memory = new Uint8Array(2 * PAGE);
  expect(isZero(memory, 1)).toBe(true);
  for (const at of [BLOCK, BLOCK + 3, BLOCK + 1001, 2 * BLOCK - 1]) {
    memory[at] = 128;
    expect(isZero(memory, 1)).toBe(false);
    memory[at] = 0;
  }
  memory[BLOCK - 1] = memory[2 * BLOCK] = 1;
  expect(isZero(memory, 1)).toBe(true);
});

describe("a memory that calls change, some of which fail, and that grows", () => {
  test.each(SEEDS)("is stored as it is: %d", async (seed) => {
    const below = random(seed);
    const database = new Database();
    const open = (sealed: unknown, place: string) =>
      stateSealing.open(sealed as Uint8Array<ArrayBuffer>, place);
    const anew = () => {
      const made = new StateBlocks(database, stateSealing, open);
      made.create();
      return made;
    };
    // More than are known, so that some are forgotten.
    const pages = [1, 2, 20][below(3)]!;
    const pristine = new Uint8Array(2 * pages * PAGE);
    change(pristine.subarray(0, PAGE), below, 5);
    const used = new Uint8Array((2 * pages * PAGE) / BLOCK).map((_, nth) =>
      Number(!isZero(pristine, nth)),
    );
    const all = pristine.slice();
    const marks = new Uint8Array(marksOf(2 * pages));
    let length = pages * PAGE;
    let blocks = anew();
    let known = new Map<number, Uint8Array>();
    let isNew = true;
    for (let call = 0; call < 120; call++) {
      if (below(50) === 0) length = Math.min(length + below(pages + 1) * PAGE, all.length);
      const memory = all.subarray(0, length);
      const before = memory.slice();
      for (const one of change(memory, below, below(6))) mark(marks, one.at, one.length);
      const ranges = takeWritten(marks, length);
      if (below(10) === 0) {
        memory.set(before);
        continue;
      }
      const written = blocks.written(memory, ranges, { known, used, isNew });
      const writes = isNew ? blocks.deletion() : [];
      writes.push(...(await blocks.seal(written)));
      database.transaction(() => {
        for (const [statement, ...values] of writes) database.exec(statement, ...values);
      });
      isNew = false;
      if (below(10) > 0) continue;
      blocks = anew();
      known = new Map((await Array.fromAsync(blocks.pages())).flat());
      const loaded = pristine.slice();
      for (const [nth, bytes] of known) loaded.set(bytes, nth * BLOCK);
      expect(Buffer.compare(loaded, all)).toBe(0);
      forgetOldest(known);
    }
  });
});
