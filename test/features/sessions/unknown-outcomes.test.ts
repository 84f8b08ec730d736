import { describe, expect, test } from "vitest";
import { Session, Task } from "../../worker/index.ts";
import { callOf, prepare, type Json } from "../../worker/calls/client.ts";
import { newWorld, objectOf, withTasks } from "../../worker/calls/faults.ts";
import { steps } from "../../worker/calls/plans.ts";
import { PAY } from "../../worker/calls/retry-steps.ts";
import { Events, messageIn } from "../../worker/mcp/legacy/session-client.ts";
import { begin } from "../../worker/mcp/legacy/session-steps.ts";
import { losableReplies } from "../../worker/mcp/legacy/lost-replies.ts";

/** Calls that may have run without a response: their clients learn it, over every protocol. */
prepare();
const loseReplies = losableReplies();

const UNKNOWN = /^Internal error\. .* outcome is unknown/;

describe("a call whose task may have been created", () => {
  const NAP = { do: "sleep", ms: 60_000 };
  const PLAN = steps(PAY, NAP, PAY);

  test.each<[string, () => Promise<Json | undefined>]>([
    ["without a session", async () => (await callOf("plan_always", PLAN, withTasks)).error],
    [
      "as a task of a session",
      async () =>
        (await messageIn(await (await begin()).call("plan_always", PLAN, { task: {} })))["error"],
    ],
    [
      "on a session's stream",
      async () => {
        const events = new Events(await (await begin()).call("plan", steps(NAP, PAY)));
        return (await events.rest()).at(-1)?.message?.["error"];
      },
    ],
  ])("says that its outcome is unknown, and is cancelled: %s", async (_, errorOf) => {
    newWorld();
    const tasks = loseReplies(Task.prototype, "create");
    expect((await errorOf())?.["message"]).toMatch(UNKNOWN);
    const [id, ...others] = tasks;
    expect(others).toEqual([]);
    const get = () => objectOf(id!).get({ name: "anonymous" });
    // One that no client sees is forgotten then.
    const statusOf = async () => (await get())?.["status"] ?? "cancelled";
    await expect.poll(statusOf).toBe("cancelled");
  });
});

test("a call whose session cannot reply says that its outcome is unknown, and a ping does not", async () => {
  newWorld();
  const client = await begin({ ticket: false });
  loseReplies(Session.prototype, "post");
  const errorOf = async (response: Promise<Response>) => (await messageIn(await response))["error"];
  const call = await errorOf(client.call("plan", steps(PAY)));
  expect(call.message).toMatch(UNKNOWN);
  expect((await errorOf(client.request("ping"))).message).toBe("Internal error");
});
