import { expect, test } from "vitest";
import { compareMany } from "./tracked-and-not.ts";

test("8,000 more random programs are marked wherever they write, and compute what they would", () => {
  const seen = compareMany(101, 1_000);
  // Programs that all trap at once, or write nothing, would show nothing.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(1_000 / 5);
}, 600_000);
