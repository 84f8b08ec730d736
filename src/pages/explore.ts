/** The part "Explore" of the home page: the servlets and entries that a visitor may use. */
import { html } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import { shown, type Markup } from "../http/document.ts";
import { type Tool, isObject, type Json } from "../core/model.ts";
import { beginningOf, printable, printableText } from "../core/text.ts";
import type { PreparedServlet } from "../servlets/bundle.ts";
import { isListed, shownOf, type Catalog, type ToolEntry } from "../servlets/catalog.ts";
import { concernsOf, tokensOf } from "../servlets/concerns.ts";
import type { Manifest } from "../servlets/manifest.ts";
import { RESERVED_NAMES } from "../servlets/scopes.ts";
import { isForModels } from "../servlets/views.ts";
import { tableOf } from "./components.ts";

/**
 * Characters of markup of all that the home page shows of servlets, shared among them: the page is held a few times
 * while it is made, and phones must show it. And of one table of a schema.
 */
const EXPLORE_CHARACTERS = 4 * 1024 * 1024;
const TABLE_CHARACTERS = 100_000;

export interface Offers {
  servlets: readonly PreparedServlet[];
  catalog: Catalog;
  /** The scope that a caller needs for this entry of a servlet; undefined where no scopes are configured. */
  scopeOf(servlet: string, own: string): string | undefined;
}

/** Longer texts are cut: descriptions are written for models, and may be very long. */
const CHARACTERS = 20_000;

/** An entry of the catalog: a tool, prompt, resource or template. */
interface Entry {
  kind: "tool" | "prompt" | "resource" | "template";
  /** Its name or URI, which is unique in its kind. */
  name: string;
  about: string;
  badges: string[];
  details?(): Markup;
}

/** In characters. All markup of this page is made at once, so it is a string. */
const lengthOf = (markup: Markup): number => (markup as HtmlEscapedString).length;

/** Makes the parts of these items until they have `room` characters of markup. */
function within<T, P extends Markup | Markup[]>(
  items: readonly T[],
  room: number,
  make: (item: T) => P,
): { made: P[] } {
  const made: P[] = [];
  let left = room;
  for (const item of items) {
    if (left <= 0) break;
    const one = make(item);
    left -= [one].flat().reduce((sum, part) => sum + lengthOf(part as Markup), 0);
    made.push(one);
  }
  return { made };
}

export function exploreSection({ servlets, catalog, scopeOf }: Offers): Markup {
  const of = entriesBy({ catalog, scopeOf });
  // Each servlet gets an equal share of the room that is left.
  let room = EXPLORE_CHARACTERS;
  const sections = servlets.toSorted(ownLast).map((servlet, nth) => {
    const share = Math.floor(room / (servlets.length - nth));
    const failures = catalog.failures?.get(servlet.name) ?? [];
    const section = servletSection(servlet, { entries: of.get(servlet) ?? [], failures }, share);
    room = Math.max(0, room - lengthOf(section));
    return section;
  });
  return html`<section aria-labelledby="explore">
    <h2 id="explore">Explore</h2>
    <p class="scripted">
      <label for="search">Search</label>
      <input id="search" type="search" autocomplete="off" />
      <span id="found" role="status"></span>
    </p>
    ${sections}
  </section>`;
}

/** Sorts the server's own tools last. */
const ownLast = (one: PreparedServlet, other: PreparedServlet): number =>
  Number(RESERVED_NAMES.has(one.name)) - Number(RESERVED_NAMES.has(other.name));

function entriesBy({ catalog, scopeOf }: Pick<Offers, "catalog" | "scopeOf">) {
  const all = new Map<PreparedServlet, Entry[]>();
  const add = (servlet: PreparedServlet, own: string, entry: Entry) => {
    const scope = scopeOf(servlet.name, own);
    if (scope !== undefined) entry.badges.push(`scope ${scope}`);
    const before = all.get(servlet);
    if (before === undefined) all.set(servlet, [entry]);
    else before.push(entry);
  };
  for (const entry of shownOf(catalog.tools.values()))
    add(entry.servlet, entry.own, toolEntry(entry));
  for (const { servlet, own, prompt } of catalog.prompts.values()) {
    const { name, title, description, arguments: args = [] } = prompt;
    const rows = args.map((one) => ({
      path: one.name,
      type: "string",
      isRequired: one.required === true,
      rules: [],
      about: one.description ?? "",
    }));
    const details = () => schemaTable("Arguments", { rows, isCut: false });
    add(servlet, own, {
      kind: "prompt",
      name,
      about: description ?? title ?? "",
      badges: [],
      details,
    });
  }
  for (const { servlet, resource } of [...catalog.resources.values()].filter(isListed)) {
    const { uri, name, description, mimeType } = resource;
    const badges = mimeType === undefined ? [] : [mimeType];
    add(servlet, uri, { kind: "resource", name: uri, about: description ?? name, badges });
  }
  for (const { servlet, template } of catalog.templates) {
    const { uriTemplate, name, description, mimeType } = template;
    const badges = mimeType === undefined ? [] : [mimeType];
    add(servlet, uriTemplate, {
      kind: "template",
      name: uriTemplate,
      about: description ?? name,
      badges,
    });
  }
  return all;
}

function toolEntry(entry: ToolEntry): Entry {
  const { tool, own, servlet } = entry;
  const { name, title, description, inputSchema, outputSchema } = tool;
  const details = () =>
    html`${concernsOf(entry).map((one) => html`<p class="dim">Beware: ${words(one, 1000)}.</p>`)}
    ${schemaTable("Arguments", rowsOf(inputSchema))}
    ${outputSchema === undefined ? "" : schemaTable("Result", rowsOf(outputSchema))}`;
  const about = description ?? title ?? "";
  const size = tokensOf(tool);
  const tokens = size === undefined ? "very many tokens" : `about ${size} tokens`;
  const badges = [...badgesOf(tool, own, servlet.manifest), tokens];
  return { kind: "tool", name, about, badges, details };
}

/** The tool's annotations and its servlet's manifest, in words. `own` is its name there. */
function badgesOf(tool: Tool, own: string, manifest: Manifest): string[] {
  const { annotations = {}, execution } = tool;
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  const said = {
    "reads only": readOnlyHint === true,
    "may delete or overwrite": readOnlyHint !== true && destructiveHint === true,
    "reaches outside": openWorldHint === true,
    "may ask you": manifest.tools?.[own]?.asks === true,
    "may take long": ["optional", "required"].includes(execution?.taskSupport ?? ""),
    "for views alone": !isForModels(tool),
    "keeps state": (manifest.state ?? "call") !== "call",
  };
  const accounts = Object.keys(manifest.accounts ?? {}).map((one) => `uses your account ${one}`);
  return [...Object.entries(said).flatMap(([words, is]) => (is ? [words] : [])), ...accounts];
}

function servletSection(
  { name, manifest: { description } }: PreparedServlet,
  { entries, failures }: { entries: readonly Entry[]; failures: readonly string[] },
  room: number,
) {
  const id = anchorOf("servlet", name);
  const { made } = within(entries, room, entryDetails);
  const more = entries.length - made.length;
  return html`<section class="servlet" aria-labelledby="${id}">
    <h3 id="${id}">${shown(name)} ${anchor(id, name)}</h3>
    ${description === undefined ? "" : html`<p class="dim">${words(description, 1000)}</p>`}
    ${failures.map((one) => html`<p class="notice">It ${words(one, 1000)}</p>`)}
    ${entries.length === 0 && failures.length === 0 ? html`<p class="dim">It has nothing that you may use.</p>` : ""}
    ${made}
    ${more === 0 ? "" : html`<p class="dim">Not all entries fit on this page. Clients list ${more} more.</p>`}
  </section>`;
}

const KINDS = { tool: "", prompt: "prompt", resource: "resource", template: "resource template" };

function entryDetails({ kind, name, about, badges, details }: Entry): Markup {
  const id = anchorOf(kind, name);
  const [first = ""] = about.split("\n");
  return html`<details class="entry" data-kind="${kind}" data-name="${name}">
    <summary>
      <code>${shown(name)}</code>
      ${[KINDS[kind], ...badges].map((one) => (one === "" ? "" : html`<span class="badge">${shown(one)}</span> `))}
      <span class="first dim">${shown(first)}</span>
    </summary>
    <div id="${id}" class="inside">
      ${about === "" ? "" : html`<p class="text">${words(about)}</p>`} ${details?.() ?? ""}
      <p class="acts">${anchor(id, name, "Link")}</p>
    </div>
  </details>`;
}

/** The id of a servlet or entry, for links to it. */
const anchorOf = (kind: string, name: string): string =>
  `${kind}-${encodeURIComponent(beginningOf(name.toWellFormed(), 200))}`;

const anchor = (id: string, name: string, label = "#"): Markup =>
  html`<a class="anchor" href="#${encodeURIComponent(id)}"
    ><span aria-hidden="true">${label}</span><span class="unseen">Link to ${shown(name)}</span></a
  >`;

const words = (text: string, most = CHARACTERS): string => {
  const whole = printableText(beginningOf(text, most));
  return text.length > most ? `${whole} …` : whole;
};

function schemaTable(caption: string, { rows, isCut }: SchemaRows): Markup {
  if (rows.length === 0) return html`<p class="dim">${caption}: none.</p>`;
  const { made } = within(rows, TABLE_CHARACTERS, cellsOf);
  return html`${tableOf({ caption, hasCaption: true, columns: ["Name", "Type", "Description"], rows: made })}
  ${isCut || made.length < rows.length ? html`<p class="dim">Not all members are shown. The tool's schema has the others.</p>` : ""}`;
}

const cellsOf = ({ path, type, isRequired, rules, about }: SchemaRow): Markup[] => [
  html`<code>${shown(path)}</code>${isRequired ? html` <span class="badge">required</span>` : ""}`,
  html`${shown(type)}`,
  html`<div>
    ${words(about)}
    ${rules.length === 0 ? "" : html`<span class="dim">${printable(rules.map((one) => beginningOf(one, 300)).join("; "))}</span>`}
  </div>`,
];

/** The members of a JSON Schema, one row each, for tables. */
interface SchemaRow {
  /** Where it is: `address.street`, `items[]`. */
  path: string;
  type: string;
  isRequired: boolean;
  /** Constraints on the value, and its default, in words. */
  rules: string[];
  about: string;
}

/** The rows of a schema, and whether some were left out. */
interface SchemaRows {
  rows: SchemaRow[];
  isCut: boolean;
}

/** How deep and how long a table may be. */
const DEPTH = 4;
const ROWS = 100;

function rowsOf(schema: unknown): SchemaRows {
  const found: SchemaRows = { rows: [], isCut: false };
  addMembers(schema, { found, path: "", depth: 0 });
  return found;
}

function addMembers(
  schema: unknown,
  { found, path, depth }: { found: SchemaRows; path: string; depth: number },
): void {
  if (!isObject(schema)) return;
  const { properties, required, items } = schema;
  const needed = new Set(Array.isArray(required) ? required : []);
  const named = isObject(properties) ? Object.entries(properties) : [];
  const members: [string, unknown, boolean][] = named.map(([name, member]) => [
    path === "" ? name : `${path}.${name}`,
    member,
    needed.has(name),
  ]);
  // Lists of simple values need no rows: the list's type names that of its items.
  if (isObject(items) && ("properties" in items || "items" in items)) {
    const below = depth + ("items" in items ? 1 : 0);
    if (below > DEPTH) found.isCut = true;
    else addMembers(items, { found, path: `${path}[]`, depth: below });
  }
  for (const [at, member, isRequired] of members) {
    if (depth >= DEPTH || found.rows.length >= ROWS) {
      found.isCut = true;
      return;
    }
    const known = isObject(member) ? member : {};
    const { title, description } = known;
    const about = [title, description].filter((one) => typeof one === "string").join(": ");
    found.rows.push({ path: at, type: typeOf(known), isRequired, rules: rulesOf(known), about });
    addMembers(known, { found, path: at, depth: depth + 1 });
  }
}

/** A type in words: `string`, `list of number`, `one of`. Schemas come from servlets, so their depth is bounded here. */
function typeOf(schema: Json, depth = 0): string {
  const { type, items, enum: values, anyOf, oneOf, $ref, const: only } = schema;
  const of = (one: unknown) => (isObject(one) && depth < DEPTH ? typeOf(one, depth + 1) : "any");
  if (Array.isArray(values)) return "one of";
  if (only !== undefined) return "always";
  if (type === "array") return isObject(items) ? `list of ${of(items)}` : "list";
  if (Array.isArray(type))
    return type
      .slice(0, VALUES)
      .filter((one) => typeof one === "string")
      .join(" or ");
  if (typeof type === "string") return type;
  const options = [anyOf, oneOf].find(Array.isArray) as unknown[] | undefined;
  if (options !== undefined) return [...new Set(options.slice(0, VALUES).map(of))].join(" or ");
  return typeof $ref === "string" ? "see the schema" : "any";
}

/** How many values of an enum are listed. */
const VALUES = 12;

/** Constraints in words, with `…` for their value. */
const RULES = {
  format: "format …",
  pattern: "pattern …",
  minimum: "at least …",
  exclusiveMinimum: "more than …",
  maximum: "at most …",
  exclusiveMaximum: "less than …",
  minLength: "length at least …",
  maxLength: "length at most …",
  minItems: "at least … items",
  maxItems: "at most … items",
  const: "value …",
  default: "default …",
} as const;

function rulesOf(schema: Json): string[] {
  const { enum: values } = schema;
  const listed = Array.isArray(values)
    ? [values.slice(0, VALUES).map(text).join(", ") + (values.length > VALUES ? ", …" : "")]
    : [];
  const others = Object.entries(RULES).flatMap(([key, rule]) =>
    schema[key] === undefined ? [] : [rule.replace("…", () => text(schema[key]))],
  );
  return [...listed, ...others];
}

const text = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);
