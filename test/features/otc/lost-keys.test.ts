import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import { call, serverOf } from "./client.ts";
import { prepare } from "../../worker/calls/client.ts";

/** What becomes of a call whose key is lost. */
prepare();

const { seal, open } = Sealer.prototype;

/** The nonces of what was sealed since the keys were lost; undefined before. */
let readable: Set<string> | undefined;
const nonceOf = (sealed: Uint8Array) => sealed.subarray(0, 16).toHex();

beforeEach(() => {
  readable = undefined;
  Sealer.prototype.seal = async function (bytes) {
    const sealed = await seal.call(this, bytes);
    readable?.add(nonceOf(sealed));
    return sealed;
  };
  Sealer.prototype.open = async function (sealed) {
    if (readable !== undefined && !readable.has(nonceOf(sealed))) return undefined;
    return open.call(this, sealed);
  };
});
afterEach(() => {
  Object.assign(Sealer.prototype, { seal, open });
});

const loseKeys = () => {
  readable = new Set();
};

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
