import { isRecent } from "../core/recent.ts";
import { Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { PreparedServlet, Served } from "./bundle.ts";
import { clashRemedy, joinedCatalogs, merge, type Catalog, type Clash } from "./catalog.ts";
import type { Deployment, Viewer } from "./deployment.ts";
import { runnerFor } from "./runners.ts";
import type { EntryFilter } from "./profiles.ts";
import { mayUnscoped } from "./scopes.ts";
import {
  NO_ENTRIES,
  describeFailure,
  listAll,
  type CollectedLists,
  type Servlet,
} from "./servlet.ts";
import { newest } from "./toolkit.ts";

/** The catalog of one caller. */
interface Offered {
  catalog: Catalog;
  /** Why the catalog may lack entries: a servlet could not be asked for now. */
  failure?: Fault | undefined;
}

/** Dependencies of a `Lister`. */
interface ListerParts {
  deployment: Deployment;
  servletOf(bundled: PreparedServlet): Servlet;
  /** The part that a profile and the callers' scopes grant; absent if they grant everything. */
  filter: EntryFilter | undefined;
}

/** Makes the catalogs: one of the lists that all callers share, and for each caller one with the lists of its state. */
export class Lister {
  /** Servlets whose lists depend on their state. */
  readonly stateful: readonly PreparedServlet[];
  /** True if lists of other servlets are dynamic. */
  readonly isDynamic: boolean;
  readonly #others: readonly PreparedServlet[];
  readonly #newest: readonly PreparedServlet[];
  readonly #parts: ListerParts;
  #shared: { value: Catalog; at: number } | undefined;

  constructor({ servlets }: Served, parts: ListerParts) {
    const isStateful = (servlet: PreparedServlet) =>
      servlet.lists === undefined && runnerFor(servlet, parts.deployment)?.lists !== undefined;
    this.stateful = servlets.filter(isStateful);
    this.#others = servlets.filter((servlet) => !isStateful(servlet));
    this.isDynamic = this.#others.some(({ lists }) => lists === undefined);
    this.#newest = newest(servlets);
    this.#parts = parts;
  }

  /** The entries that all callers share, if they are known without waiting. */
  get known(): Catalog | undefined {
    const { value, at = 0 } = this.#shared ?? {};
    return this.isDynamic && !isRecent(at, limits.dynamicListMs) ? undefined : value;
  }

  /**
   * The entries that all callers share. Dynamic lists are refreshed every `limits.dynamicListMs`, without a
   * principal: they are the same for every caller.
   */
  async shared(): Promise<Catalog> {
    const { known } = this;
    if (known !== undefined) return known;
    // The promise is not cached: in Workers one request cannot wait for I/O of another.
    const { servletOf } = this.#parts;
    const value = await this.#merge(this.#others, async (servlet) =>
      servlet.lists === undefined
        ? listAll(servletOf(servlet))
        : { lists: servlet.lists, failures: [] },
    );
    this.#shared = { value, at: Date.now() };
    return value;
  }

  /** The shared lists, with the entries that servlets list in the state of this caller. */
  async seenBy(viewer: Viewer): Promise<Offered> {
    let failure: Fault | undefined;
    const own = await this.#merge(
      this.stateful,
      (servlet) => runnerFor(servlet, this.#parts.deployment)!.lists!(servlet, viewer),
      (fault) => {
        if (fault.code !== "servlet_failed" && fault.code !== "not_configured") failure = fault;
      },
    );
    return { catalog: joinedCatalogs(await this.shared(), own), failure };
  }

  /** Asks servlets for their lists. Those that fail are empty. */
  async #merge(
    servlets: readonly PreparedServlet[],
    ask: (servlet: PreparedServlet) => Promise<CollectedLists>,
    onFailure?: (fault: Fault) => void,
  ): Promise<Catalog> {
    const { deployment, filter } = this.#parts;
    const listed = servlets.map(async (servlet) => {
      try {
        const { lists, failures } = await ask(servlet);
        const texts = failures.map(describeFailure);
        for (const text of texts) deployment.log(servlet.name, "error", text);
        return { servlet, lists, failures: texts };
      } catch (error) {
        const fault = Fault.from(error);
        const text = `has no lists, as it could not be asked: ${fault.message}`;
        deployment.log(servlet.name, "error", text);
        onFailure?.(fault);
        return { servlet, lists: NO_ENTRIES, failures: [text] };
      }
    });
    const onClash = ({ kind, name, servlets: [first, second] }: Clash) => {
      const text =
        first === second
          ? `two of its ${kind} are listed as ${name}, and the second is hidden. Rename one of them in the servlet`
          : `its ${kind} entry ${name} is hidden by that of ${first}: ${clashRemedy(kind)}`;
      if (filter === undefined) deployment.log(second, "warn", text);
    };
    const all = await Promise.all(listed);
    const catalog = merge(all, onClash, filter ?? { may: mayUnscoped }, this.#newest);
    const failing = all.filter(({ failures }) => failures.length > 0);
    return {
      ...catalog,
      failures: new Map(failing.map(({ servlet, failures }) => [servlet.name, failures])),
    };
  }
}
