import { afterEach, expect, test } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { serverOf } from "../../worker/auth/key-holders.ts";
import {
  bodyOf,
  fetchOf,
  JSON_TYPE,
  REFUSED,
  sentBeyondRoom,
  sentUnread,
} from "../../worker/auth/sent-bodies.ts";

const usual = { ...limits };
afterEach(() => configureLimits(usual));

test("a body is counted before it is read", async () => {
  expect(await sentBeyondRoom("/tools/call", JSON_TYPE)).toEqual(REFUSED);
});

test.each(["x", "-1", "1e3", "NaN", "1.5", "5, 5"])(
  "a body is not read by the length %j",
  async (length) => {
    const server = await serverOf({ ada: {} });
    const { read, stream } = bodyOf("{");
    const headers = {
      authorization: "Bearer ada",
      "content-type": JSON_TYPE,
      "content-length": length,
    };
    const { status } = await fetchOf(server, { body: stream, headers, path: "/tools/call" });
    expect({ status, read: read.bytes }).toEqual({ status: 400, read: 0 });
  },
);

test("nothing is read of a body without a key, or of a method that there is not", async () => {
  expect(await sentUnread("/tools/call", "POST")).toEqual({ status: 401, read: 0 });
  expect(await sentUnread("/tools/call", "PUT", { isKnown: true })).toEqual({
    status: 405,
    read: 0,
  });
});
