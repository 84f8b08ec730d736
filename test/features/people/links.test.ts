import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import type { PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  ABLE,
  begin as beginRound,
  callOf as callAt,
  changed,
  clock,
  goOn,
  limited,
  prepare,
  send,
  serverOf,
  TASKS,
  textIn,
  type Json,
  type Sent,
} from "../../worker/calls/client.ts";
import { newWorld, objectOf } from "../../worker/calls/faults.ts";
import { ELICIT, HOUR, NIGHT, saidIn, steps } from "../../worker/calls/plans.ts";
import { ADA, cutAt, linesOf, PAY, withManifest } from "../../worker/calls/retry-steps.ts";
import { later } from "../../worker/calls/task-steps.ts";
import { bundleWaiting, WAITING } from "../../worker/calls/waiting-servlets.ts";
import { resultIn, SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { answerOf, listenerOf, modern, post } from "../../worker/server.ts";
import { eventually } from "../../worker/waiting.ts";
import { browser, server } from "../../worker/pages/browser.ts";

/** Calls of clients that cannot ask their user: each kind of client gets a link, and the call goes on. */
prepare();

const PLAIN = { capabilities: {} };

const callOf = (name: string, args: Json, sent: Sent) => callAt(name, args, { server, ...sent });

const resultOf = (id: string, sent: Json = PLAIN) => callOf("get_result", { id }, sent);

test("a client that can do nothing gets a link, and the result once a person has answered", async () => {
  const asked = await callOf("plan", steps(ELICIT, ELICIT), PLAIN);
  const { id, url, status, message } = asked.result!["structuredContent"];
  expect({ status, message }).toEqual({ status: "waiting", message: "Who?" });
  expect(url).toBe(`http://localhost:8787/ask/${id}`);
  expect(textIn(asked)).toContain(
    `Ask the user to open ${url}, then call get_result with id ${id}.`,
  );

  const person = browser();
  const page = await person.fetch(url);
  expect(page.status).toBe(200);
  expect(page.text).toContain("durable asks because its tool plan was called for you");
  const next = await person.answer(url, { f0: "Ada" });
  expect(next.text).toContain("A question for you");
  const done = await person.answer(url, { f0: "Grace" });
  expect(done.text).toContain("Thank you");
  const { result } = await resultOf(id);
  expect(result!["structuredContent"].said).toEqual(["Ada", "Grace"]);
});

test("a servlet that returns what it asks goes on, too, and is called anew with its own state", async () => {
  const asked = await callOf("rounds", { rounds: 2 }, PLAIN);
  const { id, url } = asked.result!["structuredContent"];
  const person = browser();
  await person.answer(url, { f0: "Ada" });
  await person.answer(url, { f0: "Grace" });
  expect(textIn(await resultOf(id))).toBe("Ada and Grace");
});

test("a tool with an output schema gives no content that its schema refuses", async () => {
  const matter = { what: "Paint the bridge", amount: "120 EUR" };
  const { result } = await callOf("request_approval", matter, PLAIN);
  expect(result).toMatchObject({ isError: true });
  expect(result).not.toHaveProperty("structuredContent");
  const { id, url } = result!["_meta"]["edge-servlets/waiting"];
  const page = await browser().answer(url, { f0: "true", f1: "In red." });
  expect(page.text).toContain("Thank you");
  const { result: ended } = await resultOf(id);
  expect(ended!["structuredContent"]).toMatchObject({ outcome: "approved", note: "In red." });
});

test("declining is an answer", async () => {
  const { result } = await callOf("plan", steps(ELICIT), PLAIN);
  const { id, url } = result!["structuredContent"];
  await browser().answer(url, {}, "decline");
  expect(saidIn(await resultOf(id))).toEqual(["decline"]);
});

test("a page that the servlet names is shown with its host, and answered by a button", async () => {
  const step = { do: "elicit_url", message: "Pay", url: "https://pay.example/?a=1&b=2" };
  const { result } = await callOf("plan", steps(step), { capabilities: { elicitation: {} } });
  const { id, url } = result!["structuredContent"];
  const person = browser();
  const page = await person.fetch(url);
  expect(page.text).toContain("open a page of pay.example");
  expect(page.html).toContain('href="https://pay.example/?a=1&amp;b=2"');
  await person.answer(url, {});
  expect(saidIn(await resultOf(id))).toEqual(["accept"]);
});

test("a page whose host looks like another is shown with its real name, and a warning", async () => {
  const step = { do: "elicit_url", message: "Pay", url: "https://\u0430pple.example/" };
  const { result } = await callOf("plan", steps(step), PLAIN);
  const page = await browser().fetch(result!["structuredContent"].url);
  expect(page.text).toContain("open a page of xn--pple-43d.example");
  expect(page.text).toContain("may look like those of another name");
  expect(page.html).toContain('href="https://xn--pple-43d.example/"');
});

test.each([
  "javascript:alert(1)",
  "data:text/html,x",
  "https://ada:hush@pay.example/",
  "pay",
  "http://pay.example/",
  `https://a/${"x".repeat(100_000)}`,
])("what is not a page is shown to nobody: %.40s", async (url) => {
  for (const capabilities of [{}, { elicitation: { url: {} } }]) {
    const step = { do: "elicit_url", message: "Run", url };
    const { result } = await callOf("plan", steps(step), { capabilities });
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain("the url of ask_1 cannot be used");
  }
});

test("what only a client can answer fails as before, also once a person is asked", async () => {
  const { error } = await callOf("plan", steps({ do: "sample" }), PLAIN);
  expect(error?.message).toContain("cannot be asked");
  const both = steps(ELICIT, { do: "sample", catches: true });
  const { result } = await callOf("plan", both, { capabilities: { sampling: {} } });
  const { id, url } = result!["structuredContent"];
  await browser().answer(url, { f0: "Ada" });
  const [first, second] = saidIn(await resultOf(id));
  expect(first).toBe("Ada");
  expect(JSON.stringify(second)).toContain("cannot");
});

test("a question that is too large for a page fails, as where nobody can be asked", async () => {
  limited({ shownAskBytes: 10_000 });
  const { error } = await callOf("plan", steps({ ...ELICIT, message: "x".repeat(12_000) }), PLAIN);
  expect(error?.message).toContain("cannot be asked");
});

test.each([
  ["fields", { properties: Object.fromEntries(Array.from({ length: 1800 }, (_, n) => [n, {}])) }],
  ["choices", { properties: { a: { enum: Array.from({ length: 3600 }, (_, n) => n) } } }],
])("so does one of more %s than a page can have", async (_what, schema) => {
  limited({ shownAskBytes: 10_000 });
  const ask = { do: "inputs", keys: ["a"], message: "x", schema: { type: "object", ...schema } };
  const { error } = await callOf("plan", steps(ask), PLAIN);
  expect(error?.message).toContain("cannot be asked");
});

test("a client that can be asked gets no link", { tags: ["carried"] }, async () => {
  const { result } = await callOf("plan", steps(ELICIT), { server, capabilities: ABLE });
  expect(result).toMatchObject({ resultType: "input_required" });
});

describe("a client that declines what its user has not seen", () => {
  const NAMED = { "io.modelcontextprotocol/clientInfo": { name: "hasty-desktop", version: "1" } };
  const listing = serverOf(bundle, { LINK_CLIENTS: "other hasty-*" });
  const asked = async (sent: Sent) => {
    const { result } = await callOf("plan", steps(ELICIT), { capabilities: ABLE, ...sent });
    return result!["structuredContent"]?.status ?? result!["resultType"];
  };

  test.each<[string, Sent, string]>([
    ["by its name", { server: listing, meta: NAMED }, "waiting"],
    ["by another name", { server: listing }, "input_required"],
    ["by a header", { headers: { "prefer-links": "true" } }, "waiting"],
    [
      "by a header that refuses links",
      { server: listing, meta: NAMED, headers: { "prefer-links": "false" } },
      "input_required",
    ],
    [
      "where nobody could open a link",
      { server: serverOf(bundle, { LINKS: "off" }), headers: { "prefer-links": "true" } },
      "input_required",
    ],
  ])("%s", { tags: ["carried"] }, async (_how, sent, expected) => {
    expect(await asked(sent)).toBe(expected);
  });

  test("by a header of its session", { tags: ["sessions"] }, async () => {
    const headers = { "prefer-links": "true" };
    const client = await SessionClient.begin({ server, capabilities: ABLE, headers });
    const { result } = await resultIn(await client.call("plan", steps(ELICIT)));
    expect(result).toMatchObject({ structuredContent: { status: "waiting" } });
  });
});

test("a client of tasks hears that the task has ended with the link, and cannot answer for its user", async () => {
  const sent = { capabilities: TASKS };
  const { result } = await callOf("plan_always", steps({ do: "sleep", ms: 5 }, ELICIT), sent);
  const taskId = result!["taskId"];
  const task = await endedTask(taskId, sent);
  const { id, url } = task["result"]["structuredContent"];
  expect(id).toBe(taskId);
  const forged = { ask_1: { action: "accept", content: { value: "Eve" } } };
  await send("tasks/update", { taskId, inputResponses: forged }, { server, ...sent });
  await send("tasks/cancel", { taskId }, { server, ...sent });
  await browser().answer(url, { f0: "Ada" });
  expect(saidIn(await resultOf(id))).toEqual(["slept", "Ada"]);
  expect(await endedTask(taskId, sent)).toEqual(task);
});

test(
  "a client that listens to its task hears once that it has ended with the link",
  { tags: ["sessions"] },
  async () => {
    const begin = async (...all: Json[]): Promise<string> =>
      (await callOf("plan_always", steps(...all), { capabilities: TASKS })).result!["taskId"];
    const [taskId, other] = [await begin(NIGHT, ELICIT, ELICIT), await begin(NIGHT)];
    const meta = { "io.modelcontextprotocol/clientCapabilities": TASKS };
    const { body, headers } = modern(
      "subscriptions/listen",
      { notifications: { taskIds: [taskId, other] } },
      meta,
    );
    const listener = listenerOf(await post(body, headers, server));
    await listener.next();
    await later(taskId, NIGHT.ms);
    let told = await listener.next();
    while (told["params"].status === "working") told = await listener.next();
    expect(told).toMatchObject({ method: "notifications/tasks", params: { taskId } });
    expect(told["params"].status).toBe("completed");
    const { url } = told["params"].result.structuredContent;
    const person = browser();
    limited({ nextAskMs: 0 });
    for (const value of ["Ada", "Grace"]) {
      await person.answer(url, { f0: value });
      await runDurableObjectAlarm(objectOf(taskId));
    }
    expect(saidIn(await resultOf(taskId))).toEqual(["slept", "Ada", "Grace"]);
    await later(other, 0);
    expect((await listener.next())["params"]).toMatchObject({ taskId: other });
    await listener.close();
  },
);

async function endedTask(taskId: string, sent: Json): Promise<Json> {
  return eventually(async () => {
    const { result } = await send("tasks/get", { taskId }, { server, ...sent });
    expect(result).toMatchObject({ status: "completed" });
    return result!;
  });
}

test("a request of an older revision without a session has a link", async () => {
  const headers = { "mcp-protocol-version": "2025-06-18" };
  const params = { name: "plan", arguments: steps(ELICIT) };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const { result } = await answerOf(await post(body, headers, server));
  const { id, url } = result!["structuredContent"];
  await browser().answer(url, { f0: "Ada" });
  expect(saidIn(await resultOf(id))).toEqual(["Ada"]);
});

test("get_result says what is still needed, and nothing of what does not exist", async () => {
  limited({ resultWaitMs: 100 });
  const { result } = await callOf("plan", steps(ELICIT), PLAIN);
  const { id, url } = result!["structuredContent"];
  const waiting = await resultOf(id);
  expect(waiting.result!["structuredContent"]).toMatchObject({ status: "waiting", id, url });
  for (const unknown of ["x", "0".repeat(64), `${id.slice(0, -1)}${id.endsWith("0") ? 1 : 0}`]) {
    const { result: none } = await resultOf(unknown);
    expect(none).toMatchObject({ isError: true });
    expect(none!["content"][0].text).toContain("No call with this id waits here for you");
  }
});

test("get_result waits for a person who is about to answer", async () => {
  const { result } = await callOf("plan", steps(ELICIT), PLAIN);
  const { id, url } = result!["structuredContent"];
  const waiting = resultOf(id);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await browser().answer(url, { f0: "Ada" });
  expect(saidIn(await waiting)).toEqual(["Ada"]);
});

test("a deadline counts from when the link was given, and is over for the page, too", async () => {
  limited({ nextAskMs: 0 });
  const step = { ...ELICIT, timeout: HOUR };
  const { result } = await callOf("plan", steps(step), PLAIN);
  const { id, url } = result!["structuredContent"];
  const person = browser();
  const { hidden, text } = await person.fetch(url);
  expect(text).toContain("The question ends in 1 h");
  clock.aheadMs += 2 * HOUR;
  const late = await person.send(url, { ...hidden, f0: "Ada", decision: "accept" });
  expect(late.status).toBe(409);
  await runDurableObjectAlarm(objectOf(id));
  expect(saidIn(await resultOf(id))).toEqual(["cancel"]);
});

test("days later the person still can answer, also after the objects died", async () => {
  const { result } = await callOf("plan", steps(ELICIT), PLAIN);
  const { id, url } = result!["structuredContent"];
  limited({ nextAskMs: 0 });
  clock.aheadMs += 6 * 24 * HOUR;
  await evictDurableObject(objectOf(id));
  await browser().answer(url, { f0: "Ada" });
  await evictDurableObject(objectOf(id));
  await runDurableObjectAlarm(objectOf(id));
  expect(saidIn(await resultOf(id))).toEqual(["Ada"]);
});

test("a servlet's tool cannot take the place of the server's own", async () => {
  const listed = (servlet: PreparedServlet) => ({
    lists: { ...servlet.lists!, tools: [{ ...servlet.lists!.tools[0]!, name: "get_result" }] },
  });
  const other = serverOf(changed("hello", listed));
  const { result } = await send("tools/list", {}, { server: other, ...PLAIN });
  const { description } = result!["tools"].find((tool: Json) => tool["name"] === "get_result");
  expect(description).toContain("waits for an answer from a person");
});

describe("get_result is listed only to clients that may receive the id of a call", () => {
  const STREAM = "application/json, text/event-stream";

  test.each(WAITING)(
    "a servlet %s",
    { tags: ["sessions"] },
    async (_what, known, takingStreams, others) => {
      const other = createApp(new Kernel(bundleWaiting(known), env));
      const there = (all: { name: string }[]) => all.some(({ name }) => name === "get_result");
      const listed = async (accept: string) => {
        const { result } = await send(
          "tools/list",
          {},
          { server: other, ...PLAIN, headers: { accept } },
        );
        return there(result!["tools"]);
      };
      const session = async (accept: string) => {
        const headers = { accept };
        const client = await SessionClient.begin({ server: other, ...PLAIN, headers });
        const { result } = await resultIn(await client.request("tools/list", {}));
        return there(result!["tools"]);
      };
      expect([await listed(STREAM), await session(STREAM)]).toEqual([takingStreams, takingStreams]);
      const accept = "application/json";
      expect([await listed(accept), await session(accept)]).toEqual([others, others]);
    },
  );
});

test("LINKS=off: such calls fail as before, and there is neither page nor tool", async () => {
  const off = createApp(new Kernel(bundle, { ...env, LINKS: "off" }));
  const { error } = await callOf("plan", steps(ELICIT), {
    server: off,
    ...PLAIN,
    capabilities: {},
  });
  expect(error?.message).toContain("cannot be asked");
  const { result } = await send("tools/list", {}, { server: off });
  expect(result!["tools"].map((tool: Json) => tool["name"])).not.toContain("get_result");
  expect((await browser(off).fetch("/ask/1")).status).toBe(404);
});

test("an exposed server without authentication gives no link", async () => {
  const { body, headers } = modern("tools/call", { name: "plan", arguments: steps(ELICIT) });
  const at = (app: typeof server) =>
    app.fetch(
      new Request("https://tools.example/mcp", {
        method: "POST",
        headers: { ...headers, "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify(body),
      }),
    );
  expect((await answerOf(await at(server))).error?.message).toContain("cannot be asked");
  const meant = await answerOf(await at(createApp(new Kernel(bundle, { ...env, AUTH: "none" }))));
  expect(meant.result!["structuredContent"].url).toMatch(
    /^https:\/\/tools\.example\/ask\/[0-9a-f]{64}$/,
  );
});

const SILENT = { headers: { accept: "application/json" } };
const askedAt = (at: typeof server, ...all: Json[]) =>
  beginRound(
    "tools/call",
    { name: "plan", arguments: steps(...all) },
    { server: at, capabilities: { elicitation: { form: {} } } },
  );
const askedFor = (...all: Json[]) => askedAt(server, ...all);

test.each([
  ["with a state", server],
  ["with a single-use state", withManifest({ single_use_state: true }).server],
])(
  "a client without the tasks extension gets missing_capability when it retries, %s, a call that has become a task",
  { tags: ["carried"] },
  async (_what, at) => {
    const round = await askedAt(at, ELICIT, NIGHT);
    const tasks = { capabilities: { elicitation: { form: {} }, ...TASKS } };
    const { result } = await goOn(round, ADA, {}, tasks);
    expect(result).toMatchObject({ resultType: "task", status: "working" });

    const { error } = await goOn(round, ADA, {}, SILENT);
    expect(error).toMatchObject({
      message: expect.stringContaining("does not declare the extension"),
      data: { requiredCapabilities: TASKS },
    });
    const again = await goOn(round, ADA, {}, tasks);
    expect(again.result).toMatchObject({ resultType: "task", taskId: result!["taskId"] });
  },
);

test(
  "a retry that is handed over goes on from what an earlier request has sent",
  { tags: ["carried"] },
  async () => {
    const { fetch } = globalThis;
    const world = newWorld();
    const round = await askedFor(ELICIT, { do: "sleep", ms: 5 }, PAY);
    await cutAt("keep", async () => expect((await goOn(round, ADA)).status).toBe(500));
    clock.aheadMs += HOUR;
    limited({ silentMs: -1 });
    const { result } = await goOn(round, ADA, {}, SILENT);
    const { id } = result!["structuredContent"];
    await eventually(async () => {
      await runDurableObjectAlarm(objectOf(id));
      expect(textIn(await resultOf(id))).toMatch(/outcome of the HTTP request .* is unknown/);
    });
    expect(linesOf(world)).toEqual(["POST /pay"]);
    globalThis.fetch = fetch;
  },
);

test(
  "a retry after the deadline of its question gets the link that an earlier request got",
  { tags: ["carried"] },
  async () => {
    const round = await askedFor({ ...ELICIT, timeout: 60_000 }, NIGHT);
    const first = await goOn(round, ADA, {}, SILENT);
    clock.aheadMs += HOUR;
    const second = await goOn(round, ADA, {}, SILENT);
    expect(second.result!["structuredContent"].id).toBe(first.result!["structuredContent"].id);
    expect(await goOn(round, ADA)).toMatchObject({ result: second.result! });
  },
);
