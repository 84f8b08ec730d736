import { afterEach, expect, test } from "vitest";
import { SIGN_IN_PATH } from "../../../src/server/features/people/paths.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { FORM_TYPE, REFUSED, sentBeyondRoom, sentUnread } from "../../worker/auth/sent-bodies.ts";

const usual = { ...limits };
afterEach(() => configureLimits(usual));

test.each(["/ask/1", "/secret/1", "/connect/1", SIGN_IN_PATH])(
  "a body is counted before it is read: %s",
  async (path) => {
    expect(await sentBeyondRoom(path, FORM_TYPE)).toEqual(REFUSED);
  },
);

test("nothing is read of a body of a method that a page does not have", async () => {
  expect(await sentUnread("/ask/1", "PUT")).toEqual({ status: 404, read: 0 });
});
