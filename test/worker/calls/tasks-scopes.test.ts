import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { tasksOf } from "../../../src/server/features/tasks/tasks.ts";
import { accept, prepare } from "./client.ts";
import { ELICIT, saidIn } from "./plans.ts";
import type { SessionClient } from "../mcp/legacy/session-client.ts";
import { begin, objectOf, startedTask, until as untilOf } from "../mcp/legacy/session-steps.ts";
import { planned, until } from "./task-steps.ts";

/** Whose token has become narrower since a task was made is held to what it may do now. */
prepare();

const by = (...scopes: string[]) => tasksOf(env)!({ name: "anonymous", scopes }, async () => {});
const ENOUGH = by("durable:*", "conformance:*");
const TOO_LITTLE = by("hello:*");

/** Sends the session a request under these scopes; gives the text of its answer. */
const asker =
  (client: SessionClient, method: string, params: object = {}) =>
  async (scopes?: string[]): Promise<string> => {
    const message = { jsonrpc: "2.0", id: 1, method, params };
    const how = { isBatch: false, accepts: { json: true, sse: true }, trace: undefined };
    const post = { messages: [message], ...how, scopes };
    const told = await objectOf(client).post({ name: "anonymous" }, post);
    return told instanceof Response ? told.text() : String(told!.body);
  };

describe("a task whose tool its caller may call no more", () => {
  test("is not there for it, whether it goes on or is over", async () => {
    const id = await planned(ELICIT);
    await until(id, "input_required");
    const answers = { ask_1: { result: accept("Ada") } };
    expect(await TOO_LITTLE.get(id)).toBeUndefined();
    expect(await TOO_LITTLE.update(id, answers)).toBeUndefined();
    expect(await ENOUGH.get(id)).toMatchObject({ status: "input_required" });
    expect(await ENOUGH.update(id, answers)).toEqual({});
    expect(saidIn(await until(id, "completed"))).toEqual(["Ada"]);
    expect(await TOO_LITTLE.get(id)).toBeUndefined();
    expect(await ENOUGH.get(id)).toMatchObject({ status: "completed" });
  });

  test("is not there in a session either, nor is its result", async () => {
    const client = await begin();
    const { taskId } = await startedTask(client, "slow_compute", { seconds: 0 });
    await untilOf(client, taskId, "completed");
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      const ask = asker(client, method, { taskId });
      expect(await ask(["hello:*"])).toContain("Unknown task");
      expect(await ask()).not.toContain("Unknown task");
    }
  });

  test("is not on that caller's list, and stays on the session's", async () => {
    const client = await begin();
    const { taskId } = await startedTask(client, "slow_compute", { seconds: 0 });
    const list = asker(client, "tasks/list");
    expect(await list(["hello:*"])).not.toContain(taskId);
    expect(await list()).toContain(taskId);
  });
});
