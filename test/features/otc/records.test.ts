import {
  abortAllDurableObjects,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Fault } from "../../../src/server/kernel/core/errors.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { call, failureOf, post, server, serverOf, valueOf, type Json } from "./client.ts";
import { eventually } from "../../worker/waiting.ts";

/** Calls with a `call_id` are run once. */
const durable = serverOf();
const objects = env.CALL_RECORDS!;

let made = 0;
const newId = () => `id-${++made}`;

/** A tool that gives another value each time it runs. */
const run = (call_id: string, more: Json = {}, input: Json = {}) =>
  call("otc.Plain", input, { call_id, ...more }, durable);

/** The object of a call. */
async function recordOf(call_id: string, principal = "anonymous") {
  const name = new TextEncoder().encode(JSON.stringify([principal, call_id]));
  const digest = await crypto.subtle.digest("SHA-256", name);
  return objects.getByName(new Uint8Array(digest).toHex());
}

afterEach(() => vi.restoreAllMocks());

describe("a call that comes again", () => {
  test("is answered as before, and not run", async () => {
    const id = newId();
    const first = await run(id);
    expect(first.result?.["call_id"]).toBe(id);
    expect((await run(id)).result).toEqual(first.result);
    await evictDurableObject(await recordOf(id));
    expect((await run(id)).result).toEqual(first.result);
  });

  test("waits for the first where that still runs", async () => {
    const id = newId();
    const slow = () => run(id, {}, { what: "slow" });
    const [first, ...others] = await Promise.all([slow(), slow(), slow()]);
    expect(valueOf(first)).toMatch(/^[0-9a-f-]{36}$/);
    for (const { result } of others) expect(result).toEqual(first.result);
  });

  test("may order its keys in another way, and be traced in another", async () => {
    const id = newId();
    const input = { what: "", more: { a: 1, b: 2 } };
    const first = await run(id, { trace_id: "1" }, input);
    const again = await run(id, { trace_id: "2" }, { more: { b: 2, a: 1 }, what: "" });
    expect(again.result).toEqual(first.result);
  });

  test("is answered as before where it has failed, too", async () => {
    const id = newId();
    const first = await call("http_status.lookup_status", { code: 599 }, { call_id: id }, durable);
    const again = await call("http_status.lookup_status", { code: 599 }, { call_id: id }, durable);
    expect(failureOf(again)).toEqual(failureOf(first));
  });

  test.each<[string, Json]>([
    ["another input", { input: { what: "other" } }],
    ["another tool", { tool_id: "otc.GetTimestamp" }],
    ["another version", { tool_id: "otc.Plain@1.0.0" }],
    ["another context", { context: { user_id: "eve" } }],
  ])("is refused with %s", async (_, other) => {
    const id = newId();
    await run(id);
    const request = { tool_id: "otc.Plain", input: {}, call_id: id, ...other };
    const { status, message } = await post({ request }, durable);
    expect(status).toBe(400);
    expect(message).toContain("call_id");
  });

  test("is refused with another body while the first still runs", async () => {
    const id = newId();
    const first = run(id, {}, { what: "slow" });
    expect((await run(id, {}, { what: "other" })).status).toBe(400);
    expect((await first).status).toBe(200);
  });

  test("is another one an hour later", async () => {
    const id = newId();
    const first = await run(id);
    const record = await recordOf(id);
    const due = await runInDurableObject(record, (_, { storage }) => storage.getAlarm());
    expect(due! - Date.now()).toBeGreaterThan(limits.callRecordMs - 10_000);
    expect(due! - Date.now()).toBeLessThanOrEqual(limits.callRecordMs);
    await runDurableObjectAlarm(record);
    const left = await runInDurableObject(record, (_, { storage: { sql } }) =>
      sql.exec("SELECT name FROM sqlite_master WHERE name = 'texts'").toArray(),
    );
    expect(left).toEqual([]);
    expect(valueOf(await run(id))).not.toEqual(valueOf(first));
  });

  test("is not run again where nobody knows what came of it", async () => {
    const id = newId();
    const dying = run(id, {}, { what: "slow" }).catch(() => undefined);
    const record = await recordOf(id);
    await eventually(async () => {
      const tables = await runInDurableObject(record, (_, { storage: { sql } }) =>
        sql.exec("SELECT name FROM sqlite_master WHERE name = 'texts'").toArray(),
      );
      expect(tables).toHaveLength(1);
    });
    await abortAllDurableObjects();
    await dying;
    const { message } = failureOf(await run(id, {}, { what: "slow" }));
    expect(message).toContain("its outcome is unknown");
  });
});

test("a call that its object could not begin is begun by the next request", async () => {
  const id = newId();
  const unknown = new Fault("unavailable", "not known yet", { data: { retryAfter: 1 } });
  const own = Kernel.prototype.registry;
  let asked = 0;
  vi.spyOn(Kernel.prototype, "registry").mockImplementation(function (this: Kernel) {
    // First the app asks, then the object.
    return ++asked === 1 ? own.call(this) : Promise.reject(unknown);
  });
  expect((await run(id)).status).toBe(500);
  vi.restoreAllMocks();
  expect((await run(id)).status).toBe(200);
});

test("a request that is refused takes no call_id", async () => {
  const id = newId();
  expect((await call("hello.greet", {}, { call_id: id }, durable)).status).toBe(422);
  expect(valueOf(await call("hello.greet", { name: "Ada" }, { call_id: id }, durable))).toBe(
    "Hello, Ada!",
  );
});

test("each principal has call_ids of their own", async () => {
  const hashes: Json = {};
  for (const name of ["ada", "eve"]) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
    hashes[name] = new Uint8Array(digest).toHex();
  }
  const locked = serverOf(bundle, { API_KEYS: JSON.stringify(hashes) });
  const request = { tool_id: "otc.Plain", call_id: newId() };
  const by = async (key: string) =>
    valueOf(await post({ request }, locked, { "otc-api-key": key }));
  expect(await by("ada")).toBe(await by("ada"));
  expect(await by("eve")).not.toBe(await by("ada"));
});

test("without Durable Objects, a call_id is echoed", async () => {
  const again = () => call("otc.Plain", {}, { call_id: "echo" }, server);
  const [first, second] = [await again(), await again()];
  expect(first.result?.["call_id"]).toBe("echo");
  expect(valueOf(first)).not.toEqual(valueOf(second));
});

test("calls without one are kept nowhere", async () => {
  const getByName = vi.spyOn(objects, "getByName");
  expect((await call("otc.Plain", {}, {}, durable)).status).toBe(200);
  expect(getByName).not.toHaveBeenCalled();
});
