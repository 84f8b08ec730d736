import {
  completionIn,
  listPage,
  promptIn,
  resourceIn,
  toolIn,
  type ListReader,
} from "./wire/params.ts";
import { Fault } from "../core/errors.ts";
import type { Entry, Registry } from "../servlets/registry.ts";
import { rowIn, type Exchange, type FoundRequest, type MethodRow, type Methods } from "./method.ts";
import { initialize, ping, setLevel } from "./legacy/introduction.ts";
import { methodNotFound, type RpcRequest } from "./wire/message.ts";
import type { ClientDescription } from "../core/call-context.ts";
import type { Json } from "../core/model.ts";
import { capabilities, instructionsFor } from "./wire/capabilities.ts";
import { LEGACY_VERSIONS, MODERN_VERSIONS } from "./wire/classify.ts";

/** The methods of every server. https://modelcontextprotocol.io/specification/2026-07-28/server */
const own: Methods = {
  "tools/list": { list: "tools", cache: "as lists" },
  "tools/call": { ref: toolIn, namedBy: "name" },
  "resources/list": { list: "resources", cache: "as lists" },
  "resources/templates/list": { list: "resourceTemplates", cache: "as lists" },
  "resources/read": { ref: resourceIn, namedBy: "uri", cache: "never" },
  "prompts/list": { list: "prompts", cache: "as lists" },
  "prompts/get": { ref: promptIn, namedBy: "name" },
  "completion/complete": { ref: completionIn },

  "server/discover": { modern: discover, cache: "as lists" },

  initialize: { stateless: initialize },
  ping: { stateless: ping, session: ping },
  "logging/setLevel": { stateless: setLevel },
};

/** The methods of every server, with those of features. */
export function methodsWith(added: readonly Methods[]): Methods {
  const all: Record<string, MethodRow> = { ...own };
  for (const [name, row] of added.flatMap((one) => Object.entries(one)))
    all[name] = { ...all[name], ...row };
  return all;
}

/**
 * Looks up what a request names, synchronously if known. Throws `insufficient_scope`; any other fault is returned in
 * place of the entry.
 */
export function find(
  request: RpcRequest,
  { registry, methods: known }: Pick<Exchange, "registry" | "methods">,
): FoundRequest | Promise<FoundRequest> {
  const row = rowIn(known, request.method);
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

/** Answers a request for a list or from the registry; undefined for other methods. */
export function lookedUp(
  { row, params }: FoundRequest,
  registry: Registry,
  reader: ListReader,
): Promise<Json> | undefined {
  if (row.list) return listPage(row.list, params, registry, reader);
  return row.look?.(params, registry);
}

/** The entry that a request calls. Throws the fault of the look-up, and `method_not_found`. */
export function calledEntry({ method, entry }: FoundRequest): Entry {
  if (entry === undefined) throw methodNotFound(method);
  if (entry instanceof Fault) throw entry;
  return entry;
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
    ...(await instructionsFor(introduction, registry, client.capabilities)),
  };
}
