/**
 * `npm run bench -- shop`: a public benchmark of servers (TM Dev Lab v2) on this one: three tools that ask an API and Redis,
 * each call in a session of its own. Self-hosted servers with a servlet in TypeScript, one in Python, and
 * the official SDK's server unchanged, beside the official SDKs' on Node, in Python, Go and Rust, FastMCP, and a plain Worker
 * with the same work, in one run.
 */
import { setTimeout as pause } from "node:timers/promises";
import { proportionalMB, treeOf } from "../workerd.ts";
import { LegacyClient } from "./legacy-client.ts";
import { repeat, type Connection } from "./load.ts";
import { userName } from "./shop/data.ts";
import { startBackend, startServers, type Running } from "./shop/servers.ts";
import { inTurn, judged, middle, type Round, type Side } from "./turns.ts";

const VERSION = "2024-11-05";
const USERS = 12;
/** Between one user's list and the next search. */
const PAUSE_MS = 50;
/** What the neutral benchmark counts of a session: `initialize`, and the call or list. */
const REQUESTS = 2;
const MOST = { cpu: 0.5, megabytes: 300 };
const LEAST_REQUESTS = 1.5;

const electronics = { category: "Electronics", min_price: 50, max_price: 500, limit: 10 };
const items = [
  { product_id: 42, quantity: 2 },
  { product_id: 1337, quantity: 1 },
];

/** The calls that a user makes, and what their results must be. */
const CALLS: Record<string, { given: object; isRight: (result: any) => boolean }> = {
  search_products: {
    given: electronics,
    isRight: ({ total_found, products, top10_popular_ids: top }) =>
      total_found === 2251 && products.length === 10 && top.length === 10,
  },
  get_user_cart: {
    given: {},
    isRight: ({ cart, recent_history: orders }) => cart.items.length === 2 && orders.length === 5,
  },
  checkout: {
    given: { items },
    isRight: ({ status, total, items_count }) =>
      status === "confirmed" && total > 0 && items_count === items.length,
  },
};

/** The three calls of a user; the list comes after them. */
const STEPS = Object.keys(CALLS);

async function call(client: LegacyClient, name: string, user: number): Promise<void> {
  const { given, isRight } = CALLS[name]!;
  const args = { ...given, ...(name !== "search_products" && { user_id: userName(user + 1) }) };
  const { content } = await client.request("tools/call", { name, arguments: args });
  const result = JSON.parse(content[0].text);
  if (!isRight(result)) throw new Error(`${name}: ${content[0].text.slice(0, 300)}`);
}

interface Server extends Side {
  name: string;
  /** The first of them, as they came. */
  errors: string[];
}

async function serverOf(name: string, running: Running): Promise<Server> {
  const errors: string[] = [];
  const nth = Array.from({ length: USERS }, (_, user) => user);
  /** One session; gives the time from its beginning to its answer, if it has called a tool. */
  const session = async (connection: Connection, user: number): Promise<number | undefined> => {
    const step = STEPS[nth[user]!++ % (STEPS.length + 1)];
    const client = new LegacyClient(connection, VERSION);
    const began = performance.now();
    try {
      await client.begin();
      if (step === undefined) await client.request("tools/list", {});
      else await call(client, step, user);
      const took = performance.now() - began;
      await client.end();
      if (step !== undefined) return took;
    } catch (error) {
      errors.push(String(error));
    }
    await pause(PAUSE_MS);
  };
  return {
    name,
    errors,
    processes: await treeOf(running),
    load: (ms) =>
      repeat({ port: running.port, connections: USERS }, session, (_, elapsed) => elapsed > ms),
  };
}

interface Figures {
  cpuMs: number;
  perSecond: number;
  p50: number;
  p95: number;
  megabytes: number;
  errors: number;
}

async function figuresOf({ processes, errors }: Server, rounds: Round[]): Promise<Figures> {
  const memory = await Promise.all(processes.map(proportionalMB));
  return {
    cpuMs: middle(rounds, "cpuUs") / 1000 / REQUESTS,
    perSecond: middle(rounds, "perSecond") * REQUESTS,
    p50: middle(rounds, "p50"),
    p95: middle(rounds, "p95"),
    megabytes: memory.reduce((sum, one) => sum + one, 0),
    errors: errors.length,
  };
}

/** Measures all servers that this machine can build; gives our figures as multiples of the official SDKs' servers'. */
export async function benchShop(length: {
  rounds: number;
  ms: number;
}): Promise<Record<string, number>> {
  const backend = await startBackend();
  const running = await startServers(backend);
  const servers = await Promise.all([...running].map(([name, one]) => serverOf(name, one)));
  const rounds = await inTurn(servers, length);
  const way = backend.native === undefined ? "Redis by HTTP, with a stand-in" : "a real Redis";
  console.log(`shop: ${USERS} users, ${way}`);
  const columns = ["CPU ms", "requests/s", "p50 ms", "p95 ms", "MB", "errors"];
  const row = (name: string, cells: readonly string[]) =>
    console.log(name.padEnd(20) + cells.map((cell) => cell.padStart(12)).join(""));
  row("", columns);
  const all = new Map<string, Figures>();
  for (const [at, server] of servers.entries()) {
    const figures = await figuresOf(server, rounds[at]!);
    all.set(server.name, figures);
    const { cpuMs, perSecond, p50, p95, megabytes, errors } = figures;
    const numbers = [perSecond, p50, p95, megabytes, errors].map((one) => one.toFixed(0));
    row(server.name, [cpuMs.toFixed(2), ...numbers]);
    if (errors > 0) console.log(`  ${server.errors[0]}`);
  }
  for (const { end } of running.values()) await end?.();
  const [ours, node] = [all.get("ours")!, all.get("TypeScript SDK")!];
  const ratio = (key: keyof Figures) => ours[key] / node[key];
  const speed = ratio("perSecond");
  const isFast = speed >= LEAST_REQUESTS ? "met" : "missed";
  console.log(`shop, to the TypeScript SDK on Node:
  CPU for each request ${judged(ratio("cpuMs"), MOST.cpu)}
  requests a second ${speed.toFixed(2)} (at least ${LEAST_REQUESTS}: ${isFast})
  p95 of a session ${judged(ratio("p95"), 1)}
  memory in MB ${judged(ours.megabytes, MOST.megabytes, 0)}`);
  const python = all.get("Python SDK");
  const pythonRatio = python && all.get("ours, Python")!.cpuMs / python.cpuMs;
  if (pythonRatio !== undefined)
    console.log(
      `shop in Python, to the Python SDK: CPU for each request ${judged(pythonRatio, 1)}`,
    );
  return {
    shop: ratio("cpuMs"),
    shopPerSecond: speed,
    shopP95: ratio("p95"),
    ...(pythonRatio !== undefined && { shopPython: pythonRatio }),
  };
}
