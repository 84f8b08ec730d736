import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Chance } from "../fuzz/chance.ts";
import { serving } from "../http/serving.ts";
import { begun } from "./clients.ts";
import type { Arrival } from "./http-server.ts";
import { judge } from "./judge.ts";
import { inRealTime } from "./programs.ts";
import { sceneOf } from "./scene.ts";

/** The programs of the simulation in real processes that are killed: against workerd itself and its disk. */
const KILLS = 4;
/** Short waits, so that calls go through all of their ways in a few seconds. */
const TEST_LIMITS = { promoteAfterMs: 300, sleepInPlaceMs: 300, rerunMs: 200, ownerMs: 500 };

const variables = {
  GREETING: "hi",
  VAULT_PROBE: "opened",
  LOG_LEVEL: "error",
  // The model knows no persons at pages.
  LINKS: "off",
  TEST_LIMITS: JSON.stringify(TEST_LIMITS),
};

/** A server that stands for the internet, and the requests that have arrived there. */
async function newInternet() {
  const arrivals: Arrival[] = [];
  const internet = createServer((request, response) => {
    const { method = "", url: path = "", headers } = request;
    const label = decodeURIComponent(path.slice(1));
    const key = (headers["idempotency-key"] as string | undefined) ?? null;
    const before = key === null ? undefined : arrivals.find((one) => one.key === key);
    const answer = before?.answer ?? `good answer ${arrivals.length + 1} to ${label}`;
    const id = (headers["x-id"] as string | undefined) ?? null;
    const isNew = before === undefined;
    arrivals.push({ label, method, key, id, at: Date.now(), answer, isNew, from: "workerd" });
    request.resume();
    setTimeout(() => response.end(answer), 20);
  });
  onTestFinished(() => void internet.close());
  internet.listen(0, "127.0.0.1");
  await once(internet, "listening");
  return { arrivals, port: (internet.address() as AddressInfo).port };
}

const { url, restart } = await serving({ variables });

const wait = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

test("random programs in processes that are killed see what the model allows", async () => {
  const chance = new Chance(1);
  const { arrivals, port } = await newInternet();
  const notes: string[] = [];
  const scenes = Array.from({ length: 24 }, (_, at) => sceneOf(at + 1, 0));
  const calls = scenes
    .flatMap((scene) => scene.calls)
    // The servlet as it is bundled says nothing of what it gives, so these would get no values.
    .filter(({ client }) => client !== "otc")
    .map((call, at) => ({
      ...call,
      tool: call.tool.replace("r-", ""),
      program: inRealTime(call.program),
      label: `c${at + 1}`,
    }));
  const clients = begun(calls, (name) => ({
    chance,
    host: `http://127.0.0.1:${port}`,
    now: Date.now,
    sleep: (ms: number) => wait(Math.min(ms, 300)),
    request: (init: RequestInit, leavesMs?: number, path = "/mcp") => {
      const signal = leavesMs === undefined ? {} : { signal: AbortSignal.timeout(leavesMs) };
      return fetch(new URL(path, url), { ...init, ...signal });
    },
    note: (what: string) => void notes.push(`${Date.now()} ${name} ${what}`),
  }));
  const running = Promise.all(clients.map((one) => one.run()));
  for (let kills = 0; kills < KILLS; kills++) {
    await wait(300 + chance.below(1200));
    notes.push(`${Date.now()} kill`);
    await restart();
  }
  await running;
  const attempts = clients.flatMap((one) => one.attempts);
  const violations = attempts.flatMap((attempt) =>
    judge({
      attempt,
      internet: { arrivals, sent: [], troubled: new Set() },
      isForked: attempt.fork !== undefined || attempts.some(({ fork }) => fork?.of === attempt),
      askings: [],
      faults: KILLS,
      runsInVain: 0,
      stoodStill: false,
      toleranceMs: 10_000,
    }),
  );
  const unknown = violations.filter(({ hole }) => hole === undefined);
  expect(unknown.length === 0 ? [] : [...unknown, ...notes]).toEqual([]);
  expect(arrivals.length).toBeGreaterThan(20);
});
