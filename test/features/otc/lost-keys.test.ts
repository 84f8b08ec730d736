import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { losableKeys } from "../../worker/lost-keys.ts";
import { call, serverOf } from "./client.ts";
import { prepare } from "../../worker/calls/client.ts";

/** What becomes of a call whose key is lost. */
prepare();

const loseKeys = losableKeys();

test("a call with a call_id is answered that nobody knows what came of it", async () => {
  const call_id = "lost";
  const server = serverOf();
  await call("otc.Plain", {}, { call_id }, server);
  const name = new TextEncoder().encode(JSON.stringify(["anonymous", call_id]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", name));
  await evictDurableObject(env.CALL_RECORDS!.getByName(digest.toHex()));
  loseKeys();
  const { result } = await call("otc.Plain", {}, { call_id }, server);
  expect(result).toMatchObject({
    call_id,
    success: false,
    error: { message: expect.stringMatching(/key .* is gone.*another call_id/) },
  });
});
