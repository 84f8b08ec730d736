/** The servers of the shop, and what they ask. Each is built below `.bundle`. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { makeBundle } from "../../../../src/tools/bundle/bundle.ts";
import { build, host, project } from "../../host/hosting.ts";
import { OBJECTS } from "../../objects.ts";
import { buildWorker, freePort, serve } from "../../workerd.ts";
import { writeMain } from "../plugins.ts";

const HERE = import.meta.dirname;
const SCRATCH = resolve(".bundle/bench/shop");

/** Addresses of what the servers ask. */
export interface Backend {
  api: string;
  /** Redis by HTTP. */
  redis: string;
  /** Redis by its own protocol; undefined where none is installed. */
  native: string | undefined;
}

export interface Running {
  port: number;
  process: ChildProcess;
  /** Ends the server, where more is to be done than to end its process. */
  end?: () => Promise<void>;
}

/** What is to be ended when the bench ends. */
const children: ChildProcess[] = [];
process.on("exit", () => children.forEach((one) => one.kill()));

function start(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return child;
}

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await pause(20);
  }
  throw new Error(`nothing listens on port ${port}`);
}

const isThere = (tool: string) => spawnSync("which", [tool]).status === 0;

/** Starts the product API, and Redis if one is installed and wanted: its data is only in memory. */
export async function startBackend(withRedis = true): Promise<Backend> {
  const port = await freePort();
  let redisPort: number | undefined;
  if (withRedis && isThere("redis-server")) {
    redisPort = await freePort();
    const settings = { port: redisPort, bind: "127.0.0.1", save: "", appendonly: "no" };
    const args = Object.entries(settings).flatMap(([name, one]) => [`--${name}`, String(one)]);
    start("redis-server", args).stdout.resume();
    await listening(redisPort);
  }
  const args = [port, ...(redisPort === undefined ? [] : [redisPort])].map(String);
  const backend = start(process.execPath, [join(HERE, "backend.ts"), ...args]);
  await once(backend.stdout, "data");
  const api = `http://127.0.0.1:${port}`;
  const native = redisPort === undefined ? undefined : `redis://127.0.0.1:${redisPort}`;
  return { api, redis: `${api}/redis`, native };
}

/** A server without sessions, as the others are, binds no object for them. */
const WITHOUT_SESSIONS = { KEY_RING: "KeyRing" };

/** A self-hosted server of this project with one of its servlets. */
async function own(
  { api, redis }: Backend,
  name: string,
  objects: Record<string, string> = WITHOUT_SESSIONS,
): Promise<Running> {
  const servlet = join(HERE, "../servlets", name);
  const members = await makeBundle({
    folders: [servlet],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  });
  const folder = await project(
    await writeMain(members, join(SCRATCH, name)).then(resolve),
    "",
    objects,
  );
  await build(folder);
  const args = ["--private-network", "--from-env", "SHOP_API", "--from-env", "SHOP_REDIS"];
  const hosting = await host(folder, { args, variables: { SHOP_API: api, SHOP_REDIS: redis } });
  children.push(hosting.process);
  const end = async () => {
    await hosting.end();
    await rm(folder, { recursive: true, force: true });
  };
  return { ...hosting, end };
}

async function floor({ api, redis }: Backend): Promise<Running> {
  const folder = await buildWorker(join(HERE, "floor.ts"), join(SCRATCH, "floor"));
  const served = await serve(folder, { variables: { API: api, REDIS: redis } });
  children.push(served.process);
  return served;
}

/** Starts a server that is a program of its own. */
async function program(
  { api, redis, native = redis }: Backend,
  command: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Running> {
  const port = await freePort();
  const child = start(command, args, { PORT: String(port), API: api, REDIS: native, ...env });
  child.stdout.resume();
  await listening(port);
  return { port, process: child };
}

/** Builds a program of another language in a copy of its folder; packages are fetched once. Throws where that fails. */
async function built(language: string, commands: readonly string[][]): Promise<string> {
  const cwd = join(SCRATCH, language);
  // With their times, by which compilers know what has changed.
  await cp(join(HERE, language), cwd, { recursive: true, preserveTimestamps: true });
  for (const [command, ...args] of commands) {
    const { status, stderr } = spawnSync("nice", [command!, ...args], { cwd, encoding: "utf8" });
    if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${stderr.slice(-1000)}`);
  }
  return cwd;
}

async function go(backend: Backend): Promise<Running> {
  const commands = [
    ["go", "mod", "tidy"],
    ["go", "build", "-o", "shop"],
  ];
  return program(backend, join(await built("go", commands), "shop"));
}

async function rust(backend: Backend): Promise<Running> {
  const folder = await built("rust", [["cargo", "build", "--release", "--quiet"]]);
  return program(backend, join(folder, "target/release/shop"));
}

/** The official Python SDK, or FastMCP, in an environment of its own. */
async function python(backend: Backend, peer: "mcp" | "fastmcp"): Promise<Running> {
  const pip = ".venv/bin/pip";
  const folder = await built("python", [
    ["python3", "-m", "venv", ".venv"],
    [pip, "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"],
  ]);
  const command = join(folder, ".venv/bin/python");
  return program(backend, command, [join(folder, "shop.py")], { PEER: peer, PYTHONPATH: folder });
}

/** The servers by name; each says what it needs, where not all machines have that. */
export const SERVERS: Record<
  string,
  { start: (backend: Backend) => Promise<Running>; needs?: string }
> = {
  ours: { start: (backend) => own(backend, "shop") },
  "ours, with sessions": { start: (backend) => own(backend, "shop", OBJECTS) },
  "ours, SDK's server": { start: (backend) => own(backend, "shop-sdk") },
  "ours, Python": { start: (backend) => own(backend, "shop-python") },
  "TypeScript SDK": {
    start: (backend) => program(backend, process.execPath, [join(HERE, "node-peer.ts")]),
  },
  "plain Worker": { start: floor },
  "Go SDK": { start: go, needs: "go" },
  "Rust SDK": { start: rust, needs: "cargo" },
  "Python SDK": { start: (backend) => python(backend, "mcp"), needs: "python3" },
  FastMCP: { start: (backend) => python(backend, "fastmcp"), needs: "python3" },
};

/** Starts those of the servers that this machine can build, in this order; says which it cannot. */
export async function startServers(backend: Backend): Promise<Map<string, Running>> {
  const running = new Map<string, Running>();
  for (const [name, { start: startServer, needs }] of Object.entries(SERVERS)) {
    try {
      if (needs !== undefined && !isThere(needs)) throw new Error(`there is no ${needs}`);
      running.set(name, await startServer(backend));
    } catch (error) {
      if (needs === undefined) throw error;
      console.log(`left out: ${name}: ${(error as Error).message}`);
    }
  }
  return running;
}
