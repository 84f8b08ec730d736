/**
 * Runs one servlet in its own isolate, without network, bindings or other servlets' code. The hooks
 * of a call lead back to the isolate that serves it. Bundled as a separate script: src/tools/bundle/runner-scripts.ts.
 */
import { hiding } from "../../kernel/core/redaction.ts";
import { settled, unsettled, type Settled } from "../../kernel/core/settled.ts";
import { WorkerEntrypoint } from "cloudflare:workers";
import { invalidBuild } from "./build.ts";
import type { CallCredentials } from "../../kernel/core/call-context.ts";
import type { CommittedEnding } from "../state/changes.ts";
import { contextOf, type RemoteHooks, type RemoteRun } from "../state/remote-hooks.ts";
import { clientHasLeft, Fault, orAborted } from "../../kernel/core/errors.ts";
import { configureLimits, type Limits } from "../../kernel/core/limits.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import { guestCredentials } from "../../kernel/servlets/config.ts";
import { userFunctions } from "../../kernel/servlets/hyper/functions.ts";
import type { PlainSetup } from "./plain-setup.ts";
import { callExport, type LogLevel, type Program } from "../../kernel/wasm/call.ts";
import { GuestError } from "../../kernel/wasm/guest.ts";
import { demandPrepared, hostFunctions, notPrepared } from "../../kernel/wasm/link.ts";
import { liveWorld, type GuestRequest } from "../../kernel/wasm/world.ts";

export interface LoadedRun extends RemoteRun {
  servlet: Pick<PreparedServlet, "name" | "manifest">;
  setup: PlainSetup;
  /** The secrets that its manifest allows, by service and user. */
  secrets: readonly { service: string; user: string; value: string }[];
  credentials?: CallCredentials | undefined;
}

/** The hooks of a call, with its access to the network and the log. */
export interface LoadedHooks extends RemoteHooks {
  fetch(request: Request): Promise<Settled<Response>>;
  log(level: LogLevel, text: string): Promise<void>;
}

/** RPC type of the entrypoint. */
export interface RunnerEntrypoint extends Rpc.WorkerEntrypointBranded {
  run(run: LoadedRun, hooks: LoadedHooks): Promise<Settled<CommittedEnding>>;
  cancel(id: string): void;
  /** Throws `invalid_params` for a module with other imports than offered, without these exports, or not prepared. */
  check(exports: readonly string[]): Promise<Settled<void>>;
}

/** The code of a servlet, and the limits of the server. */
export interface LoadedCode extends Pick<
  Program,
  | "module"
  | "base"
  | "packages"
  | "patch"
  | "hash"
  | "exports"
  | "startsOnce"
  | "restorable"
  | "checked"
> {
  limits: Limits;
}

/** The class of the entrypoint for this code. */
export function runnerOf({ limits, ...code }: LoadedCode) {
  configureLimits(limits);
  const program: Program = { ...code, userFunctions };
  const running = new RunningCalls();

  return class Runner extends WorkerEntrypoint implements RunnerEntrypoint {
    run(run: LoadedRun, hooks: LoadedHooks): Promise<Settled<CommittedEnding>> {
      const ended = running.run(run, hooks, async (setup) =>
        callExport(program, run.export, run.input, setup),
      );
      // Even if the caller has left, a suspended guest must run to its end.
      this.ctx.waitUntil(ended);
      return ended;
    }

    cancel(id: string): void {
      running.cancel(id);
    }

    check(exports: readonly string[]): Promise<Settled<void>> {
      return settled(() => {
        const offered: Readonly<Record<string, object>> = hostFunctions(userFunctions);
        for (const { module: from, name } of WebAssembly.Module.imports(program.module)) {
          if (Object.hasOwn(offered, from) && Object.hasOwn(offered[from]!, name)) continue;
          throw new Fault(
            "invalid_params",
            `its module imports ${from}.${name}, which is not offered`,
          );
        }
        const all = new Set(WebAssembly.Module.exports(program.module).map(({ name }) => name));
        const lacking = exports.find((name) => !all.has(name));
        if (lacking !== undefined) throw invalidBuild(`its module does not export ${lacking}`);
        demandPrepared(program.module);
        demandFuel(program.module);
      });
    }
  };
}

/** Throws `invalid_params` if the host cannot set the module's fuel. It has no start function. */
function demandFuel(module: WebAssembly.Module): void {
  const imports: Record<string, Record<string, () => void>> = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module))
    (imports[from] ??= {})[name] = () => {};
  const { edge_fuel: fuel } = new WebAssembly.Instance(module, imports).exports;
  try {
    (fuel as WebAssembly.Global).value = 1n;
  } catch {
    throw notPrepared("its edge_fuel is not a mutable i64");
  }
}

/** The calls that run here, by their ids. */
export class RunningCalls {
  readonly #stops = new Map<string, AbortController>();

  async run<T>(
    run: LoadedRun,
    hooks: LoadedHooks,
    work: (setup: ReturnType<typeof setupFrom>) => Promise<T>,
  ): Promise<Settled<T>> {
    const stop = new AbortController();
    this.#stops.set(run.id, stop);
    const sent: Promise<unknown>[] = [];
    try {
      return await settled(async () => {
        try {
          return await work(setupFrom(run, { hooks, signal: stop.signal, sent }));
        } catch (error) {
          // Its hooks may have failed only because the caller has left.
          throw stop.signal.aborted ? clientHasLeft() : error;
        }
      });
    } finally {
      this.#stops.delete(run.id);
      await Promise.all(sent);
    }
  }

  cancel(id: string): void {
    this.#stops.get(id)?.abort();
  }
}

function setupFrom(
  { servlet, setup, secrets, credentials, recorded, seed, time, there }: LoadedRun,
  by: { hooks: LoadedHooks; signal: AbortSignal; sent: Promise<unknown>[] },
) {
  const { hooks, signal, sent } = by;
  return {
    ...setup,
    ...contextOf(hooks, there, sent),
    world: {
      ...liveWorld,
      fetch: async (input: Request | URL, init?: GuestRequest) => {
        const { signal: stop, url, method, headers, body } = new Request(input, init);
        const reply = hooks.fetch(new Request(url, { method, headers, body, redirect: "manual" }));
        const settlement = await orAborted(reply, stop);
        if ("code" in settlement && settlement.code === "forbidden")
          throw new GuestError(settlement.message);
        return unsettled(settlement);
      },
    },
    secret: (service: string, user: string) =>
      secrets.find((one) => one.service === service && one.user === user)?.value,
    signal: () => signal,
    log: (level: LogLevel, text: string) => {
      if (!signal.aborted) sent.push(hooks.log(level, text).catch(() => {}));
    },
    ...(credentials && { credentials: guestCredentials(servlet, credentials) }),
    ...(secrets.length > 0 && {
      hide: hiding({
        secrets: new Map(secrets.map(({ value }, at) => [String(at), value])),
        tokens: new Map(),
      }),
    }),
    recorded,
    seed,
    time,
  };
}
