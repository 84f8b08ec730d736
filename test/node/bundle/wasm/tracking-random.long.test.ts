import { expect, test } from "vitest";
import { compareMany } from "./tracked-and-not.ts";

test("20,000 more random programs are marked wherever they write, and compute what they would", () => {
  const seen = compareMany(1_001, 2_500);
  // Programs that all trap at once, or write nothing, would show nothing.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(2_500 / 5);
}, 600_000);
