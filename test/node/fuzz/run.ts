import { rm } from "node:fs/promises";
import { Agent } from "node:http";
import { parseArgs } from "node:util";
import { buildWorker, residentMB, serve, stop } from "../workerd.ts";
import { Chance } from "./chance.ts";
import { changed } from "./change.ts";
import { exchange, messageOf } from "./client.ts";
import { modern, type Draft, type Json, type Sent } from "./draft.ts";
import { wrongWith, type Got } from "./judge.ts";
import type { Catalog } from "./requests.ts";
import { play } from "./scenes.ts";
import type { Sending } from "./stage.ts";
import { playAttacks } from "./attacks.ts";
import { fuzzHostile } from "./hostile.ts";
import { fuzzParts } from "./parts.ts";
import { variables } from "./settings.ts";

/**
 * `npm run fuzz -- --count 1000000 --seed 7`: sends requests of every kind, changed a little, to the
 * Worker of the tests in workerd itself. `--step` plays one step of a seed again, and shows all of it. `--part bodies` plays
 * one of the parts that need no server: `bodies`, `registries`, `file-calls`, `file-steps`. `--attacks`: see `attacks.ts`.
 */
export interface Options {
  seed: number;
  /** How many steps, each of some `REQUESTS`. */
  steps: number;
  /** The built Worker. */
  folder: string;
  /** The only step. */
  step?: number | undefined;
  log?: ((line: string) => void) | undefined;
}

export interface Outcome {
  requests: number;
  perSecond: number;
  /** Resident memory of workerd in MB, at each quarter of the requests. */
  residentMB: number[];
  /** How often each kind of answer came. */
  answers: Record<string, number>;
  failures: string[];
}

/** Requests of one step, on average. */
const REQUESTS = 2.6;
/** Steps that are played at once. */
const AT_ONCE = 48;
/** More of them are more of the same. */
const MOST_FAILURES = 100;

/** Lines that the log may have: those of guests, and those about clients that leave and requests lost with them. */
const HARMLESS =
  /^\s*$|^Refused in the last (?!.* internal )|^\[[\w-]+\] (?!.* internal after )|^  |disconnected|support HTTPS|failed to lookup address|NOSENTRY|Broken pipe|ECONNRESET|stack: |abort: |client does not read|its client has not read|Network connection lost|retryable: true|^\}$/;

export async function fuzz({ seed, steps, folder, step: only, log }: Options): Promise<Outcome> {
  const failures: string[] = [];
  const playing = new Set<number>();
  const fail = (why: string) => {
    failures.push(why);
    log?.(why);
  };
  const heard = (text: string) => {
    const odd = text.split("\n").filter((line) => !HARMLESS.test(line));
    if (odd.length === 0) return;
    fail(`seed ${seed}, one of the steps ${[...playing].join(" ")}: logged ${text.slice(0, 3000)}`);
  };
  const served = await serve(folder, { variables, durable: true, log: heard });
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const taking = { port: served.port, agent };
  const plain = changed(
    modern(
      "alice",
      { method: "tools/call", params: { name: "greet", arguments: { name: "Ada" } } },
      1,
    ),
    0,
    new Chance(1),
  );

  const answers: Record<string, number> = {};
  const memory: number[] = [];
  let requests = 0;
  const began = performance.now();

  async function take(step: number, catalog: Catalog): Promise<void> {
    const chance = new Chance(Math.imul(seed, 0x9e3779b1) ^ Math.imul(step + 1, 0x85ebca6b));
    const asked: unknown[] = [];
    let last = "nothing";
    const stage = {
      chance,
      catalog,
      fail(why: string): never {
        throw new Error(why);
      },
      async send(draft: Draft, { changes, ...how }: Sending = {}) {
        const sent = changed(draft, changes ?? chance.pick([0, 0, 1, 1, 1, 2, 3]), chance);
        requests++;
        last = shown(sent);
        if (only !== undefined) log?.(last);
        const got = await exchange(sent, { ...taking, patienceMs: patienceFor(sent), ...how });
        if (got === undefined) return got;
        if (only !== undefined) log?.(`→ ${got.status} ${got.text.slice(0, 2000)}`);
        const inSession = sent.headers["mcp-session-id"] !== undefined;
        if (inSession) asked.push(...idsOf(sent));
        answers[kindOf(got)] = (answers[kindOf(got)] ?? 0) + 1;
        const wrong = wrongWith(sent, got, inSession ? asked : []);
        if (wrong !== undefined)
          throw new Error(`${wrong}\n← ${got.status} ${got.text.slice(0, 800)}`);
        return got;
      },
    };
    playing.add(step);
    try {
      await play(stage);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      fail(`seed ${seed}, step ${step} (npm run fuzz -- --seed ${seed} --step ${step}): ${why}
${last}`);
    } finally {
      playing.delete(step);
    }
  }

  try {
    const catalog = await catalogOf(taking);
    let [step, done] = [0, 0];
    const going = async () => {
      while (step < steps && failures.length < MOST_FAILURES) {
        await take(step++, catalog);
        if (++done >= (steps * (memory.length + 1)) / 4) {
          const at = memory.push(0) - 1;
          memory[at] = Math.round(await residentMB(served));
          log?.(`${requests} requests, ${done} steps, ${memory[at]} MB`);
        }
      }
    };
    if (only === undefined) await Promise.all(Array.from({ length: AT_ONCE }, going));
    else await take(only, catalog);
    const got = await exchange(plain, taking).catch(() => undefined);
    if (!got?.text.includes("Hello, Ada"))
      fail(`seed ${seed}: a plain call is not answered any more`);
  } finally {
    agent.destroy();
    await stop(served);
  }
  const perSecond = Math.round((requests / (performance.now() - began)) * 1000);
  return { requests, perSecond, residentMB: memory, answers, failures };
}

/** All that alice can see. */
async function catalogOf(taking: { port: number; agent: Agent }): Promise<Catalog> {
  const list = async (method: string, kind: string): Promise<Json[]> => {
    const sent = changed(modern("alice", { method, params: {} }, 1), 0, new Chance(1));
    const got = await exchange(sent, taking);
    return got === undefined ? [] : messageOf(got)["result"][kind];
  };
  return {
    tools: await list("tools/list", "tools"),
    prompts: await list("prompts/list", "prompts"),
    resources: await list("resources/list", "resources"),
    resourceTemplates: await list("resources/templates/list", "resourceTemplates"),
  };
}

/** Streams that are opened by what was changed have no end of their own. */
const patienceFor = ({ method, headers, body }: Sent): number | undefined =>
  method === "GET" || headers["mcp-session-id"] !== undefined || body?.includes("/listen")
    ? 60
    : undefined;

function idsOf({ body }: Sent): unknown[] {
  try {
    return [JSON.parse(String(body))].flat().map((one: unknown) => (one as Json | null)?.["id"]);
  } catch {
    return [];
  }
}

/** The request, so that it can be read and sent again. */
function shown({ as, method, path, headers, body, isChunked }: Sent): string {
  const told = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const text = body === undefined ? "" : body.toString();
  const more = text.length > 1500 ? `${text.slice(0, 1500)}… (${body?.length} bytes)` : text;
  return [`${method} ${path} of ${as}${isChunked ? ", chunked" : ""}`, ...told, "", more].join(
    "\n",
  );
}

function kindOf(got: Got): string {
  const [first] = got.messages.length > 0 ? got.messages.slice(-1) : [];
  const code = /"error":\{"code":(-?\d+)/.exec(got.text)?.[1];
  const stream = got.type === "text/event-stream" ? " stream" : "";
  return `${got.status}${stream}${code !== undefined && first === undefined ? ` ${code}` : ""}`;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: String(Date.now() % 1e6) },
      count: { type: "string", default: "100000" },
      step: { type: "string" },
      hostile: { type: "string" },
      part: { type: "string" },
      attacks: { type: "boolean" },
      attack: { type: "string", multiple: true },
      memory: { type: "string" },
    },
  });
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  const seed = Number(values.seed);
  const log = (line: string) => console.log(line);
  const count = Number(values.count);
  const step = number(values.step);
  const all: string[] = [];
  if (values.attacks === true) {
    const { attack: names, memory } = values;
    const which = { ...(names && { names }), ...(memory && { memoryMiB: Number(memory) }) };
    all.push(...(await playAttacks(which, log)));
    log(`attacks ${all.length} failures`);
    process.exit(all.length > 0 ? 1 : 0);
  }
  if (values.part === undefined) all.push(...(await fuzzServer()));
  if (values.hostile === undefined && (values.part !== undefined || step === undefined)) {
    const steps = Math.ceil(count / 50);
    const { played, failures } = await fuzzParts({ seed, steps, part: values.part, step, log });
    log(`parts, seed ${seed} ${JSON.stringify(played)} ${failures.length} failures`);
    all.push(...failures);
  }
  process.exit(all.length > 0 ? 1 : 0);

  /** What fails of the requests to a server. */
  async function fuzzServer(): Promise<string[]> {
    const folder = await buildWorker("test/worker/index.ts", `.bundle/fuzz-${process.pid}`);
    const shared = { seed, folder, log };
    const failed: string[] = [];
    if (values.hostile === undefined) {
      const steps = Math.ceil(count / REQUESTS);
      const { failures, ...outcome } = await fuzz({ ...shared, steps, step });
      log(`seed ${seed} ${JSON.stringify(outcome, null, 2)} ${failures.length} failures`);
      failed.push(...failures);
    }
    if (step === undefined) {
      const steps = Math.ceil(count / 50);
      const only = number(values.hostile);
      const hostile = { ...shared, steps, only, isMeasured: true };
      const { failures, ...outcome } = await fuzzHostile(hostile);
      log(`hostile, seed ${seed} ${JSON.stringify(outcome, null, 2)} ${failures.length} failures`);
      failed.push(...failures);
    }
    await rm(folder, { recursive: true, force: true });
    return failed;
  }
}
