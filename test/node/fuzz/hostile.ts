import { Agent } from "node:http";
import { readFile, writeFile } from "node:fs/promises";
import { residentMB, serve, stop, type Served } from "../workerd.ts";
import { changed } from "./change.ts";
import { Chance } from "./chance.ts";
import { exchange, messageOf } from "./client.ts";
import { ABLE, draftOf, modern, type Draft, type Json } from "./draft.ts";
import { objectSchema } from "./hostile-schemas.ts";
import * as hostile from "./hostile-values.ts";
import { wrongWith, type Got } from "./judge.ts";
import { variables } from "./settings.ts";

/**
 * Hostile requests, one after the other, each with an innocent neighbour: one that has to wait for
 * long, or a process that grows by much, tells that something is evaluated without a bound.
 */
export interface Hostile {
  seed: number;
  steps: number;
  /** The built Worker. */
  folder: string;
  /** The only step. */
  only?: number | undefined;
  log?: ((line: string) => void) | undefined;
  /** Are time and memory measured? What they come to depends on the machine. */
  isMeasured: boolean;
}

export interface HostileOutcome {
  answers: Record<string, number>;
  /** The longest that a neighbour waited, and the most that a step took of memory. */
  worstMs: number;
  worstMB: number;
  failures: string[];
}

/** Bounds of one step: the time that it may block others, and the memory of guest, kernel and host together. */
const BOUND_MS = 2000;
const BUDGET_MB = 64 + 64 + 64;
const BOUND_MB = BUDGET_MB + 256;

const TOOLS = 60;
const TEMPLATES = 40;

/** Fuel for half a second: what takes longer is not counted. */
const TEST_LIMITS = { guestFuel: 500_000_000, waitMs: 400, httpMs: 300 };

/** Lists that are bound at the start: text bindings hold only whole characters. */
function listed(chance: Chance) {
  const tools = Array.from({ length: TOOLS }, (_, at) => ({
    name: `tool_${at}`,
    inputSchema: chance.of(0.8) ? objectSchema(chance, 8000) : { type: "object" },
    ...(chance.of(0.5) && { outputSchema: objectSchema(chance, 8000) }),
  }));
  const templates = Array.from({ length: TEMPLATES }, (_, at) => ({
    name: `template_${at}`,
    uriTemplate: hostile.template(chance),
  }));
  return {
    HOSTILE_TOOLS: JSON.stringify(tools),
    HOSTILE_TEMPLATES: JSON.stringify(templates),
    templates: templates.map(({ uriTemplate }) => uriTemplate),
  };
}

const call = (name: string, args: unknown, more: Json = {}): Draft =>
  modern("alice", { method: "tools/call", params: { name, arguments: args, ...more } }, 1, ABLE);

export async function fuzzHostile({ seed, steps, folder, only, log, isMeasured }: Hostile) {
  const { templates, ...lists } = listed(new Chance(seed));
  const bound = { ...variables, ...lists, TEST_LIMITS: JSON.stringify(TEST_LIMITS) };
  const served = await serve(folder, { variables: bound, durable: true, log: () => {} });
  const agent = new Agent({ keepAlive: true });
  const outcome: HostileOutcome = { answers: {}, worstMs: 0, worstMB: 0, failures: [] };
  let last = "";

  async function send(draft: Draft): Promise<Got> {
    const sent = changed(draft, 0, new Chance(1));
    last = `${draft.path} ${sent.body?.toString().slice(0, 3000)}`;
    if (only !== undefined) log?.(last);
    const got = await exchange(sent, { port: served.port, agent, patienceMs: 2000 });
    if (got === undefined) throw new Error("no answer");
    if (only !== undefined) log?.(`→ ${got.status} ${got.text.slice(0, 1000)}`);
    const wrong = wrongWith(sent, got);
    if (wrong !== undefined) throw new Error(`${wrong}: ${got.status} ${got.text.slice(0, 800)}`);
    return got;
  }

  async function step(nth: number): Promise<void> {
    const chance = new Chance(Math.imul(seed, 0x9e3779b1) ^ Math.imul(nth + 1, 0x85ebca6b));
    const kind = chance.pick(Object.keys(KINDS));
    await measured(served, isMeasured, { outcome, neighbour: () => send(NEIGHBOUR) }, async () => {
      const got = await KINDS[kind]!({ chance, templates, send });
      const key = `${kind} ${got.status}${messageOf(got)["error"] === undefined ? "" : " error"}`;
      outcome.answers[key] = (outcome.answers[key] ?? 0) + 1;
    });
  }

  try {
    await send(NEIGHBOUR);
    for (let nth = only ?? 0; nth < (only === undefined ? steps : only + 1); nth++) {
      await step(nth).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        const failure = `npm run fuzz -- --seed ${seed} --hostile ${nth}: ${why}\n${last}`;
        outcome.failures.push(failure);
        log?.(failure);
      });
    }
  } finally {
    agent.destroy();
    await stop(served);
  }
  return outcome;
}

const NEIGHBOUR = call("greet", { name: "Ada" });

interface Playing {
  chance: Chance;
  templates: readonly string[];
  send(draft: Draft): Promise<Got>;
}

/** Senders of requests, by their hostile part. */
const KINDS: Readonly<Record<string, (playing: Playing) => Promise<Got>>> = {
  schema({ chance, send }) {
    const value = hostile.value(chance);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return send(call(`hostile-tool_${chance.below(TOOLS)}`, isObject ? value : { x: value }));
  },
  async form({ chance, send }) {
    const requestedSchema = objectSchema(chance, 200_000);
    const step = { do: "inputs", keys: ["k"], schema: requestedSchema, catches: true };
    const args = { steps: [step] };
    const asked = await send(call("plan", args));
    const requestState: unknown = messageOf(asked)["result"]?.["requestState"];
    if (requestState === undefined) return asked;
    const content = { x: hostile.value(chance), y: hostile.value(chance) };
    const inputResponses = { k: { action: "accept", content } };
    return send(call("plan", args, { requestState, inputResponses }));
  },
  uri({ chance, send, templates }) {
    const uri = chance.of(0.5)
      ? hostile.uri(chance)
      : chance.pick(templates).replaceAll(/[{}]/g, "a");
    return send(modern("alice", { method: "resources/read", params: { uri } }, 1));
  },
  completion({ chance, send, templates }) {
    const ref = {
      type: "ref/resource",
      uri: chance.of(0.7) ? chance.pick(templates) : hostile.uri(chance),
    };
    const argument = { name: chance.pick(["a", "a0", "b1"]), value: hostile.uri(chance) };
    return send(modern("alice", { method: "completion/complete", params: { ref, argument } }, 1));
  },
  /** Calls that each take nearly all the memory that they may, at once or one after the other. */
  async memory({ chance, send }) {
    const swell = () => send(call(chance.pick(["swell", "swell_table"]), {}));
    const ways = Array.from({ length: 12 }, () => chance.of(0.5));
    const together: Promise<Got>[] = [];
    for (const isTogether of ways) {
      const one = swell();
      if (isTogether) together.push(one);
      else await one;
    }
    await Promise.all(together);
    return swell();
  },
  operations: ({ chance, send }) => send(call("operate", { do: hostile.operations(chance) })),
  secrets({ chance, send }) {
    const how = chance.pick([
      "log",
      "cut",
      "json",
      "tell",
      "throw",
      "refuse",
      "result",
      "host",
      "header",
    ]);
    const context = {
      authorization: [{ id: "google", token: hostile.secret(chance) }],
      secrets: [{ id: "TWILIO_API_KEY", value: hostile.secret(chance) }],
      user_id: "ada",
    };
    const request = { tool_id: "otc.Leak", input: { how }, context };
    return send({ ...draftOf("alice", { request }), path: "/tools/call" });
  },
};

/** Does the work while a neighbour asks for something small. Throws where that, or memory, comes to too much. */
async function measured(
  served: Served,
  isMeasured: boolean,
  { outcome, neighbour }: { outcome: HostileOutcome; neighbour: () => Promise<unknown> },
  work: () => Promise<void>,
): Promise<void> {
  if (!isMeasured) return work();
  const { pid } = served.process;
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  const [before, cpuBefore] = [await residentMB(served), await cpuMs(served)];
  const working = work();
  await neighbour();
  await working;
  // Of all that it has computed, with the neighbour's little: nothing else runs meanwhile.
  const ms = (await cpuMs(served)) - cpuBefore;
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const grown = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024 - before;
  outcome.worstMs = Math.max(outcome.worstMs, ms);
  outcome.worstMB = Math.max(outcome.worstMB, Math.round(grown));
  if (ms > BOUND_MS) throw new Error(`it took ${ms} ms of the isolate's time`);
  if (grown > BOUND_MB) throw new Error(`it took ${Math.round(grown)} MB`);
}

/** CPU time of the process so far. */
async function cpuMs({ process }: Served): Promise<number> {
  const stat = await readFile(`/proc/${process.pid}/stat`, "utf8");
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}
