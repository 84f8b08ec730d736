/** Servers that answer calls as no server should: each has a bound and a message. */
import { afterAll, describe, expect, test } from "vitest";
import { type RemoteSnapshot, defineRemote } from "../../../src/kit/remote.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import {
  type Answer,
  endServers,
  events,
  result,
  sendJson,
  serverWith,
  TOOL,
} from "./stand-ins.ts";
import { loadedRemote, madeRemote, online, removeRemotes } from "./under-test.ts";

afterAll(removeRemotes);
afterAll(endServers);

/** One server for all calls, whose answers the tests set. */
let current: Record<string, Answer> = {};
const server = await serverWith(() => current);
const { servlet } = await loadedRemote(server.url);

/** The text of a call's result if the server answers calls so. */
async function called(answer: Answer, more: Record<string, Answer> = {}, script: object = {}) {
  current = { "tools/call": answer, ...more };
  server.heard.length = 0;
  const run = await servlet.callTool("notes-do_it", { what: "x" }, { ...online, ...script });
  const [first] = run.result.content as unknown as { text: string }[];
  return { text: first?.text ?? "", isError: run.result.isError, run };
}
describe("a call says so and ends if the server", () => {
  test.each<[string, Answer, RegExp]>([
    [
      "answers with another id",
      (body, response) => sendJson(response, { ...result(body, {}), id: 99 }),
      /answered another request/,
    ],
    [
      "sends no JSON",
      (_, response) =>
        void response.writeHead(200, { "content-type": "application/json" }).end("<p>"),
      /not valid JSON/,
    ],
    [
      "sends a page",
      (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
      /of the type "text\/html"/,
    ],
    [
      "wants credentials",
      (_, response) => void response.writeHead(401).end(),
      /refused the credentials \(status 401\)\. The operator must give/,
    ],
    [
      "is broken",
      (_, response) => void response.writeHead(503).end("no"),
      /answered with status 503/,
    ],
    [
      "closes the connection",
      (_, response) => void response.destroy(),
      /done what was asked is unknown: The host \S+ could not be reached\./,
    ],
    [
      "redirects to another host",
      (_, response) => void response.writeHead(307, { location: "https://evil.example/mcp" }).end(),
      /may not make HTTP requests to evil\.example/,
    ],
    [
      "sends 10 MB",
      (body, response) =>
        sendJson(
          response,
          result(body, { content: [{ type: "text", text: "x".repeat(10 << 20) }] }),
        ),
      /done what was asked is unknown: .*larger than/,
    ],
    [
      "ends its stream without a result",
      (_, response) => {
        events(response)({ jsonrpc: "2.0", method: "notifications/message", params: {} });
        response.end();
      },
      /its stream ended before the result\. Whether it has done/,
    ],
    [
      "gives no result",
      (body, response) => sendJson(response, { jsonrpc: "2.0", id: body.id }),
      /gave a response without a result/,
    ],
    [
      "gives a result of an unknown type",
      (body, response) => sendJson(response, result(body, { resultType: "hologram" })),
      /gave a result of the unknown type "hologram"/,
    ],
    [
      "gives no result of a task that is completed",
      (body, response) =>
        sendJson(
          response,
          result(body, { resultType: "task", taskId: "t1", status: "completed", result: 5 }),
        ),
      /completed a task without a result/,
    ],
    [
      "asks 51 questions at once",
      (body, response) => {
        const asked = {
          method: "elicitation/create",
          params: { message: "?", requestedSchema: { type: "object", properties: {} } },
        };
        const keys = Array.from({ length: 51 }, (_, nth) => [`q${nth}`, asked]);
        const inputRequests = Object.fromEntries(keys) as object;
        sendJson(response, result(body, { resultType: "input_required", inputRequests }));
      },
      /asked more than 50 questions at once/,
    ],
    [
      "asks without end",
      (body, response) =>
        sendJson(response, {
          jsonrpc: "2.0",
          id: body.id,
          result: {
            resultType: "input_required",
            inputRequests: {
              a: {
                method: "elicitation/create",
                params: { message: "more?", requestedSchema: { type: "object", properties: {} } },
              },
            },
          },
        }),
      /asked more than 50 times/,
    ],
    [
      "asks for a secret of the caller",
      (body, response) =>
        sendJson(response, {
          jsonrpc: "2.0",
          id: body.id,
          result: {
            resultType: "input_required",
            inputRequests: {
              a: {
                method: "elicitation/create",
                params: { mode: "secret", name: "notes", message: "?" },
              },
            },
          },
        }),
      /asked for something unknown/,
    ],
    [
      "has an endless stream",
      (_, response) => {
        const say = events(response);
        const more = () => {
          while (
            response.writable &&
            say(
              JSON.stringify({
                jsonrpc: "2.0",
                method: "notifications/other",
                params: { x: "x".repeat(60_000) },
              }),
            )
          );
        };
        response.on("drain", more);
        more();
      },
      /its stream was lost before the result/,
    ],
  ])("%s", async (_, answer, message) => {
    const script = { answers: { "elicitation/create": () => ({ action: "accept", content: {} }) } };
    const { text, isError } = await called(answer, {}, script);
    expect(text).toMatch(message);
    expect(text).toMatch(/127\.0\.0\.1/);
    expect(isError).toBe(true);
  });

  test("has lost the tool", async () => {
    let gone = false;
    const { text } = await called(
      (body, response) => {
        gone = true;
        sendJson(response, {
          jsonrpc: "2.0",
          id: body.id,
          error: { code: -32602, message: "Unknown tool" },
        });
      },
      {
        "tools/list": (body, response) =>
          sendJson(response, result(body, { tools: gone ? [] : [TOOL] })),
      },
    );
    expect(text).toMatch(/Unknown tool.*It has no tool "do_it" any more.*servlets -- renew/);
  });

  test("has changed the tool's arguments", async () => {
    let isChanged = false;
    const changed = { ...TOOL, inputSchema: { type: "object", required: ["why"] } };
    const { text } = await called(
      (body, response) => {
        isChanged = true;
        sendJson(response, {
          jsonrpc: "2.0",
          id: body.id,
          error: { code: -32602, message: "why?" },
        });
      },
      {
        "tools/list": (body, response) =>
          sendJson(response, result(body, { tools: [isChanged ? changed : TOOL] })),
      },
    );
    expect(text).toMatch(/The arguments of "do_it" have changed since/);
  });

  test("is the server itself, through which the call comes again and again", async () => {
    const done: Answer = (body, response) => sendJson(response, result(body, { content: [] }));
    for (const hops of [4, -1e300, "x"]) {
      const { text } = await called(done, {}, { meta: { "edge-servlets/hops": hops } });
      expect(text).toMatch(/was not called, because this call has come through 4 servers/);
      expect(server.heard).not.toContain("tools/call");
    }
    let hops: unknown;
    await called(
      (body, response) => {
        hops = body.params._meta["edge-servlets/hops"];
        done(body, response, undefined!);
      },
      {},
      { meta: { "edge-servlets/hops": 2 } },
    );
    expect(hops).toBe(3);
  });
});

test("a task of the server that lasts for six days is looked at some hundred times", async () => {
  const task = (status: string, more = {}) => ({
    taskId: "t1",
    status,
    pollIntervalMs: 1000,
    ...more,
  });
  const done = { result: { content: [{ type: "text", text: "at last" }] } };
  let looks = 0;
  const { text, run } = await called(
    (body, response) =>
      sendJson(response, result(body, { ...task("working"), resultType: "task" })),
    {
      "tasks/get": (body, response) =>
        sendJson(response, result(body, ++looks < 250 ? task("working") : task("completed", done))),
    },
  );
  expect(text).toBe("at last");
  const { head, entries } = run.recorded!;
  expect(entries.at(-1)!.at - head.time).toBeGreaterThan(6 * 86_400_000);
});

test("a stream that falls silent ends the call", async () => {
  const { eventsMs } = limits;
  configureLimits({ eventsMs: 30 });
  const { text, isError } = await called((_, response) => {
    events(response)({ jsonrpc: "2.0", method: "notifications/message", params: {} });
  });
  configureLimits({ eventsMs });
  expect(text).toMatch(/its stream was lost before the result/);
  expect(isError).toBe(true);
});

test("content that cannot be shown becomes its kind in words", async () => {
  const content = [
    { type: "hologram", data: "?" },
    { type: { toString: 1 } },
    { type: "text", text: 5 },
    { type: "image" },
    { type: "resource" },
    { type: "resource", resource: { uri: "ui://page", mimeType: "text/html", text: "<p>" } },
    { type: "resource_link" },
    { type: "text", text: "ok" },
  ];
  const { run } = await called((body, response) => sendJson(response, result(body, { content })));
  const texts = (run.result.content as unknown as { text: string }[]).map(({ text }) => text);
  const kinds = ["hologram", "", "text", "image", "resource", "resource", "resource_link"];
  expect(texts).toEqual([
    ...kinds.map((kind) => expect.stringContaining(`content of the kind "${kind}"`)),
    "ok",
  ]);
});

test("metadata that have a meaning here are not passed on, whatever they stand on", async () => {
  const _meta = {
    "edge-servlets/waiting": { url: "https://evil.example" },
    "io.modelcontextprotocol/related-task": {},
    ui: { resourceUri: "ui://page" },
    "ui/resourceUri": "ui://page",
    "example.com/own": 1,
  };
  const own = { _meta: { "example.com/own": 1 } };
  const link = { type: "resource_link", uri: "note://one", name: "one" };
  const note = { uri: "note://one", text: "the note" };
  const { run } = await called((body, response) => {
    const content = [
      { ...link, _meta },
      { type: "resource", resource: { ...note, _meta } },
    ];
    sendJson(response, result(body, { content, _meta }));
  });
  expect(run.result).toMatchObject(own);
  expect(run.result._meta).toEqual(own._meta);
  expect(run.result.content).toEqual([
    { ...link, ...own },
    { type: "resource", resource: { ...note, ...own } },
  ]);
});

test("a key that the server repeats in an error is not shown", async () => {
  const other = await serverWith(() => ({
    "tools/call": (body, response, { headers }) => {
      const message = `${String(headers["x-api-key"])} is not allowed`;
      sendJson(response, { jsonrpc: "2.0", id: body.id, error: { code: -32000, message } });
    },
  }));
  const { servlet: keyed } = await loadedRemote(other.url, { header: "X-Api-Key" });
  const script = { ...online, caller: "ada", secrets: { notes: "callers-own" } };
  const { result: refused } = await keyed.callTool("notes-do_it", {}, script);
  expect(refused.content).toMatchObject([
    { text: expect.stringMatching(/\[key\] is not allowed$/) },
  ]);
});

test("a session id that is not valid is not kept for later calls", async () => {
  let session = "x".repeat(9000);
  const other = await serverWith(() => ({
    "server/discover": (_, response) => sendJson(response, {}, 404),
    initialize: (body, response) => {
      response.setHeader("mcp-session-id", session);
      sendJson(
        response,
        result(body, { protocolVersion: "2025-11-25", capabilities: { tools: {} } }),
      );
    },
    "notifications/initialized": (_, response) => void response.writeHead(202).end(),
    "tools/call": (body, response) => sendJson(response, result(body, { content: [] })),
  }));
  await expect(madeRemote(other.url)).rejects.toThrow(/gave a session id that is not valid/);
  session = "short";
  const { servlet: counting } = await loadedRemote(other.url);
  session = "two words";
  const call = () => counting.callTool("notes-do_it", {}, { ...online, caller: "ada" });
  expect((await call()).result.content).toMatchObject([
    { text: expect.stringMatching(/gave a session id that is not valid/) },
  ]);
  session = "short";
  expect((await call()).result.isError).toBe(false);
});

test("a session's stream that cannot be opened is asked for once", async () => {
  const other = await serverWith(() => ({
    "server/discover": (_, response) => sendJson(response, {}, 404),
    initialize: (body, response) => {
      response.setHeader("mcp-session-id", "one");
      const value = { protocolVersion: "2025-11-25", capabilities: { tools: {} } };
      sendJson(response, result(body, value));
    },
    "notifications/initialized": (_, response) => void response.writeHead(202).end(),
    "tools/call": (body, response) => sendJson(response, result(body, { content: [] })),
    answer: (_, response) => void response.destroy(),
  }));
  const { servlet: counting } = await loadedRemote(other.url);
  for (let nth = 0; nth < 2; nth++) {
    const script = { ...online, caller: "ada", now: Date.now };
    expect((await counting.callTool("notes-do_it", {}, script)).result.isError).toBe(false);
  }
  expect(other.heard.filter((method) => method === "GET")).toHaveLength(1);
  expect(other.heard.filter((method) => method === "tools/call")).toHaveLength(2);
});

test("a server that says again and again that its lists have changed is in the log once for a call", async () => {
  const { run } = await called((body, response) => {
    const say = events(response);
    for (let nth = 0; nth < 5; nth++)
      say({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    say(result(body, { content: [] }));
    response.end();
  });
  expect(run.logs).toEqual([expect.stringMatching(/what it offers has changed/)]);
});

test("a task of the server is waited for, and its questions are asked", async () => {
  const task = (status: string, more = {}) => ({
    taskId: "t1",
    status,
    pollIntervalMs: 300,
    ...more,
  });
  let looks = 0;
  let given: unknown;
  const { text, run } = await called(
    (body, response) =>
      sendJson(response, {
        jsonrpc: "2.0",
        id: body.id,
        result: { ...task("working", { statusMessage: "begun" }), resultType: "task" },
      }),
    {
      "tasks/get": (body, response) => {
        looks++;
        const asks = {
          q: {
            method: "elicitation/create",
            params: { message: "Go on?", requestedSchema: { type: "object", properties: {} } },
          },
        };
        const value =
          looks === 1
            ? task("working")
            : given === undefined
              ? task("input_required", { inputRequests: asks })
              : task("completed", { result: { content: [{ type: "text", text: "at last" }] } });
        sendJson(response, result(body, value));
      },
      "tasks/update": (body, response) => {
        given = body.params.inputResponses;
        sendJson(response, result(body, {}));
      },
    },
    { answers: { "elicitation/create": () => ({ action: "accept", content: {} }) } },
  );
  expect(text).toBe("at last");
  expect(given).toEqual({ q: { action: "accept", content: {} } });
  expect(run.asked).toHaveLength(1);
  expect(server.heard.filter((method) => method === "tools/call")).toHaveLength(1);
});

test("a call that is repeated from its journal sends the request of the server once", async () => {
  const { text } = await called(
    (body, response) => {
      const say = events(response);
      say({ jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } });
      setTimeout(() => {
        say(result(body, { content: [{ type: "text", text: "once" }] }));
        response.end();
      }, 20);
    },
    {},
    { alwaysReplay: true },
  );
  // The connection of the first run is lost with it, and this server cannot resume streams.
  expect(text).toMatch(/its stream was lost before the result|^once$/);
  expect(server.heard.filter((method) => method === "tools/call")).toHaveLength(1);
});

test("annotations are passed on for the tools that the operator believes, and for no others", () => {
  const annotations = { readOnlyHint: true, destructiveHint: false };
  const snapshot: RemoteSnapshot = {
    name: "Tides",
    url: "https://tides.example.com/mcp",
    version: "2026-07-28",
    taken: "2026-11-29",
    tools: ["get_tide", "set_tide"].map((name) => ({ name, inputSchema: {}, annotations })),
  };
  const { tools } = defineRemote(snapshot, { believed: ["get_*"] });
  expect(tools).toMatchObject({ get_tide: { annotations } });
  expect(tools?.["set_tide"]).not.toHaveProperty("annotations");
});
