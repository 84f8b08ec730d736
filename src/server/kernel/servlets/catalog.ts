import { Fault } from "../core/errors.ts";
import { UPLOAD_FILE } from "../core/files.ts";
import { limits } from "../core/limits.ts";
import type {
  Json,
  Lists,
  Principal,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  Tool,
} from "../core/model.ts";
import { oncePer } from "../core/once-per.ts";
import { FORMATS } from "../schema/formats.ts";
import { portable } from "../schema/portable.ts";
import { Pattern } from "../schema/pattern.ts";
import { StepsExceeded, Steps } from "../schema/steps.ts";
import type { Access } from "./access.ts";
import type { PreparedServlet, StoredPart } from "./bundle.ts";
import { checkOf, type Check } from "./checks.ts";
import { pinned, type Profile } from "./profiles.ts";
import {
  GET_RESULT,
  READ_STORED_FILE,
  RESERVED_NAMES,
  WAIT_FOR_EVENT,
  type EntryKind,
} from "./scopes.ts";
import { compareTemplates, sampleOf, templateMatcher, type TemplateMatcher } from "./templates.ts";
import { newest } from "./toolkit.ts";

/** The servlet that an entry comes from. */
export interface EntrySource {
  servlet: PreparedServlet;
  /** The servlet's own name for it. */
  own: string;
}

export interface ToolEntry extends EntrySource {
  tool: Tool;
  /** The check of its arguments, and of its `structuredContent` if it has an `outputSchema`. */
  input: Check;
  output?: Check;
  /** Arguments that its profile sets in every call, which `tool` does not show. */
  pinned?: Json;
  /** True if an argument is a file. */
  takesFiles?: true;
  /** How clients find it if it is not listed, as a sentence. */
  unlisted?: string;
  /** The tool that a call with these arguments is redirected to. */
  target?(input: Json): { name: string; arguments?: Json };
}

export interface PromptEntry extends EntrySource {
  prompt: Prompt;
}

/** A servlet's resource that the server serves itself. */
export interface OwnResource {
  kind: EntryKind;
  resource: Resource;
  /** True if it can be read, but is not listed. */
  isUnlisted?: true;
  /** True for the newest event of a type: `wait_for_event` waits for the next one. */
  isEvent?: true;
  /** The name by which scopes and profiles grant it; its URI by default. */
  grantedAs?: string;
  /** Its content for this caller. Throws `not_found` if it is missing. */
  read(stored: StoredPart | undefined, caller: Principal): Promise<ReadResourceResult>;
}

export interface ResourceEntry extends Partial<Omit<OwnResource, "resource">> {
  servlet: PreparedServlet;
  resource: Resource;
}

interface TemplateEntry {
  servlet: PreparedServlet;
  template: ResourceTemplate;
  matches: TemplateMatcher;
}

/** All entries of the newest version of each toolkit, under the names that clients see, in a stable order. */
export interface Catalog {
  lists: Lists;
  /** The tools of all versions, including tools with the same name. */
  versions: readonly ToolEntry[];
  tools: ReadonlyMap<string, ToolEntry>;
  /** Tools by their aliases, which are not listed. A tool of such a name comes before. */
  aliases: ReadonlyMap<string, ToolEntry>;
  prompts: ReadonlyMap<string, PromptEntry>;
  /** By URI. */
  resources: ReadonlyMap<string, ResourceEntry>;
  templates: readonly TemplateEntry[];
  /** The servlets that can be asked for resources. */
  readers: readonly PreparedServlet[];
  /** Why lists of servlets are missing, as text that follows the servlet's name. */
  failures?: ReadonlyMap<string, readonly string[]>;
}

/** What a feature adds to the catalog, and changes in its view for clients. */
export interface Contributor {
  /** Resources of a servlet that the server serves itself, in addition to the servlet's own list. */
  resources?(servlet: PreparedServlet): readonly OwnResource[];
  /** Reads a resource that belongs to one caller and is in no list; undefined if the URI is not one of these. */
  callersResource?(uri: string): OwnResource["read"] | undefined;
  callersTools?: CallersTools;
  /** A tool as an endpoint offers it; undefined if the endpoint does not have it. */
  tool?(entry: ToolEntry, at: ToolPlace): ToolEntry | undefined;
  /** The lists for a client with these capabilities. */
  listsFor?(lists: Lists, client: Json): Lists;
  /** Extensions of MCP that the server has for a client with these capabilities, with their settings. */
  extensions?(catalog: Catalog, client: Json, isModern: boolean): Json;
  /** Members to add to the server's capabilities for a client with these capabilities. */
  capabilities?(catalog: Catalog, client: Json): Json;
  /** Lines to add to the instructions for a client with these capabilities. */
  instructions?(catalog: Catalog, client: Json): readonly string[];
}

/** Tools that servlets have for one caller only, besides those that they list. A call of one is redirected to a listed tool. */
export interface CallersTools {
  /** True for a servlet that may have some. */
  isOf(servlet: PreparedServlet): boolean;
  /** The tool that a caller with this catalog calls by this name; undefined if the name is not one of these. */
  named(name: string, catalog: Catalog): ToolEntry | undefined;
  /** This caller's listed tools; not a promise if they are known. */
  list(
    catalog: Catalog,
    caller: { principal: Principal; session?: string | undefined },
  ): readonly ToolEntry[] | Promise<readonly ToolEntry[]>;
}

/** Where a tool is offered. */
export interface ToolPlace {
  /** The profile of the endpoint. */
  profile: Profile | undefined;
  /** True for a URI that the tool may name as its servlet's own: it belongs to no other servlet, and is not skipped. */
  mayName(uri: unknown): boolean;
}

/** Two servlets list the same name; the entry of the later one is left out. */
export interface Clash {
  kind: keyof Lists;
  name: string;
  servlets: [string, string];
}

/**
 * Advice on how to resolve a clash of two servlets. A prefix resolves clashes of names only: it does not change URIs.
 */
export function clashRemedy(kind: Clash["kind"], servlet = "one of them"): string {
  if (kind === "tools" || kind === "prompts")
    return `give ${servlet} a "prefix" in servlet.json, or skip it there`;
  const [what, skip] =
    kind === "resources" ? ["URI", "skip_resources"] : ["template", "skip_resource_templates"];
  return `change the ${what} in ${servlet}, or skip it by "${skip}" in servlet.json`;
}

/** Unrestricted access for bundling and installing. */
const EVERYTHING = { profile: undefined, may: () => true, pinsFor: () => ({}) };

/** The tool with this name or alias. */
export const toolNamedIn = ({ tools, aliases }: Catalog, name: string): ToolEntry | undefined =>
  tools.get(name) ?? aliases.get(name);

/** How the lists of servlets are merged. */
interface Merging {
  access?: Pick<Access, "profile" | "may" | "pinsFor">;
  contributors?: readonly Contributor[] | undefined;
  /** The servlets whose entries are not only in `versions`; by default those with the newest versions. */
  shown?: readonly PreparedServlet[];
}

/** Merges the lists of servlets: renames and skips entries as manifests say, and skips those that the access denies. */
export function merge(
  servlets: readonly { servlet: PreparedServlet; lists: Lists }[],
  onClash: (clash: Clash) => void,
  {
    access = EVERYTHING,
    contributors = [],
    shown = newest(servlets.map(({ servlet }) => servlet)),
  }: Merging = {},
): Catalog {
  const { may, profile } = access;
  const fixedOf = (servlet: PreparedServlet) =>
    contributors.flatMap((one) => one.resources?.(servlet) ?? []);
  const tools = new Map<string, ToolEntry>();
  const aliases = new Map<string, ToolEntry>();
  const prompts = new Map<string, PromptEntry>();
  const resources = new Map<string, ResourceEntry>();
  const templates = new Map<string, TemplateEntry>();
  const versions: ToolEntry[] = [];
  const seen = new Set(shown);
  const owners = new Map(
    shown.flatMap((servlet) => fixedOf(servlet).map(({ resource }) => [resource.uri, servlet])),
  );

  for (const { servlet, lists } of servlets) {
    const { manifest } = servlet;
    const add = <T extends { servlet: PreparedServlet }>(
      kind: keyof Lists,
      into: Map<string, T>,
      name: string,
      entry: T,
    ): void => {
      const first = into.get(name);
      if (first !== undefined && !isBefore(servlet, first.servlet)) {
        return onClash({ kind, name, servlets: [first.servlet.name, servlet.name] });
      }
      into.set(name, entry);
      if (first !== undefined)
        onClash({ kind, name, servlets: [servlet.name, first.servlet.name] });
    };

    const skipsResource = wholeMatch(manifest.skip_resources);
    const mayName = (uri: unknown) =>
      typeof uri === "string" && !skipsResource(uri) && (owners.get(uri) ?? servlet) === servlet;
    const skipsTool = wholeMatch(manifest.skip_tools);
    for (const tool of lists.tools) {
      if (skipsTool(tool.name) || !may(servlet.name, tool.name, "tools")) continue;
      const pins = access.pinsFor(servlet.name, tool);
      const isPinned = Object.keys(pins).length > 0;
      const open = isPinned ? pinned(tool, pins) : tool;
      // The bundle step rejects it in static lists; dynamic lists are not known there.
      if (typeof open === "string") continue;
      const name = listedName(tool.name, manifest.prefix);
      const { description, task: mode } = manifest.tools?.[tool.name] ?? {};
      const execution = mode && { ...tool.execution, taskSupport: TASK_SUPPORT[mode] };
      const facts = { ...(description && { description }), ...(execution && { execution }) };
      const listed = { ...withPortable(open), name, ...facts };
      const checks = checksOf(servlet, tool);
      const own = { servlet, own: tool.name, tool: listed, ...checks };
      const entry = contributors.reduce<ToolEntry | undefined>(
        (all, one) => all && (one.tool ? one.tool(all, { profile, mayName }) : all),
        isPinned ? { ...own, pinned: pins } : own,
      );
      if (entry === undefined) continue;
      versions.push(entry);
      if (!seen.has(servlet)) continue;
      add("tools", tools, name, entry);
      if (tools.get(name) !== entry) continue;
      for (const old of manifest.tools?.[tool.name]?.aliases ?? [])
        add("tools", aliases, listedName(old, manifest.prefix), entry);
    }
    if (!seen.has(servlet)) continue;
    const skipsPrompt = wholeMatch(manifest.skip_prompts);
    for (const prompt of lists.prompts) {
      if (skipsPrompt(prompt.name) || !may(servlet.name, prompt.name, "prompts")) continue;
      const name =
        manifest.prefix === undefined ? prompt.name : `${manifest.prefix}-${prompt.name}`;
      add("prompts", prompts, name, { servlet, own: prompt.name, prompt: { ...prompt, name } });
    }
    const mayList = ({ uri }: Resource, kind: EntryKind, grantedAs = uri) =>
      !skipsResource(uri) && may(servlet.name, grantedAs, kind);
    for (const resource of lists.resources) {
      if (!mayList(resource, "resources")) continue;
      const { uri } = resource;
      const owner = owners.get(uri);
      if (owner === undefined) add("resources", resources, uri, { servlet, resource });
      else onClash({ kind: "resources", name: uri, servlets: [owner.name, servlet.name] });
    }
    for (const fixed of fixedOf(servlet)) {
      if (mayList(fixed.resource, fixed.kind, fixed.grantedAs))
        add("resources", resources, fixed.resource.uri, { servlet, ...fixed });
    }
    const skipsTemplate = wholeMatch(manifest.skip_resource_templates);
    for (const template of lists.resourceTemplates) {
      if (skipsTemplate(template.uriTemplate)) continue;
      if (!may(servlet.name, template.uriTemplate, "resources")) continue;
      const matches = templateMatcher(template.uriTemplate);
      add("resourceTemplates", templates, template.uriTemplate, { servlet, template, matches });
    }
  }
  const all = { tools, aliases, prompts, resources, templates: [...templates.values()] };
  const readers = shown.filter(({ exports }) => exports.includes("read_resource"));
  return { lists: listsOf(all), versions, ...all, readers };
}

/**
 * True if a later servlet takes a name from an earlier one. Two entries of static lists with the same name are refused;
 * a list that is read at run time never takes a name from a static list.
 */
const isBefore = (later: PreparedServlet, earlier: PreparedServlet): boolean =>
  earlier.lists === undefined && (later.lists !== undefined || comparePlaces(later, earlier) < 0);

/** Bundled servlets come before installed ones; within each group they are ordered by name. */
const comparePlaces = (one: PreparedServlet, other: PreparedServlet): number =>
  Number(one.module === undefined) - Number(other.module === undefined) ||
  (one.name < other.name ? -1 : 1);

/** Two catalogs merged. Entries of the first hide those of the second. */
export function joinedCatalogs(first: Catalog, second: Catalog): Catalog {
  const both = <T>(one: ReadonlyMap<string, T>, other: ReadonlyMap<string, T>) => {
    const all = new Map(one);
    for (const [name, entry] of other) if (!all.has(name)) all.set(name, entry);
    return all;
  };
  const known = new Set(first.templates.map(({ template }) => template.uriTemplate));
  const tools = both(first.tools, second.tools);
  const aliases = both(first.aliases, second.aliases);
  const prompts = both(first.prompts, second.prompts);
  const resources = both(first.resources, second.resources);
  const others = second.templates.filter(({ template }) => !known.has(template.uriTemplate));
  const templates = [...first.templates, ...others];
  const all = { tools, aliases, prompts, resources, templates };
  return {
    lists: listsOf(all),
    versions: [...first.versions, ...second.versions],
    ...all,
    readers: first.readers,
    failures: new Map([...(first.failures ?? []), ...(second.failures ?? [])]),
  };
}

/** A catalog with further tools after those of servlets. Tools of the catalog hide those with the same name. */
export function withTools(catalog: Catalog, added: readonly ToolEntry[]): Catalog {
  if (added.length === 0) return catalog;
  const tools = new Map(catalog.tools);
  for (const entry of added)
    if (toolNamedIn(catalog, entry.tool.name) === undefined) tools.set(entry.tool.name, entry);
  const all = { ...catalog, tools };
  return { ...all, lists: { ...catalog.lists, tools: listedTools(all, true) } };
}

type Listed = Pick<Catalog, "tools" | "prompts" | "resources" | "templates">;

/** The lists of a catalog for a client that does not accept streams. */
export const listsWithoutStream = oncePer((all: Catalog): Lists => ({
  ...all.lists,
  tools: listedTools(all, false),
}));

const listedTools = ({ tools, resources }: Listed, takesStream: boolean): Tool[] =>
  shownOf(tools.values(), { resources }, takesStream)
    .filter(({ unlisted }) => unlisted === undefined)
    .map(({ tool }) => tool);

/** The listed resources. */
export const listedResources = ({ resources }: Pick<Catalog, "resources">): ResourceEntry[] =>
  [...resources.values()].filter((one) => one.isUnlisted !== true);

const listsOf = (all: Listed): Lists => ({
  tools: listedTools(all, true),
  resources: listedResources(all).map(({ resource }) => resource),
  resourceTemplates: all.templates.map(({ template }) => template),
  prompts: [...all.prompts.values()].map(({ prompt }) => prompt),
});

/**
 * The listed ones among these tools. The server's own come last: models and people look for those of the servlets.
 * `get_result` is included only if the client may receive the id of a call: if calls may wait for a person or, for a
 * client that does not accept streams, if calls may take long; `wait_for_event` only if there are events, and the tools
 * for files only if tools take or make files.
 */
export function shownOf(
  tools: Iterable<ToolEntry>,
  catalog: Pick<Catalog, "resources">,
  takesStream = true,
): ToolEntry[] {
  const all = [...tools];
  const [own, others] = [all.filter(isServers), all.filter((one) => !isServers(one))];
  const givesIds = all.some(takesStream ? mayNeedPerson : mayWait);
  const isUnused: Record<string, boolean> = {
    [GET_RESULT]: !givesIds,
    [WAIT_FOR_EVENT]: !hasEvents(catalog),
    [UPLOAD_FILE]: !all.some(({ takesFiles }) => takesFiles === true),
    [READ_STORED_FILE]: !all.some(({ servlet }) => servlet.manifest.files !== undefined),
  };
  return [...others, ...own.filter((one) => isUnused[one.own] !== true)];
}

/** True if a catalog has types of events. */
export const hasEvents = ({ resources }: Pick<Catalog, "resources">): boolean =>
  resources.values().some((one) => one.isEvent === true);

const mayWait = ({ servlet }: ToolEntry): boolean => servlet.neverWaits !== true;

/** True unless calls of a tool are known never to wait for a person's answer, account or consent to other calls. */
function mayNeedPerson(entry: ToolEntry): boolean {
  const { manifest, mayAsk } = entry.servlet;
  const { accounts, may_call: others, tools } = manifest;
  if (!mayWait(entry)) return false;
  if (accounts !== undefined || others !== undefined) return true;
  return tools?.[entry.own]?.asks ?? mayAsk !== false;
}

/**
 * True if a tool may ask the user, according to its manifest or, without an entry there, to the code of its servlet.
 */
export const asksUser = ({ servlet, own }: ToolEntry): boolean =>
  servlet.manifest.tools?.[own]?.asks ?? servlet.mayAsk === true;

const isServers = ({ servlet }: ToolEntry): boolean => RESERVED_NAMES.has(servlet.name);

/** `execution.taskSupport` by the manifest's `task`. */
const TASK_SUPPORT = {
  never: "forbidden",
  auto: "optional",
  always: "optional",
  required: "required",
} as const;

/** True if the manifest hides a resource of the servlet. */
export function isSkipped({ manifest }: PreparedServlet, uri: string): boolean {
  return wholeMatch(manifest.skip_resources)(uri);
}

const compiled = oncePer((patterns: readonly string[]) =>
  patterns.map((source) => new Pattern(`^(?:${source})$`, "")),
);

/** Returns a function that tests whether one of these patterns of a manifest matches a whole text. */
export function wholeMatch(patterns: readonly string[] = []): (text: string) => boolean {
  const all = compiled(patterns);
  return (text) => all.some((pattern) => pattern.test(text));
}

/**
 * The name that clients see: with the servlet's prefix, and only allowed characters.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names
 */
export function listedName(own: string, prefix: string | undefined): string {
  const name = prefix === undefined ? own : `${prefix}-${own}`;
  return name.replace(/[^A-Za-z0-9_.-]+/g, "_").slice(0, 128) || "_";
}

/** The tool with its schemas in the form that is listed. */
export function withPortable(tool: Tool): Tool {
  const { inputSchema, outputSchema } = tool;
  return {
    ...tool,
    inputSchema: portable(inputSchema) as Tool["inputSchema"],
    ...(outputSchema && { outputSchema: portable(outputSchema) }),
  };
}

/** The bundle step has checked the schemas of static lists; those of dynamic lists are checked leniently. */
function checksOf({ lists }: PreparedServlet, { name, inputSchema, outputSchema }: Tool) {
  const use = lists === undefined ? { isLenient: true, formats: FORMATS } : {};
  return {
    input: checkOf(inputSchema, { ...use, isInput: true, name: `inputSchema of ${name}` }),
    ...(outputSchema && {
      output: checkOf(outputSchema, { ...use, name: `outputSchema of ${name}` }),
    }),
  };
}

/** Templates in an order that does not depend on folders: the most specific first. */
const bySpecificity = oncePer((templates: readonly TemplateEntry[]) =>
  templates.toSorted(
    (one, other) =>
      compareTemplates(one.template.uriTemplate, other.template.uriTemplate) ||
      comparePlaces(one.servlet, other.servlet),
  ),
);

/** The step budget of each servlet's templates. */
function stepsFor(templates: readonly TemplateEntry[]): Map<PreparedServlet, Steps> {
  const servlets = new Set(templates.map(({ servlet }) => servlet));
  const share = Math.floor(limits.checkSteps / servlets.size);
  return new Map([...servlets].map((servlet) => [servlet, new Steps(share)]));
}

/**
 * The most specific template that matches a URI. Each servlet has its share of the steps, and templates of a servlet
 * that exceeds it do not match. Throws `invalid_params` if then no template matches, and no servlet may be asked for
 * the URI otherwise.
 */
function templateFor(uri: string, catalog: Catalog): TemplateEntry | undefined {
  const { templates } = catalog;
  const steps = stepsFor(templates);
  let exceeded: StepsExceeded | undefined;
  const found = bySpecificity(templates).find(({ matches, servlet }) => {
    const left = steps.get(servlet);
    try {
      return left !== undefined && matches(uri, left) && !isSkipped(servlet, uri);
    } catch (error) {
      if (!(error instanceof StepsExceeded)) throw error;
      exceeded = error;
      return steps.delete(servlet) && false;
    }
  });
  if (found !== undefined || exceeded === undefined || readersOf(catalog, uri).size > 0)
    return found;
  const text = `The URI of ${uri.length} characters ${exceeded.message} against the resource templates. Use a shorter one.`;
  throw new Fault("invalid_params", text);
}

/** A resource to read. */
export interface FoundResource extends Partial<EntrySource>, Partial<Pick<OwnResource, "read">> {
  own: string;
  /** The part of the URI that the caller did not choose, for the log. */
  subject: string;
}

/**
 * The servlet that a URI belongs to: the one that lists it, else the one with the most specific matching template. All
 * questions about a URI use this.
 */
export function findResource(catalog: Catalog, uri: string): FoundResource | undefined {
  const listed = catalog.resources.get(uri);
  if (listed !== undefined) {
    const { servlet, read, grantedAs = uri } = listed;
    return { servlet, own: grantedAs, subject: uri, ...(read && { read }) };
  }
  const found = templateFor(uri, catalog);
  return found && { servlet: found.servlet, own: uri, subject: found.template.uriTemplate };
}

/** The servlet of a completion's URI, which may be a template itself. */
export function findCompleted(catalog: Catalog, uri: string): FoundResource | undefined {
  const listed = catalog.templates.find(({ template }) => template.uriTemplate === uri);
  return listed ? { servlet: listed.servlet, own: uri, subject: uri } : findResource(catalog, uri);
}

/** Schemes whose URIs belong to their host: neither a servlet's name nor URIs of other hosts claim them. */
const WITH_HOSTS: ReadonlySet<string> = new Set(["http", "https", "ws", "wss", "ftp"]);

/** The schemes and hosts that servlets list, by scheme. */
const placesOf = oncePer(({ resources, templates, readers }: Catalog) =>
  Map.groupBy(
    [
      ...[...resources].map(([uri, { servlet }]) => ({ servlet, ...placeOf(uri) })),
      ...templates.map(({ servlet, template }) => ({ servlet, ...placeOf(template.uriTemplate) })),
    ].filter(({ servlet }) => readers.includes(servlet)),
    ({ scheme }) => scheme,
  ),
);

/**
 * The servlets that may be asked for a URI without a matching entry: the one named like its scheme, else those that
 * list other URIs of its scheme and host, else of its scheme.
 */
export function readersOf(catalog: Catalog, uri: string): ReadonlySet<PreparedServlet> {
  const { scheme, host } = placeOf(uri);
  if (scheme === undefined) return new Set();
  const places = placesOf(catalog).get(scheme) ?? [];
  const near = places.filter((one) => (one.isOpen ? host.startsWith(one.host) : one.host === host));
  const of = (all: typeof places) => all.map(({ servlet }) => servlet);
  const claims = WITH_HOSTS.has(scheme)
    ? [of(near)]
    : [namesakesOf(catalog, scheme), of(near), of(places)];
  return new Set(claims.find((servlets) => servlets.length > 0)?.toSorted(comparePlaces));
}

const namesakesOf = ({ readers }: Catalog, scheme: string) =>
  readers.filter(({ name }) => name.toLowerCase() === scheme);

/** The literal scheme and host of a URI or template, in lower case; open if an expression continues the host. */
function placeOf(text: string) {
  const [literal = ""] = text.split("{", 1);
  const [all = "", scheme, host = ""] =
    /^([a-z][a-z\d+.-]*):(\/\/[^/?#]*)?/.exec(literal.toLowerCase()) ?? [];
  return { scheme, host, isOpen: literal.length < text.length && all.length === literal.length };
}

/** URIs claimed by several servlets, described for people. */
interface Overlap {
  /** The servlets' names. */
  servlets: readonly string[];
  text: string;
}

/**
 * Templates of one servlet that match resources or templates of another, and schemes of several servlets; with `about`,
 * only those that concern the servlet of this name. If a servlet's templates take too many steps, an entry says so.
 */
export function overlapsIn(catalog: Catalog, about?: string): Overlap[] {
  const { resources, templates } = catalog;
  const steps = stepsFor(templates);
  const others = [
    ...templates.map(({ servlet, template: { uriTemplate: uri } }) => ({
      servlet,
      uri,
      sample: sampleOf(uri),
    })),
    ...[...resources].map(([uri, { servlet }]) => ({ servlet, uri, sample: uri })),
  ];
  const found = sharedSchemes(catalog).filter(
    ({ servlets }) => about === undefined || servlets.includes(about),
  );
  for (const { servlet, template, matches } of templates) {
    const left = steps.get(servlet);
    if (left === undefined) continue;
    try {
      for (const other of others) {
        const names = [servlet.name, other.servlet.name];
        if (about !== undefined && !names.includes(about)) continue;
        if (other.servlet === servlet || !matches(other.sample, left)) continue;
        found.push({
          servlets: names,
          text: `the resource template ${template.uriTemplate} of ${servlet.name} also fits ${other.uri} of ${other.servlet.name}: a URI of both belongs to the more specific, so give ${servlet.name} a longer one, or skip one of them`,
        });
      }
    } catch (error) {
      if (!(error instanceof StepsExceeded)) throw error;
      steps.delete(servlet);
      found.push({
        servlets: [servlet.name],
        text: `the resource templates of ${servlet.name} are too many or too long to look for all that fit what other servlets have: give it fewer or shorter ones`,
      });
    }
  }
  return found;
}

/** URI schemes (or scheme and host) claimed by more than one servlet. */
function sharedSchemes(catalog: Catalog): Overlap[] {
  const claims = Map.groupBy([...placesOf(catalog).values()].flat(), ({ scheme = "", host }) =>
    WITH_HOSTS.has(scheme) ? `${scheme}:${host}` : `${scheme}:`,
  );
  claims.delete(":");
  return [...claims].flatMap(([claim, places]) => {
    const [{ name: owner } = {}] = namesakesOf(catalog, claim.slice(0, -1));
    const listing = new Set(places.map(({ servlet }) => servlet.name));
    const others = [...listing].filter((name) => name !== owner);
    if (others.length + Number(owner !== undefined) < 2) return [];
    const names = others.join(", ");
    const text =
      owner === undefined
        ? `${names} all list resources of ${claim}, and each is asked for those that nobody lists: give them different schemes or hosts`
        : `${names} also lists resources of ${claim}, and those that nobody lists are asked of the servlet ${owner} alone: use another scheme`;
    return [{ servlets: owner === undefined ? others : [...others, owner], text }];
  });
}

/** A URI that matches no list entry: only its scheme goes to the log. */
export const unlistedResource = (uri: string): FoundResource => ({
  own: uri,
  subject: `${/^[a-z][\w+.-]{0,30}(?=:)/i.exec(uri)?.[0] ?? ""}:`,
});

/** Throws `invalid_params` if a required argument of a prompt is missing. */
export function demandArguments(prompt: Prompt, given: Record<string, string>): void {
  const missing = (prompt.arguments ?? []).filter(
    ({ name, required }) => required === true && given[name] === undefined,
  );
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(", ");
  throw new Fault("invalid_params", `Missing arguments of the prompt ${prompt.name}: ${names}.`);
}
