import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { answerOf, ask, modern, post } from "../server.ts";
import { bundle, greet, send, serverOf } from "./key-holders.ts";

/** Access by API keys. */

describe("a key", () => {
  test("is its owner's until it expires", async () => {
    const hour = 3_600_000;
    const at = (ms: number) => ({ expires: new Date(Date.now() + ms).toISOString() });
    const server = await serverOf({ ada: at(hour), bob: at(-hour) });
    expect((await send(server, "ada", "tools/call", greet)).status).toBe(200);
    vi.setSystemTime(Date.now() + 2 * hour);
    expect((await send(server, "ada", "tools/call", greet)).status).toBe(401);
    vi.useRealTimers();
    const late = await send(server, "bob", "tools/call", greet);
    expect(late.status).toBe(401);
    expect(late.headers.get("www-authenticate")).toMatch(
      /^Bearer realm="mcp", error="invalid_token", error_description="The API key bob has expired/,
    );
    expect(await late.text()).toContain("has expired");
  });

  test.each([
    ["none", undefined],
    ["unknown", "Bearer eve"],
    ["another scheme's", "Basic YWRhOmFkYQ=="],
    ["empty", "Bearer "],
    ["two", "Bearer ada ada"],
    ["huge", `Bearer ${"a".repeat(100_000)}`],
  ])("that is %s lets nobody in", async (_kind, authorization) => {
    const server = await serverOf({ ada: {} });
    const { body, headers } = modern("tools/list");
    const response = await post(
      body,
      { ...headers, ...(authorization && { authorization }) },
      server,
    );
    expect(response.status).toBe(401);
    expect((await answerOf(response)).error?.message).not.toContain("ada");
  });

  test("that was revoked lets nobody in, and without any key nobody comes in", async () => {
    const list = async (...names: string[]) => {
      const server = await serverOf(Object.fromEntries(names.map((name) => [name, {}])));
      return (await send(server, "ada", "tools/list")).status;
    };
    expect([await list("ada", "bob"), await list("bob"), await list()]).toEqual([200, 401, 401]);
  });

  test.each([
    [{ API_KEYS: '{"ada":"123"}' }, "API_KEYS.ada"],
    [{ API_KEYS: "{" }, "API_KEYS: is not JSON"],
    // It would be the one whom the owner's passphrase lets in.
    [{ API_KEYS: `{"owner":"${"0".repeat(64)}"}` }, "API_KEYS: names of keys must be"],
    [{ API_KEYS: `{"ada":{"hash":"${"0".repeat(64)}","scopes":["nope"]}}` }, "nope"],
    [{ API_KEYS: `{"ada":{"hash":"${"0".repeat(64)}","scopes":["constructor"]}}` }, "constructor"],
    [{ API_KEYS: `{"ada":{"hash":"${"0".repeat(64)}","scopes":["a:b c:d"]}}` }, "white space"],
    [{ API_KEYS: `{"ada":"${"0".repeat(64)}"}`, AUTH: "none" }, "AUTH is none"],
    [{ SCOPES: '{"all":["*"]}' }, "hello:greet"],
    [{ SCOPES: '{"all":["a:b c:d"]}' }, "SCOPES.all.0: must be without white space"],
    [{ SCOPES: '{"operator":["a:b"]}' }, "SCOPES: operator is the scope of those who operate"],
    [{ SCOPES: '{"a b":["a:b"]}' }, "SCOPES: names of scopes must be without white space"],
    [{ LIMITS: '{"callsPerMinute":0.5}' }, "LIMITS.callsPerMinute: must be a whole number"],
    [{ LIMITS: '{"bodyBytess":1}' }, "LIMITS: has no bodyBytess (did you mean bodyBytes?)"],
    [
      { LIMITS: '{"bodyBytess":1,"speed":2}', RUN_LOG: "loud" },
      "LIMITS: has no bodyBytess (did you mean bodyBytes?), has no speed (see docs/configuration.md)",
    ],
    [
      { LIMITS: "{", RUN_LOG: "loud" },
      'RUN_LOG: Invalid option: expected one of "json"|"text"|"off"\nLIMITS: is not JSON',
    ],
    [
      { API_KEYS: '{"ada":{"hash":"0","scope":["a:b"]}}' },
      'API_KEYS.ada: Unrecognized key: "scope"',
    ],
    // Not a limit for which an operator knows a better number.
    [{ LIMITS: '{"bodyDepth":1}' }, "LIMITS: has no bodyDepth"],
    [{ LIMITS: '{"bodyBytes":-1}' }, "LIMITS.bodyBytes"],
  ])("is configured, or the server says what is wrong: %j", (settings, what) => {
    expect(() => createApp(new Kernel(bundle, { ...env, ...settings }))).toThrow(what);
  });
});

describe("scopes", () => {
  const names = async (response: Response, list: string) =>
    ((await answerOf(response)).result![list] as { name: string; uri: string }[]).map(
      ({ name, uri }) => uri ?? name,
    );

  test("show what they are for, in lists of their own", async () => {
    const server = await serverOf({
      ada: { scopes: ["greeter"] },
      bob: { scopes: ["reader"] },
      all: {},
    });
    expect(await names(await send(server, "ada", "tools/list"), "tools")).toEqual(
      expect.arrayContaining(["greet", "now"]),
    );
    expect(await names(await send(server, "ada", "tools/list"), "tools")).not.toContain("fetch");
    expect(await names(await send(server, "ada", "prompts/list"), "prompts")).toEqual([]);
    expect(await names(await send(server, "bob", "prompts/list"), "prompts")).not.toEqual([]);
    expect(await names(await send(server, "bob", "tools/list"), "tools")).not.toContain("greet");
    const { result } = await answerOf(await send(server, "ada", "prompts/list"));
    expect(result).toMatchObject({ cacheScope: "private" });
    // Of tools, a caller may have own ones.
    const all = await answerOf(await send(server, "all", "prompts/list"));
    expect(all.result).toMatchObject({ cacheScope: "public" });
  });

  test("that are missing are named with a 403, whichever revision is spoken", async () => {
    const server = await serverOf({ bob: { scopes: ["reader"] }, eve: { scopes: ["web:*"] } });
    const refused = await send(server, "bob", "tools/call", greet);
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toMatch(
      /error="insufficient_scope".*, scope="greeter"$/,
    );
    const { error } = await answerOf(refused);
    expect(error).toMatchObject({
      message: "The token lacks the scope greeter. Request a token with it.",
      data: { scope: "greeter" },
    });
    const older = await post(
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: greet },
      { authorization: "Bearer eve" },
      server,
    );
    expect(older.status).toBe(403);
    const page = await send(server, "eve", "resources/read", { uri: "http-status://404" });
    expect(page.status).toBe(403);
    for (const name of ["nope", { toString: 1, valueOf: 1 }]) {
      expect((await send(server, "eve", "tools/call", { ...greet, name })).status).toBe(200);
    }
  });
});

test("each run is a line of the log, and nothing of what went in or came out is in it", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  const server = createApp(new Kernel(bundle, { ...env, RUN_LOG: "json" }));
  await ask("tools/call", { name: "greet", arguments: { name: "Secretary" } }, {}, server);
  const lines = log.mock.calls.map(([text]) => String(text));
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({
    principal: "anonymous",
    protocol: "2026-07-28",
    servlet: "hello",
    subject: "greet",
    outcome: "returned",
    replayed: 0,
  });
  expect(lines.join()).not.toContain("Secretary");
  log.mockRestore();
});

test("nor is a URI that a caller has made up, and one run is one line", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  const server = createApp(new Kernel(bundle, { ...env, RUN_LOG: "text" }));
  await ask("resources/read", { uri: "http-status://404" }, {}, server);
  const params = { uri: "untidy:secretary\n2026-01-01 bob: vault open" };
  await post({ jsonrpc: "2.0", id: 1, method: "resources/read", params }, {}, server);
  const lines = log.mock.calls.map(([text]) => String(text));
  expect(lines.join()).toContain("http-status://{code}");
  expect(lines.join()).toContain(" untidy: ");
  expect(lines.join()).not.toMatch(/:\/\/404|secretary|\n/);
  log.mockRestore();
});

test("a servlet's lines do not look like others' in the log", async () => {
  const info = vi.spyOn(console, "info").mockImplementation(() => {});
  const server = createApp(new Kernel(bundle, env));
  const message = 'oh\n{"principal":"bob"}\r\u2028[hello] yes';
  const plan = { name: "plan", arguments: { steps: [{ do: "log", message }] } };
  const { body, headers } = modern("tools/call", plan);
  await post(body, headers, server);
  expect(info.mock.calls.join("\n")).toContain(
    '[durable] oh\n  {"principal":"bob"}\n  [hello] yes',
  );
  info.mockRestore();
});

describe("the page", () => {
  test("and /health tell those who have no key nothing of what it offers", async () => {
    const health = async (settings: object) => {
      const server = createApp(new Kernel(bundle, { ...env, ...settings }));
      return (await server.fetch(new Request("http://localhost:8787/health"))).json();
    };
    expect(await health({})).toMatchObject({ servlets: expect.arrayContaining(["hello"]) });
    const members = Object.keys((await health({ API_KEYS: "{}" })) as object);
    expect(members.filter((name) => name !== "$schema")).toEqual(["name", "version"]);
  });

  test("need not be looked at for the log to say so", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const server = createApp(new Kernel(bundle, env));
    for (let time = 0; time < 2; time++)
      await server.fetch(new Request("https://tools.example/health"));
    const lines = warn.mock.calls.filter(([line]) => String(line).includes("no authentication"));
    expect(lines).toHaveLength(1);
    warn.mockRestore();
  });
});
