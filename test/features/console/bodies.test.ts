import { afterEach, expect, test } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { FORM_TYPE, REFUSED, sentBeyondRoom } from "../../worker/auth/sent-bodies.ts";

const usual = { ...limits };
afterEach(() => configureLimits(usual));

test.each(["/account", "/console/live", "/console/operate"])(
  "a body is counted before it is read: %s",
  async (path) => {
    expect(await sentBeyondRoom(path, FORM_TYPE)).toEqual(REFUSED);
  },
);
