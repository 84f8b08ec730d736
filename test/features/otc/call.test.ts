import { features } from "../../all-features.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import type { Bundle } from "../../../src/server/kernel/kernel.ts";
import { ask, callTool } from "../../worker/server.ts";
import {
  call,
  examplesAs,
  failureOf,
  list,
  plainOf,
  post,
  server,
  valueOf,
  type Json,
} from "./client.ts";
import { EMAILS, examples } from "./examples.ts";
import { wrongAsPublished, wrongRequest } from "./published.ts";

/** HTTP requests of the guests. */
let asked: { url: string; authorization: string | null }[];

beforeEach(() => {
  asked = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const { url, headers } = new Request(input, init);
    asked.push({ url, authorization: headers.get("authorization") });
    return url.startsWith("https://gmail.") ? Response.json(EMAILS) : new Response("sent");
  });
});
afterEach(() => vi.restoreAllMocks());

describe("the examples of the specification", () => {
  const servlets = examples.map(({ toolkit, tool, manifest }) =>
    examplesAs(toolkit, [tool], manifest),
  );
  const own = plainOf({ features, servlets });

  test.each(examples)("$definition.id", async ({ request, value, definition }) => {
    expect(wrongRequest({ request })).toEqual([]);
    const answer = await post({ request }, own);
    expect(valueOf(answer)).toEqual(value);
    expect("value" in answer.result!).toBe(definition.output_schema !== null);
    expect(answer.result).toMatchObject({
      call_id: request["call_id"],
      duration: expect.any(Number),
    });
  });

  test("are all that is listed", async () => {
    const { tools } = await list(own);
    expect(tools).toEqual(examples.map(({ definition }) => definition));
  });

  test("use what they are lent", async () => {
    for (const { request } of examples) await post({ request }, own);
    expect(asked).toEqual([
      {
        url: "https://gmail.example/user_123?q=is:unread",
        authorization: "Bearer ya29.a0AfH6SMC...",
      },
      { url: "https://twilio.example/", authorization: "TWILIO_SECRET_VALUE" },
    ]);
  });

  test("fail as the specification's do", async () => {
    const answer = await post(
      { request: { tool_id: "Doorbell.Ring", input: { doorbell_id: "x" } } },
      own,
    );
    expect(failureOf(answer)).toEqual({ message: "Doorbell ID not found" });
  });
});

test("the schema as it was published takes no value, which is its mistake", async () => {
  const { result } = await call("hello.greet", { name: "Ada" });
  expect(wrongAsPublished(result).join()).toContain("value");
  expect(wrongAsPublished({ call_id: "1", success: true })).toEqual([]);
});

describe("POST /tools/call", () => {
  test("calls the tool that MCP calls", async () => {
    const { result } = await callTool("greet", { name: "Ada" });
    expect(valueOf(await call("hello.greet", { name: "Ada" }))).toBe(result?.["content"][0].text);
  });

  test("makes a call_id where there is none", async () => {
    const ids = [await call("clock.now"), await call("clock.now")].map(
      ({ result }) => result?.["call_id"],
    );
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(ids[0]).not.toBe(ids[1]);
  });

  test("runs without input and context", async () => {
    const answer = await post({ request: { tool_id: "http_status.list_statuses" } });
    expect((valueOf(answer) as Json)["statuses"]).toContainEqual(
      expect.objectContaining({ code: 404, name: "Not Found" }),
    );
  });

  test.each<[string, Json, unknown]>([
    ["http_status.lookup_status", { code: 404 }, expect.objectContaining({ name: "Not Found" })],
    ["hello.greet", { name: "Ada" }, "Hello, Ada!"],
    [
      "otc.Plain",
      { what: "blocks" },
      [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    ],
    ["otc.Add", { a: 0.5, b: -0.5 }, 0],
    ["seasonal.pick_plums", { n: 1 }, "picked"],
    ["clock.wait", { seconds: 0 }, undefined],
  ])("%s of %j gives %j", async (tool, input, value) => {
    expect(valueOf(await call(tool, input))).toEqual(value);
  });

  test("says what a tool says that fails", async () => {
    const { message } = failureOf(await call("http_status.lookup_status", { code: 599 }));
    expect(message).toContain("no registered HTTP status code 599");
  });

  test.each([
    ["faulty.trap", /crashed/],
    ["faulty.not_json", /not JSON/],
  ])("%s fails with 200", async (tool, why) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    expect(failureOf(await call(tool))["message"]).toMatch(why);
  });

  test.each<[string, Json, RegExp[]]>([
    [
      "approval.request_approval",
      { what: "Paint" },
      [/Please approve: Paint/, /approve \(boolean, required\): Approve: Yes/, /note \(string\)/],
    ],
    ["otc.Plain", { what: "roots" }, [/which folders/]],
    ["durable.rounds", { rounds: 1 }, [/Name 1\?/, /name \(string, required\)/]],
    ["durable.plan", { steps: [{ do: "sample", message: "Say it" }] }, [/Of a model: .*Say it/]],
    [
      "durable.plan",
      { steps: [{ do: "elicit_url", message: "Pay", url: "https://pay.example/" }] },
      [/Pay \(https:\/\/pay\.example\/\)/],
    ],
  ])("%s of %j says what it would ask for", async (tool, input, contents) => {
    const { can_retry, additional_prompt_content } = failureOf(await call(tool, input));
    expect(can_retry).toBe(true);
    for (const content of contents) expect(additional_prompt_content).toMatch(content);
  });

  test.each<[tool: string, input: Json, message: RegExp]>([
    ["approval.request_approval", { what: "Paint" }, /^This call needs an answer from the user/],
    ["durable.plan", { steps: [{ do: "roots" }] }, /^This call needs the client's roots/],
    ["told.told", { through: "elicit", text: '{"message":"?"}' }, /^This call needs an answer/],
    ["durable.rounds", { rounds: 1 }, /^This call needs an answer from the user/],
  ])("%s of %j says that nobody can be asked", async (tool, input, why) => {
    const { message, developer_message } = failureOf(await call(tool, input));
    expect(message).toMatch(why);
    expect(message).toMatch(/cannot be asked: Open Tool Calling/);
    expect(developer_message).toBeUndefined();
  });

  test.each([
    { message: { toString: 1 } },
    { message: 7, requestedSchema: { properties: { a: { type: { toString: 1 } } } } },
    { message: "?", requestedSchema: { properties: { a: { enum: [{ toString: 1 }] } } } },
  ])("fails with 200 if a tool asks for something other than a text: %j", async (params) => {
    const through = { through: "elicit", text: JSON.stringify(params) };
    expect(failureOf(await call("told.told", through))["message"]).toMatch(
      /cannot be asked|cannot be used/,
    );
  });

  test("fails with its own message if a tool asks for a token by something other than a text", async () => {
    const credentials = {
      through: "token",
      text: '{"id":{"toString":1},"client_id":{"toString":1}}',
    };
    const { message } = failureOf(await call("told.told", credentials));
    expect(message).toMatch(/get_access_token: client_id must be a string/);
  });

  test("keeps the first requests only of a tool that asks again and again", async () => {
    const step = { do: "elicit", message: "x".repeat(1000), catches: true };
    const steps = [...Array.from({ length: 100 }, () => step), { do: "fail" }];
    const { additional_prompt_content: content } = failureOf(await call("durable.plan", { steps }));
    expect(content.length).toBeGreaterThan(limits.errorCharacters);
    expect(content.length).toBeLessThan(limits.errorCharacters + 2 * step.message.length);
  });

  test("succeeds where its tool goes on without an answer", async () => {
    const step = { do: "elicit", catches: true };
    const answer = await call("durable.plan", { steps: [step] });
    expect(valueOf(answer)).toMatchObject({ said: ["cannot-ask"] });
  });

  test("takes null for an optional member of the input as none", async () => {
    const answer = await call("approval.request_approval", { what: "Paint", amount: null });
    expect(failureOf(answer)["additional_prompt_content"]).toContain("Please approve: Paint");
  });

  test("tells the tool who calls, and the trace", async () => {
    const context = {
      authorization: [{ id: "google", token: "t" }],
      secrets: [{ id: "TWILIO_API_KEY", value: "s" }],
      user_id: "u",
    };
    const answer = await call("otc.Look", {}, { context, trace_id: "trace_1" });
    expect(valueOf(answer)).toMatchObject({
      principal: "anonymous",
      meta: { trace_id: "trace_1" },
    });
  });

  test("is stopped where its client leaves", async () => {
    vi.spyOn(console, "info").mockImplementation(() => {});
    const leaving = new AbortController();
    const request = new Request("http://localhost:8787/tools/call", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ request: { tool_id: "clock.wait", input: { seconds: 30 } } }),
      signal: leaving.signal,
    });
    const response = server.fetch(request);
    setTimeout(() => leaving.abort(), 50);
    const { result } = (await (await response).json()) as Json;
    expect(result.error.message).toContain("The client has left");
  });
});

describe("$schema", () => {
  const PATH = "spec/http/1.0/openapi.json";
  const request = { tool_id: "clock.now" };

  test.each([
    "otc://1.0",
    "urn:oxp:1.0",
    `https://github.com/OpenToolCalling/Specification/tree/main/${PATH}`,
    `https://github.com/OpenExecProtocol/Specification/blob/45b1208/${PATH}`,
    `https://raw.githubusercontent.com/OpenToolCalling/Specification/refs/heads/main/${PATH}`,
    "https://github.com/ArcadeAI/OpenToolCalling/tree/main/specification/http/1.0/openapi.json",
  ])("%s is served, and answered", async ($schema) => {
    const answer = await post({ $schema, request });
    expect([answer.status, answer["$schema"]]).toEqual([200, $schema]);
  });

  test("is the latest where there is none", async () => {
    const { $schema } = await post({ request });
    expect($schema).toBe(`https://github.com/OpenToolCalling/Specification/tree/main/${PATH}`);
    expect((await list())["$schema"]).toBe($schema);
  });

  test.each([
    "otc://2.0",
    "",
    1,
    null,
    "https://github.com/OpenToolCalling/Specification/tree/main/spec/http/2.0/openapi.json",
    `https://evil.example/OpenToolCalling/Specification/tree/main/${PATH}`,
  ])("%j is not served", async ($schema) => {
    const { status, message } = await post({ $schema, request });
    expect(status).toBe(400);
    expect(message).toContain("$schema");
  });
});

describe("versions", () => {
  const kit = (version: string): Bundle["servlets"][number] =>
    examplesAs(`kit-${version}`, version === "1.0.0" ? ["Add", "Ring"] : ["Add"], {
      toolkit: "Kit",
      version,
      prefix: `v${version}`,
    });
  const versions = plainOf({ features, servlets: ["1.0.0", "10.0.0", "2.1.0", "2.0.0"].map(kit) });
  const SUM = { a: 1, b: 2 };

  test("stand side by side", async () => {
    const { tools } = await list(versions);
    const ids = tools.map(({ id }: Json) => id);
    expect(ids).toHaveLength(5);
    for (const id of ids) {
      const input = id.includes("Add") ? SUM : { doorbell_id: "doorbell42" };
      expect((await call(id, input, {}, versions)).status).toBe(200);
    }
  });

  test.each(["Kit.Add", "Kit.Add@1", "Kit.Add@2", "Kit.Add@2.1.0", "Kit.Add@10.0.0", "Kit.Ring"])(
    "%s is there",
    async (id) => {
      const input = id.includes("Add") ? SUM : { doorbell_id: "doorbell42" };
      expect((await call(id, input, {}, versions)).status).toBe(200);
    },
  );

  test.each([
    [
      "Kit.Add@3",
      /Unknown version 3\.0\.0 of Kit\.Add\. Available: 10\.0\.0, 2\.1\.0, 2\.0\.0, 1\.0\.0/,
    ],
    ["Kit.Add@2.1.1", /Unknown version 2\.1\.1/],
    ["Kit.Ring@2", /Unknown version 2\.0\.0 of Kit\.Ring/],
    ["Kit.Sub", /Unknown tool Kit\.Sub/],
  ])("%s is not", async (id, why) => {
    const { status, message } = await call(id, SUM, {}, versions);
    expect(status).toBe(400);
    expect(message).toMatch(why);
  });

  test("MCP sees the newest", async () => {
    const { result } = await ask("tools/list", {}, {}, versions);
    expect(result?.["tools"].map(({ name }: Json) => name)).toEqual(["v10.0.0-Add"]);
  });
});
