/// <reference types="@cloudflare/vitest-plugin/types" />
import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { stateful } from "../../../src/server/features/state/servlet-states.ts";
import { scopeOf, stateName } from "../../../src/server/features/state/state-scopes.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { deploymentOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import type { CallContext } from "../../../src/server/kernel/core/call-context.ts";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import { connected } from "../../../src/server/kernel/servlets/connect.ts";
import { nobodysCall } from "../../../src/server/kernel/servlets/servlet.ts";
import { bundle } from "../../bundle.gen.ts";
import { limited, prepare, send, type Sent } from "../../worker/calls/client.ts";

/** Whose turn it is with a state, and what ends it. */
prepare();

const deployment = { ...deploymentOf(readSettings(env), env), runners: [stateful(env)] };
const states = env.SERVLET_STATES!;

/** A servlet, called by a new principal. */
function newCaller(servlet: string, principal = { name: crypto.randomUUID() }) {
  const { callTool } = connected(
    bundle.servlets.find(({ name }) => name === servlet)!,
    deployment,
  );
  return async (name: string, more: Partial<CallContext> = {}, args: Json = {}) => {
    const result = await callTool(name, args, { ...nobodysCall, principal, ...more });
    return (result as { content: { text: string }[] }).content[0]!.text;
  };
}

/** A call that holds its turn until it is let go: what it stores as it begins is not answered before. */
function held() {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const begins = async () => {
    begun.resolve();
    await gate.promise;
  };
  return {
    keeper: { begin: begins, keep: async () => {} },
    begun: begun.promise,
    letGo: gate.resolve,
  };
}

/** Resolves when the object has got all that was sent to it: whoever cancels hears at once, the object after that. */
async function hasHeard(servlet: string, principal: { name: string }): Promise<void> {
  const scope = scopeOf({ state: "caller" }, { principal });
  await states.getByName(stateName(servlet, scope)).cancel("nobody");
}

describe("a turn", () => {
  test("is given up by a call that is cancelled while it waits, which never runs", async () => {
    const principal = { name: crypto.randomUUID() };
    const call = newCaller("counting", principal);
    const { keeper, begun, letGo } = held();
    const first = call("next", { keeper });
    await begun;
    const stop = new AbortController();
    const second = call("next", { signal: () => stop.signal });
    const third = call("next");
    // So that it is in the queue; on a very slow machine it may not be, and ends all the same.
    await scheduler.wait(100);
    stop.abort();
    await expect(second).rejects.toThrow(/client has left/);
    await hasHeard("counting", principal);
    letGo();
    expect(await Promise.all([first, third])).toEqual(["1", "2"]);
  });

  test("ends for a call whose asker does not answer any more", async () => {
    limited({ hookMs: 50 });
    const call = newCaller("counting");
    const { keeper, letGo } = held();
    const first = call("next", { keeper });
    const second = call("next");
    await expect(first).rejects.toThrow(/is gone.*Nothing was changed/);
    expect(await second).toBe("1");
    letGo();
  });

  test("of a call that is cancelled at its end changes nothing", async () => {
    const principal = { name: crypto.randomUUID() };
    const call = newCaller("counting", principal);
    const { keeper, begun, letGo } = held();
    const stop = new AbortController();
    const first = call("next", { keeper, signal: () => stop.signal });
    await begun;
    stop.abort();
    await expect(first).rejects.toThrow(/client has left/);
    await hasHeard("counting", principal);
    letGo();
    expect(await call("next")).toBe("1");
  });
});

test("a call that never waits does not look whether its client is there", async () => {
  const call = newCaller("counting");
  // One that waits for its turn, as others have computed here, looks.
  const looks = async (): Promise<number> => {
    const signal = vi.fn<() => AbortSignal>(nobodysCall.signal);
    await call("next", { signal });
    return signal.mock.calls.length;
  };
  await expect.poll(looks).toBe(0);
});

test("the state of a session is deleted when nobody has used it for long, but not under a call", async () => {
  const before = new Set((await listDurableObjectIds(states)).map(String));
  const call = newCaller("growing_session");
  const session = { session: crypto.randomUUID() };
  expect(await call("add", session, { name: "one" })).toBe("added");
  const id = (await listDurableObjectIds(states)).find((one) => !before.has(String(one)))!;
  const { keeper, begun, letGo } = held();
  const running = call("add", { ...session, keeper }, { name: "two" });
  await begun;
  expect(await runDurableObjectAlarm(states.get(id))).toBe(true);
  letGo();
  expect(await running).toBe("added");
  expect(await call("two", session)).toBe("two of 2");
  expect(await runDurableObjectAlarm(states.get(id))).toBe(true);
  await runInDurableObject(states.get(id), async (_object, { storage }) => {
    const tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'blocks'");
    expect(tables.toArray()).toEqual([]);
  });
  expect(await call("add", session, { name: "three" })).toBe("added");
  expect(await call("three", session)).toBe("three of 1");
});

test("the state of an anonymous caller is kept for a week after its last call, that of others until it is deleted", async () => {
  const known = async () => new Set((await listDurableObjectIds(states)).map(String));
  const alarmOf = (id: string) =>
    runInDurableObject(states.get(states.idFromString(id)), (_object, { storage }) =>
      storage.getAlarm(),
    );
  const before = await known();
  const sent: Sent = { headers: { "cf-connecting-ip": "203.0.118.1" } };
  await send("tools/call", { name: "counting-next" }, sent);
  const [anonymous] = (await known()).difference(before);
  const left = Number(await alarmOf(anonymous!)) - Date.now();
  expect(left).toBeGreaterThan(limits.anonymousStateMs - 60_000);
  expect(left).toBeLessThan(limits.anonymousStateMs + 2 * 3_600_000);
  expect(await runDurableObjectAlarm(states.get(states.idFromString(anonymous!)))).toBe(true);
  const { result } = await send("tools/call", { name: "counting-next" }, sent);
  expect(result).toMatchObject({ content: [{ text: "1" }] });

  const others = await known();
  await newCaller("counting")("next");
  const [named] = (await known()).difference(others);
  expect(await alarmOf(named!)).toBe(null);
});
