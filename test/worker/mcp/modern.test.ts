import { describe, expect, test } from "vitest";
import { answerOf, ask, callTool, eventsOf, modern, post, textOf, VERSION } from "../server.ts";
import { bundle as shipped } from "../../../src/bundle.gen.ts";
import { VERSION as OWN_VERSION } from "../../../src/server/kernel/core/version.ts";

const META = "io.modelcontextprotocol/";

describe("results", () => {
  test("say that they are complete and who gave them", async () => {
    const { result } = await callTool("greet", { name: "Ada" });
    expect(result).toEqual({
      content: [{ type: "text", text: "Hello, Ada!" }],
      resultType: "complete",
      _meta: { [`${META}serverInfo`]: { name: "edge-servlets", version: OWN_VERSION } },
    });
  });

  test("of server/discover declare what is served", async () => {
    const { result } = await ask("server/discover");
    expect(result?.["supportedVersions"]).toContain(VERSION);
    expect(result?.["capabilities"]).toMatchObject({
      tools: {},
      resources: {},
      prompts: {},
      completions: {},
      logging: {},
    });
    expect(result).toMatchObject({ ttlMs: expect.any(Number), cacheScope: "public" });
  });

  test.each(["tools/list", "resources/list", "resources/templates/list", "prompts/list"])(
    "of %s can be kept, and come in the same order again",
    async (method) => {
      const first = await ask(method);
      expect(first.result).toMatchObject({ ttlMs: expect.any(Number), cacheScope: "public" });
      expect(await ask(method)).toEqual(first);
    },
  );

  test("of tools/list are the same as events, and repeat the id of each request", async () => {
    const { body, headers } = modern("tools/list");
    const { result } = await ask("tools/list");
    for (const id of [2, "2", 2, "zwei – \u{1f600}"]) {
      const accept = { accept: "text/event-stream" };
      for (const more of [{}, accept]) {
        const answer = await answerOf(await post({ ...body, id }, { ...headers, ...more }));
        expect(answer).toMatchObject({ id, result });
      }
    }
  });

  // One such character doubles the size of a text in memory, and the time to encode it.
  test("of lists have no character beyond Latin-1 in the texts of the project's own servlets", () => {
    const found = shipped.servlets.flatMap(({ name, lists }) => {
      const [character] = /[^\0-\xff]/.exec(JSON.stringify(lists) ?? "") ?? [];
      return character === undefined ? [] : `${name} has ${character}`;
    });
    expect(found).toEqual([]);
  });

  test("of tools/call are not to be kept", async () => {
    const { result } = await callTool("greet", { name: "Ada" });
    expect(result).not.toHaveProperty("ttlMs");
  });
});

describe("required parts of a request", () => {
  const call = () => modern("tools/call", { name: "greet", arguments: { name: "Ada" } });

  test.each([
    ["mcp-protocol-version", undefined],
    ["mcp-protocol-version", "2025-11-25"],
    ["mcp-method", undefined],
    ["mcp-method", "tools/list"],
    ["mcp-method", "TOOLS/CALL"],
    ["mcp-name", undefined],
    ["mcp-name", "other"],
    ["mcp-name", "=?base64?Z3JlZXQ?="],
    ["mcp-name", "=?base64?Z3Jl!ZXQ=?="],
    ["mcp-name", "=?base64?Z3Jl ZXQ=?="],
  ])("header %s: %s is a mismatch", async (header, value) => {
    const { body, headers } = call();
    if (value === undefined) delete headers[header];
    else headers[header] = value;
    const { status, error, id } = await answerOf(await post(body, headers));
    expect({ status, code: error?.code, id }).toEqual({ status: 400, code: -32020, id: 1 });
  });

  test("a name in base64 agrees with the plain one", async () => {
    const { body, headers } = call();
    const { result } = await answerOf(
      await post(body, { ...headers, "mcp-name": "=?base64?Z3JlZXQ=?=" }),
    );
    expect(result?.["content"][0].text).toBe("Hello, Ada!");
  });

  test.each(["protocolVersion", "clientCapabilities"])("_meta without %s: -32602", async (key) => {
    const { body, headers } = call();
    delete (body.params._meta as Record<string, unknown>)[`${META}${key}`];
    const { status, error } = await answerOf(await post(body, headers));
    expect({ status, code: error?.code }).toEqual({ status: 400, code: -32602 });
  });

  test("a version that is not served: -32022, with those that are", async () => {
    const { body, headers } = call();
    body.params._meta[`${META}protocolVersion`] = "2099-01-01";
    const { status, error } = await answerOf(
      await post(body, { ...headers, "mcp-protocol-version": "2099-01-01" }),
    );
    expect({ status, code: error?.code }).toEqual({ status: 400, code: -32022 });
    expect(error?.data).toMatchObject({ requested: "2099-01-01" });
    expect(error?.data.supported).toContain(VERSION);
  });

  test("an unknown log level: -32602", async () => {
    const { error } = await ask("tools/list", {}, { [`${META}logLevel`]: "loud" });
    expect(error?.code).toBe(-32602);
  });
});

describe("headers that repeat arguments", () => {
  const call = (args: object, headers: Record<string, string>) => {
    const request = modern("tools/call", { name: "test_x_mcp_header", arguments: args });
    return post(request.body, { ...request.headers, ...headers }).then(answerOf);
  };

  test("must be there and agree", async () => {
    const args = { region: "eu" };
    expect((await call(args, { "mcp-param-region": "eu" })).error).toBeUndefined();
    expect((await call(args, {})).error?.code).toBe(-32020);
    expect((await call(args, { "mcp-param-region": "us" })).error?.code).toBe(-32020);
    expect((await call({}, { "mcp-param-region": "us" })).error?.code).toBe(-32020);
  });
});

describe("methods", () => {
  test.each([
    "initialize",
    "ping",
    "logging/setLevel",
    "nope",
    "__proto__",
    "subscriptions/listen",
  ])("%s is not there: -32601, 404", async (method) => {
    const { status, error } = await ask(method);
    expect({ status, code: error?.code }).toEqual({ status: 404, code: -32601 });
  });

  test.each([
    ["tools/call", { name: "nope" }],
    ["tools/call", { name: "__proto__" }],
    ["prompts/get", { name: "nope" }],
    ["resources/read", { uri: "nope://" }],
    ["tools/list", { cursor: "made up" }],
    ["tools/list", { cursor: btoa("tools:0:1") }],
    ["prompts/list", { cursor: 7 }],
    ["tools/call", { name: { toString: 1, valueOf: 1 } }],
    ["prompts/get", { name: "explain_status" }],
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "nope" }, argument: { name: "a", value: "" } },
    ],
    ["completion/complete", { ref: { type: "ref/other" }, argument: { name: "a", value: "" } }],
  ])("%s %o: -32602", async (method, params) => {
    const { status, error } = await ask(method, params);
    expect({ status, code: error?.code }).toEqual({ status: 200, code: -32602 });
  });

  test("arguments that do not fit give a result that says which", async () => {
    const { result } = await callTool("greet", { nme: "Ada" });
    expect(result?.["isError"]).toBe(true);
    expect(result?.["content"][0].text).toContain("nme");
  });

  test("notifications are taken, and answered with nothing", async () => {
    const { body, headers } = modern("notifications/cancelled", { requestId: 1 });
    const { id: _, ...notification } = body;
    const response = await post(notification, headers);
    expect(response.status).toBe(202);
    expect(await response.text()).toBe("");
  });

  test.each([
    ["no _meta", { method: "notifications/cancelled", params: { requestId: 1 } }],
    ["no params", { method: "notifications/roots/list_changed" }],
    ["params of another type", { method: "notifications/cancelled", params: [1] }],
    ["no jsonrpc", { jsonrpc: undefined, method: "notifications/cancelled" }],
    ["an unknown method", { method: "notifications/x" }],
  ])("a notification with %s is accepted: clients take a 400 for the end", async (_what, body) => {
    for (const headers of [{ "mcp-protocol-version": VERSION }, modern("x").headers]) {
      const response = await post({ jsonrpc: "2.0", ...body }, headers);
      expect(response.status).toBe(202);
      expect(await response.text()).toBe("");
    }
  });

  test("a request without _meta is still refused", async () => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const { status, error } = await answerOf(await post(body, modern("tools/list").headers));
    expect({ status, code: error?.code }).toEqual({ status: 400, code: -32602 });
  });

  test("a response has nothing to answer", async () => {
    const body = { jsonrpc: "2.0", id: 1, result: {}, params: modern("x").body.params };
    expect((await post(body, { "mcp-protocol-version": VERSION })).status).toBe(400);
  });
});

describe("notifications during a call", () => {
  const chatter = async (meta: object) => {
    const { body, headers } = modern("tools/call", { name: "chatter" }, { ...meta });
    return post(body, headers);
  };

  test("is JSON where nobody asked to hear", async () => {
    const response = await chatter({});
    expect(response.headers.get("content-type")).toBe("application/json");
  });

  test.each(["token", 7, 0])(
    "is progress under the token %s, always rising",
    async (progressToken) => {
      const response = await chatter({ progressToken });
      expect(response.headers.get("content-type")).toBe("text/event-stream");
      const events = await eventsOf(response);
      const progress = events.filter(({ method }) => method === "notifications/progress");
      expect(progress.map(({ params }) => params)).toEqual(
        [
          { progressToken, progress: 0, total: 20, message: "" },
          { progressToken, progress: 5, total: 20, message: "backwards" },
          { progressToken, progress: 10, total: 20, message: "" },
          { progressToken, progress: 20, total: 20, message: "" },
        ].map(({ message, ...rest }) => (message === "" ? rest : { ...rest, message })),
      );
      expect(events.at(-1)).toMatchObject({ id: 1, result: { resultType: "complete" } });
      expect(events).toHaveLength(5);
    },
  );

  test("is logs from the level that was asked for", async () => {
    const events = await eventsOf(await chatter({ [`${META}logLevel`]: "info" }));
    expect(events.slice(0, -1).map(({ params }) => params.data)).toEqual(["1", "2"]);
  });

  test("is dropped for a client that takes no event stream", async () => {
    const { body, headers } = modern("tools/call", { name: "chatter" }, { progressToken: 1 });
    const { result } = await answerOf(await post(body, { ...headers, accept: "application/json" }));
    expect(result?.["content"][0].text).toBe("said");
  });

  test("comes as a stream even when empty, for a client that takes nothing else", async () => {
    const { body, headers } = modern("tools/list");
    const response = await post(body, { ...headers, accept: "text/event-stream" });
    expect(await eventsOf(response)).toHaveLength(1);
  });
});

test("the request as a guest sees it", async () => {
  const { body, headers } = modern(
    "tools/call",
    { name: "echo_input", arguments: { a: null } },
    { progressToken: 5, [`${META}clientInfo`]: { name: "tester", version: "9" } },
  );
  const { result } = await answerOf(await post({ ...body, id: 77 }, { ...headers }));
  const input = JSON.parse(result?.["content"][0].text);
  expect(input.request).toEqual({ name: "echo_input", arguments: { a: null } });
  expect(input.context.id).toBe("77");
  expect(input.context._meta.progressToken).toBe("5");
  expect(input.context.client).toEqual({
    protocolVersion: VERSION,
    capabilities: {},
    name: "tester",
    version: "9",
    principal: "anonymous",
  });
});

test("a guest that asks a client that cannot answer ends the call: -32021, 400", async () => {
  const { status, error } = await callTool("test_missing_capability");
  expect({ status, code: error?.code }).toEqual({ status: 400, code: -32021 });
});

test("resources are found by the catalog, by templates, and by asking", async () => {
  const read = async (uri: string) => (await ask("resources/read", { uri })).result?.["contents"];
  expect((await read("http-status://index"))[0].mimeType).toBe("text/markdown");
  expect((await read("http-status://404"))[0].text).toContain("404");
  // Listed nowhere: untidy reads everything.
  expect(await read("untidy://unlisted")).toEqual([
    { uri: "untidy://unlisted", mimeType: "text/plain", blob: "b2xk" },
  ]);
  expect(await textOf("fine")).toBe("fine");
});
