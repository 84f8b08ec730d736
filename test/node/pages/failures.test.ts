import { expect, test } from "vitest";
import { FAULT_CODES } from "../../../src/core/errors.ts";
import { adviceFor } from "../../../src/pages/failures.ts";

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

test("only what a client has sent wrongly is said to be its fault", () => {
  const blamed = FAULT_CODES.filter((code) => adviceFor(code).next.includes("Update your client"));
  expect(blamed).toEqual([
    ...["parse_error", "invalid_request", "method_not_found", "invalid_meta", "header_mismatch"],
    ...["unsupported_version", "no_session", "unsupported_media_type", "method_not_allowed"],
    "misdirected",
  ]);
});
