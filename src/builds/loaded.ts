import {
  CallHooks,
  elsewhere,
  hooksThere,
  settled,
  unsettled,
  type Settled,
} from "../durable/remote-hooks.ts";
import { endingOf } from "../durable/plain-ending.ts";
import { sha256 } from "../digest.ts";
import { clientHasLeft, Fault, logError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { CallContext } from "../call-context.ts";
import type { Bundle, PreparedServlet } from "../servlets/bundle.ts";
import { isolationOf } from "../servlets/connect.ts";
import type { Deployment } from "../servlets/deployment.ts";
import { partsOf, setupOf } from "../servlets/setup.ts";
import type { Ending, LogLevel, Setup } from "../wasm/call.ts";
import { isAllowed } from "../wasm/hosts.ts";
import type { BuildBucket } from "./bucket.ts";
import type { LoadedCode, LoadedRun, RunnerEntrypoint } from "./runner.ts";

/** Where servlets are loaded from, and by what. */
export interface LoaderParts {
  loader: WorkerLoader;
  bucket: BuildBucket;
  runner: NonNullable<Bundle["runner"]>;
}

/** Runs servlets whose code is in the bucket of builds, each in an isolate of its own. */
export class ServletLoader {
  readonly #parts: LoaderParts;
  readonly #deployment: Deployment;
  /** Part of the names of the isolates: another server's code or limits must not find them. */
  #version: Promise<string> | undefined;
  /** How often an isolate of this name has failed. The loader keeps one that could not be loaded, so the next has another name. */
  readonly #failures = new Map<string, number>();

  constructor(parts: LoaderParts, deployment: Deployment) {
    this.#parts = parts;
    this.#deployment = deployment;
  }

  async run(
    servlet: PreparedServlet,
    run: { export: string; input: string },
    call: CallContext,
  ): Promise<Ending> {
    const { manifest, name } = servlet;
    const setup = setupOf(servlet, this.#deployment, { ...call, ...partsOf(call) });
    const { config, allowedHosts, resends, logLevel, trace, caller, fuel, fuelUsed } = setup;
    const secrets = (manifest.allowed_secrets ?? []).flatMap(({ service, user }) => {
      const value = setup.secret(service, user);
      return value === undefined ? [] : [{ service, user, value }];
    });
    const id = crypto.randomUUID();
    const { runner, failed } = await this.#runner(servlet);
    const about: LoadedRun = {
      ...run,
      id,
      servlet: { name, manifest },
      setup: {
        config,
        allowedHosts,
        resends: resends === true,
        logLevel,
        trace,
        caller,
        fuel,
        fuelUsed,
      },
      secrets,
      credentials: call.credentials,
      recorded: call.recorded,
      seed: call.input?.seed,
      there: hooksThere(call),
    };
    const settlement = await elsewhere(call.signal(), {
      run: () =>
        Promise.resolve(runner.run(about, new Hooks(call, setup))).catch((cause: unknown) => {
          failed();
          logError(cause);
          throw new Fault(
            "unavailable",
            `The servlet ${name} was stopped: its code could not be loaded, or it took more time or memory than an isolate has. Try again.`,
            { cause },
          );
        }),
      async cancel() {
        setup.log("info", clientHasLeft().message);
        await runner.cancel(id);
      },
    });
    return endingOf(unsettled(settlement));
  }

  /** The exports of a servlet's module. Throws `invalid_params` that says why it cannot be loaded. */
  async check(servlet: PreparedServlet): Promise<string[]> {
    const { runner, failed } = await this.#runner(servlet);
    return unsettled(
      await runner.check().catch((error: unknown): never => {
        failed();
        const why = error instanceof Error ? error.message : String(error);
        throw new Fault("invalid_params", `its code cannot be loaded: ${why}`, { cause: error });
      }),
    );
  }

  async #runner(servlet: PreparedServlet) {
    const { loader } = this.#parts;
    const { restorable, checked } = isolationOf(servlet, this.#deployment);
    const version = await (this.#version ??= this.#versionOf());
    const name = [servlet.hash, version, restorable, checked].join(" ");
    const failures = this.#failures.get(name) ?? 0;
    const isolate = loader.get(`${name} ${failures}`, () => this.#code(servlet));
    return {
      runner: isolate.getEntrypoint<RunnerEntrypoint>("Runner"),
      failed: () => void this.#failures.set(name, failures + 1),
    };
  }

  async #versionOf(): Promise<string> {
    return (await sha256(`${JSON.stringify(limits)} ${this.#parts.runner.script}`)).toHex();
  }

  async #code(servlet: PreparedServlet): Promise<WorkerLoaderWorkerCode> {
    const { bucket, runner } = this.#parts;
    const { parts, hash, startsOnce = false } = servlet;
    if (parts === undefined) throw new Error(`the build of ${servlet.name} has no parts`);
    const facts = { hash, startsOnce, ...isolationOf(servlet, this.#deployment), limits };
    const patches = [];
    for (const name of ["base", "patch"] as const) {
      const digest = parts[name];
      if (digest !== undefined) patches.push({ name, data: await bucket.part(digest) });
    }
    const imports = patches.map(({ name }) => `import ${name} from "./${name}.bin";\n`).join("");
    const given = ["module", ...patches.map(({ name }) => name)].join(", ");
    return {
      compatibilityDate: runner.compatibilityDate,
      mainModule: "main.js",
      modules: {
        "main.js": `import { runnerOf } from "./runner.js";
import module from "./module.wasm";
${imports}export const Runner = runnerOf({ ...${JSON.stringify(facts satisfies Omit<LoadedCode, "module">)}, ${given} });
`,
        "runner.js": { js: runner.script },
        "module.wasm": { wasm: await bucket.part(parts.module) },
        ...Object.fromEntries(patches.map(({ name, data }) => [`${name}.bin`, { data }])),
      },
      env: {},
      globalOutbound: null,
      limits: { cpuMs: limits.loadedCpuMs },
    };
  }
}

/** The hooks of a call whose guest is in another isolate. */
class Hooks extends CallHooks {
  readonly #setup: Setup;

  constructor(call: CallContext, setup: Setup) {
    super(call, call.signal());
    this.#setup = setup;
  }

  /** The one way out: what the guest's isolate has checked is checked again here. */
  fetch(request: Request): Promise<Settled<Response>> {
    return settled(async () => {
      const { world, allowedHosts, signal } = this.#setup;
      if (!isAllowed(new URL(request.url), allowedHosts)) {
        throw new Fault("forbidden", "The manifest of the servlet does not allow that host.");
      }
      const stop = AbortSignal.any([signal(), AbortSignal.timeout(limits.httpMs)]);
      try {
        return await world.fetch(new Request(request, { redirect: "manual", signal: stop }));
      } catch {
        // The guest learns no more, and it may happen a thousand times in a call.
        throw new Fault("servlet_failed", "The host could not be reached.");
      }
    });
  }

  async log(level: LogLevel, text: string): Promise<void> {
    this.#setup.log(level, text);
  }
}
