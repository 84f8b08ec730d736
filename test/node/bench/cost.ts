/**
 * `npm run bench -- cost`: what calls of each kind use of what Cloudflare bills, beside the same in the way of `McpAgent` and on
 * Node. It writes cost/measured.json, of which `npm run docs` makes the tables of docs/operating.md. It fetches the package
 * `agents` from npm.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { build } from "esbuild";
import { unstable_readConfig } from "wrangler";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { OBJECTS } from "../objects.ts";
import {
  buildWorker,
  cpuMs,
  freePort,
  residentMB,
  serve,
  stop,
  type Measurable,
  type Options,
  type Served,
} from "../workerd.ts";
import type { Billed, Measured } from "./cost/measured.ts";
import { askInVain, OURS, PEERS, type Act, type User } from "./cost/acts.ts";
import { Connection } from "./load.ts";
import { writeMain } from "./plugins.ts";
import { median } from "./turns.ts";

const SCRATCH = resolve(".bundle/bench/cost");
const MEASURED = join(import.meta.dirname, "cost/measured.json");
const AGENTS = "agents@0.32.0";
/** A million calls a month come at this pace. */
const PACE_MS = 2600;
/** In their time, isolates write twice what they count. */
const CALLS = 10;
/** Kinds whose object sleeps between two calls of a caller, as it does in a month of a thousand calls. */
const RARE: Record<string, { paceMs: number; calls: number }> = {
  stateful: { paceMs: 12_000, calls: 3 },
};
/** Calls until all objects are there that callers share. */
const WARM_UP = 100;
/** By then, it is written what an isolate has counted in the calls before. */
const SETTLED_MS = 26_000;
/** Load after which the compilers are quiet. */
const WARM_UP_MS = 3000;
const ROUNDS = 5;
const ROUND_MS = 800;
const CONNECTIONS = 8;

/** With this heap, Node has room in the smallest container. */
const HEAP = "--max-old-space-size=128";

/** A path in generated code. */
const quoted = (path: string) => JSON.stringify(resolve(path));

/** Builds a Worker from its main module, and one that counts beside it; returns their folders. */
async function bothOf(
  name: string,
  main: string,
  classes: readonly string[],
  builder: typeof buildWorker,
) {
  const counting = join(SCRATCH, `${name}-counting.ts`);
  await writeFile(
    counting,
    `import worker, * as classes from ${quoted(main)};
import { countedClasses, countedWorker } from ${quoted("test/worker/billed.ts")};
export const { ${classes.join(", ")} } = countedClasses(classes);
export default countedWorker(worker);
`,
  );
  return {
    plain: await builder(main, join(SCRATCH, name)),
    counting: await builder(counting, join(SCRATCH, `${name}-counting`)),
  };
}

async function buildOurs() {
  const folders = [
    join(import.meta.dirname, "servlets/costs"),
    "test/guests/counting",
    "plugins/code",
  ];
  const members = await makeBundle({
    folders,
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  });
  return bothOf("ours", await writeMain(members, SCRATCH), Object.values(OBJECTS), buildWorker);
}

/** Builds a Worker that imports `agents`: what wrangler has for it is not in workerd alone. */
async function buildPeer(main: unknown, folder: string): Promise<string> {
  const email = join(SCRATCH, "email.js");
  await writeFile(email, "export class EmailMessage {}");
  await build({
    entryPoints: { index: String(main) },
    outdir: folder,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    alias: { path: "node:path", "cloudflare:email": email },
    logLevel: "silent",
  });
  return folder;
}

async function buildAgent() {
  const packages = join(SCRATCH, "package.json");
  if (!existsSync(packages)) {
    await writeFile(packages, '{ "private": true }');
    const options = ["--omit=peer", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    execFileSync("npm", ["install", ...options, AGENTS], { cwd: SCRATCH, stdio: "inherit" });
  }
  const main = join(SCRATCH, "agent.ts");
  await writeFile(
    main,
    `import { McpAgent } from "agents/mcp";
import { peerOf } from ${quoted("test/worker/mcp-agent.ts")};
const { worker, Peer, CodePeer } = peerOf(McpAgent);
export { Peer, CodePeer };
export default worker;
`,
  );
  return bothOf("agent", main, ["Peer", "CodePeer"], buildPeer);
}

/** How the server of a kind is served. */
type OptionsOf = (kind: string) => Options;

const agentOptions =
  (variables: Record<string, string>): OptionsOf =>
  (kind) => ({
    durable: true,
    variables,
    objects: { MCP_OBJECT: kind === "code" ? "CodePeer" : "Peer" },
    ...(kind === "code" && { loader: true }),
  });

const running: Pick<Served, "process">[] = [];
process.on("exit", () => running.forEach((one) => one.process.kill("SIGKILL")));

async function started(folder: string, options: Options): Promise<Served> {
  const one = await serve(folder, options);
  running.push(one);
  return one;
}

/** What a call of a kind uses, but for CPU time: counted at the pace of a month, with the alarms that are set. */
async function count(folder: string, kind: string, act: Act, options: OptionsOf): Promise<Billed> {
  const { paceMs, calls } = RARE[kind] ?? { paceMs: PACE_MS, calls: CALLS };
  const times = act === askInVain ? 1 : calls;
  const counting = await started(folder, options(kind));
  const { port } = counting;
  const billed = async () =>
    (await (await fetch(`http://127.0.0.1:${port}/billed`)).json()) as Billed;
  const user = { port, connection: await Connection.open(port), nth: 0 };
  try {
    const atPace = async (many: number) => {
      for (let nth = 0; nth < many; nth++) {
        await act(user);
        await pause(paceMs);
      }
    };
    if (times > 1) {
      for (let nth = 0; nth < WARM_UP; nth++) await act(user);
      await atPace(Math.ceil(SETTLED_MS / paceMs));
    }
    const before = await billed();
    await atPace(times);
    const after = await billed();
    const each = (key: keyof Billed) => (after[key] - before[key]) / times;
    const figures = Object.keys(after).map((key) => [key, each(key as keyof Billed)]);
    const storedBytes = kind in RARE ? after.storedBytes : each("storedBytes");
    return { ...(Object.fromEntries(figures) as Billed), storedBytes };
  } catch (error) {
    throw new Error(`${kind} of ${folder}`, { cause: error });
  } finally {
    user.connection.close();
    await stop(counting);
  }
}

/** A server under load by calls of one kind. */
interface Load {
  served: Measurable & { port: number };
  act: Act;
}

const loadsOf = (served: Load["served"], acts: Record<string, Act>): Record<string, Load> =>
  Object.fromEntries(Object.entries(acts).map(([kind, act]) => [kind, { served, act }]));

/** CPU time in ms of a call, from as many as some users make in this time. */
async function cpuOf({ served: server, act }: Load, ms: number): Promise<number> {
  const { port } = server;
  const users = await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, nth): Promise<User> => {
      const user = { port, connection: await Connection.open(port), nth };
      // Begins the user's session, if calls are in one.
      await act(user);
      return user;
    }),
  );
  const [began, before] = [performance.now(), await cpuMs(server)];
  let calls = 0;
  const loop = async (user: User) => {
    for (; performance.now() - began < ms; calls++) await act(user);
    user.connection.close();
  };
  await Promise.all(users.map(loop));
  return ((await cpuMs(server)) - before) / calls;
}

/** The median CPU time of rounds in which all take turns. */
async function cpuOfAll(loads: Record<string, Load>): Promise<Record<string, number>> {
  for (const load of Object.values(loads)) await cpuOf(load, WARM_UP_MS);
  const rounds = Object.fromEntries(Object.keys(loads).map((name) => [name, [] as number[]]));
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, load] of Object.entries(loads))
      rounds[name]!.push(await cpuOf(load, ROUND_MS));
  return Object.fromEntries(Object.entries(rounds).map(([name, all]) => [name, median(all)]));
}

async function serveNode(url: string): Promise<Pick<Served, "port" | "process">> {
  const port = await freePort();
  const script = join(import.meta.dirname, "cost/container.ts");
  const process_ = spawn(process.execPath, [HEAP, script, String(port), url], { stdio: "inherit" });
  running.push({ process: process_ });
  const isOpen = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  while (!(await isOpen())) await pause(20);
  return { port, process: process_ };
}

const SERVERS = ["here", "McpAgent", "McpAgent", "Node"];

export async function benchCost(): Promise<void> {
  await mkdir(SCRATCH, { recursive: true });
  // A connection that it closes while nobody calls would make the next fetch fail.
  const api = createServer({ keepAliveTimeout: 600_000 }, (_request, response) => {
    response.end("Ada");
  }).listen(0, "127.0.0.1");
  await once(api, "listening");
  const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}/`;
  const { vars } = unstable_readConfig({ config: "wrangler.toml" });
  const variables = { ...(vars as Record<string, string>), SMALL_URL: url };
  const ours = await buildOurs();
  const agent = await buildAgent();
  const oursOptions: OptionsOf = () => ({ durable: true, variables, isDeployed: true });
  const peerOptions = agentOptions({ SMALL_URL: url });
  const [here, agentBilled] = await Promise.all([
    countAll(ours.counting, OURS, oursOptions),
    countAll(agent.counting, { ...PEERS, ask: askInVain }, peerOptions),
  ]);
  const { code, ...others } = PEERS;
  const servers = [
    await started(ours.plain, oursOptions("")),
    await started(agent.plain, peerOptions("")),
    await started(agent.plain, peerOptions("code")),
    await serveNode(url),
  ] as const;
  const loads = [
    loadsOf(servers[0], OURS),
    loadsOf(servers[1], others),
    loadsOf(servers[2], { code: code! }),
    loadsOf(servers[3], others),
  ];
  const named = loads.flatMap((all, at) =>
    Object.entries(all).map(([kind, load]) => [`${SERVERS[at]} ${kind}`, load] as const),
  );
  const cpu = await cpuOfAll(Object.fromEntries(named));
  const cpuMsOf = (at: number) =>
    Object.fromEntries(
      Object.keys(loads[at]!).map((kind) => [kind, cpu[`${SERVERS[at]} ${kind}`]!]),
    );
  const agentCpu = { ...cpuMsOf(1), ...cpuMsOf(2) };
  const withCpu = (billed: Record<string, Billed>, of: Record<string, number>) =>
    Object.fromEntries(
      Object.entries(billed).map(([kind, one]) => [kind, { cpuMs: of[kind] ?? 0, ...one }]),
    );
  const measured: Measured = {
    on: new Date().toISOString().slice(0, 10),
    agents: AGENTS,
    here: withCpu(here, cpuMsOf(0)),
    // Its question is asked in a session of its own.
    agent: withCpu(agentBilled, { ...agentCpu, ask: agentCpu["session"]! }),
    node: { cpuMs: cpuMsOf(3), memoryMB: await residentMB(servers[3]) },
  };
  await Promise.all(servers.map(stop));
  await writeFile(MEASURED, `${JSON.stringify(measured, rounded, 2)}\n`);
  console.log(`${MEASURED} is written; npm run docs puts it into docs/operating.md`);
}

async function countAll(
  folder: string,
  acts: Record<string, Act>,
  options: OptionsOf,
): Promise<Record<string, Billed>> {
  const counted = Object.entries(acts).map(
    async ([kind, act]) => [kind, await count(folder, kind, act, options)] as const,
  );
  return Object.fromEntries(await Promise.all(counted));
}

const rounded = (_key: string, value: unknown) =>
  typeof value === "number" ? Number(value.toPrecision(3)) : value;
