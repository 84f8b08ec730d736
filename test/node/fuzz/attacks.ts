/**
 * `npm run fuzz -- --attacks [--attack NAME]... [--memory MIB]`: one caller takes as much as it can of a self-hosted server in a
 * memory cgroup, while another calls `greet` twenty times a second. It shows the times of the other's calls and the memory, which
 * depend on the machine, and fails where the server ends, where the other is refused, or where the attacker gets anything but
 * an answer, 429 or 503. Cgroups need root; without them the memory is measured, and not bounded.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { join, resolve } from "node:path";
import { build, host, project } from "../host/hosting.ts";
import { OBJECTS } from "../objects.ts";

const KEYS = { attacker: "esk_attacker", victim: "esk_victim" };
const hash = (key: string) => createHash("sha256").update(key).digest("hex");
const API_KEYS = JSON.stringify({ attacker: hash(KEYS.attacker), victim: hash(KEYS.victim) });

interface Attack {
  /** Calls at once, and in all. */
  atOnce: number;
  calls: number;
  /** The tool, and its arguments in the call of this number. */
  tool: string;
  args?: (nth: number) => object;
  /** Sessions that take turns; none where it is left out. */
  sessions?: number;
}

const code =
  "var kept = globalThis.kept ?? new Uint8Array(40e6); kept.fill(Math.random() * 255); kept.length";
const largeName = "a".repeat(3_900_000);

const ATTACKS: Record<string, Attack> = {
  // State that is loaded, compared, sealed and stored. In the sessions all is written again.
  scripts: { atOnce: 3, calls: 9, tool: "run_code", args: () => ({ code }) },
  sessions: {
    atOnce: 15,
    calls: 30,
    sessions: 15,
    tool: "growing_session-grow",
    args: (nth) => ({ name: nth < 15 ? "50" : "0" }),
  },
  files: {
    atOnce: 3,
    calls: 9,
    tool: "filing-do",
    args: (nth) => ({ what: "fill", path: `/data/${nth % 2}`, text: "40" }),
  },
  // Instances that are alive, that wait, and that were dropped.
  grow: { atOnce: 190, calls: 190, tool: "swell" },
  tables: { atOnce: 190, calls: 190, tool: "swell_table" },
  arguments: { atOnce: 1, calls: 60, tool: "greet", args: () => ({ name: largeName }) },
  manyArguments: { atOnce: 8, calls: 60, tool: "greet", args: () => ({ name: largeName }) },
  results: { atOnce: 20, calls: 100, tool: "hoard-output" },
  // Exceptions through many frames and handlers.
  throw: { atOnce: 2, calls: 6, tool: "away-throw" },
  catch: { atOnce: 2, calls: 6, tool: "away-catch" },
  unwind: { atOnce: 2, calls: 6, tool: "away-unwind" },
};

/** Ms between two calls of the victim. */
const EVERY_MS = 50;
/** How long the victim goes on after the attack, in ms. */
const AFTER_MS = 1000;

interface Tried {
  attack: string;
  seconds: number;
  victim: {
    calls: number;
    medianMs: number;
    worstMs: number;
    /** The most calls of the attacker that ended while one of the victim waited: a number that other work of the machine does not change. */
    worstBehind: number;
  };
  /** How often the attacker got each status, and what failed. */
  attacker: Record<string, number>;
  /** Of the process that serves, and of the cgroup with its caches. */
  peakMB: number;
  cgroupMB: number | undefined;
  load: string;
  failures: string[];
}

/** Plays the attacks of these names; gives what has failed. Throws for a name that none has. */
export async function playAttacks(
  {
    names = Object.keys(ATTACKS),
    memoryMiB = 1024,
  }: { names?: readonly string[]; memoryMiB?: number },
  log: (line: string) => void,
): Promise<string[]> {
  const unknown = names.find((name) => !Object.hasOwn(ATTACKS, name));
  if (unknown !== undefined)
    throw new Error(`There is no attack ${unknown}. There are ${Object.keys(ATTACKS).join(", ")}.`);
  const main = resolve(`.bundle/attacked-${process.pid}.ts`);
  await writeFile(main, WORKER);
  const folder = await project(main);
  try {
    await build(folder);
    const all: string[] = [];
    for (const name of names) {
      const tried = await play(folder, name, { memoryMiB, ...ATTACKS[name]! });
      log(JSON.stringify(tried));
      all.push(...tried.failures.map((failure) => `${name}: ${failure}`));
    }
    return all;
  } finally {
    await Promise.all([rm(main), rm(folder, { recursive: true, force: true })]);
  }
}

/** The Worker of the tests, in which the guest that computes for ever may do so for as long as others. */
const WORKER = `import { createWorker } from "../src/server/worker.ts";
import { bundle } from "../test/bundle.gen.ts";
const servlets = bundle.servlets.map((one) => one.name === "runaway" ? { ...one, manifest: { ...one.manifest, compute_limit: undefined } } : one);
const { worker, objects } = createWorker({ ...bundle, servlets });
export const { ${Object.values(OBJECTS).join(", ")} } = objects;
export default worker;
`;

async function play(
  folder: string,
  attack: string,
  { memoryMiB, atOnce, calls, tool, args, sessions = 0 }: Attack & { memoryMiB: number },
): Promise<Tried> {
  const group = await Cgroup.make(memoryMiB);
  const server = await host(folder, { variables: { API_KEYS } });
  await group?.leave();
  const pid = Number(await readFile(join(folder, ".edge-servlets/workerd.pid"), "utf8"));
  const [attacker, victim] = [new Caller(server.url, "attacker"), new Caller(server.url, "victim")];
  const greet = () => victim.call("greet", { name: "Ada" });
  for (let nth = 0; nth < 20; nth++) await greet();
  const open = await Promise.all(Array.from({ length: sessions }, () => attacker.session()));

  const began = performance.now();
  const times: number[] = [];
  let worstBehind = 0;
  const greeted: Promise<void>[] = [];
  const timed = async () => {
    const [sent, before] = [performance.now(), attacker.ended];
    await greet();
    times.push(performance.now() - sent);
    worstBehind = Math.max(worstBehind, attacker.ended - before);
  };
  const greeting = setInterval(() => greeted.push(timed()), EVERY_MS);
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < calls) {
        const nth = next++;
        await attacker.call(tool, args?.(nth) ?? {}, open[nth % sessions]);
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  await new Promise((done) => setTimeout(done, AFTER_MS));
  clearInterval(greeting);
  await Promise.all(greeted);

  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const peakMB = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
  const cgroupMB = await group?.peakMB();
  await server.end();
  await group?.remove();
  times.sort((one, other) => one - other);
  return {
    attack,
    seconds: Number(seconds.toFixed(1)),
    victim: {
      calls: times.length,
      medianMs: Math.round(times[times.length >> 1]!),
      worstMs: Math.round(times.at(-1)!),
      worstBehind,
    },
    attacker: Object.fromEntries(attacker.outcomes),
    peakMB: Math.round(peakMB),
    cgroupMB: cgroupMB && Math.round(cgroupMB),
    load: loadavg()[0]!.toFixed(1),
    failures: [
      ...(/workerd ended .*/.exec(server.output()) ?? []),
      ...victim.outcomesBeside(/^200$/),
      ...attacker.outcomesBeside(/^(200|429|503)\b/),
    ],
  };
}

/** One of the two callers, and how its calls of tools have ended. */
class Caller {
  /** How often each came: the status, with the beginning of what a failure says. */
  readonly outcomes = new Map<string, number>();
  /** How many calls have ended. */
  ended = 0;
  readonly #url: URL;
  readonly #name: keyof typeof KEYS;

  constructor(url: URL, name: keyof typeof KEYS) {
    this.#url = url;
    this.#name = name;
  }

  async call(name: string, args: object, session?: string): Promise<void> {
    let outcome: string;
    try {
      const headers = session === undefined ? {} : { "mcp-session-id": session };
      const answer = await this.#post("tools/call", { name, arguments: args }, headers);
      const text = await answer.text();
      const [, said] = FAILURE.exec(text) ?? [];
      outcome = said === undefined ? `${answer.status}` : `${answer.status} ${said}`;
    } catch (error) {
      outcome = String((error as Error).cause ?? error);
    }
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    this.ended++;
  }

  /** Begins a session; gives its id. */
  async session(): Promise<string> {
    const clientInfo = { name: this.#name, version: "1" };
    const params = { protocolVersion: VERSION, capabilities: {}, clientInfo };
    const answer = await this.#post("initialize", params);
    await answer.text();
    return answer.headers.get("mcp-session-id")!;
  }

  /** Other outcomes than these, in words. */
  outcomesBeside(expected: RegExp): string[] {
    return [...this.outcomes]
      .filter(([outcome]) => !expected.test(outcome))
      .map(([outcome, times]) => `${this.#name}: ${outcome} (${times})`);
  }

  #post(method: string, params: object, headers: object = {}): Promise<Response> {
    return fetch(this.#url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${KEYS[this.#name]}`,
        "mcp-protocol-version": VERSION,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  }
}

const VERSION = "2025-11-25";

/** The beginning of what an answer says that has failed. */
const FAILURE = /^(?=.*(?:"isError":true|"error":)).*?"(?:text|message)":"((?:[^"\\]|\\.){0,120})/s;

const ROOT = "/sys/fs/cgroup";
/** The files of both versions of cgroups: the limit, and the most that was used. */
const VERSIONS = [
  { root: `${ROOT}/memory`, limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes" },
  { root: ROOT, limit: "memory.max", peak: "memory.peak" },
];

/** A memory cgroup that this process is in while it starts the server. */
class Cgroup {
  readonly #path: string;
  readonly #version: (typeof VERSIONS)[number];

  private constructor(path: string, version: (typeof VERSIONS)[number]) {
    this.#path = path;
    this.#version = version;
  }

  /** Undefined where this process may make none. */
  static async make(mebibytes: number): Promise<Cgroup | undefined> {
    for (const version of VERSIONS) {
      const path = join(version.root, `attacked-${process.pid}`);
      try {
        await stat(join(version.root, "cgroup.procs"));
        await mkdir(path);
        await writeFile(join(path, version.limit), String(mebibytes * 2 ** 20));
        await writeFile(join(path, "cgroup.procs"), String(process.pid));
        return new Cgroup(path, version);
      } catch {
        await rmdir(path).catch(() => {});
      }
    }
    return undefined;
  }

  /** What was started meanwhile stays. */
  leave(): Promise<void> {
    return writeFile(join(this.#version.root, "cgroup.procs"), String(process.pid));
  }

  async peakMB(): Promise<number> {
    return Number(await readFile(join(this.#path, this.#version.peak), "utf8")) / 2 ** 20;
  }

  /** Once its last process is gone, which takes a moment. */
  async remove(): Promise<void> {
    for (let tries = 0; tries < 50; tries++) {
      const isGone = await rmdir(this.#path).then(
        () => true,
        () => false,
      );
      if (isGone) return;
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}
