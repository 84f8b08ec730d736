/** Explore: the list of servlets and entries that a visitor may use, and the pane of one of them. */
import { html } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import { shown, type Markup } from "../../kernel/http/document.ts";
import { type Tool, isObject, type Json } from "../../kernel/core/model.ts";
import { beginningOf, printable, printableText } from "../../kernel/core/text.ts";
import { rulesOf } from "../../kernel/schema/words.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import {
  asksUser,
  listedResources,
  shownOf,
  type Catalog,
  type ToolEntry,
} from "../../kernel/servlets/catalog.ts";
import { concernsOf, tokensOf } from "../../kernel/servlets/concerns.ts";
import { RESERVED_NAMES } from "../../kernel/servlets/scopes.ts";
import { isForModels } from "../../kernel/core/views.ts";
import { badge, emptyState, tableOf, type Tone } from "../../kernel/http/components.ts";
import { markdownOf } from "./markdown-page.ts";

/**
 * Maximum markup of the list in characters, shared among servlets: the server holds several copies of it, and phones
 * must show it. Also the maximum of one schema table.
 */
const LIST_CHARACTERS = 4 * 1024 * 1024;
const TABLE_CHARACTERS = 100_000;

export interface Offers {
  servlets: readonly PreparedServlet[];
  catalog: Catalog;
  /** The text of a skill's SKILL.md; undefined if it cannot be read. */
  skillText?(uri: string): Promise<string | undefined>;
  /** The scope that a caller needs for this entry; undefined if no scopes are configured. */
  scopeOf(servlet: string, own: string): string | undefined;
}

/** Longer texts are cut: descriptions are written for models, and may be very long. */
const CHARACTERS = 20_000;

/** The kinds of entries, as an address names them. */
const KINDS = ["tool", "prompt", "resource", "template"] as const;
type Kind = (typeof KINDS)[number];

/** The kinds of entries as people see them, in the order of the list: skills and views are resources. */
const GROUPS = {
  tool: "Tools",
  prompt: "Prompts",
  skill: "Skills",
  resource: "Resources",
  template: "Templates",
  view: "Views",
};
type Group = keyof typeof GROUPS;

/** An entry that an address names. */
export interface EntryRef {
  kind: Kind;
  /** Its name or URI, which is unique in its kind. */
  name: string;
}

/** The entry that this address names: `?tool=greet`. */
export function entryIn(url: string): EntryRef | undefined {
  const { searchParams } = new URL(url);
  for (const kind of KINDS) {
    const name = searchParams.get(kind);
    if (name !== null) return { kind, name };
  }
  return undefined;
}

interface Badge {
  text: string;
  /** A shorter text for the list. */
  brief?: string;
  tone?: Tone | "accent";
  /** True if the list shows it, too. */
  isListed: boolean;
}

/** An entry of the catalog: a tool, prompt, resource or template. */
interface Entry extends EntryRef {
  group: Group;
  servlet: PreparedServlet;
  title: string | undefined;
  about: string;
  badges: Badge[];
  /** Its size in a model's context. */
  tokens?(): string;
  /** Its schemas as tables, and warnings. */
  details?(): Markup;
  /** The tool, if clients search for it instead of listing it: the page's script cannot get its schema from a list. */
  unlisted?: Tool | undefined;
}

/** Length in characters. All markup of this page is made synchronously, so it is a string. */
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

/** The part of the home page. */
export const exploreSection = (offers: Offers): Markup =>
  html`<section class="explore" aria-labelledby="explore">
    <h2 id="explore">Explore</h2>
    ${listOf(offers, entriesBy(offers))}
  </section>`;

/** The page of one entry, beside the list of all. */
export async function entryPage(
  offers: Offers,
  ref: EntryRef,
): Promise<{ body: Markup; title: string; isKnown: boolean }> {
  const of = entriesBy(offers);
  const found = [...of.values()]
    .flat()
    .find(({ kind, name }) => kind === ref.kind && name === ref.name);
  const text = found?.group === "skill" ? await offers.skillText?.(found.name) : undefined;
  const pane = found === undefined ? missing(ref) : paneOf(found, text);
  const body = html`<div class="explore beside">
    <nav class="list" aria-label="Tools, prompts and resources">${listOf(offers, of, ref)}</nav>
    <div class="panes">${pane}</div>
  </div>`;
  return { body, title: shown(found?.title ?? ref.name), isKnown: found !== undefined };
}

const wayBack = html`<p class="back"><a class="button" href="?">← All tools</a></p>`;

const missing = ({ kind, name }: EntryRef): Markup =>
  html`<article class="pane">
    ${wayBack}
    <h1>There is no such ${KIND_NAMES[kind]}</h1>
    ${emptyState(
      `${shown(name)} is not offered here`,
      html`It may have been renamed or removed, or you may not use it.
        <a href="?">See all tools</a>.`,
    )}
  </article>`;

function listOf(
  { servlets, catalog }: Offers,
  of: Map<PreparedServlet, Entry[]>,
  current?: EntryRef,
): Markup {
  // Each servlet gets an equal share of the room that is left.
  let room = LIST_CHARACTERS;
  const sections = servlets.toSorted(ownLast).map((servlet, nth) => {
    const share = Math.floor(room / (servlets.length - nth));
    const failures = catalog.failures?.get(servlet.name) ?? [];
    const section = servletSection(
      servlet,
      { entries: of.get(servlet) ?? [], failures, current },
      share,
    );
    room = Math.max(0, room - lengthOf(section));
    return section;
  });
  const groups = Object.groupBy([...of.values()].flat(), ({ group }) => group);
  return html`<div class="scripted">
      <div class="filters">
        <div>
          <label for="search" class="unseen">Search</label>
          <input
            id="search"
            type="search"
            autocomplete="off"
            aria-keyshortcuts="/"
            placeholder="Search ( / )"
          />
        </div>
        ${
          Object.keys(groups).length < 2
            ? ""
            : html`<div>
                <label for="kind" class="unseen">Kind</label>
                <select id="kind">
                  <option value="">All kinds</option>
                  ${Object.entries(GROUPS).map(([group, label]) =>
                    groups[group as Group] === undefined
                      ? ""
                      : html`<option value="${group}">${label}</option>`,
                  )}
                </select>
              </div>`
        }
      </div>
      <p id="found" class="dim small" role="status"></p>
    </div>
    ${sections}`;
}

/** Sorts the server's own tools last. */
const ownLast = (one: PreparedServlet, other: PreparedServlet): number =>
  Number(RESERVED_NAMES.has(one.name)) - Number(RESERVED_NAMES.has(other.name));

function entriesBy({ catalog, scopeOf }: Pick<Offers, "catalog" | "scopeOf">) {
  const all: Entry[] = [];
  const add = (own: string, entry: Entry) => {
    const scope = scopeOf(entry.servlet.name, own);
    if (scope !== undefined) entry.badges.push({ text: `scope ${scope}`, isListed: false });
    all.push(entry);
  };
  for (const entry of shownOf(catalog.tools.values(), catalog)) {
    const unlisted = entry.unlisted === undefined ? undefined : entry.tool;
    add(entry.own, { ...toolEntry(entry), unlisted });
  }
  for (const { servlet, own, prompt } of catalog.prompts.values()) {
    const { name, title, description: about = "", arguments: args = [] } = prompt;
    const rows = args.map((one) => ({
      path: one.name,
      type: "string",
      isRequired: one.required === true,
      rules: [],
      about: one.description ?? "",
    }));
    const details = () => schemaTable("Arguments", { rows, isCut: false });
    add(own, { kind: "prompt", group: "prompt", name, servlet, title, about, badges: [], details });
  }
  const mediaBadge = (mimeType: string | undefined) =>
    mimeType === undefined ? [] : [{ text: mimeType, isListed: false }];
  for (const { servlet, resource, kind, grantedAs } of listedResources(catalog)) {
    const { uri: name, mimeType, description: about = resource.name } = resource;
    const isSkill = kind === "skills";
    // Its URI ends with SKILL.md.
    const title = resource.title ?? (isSkill ? resource.name : undefined);
    const group = isSkill ? "skill" : name.startsWith("ui:") ? "view" : "resource";
    const badges = mediaBadge(isSkill ? undefined : mimeType);
    add(grantedAs ?? name, { kind: "resource", group, name, servlet, title, about, badges });
  }
  for (const { servlet, template } of catalog.templates) {
    const { uriTemplate: name, title, mimeType, description: about = template.name } = template;
    const badges = mediaBadge(mimeType);
    add(name, { kind: "template", group: "template", name, servlet, title, about, badges });
  }
  const order = Object.keys(GROUPS);
  const sorted = all.toSorted((a, b) => order.indexOf(a.group) - order.indexOf(b.group));
  return Map.groupBy(sorted, ({ servlet }) => servlet);
}

function toolEntry(entry: ToolEntry): Entry {
  const { tool, servlet } = entry;
  const { name, title, annotations, description = "", inputSchema, outputSchema } = tool;
  const details = () =>
    html`${concernsOf(entry).map((one) => html`<p class="dim">Beware: ${words(one, 1000)}.</p>`)}
    ${schemaTable("Arguments", rowsOf(inputSchema))}
    ${outputSchema === undefined ? "" : schemaTable("Result", rowsOf(outputSchema))}`;
  const tokens = () => {
    const size = tokensOf(tool);
    return size === undefined ? "very many tokens" : `about ${size} tokens`;
  };
  const badges = badgesOf(entry);
  return {
    kind: "tool",
    group: "tool",
    name,
    servlet,
    title: title ?? annotations?.title,
    about: description,
    badges,
    tokens,
    details,
  };
}

/** The tool's annotations and its servlet's manifest, in words. */
function badgesOf(entry: ToolEntry): Badge[] {
  const { tool, servlet } = entry;
  const { manifest } = servlet;
  const { annotations = {}, execution } = tool;
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  const accounts = Object.keys(manifest.accounts ?? {});
  const all: [is: boolean, badge: Badge][] = [
    [
      readOnlyHint !== true && destructiveHint === true,
      { text: "may delete or overwrite", tone: "warn", isListed: true },
    ],
    [asksUser(entry), { text: "may ask you", isListed: true }],
    [
      accounts.length > 0,
      {
        text: `uses your account${accounts.length === 1 ? "" : "s"} ${accounts.join(", ")}`,
        brief: "uses an account",
        isListed: true,
      },
    ],
    [readOnlyHint === true, { text: "reads only", tone: "good", isListed: false }],
    [openWorldHint === true, { text: "reaches outside", isListed: false }],
    [
      ["optional", "required"].includes(execution?.taskSupport ?? ""),
      { text: "may take long", isListed: false },
    ],
    [!isForModels(tool), { text: "for views alone", isListed: true }],
    [(manifest.state ?? "call") !== "call", { text: "keeps state", isListed: false }],
  ];
  return all.flatMap(([is, one]) => (is ? [one] : []));
}

interface Listed {
  entries: readonly Entry[];
  failures: readonly string[];
  current: EntryRef | undefined;
}

function servletSection(
  { name, manifest: { description } }: PreparedServlet,
  { entries, failures, current }: Listed,
  room: number,
) {
  const id = anchorOf("servlet", name);
  const { made } = within(entries, room, (entry) =>
    rowOf(entry, entry.kind === current?.kind && entry.name === current.name),
  );
  const more = entries.length - made.length;
  return html`<section class="servlet" aria-labelledby="${id}">
    <h3 id="${id}">${shown(name)}</h3>
    ${description === undefined ? "" : html`<p class="dim small about">${words(description, 300)}</p>`}
    ${failures.map((one) => html`<p class="notice">It ${words(one, 1000)}</p>`)}
    ${entries.length === 0 && failures.length === 0 ? html`<p class="dim">It has nothing that you may use.</p>` : ""}
    ${
      made.length > 0 &&
      html`<ul class="rows">
        ${made}
      </ul>`
    }
    ${more === 0 ? "" : html`<p class="dim">Not all entries fit on this page. Clients list ${more} more.</p>`}
  </section>`;
}

const KIND_NAMES: Record<Group, string> = {
  tool: "tool",
  prompt: "prompt",
  skill: "skill",
  resource: "resource",
  template: "resource template",
  view: "view",
};

const badgesIn = (badges: readonly Pick<Badge, "text" | "tone">[]): Markup[] =>
  badges.map(({ text, tone }) => html`${badge(shown(text), tone)} `);

/** The address of an entry's page, on the page of the server or of a profile. */
const addressOf = ({ kind, name }: EntryRef): string =>
  `?${String(new URLSearchParams({ [kind]: name.toWellFormed() }))}`;

function rowOf(entry: Entry, isCurrent: boolean): Markup {
  const { kind, group, name, title, about, badges } = entry;
  const listed = badges
    .filter((one) => one.isListed)
    .map(({ text, brief = text, ...one }) => ({ ...one, text: brief }));
  return html`<li
    class="entry"
    id="${anchorOf(kind, name)}"
    data-kind="${kind}"
    data-group="${group}"
    data-name="${name}"
  >
    <a href="${addressOf(entry)}" ${isCurrent ? html`aria-current="page"` : ""}>
      ${title === undefined ? "" : html`<strong>${shown(title)}</strong> `}<code
        >${shown(name)}</code
      >
      ${group === "tool" ? "" : badge(KIND_NAMES[group])} ${badgesIn(listed)}
      <span class="first dim small">${shown(firstOf(about))}</span>
    </a>
  </li>`;
}

/** The pane of an entry, with the element for the script's form; `text` is the SKILL.md of a skill. */
function paneOf(entry: Entry, text?: string): Markup {
  const { kind, group, name, servlet, title, about, badges, tokens, details, unlisted } = entry;
  const first = firstOf(about);
  return html`<article
    class="pane"
    data-kind="${kind}"
    data-name="${name}"
    ${unlisted === undefined ? "" : html`data-tool="${JSON.stringify(unlisted)}"`}
  >
    ${wayBack}
    <h1 tabindex="-1">${shown(title ?? name)}</h1>
    <p>
      ${title === undefined ? "" : html`<code>${shown(name)}</code> · `}
      <span class="dim">${KIND_NAMES[group]} of ${shown(servlet.name)}</span> ${badgesIn(badges)}
      ${tokens === undefined ? "" : badge(tokens())}
    </p>
    ${first === "" ? "" : html`<div class="say">${markdownOf(first)}</div>`}
    ${
      about.trim() !== first &&
      html`<details class="more">
        <summary class="dim">More about it</summary>
        ${markdownOf(cutTo(about, CHARACTERS))}
      </details>`
    }
    ${text === undefined ? "" : html`<div class="card skill">${markdownOf(cutTo(bodyOf(text), SKILL))}</div>`}
    <p class="notice scriptless">
      To try it here, turn on JavaScript. Clients and programs can call it without.
    </p>
    <div class="place"></div>
    ${
      details !== undefined &&
      html`<details class="after">
        <summary>Arguments and results as tables</summary>
        ${details()}
      </details>`
    }
  </article>`;
}

/** The body of a SKILL.md, without its frontmatter, which is for programs. */
const bodyOf = (text: string): string => text.replace(/^---\r?\n[^]*?\n---\r?\n/, "");

/** Characters of a skill that the page shows; clients read all of it. */
const SKILL = 50_000;

/** The first line or sentence of a description. */
function firstOf(about: string): string {
  const line = about.trim().split("\n", 1)[0]!;
  if (line.length <= FIRST) return line;
  const sentence = /^.{20,}?[.!?](?=\s)/.exec(line.slice(0, FIRST))?.[0];
  return sentence ?? `${beginningOf(line, FIRST)} …`;
}
const FIRST = 240;

/** The id of a servlet or entry, for links to it. */
const anchorOf = (kind: string, name: string): string =>
  `${kind}-${encodeURIComponent(beginningOf(name.toWellFormed(), 200))}`;

/** The style of lists and panes. */
export const exploreStyle = `
  .filters { display: flex; flex-wrap: wrap; gap: .5rem; } .filters > div { flex: 1 1 9rem; } .filters > :first-child { flex-grow: 3; } .filters :is(input, select) { margin: 0; } #found { min-height: 1.5rem; margin: .25rem 0; }
  .servlet { margin: 0 0 2rem; } .servlet h3 { margin: 0; } .about { margin: .25rem 0 .5rem; }
  .rows { list-style: none; margin: .5rem 0 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); gap: .5rem; }
  .entry { margin: 0; min-width: 0; } .entry a { display: block; height: 100%; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: var(--round); color: inherit; text-decoration: none; overflow-wrap: anywhere; }
  .entry a:hover { background: var(--panel); border-color: var(--edge); } .entry code { font-weight: 600; } .entry strong + code { font-weight: 400; color: var(--dim); }
  .first { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; margin-top: .25rem; }
  .back { display: none; } .pane h1 { overflow-wrap: anywhere; } .pane h1:focus { outline: 0; } .skill .text { white-space: normal; } .say, .markdown { max-width: 44rem; text-wrap: pretty; } .markdown li > p:first-child { margin: 0; } blockquote { margin: .5rem 0; padding-left: 1rem; border-left: 2px solid var(--line); }
  .place { margin: 1rem 0; } .after td { overflow-wrap: break-word; }
  @media (scripting: enabled) { .has-script .scriptless { display: none; } .has-script .after:not(.ready) { visibility: hidden; } }
  main:has(.beside) { max-width: 82rem; } .beside { display: grid; grid-template-columns: 20rem minmax(0, 1fr); gap: 3rem; }
  .beside .list { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; margin: -2rem 0 0 -.5rem; padding: 2rem .5rem; scrollbar-width: thin; scrollbar-gutter: stable; }
  .beside .filters > div { flex-basis: 100%; } .beside .servlet { margin: 0 0 1.25rem; } .beside .entry strong + code { display: none; } .beside .about { display: none; } .beside .rows { grid-template-columns: minmax(0, 1fr); gap: 0; margin-top: .25rem; }
  .beside .entry a { border-color: transparent; border-radius: var(--radius); padding: .5rem .75rem; } .beside .first { -webkit-line-clamp: 1; margin: 0; }
  .beside .entry a[aria-current] { background: var(--panel); font-weight: inherit; color: inherit; box-shadow: inset 2px 0 var(--accent); }
  @media (max-width: 56rem) { .beside { display: block; } .beside .list { display: none; } .back { display: block; margin: 0 0 1rem; } }
`;

const words = (text: string, most = CHARACTERS): string => printableText(cutTo(text, most));

const cutTo = (text: string, most: number): string =>
  text.length > most ? `${beginningOf(text, most)} …` : text;

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

/** Maximum depth and length of a table. */
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

/** Maximum number of listed types of a value. */
const VALUES = 12;
