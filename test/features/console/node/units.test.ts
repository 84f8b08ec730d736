import { expect, test } from "vitest";
import { durationOf } from "../../../../src/server/kernel/core/times.ts";
import { bytesText, computeText, several } from "../../../../src/server/features/console/units.ts";

/** Quantities as pages show them. */

test.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [1023, "1,023 bytes"],
  [1536, "1.5 KiB"],
  [64 * 1024 * 1024, "64 MiB"],
  [5 * 1024 ** 4, "5 TiB"],
  [3000 * 1024 ** 4, "3,000 TiB"],
])("%d bytes are %s", (bytes, text) => expect(bytesText(bytes)).toBe(text));

test.each([
  [0, "0 ms"],
  [1.42, "1.4 ms"],
  [97, "97 ms"],
  [1500, "1.5 s"],
  [240_000, "4 min"],
  [7_200_000, "2 h"],
  [86_400_000, "1 day"],
  [7 * 86_400_000, "7 days"],
])("%d ms are %s", (ms, text) => expect(durationOf(ms)).toBe(text));

test.each([
  [0, "0 ms"],
  [100, "below 1 ms"],
  [386_024_689, "about 97 ms"],
  [3_000_000_000, "about 750 ms"],
])("%d of fuel is %s", (fuel, text) => expect(computeText(fuel)).toBe(text));

test("one is not several", () =>
  expect([several(1, "call"), several(1200, "call"), several(2, "reply", "replies")]).toEqual([
    "1 call",
    "1,200 calls",
    "2 replies",
  ]));
