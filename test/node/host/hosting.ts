/** Servers that `start` runs: the Worker of the tests, with a KV namespace, a bucket and a loader. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { OBJECTS } from "../objects.ts";
import { freePort } from "../workerd.ts";

const COMMAND = resolve("src/tools/host/start.ts");
/** All that its process has of our environment: compiled modules let it start in half the time. */
const { PATH, NODE_COMPILE_CACHE } = process.env;

/** A folder with a wrangler.toml, and the Worker built from it; `objects` are the classes by the names of their bindings. */
export async function project(
  main = resolve("test/worker/index.ts"),
  more = "",
  objects = OBJECTS,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "hosted-"));
  const bindings = Object.entries(objects).map(
    ([name, of]) => `[[durable_objects.bindings]]\nname = "${name}"\nclass_name = "${of}"\n`,
  );
  const text = `name = "hosted"
main = ${JSON.stringify(main)}
compatibility_date = "2026-09-01"
compatibility_flags = ["enable_request_signal", "global_fetch_strictly_public"]
${more}
[vars]
SEASON = "plums"
[[kv_namespaces]]
binding = "OAUTH_KV"
[[r2_buckets]]
binding = "BUILDS"
bucket_name = "builds"
[[worker_loaders]]
binding = "LOADER"
[[migrations]]
tag = "v1"
new_sqlite_classes = ${JSON.stringify(Object.values(objects))}
${bindings.join("")}`;
  await writeFile(join(folder, "wrangler.toml"), text);
  return folder;
}

/** How many characters of a server's latest output are kept at least. */
const PRINTED = 1_000_000;

export interface Hosting {
  port: number;
  url: URL;
  process: ChildProcess;
  /** What it has printed. */
  output(): string;
  /** Asks it to stop; gives its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Ends it at once, and all that it has started. */
  end(): Promise<void>;
}

export interface HostingOptions {
  args?: readonly string[];
  variables?: Readonly<Record<string, string>>;
  port?: number;
}

/** Runs `start` in a folder; gives its exit code and what it printed if it ends, and undefined if it serves. */
export function run(folder: string, { args = [], variables = {} }: HostingOptions) {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd: folder,
    env: { PATH, NODE_COMPILE_CACHE, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      if (printed.length > 2 * PRINTED) printed = printed.slice(-PRINTED);
    });
  }
  const ended = once(child, "close").then(([code]) => code as number | null);
  return { child, output: () => printed, ended };
}

/** Builds the Worker of a folder once, for several servers. */
export async function build(folder: string): Promise<void> {
  const { ended, output } = run(folder, { args: ["--build", "built"] });
  if ((await ended) !== 0) throw new Error(output());
}

/** Starts the server of a folder whose Worker is built; resolves when it serves. */
export async function host(folder: string, options: HostingOptions = {}): Promise<Hosting> {
  const { port = await freePort(), args = [] } = options;
  const all = ["--port", String(port), "--worker", "built", ...args];
  const { child, output, ended } = run(folder, { ...options, args: all });
  const isOver = ended.then(() => true);
  while (!output().includes(" serves http")) {
    const tick = new Promise<false>((done) => void setTimeout(() => done(false), 10));
    if (await Promise.race([isOver, tick])) throw new Error(output());
  }
  return {
    port,
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    process: child,
    output,
    stop(signal = "SIGTERM") {
      // What a killed one leaves behind keeps its output open.
      const gone = signal === "SIGKILL" ? once(child, "exit").then(() => null) : ended;
      child.kill(signal);
      return gone;
    },
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const isGone = once(child, "exit").then(() => true);
      child.kill("SIGTERM");
      // Signals that come together may be one.
      while (!output().includes("another signal ends them")) {
        const tick = new Promise<false>((done) => void setTimeout(() => done(false), 10));
        if (await Promise.race([isGone, tick])) return;
      }
      child.kill("SIGTERM");
      await isGone;
    },
  };
}

const META = "io.modelcontextprotocol/";

/** Sends a request of MCP, as a client that can be asked and takes tasks. */
export function request(
  url: URL,
  method: string,
  params: { name?: string; taskId?: string; _meta?: object; [member: string]: unknown } = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const named = params.name ?? params.taskId;
  const _meta = {
    [`${META}protocolVersion`]: "2026-07-28",
    [`${META}clientCapabilities`]: {
      elicitation: {},
      extensions: { [`${META}tasks`]: {} },
    },
    ...params._meta,
  };
  return fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(named !== undefined && { "mcp-name": named }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  });
}

/** The result of a request, which must be there. */
export async function resultOf(...sent: Parameters<typeof request>): Promise<any> {
  const response = await request(...sent);
  const text = await response.text();
  const message = response.headers.get("content-type")?.includes("event-stream")
    ? text
        .split("\n")
        .findLast((line) => line.startsWith("data: "))!
        .slice("data: ".length)
    : text;
  const { result } = JSON.parse(message) as { result?: unknown };
  if (result === undefined) throw new Error(text);
  return result;
}

/** Calls a tool; gives the text of its result. */
export async function call(url: URL, name: string, args: object = {}): Promise<string> {
  const { content } = await resultOf(url, "tools/call", { name, arguments: args });
  return (content as { text: string }[])[0]!.text;
}
