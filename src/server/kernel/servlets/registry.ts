import type { KnownRecord } from "../core/record.ts";
import { checkWithoutNulls } from "../core/deviations.ts";
import { limits } from "../core/limits.ts";
import { Fault } from "../core/errors.ts";
import type { CallRef, CompletionRequest } from "../calls/call-ref.ts";
import type { CallContext } from "../core/call-context.ts";
import type {
  CallToolResult,
  CompleteResult,
  Json,
  Lists,
  Principal,
  ReadResourceResult,
} from "../core/model.ts";
import { nearest } from "../core/nearest.ts";
import type { Outcome } from "../core/suspension.ts";
import type { PreparedServlet, Served } from "./bundle.ts";
import {
  demandArguments,
  findCompleted,
  findResource,
  isSkipped,
  readersOf,
  unlistedResource,
} from "./catalog.ts";
import type { Catalog, FoundResource, PromptEntry, EntrySource, ToolEntry } from "./catalog.ts";
import { describeIssues } from "./checks.ts";
import { connected, outdated } from "./connect.ts";
import type { Deployment, FindTool, FoundEntry, Viewer } from "./deployment.ts";
import { Lister } from "./lister.ts";
import { errorResult } from "./own.ts";
import { tellMisfit } from "./run-log.ts";
import { keepsState } from "./manifest.ts";
import { filterOf, listingOf, profileOf, servedIn, type EntryFilter } from "./profiles.ts";
import {
  CALL_TOOL,
  grantsProfile,
  mayBy,
  mayUnscoped,
  patternsBy,
  scopeFor,
  SEARCH_TOOL,
  SERVER_SERVLET,
  type May,
} from "./scopes.ts";
import type { Servlet } from "./servlet.ts";
import { newest } from "./toolkit.ts";
import { readSkill } from "./skills.ts";
import { isForModels, viewAt } from "./views.ts";

/** Sets of scopes whose part of the catalog is cached in an isolate: few are in use at a time. */
const NARROW_REGISTRIES = 100;

/** A call reference resolved for one caller. */
export interface Entry extends FoundEntry {
  tool?: ToolEntry;
}

/** The servlet that completes an argument, and the request in its own names. */
type Completer = { servlet: PreparedServlet; request: CompletionRequest };

/** A part of a registry: a profile, by its name; and scopes within `all`, the registry that they narrow. */
interface Narrowing {
  profile?: string | undefined;
  scoped?: { all: Registry; scopes: readonly string[]; may: May; patterns: readonly string[] };
}

/** Another registry, whose lists these are, and the caller that they are for. */
type View = { viewer: Viewer | undefined; of: Registry };

/** All servlets as one: finds the one for each name, and validates arguments and results. */
export class Registry {
  readonly #bundle: Served;
  readonly #deployment: Deployment;
  readonly #servlets: Map<PreparedServlet, Servlet>;
  readonly #narrowing: Narrowing;
  readonly #filter: EntryFilter | undefined;
  readonly #narrow = new Map<string, Registry>();
  readonly #lister: Lister;
  readonly #viewer: Viewer | undefined;
  #seen: ReturnType<Lister["seenBy"]> | undefined;

  /** With a view, it is what one caller sees of another registry, or has the same lists and other runs. */
  constructor(bundle: Served, deployment: Deployment, narrowing: Narrowing = {}, view?: View) {
    this.#bundle = bundle;
    this.#deployment = deployment;
    this.#narrowing = narrowing;
    this.#filter = filterFor(narrowing, deployment);
    this.#viewer = view?.viewer;
    this.#servlets = view && view.of.#deployment === deployment ? view.of.#servlets : new Map();
    const parts = { deployment, servletOf: this.servlet.bind(this), filter: this.#filter };
    this.#lister = view ? view.of.#lister : new Lister(bundle, parts);
    this.isNarrow = narrowing.scoped !== undefined;
    this.isDynamic = this.#lister.isDynamic;
    this.isPersonal = view?.viewer !== undefined;
    this.servlets = view?.of.servlets ?? newest(bundle.servlets);
    this.current = view?.of.current;
  }

  /** Of an old build: the registry in which its calls of other servlets find these. */
  private current: Registry | undefined;
  /** True if some lists are dynamic. */
  readonly isDynamic: boolean;
  /** True if scopes narrow this registry. */
  readonly isNarrow: boolean;
  /** True if some lists are those of one caller's state. */
  readonly isPersonal: boolean;

  /** The registry for one caller: what its profile has and its scopes grant, with the lists that servlets have in its state. */
  for(viewer: Viewer): Registry {
    const of = this.within(viewer.principal);
    if (of.#lister.stateful.length === 0) return of;
    return new Registry(of.#bundle, of.#deployment, of.#narrowing, { viewer, of });
  }

  /** The registry for the same caller in this session, in which servlets may have another state. */
  inSession(session: string): Registry {
    const viewer = this.#viewer;
    if (viewer === undefined) return this;
    const view = { viewer: { ...viewer, session }, of: this };
    return new Registry(this.#bundle, this.#deployment, this.#narrowing, view);
  }

  /** A registry that shares these lists, whose runs have the deployment changed so. */
  by(change: (deployment: Deployment) => Deployment): Registry {
    const view = { viewer: this.#viewer, of: this };
    return new Registry(this.#bundle, change(this.#deployment), this.#narrowing, view);
  }

  /**
   * The registry for a caller of this profile with these scopes; the full one without either. A scope that grants the profile
   * grants all that it has.
   */
  within({ profile, scopes }: Pick<Principal, "profile" | "scopes">): Registry {
    if (profile !== undefined && profile !== this.#narrowing.profile)
      return this.#narrowed(`profile ${profile}`, () => {
        const { profiles } = this.#deployment;
        const servlets = servedIn(this.#bundle.servlets, profileOf(profiles, profile));
        return new Registry({ servlets }, this.#deployment, { profile });
      }).within({ profile, scopes });
    const { scopes: configured = {} } = this.#deployment;
    if (scopes === undefined) return this;
    if (profile !== undefined && grantsProfile(scopes, configured, profile)) return this;
    return this.#narrowed(JSON.stringify(scopes.toSorted()), () => {
      const may = mayBy(scopes, configured);
      const patterns = patternsBy(scopes, configured);
      const scoped = { all: this, scopes, may, patterns };
      return new Registry(this.#bundle, this.#deployment, { profile, scoped });
    });
  }

  #narrowed(key: string, make: () => Registry): Registry {
    let narrow = this.#narrow.get(key);
    if (narrow === undefined) {
      narrow = make();
      narrow.current = this.current;
      if (this.#narrow.size >= NARROW_REGISTRIES) this.#narrow.clear();
      this.#narrow.set(key, narrow);
    }
    return narrow;
  }

  /**
   * The registry for the call with this record: this one while it serves the build that the call began with, otherwise one with
   * that build and the server's own tools alone. Throws `invalid_params` if the build is not kept, or the servlet keeps state.
   */
  async at(recorded: KnownRecord): Promise<Registry> {
    const { hash } = recorded.head;
    if (this.#bundle.servlets.some((one) => one.hash === hash)) return this;
    const old = await this.#deployment.oldBuild?.(hash);
    if (old === undefined || keepsState(old.manifest)) throw outdated(recorded, old?.name);
    const { profile, scoped } = this.#narrowing;
    // The call may be one of `call_tool`.
    const own = this.#bundle.servlets.filter(({ name }) => name === SERVER_SERVLET);
    const all = new Registry({ servlets: [...own, old] }, this.#deployment);
    all.current = this.#narrowing.scoped?.all ?? this;
    return all.within({ ...(profile !== undefined && { profile }), ...scoped });
  }

  /** Throws `insufficient_scope`, which names a sufficient scope, for an entry that the caller may not use. */
  demand({ servlet, own }: Partial<EntrySource> = {}): void {
    if (servlet === undefined || own === undefined) return;
    if (this.#narrowing.scoped?.may(servlet.name, own) !== false) return;
    const scope = scopeFor(servlet.name, own, this.#deployment.scopes ?? {});
    throw new Fault(
      "insufficient_scope",
      `The token lacks the scope ${scope}. Request a token with it.`,
      { data: { scope } },
    );
  }

  /** The registry that the caller's scopes narrow: of its profile, or of everything. */
  get whole(): Registry {
    const { all = this } = this.#narrowing.scoped ?? {};
    if (!this.#viewer) return all;
    const { scopes: _, ...principal } = this.#viewer.principal;
    return all.for({ ...this.#viewer, principal });
  }

  /** The newest version of each toolkit, which MCP clients see. */
  readonly servlets: readonly PreparedServlet[];

  /** All entries, if they are known without waiting. */
  get known(): Catalog | undefined {
    return this.#viewer === undefined ? this.#lister.known : undefined;
  }

  /** All entries. Without a caller, those that all callers share. */
  async catalog(): Promise<Catalog> {
    if (this.#viewer === undefined) return this.#lister.shared();
    return (await (this.#seen ??= this.#lister.seenBy(this.#viewer))).catalog;
  }

  /** True if there are such entries in this part of the lists, or may be later. */
  async offers(kind: keyof Lists, part = (lists: Lists): Lists => lists): Promise<boolean> {
    const { lists } = await this.#lister.shared();
    return (
      part(lists)[kind].length > 0 ||
      this.#lister.stateful.some((one) => this.servlet(one).lists(kind))
    );
  }

  /** The entry of this reference; not a promise for a tool whose catalog is known. Throws `invalid_params`, `insufficient_scope`. */
  resolve(ref: CallRef): Entry | Promise<Entry> {
    if (ref.kind === "tool") {
      const tool = this.#lister.known?.tools.get(ref.name);
      if (tool !== undefined) {
        this.demand(tool);
        return this.#called(tool, ref);
      }
    }
    return this.#resolve(ref);
  }

  async #resolve(ref: CallRef): Promise<Entry> {
    switch (ref.kind) {
      case "tool":
        return this.#called(await this.#tool(ref.name), ref);
      case "prompt": {
        const { servlet, own, prompt } = await this.#prompt(ref.name);
        const run = async (call: CallContext) => {
          demandArguments(prompt, ref.input);
          return this.servlet(servlet).getPrompt(own, ref.input, call);
        };
        return { ref, subject: ref.name, servlet, run };
      }
      case "resource": {
        const found = await this.resource(ref.name);
        const run = (call: CallContext) => this.#readResource(found, call);
        return { ref, subject: found.subject, servlet: found.servlet, run };
      }
      case "completion": {
        const completer = await this.#completer(ref.input);
        const { servlet } = completer;
        return { ref, servlet, run: (call) => this.#complete(completer, call) };
      }
      case "roots":
        return { ref, run: (call) => this.#rootsChanged(ref.name, call) };
    }
  }

  /** The entry of a call of this tool. */
  #called(tool: ToolEntry, ref: CallRef & { kind: "tool" }): Entry | Promise<Entry> {
    const isCaller = isCallTool(tool);
    // A resumed call keeps the arguments that its profile pinned when it began, even if there were none.
    const isAtProfile = this.#narrowing.profile !== undefined;
    const { pinned: own = isAtProfile ? (tool.pinned ?? {}) : undefined } = ref;
    // The arguments of a call of `call_tool` are for the tool that it names.
    const pinned = isCaller ? undefined : own;
    const whole = pinned === undefined ? ref.input : { ...ref.input, ...pinned };
    const { value, issues: others } = checkWithoutNulls(tool.input, whole);
    const given = Object.keys(pinned ?? {}).filter((name) => Object.hasOwn(ref.input, name));
    const issues = given.length > 0 ? given.map(pinnedIssue) : others;
    if (isCaller && issues === undefined) return this.#named(tool, { ...ref, input: value });
    const entry = this.entryOf(tool, value, pinned);
    if (issues === undefined) return entry;
    const text = `Tool arguments do not match the input schema of ${ref.name}: ${describeIssues(issues)}.`;
    const run = async (call: CallContext) => {
      this.tellMisfit(tool, call, text);
      return errorResult(text);
    };
    return { ...entry, misfit: text, run };
  }

  /** The entry of the tool that a call of `call_tool` names: from here on it is a call of that tool. */
  async #named(caller: ToolEntry, { input, pinned }: CallRef & { kind: "tool" }): Promise<Entry> {
    const { name, arguments: given = {} } = input as { name: string; arguments?: Json };
    try {
      const called = await this.#tool(name);
      if (isCallTool(called))
        throw new Fault("invalid_params", `${CALL_TOOL} does not call itself. Name another tool.`);
      if (!isForModels(called.tool)) throw await this.#unknown("tool", name);
      return await this.resolve({ kind: "tool", name, input: given, ...(pinned && { pinned }) });
    } catch (error) {
      // A model can correct its call.
      const { code, message } = Fault.from(error);
      if (code !== "invalid_params") throw error;
      return { ...this.entryOf(caller, input), run: async () => errorResult(message) };
    }
  }

  /** The tool with this name. Throws `invalid_params`, `insufficient_scope`. */
  async #tool(name: string): Promise<ToolEntry> {
    const entry = await this.#find(({ tools }) => tools.get(name));
    if (entry !== undefined) return entry;
    throw await this.#unknown("tool", name);
  }

  async #unknown(kind: "tool" | "prompt", name: string): Promise<Fault> {
    const { [`${kind}s` as const]: all, isListed } = await this.catalog();
    // A model may not call each tool that there is.
    const others = [...all.keys()].filter((one) => one !== name);
    const meant = nearest(name, others);
    const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
    const place = isListed && kind === "tool" ? `Find it by ${SEARCH_TOOL}.` : `See ${kind}s/list.`;
    return new Fault("invalid_params", `Unknown ${kind}: ${name}.${hint} ${place}`);
  }

  /** Logs and counts a call whose arguments do not match the tool's schema; `error` is the message that its caller gets. */
  tellMisfit(
    { servlet }: ToolEntry,
    call: Parameters<typeof tellMisfit>[1]["call"],
    error: string,
  ): void {
    tellMisfit(servlet.name, { call, error, deployment: this.#deployment });
  }

  /** A tool of any version, with checked arguments, of which `pinned` are not its caller's. */
  entryOf(tool: ToolEntry, input: Json, pinned?: Json): Entry {
    const { name } = tool.tool;
    const { callTool } = this.servlet(tool.servlet);
    const demandFit = ({ isError, structuredContent }: CallToolResult) => {
      const unfit = isError === true ? undefined : tool.output?.(structuredContent);
      if (unfit === undefined) return;
      const message = `The servlet's structuredContent does not fit the outputSchema of ${name}: ${describeIssues(unfit)}`;
      throw new Fault("servlet_failed", message);
    };
    return {
      ref: { kind: "tool", name, ...callersPart(input, pinned) },
      subject: name,
      servlet: tool.servlet,
      tool,
      run: (call) => callTool(tool.own, input, call, demandFit),
    };
  }

  /** The servlet that this URI belongs to, whatever the caller's scopes are. Throws `insufficient_scope`. */
  async resource(uri: string): Promise<FoundResource> {
    const found = await this.#ownerOf(uri);
    this.demand(found);
    return found ?? unlistedResource(uri);
  }

  async #ownerOf(uri: string): Promise<FoundResource | undefined> {
    const all = this.isNarrow ? this.whole : this;
    return all.#find(
      (catalog) => findResource(catalog, uri),
      (shared) => (shared.resources.has(uri) ? findResource(shared, uri) : undefined),
    );
  }

  /**
   * True if the caller may hear of changes of the resource with this URI, which `teller`, a servlet, tells of. One that no
   * servlet lists could be of any that the scopes grant.
   */
  async hears(uri: string, teller?: string): Promise<boolean> {
    const { may } = this.#filter ?? {};
    if (may === undefined) return true;
    if (teller !== undefined && !may(teller, uri)) return false;
    const { servlet } = (await this.#ownerOf(uri)) ?? {};
    if (servlet !== undefined) return may(servlet.name, uri);
    return this.servlets.some(({ name }) => may(name, uri) && name !== SERVER_SERVLET);
  }

  /** Throws `insufficient_scope` where the caller may not hear of changes of this resource. */
  async demandHearing(uri: string): Promise<void> {
    await this.resource(uri);
    if (await this.hears(uri)) return;
    if (!this.isNarrow)
      throw new Fault("not_found", `Resource not found: ${uri}`, { data: { uri } });
    const scope = `*:${uri}`;
    throw new Fault(
      "insufficient_scope",
      `The token lacks a scope for the resource ${uri}. Request a token with one, such as ${scope}.`,
      { data: { scope } },
    );
  }

  /** The patterns that the caller's scopes grant; undefined if they grant everything. */
  get patterns(): readonly string[] | undefined {
    return this.#narrowing.scoped?.patterns;
  }

  /** Reads a resource by the servlet that it belongs to, or else by each that may know it, until one succeeds. */
  async #readResource(
    found: FoundResource,
    call: CallContext,
  ): Promise<Outcome<ReadResourceResult>> {
    const { servlet: owner, own: uri } = found;
    if (owner !== undefined) {
      const view = viewAt(owner, uri);
      if (view !== undefined) return this.#readView(view);
      const skill = await readSkill(owner, uri, this.#deployment.storedPart);
      if (skill !== undefined) return skill;
      return this.servlet(owner).readResource(uri, call);
    }
    for (const bundled of readersOf(await this.whole.catalog(), uri)) {
      const servlet = this.servlet(bundled);
      if (isSkipped(bundled, uri)) continue;
      if (this.#filter?.may(bundled.name, uri) === false) continue;
      try {
        return await servlet.readResource(uri, call);
      } catch (error) {
        const passing = [
          "servlet_failed",
          "not_configured",
          "servlet_error",
          "not_found",
          "unavailable",
        ];
        if (!passing.includes(Fault.from(error).code)) throw error;
      }
    }
    throw new Fault("not_found", `Resource not found: ${uri}`, { data: { uri } });
  }

  async #readView({
    resource: { uri, mimeType, _meta },
    document,
  }: NonNullable<ReturnType<typeof viewAt>>): Promise<ReadResourceResult> {
    const { storedPart } = this.#deployment;
    const html = typeof document === "string" ? await storedPart?.(document) : document;
    if (html === undefined)
      throw new Fault("not_found", `Resource not found: ${uri}`, { data: { uri } });
    // The bundle step may not have made what is installed.
    if (html.byteLength > limits.viewBytes) {
      const size = `${html.byteLength} bytes (limit ${limits.viewBytes})`;
      throw new Fault("servlet_failed", `The view ${uri} has ${size}. Report this to its author.`);
    }
    const text = new TextDecoder().decode(html);
    return { contents: [{ uri, mimeType, text, ...(_meta && { _meta }) }] };
  }

  /** The prompt with this name. Throws `invalid_params`, `insufficient_scope`. */
  async #prompt(name: string): Promise<PromptEntry> {
    const entry = await this.#find(({ prompts }) => prompts.get(name));
    if (entry !== undefined) return entry;
    throw await this.#unknown("prompt", name);
  }

  /** The servlet whose prompt or resource a completion is for. Throws `invalid_params`, `insufficient_scope`. */
  async #completer(request: CompletionRequest): Promise<Completer> {
    const { ref } = request;
    if (ref.type === "ref/prompt") {
      const { servlet, own } = await this.#prompt(ref.name);
      return { servlet, request: { ...request, ref: { ...ref, name: own } } };
    }
    const all = this.isNarrow ? this.whole : this;
    const found = await all.#find(
      (catalog) => findCompleted(catalog, ref.uri),
      () => undefined,
    );
    this.demand(found);
    if (found?.servlet !== undefined) return { servlet: found.servlet, request };
    throw new Fault(
      "invalid_params",
      `Unknown resource template: ${ref.uri}. See resources/templates/list.`,
    );
  }

  async #complete({ servlet, request }: Completer, call: CallContext): Promise<CompleteResult> {
    const { completes, complete } = this.servlet(servlet);
    return completes ? complete(request, call) : { completion: { values: [] } };
  }

  /** The servlets that handle changed roots, among those that offer their caller anything. */
  async rootsListeners(): Promise<PreparedServlet[]> {
    const { versions, prompts, resources, templates } = await this.catalog();
    const offered = [...versions, ...prompts.values(), ...resources.values(), ...templates];
    const offering = new Set(offered.map(({ servlet }) => servlet));
    return this.servlets.filter(
      (one) => this.servlet(one).rootsChanged && (this.#filter === undefined || offering.has(one)),
    );
  }

  /** Notifies one servlet that the client's roots have changed. */
  async #rootsChanged(name: string, call: CallContext): Promise<Outcome<Json>> {
    const bundled = this.#bundle.servlets.find((one) => one.name === name);
    return (await (bundled && this.servlet(bundled).rootsChanged?.(call))) ?? {};
  }

  /** Looks something up; first among what needs no state. Throws `insufficient_scope` if only the full registry has it. */
  async #find<T extends Partial<EntrySource>>(
    pick: (catalog: Catalog) => T | undefined,
    pickShared = pick,
  ): Promise<T | undefined> {
    const found = pickShared(await this.#lister.shared()) ?? pick(await this.catalog());
    if (this.isNarrow) this.demand(found ?? pick(await this.whole.catalog()));
    const { failure } = (await this.#seen) ?? {};
    if (found === undefined && failure !== undefined) throw failure;
    return found;
  }

  /** Finds a tool that a servlet of this registry calls, among all that its caller may call. */
  readonly #findTool: FindTool = (viewer) => {
    const all = this.current ?? this.#narrowing.scoped?.all ?? this;
    const seen = all.for(viewer);
    return async (ref, recorded) =>
      (recorded === undefined ? seen : (await all.at(recorded)).for(viewer)).resolve(ref);
  };

  /** The servlet of a catalog entry. */
  servlet(bundled: PreparedServlet): Servlet {
    return this.#servlets.getOrInsertComputed(bundled, () =>
      connected(bundled, this.#deployment, this.#findTool),
    );
  }
}

function filterFor(
  { profile, scoped }: Narrowing,
  { profiles }: Pick<Deployment, "profiles">,
): EntryFilter | undefined {
  if (profile === undefined) {
    const listing = listingOf(profileOf(profiles, ""));
    return scoped || listing.isListed ? { may: scoped?.may ?? mayUnscoped, ...listing } : undefined;
  }
  const filter = filterOf(profileOf(profiles, profile));
  if (scoped === undefined) return filter;
  return { ...filter, may: (...entry) => scoped.may(...entry) && filter.may(...entry) };
}

const isCallTool = ({ servlet, own }: ToolEntry): boolean =>
  servlet.name === SERVER_SERVLET && own === CALL_TOOL;

const pinnedIssue = (name: string) => ({
  path: [name],
  message: "is set by the server at this endpoint: leave it out",
});

/** The arguments of a call without those that its caller did not send, and these. */
function callersPart(input: Json, pinned: Json | undefined): { input: Json; pinned?: Json } {
  if (pinned === undefined) return { input };
  const own = Object.entries(input).filter(([name]) => !Object.hasOwn(pinned, name));
  return { input: Object.fromEntries(own), pinned };
}
