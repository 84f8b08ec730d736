import { expect, test } from "vitest";
import { compareMany } from "./tracked-and-not.ts";

test("3,200 more random programs are marked wherever they write, and compute what they would", () => {
  const seen = compareMany(101, 400);
  // Programs that all trap at once, or write nothing, would show nothing.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(400 / 5);
}, 600_000);
