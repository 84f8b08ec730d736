import { Fault } from "../core/errors.ts";
import { isRecent } from "../core/recent.ts";
import { limits } from "../core/limits.ts";
import { Access, type AccessKey } from "./access.ts";
import type { PreparedServlet } from "./bundle.ts";
import {
  clashRemedy,
  joinedCatalogs,
  merge,
  type CallersTools,
  type Catalog,
  type Clash,
} from "./catalog.ts";
import type { Deployment, Viewer } from "./deployment.ts";
import { Lister, type ServletLists } from "./lister.ts";
import { grantsProfile } from "./scopes.ts";
import { newest } from "./toolkit.ts";

/** The catalog of one caller. */
export interface SeenCatalog {
  catalog: Catalog;
  /** Why the catalog may lack entries: a servlet could not be asked. */
  failure?: Fault | undefined;
}

/** The servlets served, and how their lists are read. */
interface Served {
  servlets: readonly PreparedServlet[];
  deployment: Deployment;
  lister: Lister;
}

/** The catalog for callers with the same access. */
export class Selection {
  readonly access: Access;
  /** The servlets that may have entries in it. */
  readonly members: readonly PreparedServlet[];
  /** The newest version of each toolkit, which MCP clients see. */
  readonly newest: readonly PreparedServlet[];
  /** The servlets whose lists depend on the caller's state. */
  readonly stateful: readonly PreparedServlet[];
  /** What adds tools of one caller to it. */
  readonly callersTools: readonly CallersTools[];
  /** True if lists of other servlets are dynamic. */
  readonly isDynamic: boolean;
  readonly #stateless: readonly PreparedServlet[];
  readonly #lister: Lister;
  readonly #deployment: Deployment;
  #shared: { catalog: Catalog; at: number } | undefined;

  constructor(access: Access, { servlets, lister, deployment }: Served) {
    const members = access.servletsOf(servlets);
    const isStateful = (one: PreparedServlet) => lister.isStateful(one);
    this.access = access;
    this.members = members;
    this.newest = newest(members);
    this.stateful = members.filter(isStateful);
    this.#stateless = members.filter((one) => !isStateful(one));
    this.callersTools = (deployment.contributors ?? []).flatMap(({ callersTools: own }) =>
      own !== undefined && this.newest.some((one) => own.isOf(one)) ? [own] : [],
    );
    this.isDynamic = this.#stateless.some(({ lists }) => lists === undefined);
    this.#lister = lister;
    this.#deployment = deployment;
  }

  /** The entries that all its callers share, if known without waiting. */
  get known(): Catalog | undefined {
    const { catalog, at = 0 } = this.#shared ?? {};
    return this.isDynamic && !isRecent(at, limits.dynamicListMs) ? undefined : catalog;
  }

  /** The entries that all its callers share. */
  async shared(): Promise<Catalog> {
    const { known } = this;
    if (known !== undefined) return known;
    const asked = await Promise.all(this.#stateless.map((one) => this.#lister.shared(one)));
    const catalog = this.#merge(asked.map(({ listed }) => listed));
    this.#shared = { catalog, at: Math.min(...asked.map(({ at }) => at)) };
    return catalog;
  }

  /** The shared entries, and those that servlets list in this caller's state. */
  async seenBy(viewer: Viewer): Promise<SeenCatalog> {
    const asked = this.stateful.map((one) => this.#lister.seenBy(one, viewer));
    const all = await Promise.all(asked);
    const failure = all.findLast(
      ({ fault }) => fault && fault.code !== "servlet_failed" && fault.code !== "not_configured",
    )?.fault;
    return { catalog: joinedCatalogs(await this.shared(), this.#merge(all)), failure };
  }

  #merge(all: readonly ServletLists[]): Catalog {
    const { access, newest: shown } = this;
    const { contributors } = this.#deployment;
    const onClash = ({ kind, name, servlets: [first, second] }: Clash) => {
      const text =
        first === second
          ? `two of its ${kind} are listed as ${name}, and the second is hidden. Rename one of them in the servlet`
          : `its ${kind} entry ${name} is hidden by that of ${first}: ${clashRemedy(kind)}`;
      if (access.isWhole) this.#deployment.log(second, "warn", text);
    };
    const failing = all.filter(({ failures }) => failures.length > 0);
    return {
      ...merge(all, onClash, { access, contributors, shown }),
      failures: new Map(failing.map(({ servlet, failures }) => [servlet.name, failures])),
    };
  }
}

/** Sets of scopes whose selection is cached in an isolate: few are in use at a time. */
const CACHED = 100;

/** The catalog, filtered for each access. */
export class Catalogs {
  /** The unrestricted selection. */
  readonly whole: Selection;
  readonly #served: Served;
  readonly #narrow = new Map<string, Selection>();

  constructor(served: Served) {
    this.whole = new Selection(new Access({}, served.deployment), served);
    this.#served = served;
  }

  /**
   * The selection for callers of this profile with these scopes. A scope that grants the profile grants all of its
   * entries.
   */
  of({ profile, scopes }: AccessKey): Selection {
    const { deployment } = this.#served;
    const isGranted =
      scopes === undefined ||
      (profile !== undefined && grantsProfile(scopes, deployment.scopes ?? {}, profile));
    if (isGranted && profile === undefined) return this.whole;
    const key = isGranted ? profile! : JSON.stringify([profile, ...scopes.toSorted()]);
    let selection = this.#narrow.get(key);
    if (selection === undefined) {
      const own = isGranted ? { profile } : { profile, scopes };
      selection = new Selection(new Access(own, deployment), this.#served);
      if (this.#narrow.size >= CACHED) this.#narrow.clear();
      this.#narrow.set(key, selection);
    }
    return selection;
  }
}
