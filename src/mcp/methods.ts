import { completionIn, promptIn, resourceIn, toolIn } from "./wire/params.ts";
import { Fault } from "../core/errors.ts";
import type { Entry, Registry } from "../servlets/registry.ts";
import type { FoundRequest, Method, MethodName, MethodRow } from "./method.ts";
import { initialize, ping, setLevel } from "./legacy/introduction.ts";
import * as inSession from "./legacy/session-methods.ts";
import { listen } from "./modern/listen.ts";
import { cancelTask, getTask, updateTask } from "./modern/tasks.ts";
import type { RpcRequest } from "./wire/message.ts";
import type { ClientDescription } from "../core/call-context.ts";
import type { Json } from "../core/model.ts";
import { capabilities } from "./wire/capabilities.ts";
import { getSkill, listSkills, readDirectory, withSkillsNamed } from "./wire/skills.ts";
import { LEGACY_VERSIONS, MODERN_VERSIONS } from "./wire/classify.ts";
import type { Exchange } from "./wire/exchange.ts";

/** Every method of every revision. https://modelcontextprotocol.io/specification/2026-07-28/server */
const methods: Readonly<Record<MethodName, MethodRow>> = {
  "tools/list": { list: "tools", cache: "as lists" },
  "tools/call": { ref: toolIn, namedBy: "name" },
  "resources/list": { list: "resources", cache: "as lists" },
  "resources/templates/list": { list: "resourceTemplates", cache: "as lists" },
  "resources/read": { ref: resourceIn, namedBy: "uri", cache: "never" },
  "prompts/list": { list: "prompts", cache: "as lists" },
  "prompts/get": { ref: promptIn, namedBy: "name" },
  "completion/complete": { ref: completionIn },
  "skills/list": { look: listSkills, cache: "as lists" },
  "skills/get": { look: getSkill, cache: "as lists" },
  "resources/directory/read": { look: readDirectory },

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
export const rowOf = (method: string): Method => (isMethod(method) ? methods[method] : {});

const isMethod = (name: string): name is MethodName => Object.hasOwn(methods, name);

/**
 * Looks up what a request names; at once where that is known. Throws `insufficient_scope`; any other fault takes the place of
 * the entry.
 */
export function find(
  request: RpcRequest,
  registry: Registry,
): FoundRequest | Promise<FoundRequest> {
  const row = rowOf(request.method);
  if (row.ref === undefined) return { ...request, row };
  const found = (entry: Entry): FoundRequest => ({ ...request, row, entry });
  const failed = (error: unknown): FoundRequest => {
    const fault = Fault.from(error);
    if (fault.code === "insufficient_scope") throw fault;
    return { ...request, row, entry: fault };
  };
  try {
    const entry = registry.resolve(row.ref(request.params));
    return entry instanceof Promise ? entry.then(found, failed) : found(entry);
  } catch (error) {
    return failed(error);
  }
}

/** https://modelcontextprotocol.io/specification/2026-07-28/server/discover */
async function discover(
  _request: RpcRequest,
  { introduction, registry, hub, tasks }: Exchange,
  client: ClientDescription,
): Promise<Json> {
  return {
    supportedVersions: [...MODERN_VERSIONS, ...LEGACY_VERSIONS],
    capabilities: await capabilities(registry, client.capabilities, {
      listens: hub !== undefined,
      tasks: tasks !== undefined,
      isModern: true,
    }),
    ...(await withSkillsNamed(introduction, registry, client.capabilities)),
  };
}
