import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  changed,
  limited,
  prepare,
  send,
  serverOf,
  server as unlinked,
  type Json,
  type Sent,
} from "../../worker/calls/client.ts";
import { ELICIT, log, saidIn, steps } from "../../worker/calls/plans.ts";
import { resultIn, SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { startedTask } from "../../worker/mcp/legacy/session-steps.ts";
import { browser, server } from "../../worker/pages/browser.ts";
import { answerOf, post, type Answer } from "../../worker/server.ts";
import { eventually } from "../../worker/waiting.ts";

/** Clients that take no stream hear nothing until a call ends: one that takes too long goes on without them, or is stopped. */
prepare();

const JSON_ONLY = { accept: "application/json" };
const PLAIN = { capabilities: {} };
const SLEEP = { do: "sleep", ms: 1 };
const LONG = { do: "sleep", ms: 3_600_000 };

type Call = (name: string, args: Json, sent?: Sent) => Promise<Answer>;

const legacy = (message: Json, headers: Json, app = server) =>
  post({ jsonrpc: "2.0", ...message }, { "mcp-protocol-version": "2025-06-18", ...headers }, app);

/** How each kind of client calls a tool. */
const CALLS: Record<string, Call> = {
  "a modern client": (name, args, sent) =>
    send(
      "tools/call",
      { name, arguments: args },
      { server, ...PLAIN, headers: JSON_ONLY, ...sent },
    ),
  "a client without a session": async (name, args, { headers = JSON_ONLY, server: app } = {}) =>
    answerOf(
      await legacy(
        { id: 1, method: "tools/call", params: { name, arguments: args } },
        headers,
        app,
      ),
    ),
};

/** How those with sessions do. */
const IN_SESSION: Record<string, Call> = {
  "a client with a session": async (name, args, sent) => {
    const client = await SessionClient.begin({ server, ...PLAIN, headers: JSON_ONLY, ...sent });
    return { status: 200, ...(await resultIn(await client.call(name, args))) };
  },
  "a client that has not said that it is initialized": async (name, args, sent) => {
    const session = { server, ...PLAIN, ready: false, headers: JSON_ONLY, ...sent };
    const response = await (await SessionClient.begin(session)).call(name, args);
    return { status: 200, ...(await resultIn(response)) };
  },
};

const modern = CALLS["a modern client"]!;

/** What a call has said in the end. */
const ended = (id: string): Promise<Json> =>
  eventually(async () => {
    const said = saidIn(await modern("get_result", { id }));
    expect(said).toBeDefined();
    return said;
  });

function describeCalls(call: Call): void {
  test("gets a link to a call that would take too long, which goes on and has the same outcome", async () => {
    const plan = steps(log("a"), SLEEP, { do: "config" }, SLEEP);
    const live = saidIn(await call("plan", plan));
    limited({ silentMs: -1 });
    const { result } = await call("plan", plan);
    const { status, id, url } = result!["structuredContent"] as Json;
    expect({ status, url }).toEqual({ status: "working", url: `http://localhost:8787/ask/${id}` });
    expect(result!["content"][0].text).toContain(`get_result with id ${id}`);
    expect(await ended(id)).toEqual(live);
  });

  test("is linked at once where the servlet says how long it will take", async () => {
    const { result } = await call("plan", steps(LONG));
    expect(result!["structuredContent"]).toMatchObject({ status: "working" });
  });

  test("answers on the page what a call asks that goes on", async () => {
    limited({ silentMs: -1 });
    const { result } = await call("plan", steps(SLEEP, ELICIT));
    const { id, url } = result!["structuredContent"] as Json;
    const person = browser();
    await eventually(async () => expect((await person.fetch(url)).text).toContain("Who?"));
    await person.answer(url, { f0: "Ada" });
    expect(await ended(id)).toEqual(["slept", "Ada"]);
  });

  test("gets an error that says what to do where the call cannot go on, or is in the middle", async () => {
    limited({ silentEndMs: 0 });
    for (const app of [unlinked, server]) {
      const { error } = await call("plan", steps({ do: "sleep", ms: 20_000 }), {
        server: app,
        headers: JSON_ONLY,
      });
      expect(error!.message).toMatch(/not ended within 0 s.*Send Accept: .*text\/event-stream/);
    }
  });

  test("that takes a stream gets the result itself", async () => {
    limited({ silentMs: -1, silentEndMs: 0 });
    const headers = { accept: "application/json, text/event-stream" };
    expect(saidIn(await call("plan", steps(SLEEP), { headers }))).toEqual(["slept"]);
  });
}

describe.each(Object.entries(CALLS))("%s", (_kind, call) => {
  describeCalls(call);
});
describe.each(Object.entries(IN_SESSION))("%s", { tags: ["sessions"] }, (_kind, call) => {
  describeCalls(call);
});

test.each([{ state: "session" }, { tools: { plan: { task: "never" } } }])(
  "a call that may not become a task does not: %j",
  { tags: ["state"] },
  async (own) => {
    const other = changed("durable", ({ manifest }) => ({ manifest: { ...manifest, ...own } }));
    const app = serverOf(other, { AUTH: "none" });
    limited({ silentMs: -1 });
    for (const kind of ["a modern client", "a client without a session"]) {
      const answer = await CALLS[kind]!("plan", steps(SLEEP), { server: app, headers: JSON_ONLY });
      expect(saidIn(answer)).toEqual(["slept"]);
    }
  },
);

test("a guest that is stopped has ended before its client is told", async () => {
  const app = createApp(new Kernel(bundle, { ...env, LINKS: "off", RUN_LOG: "json" }));
  limited({ silentEndMs: 0 });
  const plan = steps({ do: "sleep", ms: 20_000, catches: true }, SLEEP);
  for (const kind of ["a modern client", "a client without a session"]) {
    const logged = vi.spyOn(console, "log").mockImplementation(() => {});
    const { error } = await CALLS[kind]!("plan", plan, { server: app, headers: JSON_ONLY });
    expect(error!.message).toContain("not ended within");
    expect(logged.mock.calls.flat().filter((line) => /plan/.test(line))).toHaveLength(1);
    logged.mockRestore();
  }
});

test("each call of a batch is answered", async () => {
  limited({ silentEndMs: 0 });
  const one = {
    jsonrpc: "2.0",
    method: "tools/call",
    params: { name: "plan", arguments: steps({ do: "sleep", ms: 20_000 }) },
  };
  const batch = [
    { ...one, id: 1 },
    { ...one, id: 2 },
  ];
  const headers = { ...JSON_ONLY, "mcp-protocol-version": "2025-03-26" };
  const answers = (await (await post(batch, headers, unlinked)).json()) as Json[];
  expect(answers.map(({ id, error }) => [id, error.code])).toEqual([
    [1, -32600],
    [2, -32600],
  ]);
});

test(
  "who asks for a task's result is told that it still runs, and asks again",
  { tags: ["sessions"] },
  async () => {
    const client = await SessionClient.begin({ server: unlinked, headers: JSON_ONLY });
    const { taskId } = await startedTask(client, "confirm_delete", { filename: "a.txt" });
    limited({ silentEndMs: 0 });
    for (let nth = 0; nth < 2; nth++) {
      const { error } = await answerOf(await client.request("tasks/result", { taskId }));
      expect(error!.message).toMatch(/still runs.*Ask for its result again/);
    }
  },
);
