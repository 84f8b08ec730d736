import { expect, test } from "vitest";
import { serverOf } from "./made.ts";

const server = (
  scope: string,
  tool: string,
) => `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
const server = new McpServer({ name: "keyed", version: "1.0.0" });
${scope}
server.registerTool("use", { description: "Uses it" }, async () => ({ content: [{ type: "text", text: String(${tool}) }] }));
await server.connect(new StdioServerTransport());
`;

const MANIFEST = JSON.stringify({
  env_vars: { API_URL: "${API_URL}", MODE: "fast" },
  allowed_secrets: [{ service: "key", user: "api", variable: "API_KEY" }],
});

test("module scope is run for the lists with placeholders, and in calls with the values", async () => {
  const servlet = await serverOf({
    "servlet.json": MANIFEST,
    "index.ts": server(
      `const { API_KEY } = process.env;
if (!API_KEY) { console.error("API_KEY is required"); process.exit(1); }
const base = new URL(process.env.API_URL!);`,
      "[API_KEY, base.host, process.env.MODE, process.env.OTHER].join()",
    ),
  });
  const variables = { API_URL: "https://api.example/v1", API_KEY: "secret-1" };
  const { result, logs } = await servlet.callTool("use", {}, { variables });
  expect(result.content).toEqual([{ type: "text", text: "secret-1,api.example,fast," }]);
  expect(logs).toEqual([]);
});

test("what a handler reads needs no module scope in calls", async () => {
  const servlet = await serverOf({
    "servlet.json": MANIFEST,
    "index.ts": server(`let made = 0; made++;`, "process.env.API_KEY + made"),
  });
  const variables = { API_URL: "https://api.example", API_KEY: "secret-2" };
  const { result } = await servlet.callTool("use", {}, { variables });
  expect(result.content).toEqual([{ type: "text", text: "secret-21" }]);
});

test.each([
  ["process.exit(3);", /index\.ts: .*process\.exit\(3\)/s],
  [
    `console.error("TOKEN is required"); process.exit(1);`,
    /process\.exit\(1\).*index\.ts:\d+.*TOKEN is required/s,
  ],
  ["await new Promise(() => {});", /awaits what never comes/],
  ["for (;;) {}", /does not come to an end/],
  [
    `await new McpServer({ name: "second", version: "1" }).connect(new StdioServerTransport());`,
    /2 servers, "second" and "keyed".*a folder of its own/s,
  ],
  [`await fetch("https://api.example");`, /fetch\(\) works only inside a handler/],
])("module scope that ends badly says why: %s", async (scope, message) => {
  await expect(serverOf({ "index.ts": server(scope, "1") })).rejects.toThrow(message);
});

test("a server that is never connected says what to do", async () => {
  await expect(
    serverOf({
      "index.ts": `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
const server = new McpServer({ name: "lonely", version: "1.0.0" });
setTimeout(() => server.connect(), 10);
`,
    }),
  ).rejects.toThrow(/No server is connected|A timer works only inside a handler/);
});

test("the modules run once for the values of an isolate, and anew for others", async () => {
  const servlet = await serverOf({
    "servlet.json": MANIFEST,
    "index.ts": server(
      `const key = process.env.API_KEY + process.env.API_URL;
console.log("modules run");
let calls = 0;`,
      "[key, ++calls, Date.now() > 0].join()",
    ),
  });
  const call = async (API_KEY: string) => {
    const variables = { API_URL: "/a", API_KEY };
    const { result, logs } = await servlet.callTool("use", {}, { variables, now: 5 });
    return [(result.content as { text: string }[])[0]!.text, logs];
  };
  expect(await call("one")).toEqual(["one/a,1,true", []]);
  expect(await call("one")).toEqual(["one/a,1,true", []]);
  expect(await call("two")).toEqual(["two/a,1,true", []]);
});

test("modules that fail with the values say why in each call, and a call goes on with its own values only", async () => {
  const failing = await serverOf({
    "servlet.json": MANIFEST,
    "index.ts": server(
      `const url = new URL(process.env.API_URL!);
if (url.protocol !== "https:") { console.error("Only https"); process.exit(1); }`,
      "url.host",
    ),
  });
  for (const _ of [1, 2]) {
    const variables = { API_URL: "http://a.example", API_KEY: "k" };
    const { result, logs } = await failing.callTool("use", {}, { variables });
    const text = "The servlet could not start: the server's log says why.";
    expect(result).toEqual({ isError: true, content: [{ type: "text", text }] });
    expect(logs.join("\n")).toMatch(/Only https.*index\.ts:5\)$/s);
  }
  const variables = { API_URL: "https://a.example", API_KEY: "k" };
  const { result } = await failing.callTool("use", {}, { variables });
  expect(result.content).toEqual([{ type: "text", text: "a.example" }]);

  const asking = await serverOf({
    "servlet.json": MANIFEST,
    "index.ts": server(
      `const key = process.env.API_KEY;`,
      `(await server.server.elicitInput({ message: "Name?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } })).content.name + key`,
    ),
  });
  const script = {
    capabilities: { elicitation: { form: {} } },
    answers: {
      "elicitation/create": [{ action: "accept" as const, content: { name: "Ada " } }],
    },
  };
  const first = await asking.callTool("use", {}, { ...script, variables });
  expect(first.result.content).toEqual([{ type: "text", text: "Ada k" }]);
  const { recorded } = first;
  const again = await asking.callTool("use", {}, { variables, recorded: recorded! });
  expect(again.result.content).toEqual([{ type: "text", text: "Ada k" }]);
  const other = { ...variables, API_KEY: "other" };
  await expect(
    asking.callTool("use", {}, { variables: other, recorded: recorded! }),
  ).rejects.toThrow(/Values of the servlet's environment have changed since this call began/);
  expect(JSON.stringify(recorded)).not.toContain('"k"');
});

test("calls that begin together with different values get their own", async () => {
  const servlet = await serverOf({
    "servlet.json": MANIFEST,
    "index.ts": server("const key = process.env.API_KEY;", "key"),
  });
  const keys = ["one", "two", "three", "two"];
  const calls = keys.map((API_KEY) =>
    servlet.callTool("use", {}, { variables: { API_URL: "/", API_KEY } }),
  );
  const texts = (await Promise.all(calls)).map(({ result }) => result.content);
  expect(texts).toEqual(keys.map((text) => [{ type: "text", text }]));
});

test.each(["new URL(key)", "JSON.parse(key)", "(() => { throw new Error(key); })()"])(
  "callers do not see the value with which module scope fails: %s",
  async (use) => {
    const servlet = await serverOf({
      "servlet.json": MANIFEST,
      "index.ts": server(
        `const key = process.env.API_KEY!;
if (key !== "placeholder") ${use};`,
        "1",
      ),
    });
    const variables = { API_URL: "/", API_KEY: "topsecret" };
    const { result, logs } = await servlet.callTool("use", {}, { variables });
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result)).not.toContain("topsecret");
    expect(logs.join()).toMatch(/Module scope failed: \w*Error/);
    expect(logs.join()).not.toContain("topsecret");
  },
);

const TWO = {
  env_vars: {},
  allowed_secrets: [
    { service: "db", user: "name", variable: "DB_USER" },
    { service: "db", user: "pass", variable: "DB_PASS" },
  ],
};
const SECRETS = { DB_USER: "ada-5521", DB_PASS: "ada-5521-Xy7Kq9" };

test.each([
  ["modules", "const pass = process.env.DB_PASS!; const name = () => process.env.DB_USER;", {}],
  ["a handler", "const name = () => process.env.DB_USER; const pass = undefined;", {}],
  [
    "an earlier call",
    "let pass: string | undefined; const name = () => (pass ??= process.env.DB_PASS);",
    { state: "session" },
  ],
])("secrets that %s read are hidden in errors and log lines", async (_who, scope, more) => {
  const use = `
const use = () => {
  name();
  const all = [name(), pass ?? process.env.DB_PASS];
  console.log("read", ...all, btoa("user:" + all[1]));
  throw new Error("refused: " + all.join());
};`;
  const servlet = await serverOf({
    "servlet.json": JSON.stringify({ ...TWO, ...more }),
    "index.ts": server(scope + use, "use()"),
  });
  for (let call = 0; call < 2; call++) {
    const { logs } = await servlet.callTool("use", {}, { variables: SECRETS, session: "s" });
    expect(logs.join()).toContain("refused: [hidden],[hidden]");
    for (const secret of ["ada-5521", "Xy7Kq9", btoa("user:ada-5521-Xy7Kq9").slice(8, 20)])
      expect(logs.join()).not.toContain(secret);
  }
});

test("process.env can be read, written and copied as in Node", async () => {
  const servlet = await serverOf({
    "servlet.json": MANIFEST,
    "index.ts": server(
      `const { env } = process;
const used = () => {
  env.MORE = "a";
  env.MORE = "b";
  env.MODE = "slow";
  env.PORT = 80 as never;
  delete env.API_URL;
  const { NODE_ENV, ...rest } = env;
  return JSON.stringify([rest, "API_URL" in env, "OTHER" in env, Object.hasOwn(env, "OTHER"), Object.keys(env)]);
};`,
      "used()",
    ),
  });
  const { result } = await servlet.callTool(
    "use",
    {},
    { variables: { API_URL: "/", API_KEY: "k" } },
  );
  expect(JSON.parse((result.content as { text: string }[])[0]!.text)).toEqual([
    { MODE: "slow", API_KEY: "k", MORE: "b", PORT: "80" },
    false,
    false,
    false,
    ["MODE", "API_KEY", "NODE_ENV", "MORE", "PORT"],
  ]);
});

test.each([
  [
    "an agent's",
    "McpAgent",
    `class A extends McpAgent { server = server; init() { env = this.env; } }
export default A.serve("/mcp");`,
  ],
  [
    "the one that fetch() gets",
    "createMcpHandler",
    `export default { fetch(request, given, context) { env = given; return createMcpHandler(server)(request, given, context); } };`,
  ],
])("env has the values and their names: %s", async (_, imported, worker) => {
  const servlet = await serverOf({
    "servlet.json": MANIFEST,
    "index.js": `import { ${imported} } from "agents/mcp";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
let env;
const server = new McpServer({ name: "worker", version: "1.0.0" });
server.registerTool("use", {}, async () => ({ content: [{ type: "text", text: [env.API_KEY, "API_KEY" in env, "OTHER" in env, { ...env }.MODE].join() }] }));
${worker}
`,
  });
  const variables = { API_URL: "/", API_KEY: "k" };
  const { result } = await servlet.callTool("use", {}, { variables });
  expect(result.content).toEqual([{ type: "text", text: "k,true,false,fast" }]);
});

const LIMITED = JSON.stringify({ env_vars: { API_KEY: "${API_KEY}" }, compute_limit: 0.05 });

test("modules may compute more than a call may, but not without end", async () => {
  const servlet = await serverOf({
    "servlet.json": LIMITED,
    "index.ts": server(
      `const key = process.env.API_KEY;
let sum = 0;
for (let at = 0; at < 300_000 || key === "endless"; at++) sum += at % 7;`,
      "key + (sum > 0)",
    ),
  });
  const call = async (API_KEY: string) =>
    (await servlet.callTool("use", {}, { variables: { API_KEY } })).result;
  const text = "fiftrue";
  expect(await call("fif")).toEqual({ content: [{ type: "text", text }] });
  expect(await call("endless")).toMatchObject({ isError: true });
  expect(await call("fif")).toEqual({ content: [{ type: "text", text }] });
});

test("a server that checks its variables is learnt without those that need not be there, or with their defaults", async () => {
  const scope = `const { MCP_TRANSPORT = "stdio", KEY_FILE } = process.env;
const key = process.env.STRIPE_KEY ?? "";
if (!["stdio", "http"].includes(MCP_TRANSPORT)) throw new Error("Unknown transport: " + MCP_TRANSPORT);
if (KEY_FILE) throw new Error("No such file: " + KEY_FILE);
if (!/^sk_/.test(key)) throw new Error("Expected sk_*");`;
  const manifest = (key: string) =>
    JSON.stringify({
      env_vars: { MCP_TRANSPORT: "${MCP_TRANSPORT:-}", STRIPE_KEY: key },
      allowed_secrets: [{ service: "file", user: "server", variable: "KEY_FILE" }],
    });
  const made = (key: string) =>
    serverOf({ "index.ts": server(scope, "key"), "servlet.json": manifest(key) });
  await expect(made("${STRIPE_KEY:-}")).rejects.toThrow(
    /Expected sk_\*[^]*give env_vars .* a default/,
  );
  const servlet = await made("${STRIPE_KEY:-sk_test}");
  const variables = { STRIPE_KEY: "sk_live" };
  const { result } = await servlet.callTool("use", {}, { variables });
  expect(result.content).toMatchObject([{ text: "sk_live" }]);
});

test("a list that makes a request is refused with what to do", async () => {
  const text = `import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
const server = new Server({ name: "a", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: await (await fetch("https://api.example.com/")).json() }));
server.connect();`;
  await expect(serverOf({ "index.ts": text })).rejects.toThrow(/"lists": "dynamic"/);
});
