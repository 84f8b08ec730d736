/** Frameworks for agents: each by its own client of MCP, which calls tools and no more. Run in the folder of its package. */
import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const setting = (name) => process.env[`CLIENT_${name}`] ?? "";

/** By package: connects, and gives the names of the tools and a way to call one. */
const ways = {
  async "@ai-sdk/mcp"(url, headers) {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const client = await createMCPClient({ transport: { type: "http", url, headers } });
    const tools = await client.tools();
    return {
      names: Object.keys(tools),
      call: (name, args) => tools[name].execute(args, { toolCallId: "1", messages: [] }),
      close: () => client.close(),
    };
  },
  async "@langchain/mcp-adapters"(url, headers) {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const client = new MultiServerMCPClient({
      mcpServers: { server: { transport: "http", url, headers } },
    });
    const tools = await client.getTools();
    return {
      names: tools.map(({ name }) => name),
      call: (wanted, args) => tools.find(({ name }) => name === wanted).invoke(args),
      close: () => client.close(),
    };
  },
  async "@mastra/mcp"(url, headers) {
    const { MCPClient } = await import("@mastra/mcp");
    const client = new MCPClient({
      servers: { here: { url: new URL(url), requestInit: { headers } } },
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
  async "@openai/agents"(url, headers) {
    const { MCPServerStreamableHttp } = await import("@openai/agents");
    const client = new MCPServerStreamableHttp({ url, name: "here", requestInit: { headers } });
    await client.connect();
    const tools = await client.listTools();
    return {
      names: tools.map(({ name }) => name),
      call: (name, args) => client.callTool(name, args),
      close: () => client.close(),
    };
  },
  async "mcp-use"(url, headers) {
    const { MCPClient } = await import("mcp-use/client");
    const client = new MCPClient({ mcpServers: { here: { url, headers } } });
    const session = await client.createSession("here");
    const tools = await session.listTools();
    return {
      names: tools.map(({ name }) => name),
      call: (name, args) => session.callTool(name, args),
      close: () => client.closeAllSessions(),
    };
  },
  /** A program that gives clients of stdio a server of http: JSON-RPC, a message a line. */
  async "mcp-remote"(url, headers) {
    const program = join(import.meta.dirname, "node_modules/.bin/mcp-remote");
    const given = Object.entries(headers).flatMap(([name, value]) => [
      "--header",
      `${name}:${value}`,
    ]);
    const child = spawn(program, [url, "--transport", "http-only", ...given], {
      env: {
        ...process.env,
        MCP_REMOTE_CONFIG_DIR: join(import.meta.dirname, `config-${process.pid}`),
      },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const waiting = new Map();
    createInterface({ input: child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      waiting.get(message.id)?.(message);
    });
    let last = 0;
    const ask = (method, params) =>
      new Promise((done, fail) => {
        const id = ++last;
        setTimeout(() => fail(new Error(`${method}: no answer`)), 15_000).unref();
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
  async "@modelcontextprotocol/inspector"(url, headers) {
    const given = Object.entries(headers).flatMap(([name, value]) => [
      "--header",
      `${name}: ${value}`,
    ]);
    const program = join(import.meta.dirname, "node_modules/.bin/mcp-inspector");
    const run = async (...args) => {
      const all = ["--cli", url, "--transport", "http", ...given, ...args];
      const { stdout } = await promisify(execFile)(program, all, { timeout: 60_000 });
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

const connect = ways[process.argv[2]];
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
  const signed = await connect(setting("SIGNED_URL"), {
    authorization: `Bearer ${setting("KEY")}`,
  });
  await greets(signed);
  await signed.close();
});
await client?.close();
for (const name of setting("THINGS").split(",")) cells[name] ??= "not offered";
console.log(JSON.stringify(cells));
process.exit();
