import {
  abortAllDurableObjects,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import { call, serverOf } from "../otc/client.ts";
import { accept, prepare } from "../calls/client.ts";
import { objectOf, taskOf, updateTask } from "../calls/faults.ts";
import { ELICIT, HOUR, NIGHT, steps } from "../calls/plans.ts";
import { Events, SessionClient } from "../mcp/legacy/session-client.ts";
import { sessionOf } from "../mcp/legacy/session-steps.ts";
import { later, NAP, planned, until } from "../calls/task-steps.ts";
import { eventually } from "../waiting.ts";

/** Data that was sealed with a key that is gone. */
prepare();
const { seal, open } = Sealer.prototype;

/** The nonces of what was sealed since the keys were lost; undefined before. */
let readable: Set<string> | undefined;
const nonceOf = (sealed: Uint8Array) => sealed.subarray(0, 16).toHex();

beforeEach(() => {
  readable = undefined;
  Sealer.prototype.seal = async function (bytes) {
    const sealed = await seal.call(this, bytes);
    readable?.add(nonceOf(sealed));
    return sealed;
  };
  Sealer.prototype.open = async function (sealed) {
    if (readable !== undefined && !readable.has(nonceOf(sealed))) return undefined;
    return open.call(this, sealed);
  };
});
afterEach(() => {
  Object.assign(Sealer.prototype, { seal, open });
});

const loseKeys = () => {
  readable = new Set();
};

const LOST = {
  status: "failed",
  error: { code: -32603, message: expect.stringMatching(/key .* is gone.*before you call/) },
};

describe("a task", () => {
  test("that waits for input has failed, and says so", async () => {
    const id = await planned(ELICIT);
    await until(id, "input_required");
    loseKeys();
    await evictDurableObject(objectOf(id));
    expect(await taskOf(id)).toMatchObject(LOST);
    expect((await updateTask(id, { ask_1: accept("Ada") })).error).toBeUndefined();
    expect(await taskOf(id)).toMatchObject(LOST);
  });

  test("that is sent answers has failed, and says so", async () => {
    const id = await planned(ELICIT);
    await until(id, "input_required");
    loseKeys();
    expect((await updateTask(id, { ask_1: accept("Ada") })).error).toBeUndefined();
    expect(await taskOf(id)).toMatchObject(LOST);
  });

  test("that sleeps fails when it wakes", async () => {
    const id = await planned(NIGHT);
    await eventually(async () => {
      const due = await runInDurableObject(objectOf(id), (_one, { storage }) => storage.getAlarm());
      expect(due).toBeGreaterThan(Date.now() + HOUR);
    });
    loseKeys();
    await later(id, 10 * HOUR);
    expect(await taskOf(id)).toMatchObject(LOST);
    // All that is left to be done is to forget it.
    await runDurableObjectAlarm(objectOf(id));
    expect(await taskOf(id)).toMatchObject(LOST);
  });

  test("that was completed has lost its result, and says so", async () => {
    const id = await planned(NAP);
    await until(id, "completed");
    loseKeys();
    await evictDurableObject(objectOf(id));
    const task = await taskOf(id);
    expect(task).toMatchObject(LOST);
    expect(task).not.toHaveProperty("result");
  });
});

test("a session ends, and its client must begin another", async () => {
  const client = await SessionClient.begin({ ticket: false });
  await evictDurableObject(sessionOf(client.object));
  loseKeys();
  expect((await client.request("tools/list")).status).toBe(404);
  expect((await client.request("ping")).status).toBe(404);
});

test("a session ends of which nobody but a task has heard since", async () => {
  const client = await SessionClient.begin();
  const events = new Events(await client.call("plan", steps(ELICIT)));
  await events.message();
  const session = sessionOf(client.object);
  const task = await runInDurableObject(
    session,
    (_one, { storage }) => storage.sql.exec<{ task: string }>("SELECT task FROM calls").one().task,
  );
  await abortAllDurableObjects();
  loseKeys();
  await runDurableObjectAlarm(objectOf(task));
  await eventually(async () => {
    const tables = await runInDurableObject(sessionOf(client.object), (_one, { storage }) =>
      storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'session'").toArray(),
    );
    expect(tables).toEqual([]);
  });
});

test("a call with a call_id is answered that nobody knows what came of it", async () => {
  const call_id = "lost";
  const server = serverOf();
  await call("otc.Plain", {}, { call_id }, server);
  const name = new TextEncoder().encode(JSON.stringify(["anonymous", call_id]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", name));
  await evictDurableObject(env.CALL_RECORDS!.getByName(digest.toHex()));
  loseKeys();
  const { result } = await call("otc.Plain", {}, { call_id }, server);
  expect(result).toMatchObject({
    call_id,
    success: false,
    error: { message: expect.stringMatching(/key .* is gone.*another call_id/) },
  });
});
