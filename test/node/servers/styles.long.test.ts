import { expect, test } from "vitest";
import type { ServletUnderTest } from "../../../src/tools/testing/index.ts";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { folderOf, serverOf } from "./made.ts";

const V1 = `import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
`;

const CONNECTED = `
async function main() {
  await server.connect(new StdioServerTransport());
  console.error("running");
}
main().catch(() => process.exit(1));
`;

/** The text of a tool's result. */
async function say(servlet: ServletUnderTest, name: string, args: Record<string, unknown> = {}) {
  const { result } = await servlet.callTool(name, args);
  const [block] = result.content as { text?: string }[];
  return result.isError === true ? { failed: block?.text } : block?.text;
}

test("McpServer of the first generation: all forms of tool(), and what is registered with a config", async () => {
  const servlet = await serverOf({
    "index.ts": `#!/usr/bin/env node
${V1}
const server = new McpServer({ name: "forms", version: "1.0.0" });
const text = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });
const hints = { readOnlyHint: true };
server.tool("bare", () => text("bare"));
server.tool("told", "Is told about", (extra) => text(typeof extra.signal));
server.tool("shaped", { a: z.number().default(2) }, ({ a }) => text(String(a * 2)));
server.tool("hinted", "With hints", hints, () => text("hinted"));
server.tool("both", { a: z.string() }, hints, ({ a }) => text(a));
server.tool("all", "With all", { a: z.coerce.number().int().positive() }, { title: "All" }, ({ a }) => text(String(a)));
server.registerTool("sum", {
  title: "Sum", description: "Adds", inputSchema: { a: z.number().int(), b: z.int().min(0), mail: z.email().optional(), code: z.string().regex(/^[A-Z]+$/).optional() }, outputSchema: { sum: z.number() },
}, async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }));
server.registerTool("gone", { description: "Is removed" }, () => text("gone")).remove();
server.registerTool("off", { description: "Is off" }, () => text("off")).disable();
const renamed = server.registerTool("old", { description: "Is renamed" }, () => text("renamed"));
renamed.update({ name: "new", description: "Was renamed" });
${CONNECTED}`,
  });
  const { tools } = await servlet.list();
  expect(tools.map(({ name }) => name)).toEqual([
    "bare",
    "told",
    "shaped",
    "hinted",
    "both",
    "all",
    "sum",
    "new",
  ]);
  const byName = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  expect(byName["bare"]!.inputSchema).toEqual({ type: "object", properties: {} });
  // What zod adds to the author's words is left out.
  expect(byName["sum"]!.inputSchema.properties).toEqual({
    a: { type: "integer" },
    b: { type: "integer", minimum: 0 },
    mail: { type: "string", format: "email" },
    code: { type: "string", pattern: "^[A-Z]+$" },
  });
  expect(byName["hinted"]!.annotations).toEqual({ readOnlyHint: true });
  expect(byName["all"]).toMatchObject({ description: "With all", annotations: { title: "All" } });
  expect(byName["sum"]).toMatchObject({ title: "Sum", outputSchema: { required: ["sum"] } });
  expect(byName["new"]!.description).toBe("Was renamed");
  expect(await say(servlet, "told")).toBe("object");
  expect(await say(servlet, "shaped")).toBe("4");
  expect(await say(servlet, "all", { a: "7" })).toBe("7");
  expect(await say(servlet, "all", { a: -1 })).toEqual({ failed: expect.stringContaining("a") });
  const { result } = await servlet.callTool("sum", { a: 1, b: 2 });
  expect(result.structuredContent).toEqual({ sum: 3 });
});

test("resources, templates, prompts and completions of McpServer", async () => {
  const servlet = await serverOf({
    "src/index.ts": `${V1}
const server = new McpServer({ name: "rest", version: "1.0.0" });
server.resource("greeting", "text://greeting", { mimeType: "text/plain" }, (uri) => ({ contents: [{ uri: uri.href, text: "hi" }] }));
server.registerResource("book", new ResourceTemplate("book://{title}", {
  list: undefined, complete: { title: (value) => ["dune", "emma"].filter((one) => one.startsWith(value)) },
}), { title: "Books", description: "Of the library" }, async (uri, { title }) => ({ contents: [{ uri: uri.href, text: "The text of " + title }] }));
server.registerPrompt("review", { title: "Review", argsSchema: {
  language: completable(z.string().describe("Of the code"), (value, context) => ["go", "rust", context?.arguments?.tone ?? ""].filter((one) => one.startsWith(value))),
  tone: z.string().optional(),
} }, ({ language, tone }) => ({ messages: [{ role: "user", content: { type: "text", text: language + (tone ?? "!") } }] }));
server.prompt("plain", "Takes nothing", () => ({ messages: [{ role: "user", content: { type: "text", text: "plain" } }] }));
${CONNECTED}`,
  });
  const lists = await servlet.list();
  expect(lists.resources).toMatchObject([
    { uri: "text://greeting", name: "greeting", mimeType: "text/plain" },
  ]);
  expect(lists.resourceTemplates).toMatchObject([
    { uriTemplate: "book://{title}", name: "book", title: "Books" },
  ]);
  expect(lists.prompts).toMatchObject([
    {
      name: "review",
      title: "Review",
      arguments: [
        { name: "language", description: "Of the code", required: true },
        { name: "tone", required: false },
      ],
    },
    { name: "plain", description: "Takes nothing" },
  ]);
  const read = async (uri: string) => (await servlet.readResource(uri)).result.contents;
  expect(await read("text://greeting")).toEqual([
    { uri: "text://greeting", text: "hi", mimeType: "text/plain" },
  ]);
  expect(await read("book://dune")).toEqual([{ uri: "book://dune", text: "The text of dune" }]);
  const { result } = await servlet.getPrompt("review", { language: "go" });
  expect(result.messages).toEqual([{ role: "user", content: { type: "text", text: "go!" } }]);
  const completed = await servlet.complete({
    ref: { type: "ref/prompt", name: "review" },
    argument: { name: "language", value: "r" },
    context: { arguments: { tone: "rough" } },
  });
  expect(completed.result.completion.values).toEqual(["rust", "rough"]);
});

test("the low-level Server, in a class, by schemas of its requests", async () => {
  const servlet = await serverOf({
    "index.js": `import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema, ListResourcesRequestSchema, ReadResourceRequestSchema, SetLevelRequestSchema, ErrorCode, McpError, ToolSchema } from "@modelcontextprotocol/sdk/types.js";
const Input = ToolSchema.shape.inputSchema.optional();
class Low {
  constructor() {
    this.server = new Server({ name: "low", version: "1.0.0" }, { capabilities: { tools: {}, resources: {} } });
    this.server.onerror = (error) => console.error("[error]", error);
    process.on("SIGINT", () => process.exit(0));
    this.server.setRequestHandler(SetLevelRequestSchema, async () => ({}));
    this.server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => params?.cursor === undefined
      ? { tools: [{ name: "echo", description: "Echoes", inputSchema: { type: "object", properties: { text: { type: "string" } } } }], nextCursor: "2" }
      : { tools: [{ name: "fail", description: "Fails", inputSchema: { type: "object" } }] });
    this.server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args } }, extra) => {
      if (name === "fail") throw new McpError(ErrorCode.InvalidParams, "Not so");
      return { content: [{ type: "text", text: args.text + extra.requestId }] };
    });
    this.server.setRequestHandler(ListResourcesRequestSchema, async () => ({ resources: [{ uri: "a://b", name: "b" }] }));
    this.server.setRequestHandler(ReadResourceRequestSchema, async ({ params }) => ({ contents: [{ uri: params.uri, text: "text" }] }));
  }
  async run() { await this.server.connect(new StdioServerTransport()); }
}
new Low().run().catch(console.error);
`,
  });
  const { tools, resources } = await servlet.list();
  expect(tools.map(({ name }) => name)).toEqual(["echo", "fail"]);
  expect(resources).toMatchObject([{ uri: "a://b", name: "b" }]);
  expect(await say(servlet, "echo", { text: "a" })).toBe("atest");
  await expect(servlet.callTool("fail")).rejects.toThrow("MCP error -32602: Not so");
  const { result } = await servlet.readResource("a://b");
  expect(result.contents).toEqual([{ uri: "a://b", text: "text" }]);
});

test("the second generation: a factory, schemas of zod/v4, questions as results", async () => {
  const servlet = await serverOf({
    "server.ts": `import { McpServer, createMcpHandler, inputRequired, acceptedContent } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod/v4";
function build() {
  const server = new McpServer({ name: "modern", version: "1.0.0" }, { instructions: "Ask me" });
  server.registerTool("hello", { description: "Greets", inputSchema: z.object({ name: z.string() }), icons: [{ src: "https://example.test/i.svg" }] },
    async ({ name }, ctx) => ({ content: [{ type: "text", text: name + ctx.mcpReq.method }] }));
  server.registerTool("ask", { description: "Asks", inputSchema: z.object({}) }, async (_args, ctx) => {
    const given = acceptedContent(ctx.mcpReq.inputResponses, "who", z.object({ name: z.string() }));
    if (given) return { content: [{ type: "text", text: "You are " + given.name }] };
    return inputRequired({ inputRequests: { who: inputRequired.elicit({ message: "Who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } }) } });
  });
  return server;
}
if (process.argv.includes("--http")) createMcpHandler(build);
else serveStdio(build);
`,
  });
  const { tools } = await servlet.list();
  expect(tools).toMatchObject([
    { name: "hello", icons: [{ src: "https://example.test/i.svg" }] },
    { name: "ask" },
  ]);
  expect(await say(servlet, "hello", { name: "Jo " })).toBe("Jo tools/call");
  const { result } = await servlet.callTool(
    "ask",
    {},
    {
      capabilities: { elicitation: { form: {} } },
      answers: { "elicitation/create": [{ action: "accept", content: { name: "Ada" } }] },
    },
  );
  expect(result.content).toEqual([{ type: "text", text: "You are Ada" }]);
});

test("instructions of a server become its manifest's", async () => {
  const folder = await folderOf({
    "index.ts": `${V1}
const server = new McpServer({ name: "told", version: "1.0.0" }, { instructions: "Say hi first." });
server.tool("hi", () => ({ content: [] }));
${CONNECTED}`,
  });
  const options = { languages: LANGUAGES, cache: ".bundle", progress: () => {} };
  const [member] = await makeBundle({ ...options, folders: [folder] });
  expect(member!.found.manifest.instructions).toBe("Say hi first.");
});

test("McpAgent: its state, its class by export, its own variables", async () => {
  const servlet = await serverOf({
    "servlet.json": '{ "state": "caller", "env_vars": { "STEP": "3" } }',
    "wrangler.jsonc": '{ "main": "src/worker.ts" }',
    "src/worker.ts": `import { Counter } from "./counter";
export { Counter };
export default { fetch(request: Request, env: Env, ctx: ExecutionContext) {
  return new URL(request.url).pathname === "/sse" ? Counter.serveSSE("/sse").fetch(request, env, ctx) : Counter.serve("/mcp").fetch(request, env, ctx);
} };
`,
    "src/counter.ts": `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpAgent } from "agents/mcp";
import { z } from "zod";
import icon from "./icon.svg";
export class Counter extends McpAgent<Env, { count: number }, {}> {
  server = new McpServer({ name: "Counter", version: "1.0.0", icons: [{ src: icon }] });
  initialState = { count: 1 };
  async init() {
    this.server.registerTool("add", { description: "Adds", inputSchema: { a: z.number() } }, async ({ a }) => {
      this.setState({ count: this.state.count + a * Number(this.env.STEP) });
      return { content: [{ type: "text", text: String(this.state.count) }] };
    });
  }
  onStateUpdate(state) { if (state.count > 9) console.log("high"); }
}
`,
    "src/icon.svg": "<svg/>",
  });
  const add = async (a: number, caller: string) =>
    (await servlet.callTool("add", { a }, { caller })).result.content;
  expect(await add(2, "ada")).toEqual([{ type: "text", text: "7" }]);
  expect(await add(1, "ada")).toEqual([{ type: "text", text: "10" }]);
  expect(await add(1, "ben")).toEqual([{ type: "text", text: "4" }]);
});

test.each(["mcp-handler", "@vercel/mcp-adapter"])("a route of Next by %s", async (name) => {
  const servlet = await serverOf({
    "src/app/api/[transport]/route.ts": `import { createMcpHandler } from "${name}";
import { z } from "zod";
const handler = createMcpHandler((server) => {
  server.tool("echo", "Echoes", { message: z.string() }, async ({ message }) => ({ content: [{ type: "text", text: "Echo: " + message }] }));
}, {}, { basePath: "/api" });
export { handler as GET, handler as POST };
`,
  });
  expect(await say(servlet, "echo", { message: "a" })).toBe("Echo: a");
});

test("a server that is made in each request of express", async () => {
  const servlet = await serverOf({
    "index.ts": `import express, { Request, Response } from "express";
import cors from "cors";
import { randomUUID } from "node:crypto";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
${V1}
const getServer = () => {
  const server = new McpServer({ name: "routes", version: "1.0.0" });
  server.registerTool("hi", { description: "Says hi" }, async () => ({ content: [{ type: "text", text: "hi" }] }));
  return server;
};
const app = express();
app.use(express.json());
app.use(cors({ origin: "*" }));
app.post("/mcp", async (req: Request, res: Response) => {
  const server = getServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() });
  res.on("close", () => transport.close());
  await server.connect(transport);
  await transport.handleRequest(req, res, req.body);
});
app.get("/health", (_req, res) => res.json({ ok: true }));
app.listen(process.env.PORT ?? 3000, () => console.log("listening"));
`,
  });
  expect(await say(servlet, "hi")).toBe("hi");
});

test("a factory that is exported", async () => {
  const servlet = await serverOf({
    "src/index.ts": `${V1}
export default function createServer({ config }: { config: { name?: string } }) {
  const server = new McpServer({ name: "made", version: "1.0.0" });
  server.registerTool("hi", { description: "Says hi" }, async () => ({ content: [{ type: "text", text: "hi " + config.name }] }));
  return server.server;
}
`,
  });
  expect(await say(servlet, "hi")).toBe("hi undefined");
});

test("fastmcp and xmcp", async () => {
  const fast = await serverOf({
    "index.ts": `import { FastMCP, UserError } from "fastmcp";
import { z } from "zod";
const server = new FastMCP({ name: "Addition", version: "1.0.0" });
server.addTool({ name: "add", description: "Adds", parameters: z.object({ a: z.number(), b: z.number() }), execute: async ({ a, b }, { log, reportProgress }) => {
  log.info("adding"); await reportProgress({ progress: 1, total: 1 }); return String(a + b);
} });
server.addTool({ name: "no", description: "Refuses", execute: async () => { throw new UserError("no"); } });
server.addResourceTemplate({ uriTemplate: "docs://{name}", name: "Docs", arguments: [{ name: "name", required: true }], mimeType: "text/plain", load: async ({ name }) => ({ text: "about " + name }) });
server.addPrompt({ name: "commit", arguments: [{ name: "changes", required: true }], load: async ({ changes }) => "Say " + changes });
server.start({ transportType: "stdio" });
`,
  });
  expect(await say(fast, "add", { a: 1, b: 2 })).toBe("3");
  expect(await say(fast, "no")).toEqual({ failed: "no" });
  const { result } = await fast.readResource("docs://x");
  expect(result.contents).toEqual([{ uri: "docs://x", mimeType: "text/plain", text: "about x" }]);
  const prompt = await fast.getPrompt("commit", { changes: "it" });
  expect(prompt.result.messages).toMatchObject([{ content: { text: "Say it" } }]);

  const files = await serverOf({
    "xmcp.config.ts": "export default { http: true };",
    "src/tools/hello.ts": `import { z } from "zod";
import type { ToolMetadata } from "xmcp";
export const schema = { name: z.string().describe("Whom") };
export const metadata: ToolMetadata = { name: "hello", description: "Greets" };
export default async function hello({ name }) { return "Hello " + name; }
`,
  });
  expect(await say(files, "hello", { name: "Ada" })).toBe("Hello Ada");
});

test("what handlers get beside their arguments can be copied", async () => {
  const servlet = await serverOf({
    "index.ts": `${V1}
const server = new McpServer({ name: "copies", version: "1.0.0" });
server.registerTool("copy", { inputSchema: {} }, async (_args, { signal, ...rest }) => {
  const copy = { ...rest, own: 1 };
  return { content: [{ type: "text", text: [typeof copy.requestId, typeof copy.sendNotification, Object.keys(copy).includes("authInfo")].join() }] };
});
${CONNECTED}`,
  });
  expect(await say(servlet, "copy", {})).toBe("string,function,true");
});

test("an argument of a prompt that has a default may be left out", async () => {
  const servlet = await serverOf({
    "index.ts": `${V1}
const server = new McpServer({ name: "defaults", version: "1.0.0" });
server.registerPrompt("greet", { argsSchema: { name: z.string().default("you") } }, ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: name } }] }));
${CONNECTED}`,
  });
  const { prompts } = await servlet.list();
  expect(prompts[0]!.arguments).toEqual([{ name: "name", required: false }]);
  const { result } = await servlet.getPrompt("greet", {});
  expect(result.messages).toEqual([{ role: "user", content: { type: "text", text: "you" } }]);
});

test("templates, completions and registrations have what the SDK's have", async () => {
  const servlet = await serverOf({
    "index.ts": `${V1}
import { UriTemplate } from "@modelcontextprotocol/sdk/shared/uriTemplate.js";
const server = new McpServer({ name: "same", version: "1.0.0" });
const text = (value: unknown): CallToolResult => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const names = Array.from({ length: 120 }, (_, at) => "n" + at);
const template = new ResourceTemplate("db://a/{owner}/{path}{?page}", { list: undefined, complete: { owner: () => names } });
const read = server.registerResource("files", template, {}, async (uri, variables) => ({
  contents: [{ uri: uri.href, text: JSON.stringify(variables) }],
}));
const own = new UriTemplate("a://{x}/{+y}{?z,w}");
const tool = server.registerTool("all", { description: "All" }, async () => text([
  own.variableNames, own.match("a://b%20c/d?z=1"), own.match("b://"), own.expand({ x: "b c", y: "d/e", z: "1" }),
  UriTemplate.isTemplate("a://b"), typeof tool.handler, typeof read.readCallback, typeof process.env.hasOwnProperty, "toString" in process.env,
]));
server.registerTool("unstructured", { description: "Lacks it", outputSchema: { a: z.number() } }, async () => text(1));
${CONNECTED}`,
  });
  expect(JSON.parse((await say(servlet, "all")) as string)).toEqual([
    ["x", "y", "z", "w"],
    { x: "b%20c", y: "d", z: "1" },
    null,
    "a://b%20c/d/e?z=1",
    false,
    "function",
    "function",
    "function",
    true,
  ]);
  expect(await say(servlet, "unstructured")).toEqual({
    failed: expect.stringContaining("no structured content was provided"),
  });
  const { result } = await servlet.readResource("db://a/a%20b/c");
  expect(JSON.parse((result.contents[0] as { text: string }).text)).toMatchObject({
    owner: "a%20b",
    path: "c",
  });
  const { result: completed } = await servlet.complete({
    ref: { type: "ref/resource", uri: "db://a/{owner}/{path}{?page}" },
    argument: { name: "owner", value: "" },
  });
  expect(completed).toMatchObject({ completion: { total: 120, hasMore: true } });
});

test("a module that throws nothing, and one that changes what the kit needs, are refused", async () => {
  const made = (scope: string) => serverOf({ "index.ts": `${V1}\n${scope}` });
  await expect(made("throw undefined;")).rejects.toThrow(/could not be loaded/);
  await expect(
    made('JSON.stringify = () => "x"; export default new McpServer({ name: "a", version: "1" });'),
  ).rejects.toThrow(/changes? .*global|nothing/);
});

test("the last argument of a handler is new in each call of a servlet that keeps state, and its members may be set", async () => {
  const servlet = await serverOf({
    "servlet.json": '{ "state": "server" }',
    "index.ts": `${V1}
const server = new McpServer({ name: "kept", version: "1.0.0" });
const seen = new WeakMap<object, string>();
server.registerTool("who", { description: "Says who calls" }, async (extra: any) => {
  extra.user ??= extra.authInfo?.clientId;
  extra.authInfo = { clientId: "set" };
  const before = seen.get(extra) ?? "nobody";
  seen.set(extra, extra.user);
  return { content: [{ type: "text", text: [extra.user, before, extra.authInfo.clientId, { ...extra }.user].join() }] };
});
${CONNECTED}`,
  });
  const who = async (caller: string) => {
    const { result } = await servlet.callTool("who", {}, { caller });
    return (result.content[0] as { text: string }).text;
  };
  expect([await who("ada"), await who("bob")]).toEqual([
    "ada,nobody,set,ada",
    "bob,nobody,set,bob",
  ]);
});
