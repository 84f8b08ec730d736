import type { Json } from "../../core/model.ts";
import type { Registry } from "../../servlets/registry.ts";
import { asksByViews, showsViews, VIEWS_EXTENSION } from "../../core/views.ts";
import { VIEW_SETTINGS, withoutViews } from "../../servlets/views.ts";
import { knowsSkills, SKILLS_EXTENSION, skillsOf } from "./skills.ts";
import { TASKS_EXTENSION } from "./tasks.ts";

interface Offered {
  listens?: boolean;
  tasks?: boolean;
  isModern?: boolean;
}

/**
 * The server's capabilities for a client with these. `listens`: clients can subscribe to changes; `tasks`: calls can become
 * tasks. Older revisions have no extensions but for clients that name them.
 */
export async function capabilities(
  registry: Registry,
  client: Json,
  { listens = false, tasks = false, isModern = false }: Offered = {},
): Promise<Json> {
  const isShown = showsViews(client);
  const lists = isShown ? (await registry.catalog()).lists : undefined;
  const views = lists !== undefined && withoutViews(lists) !== lists;
  const servlets = registry.servlets.map((one) => registry.servlet(one));
  const offersResources =
    (await registry.offers("resources", isShown ? undefined : withoutViews)) ||
    (await registry.offers("resourceTemplates")) ||
    (await registry.catalog()).readers.length > 0;
  const skills = (isModern || knowsSkills(client)) && skillsOf(await registry.catalog()).length > 0;
  const listChanged = listens ? { listChanged: true } : {};
  return {
    tools: listChanged,
    ...(offersResources && { resources: { ...listChanged, ...(listens && { subscribe: true }) } }),
    ...((await registry.offers("prompts")) && { prompts: listChanged }),
    ...(servlets.some(({ completes }) => completes) && { completions: {} }),
    logging: {},
    ...((tasks || views || skills) && {
      extensions: {
        ...(skills && { [SKILLS_EXTENSION]: { directoryRead: true } }),
        ...(tasks && { [TASKS_EXTENSION]: {} }),
        ...(views && {
          [VIEWS_EXTENSION]: { ...VIEW_SETTINGS, ...(asksByViews(client) && { elicitation: {} }) },
        }),
      },
    }),
  };
}
