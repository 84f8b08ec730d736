import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { buildWorker, cpuMs, serve, stop, type Served } from "../workerd.ts";

const CALLERS = 100;
/** Schedules of each caller. */
const EACH = 100;
/** Long enough to make them all, in ms. */
const AHEAD_MS = 120_000;
/** When none begins for so long, the rest are lost. */
const MOST_MS = 300_000;

/**
 * Ten thousand schedules of a hundred callers, of which a hundred are due in each second, then all at once: how late their
 * runs begin, how long the calls of another caller take meanwhile, and what a run costs.
 */
export async function benchSchedules(): Promise<void> {
  const folder = await buildWorker("test/worker/index.ts", `.bundle/schedules-${process.pid}`);
  for (const [what, pauseMs] of [
    ["100 due in each second", 1000],
    ["all due at once", 0],
  ] as const) {
    console.log(`${CALLERS * EACH} schedules, ${what}`);
    const durable = join(folder, "stored");
    await rm(durable, { recursive: true, force: true });
    const served = await serve(folder, { durable });
    await measure(served, { pauseMs, durable });
    await stop(served);
  }
  await rm(folder, { recursive: true, force: true });
}

async function measure(
  served: Served,
  { pauseMs, durable }: { pauseMs: number; durable: string },
): Promise<void> {
  const from = Math.ceil((Date.now() + AHEAD_MS) / 1000) * 1000;
  const callers = Array.from({ length: CALLERS }, (_, nth) => `198.51.100.${nth}`);
  const makingMs = await cpuMs(served);
  for (const caller of callers) await call(served, caller, "herd", { count: EACH, from, pauseMs });
  const madeMs = await cpuMs(served);
  const bytes = await bytesIn(join(durable, "Schedules"));
  console.log(`  stored: ${Math.round(bytes / CALLERS / EACH)} bytes for each`);
  await pause(Math.max(0, from - 500 - Date.now()));

  const calls: number[] = [];
  let late: number[] = [];
  const calling = async () => {
    while (late.length < CALLERS * EACH && Date.now() < from + MOST_MS) {
      const began = performance.now();
      await call(served, "203.0.113.9", "greet", { name: "Ada" });
      calls.push(performance.now() - began);
      await pause(50);
    }
  };
  const looking = async () => {
    // Looking costs something, too.
    await pause(EACH * pauseMs + 5000);
    while (late.length < CALLERS * EACH && Date.now() < from + MOST_MS) {
      const found: number[] = [];
      for (const caller of callers)
        found.push(...((await call(served, caller, "herd_begun"))["late"] as number[]));
      late = found.filter((ms) => ms !== null);
      await pause(2000);
    }
  };
  await Promise.all([calling(), looking()]);
  const ranMs = await cpuMs(served);
  console.log(`  begun: ${late.length}; late by ${quantiles(late)}`);
  console.log(`  calls of another caller: ${quantiles(calls)} (${calls.length})`);
  const each = (ms: number) => (ms / CALLERS / EACH).toFixed(2);
  console.log(`  CPU: ${each(madeMs - makingMs)} ms to make one, ${each(ranMs - madeMs)} ms a run`);
}

/** Bytes of the databases of this class of objects, without their logs. */
async function bytesIn(folder: string): Promise<number> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".sqlite"));
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((all, size) => all + size, 0);
}

function quantiles(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const [median, p95, longest] = [0.5, 0.95, 1].map((share) =>
    (sorted[Math.floor((sorted.length - 1) * share)]! / 1000).toFixed(2),
  );
  return `median ${median} s, p95 ${p95} s, longest ${longest} s`;
}

/** The structured content of a tool's result, for the caller at this address. */
async function call(
  { port }: Served,
  address: string,
  name: string,
  args: object = {},
): Promise<Record<string, unknown>> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": name,
      "cf-connecting-ip": address,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: args, _meta },
    }),
  });
  const { result, error } = (await response.json()) as Record<string, any>;
  if (error !== undefined || result.isError) throw new Error(JSON.stringify(error ?? result));
  return result.structuredContent ?? {};
}
