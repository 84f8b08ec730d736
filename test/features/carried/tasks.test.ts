// @module-tag tasks
import { describe, expect, test, vi } from "vitest";
import type { Answer } from "../../worker/server.ts";
import {
  accept,
  beginTool,
  callOf,
  goOn,
  limited,
  prepare,
  textIn,
} from "../../worker/calls/client.ts";
import { withTasks, taskOf } from "../../worker/calls/faults.ts";
import { ELICIT, http, saidIn, steps, HOUR, NIGHT } from "../../worker/calls/plans.ts";
import { until, later } from "../../worker/calls/task-steps.ts";

/** Calls that their client carries, and that become tasks. */

prepare();
/** A call that waits, and while it does leaves no room for others. */
const occupied = (ms: number) => callOf("plan_never", steps({ do: "sleep", ms }));

describe("a call that can become a task does so if its isolate stays full", () => {
  const crowded = async (call: () => Promise<Answer>) => {
    limited({ waitingBytes: 1, promoteAfterMs: 50 });
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("there"));
    const other = occupied(200);
    const { result } = await call();
    const task = await until(result!["taskId"], "completed");
    expect(saidIn(task).at(-1)).toEqual([200, "there"]);
    await other;
  };

  test("as it goes on", async () => {
    expect.hasAssertions();
    const round = await beginTool("plan", steps(ELICIT, http("POST", "/")), withTasks);
    await crowded(() => goOn(round, { ask_1: accept("Ada") }));
  });
});

describe("which calls become tasks", () => {
  test("auto: one that asks stays a call", async () => {
    const round = await beginTool("plan", steps(ELICIT), withTasks);
    expect(saidIn(await goOn(round, { ask_1: accept("x") }))).toEqual(["x"]);
  });

  test("auto: one that has asked may become one when it goes on", async () => {
    const round = await beginTool("plan", steps(ELICIT, NIGHT), withTasks);
    const { result } = await goOn(round, { ask_1: accept("x") });
    expect(result).toMatchObject({ resultType: "task" });
    await later(result!["taskId"], 10 * HOUR);
    expect(saidIn(await until(result!["taskId"], "completed"))).toEqual(["x", "slept"]);
  });

  test("a servlet that returns what it asks is asked for by its request, then goes on as a task", async () => {
    const round = await beginTool("test_tool_with_task", {}, withTasks);
    const { result } = await goOn(round, { user_name: accept("Ada", "name") });
    expect(result).toMatchObject({ resultType: "task" });
    const task = await until(result!["taskId"], "completed");
    expect(textIn({ status: 200, result: task["result"] })).toBe("Hello, Ada!");
  });
});

test("a task that sleeps longer than there are dates is still a task", async () => {
  const ever = Number.MAX_SAFE_INTEGER;
  const device = { device_code: "d", user_code: "u", expires_in: ever, interval: ever };
  const granting = { ...device, verification_uri: "https://auth.allowed.example/go" };
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input) =>
    new Request(input).url.endsWith("/device")
      ? Response.json(granting)
      : Response.json({ error: "authorization_pending" }, { status: 400 }),
  );
  const asked = {
    client_id: "probe",
    device_authorization_url: "https://auth.allowed.example/device",
    device_auth_timeout_secs: ever,
    token_endpoint_url: "https://auth.allowed.example/token",
  };
  const call = { through: "token", text: JSON.stringify(asked) };
  const sent = { ...withTasks, headers: { "mcp-param-through": "token" } };
  const round = await beginTool("told", call, sent);
  const key = Object.keys(round.requests)[0]!;
  const { result } = await goOn(round, { [key]: { action: "accept" } });
  expect(await taskOf(result!["taskId"])).toMatchObject({
    status: "working",
    statusMessage: expect.stringContaining("sleeping until"),
  });
});
