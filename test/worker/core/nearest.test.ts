import { expect, test } from "vitest";
import { nearest } from "../../../src/server/kernel/core/nearest.ts";

test.each([
  ["lokup_status", ["lookup_status", "list_statuses"], "lookup_status"],
  ["LOOKUP_STATUS", ["lookup_status"], "lookup_status"],
  ["statuslookup", ["lookup_status"], undefined],
  ["greets", ["great", "greet"], "greet"],
  ["abcdefghi", ["xyzdefghi", "wxyzefghi"], "xyzdefghi"],
  ["defghi", ["abcdefghi", "abdefghi"], "abdefghi"],
  ["ab", ["a", "abc"], undefined],
  ["a".repeat(65), ["a".repeat(64)], undefined],
])("%s among %j is probably %s", (name, known, meant) => {
  expect(nearest(name, known)).toBe(meant);
});
