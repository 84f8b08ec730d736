// @module-tag sessions
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { limited, prepare, type Json } from "../../worker/calls/client.ts";
import { objectOf } from "../../worker/calls/faults.ts";
import { ELICIT, saidIn, steps } from "../../worker/calls/plans.ts";
import { Events, resultIn, SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { instead } from "../../worker/mcp/legacy/session-faults.ts";
import {
  about,
  RELATED,
  resultOf,
  startedTask,
  until,
} from "../../worker/mcp/legacy/session-steps.ts";
import { Session, Task } from "../../worker/index.ts";
import { eventually } from "../../worker/waiting.ts";
import { browser, server } from "../../worker/pages/browser.ts";

/** Calls in sessions of clients that cannot ask their user. */
prepare();

const begin = () => SessionClient.begin({ server, capabilities: {} });

const linkIn = ({ structuredContent, content }: Json): { id: string; url: string } =>
  structuredContent ?? JSON.parse(content.at(-1).text);

const got = async (client: SessionClient, id: string) =>
  saidIn(await resultIn(await client.call("get_result", { id })));

test.each([
  ["at once", [ELICIT], ["Ada"]],
  ["later", [{ do: "sleep", ms: 50 }, ELICIT], ["slept", "Ada"]],
])("a call has a link, and its result later, in any session: %s", async (_when, all, said) => {
  limited({ sleepInPlaceMs: 20 });
  const client = await begin();
  const { id, url } = linkIn((await resultIn(await client.call("plan", steps(...all))))["result"]);
  await client.end();
  await browser().answer(url, { f0: "Ada" });
  expect(await got(await begin(), id)).toEqual(said);
});

test("a call that is handed over has the state of its session", { tags: ["state"] }, async () => {
  const headers = { accept: "application/json" };
  const client = await SessionClient.begin({ server, capabilities: {}, headers });
  const called = await client.call("growing_session-add_later", { name: "kept" });
  const { id, url } = linkIn((await resultIn(called))["result"]);
  await browser().answer(url, {});
  await resultIn(await client.call("get_result", { id }));
  const { tools } = (await resultIn(await client.request("tools/list")))["result"];
  expect(tools.map(({ name }: Json) => name)).toContain("growing_session-kept");
});

test("the call goes on where its session hears of the link before the task knows that", async () => {
  let pending = 0;
  const slow = (of: object, name: string, ms: number) =>
    instead(of, name, async ({ plain, args }) => {
      pending++;
      const result = await plain(...args);
      await scheduler.wait(ms);
      pending--;
      return result;
    });
  const undo = [slow(Task.prototype, "create", 100), slow(Session.prototype, "progressed", 300)];
  try {
    const client = await begin();
    const { id, url } = linkIn(
      (await resultIn(await client.call("plan", steps(ELICIT))))["result"],
    );
    await eventually(() => expect(pending).toBe(0));
    await browser().answer(url, { f0: "Ada" });
    expect(await got(client, id)).toEqual(["Ada"]);
  } finally {
    for (const one of undo) one();
  }
});

test("get_result says with a progress token how the call is, and waits for its person", async () => {
  const client = await begin();
  const { id, url } = linkIn((await resultIn(await client.call("plan", steps(ELICIT))))["result"]);
  const _meta = { progressToken: "p" };
  const events = new Events(await client.call("get_result", { id }, { _meta }));
  const told: Json = await events.message();
  expect(told).toMatchObject({
    method: "notifications/progress",
    params: { progressToken: "p", message: "waiting for the user: Who?" },
  });
  await browser().answer(url, { f0: "Ada" });
  let last = await events.message();
  while (last["method"] === "notifications/progress") last = await events.message();
  expect(saidIn(last as { result: Json })).toEqual(["Ada"]);
});

describe("a task of 2025-11-25", () => {
  test("ends with the link, of which its session hears; the call goes on", async () => {
    const client = await begin();
    const own = new Events(await client.listen());
    const { taskId } = await startedTask(client, "plan_always", steps(ELICIT));
    const told: Json[] = [];
    while (told.at(-1)?.["params"].status !== "completed") told.push(await own.message());
    expect(told.map(({ method, params }) => [method, params.taskId, params.status])).toEqual([
      ["notifications/tasks/status", taskId, "working"],
      ["notifications/tasks/status", taskId, "completed"],
    ]);
    const { result } = await resultIn(await resultOf(client, taskId));
    expect(result["_meta"][RELATED]).toEqual({ taskId });
    const { id, url } = linkIn(result);
    expect(id).toBe(taskId);
    const cancelled = await about(client, "tasks/cancel", taskId);
    expect(cancelled["error"].message).toContain("completed already");
    await browser().answer(url, { f0: "Ada" });
    expect(await got(client, id)).toEqual(["Ada"]);
    expect(linkIn((await resultIn(await resultOf(client, taskId)))["result"])).toEqual({
      ...linkIn(result),
    });
    expect((await until(client, taskId, "completed"))["statusMessage"]).toBeUndefined();
    await own.drop();
  });

  test("whose result is waited for when it is handed over", async () => {
    const client = await begin();
    const all = steps({ do: "sleep", ms: 50 }, ELICIT);
    const { taskId } = await startedTask(client, "plan_always", all);
    const { result } = await resultIn(await resultOf(client, taskId));
    const { id, url } = linkIn(result);
    await client.end();
    await browser().answer(url, { f0: "Ada" });
    expect(await got(await begin(), id)).toEqual(["slept", "Ada"]);
  });
});

test("a task that was stored before there were links goes on as it was", async () => {
  const client = await SessionClient.begin({ server });
  const { taskId } = await startedTask(client, "plan_always", steps(ELICIT));
  await until(client, taskId, "input_required");
  await runInDurableObject(objectOf(taskId), (_task, { storage }) => {
    storage.sql.exec("ALTER TABLE task DROP COLUMN handed");
  });
  await evictDurableObject(objectOf(taskId));
  expect((await about(client, "tasks/get", taskId))["result"].status).toBe("input_required");
  const none = await resultIn(await client.call("get_result", { id: taskId }));
  expect(none["result"]).toMatchObject({ isError: true });
  const said = await resultIn(await resultOf(client, taskId), async ({ id }) => {
    await client.answer(id, { action: "accept", content: { value: "Ada" } });
  });
  expect(saidIn(said as { result: Json })).toEqual(["Ada"]);
});
