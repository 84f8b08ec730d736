import { objectIn } from "../mcp/legacy/session-client.ts";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { answerOf, modern, post } from "../server.ts";
import { greet, send, serverOf, type Server } from "./key-holders.ts";

/** How much callers may have of everything. */

const newId = () => crypto.randomUUID();
const wait = { tool_id: "clock.wait", input: { seconds: 0.2 } };

function callOpen(server: Server, key: string, call: object = {}, call_id?: string) {
  const request = { tool_id: "hello.greet", input: { name: "Ada" }, call_id, ...call };
  return Promise.resolve(
    server.fetch(
      new Request("http://localhost:8787/tools/call", {
        method: "POST",
        headers: { "content-type": "application/json", "otc-api-key": key },
        body: JSON.stringify({ request }),
      }),
    ),
  );
}

function begin(server: Server, key: string, capabilities = {}): Promise<Response> {
  const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "a" } };
  const body = { jsonrpc: "2.0", id: 1, method: "initialize", params };
  return post(body, { authorization: `Bearer ${key}` }, server);
}

/** Begins a session, and has its object made. */
async function beginStored(server: Server, key: string): Promise<Response> {
  const begun = await begin(server, key);
  const params = { level: "debug" };
  const body = { jsonrpc: "2.0", id: 2, method: "logging/setLevel", params };
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id")! };
  return post(body, { authorization: `Bearer ${key}`, ...session }, server);
}

function callAs(server: Server, key: string, capabilities: object, call: Record<string, unknown>) {
  const meta = { "io.modelcontextprotocol/clientCapabilities": capabilities };
  const { body, headers } = modern("tools/call", call, meta);
  return post(body, { ...headers, authorization: `Bearer ${key}` }, server);
}

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const beginTask = (server: Server, key: string) =>
  callAs(server, key, TASKS, { name: "plan", arguments: { steps: [{ do: "sleep", ms: 4000 }] } });

function askAtLength(server: Server, key: string) {
  const message = Array.from({ length: 1000 }, newId).join("");
  const asking = { name: "plan", arguments: { steps: [{ do: "elicit", message }] } };
  return callAs(server, key, { elicitation: { form: {} } }, asking);
}

describe("limits", () => {
  const usual = { ...limits };
  /** Two callers of whom nothing was counted before. */
  const limited = async (
    others: object,
    work: (server: Server, ada: string, bob: string) => Promise<void>,
  ) => {
    const [ada, bob] = [newId(), newId()];
    configureLimits(others);
    const server = await serverOf({ [ada]: {}, [bob]: {} });
    try {
      await work(server, ada, bob);
    } finally {
      configureLimits(usual);
    }
  };

  test("bound how many guests wait at once", () =>
    limited({ waitingBytes: 1, roomMs: 0 }, async (server, ada, bob) => {
      const slow = { name: "wait", arguments: { seconds: 0.3 } };
      const refused = async () => {
        const calls = [ada, bob].map((one) => send(server, one, "tools/call", slow));
        const texts = (await Promise.all(calls)).map((response) => response.text());
        const all = await Promise.all(texts);
        return all.filter((text) => text.includes("Too many calls are waiting")).length;
      };
      // Guests of other tests may still wait for a moment.
      await expect.poll(refused).toBe(1);
    }));

  test("bound the calls of a minute, of each caller, and say when there may be more", () =>
    limited({ callsPerMinute: 3 }, async (server, ada, bob) => {
      const all = await Promise.all([1, 2, 3, 4, 5].map(() => send(server, ada, "tools/list")));
      expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
        200, 200, 200, 429, 429,
      ]);
      const refused = all.find(({ status }) => status === 429)!;
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      expect((await send(server, bob, "tools/list")).status).toBe(200);
    }));

  test("bound the calls of an address where anybody may call; all of a /64 are one", () =>
    limited({ callsPerMinute: 2 }, async () => {
      const server = createApp(new Kernel(bundle, env));
      const { body, headers } = modern("tools/list");
      const from = async (address: string) =>
        (await post(body, { ...headers, "cf-connecting-ip": address }, server)).status;
      const own = `2001:db8:${newId().slice(0, 4)}`;
      const all = [`${own}:1::5`, `${own}:1:2:3:4:5`, `${own}:1::6:7`, `${own}::5`, "192.0.2.77"];
      const statuses = [];
      for (const address of all) statuses.push(await from(address));
      expect(statuses).toEqual([200, 200, 429, 200, 200]);
    }));

  test("bound the calls of a minute over Open Tool Calling too", () =>
    limited({ callsPerMinute: 1 }, async (server, ada) => {
      const address = "http://localhost:8787/tools";
      const list = async () =>
        server.fetch(new Request(address, { headers: { "otc-api-key": ada } }));
      expect((await list()).status).toBe(200);
      const refused = await list();
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    }));

  test("bound the calls of a tool", () =>
    limited({ toolCallsPerMinute: 1 }, async (server, ada) => {
      const twice = [1, 2].map(() => send(server, ada, "tools/call", greet));
      expect(
        (await Promise.all(twice)).map(({ status }) => status).toSorted((a, b) => a - b),
      ).toEqual([200, 429]);
      expect((await send(server, ada, "tools/list")).status).toBe(200);
    }));

  test("bound the calls of a tool over Open Tool Calling too", () =>
    limited({ toolCallsPerMinute: 1 }, async (server, ada, bob) => {
      const all = [await callOpen(server, ada), await callOpen(server, ada)];
      expect(all.map(({ status }) => status)).toEqual([200, 429]);
      expect((await callOpen(server, bob)).status).toBe(200);
    }));

  test("are the platform's where it counts", async () => {
    const { LIMITED } = env as { LIMITED?: object };
    const [ada, bob] = [newId(), newId()];
    const server = await serverOf({ [ada]: {}, [bob]: {} }, { RATE_LIMIT: LIMITED });
    const all = [];
    for (let at = 0; at < 4; at++) all.push(await send(server, ada, "tools/list"));
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(all[3]!.headers.get("retry-after")).toBe("60");
    expect((await send(server, bob, "tools/list")).status).toBe(200);
  });

  test("bound what one caller has open over Open Tool Calling", () =>
    limited({ concurrentCalls: 5 }, async (server, ada) => {
      const many = Array.from({ length: 20 }, () => callOpen(server, ada, wait));
      const statuses = (await Promise.all(many)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 429)).toHaveLength(15);
      expect((await callOpen(server, ada)).status).toBe(200);
    }));

  test.each([
    ["sessions with something to keep", beginStored],
    ["tasks", beginTask],
    ["states that their clients cannot carry", askAtLength],
    ["calls with an id", (server: Server, key: string) => callOpen(server, key, {}, newId())],
  ])("bound what is kept for one caller: %s", (_what, keep) =>
    limited({ keptPerDay: 2 }, async (server, ada, bob) => {
      for (let at = 0; at < 2; at++) expect((await keep(server, ada)).status).toBe(200);
      const refused = await keep(server, ada);
      expect(refused.status).toBe(429);
      expect(await refused.text()).toContain(
        "stored sessions, tasks, states and calls per day (limit 2)",
      );
      expect((await keep(server, bob)).status).toBe(200);
      expect((await send(server, ada, "tools/call", greet)).status).toBe(200);
    }),
  );

  test.each([
    ["that the client asks for", { name: "plan_always", task: {} }],
    ["that calls become which wait", { name: "plan" }],
  ])("bound what is kept for one caller: tasks of sessions %s", (_what, more) =>
    limited({ keptPerDay: 2 }, async (server, ada) => {
      const begun = await begin(server, ada, { elicitation: {} });
      const session = { "mcp-session-id": begun.headers.get("mcp-session-id")! };
      const headers = { ...session, authorization: `Bearer ${ada}` };
      const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
      await post(initialized, headers, server);
      const steps = [{ do: "elicit" }];
      const params = { arguments: { steps }, ...more };
      const call = (id: number) =>
        post({ jsonrpc: "2.0", id, method: "tools/call", params }, headers, server);
      const [one, two] = [await call(2), await call(3)];
      expect(await two.text()).toContain("stored sessions, tasks, states and calls per day");
      await one.body?.cancel();
    }),
  );

  const long = "x".repeat(9000);
  test.each([
    ["name", { clientInfo: { name: long, version: "1" } }],
    ["version", { clientInfo: { name: "a", version: long } }],
    ["capability", { capabilities: { experimental: { a: { [long]: {} } } } }],
    ["list of a capability", { capabilities: { roots: Array.from({ length: 5000 }, () => 0) } }],
    ["name in wide letters", { clientInfo: { name: "字".repeat(4500), version: "1" } }],
  ])("bound what a session keeps of its client: a long %s", (_what, more) =>
    limited({ keptPerDay: 1 }, async (server, ada) => {
      const params = { protocolVersion: "2025-11-25", capabilities: {}, ...more };
      const body = { jsonrpc: "2.0", id: 1, method: "initialize", params };
      const refused = await post(body, { authorization: `Bearer ${ada}` }, server);
      expect(refused.headers.get("mcp-session-id")).toBeNull();
      const { error } = await answerOf(refused);
      expect(error?.code).toBe(-32602);
      expect(error?.message).toContain("too large to be stored");
      // It counts nothing, and the next may be as long as the limit says.
      const name = "x".repeat(limits.clientBytes - 100);
      const fits = { ...params, capabilities: {}, clientInfo: { name, version: "1" } };
      const begun = await post(
        { ...body, params: fits },
        { authorization: `Bearer ${ada}` },
        server,
      );
      expect(begun.headers.get("mcp-session-id")).not.toBeNull();
    }),
  );

  // They are stored with the client, and with what the call says of it.
  test.each<[string, object]>([
    ["capabilities", { a: "x".repeat(1.25 * 1024 * 1024) }],
    ["names of capabilities", { ["x".repeat(1.25 * 1024 * 1024)]: {} }],
    ["numbers in capabilities", { a: Array.from({ length: 170_000 }, () => 0) }],
  ])("bound the bytes that are kept with a task: %s count", (_what, experimental) =>
    limited({ keptPerDay: 3 }, async (server, ada) => {
      const large = { name: "plan", arguments: { steps: [{ do: "sleep", ms: 4000 }] } };
      const { result } = await answerOf(
        await callAs(server, ada, { ...TASKS, experimental }, large),
      );
      expect(result?.["taskId"]).toBeDefined();
      expect((await beginTask(server, ada)).status).toBe(429);
    }),
  );

  test("bound the bytes that are kept: each MiB counts", () =>
    limited({ keptPerDay: 3 }, async (server, ada) => {
      const message = "x".repeat(2.5 * 1024 * 1024);
      const large = { name: "plan", arguments: { steps: [{ do: "sleep", ms: 4000, message }] } };
      const { result } = await answerOf(await callAs(server, ada, TASKS, large));
      expect(result?.["taskId"]).toBeDefined();
      expect((await beginTask(server, ada)).status).toBe(429);
    }));

  test("bound what a task comes to keep; it ends, and says that what it sent is sent", () =>
    limited({ keptPerDay: 2 }, async (server, ada) => {
      const large = "x".repeat(2.5 * 1024 * 1024);
      const sent = vi
        .spyOn(globalThis, "fetch")
        .mockImplementation(async () => new Response(large));
      const steps = [{ do: "http", method: "POST", url: "https://a.example/" }];
      const call = { name: "plan_always", arguments: { steps } };
      const { result } = await answerOf(await callAs(server, ada, TASKS, call));
      const meta = { "io.modelcontextprotocol/clientCapabilities": TASKS };
      const { body, headers } = modern("tasks/get", { taskId: result?.["taskId"] }, meta);
      const get = async () =>
        answerOf(await post(body, { ...headers, authorization: `Bearer ${ada}` }, server));
      await expect.poll(async () => (await get()).result?.["status"]).toBe("failed");
      const { message } = (await get()).result!["error"];
      expect(message).toContain("stored sessions, tasks, states and calls per day (limit 2)");
      expect(message).toContain("Its outcome is unknown");
      expect(sent).toHaveBeenCalledTimes(1);
      sent.mockRestore();
    }));

  const large = "x".repeat(2.5 * 1024 * 1024);

  test("bound what a call that goes on comes to keep; its retry sends nothing twice", () =>
    // Guests of other tests may still wait.
    limited({ keptPerDay: 2, waitingBytes: 1e12, waitingBytesOfOne: 1e12 }, async (server, ada) => {
      const sent = vi
        .spyOn(globalThis, "fetch")
        .mockImplementation(async () => new Response(large));
      const posting = { do: "http", method: "POST", url: "https://a.example/" };
      const call = { name: "plan", arguments: { steps: [{ do: "elicit" }, posting] } };
      const asks = { elicitation: { form: {} } };
      const asking = await answerOf(await callAs(server, ada, asks, call));
      expect(asking.error).toBeUndefined();
      const { requestState, inputRequests } = asking.result!;
      const [key] = Object.keys(inputRequests);
      const inputResponses = { [key!]: { action: "accept", content: { value: "a" } } };
      const answer = async () =>
        answerOf(await callAs(server, ada, asks, { ...call, requestState, inputResponses }));
      const { error } = await answer();
      expect(error?.message).toContain(
        "stored sessions, tasks, states and calls per day (limit 2)",
      );
      expect(error?.message).toContain("Its outcome is unknown");
      configureLimits({ keptPerDay: 10 });
      expect(JSON.stringify(await answer())).toContain("It was not sent again");
      expect(sent).toHaveBeenCalledTimes(1);
      sent.mockRestore();
    }));

  test("bound the bytes of responses that are kept by an id, and lose none", () =>
    limited({ keptPerDay: 4 }, async (server, ada) => {
      const call = { input: { name: large } };
      expect((await callOpen(server, ada, call, "one")).status).toBe(200);
      // There is no room for this one, which its client gets again as long as its object lives.
      for (let retry = 0; retry < 2; retry++) {
        const response = await callOpen(server, ada, call, "two");
        expect(await response.text()).toContain("Hello, xxx");
      }
      expect(await (await callOpen(server, ada, call, "one")).text()).toContain("Hello, xxx");
      for (const id of ["one", "two"]) {
        const name = new TextEncoder().encode(JSON.stringify([ada, id]));
        const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", name)).toHex();
        await evictDurableObject(env.CALL_RECORDS!.getByName(digest));
      }
      expect(await (await callOpen(server, ada, call, "one")).text()).toContain("Hello, xxx");
      const gone = await (await callOpen(server, ada, call, "two")).text();
      expect(gone).toContain("This call has ended, but its response was not kept");
      expect((await callOpen(server, ada, {}, "three")).status).toBe(429);
    }));

  test.each([
    ["are counted", 3, 4],
    ["are the newest where their caller may keep no more", 1, 1],
  ])(
    "bound the bytes that sessions keep for clients that reconnect: they %s",
    (_what, keptPerDay, kept) =>
      limited({ keptPerDay }, async (server, ada) => {
        const begun = await begin(server, ada);
        const id = begun.headers.get("mcp-session-id")!;
        const headers = { "mcp-session-id": id, authorization: `Bearer ${ada}` };
        const steps = [{ do: "log", message: large.slice(0, 6e5) }];
        const params = { name: "plan_never", arguments: { steps } };
        for (let call = 2; call < 6; call++) {
          const body = { jsonrpc: "2.0", id: call, method: "tools/call", params };
          await (await post(body, headers, server)).text();
        }
        const session = env.SESSIONS!.get(env.SESSIONS!.idFromString(await objectIn(id)));
        const stored = await runInDurableObject(session, (_object, { storage }) =>
          storage.sql.exec("SELECT 1 FROM events WHERE size > 5e5").toArray(),
        );
        expect(stored).toHaveLength(kept);
        expect((await beginStored(server, ada)).status).toBe(429);
      }),
  );

  test("bound what one caller has open, while others are served", () =>
    limited(
      { concurrentCalls: 20, waitingBytes: 1e9, waitingBytesOfOne: 1e9 },
      async (server, ada, bob) => {
        const slow = { name: "wait", arguments: { seconds: 1 } };
        const many = Array.from({ length: 1000 }, () => send(server, ada, "tools/call", slow));
        expect((await send(server, bob, "tools/call", greet)).status).toBe(200);
        const all = await Promise.all(many);
        const refused = all.filter(({ status }) => status === 429);
        expect(refused).toHaveLength(980);
        expect(refused[0]!.headers.get("retry-after")).toBe("1");
        await Promise.all(all.map((response) => response.text()));
        expect((await send(server, ada, "tools/call", greet)).status).toBe(200);
      },
    ));

  test("bound the memory of one caller's guests that wait: of others only what the host keeps for them", () =>
    limited({ waitingBytesOfOne: 5 * 1024 * 1024 }, async (server, ada) => {
      const slow = { name: "wait", arguments: { seconds: 0.3 } };
      const all = Array.from({ length: 8 }, async () =>
        (await send(server, ada, "tools/call", slow)).text(),
      );
      for (const text of await Promise.all(all)) expect(text).toContain("Waited");
    }));

  test("bound the ids that clients make up", () =>
    limited({ idCharacters: 5 }, async (server, ada) => {
      expect((await callOpen(server, ada, {}, "12345")).status).toBe(200);
      const refused = await callOpen(server, ada, {}, "123456");
      expect(refused.status).toBe(400);
      expect(await refused.text()).toContain("at most 5 characters");
    }));

  test("bound the URIs that are read", () =>
    limited({ urlCharacters: 50 }, async (server, ada) => {
      const read = await send(server, ada, "resources/read", { uri: `a:${"b".repeat(50)}` });
      expect((await answerOf(read)).error?.message).toContain("(limit 50)");
    }));

  test("need what counts: without it the server does not start", async () => {
    const LIMITS = JSON.stringify({ callsPerMinute: 5 });
    const begun = serverOf({ ada: {} }, { LIMITS, QUOTAS: undefined });
    await expect(begun).rejects.toThrow("QUOTAS");
    configureLimits(usual);
  });

  test("bound the HTTP requests of a call", () =>
    limited({ httpRequests: 2 }, async (server, ada) => {
      const sent = vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("ok"));
      const steps = [1, 2, 3].map((at) => ({ do: "http", url: `https://a.example/${at}` }));
      const called = await send(server, ada, "tools/call", {
        name: "plan",
        arguments: { steps },
      });
      const { said } = (await answerOf(called)).result!["structuredContent"];
      expect(said.slice(0, 2)).toEqual([
        [200, "ok"],
        [200, "ok"],
      ]);
      expect(said[2]).toContain("too many HTTP requests in one call (limit 2)");
      expect(sent).toHaveBeenCalledTimes(2);
      sent.mockRestore();
    }));

  test.each([
    ["nested too deeply", `${"[".repeat(70)}${"]".repeat(70)}`, "nested"],
    ["nested a million deep", `${"[".repeat(1e6)}${"]".repeat(1e6)}`, "nested"],
    ["with too many members", JSON.stringify(Array.from({ length: 200_001 }, () => 0)), "members"],
  ])("refuse a body %s", async (_what, args, why) => {
    const { body, headers } = modern("tools/call", { name: "greet", arguments: "ARGS" });
    const refused = await post(JSON.stringify(body).replace('"ARGS"', args), headers);
    expect(refused.status).toBe(413);
    expect((await answerOf(refused)).error?.message).toContain(why);
  });
});
