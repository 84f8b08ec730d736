import { expect, test } from "vitest";
import { compareMany } from "./tracked-and-not.ts";

test("800 random programs are marked wherever they write, and compute what they would", () => {
  const seen = compareMany(1, 100);
  // Programs that all trap at once, or write nothing, would show nothing.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(100 / 5);
});
