import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import { built, Operator, serveInstalling } from "./installing.ts";
import { type EventStream, RawSession } from "./raw.ts";

/** The server's own questions: nothing counts as consent but an answer to the question that was asked. */

const KEY = { authorization: "Bearer boss" };
const hash = createHash("sha256").update("boss").digest("hex");
const API_KEYS = JSON.stringify({ boss: { hash, scopes: ["operator", "*:*"] } });

let server: Awaited<ReturnType<typeof serveInstalling>>;
let operator: Operator;
beforeAll(async () => {
  server = await serveInstalling({ API_KEYS });
  operator = new Operator(server.url, KEY);
  await operator.put(await built("wanted", sourceOf("wanted")), "build");
  await operator.put(await built("other", sourceOf("other")), "build");
  await operator.put(await built("served", sourceOf("served")));
});
afterAll(() => server.close());

const sourceOf = (name: string) => `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: {
  ${name}_tool: { description: "Says it.", input: { type: "object", properties: {} }, handler: () => "${name}" },
} });`;

async function served(): Promise<string[]> {
  const { servlets } = await operator.json("GET", "servlet/");
  return (servlets as { name: string }[]).map(({ name }) => name);
}

const YES = { action: "accept", content: {} };
/** An answer under each key that such a question could have. */
const EARLY = Object.fromEntries(
  ["agree", "allow", "one", "agree/1", "1"].map((key) => [key, YES]),
);

interface Call {
  name: string;
  arguments: { name: string };
}

/** A question is asked about each of these calls. */
const CALLS: Call[] = [
  { name: "install_servlet", arguments: { name: "wanted" } },
  { name: "uninstall_servlet", arguments: { name: "served" } },
];

const post = (body: object, headers: Record<string, string>, path = "/mcp") =>
  fetch(new URL(path, server.url), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...KEY,
      ...headers,
    },
    body: JSON.stringify(body),
  });

const META = "io.modelcontextprotocol";
const ASKABLE = { elicitation: { form: {} } };

const begun = () => RawSession.begin(server.url, ASKABLE, "2025-11-25", KEY);

/** The message that answers a call of the newest revision. */
async function modern(call: Call, more: object, capabilities: object = ASKABLE): Promise<Json> {
  const _meta = {
    [`${META}/protocolVersion`]: "2026-07-28",
    [`${META}/clientCapabilities`]: capabilities,
  };
  const message = { id: 1, method: "tools/call", params: { ...call, ...more, _meta } };
  const headers = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": call.name,
  };
  return (await post({ jsonrpc: "2.0", ...message }, headers)).json();
}

/** A session of a client that has sent answers to questions before any was asked. */
async function hasty(): Promise<RawSession> {
  const session = await begun();
  for (const id of [0, 1, 2, 3]) await session.answer(id, YES);
  return session;
}

async function questionOn(stream: EventStream): Promise<{ id: number }> {
  const { message } = (await stream.next())!;
  return message?.method === "elicitation/create" ? message : questionOn(stream);
}

/** Ways to call with an answer that nobody has asked for, each with what its client gets. */
const EARLY_ANSWERS: [way: string, call: (call: Call) => Promise<unknown>, gets: RegExp][] = [
  [
    "with a first request",
    (call) => modern(call, { inputResponses: EARLY }),
    /"resultType":"input_required","inputRequests":\{"agree"/,
  ],
  [
    "by a client that takes tasks",
    (call) =>
      modern(
        call,
        { inputResponses: EARLY },
        { ...ASKABLE, extensions: { [`${META}/tasks`]: {} } },
      ),
    /"resultType":"input_required","inputRequests":\{"agree"/,
  ],
  [
    "by a client that gets a link",
    (call) => modern(call, { inputResponses: EARLY }, {}),
    /Ask the user to open http/,
  ],
  [
    "without a session",
    async (call) => {
      const message = { id: 1, method: "tools/call", params: { ...call, inputResponses: EARLY } };
      const headers = { "mcp-protocol-version": "2025-11-25" };
      return (await post({ jsonrpc: "2.0", ...message }, headers)).text();
    },
    /Ask the user to open http|belongs to no session/,
  ],
  [
    "in a session, without a stream",
    async (call) => {
      const params = { ...call, inputResponses: EARLY };
      const accept = "application/json";
      return (
        await (await hasty()).post({ id: 1, method: "tools/call", params }, { accept })
      ).text();
    },
    /Ask the user to open http|accept a stream/,
  ],
  [
    "as a task of a session",
    async (call) => {
      const session = await hasty();
      const params = { ...call, inputResponses: EARLY, task: { ttl: 60_000 } };
      return (await session.post({ id: 1, method: "tools/call", params })).text();
    },
    /"error":/,
  ],
  [
    "by Open Tool Calling",
    async ({ name, arguments: args }) => {
      const request = { tool_id: `server_operator.${name}`, input: { ...args, ...EARLY } };
      return (await post({ request }, {}, "/tools/call")).text();
    },
    /Ask the user to open http/,
  ],
];

describe.each(CALLS)("$name", (call) => {
  const isAsDone = async () =>
    (await served()).includes(call.arguments.name) === (call.name === "install_servlet");

  test.each(EARLY_ANSWERS)("takes no answer that was sent early %s", async (_way, send, gets) => {
    const got = await send(call);
    expect(typeof got === "string" ? got : JSON.stringify(got)).toMatch(gets);
    expect(await isAsDone()).toBe(false);
  });

  test("takes no state of another call", async () => {
    const others = [
      { ...call, arguments: { name: "other" } },
      ...CALLS.filter(({ name }) => name !== call.name),
      { name: "request_approval", arguments: { what: "Paint the bridge" } as never },
    ];
    await operator.put(await built("other", sourceOf("other")));
    for (const other of others) {
      const { result } = await modern(other, {});
      const { requestState, inputRequests = {} } = result as Json;
      // An install of what is served already asks nothing.
      if (requestState === undefined) continue;
      const keys = [...Object.keys(EARLY), ...Object.keys(inputRequests as Json)];
      const inputResponses = Object.fromEntries(keys.map((key) => [key, YES]));
      const { error } = await modern(call, { requestState, inputResponses });
      expect((error as Json)["message"]).toContain("belongs to another call");
      expect(await isAsDone()).toBe(false);
    }
    await operator.json("DELETE", "servlet/other");
  });

  test("takes no answer of a session to any question but its own", async () => {
    const session = await hasty();
    const own = await session.call(1, call.name, call.arguments);
    const other = await session.call(2, "request_approval", { what: "Paint the bridge" });
    const { id } = await questionOn(own);
    const ids = [(await questionOn(other)).id, id + 10, -1, 1000];
    for (const one of ids) await session.answer(one, YES);
    expect(await isAsDone()).toBe(false);
    await session.answer(id, { action: "cancel" });
    const ended = await own.rest();
    expect(ended.at(-1)).toMatchObject({ result: { isError: true } });
    expect(await isAsDone()).toBe(false);
    other.drop();
  });
});

test("a call is made once its question is answered", async () => {
  for (const call of CALLS) {
    const asked = await modern(call, { inputResponses: EARLY });
    const { requestState } = asked["result"] as Json;
    const { result } = await modern(call, { requestState, inputResponses: { agree: YES } });
    expect((result as Json)["isError"]).toBeUndefined();
  }
  expect(await served()).toEqual(["wanted"]);
  // As before, for tests that come later.
  await operator.json("DELETE", "servlet/wanted");
  await operator.put(await built("served", sourceOf("served")));
});
