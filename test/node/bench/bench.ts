/**
 * `npm run bench`: this project beside the official SDK's handler, the stock Extism SDK and a bare reply, each
 * served by workerd itself on loopback, driven in turn in one run. Ratios count, not absolute times; the ratio
 * of CPU time (user and system, of the workerd processes) is the one that a busy machine changes least.
 * `--full` has longer rounds, and measures memory, durable calls, sessions and installed servlets with state too; names
 * of rows (`npm run bench -- callKey callJwt`) are for no more than these.
 * `PLUGIN_CASES=FOLDER npm run bench` has rows of large plugins too (plugins.ts).
 * `--against COMMIT` drives the Worker of another commit beside this one, and says which rows are slower (against.ts).
 * `npm run bench -- fuel` measures what guests can compute for their fuel instead (fuel.ts),
 * `-- tracking` what it costs them that their writes are marked (tracking.ts), `-- fleet` what many servlets
 * cost (fleet.ts), `-- coldStart` what a new isolate pays (cold-start.ts),
 * `-- largeArgument` what the host keeps of large arguments and results (large-argument.ts),
 * `-- firstAnswer` how long `dev` takes to answer (first-answer.ts), `-- hosted` a self-hosted server (hosted.ts), `-- herd` tasks that are due at once (herd.ts),
 * `-- live` how long the page of a thousand calls keeps a browser busy, `-- callInner` what a call costs that a servlet makes (call-inner.ts), `-- python` calls in Python (python.ts), and `-- context`
 * what passes through a model with many tools, and by scripts (context.ts).
 */
import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { build as buildSource, sourceIn } from "../../../src/bundle/source.ts";
import { benchAgainst, buildCheckout, IN_GUESTS } from "./against.ts";
import { benchCallInner } from "./call-inner.ts";
import { benchColdStart } from "./cold-start.ts";
import { benchContext } from "./context.ts";
import { doors, measureNewTokens } from "./doors.ts";
import { measureDurable } from "./durable.ts";
import { benchFirstAnswer } from "./first-answer.ts";
import { benchFleet } from "./fleet.ts";
import { benchFuel } from "./fuel.ts";
import { benchHerd } from "./herd.ts";
import { benchLargeArgument } from "./large-argument.ts";
import { benchHosted } from "./hosted.ts";
import { greeted, kindsWith, type Wanted } from "./kinds.ts";
import { drive } from "./load.ts";
import { pluginRows } from "./plugins.ts";
import { benchPython } from "./python.ts";
import { limits } from "../../../src/core/limits.ts";
import { builtFrom, serveLoading } from "../http/installing.ts";
import { measureSessions } from "./sessions.ts";
import { unstable_readConfig } from "wrangler";
import { benchTracking } from "./tracking.ts";
import { CONNECTIONS, inTurn, KEYS, median, type Round } from "./turns.ts";
import { buildTests, buildWorker, freePort, residentMB, serve, type Served } from "../workerd.ts";

const { values: options, positionals: only } = parseArgs({
  allowPositionals: true,
  options: { full: { type: "boolean", default: false }, against: { type: "string" } },
});
if (only.includes("fuel")) {
  await benchFuel();
  process.exit(0);
}
if (only.includes("tracking")) {
  await benchTracking();
  process.exit(0);
}
if (only.includes("fleet")) {
  await benchFleet();
  process.exit(0);
}
if (only.includes("callInner")) {
  await benchCallInner();
  process.exit(0);
}
if (only.includes("python")) {
  await benchPython(only.filter((one) => one !== "python"));
  process.exit(0);
}
if (only.includes("context")) {
  await benchContext();
  process.exit(0);
}
if (only.includes("herd")) {
  await benchHerd();
  process.exit(0);
}
if (only.includes("coldStart")) {
  await benchColdStart();
  process.exit(0);
}
if (only.includes("largeArgument")) {
  await benchLargeArgument();
  process.exit(0);
}
if (only.includes("firstAnswer")) {
  await benchFirstAnswer();
  process.exit(0);
}
if (only.includes("live")) {
  // In a browser, which the slow tests have.
  const test = ["run", "--silent=false", "test/node/http/live-browser.slow.test.ts"];
  execFileSync("vitest", test, { stdio: "inherit" });
  process.exit(0);
}
if (only.includes("hosted")) {
  await benchHosted();
  process.exit(0);
}
const { full, against } = options;
const ROUNDS = full ? 15 : 9;
const ROUND_MS = full ? 1000 : 400;
const MEMORY_CALLS = 200_000;
const scratch = join(".bundle", "bench");

const buildPeer = (name: string) =>
  buildWorker(join(import.meta.dirname, `${name}.ts`), join(scratch, name));

/** The plugin for the megabyte as its compiler made it. */
async function echoPlugin(): Promise<Uint8Array> {
  const source = await sourceIn("test/guests/echo");
  if (source === undefined) throw new Error("test/guests/echo is gone");
  return buildSource(source, ".bundle", () => {});
}

const { variables, jwks, newTokens, ...proofs } = await doors();
const ownKinds = kindsWith(proofs);
if (against !== undefined) {
  await benchAgainst(against, ownKinds, { only, variables, rounds: ROUNDS, ms: ROUND_MS });
  process.exit(0);
}
const plugins = await pluginRows(join(scratch, "plugins"), only);
const kinds: Record<string, Wanted> = { ...ownKinds, ...plugins?.kinds };

/** Drives both in turn. */
async function compare(wanted: Wanted, ours: Served, other: Served) {
  const sent = new Map<Served, Wanted>([
    [ours, wanted],
    [other, { ...wanted, ...wanted.peer }],
  ]);
  const results = await inTurn(sent, { rounds: ROUNDS, ms: ROUND_MS });
  const middle = (served: Served, key: keyof Round) =>
    median(results.get(served)!.map((one) => one[key]));
  const ratio = (key: keyof Round) =>
    median(results.get(ours)!.map((one, at) => one[key] / results.get(other)![at]![key]));
  return { middle, ratio: ratio("perSecond"), cpuRatio: ratio("cpuUs") };
}

await mkdir(scratch, { recursive: true });
const oursFolder = await buildCheckout(".", join(scratch, "ours"));
const stockFolder = await buildPeer("stock");
await writeFile(join(stockFolder, "plugin.wasm"), await echoPlugin());
const ours = await serve(oursFolder, { durable: true });
const peer = await serve(await buildPeer("peer"));
const guestsFolder = await buildTests(join(scratch, "guests"));
const forGuests = { variables: { SEASON: "any" }, durable: true } as const;
const oursGuests = await serve(guestsFolder, forGuests);
const stockEcho = await serve(stockFolder);
const sessionPeer = await serve(await buildPeer("session-peer"), {
  durable: true,
  objects: { SESSIONS: "PeerSession" },
});
const statePeer = await serve(await buildPeer("state-peer"), {
  durable: true,
  objects: { COUNTERS: "PeerCounter" },
});
const guestsToo = await serve(guestsFolder, forGuests);
const oursToo = await serve(oursFolder, { durable: true });
const locked = await serve(oursFolder, { durable: true, variables });
const { vars } = unstable_readConfig({ config: "wrangler.toml" });
const deployed = await serve(oursFolder, {
  durable: true,
  variables: vars as Record<string, string>,
});
const bare = await serve(await buildPeer("bare"));
/** Only in `--full`, or by name. */
const FULL_ONLY = new Set(["callStatefulLoaded"]);
const isWanted = (name: string) =>
  only.length === 0 ? full || !FULL_ONLY.has(name) : only.includes(name);
/** With the limits as they are: a server that asks for news all the time would be slower. */
const loading = () =>
  serveLoading({ variables: { TEST_LIMITS: "{}" } }, ["any", ...KEYS], guestsFolder);
/** The same Worker twice; the first has the greeting and the counter installed, too. */
const [loaded, unloaded] =
  isWanted("callLoaded") || isWanted("callStatefulLoaded")
    ? [await loading(), await loading()]
    : [];
if (loaded) {
  await loaded.operator.put(await builtFrom("plugins/hello", "loaded", { prefix: "loaded" }, true));
  await loaded.operator.put(
    await builtFrom("test/guests/counting", "tally", { prefix: "tally" }, true),
  );
  await pause(limits.installsStaleMs);
}
/** Large plugins, and the small one that is their measure: each process has idle instances of its own. */
const [large, small] =
  plugins === undefined
    ? []
    : await Promise.all(
        [plugins.folder, plugins.folder].map((one) => serve(one, { durable: true })),
      );
const verifierFolder = await buildPeer("verifier");
const all = [ours, peer, oursGuests, stockEcho, sessionPeer, statePeer, guestsToo, oursToo];
all.push(locked, deployed, bare);
if (large && small) all.push(large, small);
if (loaded && unloaded) all.push(loaded.served, unloaded.served);
process.on("exit", () => all.forEach(({ process }) => process.kill()));

/** Measurements that use another server than the peer. */
const others: Record<string, Served> = {
  megabyte: stockEcho,
  callSession: sessionPeer,
  callStateful: statePeer,
  commit10MB: guestsToo,
  callOtc: oursToo,
  callKey: oursToo,
  callJwt: oursToo,
  callBare: bare,
  callDeployedBare: bare,
  ...(unloaded && { callLoaded: unloaded.served, callStatefulLoaded: unloaded.served }),
};
/** The kinds that are not sent to a server that anybody may call, without a run log. */
const ownServer: Record<string, Served> = {
  callKey: locked,
  callJwt: locked,
  callDeployed: deployed,
  callDeployedBare: deployed,
  ...(loaded && { callLoaded: loaded.served, callStatefulLoaded: loaded.served }),
};
/** The most CPU time that a call may take, as a multiple of the other's. */
const TARGETS: Record<string, number> = {
  callBare: 1.6,
  callDeployedBare: 1.9,
  callStateful: 1,
  commit10MB: 1.2,
  ...plugins?.targets,
};
const rounded = (value: number) => Number(value.toFixed(2));
const row = (cells: (string | number)[]) =>
  cells
    .map((cell, at) => (at === 0 ? String(cell).padEnd(18) : String(cell).padStart(14)))
    .join("");
console.log(
  row([
    "",
    "ours req/s",
    "other req/s",
    "ratio",
    "ours p50 ms",
    "p99 ms",
    "other p50 ms",
    "p99 ms",
    "ours CPU us",
    "other CPU us",
    "CPU ratio",
  ]),
);
const ratios: Record<string, number> = {};
const cpuRatios: Record<string, number> = {};
for (const [name, wanted] of Object.entries(kinds)) {
  if (!isWanted(name)) continue;
  const open = IN_GUESTS.has(name) ? oursGuests : ours;
  const isPlugin = plugins?.kinds[name] !== undefined;
  const mine = isPlugin ? large! : (ownServer[name] ?? open);
  const other = isPlugin ? small! : (others[name] ?? peer);
  const { middle, ratio, cpuRatio } = await compare(wanted, mine, other);
  ratios[name] = rounded(ratio);
  cpuRatios[name] = rounded(cpuRatio);
  const of = (served: Served) =>
    (["p50", "p99"] as const).map((key) => middle(served, key).toFixed(2));
  console.log(
    row([
      name,
      Math.round(middle(mine, "perSecond")),
      Math.round(middle(other, "perSecond")),
      ratio.toFixed(2),
      ...of(mine),
      ...of(other),
      Math.round(middle(mine, "cpuUs")),
      Math.round(middle(other, "cpuUs")),
      cpuRatio.toFixed(2),
    ]),
  );
}

for (const [name, target] of Object.entries(TARGETS)) {
  const ratio = cpuRatios[name];
  if (ratio === undefined) continue;
  const verdict = ratio <= target ? "within" : "above";
  console.log(
    `${name}: ${ratio} times the CPU time of the other, ${verdict} the target of ${target}`,
  );
}
if (!full || only.length > 0) {
  console.log(`bench: ${JSON.stringify({ ...ratios, cpu: cpuRatios })}`);
  process.exit(0);
}

const door = await measureNewTokens(
  locked,
  { ...ownKinds.callJwt, connections: CONNECTIONS },
  { jwks, newTokens, folder: verifierFolder, port: await freePort(), ms: ROUND_MS },
);
const memory: number[] = [];
const fresh = await serve(oursFolder, { durable: true });
all.push(fresh);
for (let half = 0; half < 2; half++) {
  const load = { connections: CONNECTIONS, ...ownKinds.callModern, port: fresh.port };
  await drive(load, (count) => count >= MEMORY_CALLS, greeted);
  memory.push(await residentMB(fresh));
}
const durable = await measureDurable(guestsFolder, await freePort(), 10_000);
const sessions = await measureSessions(guestsFolder, await freePort(), 1000);
const script = await readFile(join(oursFolder, "index.js"));
const figures = {
  ...ratios,
  cpu: cpuRatios,
  ...Object.fromEntries(
    Object.entries({ ...door, ...durable, ...sessions }).map(([name, value]) => [
      name,
      rounded(value),
    ]),
  ),
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
