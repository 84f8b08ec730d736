/**
 * `npm run bench -- session`: what a session costs that is begun and ended with one call in it, beyond the same call without a
 * session: CPU time, beside three requests of a bare Worker, and how often the disk is waited for.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import type { Served } from "../workerd.ts";
import { greeted } from "./kinds.ts";
import { LegacyClient } from "./legacy-client.ts";
import { repeat, type Connection } from "./load.ts";
import { CONNECTIONS, inTurn, judged, middle, sideOf, type Side } from "./turns.ts";

const VERSIONS = ["2025-11-25", "2024-11-05"];
/** Sessions whose calls of the system are counted. */
const COUNTED = 200;
/** CPU time in ms, and calls of `fsync`, that a session may cost beyond its call: writes that many sessions share are few. */
const MOST = { cpuMs: 0.5, fsyncs: 0.1 };

const GREET = { name: "greet", arguments: { name: "Ada" } };

/** One whole session with one call; gives its time. */
const session = (version: string) => async (connection: Connection) => {
  const client = new LegacyClient(connection, version);
  const began = performance.now();
  await client.begin();
  const { content } = await client.request("tools/call", GREET);
  if (!content[0].text.startsWith("Hello, ")) throw new Error(JSON.stringify(content));
  await client.end();
  return performance.now() - began;
};

const call = {
  headers: { "mcp-protocol-version": VERSIONS[0]! },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: GREET }),
  check: greeted,
};

/** Compares our server with a bare one; gives CPU time in ms and calls of `fsync` beyond those of a call. */
export async function benchSession(
  ours: Served,
  bare: Served,
  length: { rounds: number; ms: number },
): Promise<Record<string, number>> {
  const sessions = VERSIONS.map((version): Side => ({
    processes: [ours],
    load: (ms) =>
      repeat(
        { port: ours.port, connections: CONNECTIONS },
        session(version),
        (_count, elapsed) => elapsed > ms,
      ),
  }));
  const sides = [await sideOf(ours, call), await sideOf(bare, call), ...sessions];
  const costs = (await inTurn(sides, length)).map((rounds) => middle(rounds, "cpuUs") / 1000);
  const [ofCall = NaN, ofBare = NaN, ...ofSessions] = costs;
  console.log(
    `session: three requests of a bare Worker take ${(3 * ofBare).toFixed(2)} ms of CPU; beyond its call, a session takes`,
  );
  const figures: Record<string, number> = {};
  for (const [at, version] of VERSIONS.entries()) {
    const cpu = ofSessions[at]! - ofCall;
    const fsyncs = await fsyncsOf(ours, version);
    const counted =
      typeof fsyncs === "string" ? `not counted: ${fsyncs}` : judged(fsyncs, MOST.fsyncs, 1);
    console.log(`  ${version}: ${judged(cpu, MOST.cpuMs)} ms; calls of fsync ${counted}`);
    figures[`session ${version}`] = cpu;
    if (typeof fsyncs === "number") figures[`fsyncs ${version}`] = fsyncs;
  }
  return figures;
}

/** Calls of `fsync` for each session by `strace`, or why they cannot be counted. A call without a session has none. */
async function fsyncsOf({ port, process }: Served, version: string): Promise<number | string> {
  if (spawnSync("which", ["strace"]).status !== 0) return "there is no strace";
  const args = ["-f", "-c", "-e", "trace=fsync,fdatasync", "-p", String(process.pid)];
  const strace = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  strace.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const gone = once(strace, "close");
  while (!said.includes("attached")) {
    const isOver = await Promise.race([gone.then(() => true), once(strace.stderr, "data")]);
    if (isOver === true) return said.trim();
  }
  const { count } = await repeat(
    { port, connections: CONNECTIONS },
    session(version),
    (done) => done >= COUNTED,
  );
  strace.kill("SIGINT");
  await gone;
  const calls = [...said.matchAll(/^ *[\d.]+ +[\d.]+ +\d+ +(\d+) .*(?:fsync|fdatasync)$/gm)];
  return calls.reduce((sum, [, one]) => sum + Number(one), 0) / count;
}
