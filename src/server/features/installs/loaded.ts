import { settled, unsettled, type Settled } from "../../kernel/core/settled.ts";
import { CallHooks, DepartureWatch, hookSupportOf } from "../state/remote-hooks.ts";
import { clientHasLeft, Fault, logError } from "../../kernel/core/errors.ts";
import { GUEST_MEMORY, limits, type Limits } from "../../kernel/core/limits.ts";
import type { CallContext, RunContext } from "../../kernel/core/call-context.ts";
import type { PreparedServlet, BundledServlets } from "../../kernel/servlets/bundle.ts";
import type { Deployment } from "../../kernel/servlets/deployment.ts";
import { callPartsOf, setupOf, type CallParts } from "../../kernel/servlets/setup.ts";
import type { Ending, LogLevel, Setup } from "../../kernel/wasm/call.ts";
import { GuestError } from "../../kernel/wasm/guest.ts";
import { isAllowed } from "../../kernel/wasm/hosts.ts";
import { inHttpSpan } from "../../kernel/observe/spans.ts";
import { plainSetup } from "./plain-setup.ts";
import type { LoadedRun, RunnerEntrypoint, LoadedCode } from "./runner.ts";
import type { StateFacet } from "./state-runner.ts";
import { hexDigest } from "../../kernel/core/digest.ts";
import { begunBy, isolationOf } from "../../kernel/servlets/connect.ts";
import { keepsState } from "../../kernel/servlets/manifest.ts";
import type { BuildBucket } from "./bucket.ts";

/** Runs servlets from the bucket of builds, each in its own isolate. */
export class ServletLoader {
  readonly #isolates: Isolates;
  readonly #by: LoaderParts;

  constructor(parts: LoaderParts) {
    this.#isolates = new Isolates(parts);
    this.#by = parts;
  }

  get deployment(): Deployment {
    return this.#by.deployment();
  }

  /** Runs an export. Throws `unavailable` if its isolate fails or dies; the next call then gets another one. */
  async run(
    servlet: PreparedServlet,
    run: { export: string; input: string },
    call: CallContext,
    deployment: Deployment = this.deployment,
  ): Promise<Ending> {
    const whole = { ...call, ...callPartsOf(call) };
    const setup = setupOf(servlet, deployment, whole);
    const { recorded } = call;
    const values = loadedRun(servlet, whole, setup, { ...run, recorded, ...begunBy(call) });
    const id = crypto.randomUUID();
    const { runner, failed } = await this.#runner(servlet);
    const departure = new DepartureWatch(call.signal, async () => {
      setup.log("info", clientHasLeft().message);
      await runner.cancel(id);
    });
    if (departure.watch().aborted)
      throw new Fault("cancelled", "The call was cancelled before it began.");
    const ended = Promise.resolve(runner.run({ ...values, id }, new Hooks(call, setup)));
    const settlement = await departure.during(
      ended.catch((cause) => {
        failed();
        throw stopped(servlet, cause);
      }),
    );
    return unsettled(settlement);
  }

  /** Throws `invalid_params` if a servlet's module cannot be loaded. */
  async check(servlet: PreparedServlet): Promise<void> {
    const { runner, failed } = await this.#runner(servlet);
    unsettled(
      await runner.check(servlet.exports).catch((error: unknown): never => {
        failed();
        const why = error instanceof Error ? error.message : String(error);
        throw new Fault("invalid_params", `its code cannot be loaded: ${why}`, { cause: error });
      }),
    );
  }

  async #runner(servlet: PreparedServlet) {
    const { get, failed } = await this.#isolates.ofServlet(servlet);
    return { runner: get().getEntrypoint<RunnerEntrypoint>("Runner"), failed };
  }

  /**
   * The class of the facets with a servlet's state, in its isolate; without a servlet, a class that has only
   * access to the storage. `name` differs for different code. Call `failed` when a facet has failed: the next one gets
   * a new isolate.
   */
  async stateClass(servlet: PreparedServlet | undefined, key: Uint8Array) {
    const isolates = this.#isolates;
    const { name, get, failed } = await (servlet
      ? isolates.ofServlet(servlet)
      : isolates.withoutServlet());
    return {
      name,
      failed,
      load: () => get().getDurableObjectClass<StateFacet>("State", { props: { key } }),
    };
  }
}

/** The fault of a call whose isolate died before it answered. */
export function stopped({ name }: Pick<PreparedServlet, "name">, cause: unknown): Fault {
  logError(cause);
  return new Fault(
    "unavailable",
    `The servlet ${name} was stopped: its code could not be loaded, or it took more time or memory than an isolate has. Try again.`,
    { cause },
  );
}

/** A run of an export as plain values, which can be sent to the servlet's isolate. */
export function loadedRun(
  { name, manifest }: PreparedServlet,
  call: RunContext & CallParts,
  setup: Setup,
  run: Pick<LoadedRun, "export" | "input" | "recorded" | "seed" | "time">,
): Omit<LoadedRun, "id"> {
  const secrets = (manifest.allowed_secrets ?? []).flatMap(({ service, user }) => {
    const value = setup.secret(service, user);
    return value === undefined ? [] : [{ service, user, value }];
  });
  return {
    ...run,
    servlet: { name, manifest },
    setup: plainSetup(setup),
    secrets,
    credentials: call.credentials,
    there: hookSupportOf(call),
  };
}

/** The hooks of a call whose guest is in another isolate. */
export class Hooks extends CallHooks {
  readonly #setup: Setup;

  constructor(call: RunContext, setup: Setup) {
    super(call, call.signal);
    this.#setup = setup;
  }

  /** The isolate's only access to the network. Checks the host again: code in the isolate could skip its own check. */
  fetch(request: Request): Promise<Settled<Response>> {
    return settled(async () => {
      const { world, allowedHosts, signal, trace } = this.#setup;
      if (!isAllowed(new URL(request.url), allowedHosts)) {
        throw new Fault(
          "forbidden",
          "The servlet's manifest does not allow that host. Add it to allowed_hosts in servlet.json.",
        );
      }
      const stop = AbortSignal.any([signal(), AbortSignal.timeout(limits.httpMs)]);
      try {
        const sent = new Request(request, { redirect: "manual", signal: stop });
        return await inHttpSpan(trace, sent, (one) => world.fetch(one));
      } catch (error) {
        // Refused by the manifest or the caller's account: the guest gets the reason.
        if (error instanceof GuestError) throw new Fault("forbidden", error.message);
        // The reason is neither passed on nor logged: a guest could cause it a thousand times in a call.
        throw new Fault("servlet_failed", "The host could not be reached.");
      }
    });
  }

  async log(level: LogLevel, text: string): Promise<void> {
    this.#setup.log(level, text);
  }
}

/** Maximum CPU time of one call in its isolate, besides its fuel. */
const LOADED_CPU_MS = 300_000;

/** The Worker Loader, the bucket with the servlets' code, and the script that runs it. */
interface LoaderParts {
  loader: WorkerLoader;
  bucket: BuildBucket;
  runner: NonNullable<BundledServlets["runner"]>;
  /** The configuration shared by all servlets. Exists once all features have started. */
  deployment(): Deployment;
}

type Modules = WorkerLoaderWorkerCode["modules"];

/** The limits of one installed servlet's isolate: the memory of its guests does not grow with the machine's. */
const limitsOfOne = (): Limits => {
  const most = Object.entries(GUEST_MEMORY) as [keyof typeof GUEST_MEMORY, number][];
  const kept = most.map(([name, one]) => [name, Math.min(limits[name], one)]);
  return { ...limits, ...(Object.fromEntries(kept) as typeof GUEST_MEMORY) };
};

/** The isolates of servlets from the bucket of builds: one for each build, created on first use. */
class Isolates {
  readonly #parts: LoaderParts;
  #version: Promise<string> | undefined;
  /** Failures of each build's isolate. The loader keeps a failed isolate, so the next must have another name. */
  readonly #failures = new Map<string, number>();

  constructor(parts: LoaderParts) {
    this.#parts = parts;
  }

  /** The isolate with a servlet's code. */
  ofServlet(servlet: PreparedServlet) {
    const { hash, parts: { files = {} } = {}, manifest } = servlet;
    const { restorable, checked } = isolationOf(servlet, this.#parts.deployment());
    const facts = [hash, restorable, checked, keepsState(manifest), JSON.stringify(files)];
    return this.#named(facts.join(" "), () => this.#code(servlet));
  }

  /** The isolate without a servlet's code, for the stored state of servlets that are no longer installed. */
  withoutServlet() {
    const main = `import { stateFacetOf } from "./runner.js";
export const State = stateFacetOf(${JSON.stringify({ limits: limitsOfOne() })});
`;
    return this.#named("empty", () => this.#with(main, {}, true));
  }

  /** The name contains a digest of script and limits, so that another version of the server gets its own isolate. */
  async #named(
    facts: string,
    code: () => WorkerLoaderWorkerCode | Promise<WorkerLoaderWorkerCode>,
  ) {
    const { loader, runner } = this.#parts;
    this.#version ??= hexDigest(JSON.stringify([limitsOfOne(), runner]));
    const build = `${facts} ${await this.#version}`;
    const failures = this.#failures.get(build) ?? 0;
    const name = `${build} ${failures}`;
    return {
      name,
      get: () => loader.get(name, code),
      failed: () => void this.#failures.set(build, failures + 1),
    };
  }

  async #code(servlet: PreparedServlet): Promise<WorkerLoaderWorkerCode> {
    const { bucket } = this.#parts;
    const { parts, hash, startsOnce = false, manifest } = servlet;
    if (parts === undefined) throw new Error(`the build of ${servlet.name} has no parts`);
    const modules: Modules = { "module.wasm": { wasm: await bucket.part(parts.module) } };
    const code = ["module"];
    const imports = ['import module from "./module.wasm";'];
    const data = async (name: string, digest: string) => {
      modules[`${name}.bin`] = { data: await bucket.part(digest) };
      imports.push(`import ${name} from "./${name}.bin";`);
    };
    for (const name of ["base", "packages", "patch"] as const) {
      const digest = parts[name];
      if (digest === undefined) continue;
      await data(name, digest);
      code.push(name);
    }
    const files: string[] = [];
    for (const [nth, [host, digest]] of Object.entries(parts.files ?? {}).entries()) {
      await data(`files${nth}`, digest);
      files.push(`[${JSON.stringify(host)}, { digest: "${digest}", archive: files${nth} }]`);
    }
    const { exports } = servlet;
    const facts = {
      hash,
      exports,
      startsOnce,
      ...isolationOf(servlet, this.#parts.deployment()),
      limits: limitsOfOne(),
    };
    const keeps = keepsState(manifest);
    const main = `import { runnerOf${keeps ? ", stateFacetOf" : ""} } from "./runner.js";
${imports.join("\n")}
const code = { ...${JSON.stringify(facts satisfies Omit<LoadedCode, "module">)}, ${code.join(", ")} };
export const Runner = runnerOf(code);
${keeps ? `export const State = stateFacetOf({ ...code, files: Object.fromEntries([${files.join(", ")}]) });` : ""}
`;
    return this.#with(main, modules, keeps);
  }

  #with(main: string, modules: Modules, keeps: boolean): WorkerLoaderWorkerCode {
    const { script, stateScript, compatibilityDate } = this.#parts.runner;
    return {
      compatibilityDate,
      mainModule: "main.js",
      modules: {
        ...modules,
        "main.js": main,
        "runner.js": { js: keeps ? stateScript : script },
      },
      env: {},
      globalOutbound: null,
      limits: { cpuMs: LOADED_CPU_MS },
    };
  }
}
