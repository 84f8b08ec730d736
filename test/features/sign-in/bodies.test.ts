import { afterEach, expect, test } from "vitest";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { PASSPHRASE } from "../../worker/auth/owner.ts";
import {
  FORM_TYPE,
  JSON_TYPE,
  REFUSED,
  sentBeyondRoom,
  sentUnread,
} from "../../worker/auth/sent-bodies.ts";

const usual = { ...limits };
afterEach(() => configureLimits(usual));

test.each([
  ["/oauth/token", FORM_TYPE],
  ["/token", FORM_TYPE],
  ["/oauth/register", JSON_TYPE],
  ["/register", JSON_TYPE],
  ["/authorize", FORM_TYPE],
])("a body is counted before it is read: %s", async (path, type) => {
  const OWNER_PASSPHRASE = await hashPassphrase(PASSPHRASE);
  expect(await sentBeyondRoom(path, type, { OWNER_PASSPHRASE })).toEqual(REFUSED);
});

test("nothing is read of a body that is sent to the metadata", async () => {
  const variables = { OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE) };
  const path = "/.well-known/oauth-authorization-server";
  const answered = await sentUnread(path, "POST", { isKnown: true, variables });
  expect(answered).toEqual({ status: 405, read: 0 });
});
