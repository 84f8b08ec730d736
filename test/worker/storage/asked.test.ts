/// <reference types="@cloudflare/vitest-plugin/types" />
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { copiesOf, KnownAnswer } from "../../../src/server/kernel/storage/copies.ts";
import { asked } from "../index.ts";
import { as, callOf, keyed, prepare } from "../calls/client.ts";
import { from, isolate, sharedObjects } from "../shared-objects.ts";

/** Which objects that callers share are asked, by what: docs/operating.md has the table for large servers. */
prepare();
const shared = sharedObjects();

describe("no object that callers share is asked by", () => {
  test("calls, once their isolate knows what is served", async () => {
    const server = isolate();
    await callOf("told-who", {}, from(server));
    asked.length = 0;
    for (let n = 0; n < 10; n++) await callOf("told-who", {}, from(server));
    expect(shared()).toEqual([]);
  });

  test("calls with a key, once their isolate knows which are revoked", async () => {
    const server = await keyed("ada");
    await callOf("told-who", {}, { ...as("ada"), server });
    asked.length = 0;
    for (let n = 0; n < 10; n++) await callOf("told-who", {}, { ...as("ada"), server });
    expect(shared().filter((one) => !one.startsWith("Usage"))).toEqual([]);
  });
});

describe("isolates ask copies, and these the original:", () => {
  const ISOLATES = 100;
  // A copy goes by what it knows for a second.
  beforeEach(() => void vi.spyOn(Date, "now").mockReturnValue(Date.now()));
  afterEach(() => void vi.restoreAllMocks());

  test("KeyRecords: keys", async () => {
    const original = "KeyRecords: keys";
    const calls = Array.from({ length: ISOLATES }, async () =>
      callOf("told-who", {}, { ...as("ada"), server: await keyed("ada") }),
    );
    await Promise.all(calls);
    const copies = asked.filter((one) => one.startsWith(`${original} `));
    expect(copies.length).toBe(ISOLATES);
    expect(new Set(copies).size).toBeGreaterThan(copiesOf("any", {}).length / 2);
    const originals = asked.filter((one) => one === original).length;
    expect(originals).toBeLessThanOrEqual(new Set(copies).size);
  });
});

test("what a copy passes on has no disposer, which would be a stub for each object that gets it", async () => {
  const result = { keys: ["a"], [Symbol.dispose]: () => {} };
  const known = new KnownAnswer(
    async () => result,
    () => 1000,
  );
  expect(Reflect.ownKeys(await known.get())).toEqual(["keys"]);
});
