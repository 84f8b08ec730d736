/** The tables of what calls cost: the figures of `npm run bench -- cost` by the public prices. */
import { readFile } from "node:fs/promises";
import {
  billOf,
  PLAN_DOLLARS,
  PRICES,
  PRICES_OF,
  dollars,
  CONTAINER_TYPES,
  OBJECT_GB,
  dollarsFor,
  type ContainerType,
  type BilledUse,
} from "../../../src/tools/commands/prices.ts";
import type { CallUse, Measured } from "../bench/cost/measured.ts";

const MILLION = 1e6;
const MONTH_S = 30 * 86_400;
const DAYS_A_MONTH = 30;
/** Calls that a caller makes in a month. */
const CALLS_OF_CALLER = 1000;
/** How much more comes in the busiest second than on average. */
const PEAK = 10;

interface Kind {
  title: string;
  /** How long a call keeps what it stores, in months; without it, nothing that lasts is stored. */
  storedMonths?: number;
  /** The kind of the other servers that it stands beside. */
  beside?: string;
}

const KINDS: Record<string, Kind> = {
  plain: { title: "plain" },
  fetch: { title: "with a fetch" },
  session: { title: "with a session of its own" },
  stateful: { title: "stateful", storedMonths: 1 / CALLS_OF_CALLER },
  ask: { title: "waiting for an answer for a day", storedMonths: 1 / DAYS_A_MONTH },
  askInSession: {
    title: "the same in a session",
    storedMonths: 1 / DAYS_A_MONTH,
    beside: "ask",
  },
  task: { title: "the same as a task, with ten looks", storedMonths: 1 / DAYS_A_MONTH },
  code: { title: "by code, which calls three tools" },
};

/** What a million calls use. */
export function useOf(call: CallUse, storedMonths = 0): BilledUse {
  const use: BilledUse = {
    requests: call.requests,
    cpuMs: call.cpuMs,
    objectRequests: call.objectRequests,
    objectGBs: (call.objectMs / 1000) * OBJECT_GB,
    rowsRead: call.rowsRead,
    rowsWritten: call.rowsWritten,
    storedGBMonths: (call.storedBytes / 1e9) * storedMonths,
    dynamicWorkers: call.dynamicWorkers,
  };
  return Object.fromEntries(Object.entries(use).map(([name, one]) => [name, one * MILLION]));
}

/** the smallest container with this memory that has CPU time enough in the busiest second. */
export function containerFor(memoryMB: number, cpuMs: number): ContainerType {
  const cpus = (PEAK * MILLION * cpuMs) / 1000 / MONTH_S;
  const found = CONTAINER_TYPES.find((one) => one.memoryGiB * 1024 >= memoryMB && one.cpus >= cpus);
  if (found === undefined) throw new Error(`No container has ${memoryMB} MB and ${cpus} CPUs.`);
  return found;
}

/** What a container uses that is on for a month and takes a million calls, each of so many requests. */
export const containerUse = (
  { memoryGiB, diskGB }: ContainerType,
  cpuMs: number,
  requests: number,
): BilledUse => ({
  containerMemoryGiBs: memoryGiB * MONTH_S,
  containerDiskGBs: diskGB * MONTH_S,
  containerCpuS: (MILLION * cpuMs) / 1000,
  // Each goes through a Worker and the container's object.
  requests: MILLION * requests,
  objectRequests: MILLION * requests,
});

/** A price beyond what the plan includes, and behind it the bill of a month with nothing else. */
const both = (use: BilledUse): string => `${dollars(dollarsFor(use))} (${dollars(billOf(use))})`;

const figure = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(2)));

type Table = (head: string[], rows: string[][]) => string;

const NAMES: Record<keyof typeof PRICES, string> = {
  requests: "requests",
  cpuMs: "CPU time, ms",
  objectRequests: "requests to Durable Objects",
  objectGBs: "their duration, GB-s",
  rowsRead: "rows read",
  rowsWritten: "rows written, each deleted row and each alarm that is set, too",
  storedGBMonths: "stored, GB-months",
  dynamicWorkers: "Workers that are loaded, each on a day",
  containerMemoryGiBs: "memory of containers, GiB-s",
  containerCpuS: "their CPU time, s",
  containerDiskGBs: "their disk, GB-s",
};

/** The prices that tables are made by. */
export function pricesTable(table: Table): string {
  const rows = Object.entries(PRICES).map(([name, { dollars: price, per, included }]) => [
    NAMES[name as keyof typeof PRICES],
    `$${price}${per === 1 ? "" : ` a million`}`,
    included.toLocaleString("en"),
  ]);
  return table([`as of ${PRICES_OF}`, "price", `included a month in $${PLAN_DOLLARS}`], rows);
}

export async function costTables(table: Table): Promise<string> {
  const text = await readFile("test/node/bench/cost/measured.json", "utf8");
  const { here, agent, node, on, agents } = JSON.parse(text) as Measured;
  const instance = containerFor(node.memoryMB, Math.max(...Object.values(node.cpuMs)));
  const prices = Object.entries(KINDS).map(([kind, { title, storedMonths, beside = kind }]) => {
    const theirs = agent[beside];
    const ofNode = node.cpuMs[beside];
    return [
      title,
      both(useOf(here[kind]!, storedMonths)),
      theirs === undefined ? "–" : both(useOf(theirs, storedMonths)),
      ofNode === undefined ? "–" : both(containerUse(instance, ofNode, theirs?.requests ?? 1)),
    ];
  });
  const rows = Object.entries(KINDS).flatMap(([kind, { title }]) =>
    [[title, here[kind]] as const, ["– McpAgent", agent[kind]] as const].flatMap(([name, use]) =>
      use === undefined ? [] : [[name, ...figuresOf(use)]],
    ),
  );
  return [
    `A million calls in a month, in dollars beyond what the plan includes; in parentheses the bill of a month with nothing else, with the $5 of the plan and what they include. Measured on ${on}, beside \`${agents}\`; the container is of the type \`${instance.name}\`:`,
    table(["call", "here", "McpAgent", "container, always on"], prices),
    "What one call uses:",
    table(
      [
        "call",
        "CPU, ms",
        "requests",
        "requests to objects",
        "of these alarms",
        "time of objects, ms",
        "rows read",
        "rows written",
        "stored, KB",
      ],
      rows,
    ),
  ].join("\n\n");
}

const figuresOf = (use: CallUse): string[] =>
  [
    use.cpuMs,
    use.requests,
    use.objectRequests,
    use.alarms,
    use.objectMs,
    use.rowsRead,
    use.rowsWritten,
    use.storedBytes / 1000,
  ].map((one) => figure(Math.max(0, one)));
