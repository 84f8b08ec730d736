import { expect, test } from "vitest";
import { fuzz } from "./run.ts";

test("whatever is sent is answered as it should be, and nothing is let out", async () => {
  const { failures, answers } = await fuzz({ seed: 20260728, count: 3000, port: 8914 });
  expect(failures).toEqual([]);
  // It got through to the servlets, and to what they ask.
  expect(answers["200"]).toBeGreaterThan(500);
  expect(answers["200 stream"]).toBeGreaterThan(20);
});
