import { expect, test } from "vitest";
import { FAULT_CODES } from "../../../src/server/kernel/core/errors.ts";
import { adviceFor } from "../../../src/server/kernel/servlets/failures.ts";

/** What the page of a failed call says first. */

const SENTENCES = /^([A-Z][^.]*\.\s?)+$/;

test.each([...FAULT_CODES, "tool", -32_602, -32_603, -32_600, 4711, undefined])(
  "a call that failed by %s has a reason and a next step, in sentences",
  (code) => {
    const { why, next } = adviceFor(code);
    expect(why).toMatch(SENTENCES);
    expect(next).toMatch(SENTENCES);
    expect(`${why} ${next}`).not.toMatch(/undefined|npm |wrangler|LIMITS/);
  },
);

test("callers are not told to do what only operators can", () => {
  const all = FAULT_CODES.map((code) => adviceFor(code).next).join(" ");
  expect(all).not.toMatch(/settings? file|restart|deploy|the log/);
});
