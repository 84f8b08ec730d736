/// <reference types="@cloudflare/vitest-plugin/types" />
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { Fault } from "../../../src/server/kernel/core/errors.ts";
import { RefusedRequests } from "../../../src/server/kernel/observe/refusals.ts";
import { countingIn } from "../../../src/server/features/usage/counting.ts";
import { usageOf } from "../../../src/server/features/usage/usage.ts";
import { addSums, Counts, type CountsBatch } from "../../../src/server/features/usage/counts.ts";
import { noSums, OTHERS, timeOf } from "../../../src/server/kernel/observe/counted.ts";
import type { CountedRun } from "../../../src/server/kernel/observe/counted.ts";
import { bundle } from "../../bundle.gen.ts";
import { hashed, send } from "../auth/key-holders.ts";
import { LOCAL, LOCALHOST, newCaller, operate } from "../operator/client.ts";
import { browser } from "./browser.ts";
import { eventually } from "../waiting.ts";

/** What runs come to: the counters of an isolate, those of the server, and their page. */

const run = (given: Partial<CountedRun> = {}): CountedRun => ({
  ...{ servlet: "hello", tool: "greet", caller: "ada", outcome: "returned", ms: 3, fuel: 100 },
  ...given,
});

describe("counters of an isolate", () => {
  test("add up by servlet, tool and caller, and are taken once", () => {
    const counts = new Counts(10);
    counts.add(run());
    counts.add(run({ outcome: "waits" }));
    counts.add(run({ caller: "bob", outcome: "servlet_failed", fuel: 0 }));
    const { total, named } = counts.take()!;
    expect(total).toMatchObject({ runs: 3, errors: 1, waits: 1, fuel: 200 });
    const of = (by: string, name: string) =>
      named.find((one) => one.by === by && one.name === name)?.sums;
    expect(of("caller", "ada")).toMatchObject({ runs: 2, errors: 0 });
    expect(of("caller", "bob")).toMatchObject({ runs: 1, errors: 1 });
    expect(of("servlet", "hello")).toMatchObject({ runs: 3 });
    expect(counts.take()).toBeUndefined();
  });

  test("have few names, whatever callers make up", () => {
    const counts = new Counts(10);
    for (let nth = 0; nth < 100_000; nth++) counts.add(run({ caller: `c${nth}` }));
    const callers = counts.take()!.named.filter(({ by }) => by === "caller");
    expect(callers.length).toBe(11);
    const others = callers.find(({ name }) => name === OTHERS)!;
    expect(others.sums.runs).toBe(100_000 - 10);
  });

  test("have short names, however long those of servlets and callers are", () => {
    const counts = new Counts(10);
    const name = "x".repeat(1_000_000);
    counts.add(run({ servlet: name, tool: name, caller: name, message: "broken" }));
    counts.setStored({ object: "one", servlet: name, caller: name, bytes: 1 });
    expect(JSON.stringify(counts.take()).length).toBeLessThan(5000);
  });

  test("are sent by a later call where the first was stopped, also after the clock was set back", async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const add = vi.fn<(taken: CountsBatch) => Promise<void>>(async () => {});
    const { count } = countingIn(() => ({ add }))!;
    vi.spyOn(scheduler, "wait").mockRejectedValueOnce(new Error("stopped on purpose"));
    vi.spyOn(Date, "now").mockReturnValueOnce(Date.now() + 86_400_000);
    count(run());
    // Other files' objects may log in the meantime.
    const logged = () => error.mock.calls.filter(([text]) => text.includes("stopped on purpose"));
    await eventually(() => expect(logged()).toHaveLength(1));
    count(run());
    await eventually(() => expect(add).toHaveBeenCalledOnce());
    expect(add.mock.calls[0]![0].total.runs).toBe(2);
  });

  test("know times to within half a doubling, also of sums", () => {
    const [quick, slow] = [new Counts(1), new Counts(1)];
    for (let nth = 0; nth < 90; nth++) quick.add(run({ ms: 10 }));
    for (let nth = 0; nth < 10; nth++) slow.add(run({ ms: 2000 }));
    const sums = noSums();
    addSums(sums, quick.take()!.total);
    addSums(sums, slow.take()!.total);
    expect(timeOf(sums, 0.5)).toBeGreaterThanOrEqual(10);
    expect(timeOf(sums, 0.5)).toBeLessThan(15);
    expect(timeOf(sums, 0.95)).toBeGreaterThanOrEqual(2000);
    expect(timeOf(sums, 0.95)).toBeLessThan(2900);
    expect(timeOf(noSums(), 0.5)).toBeUndefined();
  });
});

describe("counters of the server", () => {
  const objectOf = () => usageOf(env)!();
  const taken = { total: noSums(), named: [], errors: [], stored: [], waiting: [] };
  afterEach(() =>
    runInDurableObject(objectOf(), (_one, { storage }) => {
      storage.sql.exec("DELETE FROM counts");
    }),
  );

  test("have few names in each step, however many isolates send others", async () => {
    const usage = objectOf();
    const sums = { ...noSums(), runs: 1 };
    for (let part = 0; part < 3; part++) {
      const named = Array.from({ length: 100 }, (_, nth) => ({
        ...{ by: "caller" as const, name: `made-up-${part}-${nth}`, sums },
      }));
      await usage.add({ ...taken, total: { ...noSums(), runs: 100 }, named });
    }
    const rows = await runInDurableObject(usage, (_one, { storage }) =>
      storage.sql
        .exec("SELECT COUNT(*) AS count FROM counts WHERE by = 'caller' GROUP BY span, start")
        .toArray(),
    );
    for (const { count } of rows) expect(count).toBeLessThanOrEqual(limits.usageNames + 1);
    const { named } = await usage.report("month", "caller");
    expect(named.reduce((sum, one) => sum + one.sums.runs, 0)).toBeGreaterThanOrEqual(300);
  });

  test("forget what is older than a span", async () => {
    const usage = objectOf();
    await runInDurableObject(usage, (_one, { storage }) => {
      const old = JSON.stringify({ ...noSums(), runs: 1 });
      storage.sql.exec("INSERT INTO counts VALUES ('hour', 60000, 'tool', 'old', ?)", old);
    });
    await usage.add({ ...taken, total: { ...noSums(), runs: 1 } });
    const left = await runInDurableObject(usage, (_one, { storage }) =>
      storage.sql.exec("SELECT * FROM counts WHERE start = 60000").toArray(),
    );
    expect(left).toEqual([]);
  });
});

describe("what servlets keep", () => {
  test("is known by servlet and caller, and goes when it is deleted", async () => {
    const [caller, later] = [newCaller(), newCaller()];
    // The call that was to send the counters is stopped: a later one sends them.
    await later.next();
    await abortAllDurableObjects();
    const bytesOf = async (by: "servlet" | "caller", name: string) => {
      await later.next();
      const { named } = await usageOf(env)!().report("hour", by);
      return named.find((one) => one.name === name)?.bytes ?? 0;
    };
    await caller.file("fill", { path: "/data/big", text: "2" });
    const ofCaller = () => bytesOf("caller", `address ${caller.address}`);
    await eventually(async () => expect(await ofCaller()).toBeGreaterThan(2_000_000));
    expect(await bytesOf("servlet", "filing")).toBeGreaterThan(2_000_000);
    await operate(`state/filing?${caller.scope}`, { method: "DELETE" });
    await eventually(async () => expect(await ofCaller()).toBe(0));
  });
});

describe("the page", () => {
  const keys = async () => {
    const all = JSON.parse(await hashed(["counted", "loud", "boss"])) as Record<string, string>;
    return JSON.stringify({ ...all, boss: { hash: all["boss"], scopes: ["operator"] } });
  };

  test("shows how many requests were refused and why, and a line of the log names the callers", async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { toolCallsPerMinute } = limits;
    onTestFinished(() => configureLimits({ toolCallsPerMinute }));
    configureLimits({ toolCallsPerMinute: 2 });
    const server = createApp(new Kernel(bundle, { ...env, API_KEYS: await keys() }));
    const greet = { name: "greet", arguments: { name: "Ada" } };
    const statuses: number[] = [];
    for (let nth = 0; nth < 4; nth++)
      statuses.push((await send(server, "loud", "tools/call", greet)).status);
    statuses.push((await send(server, "nobody", "tools/call", greet)).status);
    expect(statuses).toEqual([200, 200, 429, 429, 401]);
    const boss = browser(server);
    await eventually(async () => {
      await boss.send("/sign-in?back=/console/usage", { credential: "boss" });
      const { text } = await boss.fetch("/console/usage?over=hour&by=caller");
      expect(text).toMatch(
        /Refused requests[^]*429 too_many \d+[^]*401 unauthorized \d+|Refused requests[^]*401 unauthorized \d+[^]*429 too_many \d+/,
      );
    });
    const lines = warn.mock.calls.map(([line]) => String(line));
    expect(lines.find((one) => one.startsWith("Refused"))).toMatch(
      /^Refused in the last [\d.]+ s: .*429 too_many of loud \(2\).*401 unauthorized \(1\)/,
    );
  });

  test("logs a bounded part of the names of callers whose requests are refused", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const refusals = new RefusedRequests();
    const name = "x".repeat(100_000);
    for (let nth = 0; nth < 30; nth++) refusals.add(new Fault("too_many", ""), `${nth} ${name}`);
    await eventually(() => expect(warn).toHaveBeenCalledOnce());
    expect(String(warn.mock.calls[0]).length).toBeLessThan(10_000);
  });

  test("shows operators what callers called, seconds later", async () => {
    const server = createApp(new Kernel(bundle, { ...env, API_KEYS: await keys() }));
    const greet = { name: "greet", arguments: { name: "Ada" } };
    expect((await send(server, "counted", "tools/call", greet)).status).toBe(200);
    const boss = browser(server);
    await eventually(async () => {
      await boss.send("/sign-in?back=/console/usage", { credential: "boss" });
      const { text } = await boss.fetch("/console/usage?over=hour&by=caller");
      expect(text).toMatch(/counted 1 [\d.]+ ms [\d.]+ ms (below|about) \d+ ms/);
    });
    const { text, html } = await boss.fetch("/console/usage?over=day&by=tool");
    expect(text).toMatch(/greet \d/);
    expect(html).toContain("<svg");
    expect(html).toMatch(/<title>\d+ \w{3}, \d\d:00: [1-9]\d* runs?, \d+ errors?<\/title/);
    expect((await boss.fetch("/console/usage?over=<script>&by='")).status).toBe(200);
  });

  test("is for operators alone, and leads others to the sign-in", async () => {
    const server = createApp(new Kernel(bundle, { ...env, API_KEYS: await keys() }));
    const one = browser(server);
    const page = await one.fetch("/console/usage");
    expect(page.status).toBe(303);
    expect(page.response.headers.get("location")).toBe("/sign-in?back=%2Fconsole%2Fusage");
    await one.send("/sign-in?back=/console/usage", { credential: "counted" });
    const refused = await one.fetch("/console/usage");
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("This page is for operators");
    expect(refused.html).not.toContain("<svg");
    const open = createApp(new Kernel(bundle, { ...env, AUTH: "none" }));
    expect((await browser(open).fetch("/console/usage")).status).toBe(403);
  });

  test("is not for other programs' web pages on this machine", async () => {
    const open = createApp(new Kernel(bundle, env));
    const page = (headers: Record<string, string>) =>
      open.fetch(
        new Request(`${LOCALHOST}/console/usage`, {
          headers: { ...LOCAL, ...headers },
          cf: {},
        } as RequestInit),
      );
    expect((await page({})).status).toBe(200);
    expect((await page({ origin: LOCALHOST })).status).toBe(200);
    expect((await page({ origin: "http://localhost:3000" })).status).toBe(403);
  });

  test("says what to bind where nothing is counted", async () => {
    const server = createApp(
      new Kernel(bundle, { ...env, USAGE: undefined, API_KEYS: await keys() }),
    );
    const boss = browser(server);
    await boss.send("/sign-in?back=/console/usage", { credential: "boss" });
    expect((await boss.fetch("/console/usage")).text).toContain("bind the Durable Object USAGE");
  });
});
