import { readFile, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import { hoarderWorld } from "./hoarder-world.ts";
import { EventStream } from "./raw.ts";
import { serveTests } from "./serving.ts";
import { residentMB, stop, type Served } from "../workerd.ts";

/** How much memory of the server a request costs whose call is kept, carried or handed on, against workerd itself. */
const JSON_TYPES = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};
let served: Served;

const internet = hoarderWorld();

/** Memory before the request that is measured, and the most that one of them took, in MB. */
let before = 0;
let most = 0;

/** Ends the measure of one request, and begins that of the next. */
async function lap(): Promise<void> {
  const { pid } = served.process;
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  most = Math.max(most, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024 - before);
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  before = await residentMB(served);
}

beforeEach(async () => {
  served = await serveTests({ durable: true, internet: internet() });
  // V8's space for new objects grows with the first requests, whichever they are.
  for (let n = 0; n < 300; n++) await legacy(call("quiet"));
  await lap();
  most = 0;
});
afterEach(() => stop(served));

type Json = Record<string, any>;

const call = (way: string, args: Json = {}) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: `hoard-${way}`, arguments: args },
});

const post = (body: unknown, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${served.port}/mcp`, {
    method: "POST",
    headers: { ...JSON_TYPES, ...headers },
    body: JSON.stringify(body),
  });

const legacy = async (body: unknown, headers = {}): Promise<string> =>
  (await post(body, headers)).text();

/** Sends a request of the modern era by a client that takes forms, and tasks where it `takesTasks`. */
async function modern(method: string, params: Json, takesTasks = false): Promise<Json> {
  const extensions = takesTasks ? { extensions: { "io.modelcontextprotocol/tasks": {} } } : {};
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, ...extensions },
  };
  const response = await post(
    { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
    {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": String(params["name"] ?? params["taskId"] ?? params["uri"]),
    },
  );
  const text = await response.text();
  const message = text.startsWith("{") ? text : text.slice(text.lastIndexOf("data: ") + 6);
  return (JSON.parse(message) as { result: Json }).result;
}

/** A call that becomes a task, to its end. */
async function task(way: string, args: Json = {}): Promise<Json> {
  const { params } = call(way, args);
  const { taskId } = await modern("tools/call", params, true);
  await lap();
  for (;;) {
    const { status, result } = await modern("tasks/get", { taskId }, true);
    if (status !== "working") return result as Json;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A call that asks its client, with the answer. */
async function asked(way: string, content: Json = {}): Promise<Json> {
  const { params } = call(way);
  const { inputRequests, requestState } = await modern("tools/call", params);
  await lap();
  const [key] = Object.keys(inputRequests as Json);
  const inputResponses = { [key!]: { action: "accept", content } };
  return modern("tools/call", { ...params, requestState, inputResponses });
}

/** The same in a session. */
async function askedInSession(way: string, content: Json = {}): Promise<Json> {
  const headers = await session();
  const response = await post(call(way), headers);
  const stream = new EventStream(response, new AbortController());
  let result: Json | undefined;
  while (result === undefined) {
    const { message } = (await stream.next())!;
    if (message?.method === "elicitation/create") {
      await lap();
      const answer = { jsonrpc: "2.0", id: message.id, result: { action: "accept", content } };
      await legacy(answer, headers);
    }
    result = message?.result as Json | undefined;
  }
  return result;
}

async function session(): Promise<Record<string, string>> {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
    clientInfo: { name: "memory", version: "1" },
  };
  const begun = await post({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const headers = {
    "mcp-protocol-version": "2025-11-25",
    "mcp-session-id": begun.headers.get("mcp-session-id")!,
  };
  await begun.text();
  await legacy({ jsonrpc: "2.0", method: "notifications/initialized" }, headers);
  return headers;
}

const inSession = async (way: string, args?: Json): Promise<Json> =>
  (JSON.parse(await legacy(call(way, args), await session())) as { result: Json }).result;

/**
 * A busy machine delays V8's garbage collections, which can add 25 MB to a measurement. Only a measurement above the
 * bound is repeated, each time with a new server, up to three times: the lowest one counts.
 */
const MEASURED = { timeout: 120_000, retry: { count: 3, condition: /to be less than 64$/ } };

/** An argument of nearly `bytes`: 4,000 are left for the rest of the message. */
const large = (bytes: number) => ({ x: "a".repeat(bytes - 4000) });

/** How much of its own memory the guest writes in one request, in MB. */
test.each<[what: string, own: number, request: () => Promise<Json>]>([
  ["a task that keeps two of the largest responses", 12, () => task("down")],
  ["a task whose journal is full", 12, () => task("held")],
  ["a task with the largest result", 4, () => task("end")],
  ["a task with the largest arguments and result", 8, () => task("end", large(limits.bodyBytes))],
  ["a call that becomes a task with a full journal", 12, () => task("wait")],
  ["a full journal that its client carries", 12, () => asked("state")],
  ["the largest result after a question", 4, () => asked("late")],
  ["the largest answer to a question", 4, () => asked("answer", large(limits.answerBytes))],
  ["a full journal in a session", 12, () => askedInSession("state")],
  ["the largest result on a session's stream", 4, () => askedInSession("late")],
  ["the largest answer in a session", 4, () => askedInSession("answer", large(limits.answerBytes))],
  ["the largest arguments in a session", 4, () => inSession("quiet", large(limits.bodyBytes))],
  ["structured content in a session", 4, () => inSession("rich")],
  ["the largest resource", 4, () => modern("resources/read", { uri: "hoard://blob" })],
])("%s costs the guest's own memory and 64 MB", MEASURED, async (_what, own, request) => {
  const result = await request();
  expect(result["isError"]).toBeUndefined();
  expect(result["content"] ?? result["contents"]).toBeDefined();
  await lap();
  expect(most - own).toBeLessThan(64);
});

test("a batch of the largest results costs 64 MB besides its guests", MEASURED, async () => {
  const all = Array.from({ length: 20 }, (_, id) => ({ ...call("fits"), id }));
  const replies = JSON.parse(await legacy(all, { "mcp-protocol-version": "2025-03-26" })) as Json[];
  await lap();
  expect(replies.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  expect(replies.at(-1)!["error"].message).toContain("Send this request by itself");
  expect(most - 4).toBeLessThan(64);
});
