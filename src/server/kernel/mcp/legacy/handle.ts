import { Replies } from "./replies.ts";
import { Fault, report } from "../../core/errors.ts";
import { limits } from "../limits.ts";
import { isObject, type Json } from "../../core/model.ts";
import { traceIn, traceInHeaders, type Trace } from "../../observe/trace-context.ts";
import { inRequestSpan, type Span } from "../../observe/spans.ts";
import { afterSending, type UnrecordedCall } from "../../core/unknown-outcome.ts";
import { changes } from "../../calls/changes.ts";
import type { Exchange, FoundRequest, Incoming, LegacyPost } from "../method.ts";
import { aboutOf } from "../../calls/shown-arguments.ts";
import { linkOf, NOBODY, personWay } from "../../asks/links.ts";
import { errorMessage, resultMessage } from "../wire/message.ts";
import { calledEntry, lookedUp } from "../methods.ts";
import { notices, progressTokenOf } from "../wire/notifications.ts";
import { Answering, type Reply } from "../wire/reply.ts";
import { mcpSpan, recordFault, recordResult } from "../../observe/request-span.ts";
import { failingAsker, runToEnd } from "./askers.ts";
import { olderResult, olderError, olderNotice } from "./shapes.ts";

/**
 * Protocols 2024-11-05 to 2025-11-25. Messages of a session go to its object; a request without a session is
 * answered here.
 * https://modelcontextprotocol.io/specification/2025-11-25
 */
export async function handleLegacy(
  { body, incoming, session }: LegacyPost,
  version: string,
  exchange: Exchange,
): Promise<Response> {
  const { sessions } = exchange;
  if (session !== undefined) return sessions!.post({ body, incoming, session }, exchange);
  const isBatch = Array.isArray(body);
  if (isBatch) checkBatch(body, version);
  const single = isBatch ? undefined : incoming[0];
  if (single?.kind === "unreadable") throw single.fault;
  if (sessions !== undefined) {
    if (incoming.some(needsSession)) throw noSession();
    if (single?.kind === "request" && single.method === "initialize") {
      return sessions.begin(single, exchange);
    }
  }
  if (incoming.every(({ kind }) => kind !== "request" && kind !== "unreadable")) {
    return new Response(null, { status: 202 });
  }
  const answering = new Answering(exchange);
  const replyToAll = async (): Promise<Reply> => {
    const replies = new Replies(isBatch);
    // One after the other, because concurrent large results could not be refused in time.
    for (const message of incoming) {
      if (message.kind === "unreadable") {
        replies.add(errorMessage(message.id, message.fault), message.id);
      }
      if (message.kind !== "request") continue;
      const meta = isObject(message.params["_meta"]) ? message.params["_meta"] : {};
      const start = () => mcpSpan({ ...message, version });
      const work = (trace: Trace | undefined, span: Span) =>
        answer(message, version, exchange, { answering, meta, trace, span });
      const received = traceIn(meta, traceInHeaders(exchange.headers));
      const reply = replies.isFull ? "" : await inRequestSpan(received, start, work);
      replies.add(reply, message.id);
    }
    return { status: 200, body: replies.all, isBatch };
  };
  return answering.response(replyToAll());
}

export const noSession = () =>
  new Fault(
    "invalid_request",
    "This method needs a session. Send initialize first, then its Mcp-Session-Id with every request.",
  );

const needsSession = (message: Incoming): boolean =>
  message.kind === "response" ||
  (message.kind === "request" &&
    message.row.session !== undefined &&
    (message.row.stateless === undefined || message.row.sessionFirst === true));

/**
 * Throws `invalid_request` for an empty or too long batch, and for one in a version without batches.
 * https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 */
export function checkBatch(body: unknown[], version?: string): unknown[] {
  if (version !== undefined && version !== "2025-03-26" && version !== "2024-11-05") {
    throw new Fault(
      "invalid_request",
      `Batches are not part of protocol version ${version}. Send each message in its own request.`,
    );
  }
  if (body.length === 0)
    throw new Fault("invalid_request", "The batch is empty. Send at least one message.");
  if (body.length <= limits.batchMessages) return body;
  throw new Fault(
    "invalid_request",
    `The batch has ${body.length} messages (limit ${limits.batchMessages}). Send several batches.`,
  );
}

interface About {
  answering: Answering;
  meta: Json;
  trace: Trace | undefined;
  span: Span;
}

async function answer(
  request: FoundRequest,
  version: string,
  exchange: Exchange,
  { answering, meta, trace, span }: About,
): Promise<string> {
  const { id, method, params, row } = request;
  const { send, signal } = answering;
  const sender: UnrecordedCall = {};
  try {
    if (row.stateless) {
      return resultMessage(id, JSON.stringify(await row.stateless(params, exchange)));
    }
    const { accepts, leaving } = exchange;
    const reader = { ...NOBODY, takesStream: accepts.sse, leaving };
    const found = await lookedUp(request, exchange.registry, reader);
    if (found) return resultMessage(id, JSON.stringify(olderResult(found, version)));
    const entry = calledEntry(request);
    const wanted = { progressToken: progressTokenOf(meta), logLevel: "debug" } as const;
    const notify = notices(wanted, (message) => send(olderNotice(message, version)));
    const { principal, tasks, pages } = exchange;
    const client = { protocolVersion: version, ...NOBODY };
    const own = { id, meta, principal, client, trace, ref: entry.ref };
    const kept = { ...own, ...linkOf(pages, entry.tool) };
    const { tool } = entry;
    const hears = exchange.accepts.sse;
    const person = personWay(kept, { tasks, tool, hears, about: () => aboutOf(entry) });
    const context = {
      ...kept,
      signal,
      sending() {
        sender.hasSent = true;
      },
      notify: changes(exchange, notify),
      ask: failingAsker("no session"),
    };
    const result = await runToEnd(entry, context, person);
    recordResult(span, result);
    return resultMessage(id, JSON.stringify(olderResult(result, version)));
  } catch (error) {
    const fault = report(afterSending(sender, error));
    recordFault(span, fault);
    return errorMessage(id, olderError(method, fault));
  }
}
