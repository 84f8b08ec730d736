/** Protocol 2026-07-28, without sessions. https://modelcontextprotocol.io/specification/2026-07-28 */
import { Fault, report } from "../../core/errors.ts";
import { limits } from "../limits.ts";
import type { ClientDescription } from "../../core/call-context.ts";
import { isObject, type Json, type Tool } from "../../core/model.ts";
import type { Registry } from "../../servlets/registry.ts";
import { afterSending, type UnrecordedCall } from "../../core/unknown-outcome.ts";
import type { FoundRequest, Incoming, Method } from "../method.ts";
import { changes } from "../../calls/changes.ts";
import { LEGACY_VERSIONS, MODERN_VERSIONS, PROTOCOL_VERSION_META } from "../wire/classify.ts";
import type { Exchange } from "../method.ts";
import { traceIn, traceInHeaders, type Trace } from "../../observe/trace-context.ts";
import { inRequestSpan, type Span } from "../../observe/spans.ts";
import { checkHeaders, checkVersionHeader } from "../wire/headers.ts";
import {
  encodedResultMessage,
  methodNotFound,
  resultMessage,
  type RpcRequest,
} from "../wire/message.ts";
import { isLoggingLevel, LOGGING_LEVELS, notices, progressTokenOf } from "../wire/notifications.ts";
import { Answering, failedReply, type Reply } from "../wire/reply.ts";
import { mcpSpan, recordFault, recordResult } from "../../observe/request-span.ts";
import { describedClient } from "../wire/params.ts";
import { lookedUp } from "../methods.ts";
import { answerCall, type ModernCall } from "./call.ts";
import { resumes } from "./resume.ts";
import { demandTasks } from "./tasks.ts";

const META = "io.modelcontextprotocol/";

export async function handleModern(
  message: Incoming,
  version: string,
  exchange: Exchange,
): Promise<Response> {
  // Notifications have no effect here, and some clients omit parts that requests must have.
  if (
    message.kind === "notification" ||
    (message.kind === "unreadable" && message.isNotification)
  ) {
    return new Response(null, { status: 202 });
  }
  if (message.kind === "unreadable") throw message.fault;
  if (message.kind === "response") {
    throw new Fault(
      "invalid_request",
      "The body is a JSON-RPC response. This protocol version takes requests and notifications only.",
    );
  }
  checkVersionHeader(exchange.versionHeader, version);
  if (!MODERN_VERSIONS.includes(version)) {
    throw new Fault(
      "unsupported_version",
      `Unsupported protocol version ${version}. Use one of data.supported.`,
      { data: { supported: [...MODERN_VERSIONS, ...LEGACY_VERSIONS], requested: version } },
    );
  }
  const { client, meta } = clientOf(message, version, exchange);
  checkHeaders(exchange.headers, message);
  const received = traceIn(meta, traceInHeaders(exchange.headers));
  const start = () => mcpSpan({ ...message, version });
  const { stream } = message.row;
  if (stream) return inRequestSpan(received, start, () => stream(message, exchange, client));
  const answering = new Answering(exchange);
  const reply = replyTo(message, exchange, { client, meta, answering });
  return answering.response(inRequestSpan(received, start, reply));
}

interface About {
  client: ClientDescription;
  meta: Json;
  answering: Answering;
}

/** Makes the reply to a request. Never throws. */
const replyTo =
  (request: FoundRequest, exchange: Exchange, about: About) =>
  async (trace: Trace | undefined, span: Span): Promise<Reply> => {
    const { id, method, params, row, entry } = request;
    const sender: UnrecordedCall = {};
    try {
      if (entry instanceof Fault && !resumes(params)) throw entry;
      const call = callOf(request, exchange, { ...about, trace, sender });
      const { capabilities } = call.client;
      const { accepts, leaving } = exchange;
      const reader = { capabilities, takesStream: accepts.sse, leaving };
      const result = await (entry !== undefined
        ? answerCall(request, exchange, call)
        : (lookedUp(request, exchange.registry, reader) ??
          row.modern?.(request, exchange, call.client)));
      if (result === undefined) throw methodNotFound(method);
      // A retry may get the task of an earlier request, whose client supports tasks.
      if (result["resultType"] === "task") demandTasks(call.client);
      recordResult(span, result);
      const list = row.list && (result[row.list] as unknown[]);
      if (list === undefined)
        return { status: 200, body: resultMessage(id, resultText(row, exchange, result)) };
      const encoded = encodedLists.getOrInsertComputed(list, () =>
        encoder.encode(resultText(row, exchange, result)),
      );
      return { status: 200, body: encodedResultMessage(id, encoded) };
    } catch (error) {
      // A request that resumes a state can be repeated without repeating its side effects.
      const goesOn = params["requestState"] !== undefined;
      const fault = report(goesOn ? error : afterSending(sender, error));
      recordFault(span, fault);
      return failedReply(fault, id);
    }
  };

/** The context of a request's call. Throws `invalid_params`. */
function callOf(
  { id }: RpcRequest,
  exchange: Exchange,
  about: About & { trace: Trace | undefined; sender: UnrecordedCall },
): ModernCall {
  const { client, meta, trace, sender } = about;
  const { send, signal } = about.answering;
  const logLevel = meta[`${META}logLevel`];
  if (logLevel !== undefined && !isLoggingLevel(logLevel)) {
    throw new Fault(
      "invalid_params",
      `params._meta["${META}logLevel"] is not a log level. Use one of ${LOGGING_LEVELS.join(", ")}.`,
    );
  }
  return {
    id,
    meta,
    principal: exchange.principal,
    client,
    trace,
    signal,
    sending() {
      sender.hasSent = true;
    },
    notify: changes(exchange, notices({ progressToken: progressTokenOf(meta), logLevel }, send)),
  };
}

const encoder = new TextEncoder();

/**
 * List results as JSON in UTF-8, by list. A list is the same for all callers, so it is serialized and encoded once:
 * encoding a list with characters beyond Latin-1 takes as long as the rest of the request.
 */
const encodedLists = new WeakMap<unknown[], Uint8Array>();

/** A result as JSON text, with the fields that the protocol revision adds. */
function resultText(row: Method, { introduction, registry }: Exchange, result: Json): string {
  return JSON.stringify({
    ...(result["resultType"] === undefined && cacheHints(row, registry)),
    resultType: "complete",
    ...result,
    ...(row.list === "tools" && { tools: toolsWithoutExecution(result) }),
    _meta: {
      ...(isObject(result["_meta"]) ? result["_meta"] : {}),
      [`${META}serverInfo`]: introduction.info,
    },
  });
}

/** https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching */
function cacheHints(
  { cache, list }: Method,
  { isDynamic, isPersonal, hasCallersTools, access: { isNarrow } }: Registry,
): Json | undefined {
  if (cache === undefined) return undefined;
  const isCallers = isPersonal || (list === "tools" && hasCallersTools);
  if (cache === "never" || isCallers) return { ttlMs: 0, cacheScope: "private" };
  const ttlMs = isDynamic ? limits.dynamicListMs : limits.listTtlMs;
  return { ttlMs, cacheScope: isNarrow ? "private" : "public" };
}

/** Drops `execution`, which only older revisions have. */
function toolsWithoutExecution({ tools }: Json): unknown {
  return (tools as Tool[]).map((tool) => {
    if (tool.execution === undefined) return tool;
    const { execution: _, ...rest } = tool;
    return rest;
  });
}

/** The client as the request's `_meta` describes it. Throws `invalid_meta`. */
function clientOf(
  { params }: RpcRequest,
  version: string,
  exchange: Exchange,
): { client: ClientDescription; meta: Json } {
  const meta = params["_meta"];
  const capabilities = isObject(meta) ? meta[`${META}clientCapabilities`] : undefined;
  if (!isObject(meta) || !isObject(capabilities)) {
    throw new Fault(
      "invalid_meta",
      `params._meta must have "${PROTOCOL_VERSION_META}" and "${META}clientCapabilities".`,
    );
  }
  const clientInfo = meta[`${META}clientInfo`];
  return { client: describedClient(version, capabilities, { clientInfo, exchange }), meta };
}
