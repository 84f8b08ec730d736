import { Fault, report } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { isRecent } from "../../kernel/core/recent.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import type { Build } from "./build.ts";
import type { Installer } from "./installer.ts";
import type { Installs } from "./installs.ts";

/** Old builds that an isolate caches. */
const OLD_BUILDS = 100;

interface InstalledParts {
  installer: Installer;
  /** The nearest copy of the `Installs` object. */
  nearest: () => DurableObjectStub<Installs>;
  /** The copy that registers a waiting task. */
  waitsOf: (task: string) => DurableObjectStub<Installs>;
  /** The registry of the bundle and these servlets. */
  registryWith(installed: readonly PreparedServlet[]): Registry;
}

/**
 * The bundled and installed servlets. An isolate asks for the installed ones at most every `limits.installsMs`. A call
 * keeps the registry that it began with.
 */
export class InstalledServlets {
  readonly #parts: InstalledParts;
  #known: { registry: Registry | undefined; generation: number; at: number } = {
    registry: undefined,
    generation: -1,
    at: -Infinity,
  };
  #isAsking = false;
  readonly #old = new Map<string, { servlet: PreparedServlet; at: number }>();

  constructor(parts: InstalledParts) {
    this.#parts = parts;
  }

  /** The registry of everything served, if it is known without waiting. */
  get known(): Registry | undefined {
    const { registry, at } = this.#known;
    if (isRecent(at, limits.installsMs)) return registry;
    return this.#isAsking && isRecent(at, limits.installsStaleMs) ? registry : undefined;
  }

  /** The registry of everything served. Throws `unavailable` until the installed servlets were first read. */
  async registry(): Promise<Registry> {
    const { known } = this;
    if (known !== undefined) return known;
    this.#isAsking = true;
    try {
      await this.#ask();
    } catch (error) {
      if (this.#known.registry === undefined) {
        const fault = Fault.from(error);
        if (fault.code === "storage_full") throw fault;
        throw new Fault(
          "unavailable",
          "The server does not know yet which servlets are installed. Try again in a moment.",
          { cause: error, data: { retryAfter: 1 } },
        );
      }
      report(error);
    } finally {
      this.#isAsking = false;
    }
    return this.#known.registry!;
  }

  /** Formerly installed servlets that may still have state. */
  former() {
    return this.#parts.installer.installs().kept();
  }

  /** Registers a waiting task, by its id and its servlet's hash, for `replay`, until it expires (Unix ms). */
  async noteWaiting(task: string, hash: string, until: number): Promise<void> {
    const { servlets } = (await this.registry()).whole;
    const { name } = servlets.find((one) => one.hash === hash) ?? (await this.oldBuild(hash)) ?? {};
    if (name !== undefined) await this.#parts.waitsOf(task).waits(task, name, until);
  }

  /** A build that is no longer served, from the bucket; undefined if it is gone. Renews its time in the bucket. */
  async oldBuild(hash: string): Promise<PreparedServlet | undefined> {
    const known = this.#old.get(hash);
    if (known !== undefined && Date.now() - known.at < limits.sweepMs) return known.servlet;
    const { installer } = this.#parts;
    const servlet = await installer.bucket.build(hash);
    if (servlet === undefined) return undefined;
    await installer.installs().needed(hash);
    if (this.#old.size >= OLD_BUILDS) this.#old.clear();
    this.#old.set(hash, { servlet, at: Date.now() });
    return servlet;
  }

  async #ask(): Promise<void> {
    const asked = Date.now();
    const news = await this.#parts.nearest().since(this.#known.generation);
    if (news === undefined) {
      this.#known.at = asked;
      return;
    }
    // Another request may have received a newer answer meanwhile.
    if (news.generation < this.#known.generation) return;
    const builds = news.builds.map((build) => JSON.parse(build) as Build);
    const registry = this.#parts.registryWith(builds);
    this.#known = { registry, generation: news.generation, at: asked };
  }
}
