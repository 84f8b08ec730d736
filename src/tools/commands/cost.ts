/** Measures what calls of a servlet cost in CPU: each of its tools is called, in a world in which nothing can be done. */
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

/** Calls after the first, of which the mean is taken; fewer where they take long. */
const CALLS = 200;
const ENOUGH_MS = 100;

export interface ToolCost {
  tool: string;
  /** CPU time of a call on this machine: the mean of some after the first; absent if it was not called. */
  ms?: number;
  /** Fuel that its guest used. */
  fuel?: number;
  /** Requests to the outside that it attempted, all of which were refused. */
  wanted: string[];
  /** True if it waited: no time passed. */
  waits?: boolean;
  /** Why it was not called, or the error that the call ended with. */
  problem?: string;
}

export interface Cost {
  /** CPU time of the first call of all, whose instance was new, and whose code was not optimised yet. */
  firstMs?: number;
  tools: ToolCost[];
}

/** The cost of this servlet's calls on this machine. Nothing is sent, asked or waited for, and nothing is kept. */
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

/** The CPU time of this thread. */
function cpuMs(): number {
  // The system brings its count up to date when a thread sleeps, else some milliseconds later.
  Atomics.wait(nothing, 0, 0, 0.1);
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Arguments of a warm-up call in the manifest, or an example from the schema. */
function argumentsFor({ name, inputSchema }: Tool, { found }: Member): Json | undefined {
  const warm = found.manifest.warm?.find(({ tool }) => tool === name);
  return warm === undefined ? exampleOf(inputSchema) : { ...warm.arguments };
}

/** A world in which nothing can be done; it notes what was wanted of it. */
class Watched {
  /** Variables for which the manifest has a default wherever it names them. */
  readonly #defaults: ReadonlySet<string>;
  readonly #wanted = new Set<string>();
  #waits = false;
  #fuel = 0;

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
    // Any that the manifest names without a default: what is done with them reaches nobody.
    variables: new Proxy<Record<string, string>>(
      {},
      { get: (_, name) => (this.#defaults.has(String(name)) ? undefined : "example") },
    ),
    logLevel: "error",
    log() {},
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

  /** Makes a call, and tells what it used and wanted. */
  async call(registry: Registry, name: string, args: Json): Promise<ToolCost> {
    this.#wanted.clear();
    this.#waits = false;
    this.#fuel = 0;
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
        ended(result) {
          const given = result as CallToolResult;
          return given.isError ? errorIn(given) : undefined;
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

  #refuse(...wanted: string[]): Promise<never> {
    for (const one of wanted) this.#wanted.add(one);
    return Promise.reject(new GuestError(`${wanted.join(", ")}: nothing is sent or asked here.`));
  }
}

const errorIn = ({ content }: CallToolResult): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join(" ");
