import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { keyRecordsOf, RevokedKeys } from "../../../src/auth/key-records.ts";
import { configureLimits, limits } from "../../../src/core/limits.ts";
import { greet, send, serverOf } from "./key-holders.ts";

/** Revoked keys, as an isolate knows them. */

const SECOND = 1000;

/** An isolate whose clock and records are the test's. */
function isolate() {
  const at = { now: 1e12, revoked: [] as string[], reads: 0, isDown: false };
  const used = async () => {
    at.reads++;
    if (at.isDown) throw new Error("the object is gone");
    return at.revoked;
  };
  const keys = new RevokedKeys(
    () => ({ used }),
    () => at.now,
  );
  const has = (key = "ada") => keys.has(key).catch(({ code }: { code: string }) => code);
  return { at, has };
}

test("are read by the first call, and then every few seconds, however many calls there are", async () => {
  const { at, has } = isolate();
  for (let call = 0; call < 100; call++) expect(await has()).toBe(false);
  expect(at.reads).toBe(1);
  at.now += limits.keyCheckMs;
  await Promise.all(Array.from({ length: 100 }, () => has()));
  expect(at.reads).toBe(2);
});

test("are refused within 30 seconds, and at once after a pause", async () => {
  for (const pause of [SECOND, 4 * SECOND, 60 * SECOND]) {
    const { at, has } = isolate();
    expect(await has()).toBe(false);
    at.revoked = ["ada"];
    const since = at.now;
    for (let isRefused: unknown = false; isRefused === false;) {
      at.now += pause;
      isRefused = await has();
      expect(at.now - since).toBeLessThanOrEqual(Math.max(pause, 30 * SECOND));
    }
    expect(await has()).toBe(true);
    expect(await has("bob")).toBe(false);
  }
});

describe("while they cannot be read,", () => {
  test("keys work for 29 seconds, as a copy may be a second behind, and then none does until they can be", async () => {
    const { at, has } = isolate();
    at.revoked = ["bob"];
    expect(await has()).toBe(false);
    at.isDown = true;
    at.now += 28 * SECOND;
    expect([await has(), await has("bob")]).toEqual([false, true]);
    at.now += SECOND;
    expect([await has(), await has("bob")]).toEqual(["unavailable", "unavailable"]);
    at.revoked = ["ada"];
    at.isDown = false;
    expect([await has(), await has("bob")]).toEqual([true, false]);
  });

  test("an isolate that has never known them lets no key in", async () => {
    const { at, has } = isolate();
    at.isDown = true;
    expect(await has()).toBe("unavailable");
    at.isDown = false;
    expect(await has()).toBe(false);
  });
});

test("are read again where the clock was set back", async () => {
  const { at, has } = isolate();
  expect(await has()).toBe(false);
  at.revoked = ["ada"];
  at.now -= 3_600_000;
  expect(await has()).toBe(true);
});

describe("a key", () => {
  const { keyCheckMs } = limits;
  beforeEach(() => configureLimits({ keyCheckMs: 0 }));
  afterEach(() => configureLimits({ keyCheckMs }));

  const hashOf = async (key: string) =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key))).toHex();
  const statusOf = async (settings: object) => {
    const server = await serverOf({ "no-usage": {} }, settings);
    return (await send(server, "no-usage", "tools/call", greet)).status;
  };

  test("that is revoked is refused where nothing is counted, and by a server that knew it as valid", async () => {
    const without = { USAGE: undefined };
    expect(await statusOf(without)).toBe(200);
    const server = await serverOf({ "no-usage": {} }, without);
    expect((await send(server, "no-usage", "tools/list")).status).toBe(200);
    await keyRecordsOf(env)!().revoke(await hashOf("no-usage"), "boss");
    expect((await send(server, "no-usage", "tools/list")).status).toBe(401);
    expect(await statusOf(without)).toBe(401);
    await keyRecordsOf(env)!().restore(await hashOf("no-usage"));
    expect(await statusOf(without)).toBe(200);
  });

  test("is refused by a server that cannot read which are revoked", async () => {
    const getByName = () => ({ used: () => Promise.reject(new Error("the object is gone")) });
    expect(await statusOf({ KEY_RECORDS: { getByName } })).toBe(503);
  });
});
