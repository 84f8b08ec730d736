import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { Session } from "../../../src/server/features/sessions/session.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { GET_RESULT } from "../../../src/server/kernel/servlets/scopes.ts";
import {
  ABLE,
  accept,
  beginTool,
  callOf,
  goOn,
  limited,
  newAddress,
  prepare,
  refused,
  send,
  type Sent,
  TASKS,
  textIn,
} from "../calls/client.ts";
import { ELICIT, saidIn, steps } from "../calls/plans.ts";
import { browser } from "../pages/browser.ts";
import { at, namesAt, PROFILES, profiled } from "../profiles.ts";
import { bundle } from "../../bundle.gen.ts";
import { listenerOf, modern, post, settings } from "../server.ts";
import { resultIn } from "./legacy/session-client.ts";
import { begin, isAlive, listened, objectOf, planned } from "./legacy/session-steps.ts";

/** Each profile is an endpoint, at which there is what it names, and nothing that began elsewhere. */
prepare();

const server = profiled();
const support: Sent = { server: at("support", server) };
const plans: Sent = { server: at("plans", server) };
const whole: Sent = { server };

describe("the endpoint of a profile", () => {
  test("lists what the profile names", async () => {
    const { tools, prompts, resources, templates } = await namesAt(support.server!);
    expect(tools.toSorted()).toEqual([
      ...["echo_input", "greet", "lookup_status", "plan", "plan_always", "plan_back"],
      ...["plan_back_always", "plan_never", "plan_required", "rounds", "rounds_always"],
    ]);
    expect(prompts).toEqual(["explain_status"]);
    expect(resources).toEqual(["http-status://index"]);
    expect(templates).toEqual(["http-status://{code}"]);
  });

  test("introduces itself, without a line of the whole server's", async () => {
    const { result } = await send("server/discover", {}, { ...support });
    expect(result).toMatchObject({ instructions: expect.stringMatching(/^Greet first\./) });
    expect(result!["_meta"]["io.modelcontextprotocol/serverInfo"]).toMatchObject({
      title: "Support",
      description: "What support needs.",
    });
    const { introduced } = await begin(support);
    expect(introduced).toMatchObject({ serverInfo: { title: "Support" } });
    const secretive = profiled({ SERVER_INSTRUCTIONS: "Use the vault." });
    const others = await send("server/discover", {}, { server: at("plans", secretive) });
    expect(JSON.stringify(others.result)).not.toContain("vault");
    const { result: all } = await send("server/discover", {}, { server: secretive });
    expect(all!["instructions"]).toContain("vault");
  });

  test.each([
    ["tools/call", { name: "echo", arguments: { text: "x" } }, /Unknown tool: echo/],
    ["tools/call", { name: "list_statuses" }, /Unknown tool: list_statuses/],
    ["prompts/get", { name: "plan_prompt" }, /Unknown prompt: plan_prompt/],
    ["resources/read", { uri: "note://all" }, /not found/i],
    ["resources/read", { uri: "plan://resource" }, /not found/i],
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "plan_prompt" }, argument: { name: "x", value: "" } },
      /Unknown prompt/,
    ],
    [
      "completion/complete",
      { ref: { type: "ref/resource", uri: "note://{id}" }, argument: { name: "id", value: "" } },
      /Unknown resource template/,
    ],
  ])("knows nothing beyond it: %s %j", async (method, params, message) => {
    const { error } = await send(method, params, { ...support });
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    expect(error!.data?.scope).toBeUndefined();
  });

  test("does not guess names that it does not have", async () => {
    const { error } = await send("tools/call", { name: "list_statuse" }, { ...support });
    expect(error!.message).not.toContain("list_statuses");
  });

  test("of an unknown profile is none", async () => {
    const response = await post({}, {}, at("nobody", server));
    expect(response.status).toBe(404);
    for (const name of ["constructor", "__proto__", "server-card/x"]) {
      const { status } = await server.fetch(
        new Request(`http://localhost:8787/mcp/${name}`, { method: "GET" }),
      );
      expect(status).toBe(404);
    }
  });
});

describe("skills of a profile", () => {
  const uris = async (skills: readonly string[] | undefined, servlets = ["viewing", "server"]) => {
    const a = at("a", profiled({}, { a: { servlets, ...(skills && { skills }) } }));
    const { result } = await send("skills/list", {}, { server: a });
    return (result!["skills"] as { uri: string }[]).map(({ uri }) => uri);
  };
  const [GUIDE, DEEPER] = [
    "skill://viewing/guide/SKILL.md",
    "skill://viewing/guide/deeper/SKILL.md",
  ];

  test("are those of its servlets, or those that it names", async () => {
    expect(await uris(undefined)).toEqual([GUIDE, DEEPER]);
    expect(await uris(["viewing:guide"])).toEqual([GUIDE, DEEPER]);
    expect(await uris(["viewing:guide/deeper"])).toEqual([DEEPER]);
    expect(await uris(["viewing:other", "other:guide"])).toEqual([]);
    expect(await uris([])).toEqual([]);
    expect(await uris(undefined, ["hello"])).toEqual([]);
  });

  test("that it lacks are not read either", async () => {
    const a = { server: at("a", profiled({}, { a: { servlets: ["viewing"], skills: [] } })) };
    const { error } = await send("resources/read", { uri: GUIDE }, a);
    expect(error).toMatchObject({ message: expect.stringMatching(/not found/i) });
    const views = await send("resources/list", {}, a);
    expect(JSON.stringify(views.result)).not.toContain("skill://");
  });
});

test("views of a tool of the profile are read, whatever resources it has", async () => {
  const a = at("a", profiled({}, { a: { tools: ["viewing:list"], resources: [] } }));
  const { views = {} } = bundle.servlets.find(({ name }) => name === "viewing")!.manifest;
  const uri = `ui://viewing/${Object.keys(views)[0]}`;
  expect((await send("resources/read", { uri }, { server: a })).error).toBeUndefined();
  const elsewhere = at("a", profiled({}, { a: { tools: ["hello:*"] } }));
  expect((await send("resources/read", { uri }, { server: elsewhere })).error).toBeDefined();
});

describe("changes of resources", () => {
  const UPDATED = "notifications/resources/updated";
  const told = steps({ do: "updated", url: "plan://resource" }, { do: "changed" });
  /** What clients at this endpoint hear of a resource, before they hear of a list. */
  const heardAt = async (endpoint: Sent) => {
    const headers = { "cf-connecting-ip": newAddress() };
    const client = await begin({ server: endpoint.server!, headers });
    await client.request("resources/subscribe", { uri: "plan://resource" });
    const own = await listened(client);
    const filter = { resourceSubscriptions: ["plan://resource"], resourcesListChanged: true };
    const { body, headers: more } = modern("subscriptions/listen", { notifications: filter });
    const stream = listenerOf(await post(body, { ...more, ...headers }, endpoint.server!));
    await stream.next();
    await callOf("plan", told, { ...whole, headers });
    const methods = [(await own.message())["method"], (await stream.next()).method];
    await Promise.all([own.drop(), stream.close()]);
    return methods;
  };

  test("come from servlets of the profile alone", async () => {
    expect(await heardAt(plans)).toEqual([UPDATED, UPDATED]);
    const changed = "notifications/resources/list_changed";
    expect(await heardAt(support)).toEqual([changed, changed]);
  });
});

test.each([
  ["its profile", { support: { servlets: ["hello"] } }, 3],
  ["another profile", { plans: { servlets: ["hello"] } }, 0],
])("a session hears of a deployment that changes %s", async (_what, changed, events) => {
  const client = await begin({ server: support.server! });
  const served = { ...bundle, profiles: { ...PROFILES, ...changed } };
  const later = new Kernel(served, { ...env, ...settings }).sealing;
  const heard = await runInDurableObject(objectOf(client), async (_object, state) => {
    const count = () => state.storage.sql.exec("SELECT seq FROM events").toArray().length;
    const before = count();
    const begun: Promise<unknown>[] = [];
    const waiting = Object.create(state, {
      waitUntil: { value: (work: Promise<unknown>) => void begun.push(work) },
      storage: { value: state.storage },
      id: { value: state.id },
    }) as DurableObjectState;
    void new Session(waiting, env, later);
    await Promise.all(begun);
    return count() - before;
  });
  expect(heard).toBe(events);
});

describe("a pinned argument", () => {
  test("is given, and not shown", async () => {
    expect(textIn(await callOf("greet", {}, support))).toContain("Ada");
    const { result } = await send("tools/list", {}, support);
    const greet = result!["tools"].find(({ name }: { name: string }) => name === "greet");
    expect(greet.inputSchema.properties).toEqual({});
    expect(greet.inputSchema.required ?? []).toEqual([]);
    expect(textIn(await callOf("greet", { name: "Eve" }, whole))).toContain("Eve");
  });

  test.each([["Eve"], ["Ada"], [null], [{}]])("is refused by name: %j", async (name) => {
    const { result } = await callOf("greet", { name }, support);
    expect(result).toMatchObject({ isError: true });
    expect(result!["content"][0].text).toContain("`name` is set by the server");
  });

  test("is not replaced by what a client writes beside the arguments", async () => {
    const pinned = { name: "Eve" };
    const params = { name: "greet", arguments: {}, pinned, ref: { pinned }, input: pinned };
    expect(textIn(await send("tools/call", params, { ...support, meta: { pinned } }))).toContain(
      "Ada",
    );
    const polluted = JSON.parse('{"__proto__": {"name": "Eve"}}') as object;
    const answer = await send("tools/call", { name: "greet", arguments: polluted }, support);
    expect(JSON.stringify(answer)).not.toContain("Eve");
  });

  test("is given again when its call goes on, as it was when the call began", async () => {
    const other = { ...PROFILES, support: { ...PROFILES["support"]!, arguments: {} } };
    const round = await beginTool("rounds", { rounds: 1 }, support);
    expect(Object.keys(round.requests)).toEqual(["pinned"]);
    const later = { server: at("support", profiled({}, other)) };
    const answer = await goOn(round, { pinned: accept("Bob", "name") }, {}, later);
    expect(textIn(answer)).toBe("Bob");
  });

  test("of a later deployment is not given to a call that began without it", async () => {
    const before = { ...PROFILES, support: { ...PROFILES["support"]!, arguments: {} } };
    const earlier = { server: at("support", profiled({}, before)) };
    const round = await beginTool("rounds", { rounds: 1, key: "mine" }, earlier);
    const answer = await goOn(round, { mine: accept("Bob", "name") }, {}, support);
    expect(textIn(answer)).toBe("Bob");
    const { result } = await callOf("rounds", { rounds: 1, key: "mine" }, support);
    expect(result).toMatchObject({ isError: true });
  });

  test("is given to each run of a task", async () => {
    const sent = { ...support, capabilities: { ...ABLE, ...TASKS } };
    const { taskId } = (await callOf("plan_required", {}, sent)).result!;
    const view = async () => (await send("tasks/get", { taskId }, sent)).result!;
    await expect.poll(async () => (await view())["inputRequests"]).toMatchObject({ ask_1: {} });
    const inputResponses = { ask_1: accept("Bob") };
    expect(await send("tasks/update", { taskId, inputResponses }, sent)).toMatchObject({
      result: {},
    });
    await expect.poll(async () => (await view())["status"]).toBe("completed");
    expect(saidIn(await view())).toEqual(["Bob"]);
  });
});

describe("what began at one endpoint is at no other", () => {
  test("a call that waits for its client", async () => {
    const round = await beginTool("plan", steps(ELICIT), support);
    const answers = { ask_1: accept("Bob") };
    for (const elsewhere of [plans, whole])
      expect(await goOn(round, answers, {}, elsewhere)).toMatchObject(refused(/another endpoint/));
    expect(saidIn(await goOn(round, answers))).toEqual(["Bob"]);
    const own = await beginTool("plan", steps(ELICIT), whole);
    expect(await goOn(own, answers, {}, support)).toMatchObject(refused(/another endpoint/));
  });

  test("a task", async () => {
    const able = { capabilities: { ...ABLE, ...TASKS } };
    const begun = await callOf("plan_always", steps(ELICIT), { ...support, ...able });
    const { taskId } = begun.result!;
    for (const elsewhere of [plans, whole]) {
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        const params = { taskId, inputResponses: {} };
        const answer = await send(method, params, { ...elsewhere, ...able });
        expect(answer).toMatchObject(refused(/Unknown task/));
      }
    }
    const there = await send("tasks/get", { taskId }, { ...support, ...able });
    expect(there.result).toMatchObject({ taskId });
    expect(there.result!["status"]).not.toBe("cancelled");
  });

  test("a call with a link, whose result is asked for by get_result", async () => {
    limited({ resultWaitMs: 0 });
    const linking = profiled({ LINKS: "on" });
    const from = { server: at("support", linking), capabilities: {} };
    const { result } = await callOf("plan", steps(ELICIT), from);
    const { id } = result!["structuredContent"];
    for (const other of [at("plans", linking), linking]) {
      const got = await callOf(GET_RESULT, { id }, { ...from, server: other });
      expect(textIn(got)).toContain("No call with this id");
    }
    expect(textIn(await callOf(GET_RESULT, { id }, from))).not.toContain("No call with this id");
  });

  test("a call with a link, which its person opens while the key may use the profile", async () => {
    const hash = new Uint8Array(
      await crypto.subtle.digest("SHA-256", new TextEncoder().encode("desk")),
    ).toHex();
    const having = (...scopes: string[]) =>
      profiled({ LINKS: "on", API_KEYS: JSON.stringify({ desk: { hash, scopes } }) });
    const headers = { authorization: "Bearer desk" };
    const from = { server: at("support", having("profile:support")), headers, capabilities: {} };
    const { id } = (await callOf("plan", steps(ELICIT), from)).result!["structuredContent"];
    const opened = async (app: typeof server) => {
      const person = browser(app);
      await person.send("/sign-in", { credential: "desk" });
      return (await person.fetch(`/ask/${id}`)).text;
    };
    expect(await opened(having("profile:support"))).toContain("Who?");
    expect(await opened(having("profile:plans"))).not.toContain("Who?");
    const lost = { ...from, server: at("plans", having("profile:plans")) };
    expect(textIn(await callOf(GET_RESULT, { id }, lost))).toContain("No call with this id");
  });

  test("a session, and its streams", async () => {
    const client = await begin({ server: support.server! });
    const [first] = [await planned(client, { do: "log", message: "one" }, ELICIT)];
    const event = await first.next();
    const known = { "mcp-session-id": client.id, "mcp-protocol-version": client.version };
    for (const other of [plans.server!, server]) {
      const ping = { jsonrpc: "2.0", id: 9, method: "ping" };
      expect((await post(ping, known, other)).status).toBe(404);
      for (const init of [
        { headers: { ...known, accept: "text/event-stream", "last-event-id": event!.id! } },
        { method: "DELETE", headers: known },
      ])
        expect((await other.fetch(new Request("http://localhost:8787/mcp", init))).status).toBe(
          404,
        );
    }
    expect(await isAlive(client)).toBe(true);
    const listed = await resultIn(await client.request("tools/list"));
    const names = listed["result"].tools.map(({ name }: { name: string }) => name);
    expect(names).toContain("greet");
    expect(names).not.toContain("echo");
    expect((await listened(client, event!.id)) satisfies object).toBeDefined();
    expect((await client.end()).status).toBe(204);
  });
});
