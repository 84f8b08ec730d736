// @module-tag carried
// @module-tag sessions
// @module-tag search
// @module-tag tasks
// @module-tag tool-calls
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { callersSnippets } from "../../../src/server/features/snippets/catalog.ts";
import { SnippetStore } from "../../../src/server/features/snippets/store.ts";
import { stateName } from "../../../src/server/features/state/state-scopes.ts";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { beginTask, updateTask } from "../../worker/calls/faults.ts";
import { later, ring, until } from "../../worker/calls/task-steps.ts";
import { resultIn } from "../../worker/mcp/legacy/session-client.ts";
import { begin as beginSession, listened } from "../../worker/mcp/legacy/session-steps.ts";
import { at, profiled } from "../../worker/profiles.ts";
import { post } from "../../worker/server.ts";
import {
  as,
  begin,
  beginTool,
  callOf,
  clock,
  goOn,
  keyed,
  limited,
  newAddress,
  prepare,
  send,
  type Json,
  type Sent,
} from "../../worker/calls/client.ts";

/** Snippets of the servlet `code`: what callers save, run, list and have as tools. */
prepare();

const newCaller = (): Sent => ({ headers: { "cf-connecting-ip": newAddress() } });
const outcomeOf = ({ result, error }: Json): string =>
  error?.message ??
  (result.isError ? "error: " : "") + result.content.map(({ text }: Json) => text).join("\n");
const run = async (sent: Sent, name: string, args?: object) =>
  outcomeOf(await callOf("run_snippet", { name, ...(args && { arguments: args }) }, sent));
const save = async (sent: Sent, name: string, code: string, more: object = {}) =>
  outcomeOf(await callOf("save_snippet", { name, description: `Is ${name}`, code, ...more }, sent));
const SEARCHED = { searched: { servlets: ["code", "notes"], tools: "search" as const } };
const { SESSIONS: _sessions, ...withoutSessions } = env;
const sessionless = createApp(new Kernel(bundle, { ...withoutSessions, LINKS: "off" }));
/** As in another isolate. */
const elsewhere = createApp(new Kernel(bundle, env));
const LISTED = { listed: true };
const CHANGED = "notifications/tools/list_changed";

async function listed(sent: Sent): Promise<Json[]> {
  const { result } = await send("tools/list", {}, sent);
  return result!["tools"].filter(({ name }: Json) => name.startsWith("snippet_"));
}
const namesOf = async (sent: Sent) => (await listed(sent)).map(({ name }) => name);

const INPUT = {
  type: "object",
  properties: { a: { type: "number" } },
  required: ["a"],
  additionalProperties: false,
};

describe("a snippet", () => {
  test("is saved, run, replaced, listed and deleted", async () => {
    const ada = newCaller();
    expect(await save(ada, "double", "({ a }) => 2 * a", { input: INPUT })).toBe(
      'Saved the snippet double. Run it by run_snippet({ name: "double", arguments: {...} }). In scripts: await runSnippet("double", {...}).',
    );
    expect(await run(ada, "double", { a: 2 })).toBe("4");
    expect(await save(ada, "double", "3 * args.a")).toMatch(/^Replaced the snippet double/);
    expect(await run(ada, "double", { a: 2 })).toBe("6");
    expect(outcomeOf(await callOf("snippets", {}, ada))).toBe("double: Is double");
    expect(outcomeOf(await callOf("snippets", { delete: "double" }, ada))).toMatch(/^Deleted/);
    expect(await run(ada, "double")).toMatch(/there is no snippet double. None is saved./);
    expect(outcomeOf(await callOf("snippets", { show: "double" }, ada))).toMatch(/^error: .*none/i);
  });

  test("that another isolate has listed is seen soon, one of this isolate at once", async () => {
    const ada = newCaller();
    expect(await namesOf(ada)).toEqual([]);
    await save({ ...ada, server: elsewhere }, "other", "1", LISTED);
    expect(await namesOf(ada)).toEqual([]);
    clock.aheadMs += 5000;
    expect(await namesOf(ada)).toEqual(["snippet_other"]);
    await callOf("snippets", { delete: "other" }, ada);
    expect(await namesOf(ada)).toEqual([]);
    await save(ada, "own", "1", LISTED);
    expect(await namesOf(ada)).toEqual(["snippet_own"]);
  });

  test("belongs to its caller", async () => {
    const [ada, bob] = [newCaller(), newCaller()];
    await save(ada, "mine", "1", LISTED);
    expect(await run(bob, "mine")).toMatch(/there is no snippet mine/);
    expect(outcomeOf(await callOf("snippet_mine", {}, bob))).toMatch(/there is no snippet mine/);
    expect(await namesOf(bob)).toEqual([]);
    await save(bob, "mine", "2");
    await callOf("snippets", { delete: "mine" }, bob);
    expect(await run(ada, "mine")).toBe("1");
  });

  test("outlasts a reset of variables, a failed run, and the object that has it", async () => {
    const ada = newCaller();
    await save(ada, "one", "typeof x");
    await callOf("run_code", { code: "let x = 1" }, ada);
    expect(await run(ada, "one")).toBe('"number"');
    await callOf("run_code", { code: "", reset: true }, ada);
    await callOf("run_code", { code: "none" }, ada);
    expect(await run(ada, "one")).toBe('"undefined"');
    await abortAllDurableObjects();
    expect(await run(ada, "one")).toBe('"undefined"');
  });

  test("is called by other scripts by its name", async () => {
    const ada = newCaller();
    await save(ada, "double", "2 * args.a", { input: INPUT });
    // One run reads them once, however often it asks.
    const code =
      "let n = 0; for (let a = 0; a < 30; a++) n += await runSnippet('double', { a }); n";
    expect(outcomeOf(await callOf("run_code", { code }, ada))).toBe("870");
    const sum = "(await runSnippet('double', { a: 4 })) + 1";
    expect(outcomeOf(await callOf("run_code", { code: sum }, ada))).toBe("9");
    const wrong = { code: "await runSnippet('double', { a: 'x' })" };
    expect(outcomeOf(await callOf("run_code", wrong, ada))).toMatch(
      /arguments do not match the input schema of double: `a` /,
    );
  });

  test("goes with what the server has stored for its caller", async () => {
    const name = crypto.randomUUID();
    const server = await keyed(name);
    const ada = { server, ...as(name) };
    await save(ada, "one", "1", LISTED);
    const kernel = new Kernel(bundle, { ...env, LINKS: "off" });
    await kernel.forgetCaller(name);
    expect(await namesOf(ada)).toEqual([]);
    expect(await save(ada, "one", "1")).toMatch(/^Saved/);
  });

  test("is not in the tables in the clear", async () => {
    const name = crypto.randomUUID();
    const ada = { server: await keyed(name), ...as(name) };
    await save(ada, "hidden_name", "'hidden text'");
    const kernel = new Kernel(bundle, { ...env, LINKS: "off" });
    const servlet = bundle.servlets.find((one) => one.name === "code")!;
    const document = kernel.documents!("snippets", servlet, { principal: { name } });
    expect((await document.read())!.text).toContain("hidden text");
    const object = env.SERVLET_STATES!.getByName(stateName("code", ["caller", name]));
    const stored = await runInDurableObject(object, (_, { storage }) =>
      storage.sql
        .exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM documents")
        .toArray()
        .map(({ bytes }) => new TextDecoder().decode(bytes)),
    );
    expect(stored).toHaveLength(1);
    expect(stored[0]).not.toMatch(/hidden/);
  });
});

describe("what is kept beside a state", () => {
  const servlet = bundle.servlets.find((one) => one.name === "code")!;
  const document = (name: string) =>
    new Kernel(bundle, { ...env, LINKS: "off" }).documents!("test", servlet, {
      principal: { name },
    });

  test("is replaced by who has read the last revision, and by nobody else", async () => {
    const one = document(crypto.randomUUID());
    expect(await one.read()).toBeUndefined();
    expect(await one.replace({ text: "a", revision: 0 })).toBe(true);
    expect(await one.replace({ text: "b", revision: 0 })).toBe(false);
    expect(await one.read()).toEqual({ text: "a", revision: 1 });
    expect(await one.replace({ text: "c", revision: 1 })).toBe(true);
    expect(await one.replace({ text: "d", revision: 1 })).toBe(false);
    expect(await one.read()).toEqual({ text: "c", revision: 2 });
  });

  test("is missing from lists where it cannot be read, and a run says what to do", async () => {
    const name = crypto.randomUUID();
    const ada = { server: await keyed(name), ...as(name) };
    await save(ada, "one", "1", LISTED);
    const state = env.SERVLET_STATES!.getByName(stateName("code", ["caller", name]));
    await runInDurableObject(state, (_, { storage }) => {
      storage.sql.exec("UPDATE documents SET bytes = ?", new Uint8Array(100));
    });
    expect(await namesOf(ada)).toEqual([]);
    const said = /can no longer be read.*state delete code/;
    expect(await run(ada, "one")).toMatch(said);
    expect(await save(ada, "two", "2")).toMatch(said);
    expect(outcomeOf(await callOf("run_code", { code: "1" }, ada))).toBe("1");
  });

  test("counts as the state does", async () => {
    const MiB = 1024 * 1024;
    limited({ callerStateBytes: 2 * MiB, callerReserveBytes: 0 });
    const name = crypto.randomUUID();
    const held = async () => (await env.QUOTAS!.getByName(name).holding()).length;
    expect(await held()).toBe(0);
    expect(await document(name).replace({ text: "x".repeat(MiB), revision: 0 })).toBe(true);
    expect(await held()).toBe(1);
    await expect(
      document(name).replace({ text: "x".repeat(3 * MiB), revision: 1 }),
    ).rejects.toThrow(/keep too much for this caller/);
    expect((await document(name).read())!.text).toHaveLength(MiB);
    // A call of the servlet has what is left.
    const server = await keyed(name);
    const script = {
      code: "globalThis.a = new Array(200_000).fill('x'.repeat(10)).map((x, i) => x + i)",
    };
    const ada = { server, ...as(name) };
    expect(outcomeOf(await callOf("run_code", script, ada))).toMatch(/keep too much/);
    expect(outcomeOf(await callOf("run_code", { code: "1" }, ada))).toBe("1");
  });

  test("goes with the state of an anonymous caller who does not come back", async () => {
    const ada = newCaller();
    await save(ada, "one", "1", LISTED);
    const address = ada.headers!["cf-connecting-ip"]!;
    const state = env.SERVLET_STATES!.getByName(
      stateName("code", ["caller", `address ${address}`]),
    );
    expect(await namesOf(ada)).toEqual(["snippet_one"]);
    expect(await runDurableObjectAlarm(state)).toBe(true);
    expect(await namesOf(ada)).toEqual([]);
  });
});

describe("is refused, and the message says why:", () => {
  test.each<[string, object, RegExp]>([
    ["a name that is no identifier", { name: "a-b" }, /name: may have letters, digits and _ only/],
    ["a name that begins with a digit", { name: "1a" }, /begins with no digit/],
    ["no name", { name: "" }, /name: may have/],
    ["code that does not parse", { code: "let = 1 =" }, /does not parse: SyntaxError/],
    ["no description", { description: "" }, /description/],
    ["a schema of no object", { input: { type: "string" } }, /no schema of an object/],
    ["a schema that is none", { input: { type: "object", properties: 1 } }, /input cannot be used/],
    [
      "a schema with a pattern that takes long",
      {
        input: { type: "object", properties: { a: { pattern: "(?=a)\\1" } } },
      },
      /input cannot be used/,
    ],
    [
      "a huge schema",
      { input: { type: "object", title: "x".repeat(9000) } },
      /input: has \d+ characters \(limit 8000\)/,
    ],
    ["huge code", { code: `"${"x".repeat(100_001)}"` }, /code/],
  ])("%s", async (_what, args, message) => {
    const ada = newCaller();
    const whole = { name: "one", description: "One", code: "1", ...args };
    const said = outcomeOf(await callOf("save_snippet", whole, ada));
    expect(said).toMatch(message);
    expect(outcomeOf(await callOf("snippets", {}, ada))).toMatch(/^No snippet is saved/);
  });

  test("arguments that do not fit, and unknown names with one that may be meant", async () => {
    const ada = newCaller();
    await save(ada, "double", "2 * args.a", { input: INPUT, ...LISTED });
    for (const args of [{}, { a: "x" }, { a: 1, b: 2 }]) {
      const said = await run(ada, "double", args);
      expect(said).toMatch(/^error: .*arguments do not match the input schema of double/);
      expect(outcomeOf(await callOf("snippet_double", args, ada))).toBe(said);
    }
    expect(await run(ada, "doubel", {})).toMatch(/no snippet doubel. Did you mean double\?/);
  });

  test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
    "the name %s, as long as nothing is saved under it",
    async (name) => {
      const ada = newCaller();
      expect(await run(ada, name)).toMatch(new RegExp(`there is no snippet ${name}`));
      expect(await save(ada, name, "1", LISTED)).toMatch(/^Saved/);
      expect(await run(ada, name)).toBe("1");
      expect(outcomeOf(await callOf(`snippet_${name}`, {}, ada))).toBe("1");
      expect(await namesOf(ada)).toEqual([`snippet_${name}`]);
    },
  );

  test("more than a number of them, and of characters", async () => {
    const ada = newCaller();
    const large = `"${"x".repeat(99_000)}"`;
    for (let nth = 0; nth < 5; nth++) await save(ada, `large_${nth}`, large);
    expect(await save(ada, "large_5", large)).toMatch(
      /would be \d+ characters too long \(limit 500000\). Delete one first/,
    );
    expect(await save(ada, "large_0", large)).toMatch(/^Replaced/);
    const bob = newCaller();
    for (let nth = 0; nth < 100; nth++) await save(bob, `s${nth}`, "1");
    expect(await save(bob, "s100", "1")).toMatch(/there are 100 snippets.*Delete one first/);
    expect(await save(bob, "s99", "2")).toMatch(/^Replaced/);
  }, 60_000);
});

describe("a listed snippet", () => {
  test("is a tool of the caller, which can be called", async () => {
    const ada = newCaller();
    expect(await save(ada, "double", "2 * args.a", { input: INPUT, ...LISTED })).toMatch(
      /or as the tool snippet_double, which is now in your list/,
    );
    const [tool] = await listed(ada);
    expect(tool).toMatchObject({
      name: "snippet_double",
      description: "A snippet that the user has saved, not of the server itself: Is double",
      inputSchema: INPUT,
      outputSchema: { required: ["printed"] },
    });
    expect(outcomeOf(await callOf("snippet_double", { a: 2 }, ada))).toBe("4");
    await save(ada, "double", "1");
    expect(await namesOf(ada)).toEqual([]);
  });

  test("is marked as the caller's own in searches, however long its description is", async () => {
    const sent = { ...newCaller(), server: at("searched", profiled({}, SEARCHED)) };
    const description = `Zebra ${"stripes ".repeat(124)}`;
    await save(sent, "zebra", "1", { ...LISTED, description });
    for (const format of ["typescript", "json"]) {
      const found = await callOf("search_tools", { query: "zebra", format }, sent);
      expect(outcomeOf(found)).toMatch(/A snippet that the user has saved/);
    }
  });

  test("is not cached for others", async () => {
    const { result } = await send("tools/list", {}, newCaller());
    expect(result).toMatchObject({ ttlMs: 0, cacheScope: "private" });
  });

  test("waits for a question, and goes on with the code that it began with", async () => {
    const ada = newCaller();
    await save(ada, "asking", "`${await ask('Which?') !== undefined} ${args.a}`", LISTED);
    for (const [tool, args] of [
      ["snippet_asking", { a: 1 }],
      ["run_snippet", { name: "asking", arguments: { a: 1 } }],
    ] as const) {
      const round = await beginTool(tool, args, ada);
      await save(ada, "asking", "'another one'");
      const [key] = Object.keys(round.requests);
      const ended = await goOn(round, { [key!]: { action: "accept", content: {} } });
      expect(outcomeOf(ended)).toBe('"true 1"');
      expect(await run(ada, "asking")).toBe('"another one"');
      await save(ada, "asking", "`${await ask('Which?') !== undefined} ${args.a}`", LISTED);
    }
  });

  test("goes on though it was deleted meanwhile", async () => {
    const ada = newCaller();
    await save(ada, "asking", "typeof await ask('Which?')", LISTED);
    const round = await beginTool("snippet_asking", {}, ada);
    await callOf("snippets", { delete: "asking" }, ada);
    const [key] = Object.keys(round.requests);
    const ended = await goOn(round, { [key!]: { action: "accept", content: {} } });
    expect(outcomeOf(ended)).toBe('"object"');
  });

  test("is a task where the client takes tasks, which goes on as it began", async () => {
    const name = `task_${crypto.randomUUID().slice(0, 8)}`;
    const code = "await sleep(3_600_000); `${typeof await ask('Which?')} ${args.a}`";
    await save({}, name, code, LISTED);
    const id = await beginTask(`snippet_${name}`, { a: 1 });
    await save({}, name, "'another one'");
    await later(id, 3_600_000);
    const { inputRequests } = await until(id, "input_required");
    const [key] = Object.keys(inputRequests);
    await updateTask(id, { [key!]: { action: "accept", content: {} } });
    await ring(id, 0);
    expect((await until(id, "completed"))["result"]).toMatchObject({
      structuredContent: { value: '"object 1"' },
    });
  });

  test("asks before it calls what is destructive", async () => {
    const ada = newCaller();
    await callOf("add_note", { text: "one" }, ada);
    await save(ada, "clean", "await tools.delete_note({ id: 1 })", LISTED);
    const { requests } = await begin("tools/call", { name: "snippet_clean" }, ada);
    expect(JSON.stringify(requests)).toContain("code wants to call");
  });

  test("is named in the question whether another servlet may call it", async () => {
    const asks = { may_call: ["code:run_snippet"], confirm_calls: "destructive" as const };
    const asking = bundle.servlets.map((one) =>
      one.name === "durable" ? { ...one, manifest: { ...one.manifest, ...asks } } : one,
    );
    const server = createApp(new Kernel({ ...bundle, servlets: asking }, { ...env, LINKS: "off" }));
    const ada = { ...newCaller(), server };
    await save(ada, "one", "args.a", LISTED);
    const steps = [{ do: "call", calls: [{ tool: "snippet_one", args: { a: 1 } }] }];
    const round = await beginTool("plan", { steps }, ada);
    expect(JSON.stringify(Object.values(round.requests))).toContain(
      JSON.stringify('- run_snippet {"name":"one","arguments":{"a":1}}').slice(1, -1),
    );
    const [key] = Object.keys(round.requests);
    const ended = await goOn(round, { [key!]: { action: "accept", content: {} } });
    expect(outcomeOf(ended)).toContain('"value":"1"');
  });

  test.each(["snippet_", "snippet_1", "snippet_a-b", "snippetone", "snippet_a.b"])(
    "does not answer to %s",
    async (name) => {
      const { error } = await callOf(name, {}, newCaller());
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/^Unknown tool/),
      });
    },
  );

  test("is there exactly where scopes grant run_snippet", async () => {
    const name = crypto.randomUUID();
    await save({ server: await keyed(name), ...as(name) }, "one", "1", LISTED);
    const hash = new Uint8Array(
      await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name)),
    ).toHex();
    const withScopes = (...scopes: string[]): Sent => ({
      server: createApp(
        new Kernel(bundle, { ...env, API_KEYS: JSON.stringify({ [name]: { hash, scopes } }) }),
      ),
      ...as(name),
    });
    const granted = withScopes("code:run_snippet");
    expect(await namesOf(granted)).toEqual(["snippet_one"]);
    expect(outcomeOf(await callOf("snippet_one", {}, granted))).toBe("1");
    const narrow = withScopes("code:run_code");
    expect(await namesOf(narrow)).toEqual([]);
    const { status, error } = await callOf("snippet_one", {}, narrow);
    expect({ status, message: error?.message }).toEqual({
      status: 403,
      message: expect.stringMatching(/lacks the scope code:run_snippet/),
    });
  });

  test("is not there where a profile has no run_snippet", async () => {
    const ada = newCaller();
    await save(ada, "one", "1", LISTED);
    const profiles = { some: { tools: ["code:run_code", "notes:*"] }, all: { servlets: ["code"] } };
    const server = profiled({}, profiles);
    const [some, all] = ["some", "all"].map((name) => ({ ...ada, server: at(name, server) }));
    expect(await namesOf(some!)).toEqual([]);
    expect((await callOf("snippet_one", {}, some)).error!.message).toMatch(/^Unknown tool/);
    expect(await namesOf(all!)).toEqual(["snippet_one"]);
    expect(outcomeOf(await callOf("snippet_one", {}, all))).toBe("1");
  });

  test("is no tool for the scripts of its own servlet, which run it by its name", async () => {
    const ada = newCaller();
    await save(ada, "one", "1", LISTED);
    const code = "tools.snippet_one()";
    expect(outcomeOf(await callOf("run_code", { code }, ada))).toMatch(
      /snippet_one cannot be called here: .* from within a call of code/,
    );
  });

  test("is listed and called in sessions, too, whose streams hear of it", async () => {
    const ada = newCaller();
    const client = await beginSession(ada);
    const names = async () => {
      const { result } = await resultIn(await client.request("tools/list"));
      return (result as Json)["tools"].map(({ name }: Json) => name) as string[];
    };
    await save(ada, "first", "args.a", LISTED);
    expect(await names()).toContain("snippet_first");
    expect(await resultIn(await client.call("snippet_first", { a: 5 }))).toMatchObject({
      result: { structuredContent: { value: "5" } },
    });
    const stream = await listened(client);
    await save(ada, "second", "1");
    await save(ada, "third", "1", LISTED);
    expect(await stream.message()).toMatchObject({ method: CHANGED });
    expect(await names()).toEqual(expect.arrayContaining(["snippet_first", "snippet_third"]));
    expect(await names()).not.toContain("snippet_second");
    expect(await resultIn(await client.call("snippet_third"))).toMatchObject({
      result: { structuredContent: { value: "1" } },
    });
  });

  test("is in a session's list at once if another isolate has saved it", async () => {
    const ada = newCaller();
    const client = await beginSession(ada);
    const names = async () => {
      const { result } = await resultIn(await client.request("tools/list"));
      return (result as Json)["tools"].map(({ name }: Json) => name) as string[];
    };
    expect(await names()).not.toContain("snippet_other");
    await save({ ...ada, server: elsewhere }, "other", "1", LISTED);
    expect(await names()).toContain("snippet_other");
  });

  test("is there for clients of revisions without sessions", async () => {
    const ada = newCaller();
    await save(ada, "one", "args.a", LISTED);
    const old = async (method: string, params: object) => {
      const body = { jsonrpc: "2.0", id: 1, method, params };
      const response = await post(body, ada.headers, sessionless);
      return ((await response.json()) as Json)["result"];
    };
    const { tools } = await old("tools/list", {});
    expect(tools.map(({ name }: Json) => name)).toContain("snippet_one");
    const call = { name: "snippet_one", arguments: { a: 7 } };
    expect(await old("tools/call", call)).toMatchObject({ content: [{ text: "7" }] });
  });

  test("is found where tools are searched, and called by what calls these", async () => {
    const sent = { ...newCaller(), server: at("searched", profiled({}, SEARCHED)) };
    const search = async (by: Sent) =>
      outcomeOf(await callOf("search_tools", { query: "zebra stripes" }, by));
    const bob = { ...sent, ...newCaller() };
    const description = "Counts the stripes of a zebra";
    await save(sent, "zebra", "args.a", { ...LISTED, description, input: INPUT });
    await save(sent, "giraffe", "1", { ...LISTED, description: "Another one" });
    expect(await search(sent)).toMatch(/Counts the stripes of a zebra[^]*snippet_zebra/);
    expect(await search(bob)).not.toContain("zebra");
    const called = { name: "snippet_zebra", arguments: { a: 3 } };
    expect(outcomeOf(await callOf("call_tool", called, sent))).toBe("3");
    expect(await namesOf(sent)).toEqual([]);
  });
});

test("a list waits only until it is known that a caller has no snippets", async () => {
  const servlets = bundle.servlets.filter(({ name }) => name === "code");
  const kernel = new Kernel({ ...bundle, servlets }, { ...env, LINKS: "off" });
  const registry = (await kernel.registry()).for({ principal: { name: "lister" } });
  await registry.catalog();
  const first = registry.listed();
  expect(first).toBeInstanceOf(Promise);
  await first;
  expect(registry.listed()).not.toBeInstanceOf(Promise);
});

test("a list has the server's own tools if the snippets cannot be asked for", async () => {
  const servlets = bundle.servlets.filter(({ name }) => name === "code");
  const kernel = new Kernel({ ...bundle, servlets }, { ...env, LINKS: "off" });
  const catalog = await (await kernel.registry()).catalog();
  const store = new SnippetStore(() => {
    throw new Error("There is no such object.");
  });
  const own = callersSnippets(store).list(catalog, { principal: { name: "ada" } });
  expect(own).toEqual([]);
});

test("a list shows a snippet that was saved although the answer was lost", async () => {
  let text: string | undefined;
  const store = new SnippetStore(() => ({
    place: "here",
    read: async () => (text === undefined ? undefined : { text, revision: 1 }),
    replace: async (document) => {
      text = document.text;
      throw new Error("The connection was lost.");
    },
  }));
  const viewer = { principal: { name: "ada" } };
  const servlet = bundle.servlets.find(({ name }) => name === "code")!;
  expect(await store.listed(servlet, viewer)).toEqual([]);
  const saved = { name: "one", description: "One.", code: "1", listed: true };
  await expect(store.save(servlet, viewer, saved)).rejects.toThrow("lost");
  expect(await store.listed(servlet, viewer)).toEqual([saved]);
});

test("a server without a servlet that has snippets asks no object for its list", async () => {
  const servlets = bundle.servlets.filter(({ name }) => name !== "code");
  const kernel = new Kernel({ ...bundle, servlets }, { ...env, LINKS: "off" });
  const registry = (await kernel.registry()).for({ principal: { name: "ada" } });
  expect(registry.hasCallersTools).toBe(false);
  const { error } = await callOf("snippet_one", {}, { server: createApp(kernel) });
  expect(error!.message).toMatch(/^Unknown tool: snippet_one/);
});
