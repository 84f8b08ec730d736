import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  clients,
  connectV1,
  steps,
  textOf,
  type Answers,
  type SessionClient,
} from "../../../node/http/official.ts";
import { serving } from "../../../node/http/serving.ts";

/** Tasks as 2025-11-25 has them, of both sides, by the official clients, against workerd itself. */
const TEST_LIMITS = JSON.stringify({ taskPollMs: 100 });
const { url: MCP } = await serving({ variables: { TEST_LIMITS } });
/** Machines are slow at times. */
const SOON = { timeout: 20_000 };

const RELATED = "io.modelcontextprotocol/related-task";
const ADA = { action: "accept", content: { name: "Ada", confirm: true } };
const PARIS = { role: "assistant", content: { type: "text", text: "Paris" }, model: "test" };
const CAPABILITIES = { elicitation: {}, sampling: {} };
const usual: Answers = { "elicitation/create": () => ADA, "sampling/createMessage": () => PARIS };
const TASK = { task: { ttl: 600_000 } };

describe.each(Object.entries(clients))("%s", (_name, connect) => {
  let one: SessionClient;
  beforeEach(async () => {
    one = await connect(MCP, { capabilities: CAPABILITIES, answers: usual });
  });
  afterEach(async () => {
    const errors = [...one.errors];
    await one.client.close();
    if (errors.length > 0) throw new AggregateError(errors, errors.join("\n"));
  });

  /** As it is on the wire: only v1 has words for tasks. */
  const request = (method: string, params: Record<string, unknown> = {}): Promise<any> =>
    (one.client as any).request({ method, params }, z.looseObject({}));
  const begin = async (name: string, args: object = {}): Promise<string> => {
    const { task } = await request("tools/call", { name, arguments: args, ...TASK });
    expect(task).toMatchObject({ status: "working", ttl: TASK.task.ttl });
    return task.taskId;
  };
  const look = (taskId: string) => request("tasks/get", { taskId });
  const result = (taskId: string) => request("tasks/result", { taskId });
  const become = async (taskId: string, status: string) => {
    await expect.poll(() => look(taskId), SOON).toMatchObject({ taskId, status });
  };
  const statuses = (taskId: string) =>
    one.heard
      .filter(({ method, params }) => method.endsWith("tasks/status") && params.taskId === taskId)
      .map(({ params }) => params.status);

  test("waits for a task, and hears how it goes on", async () => {
    const { task } = await request("tools/call", {
      name: "slow_compute",
      arguments: { seconds: 1, label: "tea" },
      _meta: { progressToken: 1 },
      ...TASK,
    });
    const { taskId } = task;
    const ended = await result(taskId);
    expect(textOf(ended)).toBe("Computed tea in 1 s.");
    expect(ended._meta).toEqual({ [RELATED]: { taskId } });
    expect(await look(taskId)).toMatchObject({
      taskId,
      status: "completed",
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      lastUpdatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      ttl: TASK.task.ttl,
      pollInterval: expect.any(Number),
    });
    await expect.poll(() => statuses(taskId).at(-1), SOON).toBe("completed");
    expect(one.heard.map(({ params }) => params.statusMessage)).toContainEqual(
      expect.stringMatching(/^Computing tea\b/),
    );
    const progress = one.heard.filter(({ method }) => method === "notifications/progress");
    expect(progress.map(({ params }) => params)).toMatchObject([
      { progressToken: 1, message: "Computing tea" },
      { progressToken: 1, message: "Computed tea" },
    ]);
    // The clients know only tokens that they made themselves.
    for (const { message } of one.errors.splice(0)) expect(message).toMatch(/unknown token/);
    expect(textOf(await result(taskId))).toBe("Computed tea in 1 s."); // Once more.
  });

  test.each([
    ["confirm_delete", { filename: "it" }, ["elicitation/create"], "Deleted it."],
    [
      "multi_input",
      {},
      ["elicitation/create", "elicitation/create"],
      `Got ${JSON.stringify([ADA, ADA])}.`,
    ],
    ["test_tool_with_task", {}, ["elicitation/create"], "Hello, Ada!"],
  ])("is asked by a task of %s when it waits for it", async (name, args, asks, text) => {
    const taskId = await begin(name, args);
    await become(taskId, "input_required");
    const asked = () => one.heard.filter(({ method }) => method === "elicitation/create");
    expect(asked()).toEqual([]);
    expect(textOf(await result(taskId))).toBe(text);
    expect(asked().map(({ method }) => method)).toEqual(asks);
    for (const { params } of asked()) expect(params._meta).toEqual({ [RELATED]: { taskId } });
    await expect.poll(() => statuses(taskId).at(-1), SOON).toBe("completed");
    expect(statuses(taskId)).toContain("input_required");
  });

  test("waits for one task at two places", async () => {
    const taskId = await begin("confirm_delete", { filename: "it" });
    const results = await Promise.all([result(taskId), result(taskId)]);
    expect(results.map(textOf)).toEqual(["Deleted it.", "Deleted it."]);
    expect(one.heard.filter(({ method }) => method === "elicitation/create")).toHaveLength(1);
  });

  test("lists its tasks, and cancels them", async () => {
    const ids = [
      await begin("slow_compute", { seconds: 60 }),
      await begin("confirm_delete", { filename: "it" }),
      await begin("slow_compute", { seconds: 0 }),
    ];
    const [asleep, asking, quick] = ids as [string, string, string];
    await become(asking, "input_required");
    await become(quick, "completed");
    for (const taskId of [asleep, asking]) {
      expect(await request("tasks/cancel", { taskId })).toMatchObject({
        taskId,
        status: "cancelled",
      });
    }
    const { tasks } = await request("tasks/list");
    expect(tasks.map(({ taskId, status }: any) => [taskId, status])).toEqual([
      [asleep, "cancelled"],
      [asking, "cancelled"],
      [quick, "completed"],
    ]);
    for (const taskId of [asleep, quick]) {
      await expect(request("tasks/cancel", { taskId })).rejects.toMatchObject({ code: -32602 });
    }
    await expect(result(asleep)).rejects.toThrow("cancelled");
    await expect.poll(() => statuses(asking).at(-1), SOON).toBe("cancelled");
    const other = await connect(MCP, {});
    const listed: any = await (other.client as any).request(
      { method: "tasks/list", params: {} },
      z.looseObject({}),
    );
    expect(listed.tasks).toEqual([]);
    await other.client.close();
  });

  test("learns of the end of one that it waits for and that is cancelled", async () => {
    const taskId = await begin("slow_compute", { seconds: 60 });
    const ended = result(taskId).then(textOf, String);
    await request("tasks/cancel", { taskId });
    expect(await ended).toContain("cancelled");
  });

  test("stops waiting for a task that goes on", async () => {
    const taskId = await begin("slow_compute", { seconds: 60 });
    const enough = new AbortController();
    const waits = (one.client as any)
      .request({ method: "tasks/result", params: { taskId } }, z.looseObject({}), enough)
      .then(() => "answered", String);
    enough.abort("enough");
    expect(await waits).toContain("enough");
    expect(await look(taskId)).toMatchObject({ status: "working" });
  });

  test.each([
    ["a tool that takes none", "test_simple_text", TASK, -32601],
    ["a tool that is one always, without one", "failing_job", {}, -32601],
    ["a tool that nobody has", "no_such_tool", TASK, -32602],
    ["a ttl of another shape", "slow_compute", { task: { ttl: "long" } }, -32602],
  ])("cannot call %s", async (_what, name, task, code) => {
    const call = request("tools/call", { name, arguments: {}, ...task });
    await expect(call).rejects.toMatchObject({ code });
  });

  test.each(["get", "result", "cancel"])("cannot %s a task that is not there", async (what) => {
    for (const taskId of ["no-id", "0".repeat(64)]) {
      const asking = request(`tasks/${what}`, { taskId });
      await expect(asking).rejects.toMatchObject({ code: -32602 });
    }
  });

  test("learns how a task has failed", async () => {
    const failing = await begin("failing_job");
    expect(await result(failing)).toMatchObject({ isError: true });
    const broken = await begin("protocol_error_job");
    await expect(result(broken)).rejects.toMatchObject({ code: -32603 });
    expect(await look(broken)).toMatchObject({ status: "failed" });
  });
});

describe("client.experimental.tasks of v1", () => {
  const open = (answers = usual) => connectV1(MCP, { capabilities: CAPABILITIES, answers });

  test.each([
    ["slow_compute", { seconds: 0.2, label: "tea" }, "Computed tea in 0.2 s."],
    ["confirm_delete", { filename: "it" }, "Deleted it."],
  ])("calls %s", async (name, args, text) => {
    const { client, errors } = await open();
    const { tasks } = client.experimental;
    const types: string[] = [];
    let last: any;
    const call = { name, arguments: args };
    for await (last of tasks.callToolStream(call, CallToolResultSchema, TASK))
      types.push(last.type);
    expect(types.slice(0, 2)).toEqual(["taskCreated", "taskStatus"]);
    expect(last.type).toBe("result");
    expect(textOf(last.result)).toBe(text);
    const { tasks: listed } = await tasks.listTasks();
    const { taskId } = listed[0]!;
    expect(await tasks.getTask(taskId)).toMatchObject({ taskId, status: "completed" });
    expect(textOf(await tasks.getTaskResult(taskId, CallToolResultSchema))).toBe(text);
    await expect(tasks.cancelTask(taskId)).rejects.toThrow("completed already");
    expect(errors).toEqual([]);
    await client.close();
  });

  test("cancels a task, by which its stream ends", async () => {
    const { client } = await open();
    const call = { name: "slow_compute", arguments: { seconds: 60 } };
    let last: any;
    for await (last of client.experimental.tasks.callToolStream(call, undefined, TASK)) {
      if (last.type === "taskCreated") {
        await client.experimental.tasks.cancelTask(last.task.taskId);
      }
    }
    expect(last).toMatchObject({ type: "error" });
    expect(String(last.error)).toContain("was cancelled");
    await client.close();
  });
});

describe("a v1 client that makes tasks of what it is asked", () => {
  const requests = { elicitation: { create: {} }, sampling: { createMessage: {} } };

  /** A client whose answer comes later; without one, its user gives up. */
  async function open(queue: boolean, answer?: object) {
    const taskStore = new InMemoryTaskStore();
    const later = async ({ task }: any, { taskStore: store }: any) => {
      const made = await store.createTask({ ttl: task.ttl });
      setImmediate(() =>
        answer
          ? store.storeTaskResult(made.taskId, "completed", answer)
          : store.updateTaskStatus(made.taskId, "cancelled"),
      );
      return { task: made };
    };
    const one = await connectV1(MCP, {
      capabilities: { ...CAPABILITIES, tasks: { requests } },
      answers: { "elicitation/create": later, "sampling/createMessage": later },
      tasks: { taskStore, ...(queue && { taskMessageQueue: new InMemoryTaskMessageQueue() }) },
    });
    return { ...one, taskStore };
  }

  test.each([
    ["confirm_delete", { filename: "it" }, ADA, "Deleted it."],
    ["test_sampling", { prompt: "The capital?" }, PARIS, "LLM response: Paris"],
    ["multi_input", {}, ADA, 'Got [{"action":"accept","content":{"name":"Ada","confirm":true}'],
  ])("by %s", async (name, args, answer, text) => {
    const { client, call, heard, taskStore, errors } = await open(true, answer);
    expect(textOf(await call(name, args))).toContain(text);
    const made = taskStore.getAllTasks();
    expect(made.length).toBeGreaterThan(0);
    const waited = heard.filter(({ method }) => method === "tasks/result");
    expect(new Set(waited.map(({ params }) => params.taskId))).toEqual(
      new Set(made.map(({ taskId }) => taskId)),
    );
    expect(waited).toHaveLength(made.length);
    expect(errors).toEqual([]);
    await client.close();
  });

  test("in the middle of a task of ours", async () => {
    const { client } = await open(false, ADA);
    const call = { name: "confirm_delete", arguments: { filename: "it" } };
    let last: any;
    for await (last of client.experimental.tasks.callToolStream(call, undefined, TASK));
    expect(textOf(last.result)).toBe("Deleted it.");
    await client.close();
  });

  test("and cancels it: that is its error", async () => {
    const { client, call } = await open(true);
    const { structuredContent } = await call("plan", steps({ do: "elicit", catches: true }));
    expect(structuredContent.said).toEqual(["client-error"]);
    await client.close();
  });
});
