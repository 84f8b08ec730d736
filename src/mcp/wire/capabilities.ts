import type { Json } from "../../core/model.ts";
import type { Registry } from "../../servlets/registry.ts";
import { TASKS_EXTENSION } from "./tasks.ts";

/** The server's capabilities. `listens`: clients can subscribe to changes; `tasks`: calls can become tasks. */
export async function capabilities(
  registry: Registry,
  { listens = false, tasks = false }: { listens?: boolean; tasks?: boolean } = {},
): Promise<Json> {
  const servlets = registry.servlets.map((one) => registry.servlet(one));
  const offersResources =
    (await registry.offers("resources")) ||
    (await registry.offers("resourceTemplates")) ||
    (await registry.catalog()).readers.length > 0;
  const listChanged = listens ? { listChanged: true } : {};
  return {
    tools: listChanged,
    ...(offersResources && { resources: { ...listChanged, ...(listens && { subscribe: true }) } }),
    ...((await registry.offers("prompts")) && { prompts: listChanged }),
    ...(servlets.some(({ completes }) => completes) && { completions: {} }),
    logging: {},
    ...(tasks && { extensions: { [TASKS_EXTENSION]: {} } }),
  };
}
