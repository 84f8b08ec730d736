import { Fault, httpStatus } from "../errors.ts";
import { limits } from "../limits.ts";
import {
  isObject,
  type Ask,
  type CallContext,
  type Client,
  type Json,
  type Tool,
} from "../model.ts";
import { MODERN_VERSIONS, LEGACY_VERSIONS, PROTOCOL_VERSION_META } from "./classify.ts";
import { declined } from "./declined.ts";
import { checkHeaders, checkParamHeaders, checkVersionHeader } from "./headers.ts";
import { decode, errorMessage, resultMessage, type Request } from "./message.ts";
import { capabilities, methods } from "./methods.ts";
import { isLoggingLevel, notices, progressTokenOf } from "./notices.ts";
import { respond } from "./reply.ts";
import type { Exchange } from "./exchange.ts";

/** Protocol 2026-07-28: every request by itself. https://modelcontextprotocol.io/specification/2026-07-28 */

const META = "io.modelcontextprotocol/";

/** Methods whose results clients may keep. */
const CACHED: Readonly<Record<string, true>> = {
  "server/discover": true,
  "tools/list": true,
  "resources/list": true,
  "resources/templates/list": true,
  "prompts/list": true,
  "resources/read": true,
};

export async function handleModern(
  body: unknown,
  version: string,
  exchange: Exchange,
): Promise<Response> {
  const message = decode(body);
  if (message.kind === "response") {
    throw new Fault(
      "invalid_request",
      "Responses are not sent to a server of this protocol version.",
    );
  }
  checkVersionHeader(exchange.headers, version);
  if (!MODERN_VERSIONS.includes(version)) {
    throw new Fault("unsupported_version", `Protocol version ${version} is not served.`, {
      data: { supported: [...MODERN_VERSIONS, ...LEGACY_VERSIONS], requested: version },
    });
  }
  if (message.kind === "notification") return new Response(null, { status: 202 });
  const { client, meta } = clientOf(message, version);
  checkHeaders(exchange.headers, message.method, message.params);
  return respond(exchange.accepts, exchange.leaving, async ({ send, signal }) => {
    try {
      const logLevel = meta[`${META}logLevel`];
      if (logLevel !== undefined && !isLoggingLevel(logLevel)) {
        throw new Fault("invalid_params", `params._meta["${META}logLevel"] is not a log level.`);
      }
      const result = await answer(message, exchange, {
        id: message.id,
        meta,
        principal: exchange.principal,
        client,
        signal,
        notify: notices({ progressToken: progressTokenOf(meta), logLevel }, send),
        ask: (asked) => ask(asked, client),
      });
      return { status: 200, body: resultMessage(message.id, result) };
    } catch (error) {
      const fault = exchange.report(error);
      return { status: httpStatus(fault), body: errorMessage(message.id, fault) };
    }
  });
}

/** The result of a request, as JSON text. */
async function answer(
  { method, params }: Request,
  { server, registry, headers }: Exchange,
  call: CallContext,
): Promise<string> {
  let result: Json;
  if (method === "server/discover") {
    result = {
      supportedVersions: [...MODERN_VERSIONS, ...LEGACY_VERSIONS],
      capabilities: await capabilities(registry),
      ...(server.instructions === undefined ? {} : { instructions: server.instructions }),
    };
  } else {
    const run = methods[method];
    if (run === undefined || !Object.hasOwn(methods, method)) {
      throw new Fault("method_not_found", `Method not found: ${method}`);
    }
    if (method === "tools/call") {
      const entry = (await registry.catalog()).tools.get(String(params["name"]));
      if (entry !== undefined) checkParamHeaders(headers, entry.tool, params["arguments"]);
    }
    result = await run(params, call, registry);
  }
  const list = result[LISTS[method] ?? ""];
  const known = Array.isArray(list) ? written.get(list) : undefined;
  if (known !== undefined) return known;
  const cache = CACHED[method] ? cacheOf(method, registry.isDynamic) : undefined;
  const text = JSON.stringify({
    ...cache,
    ...result,
    ...(method === "tools/list" ? { tools: toolsWithoutExecution(result) } : {}),
    resultType: "complete",
    _meta: {
      ...(isObject(result["_meta"]) ? result["_meta"] : {}),
      [`${META}serverInfo`]: server.info,
    },
  });
  if (Array.isArray(list)) written.set(list, text);
  return text;
}

/** Where the lists are in the results of the methods that give them. */
const LISTS: Readonly<Record<string, string>> = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
};

/** Results by the list in them: it is the same for everybody, so its text is written once. */
const written = new WeakMap<unknown[], string>();

/** https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching */
function cacheOf(method: string, isDynamic: boolean): Json {
  if (method === "resources/read") return { ttlMs: 0, cacheScope: "private" };
  return { ttlMs: isDynamic ? limits.dynamicListMs : limits.listTtlMs, cacheScope: "public" };
}

/** `execution` is of the older revisions. */
function toolsWithoutExecution({ tools }: Json): unknown {
  return (tools as Tool[]).map((tool) => {
    if (tool.execution === undefined) return tool;
    const { execution: _, ...rest } = tool;
    return rest;
  });
}

/** What every request says of its client. Throws `invalid_meta`. */
function clientOf({ params }: Request, version: string): { client: Client; meta: Json } {
  const meta = params["_meta"];
  const declared = isObject(meta) ? meta[`${META}clientCapabilities`] : undefined;
  if (!isObject(meta) || !isObject(declared)) {
    throw new Fault(
      "invalid_meta",
      `params._meta must have "${PROTOCOL_VERSION_META}" and "${META}clientCapabilities".`,
    );
  }
  const info = meta[`${META}clientInfo`];
  const text = (key: string) =>
    isObject(info) && typeof info[key] === "string" ? { [key]: info[key] } : {};
  const client = {
    protocolVersion: version,
    capabilities: declared,
    ...text("name"),
    ...text("version"),
  };
  return { client, meta };
}

/** The capability that a client must declare in order to be asked. */
const CAPABILITY: Record<Ask["method"], string> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/**
 * A client that did not declare what a servlet asks for is told so, as the protocol demands. One that
 * did cannot be asked in the middle of a call yet.
 */
function ask({ method, params }: Ask, client: Client): Promise<Json> {
  const name = CAPABILITY[method];
  if (client.capabilities[name] !== undefined) return declined({ method, params });
  const data = { requiredCapabilities: { [name]: {} } };
  const message = `This call needs a client with the capability ${name}.`;
  return Promise.reject(new Fault("missing_capability", message, { data }));
}
