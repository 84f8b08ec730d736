import { Fault } from "../../kernel/core/errors.ts";
import { oncePer } from "../../kernel/core/once-per.ts";
import type { ToolDefinition } from "../../kernel/core/model.ts";
import { nearest } from "../../kernel/core/nearest.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import { shownOf, type Catalog, type ToolEntry } from "../../kernel/servlets/catalog.ts";
import { isForSearch } from "../../kernel/servlets/scopes.ts";
import { compareVersions } from "../../kernel/servlets/toolkit.ts";
import { printableLines } from "../../kernel/core/text.ts";
import { define } from "./definitions.ts";

/** A tool of one version. */
export interface Offer {
  entry: ToolEntry;
  definition: ToolDefinition;
}

/** All tools in all versions, by their ids. */
interface Directory {
  definitions: readonly ToolDefinition[];
  /**
   * The tool with this id: `Toolkit.Tool` is its newest version, `@x` is `@x.0.0`.
   * https://github.com/OpenToolCalling/Specification/blob/a35d61f/RFC.md#tool-version-resolution
   *
   * Throws `not_found` that names the available versions.
   */
  find(id: string): Offer;
}

export const directoryOf = oncePer((catalog: Catalog): Directory => {
  // Open Tool Calling lists all tools, so it needs no search.
  const versions = catalog.versions.filter(({ servlet, own }) => !isForSearch(servlet.name, own));
  const offers = new Map<string, Offer>();
  for (const [servlet, entries] of Map.groupBy(versions, (entry) => entry.servlet)) {
    const definitions = servlet.definitions ?? defineNow(servlet, entries);
    for (const entry of entries) {
      const definition = Object.hasOwn(definitions, entry.own) && definitions[entry.own];
      if (!definition) continue;
      const first = offers.get(definition.id)?.entry.servlet.name;
      if (first === undefined) offers.set(definition.id, { entry, definition });
      else warn(servlet, `its tool ${definition.id} is hidden by that of ${first}`);
    }
  }
  const shown = new Set(shownOf(versions, catalog, false));
  const newestFirst = [...offers.values()].toSorted((a, b) =>
    compareVersions(b.definition.version, a.definition.version),
  );
  const byName = Map.groupBy(newestFirst, ({ definition }) => definition.id.split("@")[0]!);
  return {
    definitions: [...offers.values()].flatMap(({ entry, definition }) =>
      shown.has(entry) ? definition : [],
    ),
    find(id) {
      const [name = "", version] = id.split("@");
      const known = byName.get(name);
      if (known === undefined) {
        const meant = nearest(name, byName.keys());
        const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
        throw new Fault("not_found", `Unknown tool ${name}.${hint} See GET /tools.`);
      }
      if (version === undefined) return known[0]!;
      const exact = version.includes(".") ? version : `${version}.0.0`;
      const offer = offers.get(`${name}@${exact}`);
      if (offer !== undefined) return offer;
      const there = known.map(({ definition }) => definition.version).join(", ");
      throw new Fault("not_found", `Unknown version ${exact} of ${name}. Available: ${there}.`);
    },
  };
});

/** Definitions of a servlet with dynamic lists. */
function defineNow(servlet: PreparedServlet, entries: readonly ToolEntry[]) {
  const tools = entries.map(({ own, tool }) => ({ ...tool, name: own }));
  const { definitions, warnings } = define(servlet, { tools });
  for (const warning of warnings) warn(servlet, warning);
  return definitions;
}

const warn = ({ name }: PreparedServlet, text: string) =>
  console.warn(`[${name}] ${printableLines(text)}`);
