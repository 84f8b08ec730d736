import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import { isObject, type CallContext, type Json, type Lists, type Outcome } from "../model.ts";
import { TASKS_EXTENSION } from "./wire/extensions.ts";
import type { Registry } from "../servlets/registry.ts";
import type { CompletionRequest } from "../servlets/servlet.ts";

/** A method that both eras have: takes the request's params, gives its result in the newest shape. */
export type Method = (
  params: Json,
  call: CallContext,
  registry: Registry,
) => Promise<Outcome<Json>>;

/** A param that must be a string. Throws `invalid_params`. */
export function string(params: Json, key: string): string {
  const value = params[key];
  if (typeof value === "string") return value;
  throw new Fault("invalid_params", `params.${key} must be a string.`);
}

/** A URI, which servlets' templates and callers' scopes are held against. Throws `invalid_params`. */
export function uriIn(params: Json): string {
  const uri = string(params, "uri");
  if (uri.length <= limits.urlCharacters) return uri;
  throw new Fault("invalid_params", `A URI may have ${limits.urlCharacters} characters.`);
}

function object(params: Json, key: string): Json {
  const value = params[key] ?? {};
  if (isObject(value)) return value;
  throw new Fault("invalid_params", `params.${key} must be an object.`);
}

function strings(params: Json, key: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(object(params, key))) {
    if (typeof value !== "string") {
      throw new Fault("invalid_params", `params.${key}.${name} must be a string.`);
    }
    found[name] = value;
  }
  return found;
}

/** One page of a list. Cursors hold where a page begins and how long the list was, so stale ones show. */
function page<K extends keyof Lists>(kind: K, whole: Lists[K], cursor: unknown): Json {
  const start = cursor === undefined ? 0 : startOf(cursor, kind, whole.length);
  const end = start + limits.pageItems;
  const items = start === 0 && end >= whole.length ? whole : whole.slice(start, end);
  if (end >= whole.length) return { [kind]: items };
  return { [kind]: items, nextCursor: btoa(`${kind}:${end}:${whole.length}`) };
}

/** What is written in a cursor; nothing where it is none of ours. */
export function cursorText(cursor: unknown): string {
  try {
    return atob(String(cursor));
  } catch {
    return "";
  }
}

function startOf(cursor: unknown, kind: string, length: number): number {
  const [, of, start, before] = /^(\w+):(\d+):(\d+)$/.exec(cursorText(cursor)) ?? [];
  if (of !== kind || Number(before) !== length || Number(start) >= length) {
    throw new Fault("invalid_params", "The cursor is unknown or stale: list again without one.");
  }
  return Number(start);
}

const list =
  (kind: keyof Lists): Method =>
  async ({ cursor }, _call, registry) =>
    page(kind, (await registry.catalog()).lists[kind], cursor);

function completionRequest(params: Json): CompletionRequest {
  const ref = object(params, "ref");
  const argument = object(params, "argument");
  const given = object(params, "context");
  const context =
    given["arguments"] === undefined ? {} : { context: { arguments: strings(given, "arguments") } };
  const about = {
    argument: { name: string(argument, "name"), value: string(argument, "value") },
    ...context,
  };
  switch (ref["type"]) {
    case "ref/prompt":
      return { ref: { type: "ref/prompt", name: string(ref, "name") }, ...about };
    case "ref/resource":
      return { ref: { type: "ref/resource", uri: uriIn(ref) }, ...about };
    default:
      throw new Fault("invalid_params", "params.ref.type must be ref/prompt or ref/resource.");
  }
}

/** https://modelcontextprotocol.io/specification/2026-07-28/server */
export const methods: Readonly<Record<string, Method>> = {
  "tools/list": list("tools"),
  "resources/list": list("resources"),
  "resources/templates/list": list("resourceTemplates"),
  "prompts/list": list("prompts"),
  "tools/call": (params, call, registry) =>
    registry.callTool(string(params, "name"), object(params, "arguments"), call),
  "resources/read": (params, call, registry) => registry.readResource(uriIn(params), call),
  "prompts/get": (params, call, registry) =>
    registry.getPrompt(string(params, "name"), strings(params, "arguments"), call),
  "completion/complete": (params, call, registry) =>
    registry.complete(completionRequest(params), call),
};

/** What servlets are told by calls that have no answer; of `servlet`, the name. */
export const ROOTS_CHANGED = "notifications/roots/list_changed";
export const notified: Readonly<Record<string, Method>> = {
  [ROOTS_CHANGED]: (params, call, registry) =>
    registry.rootsChanged(string(params, "servlet"), call),
};

/** Which features are served, for what declares them. `listens`: clients can hear of changes; `tasks`: calls can become tasks. */
export async function capabilities(
  registry: Registry,
  { listens = false, tasks = false }: { listens?: boolean; tasks?: boolean } = {},
): Promise<Json> {
  const { lists } = await registry.catalog();
  const offersResources =
    lists.resources.length > 0 ||
    lists.resourceTemplates.length > 0 ||
    registry.servlets.some((one) => registry.servlet(one).reads);
  const listChanged = listens ? { listChanged: true } : {};
  return {
    tools: listChanged,
    ...(offersResources
      ? { resources: { ...listChanged, ...(listens ? { subscribe: true } : {}) } }
      : {}),
    ...(lists.prompts.length > 0 ? { prompts: listChanged } : {}),
    ...(registry.servlets.some((one) => registry.servlet(one).completes)
      ? { completions: {} }
      : {}),
    logging: {},
    ...(tasks ? { extensions: { [TASKS_EXTENSION]: {} } } : {}),
  };
}
