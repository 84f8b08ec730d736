/// <reference types="@cloudflare/vitest-plugin/types" />
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Installs } from "../../../src/server/features/installs/installs.ts";
import { Counts } from "../../../src/server/features/usage/counts.ts";
import type { Usage } from "../../../src/server/features/usage/usage-object.ts";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { copiesOf } from "../../../src/server/kernel/storage/copies.ts";
import { bundle } from "../../bundle.gen.ts";
import { asked } from "../index.ts";
import { eventually } from "../waiting.ts";
import { as, callOf, keyed, newAddress, prepare, serverOf, type Sent } from "../calls/client.ts";
import { begin as beginSession, listened } from "../mcp/legacy/session-steps.ts";

/** Which objects that callers share are asked, by what: docs/operating.md has the table for large servers. */
prepare();

const variables = env as unknown as Record<string, unknown>;
const runs = variables[RUNS];
/** As on the platform. */
beforeAll(() => void delete variables[RUNS]);
afterAll(() => void (variables[RUNS] = runs));

const some = {
  ...bundle,
  servlets: bundle.servlets.filter(({ name }) => ["told", "keeping"].includes(name)),
};
const isolate = () => serverOf(some, { SEASON: "any" });
const from = (server = isolate()): Sent => ({
  server,
  headers: { "cf-connecting-ip": newAddress() },
});

const SHARED = /: (keys|installs|usage|all hubs|anonymous|ring)\b/;
/** The objects with a name of their own that were asked since a test began, sorted; a copy's number is left out. */
const shared = () =>
  asked
    .filter((one) => SHARED.test(one))
    .map((one) => one.replace(/ \d+$/, " N"))
    .toSorted();

beforeEach(() => void (asked.length = 0));

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

test("a session that listens asks one hub of anonymous callers, which asks one hub of all", async () => {
  const events = await listened(await beginSession(from()));
  const hubs = shared().filter((one) => one.startsWith("Hub"));
  expect(hubs.filter((one) => one === "Hub: anonymous N").length).toBeLessThanOrEqual(1);
  expect(hubs.every((one) => ["Hub: anonymous N", "Hub: all hubs N"].includes(one))).toBe(true);
  await events.drop();
});

test("anonymous callers of different networks have different hubs", async () => {
  const streams = [];
  for (let n = 0; n < 20; n++) streams.push(await listened(await beginSession(from())));
  const hubs = new Set(asked.filter((one) => one.startsWith("Hub: anonymous")));
  expect(hubs.size).toBeGreaterThan(5);
  for (const stream of streams) await stream.drop();
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

  test("Usage: usage, which gets all that they count", async () => {
    const { USAGE } = env as unknown as { USAGE: DurableObjectNamespace<Usage> };
    const counts = new Counts(10);
    const tool = crypto.randomUUID();
    const run = { servlet: "a", tool, caller: "c", outcome: "returned", ms: 1, fuel: 1 };
    counts.add(run);
    const taken = counts.take()!;
    const copy = USAGE.getByName("usage 3");
    await Promise.all(Array.from({ length: ISOLATES }, async () => copy.add(taken)));
    await eventually(async () => {
      const { named } = await USAGE.getByName("usage").report("hour", "tool");
      expect(named.find(({ name }) => name === tool)?.sums.runs).toBe(ISOLATES);
    });
    const sent = asked.filter((one) => one === "Usage: usage").length;
    expect(sent).toBeLessThan(ISOLATES);
  });

  test("Installs: installs", async () => {
    const { INSTALLS } = env as unknown as { INSTALLS: DurableObjectNamespace<Installs> };
    const copy = INSTALLS.getByName("installs 3");
    const known = await copy.since(-1);
    for (let n = 0; n < ISOLATES; n++) expect(await copy.since(known!.generation)).toBeUndefined();
    expect(await copy.since(-1)).toEqual(known);
    expect(asked.filter((one) => one === "Installs: installs").length).toBe(1);
  });
});
