/** Frameworks for agents: each by its own client of MCP, which calls tools and no more. Run in the folder of its package. */
import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { credentials } from "./oauth-client.ts";

const setting = (name) => process.env[`CLIENT_${name}`] ?? "";

/** Asks the driver to sign in at this page; gives the URL that the browser is sent back to. */
async function browse(page) {
  const response = await fetch(`${setting("CONTROL")}/browse`, { method: "POST", body: page });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return new URL(text);
}

/** Follows the page of a sign-in that a program names in its log, to the place where the program listens. */
function followPages(log) {
  const follow = async (page) => fetch(await browse(page));
  createInterface({ input: log }).on("line", (line) => {
    const [page] = /https?:\S+\/authorize\?\S+/.exec(line) ?? [];
    if (page !== undefined) follow(page).catch(console.error);
  });
}

/**
 * By package: connects, and gives the names of the tools and a way to call one. With an `authProvider` the client
 * signs in with what that keeps. Programs that keep their own tokens sign in where they are `toSignIn`.
 */
const ways = {
  async "@ai-sdk/mcp"(url, { headers, authProvider }) {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const client = await createMCPClient({
      transport: { type: "http", url, headers, authProvider },
    });
    const tools = await client.tools();
    return {
      names: Object.keys(tools),
      call: (name, args) => tools[name].execute(args, { toolCallId: "1", messages: [] }),
      close: () => client.close(),
    };
  },
  async "@langchain/mcp-adapters"(url, { headers, authProvider }) {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const client = new MultiServerMCPClient({
      mcpServers: { server: { transport: "http", url, headers, authProvider } },
    });
    const tools = await client.getTools();
    return {
      names: tools.map(({ name }) => name),
      call: (wanted, args) => tools.find(({ name }) => name === wanted).invoke(args),
      close: () => client.close(),
    };
  },
  async "@mastra/mcp"(url, { headers, authProvider }) {
    const { MCPClient } = await import("@mastra/mcp");
    const client = new MCPClient({
      id: crypto.randomUUID(),
      servers: { here: { url: new URL(url), requestInit: { headers }, authProvider } },
    });
    // It logs a server that cannot be reached, and gives no tools.
    const tools = await client.listTools();
    const names = Object.keys(tools).map((name) => name.replace(/^here_/, ""));
    if (names.length === 0) throw new Error("no tools");
    return {
      names,
      call: (name, args) => tools[`here_${name}`].execute(args, {}),
      close: () => client.disconnect(),
    };
  },
  async "@openai/agents"(url, { headers, authProvider }) {
    const { MCPServerStreamableHttp } = await import("@openai/agents");
    const client = new MCPServerStreamableHttp({
      url,
      name: "here",
      requestInit: { headers },
      authProvider,
    });
    await client.connect();
    const tools = await client.listTools();
    return {
      names: tools.map(({ name }) => name),
      call: (name, args) => client.callTool(name, args),
      close: () => client.close(),
    };
  },
  async "mcp-use"(url, { headers, authProvider }) {
    const { MCPClient } = await import("mcp-use/client");
    const client = new MCPClient({ mcpServers: { here: { url, headers, authProvider } } });
    const session = await client.createSession("here");
    const tools = await session.listTools();
    return {
      names: tools.map(({ name }) => name),
      call: (name, args) => session.callTool(name, args),
      close: () => client.closeAllSessions(),
    };
  },
  /** A program that gives clients of stdio a server of http: JSON-RPC, a message a line. */
  async "mcp-remote"(url, { headers = {}, toSignIn }) {
    const program = join(import.meta.dirname, "node_modules/.bin/mcp-remote");
    const given = Object.entries(headers).flatMap(([name, value]) => [
      "--header",
      `${name}:${value}`,
    ]);
    const child = spawn(program, [url, "--transport", "http-only", ...given], {
      env: {
        ...process.env,
        MCP_REMOTE_CONFIG_DIR: join(import.meta.dirname, `config-${crypto.randomUUID()}`),
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    if (toSignIn) followPages(child.stderr);
    else child.stderr.resume();
    const waiting = new Map();
    createInterface({ input: child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      waiting.get(message.id)?.(message);
    });
    let last = 0;
    const ask = (method, params) =>
      new Promise((done, fail) => {
        const id = ++last;
        setTimeout(() => fail(new Error(`${method}: no answer`)), 30_000).unref();
        child.once("exit", (code) => fail(new Error(`mcp-remote ended with ${code}`)));
        waiting.set(id, ({ result, error }) =>
          error ? fail(new Error(error.message)) : done(result),
        );
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      });
    try {
      const clientInfo = { name: "matrix", version: "1.0.0" };
      await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
      child.stdin.write(
        `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`,
      );
      const { tools } = await ask("tools/list", {});
      return {
        names: tools.map(({ name }) => name),
        call: (name, args) => ask("tools/call", { name, arguments: args }),
        close: async () => void child.kill(),
      };
    } catch (error) {
      child.kill();
      throw error;
    }
  },
  /** Each command is a connection of its own. */
  async "@modelcontextprotocol/inspector"(url, { headers = {}, toSignIn = false }) {
    const given = Object.entries(headers).flatMap(([name, value]) => [
      "--header",
      `${name}: ${value}`,
    ]);
    const program = join(import.meta.dirname, "node_modules/.bin/mcp-inspector");
    const env = {
      ...process.env,
      // It signs in where somebody can see its page, or it opens that.
      MCP_AUTO_OPEN_ENABLED: String(toSignIn),
      MCP_STORAGE_DIR: join(import.meta.dirname, `storage-${crypto.randomUUID()}`),
    };
    const run = async (...args) => {
      const all = ["--cli", url, "--transport", "http", ...given, ...args];
      const running = promisify(execFile)(program, all, { timeout: 60_000, env });
      followPages(running.child.stderr);
      const { stdout } = await running;
      return JSON.parse(stdout);
    };
    const { tools } = await run("--method", "tools/list");
    return {
      names: tools.map(({ name }) => name),
      call: (name, args) =>
        run(
          "--method",
          "tools/call",
          "--tool-name",
          name,
          ...Object.entries(args).flatMap(([key, value]) => ["--tool-arg", `${key}=${value}`]),
        ),
      close: async () => {},
    };
  },
};

/** By package: the function of its client, or of the SDK that it hands `authProvider` to, that takes the code. */
const signIns = {
  "@ai-sdk/mcp": () => import("@ai-sdk/mcp"),
  "@langchain/mcp-adapters": () => import("@modelcontextprotocol/sdk/client/auth.js"),
  "@mastra/mcp": () => import("@mastra/mcp"),
  "@openai/agents": () => import("@modelcontextprotocol/client"),
  "mcp-use": () => import("@modelcontextprotocol/sdk/client/auth.js"),
};

const [, , library] = process.argv;
const connect = ways[library];
const cells = {};
async function cell(name, step) {
  try {
    await step();
    cells[name] = "ok";
  } catch (error) {
    cells[name] = `failed: ${String(error).slice(0, 300)}`;
  }
}

function demand(holds, found) {
  if (!holds) throw new Error(`found ${JSON.stringify(found)}`);
}

async function greets(client) {
  const result = JSON.stringify(await client.call("greet", { name: "Ada" }));
  demand(result.includes("Hello, Ada!"), result);
}

/** Connects after a sign-in by the client's own OAuth code. */
async function signedIn(url) {
  if (signIns[library] === undefined) return connect(url, { toSignIn: true });
  const { auth } = await signIns[library]();
  const { provider: authProvider, asked } = credentials();
  const early = await connect(url, { authProvider }).catch(() => undefined);
  if (early !== undefined) throw new Error("it connects without a sign-in");
  const { searchParams } = await browse(asked().href);
  const given = (key) => searchParams.get(key) ?? undefined;
  await auth(authProvider, {
    serverUrl: url,
    authorizationCode: given("code"),
    callbackState: given("state"),
    callbackIssuer: given("iss"),
    iss: given("iss"),
  });
  return connect(url, { authProvider });
}

let client;
await cell("connect", async () => void (client = await connect(setting("URL"), {})));
if (client) {
  await cell("lists", async () => demand(client.names.includes("greet"), client.names));
  await cell("call", () => greets(client));
}
await cell("key", async () => {
  const refused = await connect(setting("SIGNED_URL"), {}).then(
    () => false,
    () => true,
  );
  demand(refused, "it connects without a key");
  const headers = { authorization: `Bearer ${setting("KEY")}` };
  const signed = await connect(setting("SIGNED_URL"), { headers });
  await greets(signed);
  await signed.close();
});
for (const [name, url] of [
  ["oauth", setting("SIGNED_URL")],
  ["team", setting("TEAM_URL")],
])
  await cell(name, async () => {
    const signed = await signedIn(url);
    await greets(signed);
    await signed.close();
  });
await client?.close();
for (const name of setting("THINGS").split(",")) cells[name] ??= "not tried";
console.log(JSON.stringify(cells));
process.exit();
