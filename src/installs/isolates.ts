import { sha256 } from "../core/digest.ts";
import { limits } from "../core/limits.ts";
import type { Bundle, PreparedServlet } from "../servlets/bundle.ts";
import { isolationOf } from "../servlets/connect.ts";
import type { Deployment } from "../servlets/deployment.ts";
import { keepsState } from "../servlets/manifest.ts";
import type { BuildBucket } from "./bucket.ts";
import type { LoadedCode } from "./runner.ts";

/** CPU time of one call in an isolate of its own, besides its fuel. */
const LOADED_CPU_MS = 300_000;

/** The parts that isolates are made with: the Worker Loader, the bucket that has their code, and the script that runs it. */
export interface LoaderParts {
  loader: WorkerLoader;
  bucket: BuildBucket;
  runner: NonNullable<Bundle["runner"]>;
}

type Modules = WorkerLoaderWorkerCode["modules"];

/** The isolates of servlets whose code is in the bucket of builds: one for each build, made when it is first used. */
export class Isolates {
  readonly #parts: LoaderParts;
  readonly #deployment: Deployment;
  #version: Promise<string> | undefined;
  /** How often the isolate of a build has failed: the loader keeps a failed one, so the next must have another name. */
  readonly #failures = new Map<string, number>();

  constructor(parts: LoaderParts, deployment: Deployment) {
    this.#parts = parts;
    this.#deployment = deployment;
  }

  /** The isolate with a servlet's code. */
  ofServlet(servlet: PreparedServlet) {
    const { hash, parts: { files = {} } = {}, manifest } = servlet;
    const { restorable, checked } = isolationOf(servlet, this.#deployment);
    const facts = [hash, restorable, checked, keepsState(manifest), JSON.stringify(files)];
    return this.#named(facts.join(" "), () => this.#code(servlet));
  }

  /** The isolate without a servlet's code, for the stored state of servlets that are no longer installed. */
  withoutServlet() {
    const main = `import { stateFacetOf } from "./runner.js";
export const State = stateFacetOf(${JSON.stringify({ limits })});
`;
    return this.#named("empty", () => this.#with(main, {}, true));
  }

  /** The name has the digest of the script and the limits, so that another version of the server makes its own isolate. */
  async #named(
    facts: string,
    code: () => WorkerLoaderWorkerCode | Promise<WorkerLoaderWorkerCode>,
  ) {
    const { loader, runner } = this.#parts;
    this.#version ??= sha256(JSON.stringify([limits, runner])).then((digest) => digest.toHex());
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
    for (const name of ["base", "patch"] as const) {
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
    const facts = { hash, startsOnce, ...isolationOf(servlet, this.#deployment), limits };
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
