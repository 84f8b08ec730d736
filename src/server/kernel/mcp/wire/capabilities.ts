import type { Json } from "../../core/model.ts";
import type { Registry } from "../../servlets/registry.ts";
import type { Introduction } from "../method.ts";
import { TASKS_EXTENSION } from "./tasks.ts";

interface Offered {
  listens?: boolean;
  tasks?: boolean;
  isModern?: boolean;
}

/**
 * The server's capabilities for a client with these capabilities. `listens`: clients can subscribe to changes; `tasks`:
 * calls can become tasks. Older revisions list extensions only for clients that name them.
 */
export async function capabilities(
  registry: Registry,
  client: Json,
  { listens = false, tasks = false, isModern = false }: Offered = {},
): Promise<Json> {
  const catalog = await registry.catalog();
  const extensions: Json = Object.assign(
    tasks ? { [TASKS_EXTENSION]: {} } : {},
    ...registry.contributors.map((one) => one.extensions?.(catalog, client, isModern)),
  );
  const others: Json = Object.assign(
    {},
    ...registry.contributors.map((one) => one.capabilities?.(catalog, client)),
  );
  const servlets = registry.servlets.map((one) => registry.servlet(one));
  const offersResources =
    (await registry.offers("resources", client)) ||
    (await registry.offers("resourceTemplates", client)) ||
    catalog.readers.length > 0;
  const listChanged = listens ? { listChanged: true } : {};
  return {
    tools: listChanged,
    ...(offersResources && { resources: { ...listChanged, ...(listens && { subscribe: true }) } }),
    ...((await registry.offers("prompts", client)) && { prompts: listChanged }),
    ...(servlets.some(({ completes }) => completes) && { completions: {} }),
    logging: {},
    ...others,
    ...(Object.keys(extensions).length > 0 && { extensions }),
  };
}

/** The server's instructions for a client with these capabilities, with those of its servlets and contributors' additions. */
export async function instructionsFor(
  { instructions }: Introduction,
  registry: Registry,
  client: Json,
): Promise<{ instructions?: string }> {
  const catalog = await registry.catalog();
  const added = registry.contributors.flatMap((one) => one.instructions?.(catalog, client) ?? []);
  const { tools, prompts, readers } = catalog;
  const entries = [...tools.values(), ...prompts.values()];
  const offering = new Set([...entries.map(({ servlet }) => servlet), ...readers]);
  const own = [...offering].flatMap(({ name, manifest }) =>
    manifest.instructions === undefined ? [] : [`${name}: ${manifest.instructions}`],
  );
  const all = [...(instructions === undefined ? [] : [instructions]), ...own, ...added];
  return all.length === 0 ? {} : { instructions: all.join("\n") };
}
