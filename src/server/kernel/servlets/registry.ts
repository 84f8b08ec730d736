import type { KnownRecord } from "../core/record.ts";
import type { CallRef } from "../calls/call-ref.ts";
import type { Json, Lists } from "../core/model.ts";
import type { Access, AccessKey } from "./access.ts";
import type { PreparedServlet, Served } from "./bundle.ts";
import {
  withTools,
  type Catalog,
  type Contributor,
  type EntrySource,
  type FoundResource,
  type ToolEntry,
} from "./catalog.ts";
import { connected, outdated } from "./connect.ts";
import type { Deployment, FindTool, Viewer } from "./deployment.ts";
import { Lister } from "./lister.ts";
import { keepsState } from "./manifest.ts";
import { resolve, resourceAt, toolEntry, type Entry, type Offered } from "./resolver.ts";
import { tellMisfit } from "./run-log.ts";
import { SERVER_SERVLET } from "./scopes.ts";
import { Catalogs, type SeenCatalog, type Selection } from "./selection.ts";
import type { Servlet } from "./servlet.ts";

export type { Entry } from "./resolver.ts";

/** The parts of a registry. */
interface Parts {
  catalogs: Catalogs;
  /** The part of the catalog that its callers can access. */
  selection: Selection;
  /** Its only caller, whose state some servlets' lists depend on. */
  viewer: Viewer | undefined;
  /** For an old build: the current registry, in which its calls find other tools. */
  current: Registry | undefined;
  /** Returns the servlet of a catalog entry, connected. */
  servlet(prepared: PreparedServlet): Servlet;
}

/** All servlets as one, for all callers or for some: their lists, and the entry of each reference. */
export class Registry implements Offered {
  readonly deployment: Deployment;
  readonly #served: Served;
  readonly #parts: Parts;
  #seen: Promise<SeenCatalog> | undefined;

  /** The registry of everything served; with `parts` of another registry, it shares them. */
  constructor(served: Served, deployment: Deployment, parts: Partial<Parts> = {}) {
    const {
      current,
      servlet = connectedBy(deployment, findIn(current ?? this)),
      catalogs = new Catalogs({ ...served, deployment, lister: new Lister(deployment, servlet) }),
      selection = catalogs.whole,
      viewer,
    } = parts;
    this.deployment = deployment;
    this.#served = served;
    this.#parts = { current, servlet, catalogs, selection, viewer };
  }

  #with(parts: Partial<Parts>): Registry {
    return new Registry(this.#served, this.deployment, { ...this.#parts, ...parts });
  }

  /** The registry for one caller: restricted by its profile and scopes, with servlets' lists in its state. */
  for(viewer: Viewer): Registry {
    const all = this.within(viewer.principal);
    const { stateful, callersTools } = all.#parts.selection;
    const isShared = stateful.length === 0 && callersTools.length === 0;
    return isShared ? all : all.#with({ viewer });
  }

  /** The registry for callers of this profile with these scopes; without either, the whole registry. */
  within(key: AccessKey): Registry {
    const { catalogs, selection: own, viewer } = this.#parts;
    const selection = catalogs.of(key);
    return selection === own && viewer === undefined
      ? this
      : this.#with({ selection, viewer: undefined });
  }

  /** The registry for the same caller in this session, in which servlets may have other state. */
  inSession(session: string): Registry {
    const { viewer } = this.#parts;
    return viewer === undefined ? this : this.#with({ viewer: { ...viewer, session } });
  }

  /** A registry with the same lists, whose runs use the changed deployment. */
  by(change: (deployment: Deployment) => Deployment): Registry {
    const { servlet: _, ...parts } = this.#parts;
    return new Registry(this.#served, change(this.deployment), parts);
  }

  /**
   * The registry for the call with this record: this one while it serves the build that the call began with; otherwise
   * one with only that build and the server's own tools, whose calls find other tools in the current registry. Throws
   * `invalid_params` if the build is not stored, or the servlet keeps state.
   */
  async at(recorded: KnownRecord): Promise<Registry> {
    const { selection, current = this } = this.#parts;
    const { hash } = recorded.head;
    if (selection.members.some((one) => one.hash === hash)) return this;
    const old = await this.deployment.oldBuild?.(hash);
    if (old === undefined || keepsState(old.manifest)) throw outdated(recorded, old?.name);
    // The call may be one of `call_tool`.
    const own = selection.members.filter(({ name }) => name === SERVER_SERVLET);
    const all = new Registry({ servlets: [...own, old] }, this.deployment, { current });
    return all.within(selection.access.key);
  }

  /** The registry without its callers' scopes. */
  get whole(): Registry {
    const { viewer } = this.#parts;
    const { profile } = this.access.key;
    if (viewer === undefined) return this.within({ profile });
    const { scopes: _, ...principal } = viewer.principal;
    return this.for({ ...viewer, principal });
  }

  /** The access of its callers. */
  get access(): Access {
    return this.#parts.selection.access;
  }

  /** True if some lists are dynamic. */
  get isDynamic(): boolean {
    return this.#parts.selection.isDynamic;
  }

  /** True if some lists depend on one caller's state. */
  get isPersonal(): boolean {
    const { viewer, selection } = this.#parts;
    return viewer !== undefined && selection.stateful.length > 0;
  }

  /** True if callers may have tools of their own, which `listed` alone includes. */
  get hasCallersTools(): boolean {
    return this.#parts.selection.callersTools.length > 0;
  }

  /** The newest version of each toolkit, which MCP clients see. */
  get servlets(): readonly PreparedServlet[] {
    return this.#parts.selection.newest;
  }

  /** The entries of stateless servlets, if known without waiting. */
  get shared(): Catalog | undefined {
    return this.#parts.selection.known;
  }

  /** All entries, if known without waiting. */
  get known(): Catalog | undefined {
    return this.isPersonal ? undefined : this.shared;
  }

  /** All entries; without a caller, the shared ones. */
  async catalog(): Promise<Catalog> {
    const { selection, viewer } = this.#parts;
    if (viewer === undefined || !this.isPersonal) return selection.shared();
    return (await (this.#seen ??= selection.seenBy(viewer))).catalog;
  }

  /** All entries, and the tools that belong to this caller alone; not a promise if they are known. */
  listed(): Catalog | Promise<Catalog> {
    const { known } = this;
    return known ? this.#withOwn(known) : this.catalog().then((all) => this.#withOwn(all));
  }

  #withOwn(catalog: Catalog): Catalog | Promise<Catalog> {
    const { selection, viewer } = this.#parts;
    if (viewer === undefined) return catalog;
    const own = selection.callersTools.map((one) => one.list(catalog, viewer));
    const known = own.filter((one): one is readonly ToolEntry[] => Array.isArray(one));
    return known.length === own.length
      ? withTools(catalog, known.flat())
      : Promise.all(own.map(async (one) => one)).then((all) => withTools(catalog, all.flat()));
  }

  /** The tool with this name, if it belongs to one caller and not to a list. */
  callersTool(name: string, catalog: Catalog): ToolEntry | undefined {
    for (const one of this.#parts.selection.callersTools) {
      const found = one.named(name, catalog);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** What features add to the catalog. */
  get contributors(): readonly Contributor[] {
    return this.deployment.contributors ?? [];
  }

  /** These lists for a client with these capabilities. */
  shown(lists: Lists, client: Json): Lists {
    return this.contributors.reduce((all, one) => one.listsFor?.(all, client) ?? all, lists);
  }

  /** True if there are such entries for a client with these capabilities, or may be later. */
  async offers(kind: keyof Lists, client: Json): Promise<boolean> {
    const { selection, servlet } = this.#parts;
    const { lists } = await selection.shared();
    return (
      this.shown(lists, client)[kind].length > 0 ||
      selection.stateful.some((one) => servlet(one).lists(kind))
    );
  }

  async find<T extends Partial<EntrySource>>(
    pick: (catalog: Catalog) => T | undefined,
    pickShared = pick,
  ): Promise<T | undefined> {
    const found = pickShared(await this.#parts.selection.shared()) ?? pick(await this.catalog());
    if (this.access.isNarrow) this.access.demand(found ?? pick(await this.whole.catalog()));
    const { failure } = (await this.#seen) ?? {};
    if (found === undefined && failure !== undefined) throw failure;
    return found;
  }

  /**
   * The entry of this reference; not a promise for a tool whose catalog is known. Throws `invalid_params`,
   * `insufficient_scope`.
   */
  resolve(ref: CallRef): Entry | Promise<Entry> {
    return resolve(ref, this);
  }

  /** A tool of any version, with checked arguments. */
  entryOf(tool: ToolEntry, input: Json): Entry {
    return toolEntry(tool, input, this);
  }

  /** The servlet that this URI belongs to, regardless of the caller's scopes. Throws `insufficient_scope`. */
  resource(uri: string): Promise<FoundResource> {
    return resourceAt(uri, this);
  }

  /**
   * Logs and counts a call whose arguments do not match the tool's schema; `error` is the message that its caller gets.
   */
  tellMisfit(
    { servlet }: ToolEntry,
    call: Parameters<typeof tellMisfit>[1]["call"],
    error: string,
  ): void {
    tellMisfit(servlet.name, { call, error, deployment: this.deployment });
  }

  servlet(prepared: PreparedServlet): Servlet {
    return this.#parts.servlet(prepared);
  }
}

/** Finds tools in this registry, or in the build that a call began with. */
const findIn =
  (registry: Registry): FindTool =>
  (viewer) => {
    const seen = registry.for(viewer);
    return async (ref, recorded) =>
      (recorded === undefined ? seen : (await registry.at(recorded)).for(viewer)).resolve(ref);
  };

/** Connects each servlet once. */
function connectedBy(deployment: Deployment, find: FindTool): Parts["servlet"] {
  const servlets = new Map<PreparedServlet, Servlet>();
  return (prepared) =>
    servlets.getOrInsertComputed(prepared, () => connected(prepared, deployment, find));
}
