/**
 * Random modules, valid by construction, that write to memory in as many ways as a compiler could, and in
 * some that none would: for tests of what the bundle step adds to a guest's code.
 */
import { leb, text } from "../../../../src/tools/bundle/wasm/bytes.ts";
import { OP } from "../../../../src/tools/bundle/wasm/instructions.ts";
import { concatenate } from "../../../../src/server/kernel/wasm/image.ts";
import type { Chance } from "../../fuzz/chance.ts";
import { RandomFunction, TYPES } from "./random-statements.ts";
import { CONST, FUNCTIONS, I32, PAGES, signed } from "./random-values.ts";
import { SEGMENT } from "./random-writes.ts";

export const MAXIMUM_PAGES = 6;

/** A module with `FUNCTIONS` functions `f0`, `f1`, …, of two numbers each, and with memories as those of servlets. */
export function randomModule(chance: Chance): Uint8Array<ArrayBuffer> {
  const isOld = chance.of(0.5);
  const bodies = Array.from({ length: FUNCTIONS }, () => new RandomFunction(chance, isOld).body());
  const section = (
    id: number,
    entries: readonly (readonly number[] | Uint8Array)[],
    isList = true,
  ) => {
    const body = concatenate([...(isList ? [leb(entries.length)] : []), ...entries]);
    return concatenate([[id], leb(body.length), body]);
  };
  const all = Array.from({ length: FUNCTIONS }, (_, at) => at);
  const data = Array.from({ length: SEGMENT }, (_, at) => 1 + (at % 255));
  return concatenate([
    [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, TYPES),
    section(
      3,
      all.map(() => [0]),
    ),
    section(4, [[0x70, 0, FUNCTIONS]]),
    section(5, [
      [1, PAGES, MAXIMUM_PAGES],
      [1, 1, MAXIMUM_PAGES],
    ]),
    section(13, [[0, 1]]),
    section(6, [[I32!, 1, CONST, 7, OP.end]]),
    section(7, [
      ...all.map((at) => [...text(`f${at}`), 0, at]),
      [...text("memory"), 2, 0],
      [...text("edge_memory"), 2, 1],
      [...text("edge_global_0"), 3, 0],
    ]),
    section(9, [[0, CONST, 0, OP.end, FUNCTIONS, ...all]]),
    section(12, [leb(2)], false),
    section(10, bodies),
    // The second is there when a call begins.
    section(11, [
      [1, ...leb(SEGMENT), ...data],
      [0, CONST, ...signed(20_000), OP.end, ...leb(SEGMENT), ...data],
    ]),
  ]);
}
