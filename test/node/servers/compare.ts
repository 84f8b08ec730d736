/**
 * `npm run servers -- [--mirror FOLDER] [NAME…]`: takes public servers for other SDKs as they are, and compares what they list and
 * answer as servlets with what they do under Node by the SDK's own client. Prints a table. Their code comes from GitHub, or from the
 * git directories `FOLDER/OWNER+NAME/repo`, and their packages from npm; nothing of it is kept.
 */
import { execFileSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { builtinModules } from "node:module";
import { isDeepStrictEqual, parseArgs } from "node:util";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { build } from "esbuild";
import { newServlet } from "../../../src/tools/commands/new.ts";
import { loadServlet } from "../../../src/tools/testing/index.ts";
import { serve } from "../workerd.ts";
import { SERVERS, type Compared } from "./public-servers.ts";

const { values, positionals } = parseArgs({
  options: { mirror: { type: "string" } },
  allowPositionals: true,
});
const WORK = resolve(".bundle/servers");

const KINDS = {
  tools: "tool",
  resources: "resource",
  resourceTemplates: "template",
  prompts: "prompt",
};

type Json = Record<string, unknown>;

/** What a server lists, and what its tools give, by the names of the calls. */
interface Shown {
  lists: Json;
  results: Json;
}

async function compared(server: Compared): Promise<string> {
  const folder = join(WORK, server.name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  checkOut(server, folder);
  const source = join(folder, "source", server.path);
  for (const [from, to] of Object.entries(server.replaced ?? {})) {
    const text = await readFile(join(source, server.entry), "utf8");
    await writeFile(join(source, server.entry), text.replaceAll(from, to));
  }
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  npmInstall(folder, server.packages);
  const there = await original(server, folder, source);
  const here = await asServlet(server, folder, source);
  const wrong = differences(there, here);
  if (wrong.length > 0) throw new Error(wrong.join("; "));
  const counts = Object.entries(KINDS).flatMap(([kind, one]) => {
    const { length } = (here.lists[kind] ?? []) as unknown[];
    return length === 0 ? [] : [counted(length, one)];
  });
  const calls = Object.keys(here.results).length;
  return `the same: ${[...counts, counted(calls, "answer")].join(", ")}`;
}

const placeIn = ({ repository, path }: Compared): string =>
  path === "." ? repository : `${repository}, ${path}`;

function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

function checkOut({ repository, commit, path }: Compared, folder: string): void {
  const { mirror } = values;
  let git = mirror && join(mirror, repository.replace("/", "+"), "repo");
  if (git === undefined) {
    git = join(folder, "git");
    const clone = [
      "clone",
      "--quiet",
      "--filter=blob:none",
      "--no-checkout",
      `https://github.com/${repository}`,
      git,
    ];
    execFileSync("git", clone, { stdio: "inherit" });
    git = join(git, ".git");
  }
  const archive = execFileSync(
    "git",
    [`--git-dir=${git}`, "archive", commit, path === "." ? "." : path],
    {
      maxBuffer: 1 << 28,
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  execFileSync("mkdir", ["-p", join(folder, "source")]);
  execFileSync("tar", ["x", "-C", join(folder, "source")], { input: archive });
}

const npmInstall = (folder: string, packages: readonly string[]) =>
  execFileSync(
    "npm",
    ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", ...packages],
    {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    },
  );

/** What the server shows under Node, with its own SDK. */
async function original(server: Compared, folder: string, source: string): Promise<Shown> {
  const outfile = join(folder, "original.mjs");
  await build({
    entryPoints: [join(source, server.entry)],
    bundle: true,
    outfile,
    format: "esm",
    platform: "node",
    logLevel: "error",
    loader: { ".svg": "text" },
    ...(server.conditions
      ? {
          conditions: [...server.conditions],
          platform: "browser" as const,
          external: builtinModules.flatMap((name) => [name, `node:${name}`]),
        }
      : { packages: "external" as const }),
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
  });
  const answers = join(folder, "answers.mjs");
  await writeFile(answers, answersModule(server));
  if (server.objects !== undefined) return inWorkerd(server, { folder, source, answers });
  if (server.handler !== undefined) return byHandler(server, outfile, answers);
  const isModern = server.style.startsWith("v2");
  const transport = new (isModern ? ModernStdio : StdioClientTransport)({
    command: process.execPath,
    args: ["--import", pathToFileURL(answers).href, outfile],
    env: { PATH: process.env["PATH"]!, ...server.variables },
    stderr: "ignore",
  });
  return withClient(transport, server, isModern);
}

/** A module that replaces the network by recorded answers. */
const answersModule = ({ answers = {} }: Compared): string => `
const answers = ${JSON.stringify(answers)};
globalThis.self = globalThis;
globalThis.fetch = async (input) => {
  const url = String(input?.url ?? input);
  const found = Object.entries(answers).find(([part]) => url.includes(part));
  if (!found) throw new TypeError("no answer is recorded for " + url);
  return new Response(typeof found[1] === "string" ? found[1] : JSON.stringify(found[1]), { headers: { "content-type": typeof found[1] === "string" ? "text/html" : "application/json" } });
};
`;

/** A Worker, in workerd. */
async function inWorkerd(
  server: Compared,
  { folder, source, answers }: Record<"folder" | "source" | "answers", string>,
): Promise<Shown> {
  const built = join(folder, "worker");
  const email = join(folder, "email.mjs");
  await writeFile(email, "export class EmailMessage {}");
  await build({
    stdin: {
      contents: `import ${JSON.stringify(answers)};
export * from ${JSON.stringify(join(source, server.entry))};
export { default } from ${JSON.stringify(join(source, server.entry))};`,
      resolveDir: folder,
    },
    bundle: true,
    outfile: join(built, "index.js"),
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker", "browser"],
    mainFields: ["module", "main"],
    logLevel: "error",
    loader: { ".svg": "text" },
    // The platform alone has mail.
    alias: { "cloudflare:email": email },
    external: ["cloudflare:workers", "cloudflare:sockets", "node:*", ...builtinModules],
  });
  const { port, process: workerd } = await serve(built, {
    durable: true,
    objects: server.objects!,
  });
  try {
    const url = new URL(`http://127.0.0.1:${port}/mcp`);
    const isModern = server.style.startsWith("v2");
    const transport = new (isModern ? ModernHttp : StreamableHTTPClientTransport)(url);
    return await withClient(transport, server, isModern);
  } finally {
    workerd.kill();
  }
}

/** A server that is a handler of requests. */
async function byHandler(server: Compared, module: string, answers: string): Promise<Shown> {
  const { fetch: network } = globalThis;
  Object.assign(process.env, server.variables);
  await import(pathToFileURL(answers).href);
  try {
    const exported = (await import(pathToFileURL(module).href)) as Record<string, unknown>;
    const handle = exported[server.handler!] as
      | ((request: Request) => Promise<Response>)
      | { fetch(request: Request, env: object, context: object): Promise<Response> };
    const call =
      typeof handle === "function" ? handle : (request: Request) => handle.fetch(request, {}, {});
    const url = new URL(server.url ?? "http://localhost/mcp");
    const transport = new StreamableHTTPClientTransport(url, {
      fetch: async (input, init) => call(new Request(input, init)),
    });
    return await withClient(transport, server);
  } finally {
    globalThis.fetch = network;
  }
}

async function withClient(
  transport: unknown,
  { calls = [] }: Compared,
  isModern = false,
): Promise<Shown> {
  const info = { name: "compare", version: "1.0.0" };
  const client = isModern
    ? new ModernClient(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } })
    : new Client(info);
  await (client as Client).connect(transport as never);
  const capabilities = client.getServerCapabilities() ?? {};
  const lists: Json = {};
  if (capabilities.tools) lists["tools"] = (await client.listTools()).tools;
  if (capabilities.resources) {
    lists["resources"] = (await client.listResources()).resources;
    lists["resourceTemplates"] = (await client.listResourceTemplates()).resourceTemplates;
  }
  if (capabilities.prompts)
    lists["prompts"] = await client.listPrompts().then(
      ({ prompts }) => prompts,
      () => [],
    );
  const results: Json = {};
  for (const { tool, args } of calls) {
    results[keyOf(tool, args)] = await client.callTool({ name: tool, arguments: args });
  }
  await client.close();
  return { lists, results };
}

const keyOf = (tool: string, args: object): string => `${tool} ${JSON.stringify(args)}`;

/** What the server shows as a servlet, as \`new --from\` makes it. */
async function asServlet(server: Compared, folder: string, source: string): Promise<Shown> {
  const plugins = join(folder, "plugins");
  await mkdir(plugins);
  await newServlet("taken", [plugins], {
    from: server.isFile === true ? join(source, server.entry) : source,
  });
  const servlet = await loadServlet(join(plugins, "taken"));
  const fetch = (request: Request): Response => {
    const found = Object.entries(server.answers ?? {}).find(([part]) => request.url.includes(part));
    if (found === undefined) throw new TypeError(`no answer is recorded for ${request.url}`);
    const [, answer] = found;
    return typeof answer === "string"
      ? new Response(answer, { headers: { "content-type": "text/html" } })
      : Response.json(answer);
  };
  const script = {
    fetch,
    variables: server.variables ?? {},
    caller: "compare",
    session: "compare",
  };
  const listed = await servlet.list(script);
  // As the client of the first generation understands them.
  const isModern = server.style.startsWith("v2");
  const lists: Json = isModern
    ? { ...listed }
    : {
        ...ListToolsResultSchema.parse({ tools: listed.tools }),
        ...ListResourcesResultSchema.parse({ resources: listed.resources }),
        ...ListResourceTemplatesResultSchema.parse({ resourceTemplates: listed.resourceTemplates }),
        ...ListPromptsResultSchema.parse({ prompts: listed.prompts }),
      };
  const results: Json = {};
  for (const { tool, args } of server.calls ?? []) {
    const name = tool.replaceAll(/[^\w.-]/g, "_");
    const { result } = await servlet.callTool(name, args, script);
    results[keyOf(tool, args)] = isModern ? result : CallToolResultSchema.parse(result);
  }
  return { lists, results };
}

/** Members that differ, apart from what is the server's: see docs/from-mcp-sdk.md. */
function differences(there: Shown, here: Shown): string[] {
  const wrong: string[] = [];
  for (const kind of Object.keys(here.lists)) {
    const [theirs, ours] = [there.lists, here.lists].map((lists) => byKey(lists[kind]));
    for (const key of new Set([...theirs!.keys(), ...ours!.keys()])) {
      const [one, other] = [theirs!.get(key), ours!.get(key)];
      if (!isDeepStrictEqual(one, other)) {
        wrong.push(`${kind} ${key}: ${JSON.stringify(one)} there, ${JSON.stringify(other)} here`);
      }
    }
  }
  for (const [call, result] of Object.entries(there.results)) {
    const [one, other] = [result, here.results[call]].map(plain);
    if (!isDeepStrictEqual(one, other)) {
      wrong.push(`${call}: ${JSON.stringify(one)} there, ${JSON.stringify(other)} here`);
    }
  }
  return wrong;
}

function byKey(list: unknown): Map<string, unknown> {
  const all = (list ?? []) as Json[];
  return new Map(
    all.map((one) => {
      const key = String(one["uri"] ?? one["uriTemplate"] ?? one["name"]).replaceAll(
        /[^\w.:/{}-]/g,
        "_",
      );
      return [key, plain({ ...one, name: String(one["name"]).replaceAll(/[^\w.-]/g, "_") })];
    }),
  );
}

const SERVER_INFO = "io.modelcontextprotocol/serverInfo";

/** Without what says the same: which draft a schema is of, bounds of safe integers, and that a tool may be a task. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(
    ([name, member]) =>
      !["$schema", "execution", "additionalProperties"].includes(name) &&
      member !== undefined &&
      !(
        ["minimum", "maximum"].includes(name) &&
        Math.abs(Number(member)) === Number.MAX_SAFE_INTEGER
      ) &&
      !(name === "isError" && member === false) &&
      !(name === "_meta" && Object.keys(member as object).join() === SERVER_INFO) &&
      !(name === "required" && Array.isArray(member) && member.length === 0),
  );
  return Object.fromEntries(members.map(([name, member]) => [name, plain(member)]));
}

const chosen = SERVERS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const rows: string[] = [];
let failures = 0;
for (const server of chosen) {
  const row = await compared(server).catch((error: unknown) => {
    failures++;
    return `failed: ${String(error instanceof Error ? error.message : error)
      .split("\n")
      .slice(0, 6)
      .join(" ")}`;
  });
  console.log(`${server.name}: ${row}`);
  rows.push(`| ${placeIn(server)} | ${server.style} | ${row} |`);
}
console.log(
  ["", "| server | style | lists and answers |", "| --- | --- | --- |", ...rows].join("\n"),
);
// Some servers keep timers.
process.exit(failures > 0 ? 1 : 0);
