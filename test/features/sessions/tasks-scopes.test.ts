import { describe, expect, test } from "vitest";
import { prepare } from "../../worker/calls/client.ts";
import type { SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import {
  begin,
  objectOf,
  startedTask,
  until as untilOf,
} from "../../worker/mcp/legacy/session-steps.ts";

/** A task whose tool its caller may call no more. */

prepare();
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
