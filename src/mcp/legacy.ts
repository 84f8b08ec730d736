import { Fault, rpcError, type RpcError } from "../errors.ts";
import { limits } from "../limits.ts";
import { isObject, Suspended } from "../model.ts";
import type { CallContext, ContentBlock, Json, Tool } from "../model.ts";
import type { Registry } from "../servlets/registry.ts";
import { changes } from "./changes.ts";
import { LEGACY_VERSIONS } from "./classify.ts";
import { declined } from "./declined.ts";
import type { Exchange } from "./exchange.ts";
import {
  decode,
  errorMessage,
  idOf,
  resultMessage,
  type Message,
  type Request,
} from "./message.ts";
import { capabilities, methods, type Method } from "./methods.ts";
import { isLoggingLevel, notices, progressTokenOf } from "./notices.ts";
import { respond, type Reply, type Talk } from "./reply.ts";

/**
 * Protocols 2024-11-05 to 2025-11-25, for clients without a session: each request is answered by itself.
 * https://modelcontextprotocol.io/specification/2025-11-25
 */
export async function handleLegacy(
  body: unknown,
  version: string,
  exchange: Exchange,
): Promise<Response> {
  const bodies = batchOf(body, version);
  const messages = bodies.map((one) => readable(one));
  const asksNothing = messages.every((one) => !("error" in one) && one.kind !== "request");
  if (asksNothing) return new Response(null, { status: 202 });
  const single = messages[0];
  if (!Array.isArray(body) && single !== undefined && "error" in single) throw single.error;

  return respond(exchange.accepts, exchange.leaving, async (talk): Promise<Reply> => {
    const replies = await Promise.all(
      messages.map(async (message) => {
        if ("error" in message) return errorMessage(message.id, message.error);
        return message.kind === "request" ? answer(message, version, exchange, talk) : undefined;
      }),
    );
    const answered = replies.filter((reply) => reply !== undefined);
    return { status: 200, body: answered, isBatch: Array.isArray(body) };
  });
}

/** https://modelcontextprotocol.io/specification/2025-03-26/basic#batching */
function batchOf(body: unknown, version: string): unknown[] {
  if (!Array.isArray(body)) return [body];
  if (version !== "2025-03-26" && version !== "2024-11-05") {
    throw new Fault("invalid_request", `Batches are not part of protocol version ${version}.`);
  }
  if (body.length === 0) throw new Fault("invalid_request", "A batch must not be empty.");
  if (body.length > limits.batchMessages) {
    throw new Fault(
      "invalid_request",
      `A batch may have ${limits.batchMessages} messages at most.`,
    );
  }
  return body;
}

/** A message of a batch, or what is wrong with it: the others are answered all the same. */
function readable(body: unknown): Message | { id: ReturnType<typeof idOf>; error: Fault } {
  try {
    return decode(body);
  } catch (error) {
    return { id: idOf(body), error: Fault.from(error) };
  }
}

async function answer(
  request: Request,
  version: string,
  exchange: Exchange,
  { send, signal }: Talk,
): Promise<string> {
  const { id, method, params } = request;
  const meta = isObject(params["_meta"]) ? params["_meta"] : {};
  const call: CallContext = {
    id,
    meta,
    principal: exchange.principal,
    client: { protocolVersion: version, capabilities: {} },
    signal,
    notify: changes(
      exchange,
      notices({ progressToken: progressTokenOf(meta), logLevel: "debug" }, send),
    ),
    ask: declined,
  };
  try {
    const own = Object.hasOwn(ownMethods, method) ? ownMethods[method] : undefined;
    if (own !== undefined) return resultMessage(id, JSON.stringify(await own(params, exchange)));
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (run === undefined) throw new Fault("method_not_found", `Method not found: ${method}`);
    const result = older(await settled(run, params, call, exchange.registry), version);
    return resultMessage(id, JSON.stringify(result));
  } catch (error) {
    return errorMessage(id, legacyError(method, exchange.report(error)));
  }
}

/** A servlet that returns what it asks is told that nobody answers, and called again. */
async function settled(
  run: Method,
  params: Json,
  call: CallContext,
  registry: Registry,
): Promise<Json> {
  let context = call;
  for (let round = 0; round < limits.declinedRounds; round++) {
    const outcome = await run(params, context, registry);
    if (!(outcome instanceof Suspended)) return outcome;
    if (outcome.reason.kind !== "input") break;
    const responses = await declined(outcome.reason.asks);
    const state = outcome.state === undefined ? {} : { state: outcome.state };
    context = { ...call, input: { responses, ...state } };
  }
  throw new Fault("servlet_failed", "The servlet keeps asking a client that cannot be asked.");
}

type OwnMethod = (params: Json, exchange: Exchange) => Promise<Json> | Json;

/** What only these revisions have. */
const ownMethods: Readonly<Record<string, OwnMethod>> = {
  ping: () => ({}),
  initialize: async ({ protocolVersion }, { server, registry }) => ({
    protocolVersion: LEGACY_VERSIONS.includes(String(protocolVersion))
      ? protocolVersion
      : LEGACY_VERSIONS[0],
    capabilities: await capabilities(registry),
    serverInfo: server.info,
    ...(server.instructions === undefined ? {} : { instructions: server.instructions }),
  }),
  /** Without a session there is nobody to remember the level for: calls send all their logs. */
  "logging/setLevel": ({ level }) => {
    if (!isLoggingLevel(level))
      throw new Fault("invalid_params", "params.level is not a log level.");
    return {};
  },
};

/** A missing resource has a code of its own: https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling */
function legacyError(method: string, fault: Fault): RpcError {
  const error = rpcError(fault);
  return method === "resources/read" && error.code === -32602 ? { ...error, code: -32002 } : error;
}

/** A result without what clients of this revision refuse. */
function older(result: Json, version: string): Json {
  let shaped = result;
  if (Array.isArray(shaped["tools"])) {
    shaped = { ...shaped, tools: (shaped["tools"] as Tool[]).map(olderTool) };
  }
  if ("structuredContent" in shaped && !isObject(shaped["structuredContent"])) {
    const { structuredContent: _, ...rest } = shaped;
    shaped = rest;
  }
  if (Array.isArray(shaped["content"]) && version < "2025-06-18") {
    const content = (shaped["content"] as ContentBlock[]).map((block) =>
      olderBlock(block, version),
    );
    shaped = { ...shaped, content };
  }
  return shaped;
}

/** Only objects can be structured output there, and a client drops the whole list for another schema. */
function olderTool(tool: Tool): Tool {
  if (tool.outputSchema === undefined || tool.outputSchema["type"] === "object") return tool;
  const { outputSchema: _, ...rest } = tool;
  return rest;
}

/** Links came with 2025-06-18, audio with 2025-03-26. */
function olderBlock(block: ContentBlock, version: string): ContentBlock {
  if (block.type === "resource_link") return { type: "text", text: `${block.name}: ${block.uri}` };
  if (block.type === "audio" && version < "2025-03-26") {
    return { type: "text", text: `(audio, ${block.mimeType})` };
  }
  return block;
}
