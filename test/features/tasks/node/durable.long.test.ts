import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { steps, textOf } from "../../../node/http/official.ts";
import { serving } from "../../../node/http/serving.ts";

/** Calls that outlive a request, and the server's process: the official client against workerd itself. */
/** A sleep of a task that takes longer holds no memory. */
const SLEEP_IN_PLACE_MS = 2500;
const TEST_LIMITS = JSON.stringify({ sleepInPlaceMs: SLEEP_IN_PLACE_MS, rerunMs: 300 });
const { url: URL_OF_MCP, start, stop: kill } = await serving({ variables: { TEST_LIMITS } });
const TASKS = "io.modelcontextprotocol/tasks";
const FORM_AND_TASKS = { elicitation: {}, extensions: { [TASKS]: {} } };

/** The members of a call's result that the tests read. */
interface Called {
  resultType: string;
  taskId: string;
  requestState: string;
  structuredContent?: unknown;
}

/** The result of a call as it is on the wire: the official client refuses to see those that are tasks. */
async function call(name: string, args: object, more: object = {}, capabilities: object = {}) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": capabilities,
    progressToken: "t",
  };
  const params = { name, arguments: args, ...more, _meta: meta };
  const response = await fetch(URL_OF_MCP, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  const { result, error } = (await response.json()) as { result: Called; error?: object };
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return result;
}

/** Begins a task; gives its id. */
async function begin(name: string, args: object): Promise<string> {
  const created = await call(name, args, {}, FORM_AND_TASKS);
  expect(created).toMatchObject({ resultType: "task" });
  return created.taskId;
}

async function connected(capabilities: object): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(new StreamableHTTPClientTransport(URL_OF_MCP));
  return client;
}

const anything = z.looseObject({});

/** The official client's own requests, of methods that it has no words for. */
async function request(method: string, params: Record<string, unknown>): Promise<any> {
  const client = await connected(FORM_AND_TASKS);
  try {
    return await client.request({ method, params }, anything);
  } finally {
    await client.close();
  }
}

const look = (taskId: string) => request("tasks/get", { taskId });
const answer = (taskId: string, inputResponses: object) =>
  request("tasks/update", { taskId, inputResponses });

/** Looks now and then until this no longer throws. */
const soon = <T>(seen: () => T | Promise<T>) =>
  vi.waitFor(seen, { timeout: 20_000, interval: 100 });

const become = (taskId: string, status: string) =>
  soon(async () => {
    const task = await look(taskId);
    expect(task.status).toBe(status);
    return task;
  });

/** The user's form data, by a word of the question. */
const FORMS: Record<string, Record<string, string | boolean>> = {
  bridge: { approve: true, note: "In red." },
  color: { color: "red" },
  name: { name: "Ada" },
};

describe("the official client is asked in the middle of a call", { shuffle: false }, () => {
  let client: Client;
  const heard: unknown[] = [];
  beforeAll(async () => {
    client = await connected({ elicitation: {}, sampling: {}, roots: {} });
    client.setRequestHandler("elicitation/create", ({ params: { message } }) => {
      heard.push(message);
      const found = Object.keys(FORMS).find((word) => message.includes(word));
      return { action: "accept", content: FORMS[found ?? "name"]! };
    });
    client.setRequestHandler("sampling/createMessage", ({ params }) => {
      heard.push(params.messages[0]?.content);
      return { role: "assistant", content: { type: "text", text: "Paris" }, model: "test" };
    });
    client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///home" }] }));
  });
  afterAll(() => client.close());

  test.each([
    [
      "request_approval",
      { what: "Paint the bridge" },
      'Approved: Paint the bridge (the user: "In red.")',
    ],
    ["test_sampling", { prompt: "The capital of France?" }, "LLM response: Paris"],
    ["test_input_required_result_list_roots", {}, "file:///home"],
    ["test_input_required_result_multiple_inputs", {}, "Paris Ada has file:///home."],
    ["test_input_required_result_multi_round", {}, "Ada likes red."],
  ])("by %s", async (name, args, text) => {
    const result = await client.callTool({ name, arguments: args });
    expect(textOf(result)).toBe(text);
  });

  test("with what the servlet said", () => {
    expect(heard).toContain("Please approve: Paint the bridge");
    expect(heard).toContainEqual({ type: "text", text: "The capital of France?" });
  });
});

test("a task is looked at, answered and cancelled by the official client", async () => {
  const [one, other] = await Promise.all([
    begin("request_approval", { what: "Paint the bridge" }),
    begin("request_approval", { what: "Blow it up" }),
  ]);
  const { inputRequests } = await become(one, "input_required");
  expect(inputRequests.ask_1.params.message).toBe("Please approve: Paint the bridge");
  await expect(answer(one, { ask_1: { action: "accept", content: {} } })).rejects.toThrow(
    "does not fit what was asked",
  );
  await answer(one, { ask_1: { action: "accept", content: { approve: true } } });
  const { result } = await become(one, "completed");
  expect(result.structuredContent).toMatchObject({ outcome: "approved", asked: 1 });
  await request("tasks/cancel", { taskId: other });
  expect(await look(other)).toMatchObject({ status: "cancelled" });
});

/** A server that leaves the first requests to each path unanswered. */
function stubborn() {
  const seen: { path: string; method: string; key: unknown }[] = [];
  const note = (path: string, method: string, headers: IncomingHttpHeaders) =>
    seen.push({ path, method, key: headers["idempotency-key"] });
  const server = createServer((incoming, response) => {
    const { url: path = "", method = "", headers } = incoming;
    note(path, method, headers);
    incoming.resume();
    const hangs = Number(new URLSearchParams(path.split("?")[1]).get("hangs"));
    if (seen.filter((one) => one.path === path).length > hangs) response.end("at last");
  });
  return { server, seen, of: (path: string) => seen.filter((one) => one.path === path) };
}

describe("when the process is killed in the middle of tasks, and started again,", () => {
  const world = stubborn();
  const ids: Record<string, string> = {};
  let state: Called;

  const at = (path: string) => {
    const { port } = (world.server as Server).address() as AddressInfo;
    return `http://127.0.0.1:${port}${path}`;
  };
  const fetchOf = (method: string, path: string) =>
    begin("fetch", { request: { url: at(path), method }, body: "a body" });
  const hangs = (path: string, times: number) =>
    soon(() => expect(world.of(path)).toHaveLength(times));

  beforeAll(async () => {
    world.server.listen(0, "127.0.0.1");
    await once(world.server, "listening");
    const sleep = { do: "sleep", ms: SLEEP_IN_PLACE_MS + 500 };
    const remind = { what: "Paint the bridge", remind_after_seconds: 5 };
    const begun = await Promise.all(
      Object.entries({
        asleep: begin("plan_always", steps(sleep, { do: "http", url: at("/woken") })),
        dozing: begin("slow_compute", { seconds: 2, label: "tea" }),
        waiting: begin("confirm_delete", { filename: "a.txt" }),
        leftOpen: begin("request_approval", remind),
        cancelled: begin("slow_compute", { seconds: 60 }),
        getting: fetchOf("GET", "/get?hangs=2"),
        posting: fetchOf("POST", "/post?hangs=1"),
      }).map(async ([name, id]) => [name, await id] as const),
    );
    Object.assign(ids, Object.fromEntries(begun));
    state = await call("request_approval", { what: "it" }, {}, { elicitation: {} });
    await request("tasks/cancel", { taskId: ids["cancelled"] });
    await become(ids["waiting"]!, "input_required");
    await become(ids["leftOpen"]!, "input_required");
    await Promise.all([hangs("/get?hangs=2", 1), hangs("/post?hangs=1", 1)]);
    await become(ids["asleep"]!, "working");
    await kill();
    await start();
    // Nobody asks for the task: an alarm begins it again.
    await hangs("/get?hangs=2", 2);
    await kill();
    await start();
  });
  afterAll(() => {
    world.server.closeAllConnections();
    world.server.close();
  });

  test("one that waits for input still waits for it, and goes on", async () => {
    const { status, inputRequests } = await look(ids["waiting"]!);
    expect(status).toBe("input_required");
    expect(inputRequests).toMatchObject({
      ask_1: { method: "elicitation/create", params: { message: "Delete a.txt?" } },
    });
    await answer(ids["waiting"]!, { ask_1: { action: "accept", content: { confirm: true } } });
    const { result } = await become(ids["waiting"]!, "completed");
    expect(textOf(result)).toBe("Deleted a.txt.");
  });

  test("one that was cancelled still is", async () => {
    expect(await look(ids["cancelled"]!)).toMatchObject({ status: "cancelled" });
  });

  test("one whose question has a deadline asks again after it", async () => {
    const { inputRequests } = await soon(async () => {
      const task = await look(ids["leftOpen"]!);
      expect(Object.keys(task.inputRequests)).toEqual(["ask_2"]);
      return task;
    });
    expect(inputRequests.ask_2.params.message).toBe("Reminder: please approve: Paint the bridge");
    await answer(ids["leftOpen"]!, { ask_2: { action: "accept", content: { approve: false } } });
    const { result } = await become(ids["leftOpen"]!, "completed");
    expect(result.structuredContent).toMatchObject({ outcome: "rejected", asked: 2 });
  });

  test("one that is asleep wakes when it would have, with nobody there to ask", async () => {
    await soon(() => expect(world.of("/woken")).not.toEqual([]));
    const { createdAt, lastUpdatedAt, result } = await become(ids["asleep"]!, "completed");
    expect(result.structuredContent.said).toEqual(["slept", [200, "at last"]]);
    const took = Date.parse(lastUpdatedAt) - Date.parse(createdAt);
    expect(took).toBeGreaterThanOrEqual(SLEEP_IN_PLACE_MS + 500);
  });

  test("one that was sleeping for a moment, within a run, is run again", async () => {
    const { result } = await become(ids["dozing"]!, "completed");
    expect(textOf(result)).toBe("Computed tea in 2 s.");
  });

  test("a GET is sent again, with the key that it had", async () => {
    const { result } = await become(ids["getting"]!, "completed");
    expect(JSON.parse(textOf(result))).toMatchObject({ status: 200, body: "at last" });
    const keys = world.of("/get?hangs=2").map(({ key }) => key);
    expect(keys).toEqual([keys[0], keys[0], keys[0]]);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  });

  test("a POST is not: its servlet learns that nobody knows what came of it", async () => {
    const { result } = await become(ids["posting"]!, "completed");
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(
      /outcome of the HTTP request to 127\.0\.0\.1:\d+ is unknown: the server stopped/,
    );
    expect(world.of("/post?hangs=1")).toHaveLength(1);
  });

  test("a client that holds the state of its call goes on with it", async () => {
    const { requestState, resultType } = state;
    expect(resultType).toBe("input_required");
    const inputResponses = { ask_1: { action: "accept", content: { approve: true } } };
    const more = { requestState, inputResponses };
    const result = await call("request_approval", { what: "it" }, more, { elicitation: {} });
    expect(result.structuredContent).toMatchObject({ outcome: "approved" });
  });
});
