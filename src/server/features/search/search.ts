/** The tools by which a model finds and calls tools that are not listed. */
import type MiniSearch from "minisearch";
import type { Json, Principal } from "../../kernel/core/model.ts";
import { oncePer } from "../../kernel/core/once-per.ts";
import { beginningOf } from "../../kernel/core/text.ts";
import { isForModels } from "../../kernel/core/views.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import {
  asksUser,
  type Catalog,
  type Contributor,
  type ToolEntry,
} from "../../kernel/servlets/catalog.ts";
import type { OwnTool } from "../../kernel/servlets/own.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { isBasic } from "../../kernel/servlets/profiles.ts";
import { CALL_TOOL, grants, isForSearch, SEARCH_TOOL } from "../../kernel/servlets/scopes.ts";
import { declarationOf, remark } from "./declaration.ts";

/**
 * Indexed characters of one tool or skill, of all, and of one caller's own, whose index is built for each search.
 * Beyond them, or beyond `DIFFERENT_WORDS` (which determine the time of a search), only names are indexed.
 */
const [INDEXED, INDEXED_OF_ALL, INDEXED_OF_CALLER] = [4000, 512 * 1024, 32 * 1024];
const DIFFERENT_WORDS = 10_000;
/** Maximum words of a query, characters of a word, and edits between a word and a similar one. */
const [QUERY_WORDS, WORD, DIFFERENT] = [12, 64, 2];
/** Maximum characters of a query, and of a tool's definition in a result. */
const [QUERY, DEFINITION] = [400, 8000];
/** Tools in a result: the default and the maximum. */
const [FOUND, MOST] = [5, 20];

/** The catalog of an endpoint with search: few tools are listed, and `call_tool` calls the others. */
export const searchContributor: Contributor = {
  tool(entry, { profile }) {
    const { servlet, own } = entry;
    const isSearched = profile?.tools === "search";
    if (isForSearch(servlet.name, own)) {
      if (!isSearched) return undefined;
      return own === CALL_TOOL ? { ...entry, target: (input) => input as never } : entry;
    }
    const { listed = [] } = profile ?? {};
    const isListed =
      !isSearched ||
      isBasic(servlet.name, own) ||
      listed.some((pattern) => grants(pattern, servlet.name, own));
    return isListed ? entry : { ...entry, unlisted: `Find it by ${SEARCH_TOOL}.` };
  },
};

export const searchTools = (kernel: Pick<Kernel, "registry" | "skillsOf">): OwnTool => ({
  tool: {
    title: "Search tools",
    description: `Finds tools of this server by words in their names, descriptions and arguments, and skills (instructions for a task). Not all tools are listed: search before you conclude that there is none. Call what you find with ${CALL_TOOL}.`,
    inputSchema: {
      type: "object",
      properties: {
        query: {
          type: "string",
          minLength: 1,
          maxLength: QUERY,
          description: "What the tool should do, in a few words.",
        },
        limit: { type: "integer", minimum: 1, maximum: MOST, default: FOUND },
        format: {
          enum: ["typescript", "json"],
          default: "typescript",
          description:
            "How definitions are written: as functions in TypeScript, or as JSON Schema.",
        },
      },
      required: ["query"],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async run({ query, limit = FOUND, format }, { principal, session }) {
    const all = await kernel.registry();
    const found = await finderOf(kernel).find(String(query), all, { principal, session });
    const text = found.slice(0, Number(limit)).map(format === "json" ? asJson : asTypeScript);
    return { content: [{ type: "text", text: text.join("\n\n") || NOTHING }] };
  },
});

const NOTHING = "Nothing fits. Search again with other words.";

/** The tool `call_tool`. A call of it resolves to the entry of the tool that it names: see `searchContributor`. */
export const toolCaller: OwnTool = {
  tool: {
    title: "Call a tool",
    description: `Calls a tool that ${SEARCH_TOOL} has found.`,
    inputSchema: {
      type: "object",
      properties: {
        name: { type: "string", minLength: 1, maxLength: 200, description: "The tool's name." },
        arguments: { type: "object", description: "The tool's arguments." },
      },
      required: ["name"],
    },
    execution: { taskSupport: "optional" },
  },
  run: () => Promise.reject(new Error(`${CALL_TOOL} has no run of its own.`)),
};

type Viewing = { principal: Principal; session: string | undefined };

/** A tool or a skill that can be found. */
type Findable = { tool: ToolEntry } | { skill: { uri: string; entry: Json } };

type SkillsOf = NonNullable<Kernel["skillsOf"]>;

/** Finds tools and skills. Indexes each catalog once. */
class Finder {
  /** A catalog's skills and tools for models, by keys that are the same in all catalogs. */
  readonly #findableIn: (catalog: Catalog) => ReadonlyMap<string, Findable>;
  readonly #indexOf = oncePer(
    (catalog: Catalog) => new Index(this.#findableIn(catalog), INDEXED_OF_ALL),
  );

  constructor(skillsOf: SkillsOf = () => []) {
    this.#findableIn = oncePer((catalog) => {
      const tools = [...catalog.tools.values()].filter(
        ({ tool, servlet, own }) => isForModels(tool) && !isForSearch(servlet.name, own),
      );
      return new Map<string, Findable>([
        ...tools.map(
          (tool) => [`tool ${tool.servlet.name}:${tool.own} ${tool.tool.name}`, { tool }] as const,
        ),
        ...skillsOf(catalog).map((skill) => [`skill ${skill.uri}`, { skill }] as const),
      ]);
    });
  }

  /** The entries that match the query and that the caller may use, the best first. */
  async find(query: string, registry: Registry, viewing: Viewing): Promise<Findable[]> {
    const [shared, seen] = await Promise.all([registry.catalog(), registry.for(viewing).listed()]);
    const own = this.#findableIn(seen);
    // The index of the shared entries is built once; few callers have others, such as tools of their own state.
    const others = new Map([...own].filter(([key]) => !this.#findableIn(shared).has(key)));
    const indexes = [
      this.#indexOf(shared),
      ...(others.size > 0 ? [new Index(others, INDEXED_OF_CALLER)] : []),
    ];
    const found = await Promise.all(indexes.map((index) => index.search(query, own)));
    return found
      .flat()
      .toSorted((one, other) => other.score - one.score)
      .map(({ key }) => own.get(key)!);
  }
}

/** The finder of a kernel, once all its features have started. */
const finderOf = oncePer(({ skillsOf }: Pick<Kernel, "skillsOf">) => new Finder(skillsOf));

/** The weight of a word in each field of a document. */
const BOOSTS = { name: 4, title: 2, description: 1, more: 0.5 };

/** An index of words, built on the first search. */
class Index {
  readonly #documents: ReadonlyMap<string, Findable>;
  /** Maximum indexed characters besides names. */
  readonly #room: number;
  #index: MiniSearch | undefined;

  constructor(documents: ReadonlyMap<string, Findable>, room: number) {
    this.#documents = documents;
    this.#room = room;
  }

  /** Searches among these keys; for similar words if there is no exact match. */
  async search(query: string, among: { has(key: string): boolean }) {
    const { default: Search } = await import("minisearch");
    const index = (this.#index ??= this.#make(Search));
    const words = wordsIn(query).slice(0, QUERY_WORDS);
    const look = (fuzzy: number | false) =>
      index.search(query, {
        boost: BOOSTS,
        fuzzy,
        maxFuzzy: DIFFERENT,
        tokenize: () => words,
        prefix: (word) => word.length > 2,
        filter: ({ id }) => among.has(String(id)),
      });
    const found = look(false);
    return (found.length > 0 ? found : look(0.2)).map(({ id, score }) => ({
      key: String(id),
      score,
    }));
  }

  #make(Search: typeof MiniSearch): MiniSearch {
    const index = new Search({ fields: Object.keys(BOOSTS), tokenize: wordsIn });
    let room = this.#room;
    for (const [id, one] of this.#documents) {
      const { name, ...texts } = textsOf(one);
      const whole = Object.values(texts).join("").length;
      const isWhole = whole <= room && index.termCount < DIFFERENT_WORDS;
      if (isWhole) room -= whole;
      index.add({ id, name: beginningOf(name, WORD * 2), ...(isWhole && texts) });
    }
    return index;
  }
}

/** The words of a text; a name such as `listOpen_issues` gives three words and the name itself. */
function wordsIn(text: string): string[] {
  const whole = text.split(/[^\p{L}\p{N}_]+/u);
  const parts = text.replaceAll(/(\p{Ll}|\p{N})(?=\p{Lu})/gu, "$1 ").split(/[^\p{L}\p{N}]+/u);
  return [...new Set([...parts, ...whole])].filter(Boolean).map((word) => beginningOf(word, WORD));
}

function textsOf(one: Findable): Record<keyof typeof BOOSTS, string> {
  if ("skill" in one) {
    const { name, description } = one.skill.entry["frontmatter"] as Record<string, string>;
    return { name: name!, title: "", description: beginningOf(description!, INDEXED), more: "" };
  }
  const { tool, servlet } = one.tool;
  const { properties = {} } = tool.inputSchema;
  let more = `${servlet.name} ${servlet.manifest.description ?? ""}`;
  for (const [name, member] of Object.entries(properties)) {
    if (more.length > INDEXED) break;
    const { description = "" } = member as { description?: unknown };
    more += ` ${name} ${typeof description === "string" ? beginningOf(description, 400) : ""}`;
  }
  return {
    name: tool.name,
    title: beginningOf(tool.title ?? "", 400),
    description: beginningOf(tool.description ?? "", INDEXED),
    more: beginningOf(more, INDEXED),
  };
}

/** The requirements of a call besides its arguments, in words. */
function needsOf(entry: ToolEntry): string[] {
  const { tool, servlet } = entry;
  const { manifest } = servlet;
  const { readOnlyHint, destructiveHint } = tool.annotations ?? {};
  const mayDelete = readOnlyHint !== true && destructiveHint !== false;
  return [
    ...Object.keys(manifest.accounts ?? {}).map((one) => `the user's account at ${one}`),
    ...(asksUser(entry) ? ["may ask the user"] : []),
    ...(mayDelete ? ["may delete or overwrite"] : []),
  ];
}

function asTypeScript(one: Findable): string {
  if ("skill" in one) {
    const { uri, entry } = one.skill;
    const { description } = entry["frontmatter"] as { description: string };
    return `// Skill: read the resource ${uri}. ${remark(description, 400)}`;
  }
  const { tool } = one.tool;
  const lines = [
    tool.description ?? tool.title ?? "",
    ...needsOf(one.tool).map((need) => `(${need})`),
  ];
  return `/** ${remark(lines.join(" "), 1000)} */\n${declarationOf(tool, DEFINITION)}`;
}

function asJson(one: Findable): string {
  if ("skill" in one) {
    const { uri, entry } = one.skill;
    return JSON.stringify({ skill: uri, ...(entry["frontmatter"] as Json) });
  }
  const { tool } = one.tool;
  const { name, description = tool.title, inputSchema, outputSchema } = tool;
  const needs = needsOf(one.tool);
  const about = {
    name,
    description: beginningOf(description ?? "", 1000),
    ...(needs.length > 0 && { needs }),
  };
  const whole = JSON.stringify({ ...about, inputSchema, outputSchema });
  return whole.length <= DEFINITION
    ? whole
    : JSON.stringify({
        ...about,
        inputSchema: { type: "object" },
        note: "Its schema is too long for a result.",
      });
}
