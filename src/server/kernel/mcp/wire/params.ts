/** Readers of a request's params. They throw `invalid_params` that names the param. */
import { Fault } from "../../core/errors.ts";
import { limits } from "../limits.ts";
import { isObject, type Json, type Lists } from "../../core/model.ts";
import type { CallRef, CompletionRequest } from "../../calls/call-ref.ts";
import type { ClientDescription } from "../../core/call-context.ts";
import type { Exchange } from "../method.ts";
import { listsWithoutStream } from "../../servlets/catalog.ts";
import type { Registry } from "../../servlets/registry.ts";

export function stringParam(params: Json, key: string): string {
  const value = params[key];
  if (typeof value === "string") return value;
  throw new Fault("invalid_params", `params.${key} must be a string.`);
}

/** A URI of limited length, because it is matched against templates and scopes. */
export function uriIn(params: Json): string {
  const uri = stringParam(params, "uri");
  if (uri.length <= limits.urlCharacters) return uri;
  throw new Fault(
    "invalid_params",
    `The URI has ${uri.length} characters (limit ${limits.urlCharacters}). Send a shorter one.`,
  );
}

/** An object; an empty one if it is absent. */
function objectParam(params: Json, key: string): Json {
  const value = params[key] ?? {};
  if (isObject(value)) return value;
  throw new Fault("invalid_params", `params.${key} must be an object.`);
}

function stringMapParam(params: Json, key: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(objectParam(params, key))) {
    if (typeof value !== "string") {
      throw new Fault("invalid_params", `params.${key}.${name} must be a string.`);
    }
    found[name] = value;
  }
  return found;
}

/** The text in this server's base64 cursor; empty if the cursor is invalid. */
export function cursorText(cursor: unknown): string {
  try {
    return atob(String(cursor));
  } catch {
    return "";
  }
}

/**
 * A client as it describes itself; without `elicitation` if it is known to decline questions that its user has not seen,
 * so that they are answered on a page.
 */
export function describedClient(
  protocolVersion: string,
  capabilities: Json,
  { clientInfo, exchange }: { clientInfo: unknown; exchange: Exchange },
): ClientDescription & { protocolVersion: string } {
  const { name, version } = isObject(clientInfo) ? clientInfo : {};
  const client: ReturnType<typeof describedClient> = { protocolVersion, capabilities };
  if (typeof name === "string") client.name = name;
  if (typeof version === "string") client.version = version;
  const { pages, prefersLinks, headers } = exchange;
  if (capabilities["elicitation"] === undefined || pages === undefined) return client;
  if (prefersLinks?.(client.name, headers) !== true) return client;
  const { elicitation: _, ...others } = capabilities;
  return { ...client, capabilities: others };
}

/** Readers of the reference in a request's params, one for each kind. All throw `invalid_params`. */

export const toolIn = (params: Json): CallRef => ({
  kind: "tool",
  name: stringParam(params, "name"),
  input: objectParam(params, "arguments"),
});

export const resourceIn = (params: Json): CallRef => ({ kind: "resource", name: uriIn(params) });

export const promptIn = (params: Json): CallRef => ({
  kind: "prompt",
  name: stringParam(params, "name"),
  input: stringMapParam(params, "arguments"),
});

export function completionIn(params: Json): CallRef {
  const input = completionRequest(params);
  const { ref } = input;
  return { kind: "completion", name: ref.type === "ref/prompt" ? ref.name : ref.uri, input };
}

/** Properties of the client that lists depend on. */
export interface ListReader extends Pick<ClientDescription, "capabilities"> {
  takesStream: boolean;
  /** Called if a list has to wait; see `Exchange.leaving`. */
  leaving?(): unknown;
}

/** One page of a list for this client. Throws `invalid_params` for an unknown cursor. */
export async function listPage(
  kind: keyof Lists,
  { cursor }: Json,
  registry: Registry,
  { capabilities, takesStream, leaving }: ListReader,
): Promise<Json> {
  const listed =
    kind === "tools" && registry.hasCallersTools
      ? registry.listed()
      : (registry.known ?? registry.catalog());
  if (listed instanceof Promise) leaving?.();
  const catalog = listed instanceof Promise ? await listed : listed;
  const lists = takesStream ? catalog.lists : listsWithoutStream(catalog);
  return pageOf(kind, registry.shown(lists, capabilities)[kind], cursor);
}

/**
 * One page of a list, as the member `kind` of the result. A cursor holds the start of its page and the length of the
 * list, so that a stale one is detected: it throws `invalid_params`.
 */
export function pageOf(kind: string, whole: readonly unknown[], cursor: unknown): Json {
  const start = cursor === undefined ? 0 : startOf(cursor, kind, whole.length);
  const end = start + limits.pageItems;
  const items = start === 0 && end >= whole.length ? whole : whole.slice(start, end);
  if (end >= whole.length) return { [kind]: items };
  return { [kind]: items, nextCursor: btoa(`${kind}:${end}:${whole.length}`) };
}

function startOf(cursor: unknown, kind: string, length: number): number {
  const [, of, start, before] = /^(\w+):(\d+):(\d+)$/.exec(cursorText(cursor)) ?? [];
  if (of !== kind || Number(before) !== length || Number(start) >= length) {
    throw new Fault("invalid_params", "The cursor is unknown or stale. List again without one.");
  }
  return Number(start);
}

function completionRequest(params: Json): CompletionRequest {
  const ref = objectParam(params, "ref");
  const argument = objectParam(params, "argument");
  const given = objectParam(params, "context");
  const context =
    given["arguments"] === undefined
      ? {}
      : { context: { arguments: stringMapParam(given, "arguments") } };
  const about = {
    argument: { name: stringParam(argument, "name"), value: stringParam(argument, "value") },
    ...context,
  };
  switch (ref["type"]) {
    case "ref/prompt":
      return { ref: { type: "ref/prompt", name: stringParam(ref, "name") }, ...about };
    case "ref/resource":
      return { ref: { type: "ref/resource", uri: uriIn(ref) }, ...about };
    default:
      throw new Fault("invalid_params", "params.ref.type must be ref/prompt or ref/resource.");
  }
}
