import { env } from "cloudflare:workers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { bundle } from "../../bundle.gen.ts";
import { asked } from "../../worker/index.ts";
import { newAddress, prepare, serverOf, type Sent } from "../../worker/calls/client.ts";
import { begin as beginSession, listened } from "../../worker/mcp/legacy/session-steps.ts";

/** Which objects that callers share are asked. */
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
