/**
 * `npm run bench -- fetch1 fetch5`: what small fetches of a servlet in TypeScript cost, the first of a call and each further
 * one, beside those of a plain Worker: the difference to a call that fetches nothing.
 */
import { join } from "node:path";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { buildWorker, serve } from "../workerd.ts";
import { modern } from "./kinds.ts";
import { buildBundle } from "./plugins.ts";
import { startBackend } from "./shop/servers.ts";
import { inTurn, judged, middle, sideOf } from "./turns.ts";

const SCRATCH = join(".bundle", "bench", "fetch");
/** Fetches of a call: those of the rows, and none. */
const TIMES = [0, 1, 5];
/** So few that an instance of the servlet is kept for each: a call that waits has one of its own. */
const CONNECTIONS = 4;
const MOST = { first: 2.8, further: 2.3 };

const wanted = (times: number) => ({
  ...modern("tools/call", { name: "fetch_small", arguments: { times } }, "fetch_small"),
  connections: CONNECTIONS,
  check: (answer: string) => /"text":"\d+ bytes"/.test(answer),
});

/** Gives a servlet's costs as multiples of a plain Worker's. */
export async function benchFetch(length: {
  rounds: number;
  ms: number;
}): Promise<Record<string, number>> {
  const { api } = await startBackend(false);
  const variables = { SMALL_URL: `${api}/health` };
  const servlet = join(import.meta.dirname, "servlets/fetching");
  const members = await makeBundle({
    folders: [servlet],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  });
  const folders = [
    await buildBundle(members, join(SCRATCH, "own")),
    await buildWorker(join(import.meta.dirname, "fetch-peer.ts"), join(SCRATCH, "peer")),
  ];
  const servers = [
    await serve(folders[0]!, { variables, durable: true }),
    await serve(folders[1]!, { variables }),
  ];
  process.on("exit", () => servers.forEach((one) => one.process.kill()));
  const sides = await Promise.all(
    servers.flatMap((served) => TIMES.map((times) => sideOf(served, wanted(times)))),
  );
  const costs = (await inTurn(sides, length)).map((rounds) => middle(rounds, "cpuUs"));
  const [ours, plain] = [costs.slice(0, TIMES.length), costs.slice(TIMES.length)].map(costOf);
  const row = (name: string, key: keyof typeof MOST) =>
    console.log(
      `${name}: ${ours![key].toFixed(0)} µs of CPU, ${judged(ours![key] / plain![key], MOST[key])} times a plain Worker's ${plain![key].toFixed(0)}`,
    );
  row("fetch1, the first fetch of a call", "first");
  row("fetch5, each further one", "further");
  return { fetch1: ours!.first / plain!.first, fetch5: ours!.further / plain!.further };
}

/** The CPU time of a call's first fetch and of each further one, of calls with none, one and five. */
const costOf = ([none = NaN, one = NaN, five = NaN]: readonly number[]) => ({
  first: one - none,
  further: (five - one) / 4,
});
