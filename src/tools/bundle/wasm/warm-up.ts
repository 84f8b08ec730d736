/**
 * Finds out in which state a servlet's calls begin: after its start functions, after it was asked for its
 * lists, and after the calls that its manifest names as `warm`.
 */
import { allReasons, perform } from "../../../server/kernel/calls/engine.ts";
import type { CallToolResult } from "../../../server/kernel/core/model.ts";
import type { Entry } from "../../../server/kernel/servlets/registry.ts";
import { dialects, type DialectName } from "../../../server/kernel/servlets/dialects.ts";
import { listAll, nobodysCall, type Servlet } from "../../../server/kernel/servlets/servlet.ts";
import type { Files } from "../../../server/kernel/files/files.ts";
import { callIn } from "../../../server/kernel/wasm/call.ts";
import { Guest, GuestError, type Setup } from "../../../server/kernel/wasm/guest.ts";
import { isKernelNew, memoryOf } from "../../../server/kernel/wasm/image.ts";
import { Journal } from "../../../server/kernel/wasm/journal.ts";
import { instantiate, runExport, type Instance } from "../../../server/kernel/wasm/link.ts";
import { applyPatch, encodePatch } from "../../../server/kernel/wasm/patch.ts";
import { nobody } from "../../../server/kernel/wasm/pool.ts";
import { startWorld, type World } from "../../../server/kernel/wasm/world.ts";

/** Host services that a warm-up may use; their answers stay the same in every later call. */
const REPEATABLE: ReadonlySet<string> = new Set(["the time", "random numbers", "the log"]);

/** A call that sleeps for longer has hung. One that computes is stopped by its fuel. */
const PATIENCE_MS = 60_000;

const NO_NETWORK =
  'There is no network while a bundle is made. Set "lists": "dynamic" in servlet.json, so that the lists are asked for at run time.';

/** A servlet, and how it is to be warmed up. */
export interface WarmUpInput {
  module: WebAssembly.Module;
  /** Of an interpreter: the patches that its servlets share, and this one's. */
  base?: ArrayBuffer;
  packages?: ArrayBuffer;
  patch?: ArrayBuffer;
  dialect: DialectName;
  exports: string[];
  idsAsGiven: boolean;
  allowedHosts: readonly string[];
  isRestorable: boolean;
  /** Is it to be asked for its lists? */
  listed: boolean;
  /** Calls whose effect on its memory stays. */
  warm: readonly { tool: string; arguments?: object }[];
  /** Do its start functions run once for all calls, though they ask for random numbers or the time? */
  startOnce: boolean;
  /** Fuel of one call. */
  fuel?: number;
  /** Its folders as they are at first; absent if it has none. */
  files?: () => Files;
}

export interface WarmUp {
  /** True if its start functions depend on nothing, so that they run once for all calls. */
  startsOnce: boolean;
  /** Host services that its start functions used. */
  startAsks: string[];
  /** The patch in which its calls begin: over an interpreter's base, or over a new instance. */
  patch?: Uint8Array;
  /** Why the manifest's `warm` or `start` cannot be had. */
  refusal?: string;
}

/** Everything that a guest may use while a bundle is made: nothing, but it is noted what it asks for. */
export function watchedSetup(
  asked: Set<string>,
  logs: string[],
  {
    world,
    allowedHosts,
    fuel,
  }: Pick<Setup, "world" | "fuel"> & { allowedHosts: readonly string[] },
): Setup {
  const noting = <T>(what: string, value: T): T => {
    asked.add(what);
    return value;
  };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  return {
    fuel,
    world: {
      ...world,
      fetch: () => noting("http_request", Promise.reject(new GuestError(NO_NETWORK))),
    },
    config: new Proxy<Record<string, string>>(
      {},
      { getOwnPropertyDescriptor: () => noting("config_get", undefined) },
    ),
    get allowedHosts() {
      // Its own too: private hosts must be named.
      return noting("http_request", ["*", ...allowedHosts]);
    },
    secret: () => noting("get_keyring_secret", undefined),
    logLevel: "warn",
    signal: () => signal,
    log: (_level, text) => noting("the log", void logs.push(text)),
    notify: () => noting("a notification", undefined),
    ask: (asks) => {
      for (const { method } of Object.values(asks)) asked.add(method);
      return Promise.reject(new GuestError("Users cannot be asked while a bundle is made."));
    },
  };
}

/** A world of its own for a servlet that warms up: sleeping takes no time, and lets its clock go on. */
function virtualWorld(): World {
  // Go's runtime refuses to start at the time 0.
  let now = Date.UTC(2000);
  return { ...startWorld, now: () => now, sleep: async (ms) => void (now += ms) };
}

/** A journal that notes the questions that are no calls of the outside. */
class WatchedJournal extends Journal {
  readonly #asked: Set<string>;
  constructor(asked: Set<string>, world: World) {
    super({ hash: "", input: "" }, world, undefined);
    this.#asked = asked;
  }
  override get now(): number {
    this.#asked.add("the time");
    return super.now;
  }
  override random(bytes: Uint8Array): void {
    this.#asked.add("random numbers");
    super.random(bytes);
  }
}

/** An instance that several calls are made in, one after another. */
class Warming {
  readonly asked = new Set<string>();
  /** True if its start has left something in the kernel or in its variables. */
  leftSomething = false;
  /** True if a call has set a variable: calls begin without any. */
  setVariable = false;
  readonly #instance: Instance;
  readonly #before: Uint8Array;
  readonly #outside: { world: World; allowedHosts: readonly string[] };
  readonly #logs: string[] = [];

  constructor(instance: Instance, before: Uint8Array, allowedHosts: readonly string[]) {
    this.#instance = instance;
    this.#before = before;
    this.#outside = { world: virtualWorld(), allowedHosts };
  }

  /** Host services that were used since the last call of this. */
  takeAsked(): string[] {
    const asked = [...this.asked];
    this.asked.clear();
    return asked;
  }

  /** Runs start functions of this name, where there are any. */
  async start(name: string, fuel?: number): Promise<void> {
    if (this.#instance.exports[name] === undefined) return;
    const guest = this.#newCall();
    guest.attach(this.#instance.exports, { ...(fuel !== undefined && { fuel }) });
    await runExport(this.#instance, name);
    this.leftSomething ||= guest.vars.size > 0 || !isKernelNew(this.#instance.exports);
    this.#clearKernel();
  }

  connect({ dialect, exports, idsAsGiven, fuel }: WarmUpInput): Servlet {
    return dialects[dialect].connect({
      exports,
      idsAsGiven,
      run: async (name, input, _call, read) => {
        const guest = this.#newCall();
        try {
          return read(await callIn(this.#instance, name, input, guest, { fuel }));
        } finally {
          this.setVariable ||= guest.vars.size > 0;
          this.#clearKernel();
        }
      },
    });
  }

  patch(): Uint8Array {
    return encodePatch(this.#instance.exports, this.#before);
  }

  #newCall(): Guest {
    const setup = watchedSetup(this.asked, this.#logs, this.#outside);
    const guest = new Guest(setup, new WatchedJournal(this.asked, this.#outside.world));
    this.#instance.guest = guest;
    return guest;
  }

  #clearKernel(): void {
    new Uint8Array((this.#instance.exports["edge_memory"] as WebAssembly.Memory).buffer).fill(0);
  }
}

/** An instance that has started, with its script loaded where it is an interpreter, and what that asked for. */
async function start(asked: WarmUpInput): Promise<{ warming: Warming; startAsks: string[] }> {
  const { base, packages, patch, dialect, module } = asked;
  const code = { module, userFunctions: dialects[dialect].userFunctions };
  const journal = new WatchedJournal(new Set(), startWorld);
  const guest = new Guest(nobody, journal);
  const instance = instantiate(code, guest);
  const { exports } = instance;
  if (base !== undefined) {
    guest.attach(exports);
    await runExport(instance, "edge_start");
    applyPatch(instance, base);
    if (packages !== undefined) applyPatch(instance, packages);
  }
  const warming = new Warming(instance, memoryOf(exports).slice(), asked.allowedHosts);
  if (patch !== undefined) applyPatch(instance, patch);
  else {
    await warming.start("edge_start", asked.fuel);
    await warming.start("edge_wizer", asked.fuel);
  }
  const startAsks = warming.takeAsked();
  return { warming, startAsks };
}

/**
 * Warms one servlet up. Its lists are asked for where that asks nothing of the world, and left out
 * otherwise.
 */
export async function warmUp(asked: WarmUpInput): Promise<WarmUp> {
  const { warm, startOnce, isRestorable, listed, module } = asked;
  const isInterpreter = asked.patch !== undefined;
  const isWizer = WebAssembly.Module.exports(module).some(({ name }) => name === "edge_wizer");
  const isWanted = warm.length > 0 || startOnce || isWizer;
  const refused = (refusal: string, startAsks: string[] = []): WarmUp => ({
    startsOnce: isInterpreter,
    startAsks,
    ...(isWanted && { refusal }),
  });
  if (!isRestorable) return refused("its instances cannot be restored");
  let begun;
  try {
    begun = await start(asked);
  } catch (error) {
    return refused(`its start functions failed: ${messageOf(error)}`);
  }
  let { warming, startAsks } = begun;
  const isAlone = startAsks.length === 0 && !warming.leftSomething;
  const beyond = startAsks.filter((one) => !REPEATABLE.has(one));
  if (beyond.length > 0 || warming.leftSomething) {
    return refused(
      `it asks for ${beyond.join(", ") || "a block or a variable"} as it starts`,
      startAsks,
    );
  }
  if (!isAlone && !startOnce && !isWizer) {
    return refused(
      `it asks for ${startAsks.join(" and ")} as it starts: add "start": "once" to servlet.json, so that each call begins after one and the same start`,
      startAsks,
    );
  }
  if (listed && !isInterpreter) {
    const asking = listAll(warming.connect(asked));
    const failures = await asking.then(
      ({ failures: all }) => all.length,
      () => 1,
    );
    if (failures > 0) warming.asked.add("a list");
    // Lists that depend on the world are asked for in a call; it begins as if they never had been.
    if (warming.takeAsked().length > 0 || warming.setVariable) ({ warming } = await start(asked));
  }
  for (const { tool, arguments: args = {} } of warm) {
    const failure = await warmCall(warming, asked, tool, args);
    if (failure !== undefined) return refused(`the warm-up call of ${tool} ${failure}`, startAsks);
  }
  const isWarm = isWanted || (listed && !isInterpreter);
  return {
    startsOnce: isInterpreter || (isAlone && !isWarm),
    startAsks,
    ...(isWarm && { patch: warming.patch() }),
  };
}

/** Makes one call; says what went wrong with it. */
async function warmCall(warming: Warming, asked: WarmUpInput, tool: string, args: object) {
  warming.takeAsked();
  try {
    const servlet = warming.connect(asked);
    const entry: Entry = {
      ref: { kind: "tool", name: tool, input: { ...args } },
      run: (call) => servlet.callTool(tool, { ...args }, call),
    };
    const result = await perform<CallToolResult | undefined>(entry, nobodysCall, {
      ended: (given) => given as CallToolResult,
      waits: allReasons(() => undefined),
    });
    if (result === undefined)
      return "waits for input, which is not available while a bundle is made";
    const beyond = warming.takeAsked().filter((one) => !REPEATABLE.has(one));
    if (beyond.length > 0)
      return `asks for ${beyond.join(", ")}: a warm-up may ask for the time and random numbers only`;
    if (warming.setVariable) return "sets a variable, which would be lost: calls begin without any";
    if (result.isError !== true) return undefined;
    return `failed: ${result.content.map((part) => ("text" in part ? part.text : "")).join(" ")}`;
  } catch (error) {
    return `failed: ${messageOf(error)}`;
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
