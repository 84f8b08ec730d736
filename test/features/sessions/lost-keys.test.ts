import {
  abortAllDurableObjects,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { expect, test } from "vitest";
import { losableKeys } from "../../worker/lost-keys.ts";
import { prepare } from "../../worker/calls/client.ts";
import { objectOf } from "../../worker/calls/faults.ts";
import { ELICIT, steps } from "../../worker/calls/plans.ts";
import { Events, SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { sessionOf } from "../../worker/mcp/legacy/session-steps.ts";
import { eventually } from "../../worker/waiting.ts";

/** What becomes of a session whose key is lost. */
prepare();

const loseKeys = losableKeys();

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
