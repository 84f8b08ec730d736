/** How much memory of the server one request may cost, against workerd itself: the cases of the tests of memory. */
import { readFile, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { residentMB, stop, type Served } from "../workerd.ts";
import { hoarderWorld } from "./hoarder-world.ts";
import { EventStream } from "./raw.ts";
import { serveTests } from "./serving.ts";

const JSON_TYPES = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};
let served: Served;

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

/** Begins a new server for each test of the file: what one has grown would hide what the next takes. */
function prepareServers(): void {
  const internet = hoarderWorld();
  beforeEach(async () => {
    served = await serveTests({ durable: true, internet: internet() });
    // V8's space for new objects grows with the first requests, whichever they are.
    for (let n = 0; n < 300; n++) await legacy(call("quiet"));
    await lap();
    most = 0;
  });
  afterEach(() => stop(served));
}

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

/** Makes a call in a session, and answers what it asks. */
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

/** A request, and how much of its own memory its guest writes, in MB. */
interface Case {
  what: string;
  own: number;
  request(): Promise<void>;
}

/** A call that causes work of the host, which may refuse it. */
const greedy = (way: string, own: number): Case => ({
  what: `a guest that is greedy by way of ${way}`,
  own,
  request: async () => expect(await legacy(call(way))).toContain('"result"'),
});

/** A request whose call is kept, carried or handed on, and served. */
const kept = (what: string, own: number, request: () => Promise<Json>): Case => ({
  what,
  own,
  async request() {
    const result = await request();
    expect(result["isError"]).toBeUndefined();
    expect(result["content"] ?? result["contents"]).toBeDefined();
  },
});

/** Several calls in one request. */
const batch: Case = {
  what: "a batch of the largest results",
  own: 4,
  async request() {
    const all = Array.from({ length: 20 }, (_, id) => ({ ...call("fits"), id }));
    const reply = await legacy(all, { "mcp-protocol-version": "2025-03-26" });
    const replies = JSON.parse(reply) as Json[];
    expect(replies.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    expect(replies.at(-1)!["error"].message).toContain("Send this request by itself");
  },
};

/** Cases of each kind, for the tests of each change. */
export const SOME: Case[] = [
  greedy("many", 24),
  greedy("notify", 1),
  greedy("output", 48),
  greedy("body", 32),
  kept("a task that keeps two of the largest responses", 12, () => task("down")),
  kept("a full journal that its client carries", 12, () => asked("state")),
  kept("the largest result on a session's stream", 4, () => askedInSession("late")),
  kept("the largest arguments in a session", 4, () => inSession("quiet", large(limits.bodyBytes))),
];

/** The others, for those before a release. */
export const OTHERS: Case[] = [
  greedy("vectors", 24),
  greedy("config", 24),
  greedy("varkey", 24),
  greedy("keyring", 24),
  greedy("log", 24),
  greedy("error", 60),
  greedy("parts", 24),
  greedy("request", 24),
  greedy("ask", 24),
  greedy("input", 24),
  greedy("fits", 4),
  greedy("wide", 4),
  greedy("rich", 4),
  greedy("items", 1),
  greedy("down", 12),
  greedy("up", 6),
  greedy("long", 4),
  kept("a task whose journal is full", 12, () => task("held")),
  kept("a task with the largest result", 4, () => task("end")),
  kept("a task with the largest arguments and result", 8, () =>
    task("end", large(limits.bodyBytes)),
  ),
  kept("a call that becomes a task with a full journal", 12, () => task("wait")),
  kept("the largest result after a question", 4, () => asked("late")),
  kept("the largest answer to a question", 4, () => asked("answer", large(limits.answerBytes))),
  kept("a full journal in a session", 12, () => askedInSession("state")),
  kept("the largest answer in a session", 4, () =>
    askedInSession("answer", large(limits.answerBytes)),
  ),
  kept("structured content in a session", 4, () => inSession("rich")),
  kept("the largest resource", 4, () => modern("resources/read", { uri: "hoarder://blob" })),
  batch,
];

/** Tests that each request costs its guest's memory and no more than this of the host's. */
export function testMemory(cases: readonly Case[]): void {
  prepareServers();
  const named = cases.map((one): [string, Case] => [one.what, one]);
  test.each(named)("%s costs its own memory and 64 MB", MEASURED, async (_what, one) => {
    await one.request();
    await lap();
    expect(most - one.own).toBeLessThan(64);
  });
}
