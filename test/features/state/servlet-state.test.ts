/// <reference types="@cloudflare/vitest-plugin/types" />
import { abortAllDurableObjects, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, onTestFinished, test, vi } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { stateful } from "../../../src/server/features/state/servlet-states.ts";
import { deploymentOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import { StateRows } from "../../../src/server/features/state/state-rows.ts";
import { sealingWith } from "../../../src/server/kernel/files/sealing.ts";
import { StateSealing } from "../../../src/server/features/state/state-sealing.ts";
import type { JournalHead } from "../../../src/server/kernel/core/record.ts";
import { connected } from "../../../src/server/kernel/servlets/connect.ts";
import { nobodysCall } from "../../../src/server/kernel/servlets/servlet.ts";
import { bundle } from "../../bundle.gen.ts";
import type { Asks } from "../../../src/server/kernel/core/asks.ts";
import type { CallToolResult } from "../../../src/server/kernel/core/model.ts";
import { Suspended, Wait } from "../../../src/server/kernel/core/suspension.ts";
import { newAddress, send, type Sent } from "../../worker/calls/client.ts";

/** Servlets whose memory is where the last successful call of the same caller has left it. */

const text = async (name: string, sent: Sent = {}): Promise<string> => {
  const { result, error } = await send("tools/call", { name: `counting-${name}` }, sent);
  return error?.message ?? (result!["content"] as { text: string }[])[0]!.text;
};

const states = (env as unknown as { SERVLET_STATES: DurableObjectNamespace }).SERVLET_STATES;

/** A new caller: anonymous, from an address of its own. */
const newCaller = (): Sent => ({
  headers: { "cf-connecting-ip": newAddress() },
});

test("the memory of a successful call is where the next one of the same caller begins", async () => {
  const [ada, bob] = [newCaller(), newCaller()];
  expect(await text("next", ada)).toBe("1");
  expect(await text("next", ada)).toBe("2");
  expect(await text("next", bob)).toBe("1");
  expect(await text("next", ada)).toBe("3");
});

test("a call that is stopped changes nothing; an error of the servlet itself is an answer", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const caller = newCaller();
  expect(await text("next", caller)).toBe("1");
  expect(await text("spin", caller)).toMatch(/comput/);
  expect(await text("next", caller)).toBe("2");
  expect(await text("fail", caller)).toMatch(/failed on purpose/);
  expect(await text("next", caller)).toBe("4");
});

test("concurrent calls are made one after another", async () => {
  const caller = newCaller();
  const count = 60;
  const said = await Promise.all(Array.from({ length: count }, () => text("next", caller)));
  const numbers = said.map(Number).toSorted((a, b) => a - b);
  expect(numbers).toEqual(Array.from({ length: count }, (_, at) => at + 1));
});

test("state outlives its object", async () => {
  const caller = newCaller();
  expect(await text("next", caller)).toBe("1");
  await abortAllDurableObjects();
  expect(await text("next", caller)).toBe("2");
  expect(await text("next", caller)).toBe("3");
});

test("state outlives its object after any number of calls", async () => {
  const caller = newCaller();
  for (let count = 1; count <= 200; count++) {
    expect(await text("next", caller)).toBe(String(count));
    // Changes of calls are stored in rows, which are merged after 64.
    if ([1, 63, 64, 65, 66, 130].includes(count)) await abortAllDurableObjects();
  }
});

test("more calls than may wait for their turn are refused, and change nothing", async () => {
  const caller = newCaller();
  const { queuedCalls } = limits;
  onTestFinished(() => configureLimits({ queuedCalls }));
  configureLimits({ queuedCalls: 5 });
  const requests = Array.from({ length: 40 }, async () => {
    const { status, result } = await send("tools/call", { name: "counting-next" }, caller);
    return status === 429 ? "refused" : (result!["content"] as { text: string }[])[0]!.text;
  });
  const said = await Promise.all(requests);
  const refused = said.filter((one) => one === "refused").length;
  expect(refused).toBeGreaterThan(0);
  expect(Number(await text("next", caller))).toBe(said.length - refused + 1);
});

test("state that was altered is refused, and a build with another hash starts with new memory", async () => {
  const caller = newCaller();
  const before = await listDurableObjectIds(states);
  expect(await text("next", caller)).toBe("1");
  const known = new Set(before.map(String));
  const after = await listDurableObjectIds(states);
  const id = after.find((one) => !known.has(String(one)));
  const exec = (query: string) =>
    runInDurableObject(states.get(id!), (_object, { storage }) => void storage.sql.exec(query));
  await exec("UPDATE blocks SET bytes = zeroblob(length(bytes))");
  await abortAllDurableObjects();
  expect(await text("next", caller)).toMatch(/can no longer be read/);
  expect(await text("next", caller)).toMatch(/can no longer be read/);
  vi.spyOn(console, "warn").mockImplementation(() => {});
  await exec("UPDATE state SET hash = 'another'");
  await abortAllDurableObjects();
  expect(await text("next", caller)).toBe("1");
});

test("endings are kept whatever their size, and the oldest are given up", async () => {
  const { endings, endingBytes } = limits;
  onTestFinished(() => configureLimits({ endings, endingBytes }));
  const call = (seed: string) => ({
    head: { version: 1, hash: "", input: "", time: 0, seed },
    entries: [],
    notices: 0,
  });
  await runInDurableObject(states.getByName("endings"), async (_object, { storage }) => {
    const key = new Uint8Array(32);
    const rows = new StateRows(storage.sql, new StateSealing(key, sealingWith(key)));
    const save = async (seed: string, output: string) =>
      rows.save(
        await rows.sealEnding(call(seed), {
          ending: { kind: "returned", output, fuelUsed: 0 },
          said: { after: 0, notices: [] },
        }),
      );
    const kept = async () => {
      const seeds = ["a", "b", "c"];
      const found = await Promise.all(seeds.map((seed) => rows.ending(call(seed))));
      return seeds.filter((_seed, at) => found[at] !== undefined);
    };
    const large = "ä".repeat(2 * 1024 * 1024);
    await save("a", large);
    expect(await rows.ending(call("a"))).toMatchObject({ ending: { output: large } });
    await save("a", "again");
    expect(await rows.ending(call("a"))).toMatchObject({ ending: { output: "again" } });
    await save("b", large);
    expect(await kept()).toEqual(["a", "b"]);
    configureLimits({ endings: 2 });
    await save("c", "small");
    expect(await kept()).toEqual(["b", "c"]);
    configureLimits({ endingBytes: 5_000_000 });
    await save("a", "small");
    expect(await kept()).toEqual(["a", "c"]);
  });
});

test("a caller without a session does not share the state of the caller, which has another lifetime", async () => {
  const counting = bundle.servlets.find(({ name }) => name === "counting")!;
  const settings = readSettings(env);
  const deployment = { ...deploymentOf(settings, env), runners: [stateful(env)] };
  const call = { ...nobodysCall, principal: { name: "sessionless" } };
  for (const state of ["session", "caller"] as const) {
    const servlet = connected(
      { ...counting, manifest: { ...counting.manifest, state } },
      deployment,
    );
    expect(await servlet.callTool("next", {}, call)).toMatchObject({ content: [{ text: "1" }] });
  }
});

test("a call whose ending was lost is not made twice", async () => {
  const { result: known } = await send("tools/list", {});
  expect(JSON.stringify(known)).toContain("counting-next");
  const counting = bundle.servlets.find(({ name }) => name === "counting")!;
  const settings = readSettings(env);
  const deployment = { ...deploymentOf(settings, env), runners: [stateful(env)] };
  const servlet = connected(counting, deployment);
  const heads: JournalHead[] = [];
  const keeper = {
    begin: async (head: JournalHead) => void heads.push(head),
    keep: async () => {},
  };
  const call = { ...nobodysCall, principal: { name: "lost" }, keeper };
  const first = await servlet.callTool("next", {}, call);
  expect(first).toMatchObject({ content: [{ text: "1" }] });
  // The object that asked has died, and runs the call again from what it has stored.
  const recorded = { head: heads[0]!, entries: [], notices: 0 };
  expect(await servlet.callTool("next", {}, { ...call, recorded })).toEqual(first);
  expect(await servlet.callTool("next", {}, call)).toMatchObject({ content: [{ text: "2" }] });
  expect(await servlet.callTool("next", {}, { ...call, recorded })).toEqual(first);
});

test("a call that was answered twice has an ending for each answer", async () => {
  const counting = bundle.servlets.find(({ name }) => name === "counting")!;
  const deployment = { ...deploymentOf(readSettings(env), env), runners: [stateful(env)] };
  const servlet = connected(counting, deployment);
  const keeper = { begin: async () => {}, keep: async () => {} };
  const call = { ...nobodysCall, principal: { name: "forked" }, keeper };
  const waiting = await servlet.callTool(
    "note",
    {},
    {
      ...call,
      ask: (asks: Asks) => Promise.reject(new Wait({ kind: "input", asks, given: {} })),
    },
  );
  if (!(waiting instanceof Suspended) || waiting.reason.kind !== "input")
    throw new Error("it does not wait");
  const [key] = Object.keys(waiting.reason.asks);
  const { head, entries, pending } = waiting.recorded!;
  const answered = async (said: string) => {
    const answers = { [key!]: { result: { action: "accept", content: { text: said } } } };
    const entry = { ...pending!, answer: JSON.stringify(answers), at: head.time };
    const recorded = { head, entries: [...entries, entry], notices: 0 };
    const { content } = (await servlet.callTool(
      "note",
      {},
      { ...call, recorded },
    )) as CallToolResult;
    return (content[0] as { text: string }).text;
  };
  expect(await answered("one")).toBe("one");
  expect(await answered("two")).toBe("one two");
  // Both answers were lost.
  expect(await answered("one")).toBe("one");
  expect(await answered("two")).toBe("one two");
});
