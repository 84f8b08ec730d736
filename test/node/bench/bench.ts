/**
 * `npm run bench`: this project beside the official SDK's handler, the stock Extism SDK and a bare reply, each
 * served by workerd itself on loopback, driven in turn in one run, after a warm-up that the compilers need. Ratios count,
 * not absolute times; the ratio of CPU time (user and system, of the servers' processes) is the one that a busy machine
 * changes least. Rows that have a target say whether it is met. At the end: sessions (session.ts), fetches of servlets
 * (fetch.ts), what an isolate holds (isolate.ts), and a public benchmark of servers beside this one's (shop.ts).
 * `--full` has longer rounds, and measures memory, durable calls, sessions and installed servlets with state too; names
 * of rows (`npm run bench -- callKey session shop`) are for no more than these.
 * `PLUGIN_CASES=FOLDER npm run bench` has rows of large plugins too (plugins.ts).
 * `--against COMMIT` drives the Worker of another commit beside this one, and says which rows are slower (against.ts).
 *
 * Other measurements are made alone, by their name:
 * `fuel`: what guests can compute for their fuel (fuel.ts)
 * `tracking`: what it costs them that their writes are marked (tracking.ts)
 * `fleet`: what many servlets cost (fleet.ts)
 * `coldStart`: what a new isolate pays (cold-start.ts)
 * `largeArgument`: what the host keeps of large arguments and results (large-argument.ts)
 * `firstAnswer`: how long `dev` takes to answer (first-answer.ts)
 * `hosted`: a self-hosted server (hosted.ts)
 * `herd`: tasks that are due at once (herd.ts)
 * `schedules`: ten thousand schedules, due in turn and at once (schedules.ts)
 * `remote`: calls through a servlet of another MCP server (remote.ts)
 * `live`: how long the page of a thousand calls keeps a browser busy
 * `callInner`: what a call costs that a servlet makes (call-inner.ts)
 * `python`: calls in Python (python.ts)
 * `cost`: what calls use of what Cloudflare bills (cost.ts)
 * `context`: what passes through a model with many tools, and by scripts (context.ts)
 */
import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { build as buildSource, sourceIn } from "../../../src/tools/bundle/source.ts";
import { benchAgainst, buildCheckout } from "./against.ts";
import { benchCallInner } from "./call-inner.ts";
import { benchColdStart } from "./cold-start.ts";
import { benchContext } from "./context.ts";
import { benchCost } from "./cost.ts";
import { doors, measureNewTokens } from "./doors.ts";
import { measureDurable } from "./durable.ts";
import { benchFetch } from "./fetch.ts";
import { benchFirstAnswer } from "./first-answer.ts";
import { benchFleet } from "./fleet.ts";
import { benchFuel } from "./fuel.ts";
import { benchHerd } from "./herd.ts";
import { benchLargeArgument } from "./large-argument.ts";
import { benchHosted } from "./hosted.ts";
import { benchIsolate } from "./isolate.ts";
import { greeted, kindsWith, type Wanted } from "./kinds.ts";
import { drive } from "./load.ts";
import { pluginRows } from "./plugins.ts";
import { benchPython } from "./python.ts";
import { limits } from "../../../src/server/features/installs/limits.ts";
import { builtFrom, serveLoading } from "../http/installing.ts";
import { benchRemote } from "./remote.ts";
import { benchSchedules } from "./schedules.ts";
import { benchSession } from "./session.ts";
import { measureSessions } from "./sessions.ts";
import { benchShop } from "./shop.ts";
import { unstable_readConfig } from "wrangler";
import { benchTracking } from "./tracking.ts";
import { CONNECTIONS, inTurn, KEYS, median, middle, sideOf, type Round } from "./turns.ts";
import {
  buildTests,
  buildWorker,
  freePort,
  residentMB,
  serve,
  type Options,
  type Served,
} from "../workerd.ts";

const { values: options, positionals: only } = parseArgs({
  allowPositionals: true,
  options: { full: { type: "boolean", default: false }, against: { type: "string" } },
});
/** Measurements that are made alone. */
const ALONE: Record<string, () => Promise<void>> = {
  fuel: benchFuel,
  tracking: benchTracking,
  fleet: benchFleet,
  callInner: benchCallInner,
  python: () => benchPython(only.filter((one) => one !== "python")),
  context: benchContext,
  cost: benchCost,
  herd: benchHerd,
  schedules: benchSchedules,
  remote: benchRemote,
  coldStart: benchColdStart,
  largeArgument: benchLargeArgument,
  firstAnswer: benchFirstAnswer,
  async live() {
    // In a browser, which the slow tests have.
    const test = ["run", "--silent=false", "test/features/console/node/live-browser.slow.test.ts"];
    execFileSync("vitest", test, { stdio: "inherit" });
  },
  hosted: benchHosted,
};
const alone = only.find((name) => ALONE[name] !== undefined);
if (alone !== undefined) {
  await ALONE[alone]!();
  process.exit(0);
}
const { full, against } = options;
const LENGTH = { rounds: full ? 15 : 9, ms: full ? 1000 : 400 };
/** Of rows whose figures are differences. */
const LONG_LENGTH = { rounds: full ? 15 : 7, ms: full ? 2000 : 1000 };
/** Of whole sessions, of which slow servers end few. */
const SHOP_LENGTH = { rounds: full ? 5 : 3, ms: full ? 10_000 : 4000 };
const MEMORY_CALLS = 200_000;
const scratch = join(".bundle", "bench");

const buildPeer = (name: string) =>
  buildWorker(join(import.meta.dirname, `${name}.ts`), join(scratch, name));

/** The plugin for the megabyte as its compiler made it. */
async function echoPlugin(): Promise<Uint8Array> {
  const source = await sourceIn("test/guests/echo", LANGUAGES);
  if (source === undefined) throw new Error("test/guests/echo is gone");
  return buildSource(source, ".bundle", () => {});
}

const { variables, jwks, newTokens, ...proofs } = await doors();
const ownKinds = kindsWith(proofs);
if (against !== undefined) {
  await benchAgainst(against, ownKinds, { only, variables, ...LENGTH });
  process.exit(0);
}
const plugins = await pluginRows(join(scratch, "plugins"), only);
const kinds: Record<string, Wanted> = { ...ownKinds, ...plugins?.kinds };

/** What is made when it is first needed, and then is there. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

const running: Served[] = [];
process.on("exit", () => running.forEach(({ process }) => process.kill()));
const serving = (folder: () => Promise<string>, settings: Options = {}) =>
  once(async () => {
    const served = await serve(await folder(), settings);
    running.push(served);
    return served;
  });

await mkdir(scratch, { recursive: true });
const oursFolder = once(() => buildCheckout(".", join(scratch, "ours")));
const guestsFolder = once(() => buildTests(join(scratch, "guests")));
const stockFolder = once(async () => {
  const folder = await buildPeer("stock");
  await writeFile(join(folder, "plugin.wasm"), await echoPlugin());
  return folder;
});
const forGuests: Options = { variables: { SEASON: "any" }, durable: true };
const deployedVariables = unstable_readConfig({ config: "wrangler.toml" }).vars as Record<
  string,
  string
>;
/** A Worker that loads servlets, with its limits as they are: one that asks for news all the time would be slower. */
async function loading() {
  const settings = { variables: { TEST_LIMITS: "{}" } };
  const one = await serveLoading(settings, ["any", ...KEYS], await guestsFolder());
  running.push(one.served);
  return one;
}
/** With the greeting and the counter installed, too. */
const loaded = once(async () => {
  const { served, operator } = await loading();
  await operator.put(await builtFrom("plugins/hello", "loaded", { prefix: "loaded" }, true));
  await operator.put(await builtFrom("test/guests/counting", "tally", { prefix: "tally" }, true));
  await pause(limits.installsStaleMs);
  return served;
});
const SERVERS = {
  ours: serving(oursFolder, { durable: true }),
  oursToo: serving(oursFolder, { durable: true }),
  locked: serving(oursFolder, { durable: true, variables }),
  deployed: serving(oursFolder, { durable: true, variables: deployedVariables }),
  guests: serving(guestsFolder, forGuests),
  guestsToo: serving(guestsFolder, forGuests),
  loaded,
  unloaded: once(async () => (await loading()).served),
  peer: serving(() => buildPeer("peer")),
  stock: serving(stockFolder),
  bare: serving(() => buildPeer("bare")),
  sessionPeer: serving(() => buildPeer("session-peer"), {
    durable: true,
    objects: { SESSIONS: "PeerSession" },
  }),
  statePeer: serving(() => buildPeer("state-peer"), {
    durable: true,
    objects: { COUNTERS: "PeerCounter" },
  }),
  /** Large plugins, and the small one that is their measure: each process has idle instances of its own. */
  large: serving(async () => plugins!.folder, { durable: true }),
  small: serving(async () => plugins!.folder, { durable: true }),
};
type Server = keyof typeof SERVERS;

/** The two servers of a row: ours, and the other. */
const ROW_SERVERS: Record<string, [Server, Server]> = {
  callBare: ["ours", "bare"],
  callDeployed: ["deployed", "peer"],
  callDeployedBare: ["deployed", "bare"],
  callSession: ["ours", "sessionPeer"],
  callOtc: ["ours", "oursToo"],
  callKey: ["locked", "oursToo"],
  callJwt: ["locked", "oursToo"],
  callStateful: ["guests", "statePeer"],
  commit10MB: ["guests", "guestsToo"],
  callTypeScript: ["guests", "peer"],
  callC: ["guests", "peer"],
  megabyte: ["guests", "stock"],
  callLoaded: ["loaded", "unloaded"],
  callStatefulLoaded: ["loaded", "unloaded"],
};
const serversOf = (row: string): [Server, Server] =>
  plugins?.kinds[row] === undefined ? (ROW_SERVERS[row] ?? ["ours", "peer"]) : ["large", "small"];

/** Only in `--full`, or by name. */
const FULL_ONLY = new Set(["callStatefulLoaded"]);
const isWanted = (name: string) =>
  only.length === 0 ? full || !FULL_ONLY.has(name) : only.includes(name);

/** The most CPU time that a call may take, as a multiple of the other's. */
const TARGETS: Record<string, number> = {
  callModern: 0.36,
  callBare: 1.8,
  callDeployedBare: 1.9,
  callLegacy: 0.3,
  callStateful: 1.45,
  commit10MB: 1.2,
  listTools: 0.3,
  callTypeScript: 0.6,
  callC: 0.4,
  ...plugins?.targets,
};

const rounded = (value: number) => Number(value.toFixed(2));
const printRow = (cells: string[]) =>
  console.log(
    cells
      .map((cell, at) => (at === 0 ? cell.padEnd(18) : cell.padStart(13)))
      .join("")
      .trimEnd(),
  );

/** Drives both servers of a row in turn, and prints it; gives the ratios. */
async function compare(name: string, wanted: Wanted) {
  const [ours, other] = serversOf(name);
  const results = await inTurn(
    [
      await sideOf(await SERVERS[ours](), wanted),
      await sideOf(await SERVERS[other](), { ...wanted, ...wanted.peer }),
    ],
    LENGTH,
  );
  const ratio = (key: keyof Round) =>
    median(results[0]!.map((one, at) => one[key] / results[1]![at]![key]));
  const both = (key: keyof Round, digits = 0) =>
    results.map((rounds) => middle(rounds, key).toFixed(digits));
  const [perSecond, cpu] = [ratio("perSecond"), ratio("cpuUs")];
  const most = TARGETS[name];
  const verdict = most === undefined ? [] : [String(most), cpu <= most ? "met" : "missed"];
  printRow([
    name,
    ...both("perSecond"),
    perSecond.toFixed(2),
    ...both("p50", 2),
    ...both("p99", 2),
    ...both("cpuUs"),
    cpu.toFixed(2),
    ...verdict,
  ]);
  return { perSecond, cpu };
}

const ratios: Record<string, number> = {};
const cpuRatios: Record<string, number> = {};
const rows = Object.entries(kinds).filter(([name]) => isWanted(name));
if (rows.length > 0) {
  const twice = (of: string) => [`ours ${of}`, `other ${of}`];
  const times = [...twice("p50 ms"), ...twice("p99 ms"), ...twice("CPU us")];
  printRow(["", ...twice("req/s"), "ratio", ...times, "CPU ratio", "at most"]);
}
for (const [name, wanted] of rows) {
  const { perSecond, cpu } = await compare(name, wanted);
  ratios[name] = rounded(perSecond);
  cpuRatios[name] = rounded(cpu);
}

const others: Record<string, number> = {};
if (isWanted("session"))
  Object.assign(
    others,
    await benchSession(await SERVERS.oursToo(), await SERVERS.bare(), LONG_LENGTH),
  );
if (isWanted("fetch1") || isWanted("fetch5")) Object.assign(others, await benchFetch(LONG_LENGTH));
if (isWanted("isolate")) Object.assign(others, await benchIsolate(await oursFolder()));
if (isWanted("shop")) Object.assign(others, await benchShop(SHOP_LENGTH));

const roundedAll = (all: Record<string, number>) =>
  Object.fromEntries(Object.entries(all).map(([name, value]) => [name, rounded(value)]));
if (!full || only.length > 0) {
  console.log(`bench: ${JSON.stringify({ ...ratios, cpu: cpuRatios, ...roundedAll(others) })}`);
  process.exit(0);
}

const door = await measureNewTokens(
  await SERVERS.locked(),
  { ...ownKinds.callJwt, connections: CONNECTIONS },
  { jwks, newTokens, folder: await buildPeer("verifier"), port: await freePort(), ms: LENGTH.ms },
);
const memory: number[] = [];
const fresh = await serve(await oursFolder(), { durable: true });
running.push(fresh);
for (let half = 0; half < 2; half++) {
  const load = { connections: CONNECTIONS, ...ownKinds.callModern, port: fresh.port };
  await drive(load, (count) => count >= MEMORY_CALLS, greeted);
  memory.push(await residentMB(fresh));
}
const durable = await measureDurable(await guestsFolder(), await freePort(), 10_000);
const sessions = await measureSessions(await guestsFolder(), await freePort(), 1000);
const script = await readFile(join(await oursFolder(), "index.js"));
const figures = {
  ...ratios,
  cpu: cpuRatios,
  ...roundedAll({ ...others, ...door, ...durable, ...sessions }),
  memoryGrowth: rounded(memory[1]! / memory[0]!),
  startupMs: Math.round(fresh.startupMs),
  bundleGzipKB: Math.round(gzipSync(script, { level: 9 }).length / 1024),
};
console.log(
  `\nmemory after ${MEMORY_CALLS} calls ${Math.round(memory[0]!)} MB, after twice as many ${Math.round(memory[1]!)} MB`,
);
console.log(
  `start-up to the first answer ${figures.startupMs} ms, JavaScript ${figures.bundleGzipKB} KB gzipped`,
);
console.log(`bench: ${JSON.stringify(figures)}`);
process.exit(0);
