/// <reference types="@cloudflare/vitest-plugin/types" />
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import type { Hub } from "../../../src/server/features/sessions/hub.ts";
import { limits, configureLimits } from "../../../src/server/kernel/core/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { modern, post } from "../server.ts";

/** Anonymous callers are distinguished by their addresses: none may use up the limits of another. */

const hubs = env.HUBS!;
const [ADA, BOB] = ["192.0.2.1", "2001:db8::2"];
const usual = { ...limits };
let server: ReturnType<typeof createApp>;
let hub: DurableObjectStub<Hub>;
beforeEach(() => {
  const name = crypto.randomUUID();
  hub = hubs.getByName(name);
  const own = { getByName: () => hub } as unknown as typeof hubs;
  server = createApp(new Kernel(bundle, { ...env, HUBS: own }));
});
afterEach(() => {
  configureLimits(usual);
  vi.restoreAllMocks();
});

function send(address: string, method: string, params: Record<string, unknown>, more = {}) {
  const { body, headers } = modern(method, params);
  return post(body, { ...headers, "cf-connecting-ip": address, ...more }, server);
}

const wait = (address: string, seconds: number) =>
  send(address, "tools/call", { name: "wait", arguments: { seconds } });
const greet = (address: string) =>
  send(address, "tools/call", { name: "greet", arguments: { name: "Ada" } });
test("each has its own memory for calls that wait", async () => {
  configureLimits({ waitingBytesOfOne: 1, roomMs: 0 });
  const all = await Promise.all([wait(ADA, 0.3), wait(ADA, 0.3), wait(BOB, 0.3)]);
  expect(all.map(({ status }) => status)).toEqual([200, 429, 200]);
  expect(await all[1]!.text()).toContain("Too many calls are waiting");
});

describe("networks of one /48 have four callers' share together", () => {
  const own = `2001:db8:${crypto.randomUUID().slice(0, 4)}`;
  const fivefold = <T>(act: (address: string) => Promise<T>) =>
    Promise.all([1, 2, 3, 4, 5].map((at) => act(`${own}:${at}::1`)));
  const served = (all: Response[]) => all.filter(({ status }) => status === 200).length;

  test("of requests at once", async () => {
    configureLimits({ concurrentCalls: 1 });
    const all = await fivefold((address) => wait(address, 0.3));
    expect(served(all)).toBe(4);
    expect((await greet(BOB)).status).toBe(200);
    expect((await greet(`${own}:9::1`)).status).toBe(200);
  });

  test("of calls in a minute", async () => {
    configureLimits({ callsPerMinute: 1 });
    expect(served(await fivefold(greet))).toBe(4);
  });

  test("and that of one caller, of memory for calls that wait", async () => {
    configureLimits({ waitingBytesOfOne: 1, roomMs: 0 });
    expect(served(await fivefold((address) => wait(address, 0.3)))).toBe(1);
  });
});

test("an IPv4 address that is mapped to IPv6 is the same caller", async () => {
  configureLimits({ callsPerMinute: 1 });
  const all = ["192.0.2.9", "::ffff:192.0.2.9", "::ffff:c000:209", "::ffff:192.0.2.10"];
  const statuses = [];
  for (const address of all) statuses.push((await greet(address)).status);
  expect(statuses).toEqual([200, 429, 429, 200]);
});
