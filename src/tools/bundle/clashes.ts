import type { ToolDefinition } from "../../server/kernel/core/model.ts";
import type { Catalog } from "../../server/kernel/servlets/catalog.ts";
import { RESERVED_NAMES, RESERVED_TOOLS } from "../../server/kernel/servlets/scopes.ts";
import { folded, toolkitOf } from "../../server/kernel/servlets/toolkit.ts";
import { Refusal } from "./refusal.ts";
import type { FoundServlet } from "./scan.ts";

const isReserved = (name: string): boolean => RESERVED_TOOLS.some((one) => one === name);

/** A servlet with the definitions of its tools, by tool name. */
interface Defined {
  found: FoundServlet;
  definitions?: Record<string, ToolDefinition>;
}

/**
 * Throws a `Refusal` for a name that the server itself uses, and for two names that give the same id in Open Tool
 * Calling.
 */
export function refuseNameClashes(
  members: readonly Defined[],
  { tools: listed, aliases }: Catalog,
): void {
  const placeOf = (servlet: string) =>
    members.find(({ found }) => found.name === servlet)!.found.place;
  for (const name of RESERVED_TOOLS) {
    const entry = listed.get(name);
    if (entry === undefined) continue;
    throw new Refusal(
      `${placeOf(entry.servlet.name)}: the tool name ${name} is the server's own: give the servlet a "prefix" in servlet.json, or skip the tool there`,
    );
  }
  for (const [alias, { own, servlet }] of aliases) {
    const owner = isReserved(alias) ? "the server itself" : listed.get(alias)?.servlet.name;
    if (owner === undefined) continue;
    throw new Refusal(
      `${placeOf(servlet.name)}: tools.${own}.aliases has ${alias}, which is a tool of ${owner}: leave it out`,
    );
  }
  const toolkits = new Map<string, { name: string; place: string }>();
  const tools = new Map<string, string>();
  for (const { found, definitions = {} } of members) {
    const { place } = found;
    const name = toolkitOf(found);
    if (RESERVED_NAMES.has(name)) {
      throw new Refusal(
        `${place}: the toolkit ${name} is the server's own: give it another "toolkit" in servlet.json`,
      );
    }
    const other = toolkits.get(folded(name));
    if (other !== undefined && other.name !== name) {
      throw new Refusal(
        `${place}: its toolkit ${name} and ${other.name} of ${other.place} both become ${folded(name)} in the ids of Open Tool Calling: rename one, or give it another "toolkit" in servlet.json`,
      );
    }
    toolkits.set(folded(name), { name, place });
    for (const [own, { id }] of Object.entries(definitions)) {
      const first = tools.get(id);
      if (first !== undefined) {
        const remedy = first.endsWith(` of ${place}`)
          ? "rename one of them, or skip it in servlet.json"
          : 'rename or skip one, or give another "toolkit" or "version" in servlet.json';
        throw new Refusal(
          `${place}: its tool ${own} and ${first} both have the id ${id} in Open Tool Calling: ${remedy}`,
        );
      }
      tools.set(id, `${own} of ${place}`);
    }
  }
}
