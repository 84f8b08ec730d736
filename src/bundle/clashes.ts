import type { ToolDefinition } from "../model.ts";
import { RESERVED_NAMES } from "../servlets/scopes.ts";
import { folded, toolkitOf } from "../servlets/toolkit.ts";
import { Refusal } from "./refusal.ts";
import type { Found } from "./scan.ts";

/** A servlet with the definitions of its tools, by their own names. */
interface Defined {
  found: Found;
  definitions?: Record<string, ToolDefinition>;
}

/** Throws a `Refusal` that names both where two names become one in the ids of Open Tool Calling. */
export function refuseClashes(members: readonly Defined[]): void {
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
        throw new Refusal(
          `${place}: its tool ${own} and ${first} both have the id ${id} in Open Tool Calling: rename or skip one, or give another "toolkit" or "version" in servlet.json`,
        );
      }
      tools.set(id, `${own} of ${place}`);
    }
  }
}
