/** Measures the CPU time of a servlet's tool calls. The calls have no side effects: every request is rejected. */
import { allReasons, perform } from "../../server/kernel/calls/engine.ts";
import type { CallContext } from "../../server/kernel/core/call-context.ts";
import { Fault } from "../../server/kernel/core/errors.ts";
import type { CallToolResult, Json, Tool } from "../../server/kernel/core/model.ts";
import { nobodysCall } from "../../server/kernel/servlets/servlet.ts";
import type { Deployment } from "../../server/kernel/servlets/deployment.ts";
import { Registry } from "../../server/kernel/servlets/registry.ts";
import { GuestError } from "../../server/kernel/wasm/guest.ts";
import { liveWorld } from "../../server/kernel/wasm/world.ts";
import type { Member } from "../bundle/bundle.ts";
import { servedFrom } from "../bundle/served.ts";
import type { Manifest } from "../../server/kernel/servlets/manifest.ts";
import { REFERENCE } from "../../server/kernel/servlets/variables.ts";
import { exampleOf } from "../../server/kernel/schema/example.ts";

/** Maximum number of timed calls for each tool, after the first. */
const CALLS = 200;
/** Time after which no further timed call begins, in ms. */
const ENOUGH_MS = 100;

export interface ToolCost {
  tool: string;
  /** Mean CPU time of a call on this machine, without the first call; absent if the tool was not called. */
  ms?: number;
  /** Fuel used by the guest in the first call. */
  fuel?: number;
  /** Kinds of requests that the tool attempted, such as `an HTTP request` or a method of the client. */
  wanted: string[];
  /** True if the tool called `sleep`, which returns at once here. */
  waits?: boolean;
  /** Why the tool was not called, or the error of the call. */
  problem?: string;
}

export interface Cost {
  /** CPU time of the very first call: it has a new instance, and code that is not optimised yet. */
  firstMs?: number;
  tools: ToolCost[];
}

/** Measures the servlet's calls on this machine. Sends no requests, does not wait, and stores nothing. */
export async function costOf(member: Member): Promise<Cost> {
  const watched = new Watched(member.found.manifest);
  const registry = new Registry({ servlets: [await servedFrom(member)] }, watched.deployment);
  const listed = await registry.catalog().catch(() => undefined);
  const cost: Cost = { tools: [] };
  for (const tool of listed?.lists.tools ?? []) {
    const args = argumentsFor(tool, member);
    if (args === undefined) {
      const problem = "not called: no example was found for its schema; write one as `examples`";
      cost.tools.push({ tool: tool.name, wanted: [], problem });
      continue;
    }
    const begun = cpuMs();
    const called = await watched.call(registry, tool.name, args);
    const before = cpuMs();
    cost.firstMs ??= before - begun;
    let calls = 0;
    const until = performance.now() + ENOUGH_MS;
    while (calls === 0 || (calls < CALLS && performance.now() < until)) {
      await watched.call(registry, tool.name, args);
      calls++;
    }
    cost.tools.push({ ...called, ms: (cpuMs() - before) / calls });
  }
  return cost;
}

const nothing = new Int32Array(new SharedArrayBuffer(4));

/** CPU time of this thread, in ms. */
function cpuMs(): number {
  // The operating system updates its counter when a thread sleeps, otherwise only every few milliseconds.
  Atomics.wait(nothing, 0, 0, 0.1);
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Arguments of the manifest's warm-up call, or else an example from the schema; undefined if there is none. */
function argumentsFor({ name, inputSchema }: Tool, { found }: Member): Json | undefined {
  const warm = found.manifest.warm?.find(({ tool }) => tool === name);
  return warm === undefined ? exampleOf(inputSchema) : { ...warm.arguments };
}

/** Runs calls in a world that rejects every request, and records the rejected requests. */
class Watched {
  /** Variables that have a default in every reference of the manifest. */
  readonly #defaults: ReadonlySet<string>;
  readonly #wanted = new Set<string>();
  #waits = false;
  #fuel = 0;
  #warnings: string[] = [];

  constructor({ env_vars = {} }: Manifest) {
    const references = Object.values(env_vars).flatMap((text) => [...text.matchAll(REFERENCE)]);
    const named = (hasDefault: boolean) =>
      new Set(
        references
          .filter(([, , otherwise]) => (otherwise !== undefined) === hasDefault)
          .flatMap(([, name]) => name ?? []),
      );
    this.#defaults = named(true).difference(named(false));
  }

  readonly deployment: Deployment = {
    // Any value will do for a variable without a default, because no request is sent.
    variables: new Proxy<Record<string, string>>(
      {},
      { get: (_, name) => (this.#defaults.has(String(name)) ? undefined : "example") },
    ),
    logLevel: "warn",
    log: (_servlet, level, text) => void (level === "warn" && this.#warnings.push(text)),
    count: ({ fuel }) => void (this.#fuel += fuel),
    world: {
      ...liveWorld,
      sleep: async () => void (this.#waits = true),
      fetch: () => this.#refuse("an HTTP request"),
    },
  };

  readonly #context: CallContext = {
    ...nobodysCall,
    id: "1",
    ask: (asks) => this.#refuse(...new Set(Object.values(asks).map(({ method }) => method))),
  };

  /** Calls a tool; returns its fuel, its rejected requests and its error. */
  async call(registry: Registry, name: string, args: Json): Promise<ToolCost> {
    this.#wanted.clear();
    this.#waits = false;
    this.#fuel = 0;
    this.#warnings = [];
    const problem = await this.#problemOf(registry, name, args);
    return {
      tool: name,
      fuel: this.#fuel,
      wanted: [...this.#wanted],
      waits: this.#waits,
      ...(problem !== undefined && { problem }),
    };
  }

  async #problemOf(registry: Registry, name: string, args: Json): Promise<string | undefined> {
    try {
      const entry = await registry.resolve({ kind: "tool", name, input: args });
      return await perform<string | undefined>(entry, this.#context, {
        ended: (result) => {
          const given = result as CallToolResult;
          return given.isError ? this.#reasonOf(errorIn(given)) : undefined;
        },
        waits: allReasons(({ reason }) => {
          const asks = reason.kind === "input" ? Object.values(reason.asks) : [];
          for (const { method } of asks) this.#wanted.add(method);
          return undefined;
        }),
      });
    } catch (error) {
      return Fault.from(error).message;
    }
  }

  /** The error of a call, with the servlet's log if it crashed: the error alone does not say why. */
  #reasonOf(error: string): string {
    const isCrash = error.startsWith("The servlet crashed") && this.#warnings.length > 0;
    if (!isCrash) return error;
    return `${error} Its log: ${this.#warnings.join(" ").replaceAll(/\s+/g, " ").trim()}`;
  }

  #refuse(...wanted: string[]): Promise<never> {
    for (const one of wanted) this.#wanted.add(one);
    return Promise.reject(new GuestError(`${wanted.join(", ")}: nothing is sent or asked here.`));
  }
}

const errorIn = ({ content }: CallToolResult): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join(" ");
