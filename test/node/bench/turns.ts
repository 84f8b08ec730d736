/** Drives several servers in turn, round by round, so that what else the machine does hits all alike. */
import { cpuMs, type Served } from "../workerd.ts";
import type { Wanted } from "./kinds.ts";
import { drive, type Measured } from "./load.ts";
import { headersOf, sessionAt } from "./sessions.ts";

export const CONNECTIONS = 16;
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

/** One round of one server. */
export interface Round extends Measured {
  /** CPU time of the server's process for each request, in microseconds. */
  cpuUs: number;
}

/** Drives each server with its requests, in rounds of `ms`; a first round, of which nothing is counted, warms up. */
export async function inTurn(
  wanted: ReadonlyMap<Served, Wanted>,
  { rounds, ms }: { rounds: number; ms: number },
): Promise<ReadonlyMap<Served, Round[]>> {
  const driven: [Served, Wanted & { own: Record<string, string>[] }, Round[]][] = [];
  for (const [served, one] of wanted) {
    const own = one.inSession
      ? await ownSessions(served.port)
      : one.ownCallers
        ? ownCallers[one.ownCallers]
        : [];
    driven.push([served, { ...one, own }, []]);
  }
  for (let round = 0; round <= rounds; round++) {
    // Each is first, second and last as often: who follows an idle server is a few percent faster.
    const first = round % driven.length;
    const turns = [...driven.slice(first), ...driven.slice(0, first)];
    for (const [served, { pauseMs, check, ...sent }, measured] of turns) {
      const before = await cpuMs(served);
      const isWarmUp = round === 0;
      const isSpaced = pauseMs !== undefined;
      const [warmUpMs, roundMs] = isSpaced ? [2000, SPACED_ROUND_MS] : [500, ms];
      const load = { connections: CONNECTIONS, ...sent, port: served.port };
      const one = await drive(
        isSpaced && !isWarmUp ? { ...load, pauseMs } : load,
        (_count, elapsed) => elapsed > (isWarmUp ? warmUpMs : roundMs),
        check,
      );
      const cpuUs = (((await cpuMs(served)) - before) * 1000) / one.count;
      if (!isWarmUp) measured.push({ ...one, cpuUs });
    }
  }
  return new Map(driven.map(([served, , measured]) => [served, measured]));
}

export const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
