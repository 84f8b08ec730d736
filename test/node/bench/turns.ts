/** Drives several servers in turn, round by round, so that what else the machine does hits all alike. */
import { cpuMs, type Measurable } from "../workerd.ts";
import type { Wanted } from "./kinds.ts";
import { drive, type Measured } from "./load.ts";
import { headersOf, sessionAt } from "./sessions.ts";

export const CONNECTIONS = 16;
/** Load after which V8's compilers are quiet: before, their threads take up to a tenth of the CPU time. */
export const WARM_UP_MS = 5000;
/** Enough for about 100 calls with pauses: CPU time is counted in ticks of 10 ms. */
const SPACED_ROUND_MS = 1200;

/** Keys by which each connection has a caller of its own. */
export const KEYS = Array.from({ length: CONNECTIONS }, (_, at) => `any${at}`);

/** Heads by which each connection has a caller of its own. */
const ownCallers = {
  address: KEYS.map((_, at) => ({ "cf-connecting-ip": `203.0.113.${at + 1}` })),
  key: KEYS.map((key) => ({ authorization: `Bearer ${key}` })),
};

/** Begins a session for each connection; gives the headers of each. */
const ownSessions = (port: number) =>
  Promise.all(Array.from({ length: CONNECTIONS }, async () => headersOf(await sessionAt(port))));

/** A server and the load on it. */
export interface Side {
  processes: readonly Measurable[];
  /** Drives the server for so long. */
  load: (ms: number, isWarmUp: boolean) => Promise<Measured>;
  /** The length of a round, where it is not that of the others. */
  roundMs?: number;
}

/** The side of a server that gets one request over and over. */
export async function sideOf(
  served: Measurable & { port: number },
  { pauseMs, check, inSession, ownCallers: callers, ...sent }: Wanted,
): Promise<Side> {
  const { port } = served;
  const own = inSession ? await ownSessions(port) : callers ? ownCallers[callers] : [];
  const load = { connections: CONNECTIONS, ...sent, own, port };
  const isSpaced = pauseMs !== undefined;
  return {
    processes: [served],
    load: (ms, isWarmUp) =>
      drive(
        isSpaced && !isWarmUp ? { ...load, pauseMs } : load,
        (_count, elapsed) => elapsed > ms,
        check,
      ),
    ...(isSpaced && { roundMs: SPACED_ROUND_MS }),
  };
}

/** One round of one server. */
export interface Round extends Measured {
  /** CPU time of the server's processes for each counted act, in microseconds. */
  cpuUs: number;
}

const cpuOf = async ({ processes }: Side) =>
  (await Promise.all(processes.map(cpuMs))).reduce((sum, one) => sum + one, 0);

/** Drives each side in rounds of `ms`; gives the rounds of each. Before the first they warm up. */
export async function inTurn(
  sides: readonly Side[],
  { rounds, ms }: { rounds: number; ms: number },
): Promise<Round[][]> {
  const all: Round[][] = sides.map(() => []);
  for (const { load } of sides) await load(WARM_UP_MS, true);
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < sides.length; turn++) {
      // Each is first, second and last as often: who follows an idle server is a few percent faster.
      const at = (round + turn) % sides.length;
      const side = sides[at]!;
      const before = await cpuOf(side);
      const measured = await side.load(side.roundMs ?? ms, false);
      const cpuUs = (((await cpuOf(side)) - before) * 1000) / measured.count;
      all[at]!.push({ ...measured, cpuUs });
    }
  }
  return all;
}

export const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** The median of one figure of the rounds. */
export const middle = (rounds: readonly Round[], key: keyof Round) =>
  median(rounds.map((one) => one[key]));

/** A figure beside the most that it may be. */
export const judged = (value: number, most: number, digits = 2) =>
  `${value.toFixed(digits)} (at most ${most}: ${value <= most ? "met" : "missed"})`;
