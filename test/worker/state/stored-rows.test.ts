import { expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import {
  isAtEnd,
  positionAfter,
  FIRST_POSITION,
  type StoredRow,
} from "../../../src/server/kernel/storage/stored-rows.ts";

/** Rows of another backend, which may be those of an isolate with a guest in it. */

const BLOCKS = { table: 1, bytes: 0 };
const row = (...values: unknown[]) => values as StoredRow;

test("copying goes on after the last row, and at the end of a table with the next", () => {
  const after = positionAfter(BLOCKS, [row(3, new ArrayBuffer(10)), row(7, new ArrayBuffer(10))]);
  expect(after).toEqual({ table: 1, after: 7, bytes: 150 });
  expect(positionAfter(after, [])).toEqual({ table: 2, bytes: 150 });
  let [at, tables] = [FIRST_POSITION, 0];
  while (!isAtEnd(at)) [at, tables] = [positionAfter(at, []), tables + 1];
  expect(tables).toBe(8);
});

test.each<[string, StoredRow[]]>([
  ["that come again", [row(3, "a"), row(3, "a")]],
  ["that go back", [row(3, "a"), row(2, "a")]],
  ["without a key", [row(null, "a")]],
  ["with a key of bytes", [row(new Uint8Array(4), "a")]],
  ["with a key that is no number", [row(Number.NaN, "a"), row(Number.NaN, "a")]],
  ["with more columns", [row(3, "a", "b")]],
  ["with fewer columns", [row(3)]],
  ["that are too many", Array.from({ length: 257 }, (_, at) => row(at, "a"))],
  ["that are too large", [row(3, "a".repeat(2 * 1024 * 1024 + 1))]],
  ["with values that no database has", [row(3, { byteLength: 1 })]],
  ["that are none", ["text" as unknown as StoredRow]],
])("rows %s are refused", (_, rows) => {
  expect(() => positionAfter(BLOCKS, rows)).toThrow(/cannot be moved.*state delete/);
});

test("rows without end are refused", () => {
  let at = { ...BLOCKS, after: 0 } as ReturnType<typeof positionAfter>;
  const copyAll = () => {
    for (let nth = 1; ; nth++) at = positionAfter(at, [row(nth, new Uint8Array(1024 * 1024))]);
  };
  expect(copyAll).toThrow(/cannot be moved/);
  expect(at.bytes).toBeLessThan(2 * (limits.fileBytes + limits.stateBytes + limits.endingBytes));
});
