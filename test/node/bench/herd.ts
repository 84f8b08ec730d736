import { rm } from "node:fs/promises";
import { join } from "node:path";
import { buildWorker, cpuMs, serve, stop } from "../workerd.ts";

const TASKS = 500;
/** Long enough to begin them all, in ms. */
const SLEEP_MS = 90_000;
/** Clients that poll at once. */
const POLLERS = 10;
const VERSION = "2026-07-28";

type Json = Record<string, any>;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

/**
 * Tasks that are all due at once after a restart: how soon polls and calls are answered meanwhile, and when the last task
 * has ended. With the limit on how many begin at once, and without.
 */
export async function benchHerd(): Promise<void> {
  const folder = await buildWorker("test/worker/index.ts", `.bundle/herd-${process.pid}`);
  for (const limits of [{}, { startsAtOnce: 1_000_000 }]) {
    console.log(`${TASKS} tasks, limits ${JSON.stringify(limits)}`);
    await measureHerd(folder, limits);
  }
  await rm(folder, { recursive: true, force: true });
}

async function measureHerd(folder: string, limits: object): Promise<void> {
  const durable = join(folder, "stored");
  await rm(durable, { recursive: true, force: true });
  const options = { durable, variables: { TEST_LIMITS: JSON.stringify(limits) } };
  let served = await serve(folder, options);
  const send = (method: string, params: Json) => sent(served.port, method, params);

  const ids: string[] = [];
  const steps = [{ do: "sleep", ms: SLEEP_MS }, { do: "config" }, { do: "config" }];
  while (ids.length < TASKS) {
    const some = Array.from({ length: 20 }, () =>
      send("tools/call", { name: "plan_always", arguments: { steps } }),
    );
    ids.push(...(await Promise.all(some)).map(({ taskId }) => taskId as string));
  }
  const due = Date.now() + SLEEP_MS;
  for (const id of ids) {
    const isAsleep = async () =>
      String((await send("tasks/get", { taskId: id }))["statusMessage"]).startsWith("sleeping");
    while (!(await isAsleep())) await pause(20);
  }
  await stop(served);
  await pause(due + 1000 - Date.now());

  served = await serve(folder, { ...options, port: served.port });
  const restarted = Date.now() - served.startupMs;
  const polls: number[] = [];
  const calls: number[] = [];
  const ends = new Map<string, number>();
  const timed = async (times: number[], method: string, params: Json) => {
    const began = performance.now();
    const result = await send(method, params);
    times.push(performance.now() - began);
    return result;
  };
  const polling = async (own: string[]) => {
    while (own.some((id) => !ends.has(id))) {
      for (const id of own.filter((one) => !ends.has(one))) {
        const { status, lastUpdatedAt } = await timed(polls, "tasks/get", { taskId: id });
        if (status === "completed") ends.set(id, Date.parse(lastUpdatedAt) - restarted);
      }
      await pause(20);
    }
  };
  const calling = async () => {
    while (ends.size < TASKS) {
      await timed(calls, "tools/call", { name: "greet", arguments: { name: "Ada" } });
      await pause(50);
    }
  };
  const shares = Array.from({ length: POLLERS }, (_, at) =>
    ids.filter((_id, nth) => nth % POLLERS === at),
  );
  await Promise.all([calling(), ...shares.map(polling)]);
  console.log(`  first answer after the restart: ${seconds(served.startupMs)}`);
  for (const [what, times] of Object.entries({ polls, calls, ends: [...ends.values()] })) {
    const sorted = times.toSorted((a, b) => a - b);
    const [median, p95, longest] = [0.5, 0.95, 1].map((share) =>
      seconds(sorted[Math.floor((sorted.length - 1) * share)]!),
    );
    console.log(`  ${what}: median ${median}, p95 ${p95}, longest ${longest} (${times.length})`);
  }
  console.log(`  CPU of the restarted server: ${seconds(await cpuMs(served))}`);
  await stop(served);
}

async function sent(port: number, method: string, params: Json): Promise<Json> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {
      extensions: { "io.modelcontextprotocol/tasks": {} },
    },
  };
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      "mcp-name": String(params["name"] ?? params["taskId"]),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  });
  const { result, error } = (await response.json()) as Json;
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return result;
}
