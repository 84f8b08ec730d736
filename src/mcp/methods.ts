import { Fault } from "../errors.ts";
import type { Json } from "../model.ts";
import type { Registry } from "../servlets/registry.ts";
import type { FoundRequest, Method, Target } from "./method.ts";
import { initialize, ping, setLevel } from "./legacy/introduction.ts";
import * as inSession from "./legacy/session-methods.ts";
import { discover } from "./modern/discover.ts";
import { listen } from "./modern/listen.ts";
import { cancelTask, getTask, updateTask } from "./modern/tasks.ts";
import { methodNotFound, type Request } from "./wire/message.ts";
import {
  findCompletion,
  findList,
  findPrompt,
  findResource,
  findRootsHandler,
  findTool,
} from "./wire/targets.ts";

/** Every method of every revision. https://modelcontextprotocol.io/specification/2026-07-28/server */
const methods: Readonly<Record<string, Method>> = {
  "tools/list": { find: findList("tools"), list: "tools", cache: "as lists" },
  "tools/call": { find: findTool, namedBy: "name" },
  "resources/list": { find: findList("resources"), list: "resources", cache: "as lists" },
  "resources/templates/list": {
    find: findList("resourceTemplates"),
    list: "resourceTemplates",
    cache: "as lists",
  },
  "resources/read": { find: findResource, namedBy: "uri", cache: "never" },
  "prompts/list": { find: findList("prompts"), list: "prompts", cache: "as lists" },
  "prompts/get": { find: findPrompt, namedBy: "name" },
  "completion/complete": { find: findCompletion },

  "server/discover": { modern: discover, cache: "as lists" },
  "subscriptions/listen": { stream: listen },
  "tasks/get": { modern: getTask, session: inSession.getTask, namedBy: "taskId" },
  "tasks/update": { modern: updateTask, namedBy: "taskId" },
  "tasks/cancel": { modern: cancelTask, session: inSession.cancelTask, namedBy: "taskId" },

  initialize: { stateless: initialize, session: inSession.initializeAgain },
  ping: { stateless: ping, session: ping },
  "logging/setLevel": { stateless: setLevel, session: inSession.setLevel, sessionFirst: true },
  "resources/subscribe": { session: inSession.subscribe },
  "resources/unsubscribe": { session: inSession.unsubscribe },
  "tasks/list": { session: inSession.listTasks },
  "tasks/result": { session: inSession.awaitTask },
};

/** The row of a method; an empty one for an unknown name. */
export const rowOf = (method: string): Method =>
  Object.hasOwn(methods, method) ? methods[method]! : {};

/** Looks up the target of a request. Throws `insufficient_scope`; any other fault takes the place of the target. */
export async function find(request: Request, registry: Registry): Promise<FoundRequest> {
  const row = rowOf(request.method);
  if (row.find === undefined) return { ...request, row };
  try {
    return { ...request, row, target: await row.find(request.params, registry) };
  } catch (error) {
    const fault = Fault.from(error);
    if (fault.code === "insufficient_scope") throw fault;
    return { ...request, row, target: fault };
  }
}

/** The servlets' handler of this notification is called like a method; its params name the servlet. */
export const ROOTS_CHANGED = "notifications/roots/list_changed";

/** Looks up the target of a call that began before. Throws like `Method.find`. */
export function findAgain(
  { method, params }: { method: string; params: Json },
  registry: Registry,
): Promise<Target> {
  const search = method === ROOTS_CHANGED ? findRootsHandler : rowOf(method).find;
  if (search === undefined) throw methodNotFound(method);
  return search(params, registry);
}
