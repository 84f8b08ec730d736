import type { Json } from "../../model.ts";
import type { Registry } from "../../servlets/registry.ts";
import { TASKS_EXTENSION } from "./tasks.ts";

/** The server's capabilities. `listens`: clients can subscribe to changes; `tasks`: calls can become tasks. */
export async function capabilities(
  registry: Registry,
  { listens = false, tasks = false }: { listens?: boolean; tasks?: boolean } = {},
): Promise<Json> {
  const { lists } = await registry.catalog();
  const servlets = registry.servlets.map((one) => registry.servlet(one));
  const offersResources =
    lists.resources.length > 0 ||
    lists.resourceTemplates.length > 0 ||
    servlets.some(({ reads }) => reads);
  const listChanged = listens ? { listChanged: true } : {};
  return {
    tools: listChanged,
    ...(offersResources && { resources: { ...listChanged, ...(listens && { subscribe: true }) } }),
    ...(lists.prompts.length > 0 && { prompts: listChanged }),
    ...(servlets.some(({ completes }) => completes) && { completions: {} }),
    logging: {},
    ...(tasks && { extensions: { [TASKS_EXTENSION]: {} } }),
  };
}
