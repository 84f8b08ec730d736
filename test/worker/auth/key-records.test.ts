import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  KnownKeys,
  keyRecordsOf,
  type MadeKey,
} from "../../../src/server/kernel/auth/key-records.ts";
import { hexDigest } from "../../../src/server/kernel/core/digest.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { greet, send, serverOf } from "./key-holders.ts";
import { browser } from "../pages/browser.ts";

/** Revoked keys, as an isolate knows them. */

const SECOND = 1000;

/** An isolate whose clock and records are the test's. */
function isolate() {
  const at = { now: 1e12, revoked: [] as string[], made: [] as MadeKey[], reads: 0, isDown: false };
  const used = async () => {
    at.reads++;
    if (at.isDown) throw new Error("the object is gone");
    return { revoked: at.revoked, made: at.made };
  };
  const keys = new KnownKeys(
    [],
    () => ({ used }),
    () => at.now,
  );
  const has = (key = "ada") => keys.isRevoked(key).catch(({ code }: { code: string }) => code);
  return { at, keys, has };
}

test("are read by the first call, and then every few seconds, however many calls there are", async () => {
  const { at, has } = isolate();
  for (let call = 0; call < 100; call++) expect(await has()).toBe(false);
  expect(at.reads).toBe(1);
  at.now += limits.keyCheckMs;
  await Promise.all(Array.from({ length: 100 }, () => has()));
  expect(at.reads).toBe(2);
});

test("are not allowed again by an answer that was asked for earlier and comes late", async () => {
  let now = 1e12;
  const answers: ((answer: { revoked: string[]; made: MadeKey[] }) => void)[] = [];
  const used = () =>
    new Promise<{ revoked: string[]; made: MadeKey[] }>((done) => void answers.push(done));
  const keys = new KnownKeys(
    [],
    () => ({ used }),
    () => now,
  );
  const first = keys.isRevoked("ada");
  now += limits.keyCheckMs;
  const second = keys.isRevoked("ada");
  answers[1]!({ revoked: ["ada"], made: [] });
  expect(await second).toBe(true);
  answers[0]!({ revoked: [], made: [] });
  expect(await first).toBe(true);
  expect(await keys.isRevoked("ada")).toBe(true);
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

describe("keys that are made while the server runs", () => {
  const SECRET = "esk_made";
  const made = async (more: Partial<MadeKey> = {}): Promise<MadeKey> => ({
    key: await hexDigest(SECRET),
    name: "made",
    scopes: ["hello:*"],
    expires: null,
    made: 1,
    maker: "boss",
    ...more,
  });

  test("are known a second later", async () => {
    const { at, keys } = isolate();
    expect(await keys.ownerOf(SECRET)).toBeUndefined();
    at.made = [await made()];
    expect(await keys.ownerOf(SECRET)).toBeUndefined();
    at.now += SECOND;
    expect(await keys.ownerOf(SECRET)).toMatchObject({
      principal: { name: "made", scopes: ["hello:*"] },
    });
    expect(keys.named("made")).toBeDefined();
  });

  test("cost strangers' keys no more than a read a second, and tokens of issuers none", async () => {
    const { at, keys } = isolate();
    for (let nth = 0; nth < 100; nth++) await keys.ownerOf(`esk_${nth}`);
    expect(at.reads).toBe(1);
    at.now += 60 * SECOND;
    await keys.ownerOf("eyJhbGciOiJIUzI1NiJ9.e30.x");
    expect(at.reads).toBe(1);
  });

  test("are found by name, until they are revoked, removed or expire", async () => {
    const { at, keys } = isolate();
    at.made = [await made({ expires: at.now + 60 * SECOND })];
    expect((await keys.find("made"))?.name).toBe("made");
    at.revoked = [at.made[0]!.key];
    at.now += 10 * SECOND;
    expect(await keys.find("made")).toBeUndefined();
    at.revoked = [];
    at.now += 10 * SECOND;
    expect((await keys.find("made"))?.name).toBe("made");
    at.now += 60 * SECOND;
    expect(await keys.find("made")).toBeUndefined();
    await expect(keys.ownerOf(SECRET)).rejects.toThrow("expired");
    at.made = [];
    at.now += 10 * SECOND;
    expect(await keys.ownerOf(SECRET)).toBeUndefined();
  });

  test("have names of their own, and are few", async () => {
    const records = env.KEY_RECORDS!.getByName("made");
    const make = async (nth: number, name = `made-${nth}`) =>
      records.make({ ...(await made()), key: await hexDigest(`${nth}`), name });
    expect(await make(0)).toMatchObject({ value: undefined });
    expect(await make(1, "made-0")).toMatchObject({ code: "conflict" });
    for (let nth = 1; nth < 200; nth++) await make(nth);
    expect(await make(200)).toMatchObject({ message: expect.stringContaining("Remove one") });
    const { key } = (await records.made())[0]!;
    await records.remove(key, "boss");
    expect(await make(200)).toMatchObject({ value: undefined });
    expect((await records.used({})).revoked).toEqual([key]);
  });
});

test("a key that was made here is nobody's once the configuration has its name", async () => {
  const name = "later-1";
  const secret = `esk_${name}`;
  const made = { name, scopes: ["hello:*"], expires: null, maker: "boss" };
  await keyRecordsOf(env)!().make({ ...made, key: await hexDigest(secret) });
  const before = await serverOf({ boss: {} });
  expect((await send(before, secret, "tools/list")).status).toBe(200);
  const after = await serverOf({ [name]: { scopes: ["operator", "*:*"] } });
  expect((await send(after, secret, "tools/list")).status).toBe(401);
  const thief = browser(after);
  await thief.send("/console/operate", { credential: secret });
  expect((await thief.fetch("/console/operate")).text).not.toContain("All servlets list");
  expect((await send(after, name, "tools/list")).status).toBe(200);
});
