import { waitUntil } from "cloudflare:workers";
import { Replies } from "./open-post.ts";
import { whileGranted } from "../wire/subscription.ts";
import type { NamedSession, SessionDirectory, SessionOwner } from "./session-object.ts";
import { TicketSession } from "./ticket-session.ts";
import { answerTicket, recordSilence } from "./ticket-calls.ts";
import { Fault, report } from "../../core/errors.ts";
import { asStream, eventHeaders, streamResponse, textResponse } from "../../http/body.ts";
import { limits } from "../../core/limits.ts";
import { isObject, type Json, type Principal } from "../../core/model.ts";
import { stringBytes, textIn } from "../../core/text.ts";
import { traceIn, traceInHeaders, type Trace } from "../../observe/trace-context.ts";
import { inRequestSpan, isListening, type Span } from "../../observe/spans.ts";
import { afterSending, type UnrecordedCall } from "../../core/unknown-outcome.ts";
import { canAsk, type FoundRequest, type Incoming } from "../method.ts";
import { rowOf } from "../methods.ts";
import { changes } from "../../calls/changes.ts";
import { isInitialize } from "../wire/classify.ts";
import type { Exchange } from "../wire/exchange.ts";
import { aboutOf } from "../../calls/shown-arguments.ts";
import { handingOver, linkOf, NOBODY } from "../../asks/links.ts";
import { errorMessage, methodNotFound, resultMessage, type RpcRequest } from "../wire/message.ts";
import { clientName, listPage } from "../wire/params.ts";
import { silenceGate } from "../wire/tasks.ts";
import { notices, progressTokenOf } from "../wire/notifications.ts";
import { Answering, demandStream, eventText, replyResponse, type Reply } from "../wire/reply.ts";
import { mcpSpan, tellFault, tellResult } from "../../observe/request-span.ts";
import { failingAsker, runToEnd } from "./askers.ts";
import { initialize } from "./introduction.ts";
import { olderResult, olderError, olderNotice } from "./shapes.ts";

/** A POST of a client of these protocols. */
interface LegacyPost {
  body: unknown;
  incoming: readonly Incoming[];
  /** The session that the request names. */
  session: NamedSession | undefined;
}

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
  if (session !== undefined) {
    const answering = postToSession({ body, incoming, session }, exchange);
    // A client that leaves has not cancelled its call.
    if (session instanceof TicketSession) waitUntil(answering.catch(() => {}));
    return answering;
  }
  const isBatch = Array.isArray(body);
  if (isBatch) checkBatch(body, version);
  const single = isBatch ? undefined : incoming[0];
  if (single?.kind === "unreadable") throw single.fault;
  if (exchange.sessions !== undefined) {
    if (incoming.some(needsSession)) throw noSession();
    if (single?.kind === "request" && single.method === "initialize") {
      return begin(single, exchange, exchange.sessions);
    }
  }
  if (incoming.every(({ kind }) => kind !== "request" && kind !== "unreadable")) {
    return new Response(null, { status: 202 });
  }
  const answering = new Answering(exchange);
  const replyToAll = async (): Promise<Reply> => {
    const replies = new Replies(isBatch);
    // In turn, because concurrent large results could not be refused in time.
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

/** Answers a POST to a session: in the Worker if that needs nothing from the session's object, otherwise in the object. */
async function postToSession(
  { body, incoming: [message], session }: LegacyPost & { session: NamedSession },
  exchange: Exchange,
): Promise<Response> {
  const isBatch = Array.isArray(body);
  const { accepts, principal, pages } = exchange;
  const { scopes } = principal;
  const messages = isBatch ? checkBatch(body) : [body];
  const hasTicket = session instanceof TicketSession && !isBatch && message !== undefined;
  const { reply, begun } = hasTicket ? await answerTicket(message, session, exchange) : {};
  if (reply !== undefined) return responseOf(reply);
  const headers = traceInHeaders(exchange.headers);
  const trace = isListening() ? { ...headers, isRecorded: true } : headers;
  const post = { messages, isBatch, accepts, scopes, trace, pages, begun };
  exchange.leaving();
  const response = await session.post(post).catch((error: unknown) => {
    throw afterSending({ hasSent: messages.some(runsServlet) }, error);
  });
  const isStream = response instanceof Response;
  if (hasTicket && message.kind === "request" && !isStream) recordSilence(message);
  return responseOf(known(response));
}

/** GET opens a stream of a session, DELETE ends it. */
export async function handleSession(method: string, exchange: Exchange): Promise<Response> {
  const session = await sessionOf(exchange);
  if (session === undefined) throw noSession();
  if (method !== "DELETE" || session.ticket === undefined) exchange.leaving();
  if (method === "DELETE") {
    known(await session.end(exchange.countStored));
    return new Response(null, { status: 204 });
  }
  demandStream(exchange.accepts);
  const { principal } = exchange;
  const lastEventId = exchange.headers.get("last-event-id") ?? undefined;
  const response = responseOf(known(await session.listen(lastEventId, principal.scopes)));
  if (response.status !== 200 || response.body === null) return response;
  return streamResponse(whileGranted(response.body, exchange), response.headers);
}

const ownerIn = ({ name, profile }: Principal): SessionOwner => ({
  name,
  ...(profile !== undefined && { profile }),
});

const SESSION_HEADER = "mcp-session-id";

/** The session that a request names; undefined if it names none, or if the body begins a new session. Throws `no_session`. */
export async function sessionOf(
  { headers, sessions, principal, leaving }: Exchange,
  body?: unknown,
): Promise<NamedSession | undefined> {
  const id = headers.get(SESSION_HEADER);
  if (id === null || sessions === undefined || isInitialize(body)) return undefined;
  return known(await sessions.find(id, ownerIn(principal), leaving));
}

function known<T>(found: T | undefined): T {
  if (found !== undefined) return found;
  const message =
    "Unknown or ended session. Send initialize, alone and not in a batch, to begin another.";
  throw new Fault("no_session", message);
}

const noSession = () =>
  new Fault(
    "invalid_request",
    "This method needs a session. Send initialize first, then its Mcp-Session-Id with every request.",
  );

const needsSession = (message: Incoming): boolean =>
  message.kind === "response" ||
  (message.kind === "request" &&
    message.row.session !== undefined &&
    (message.row.stateless === undefined || message.row.sessionFirst === true));

const runsServlet = (message: unknown): boolean =>
  isObject(message) && canAsk(rowOf(textIn(message["method"])));

function responseOf(reply: Response | Reply): Response {
  if (reply instanceof Response) return reply.body === null ? reply : asStream(reply);
  return reply.status === 202 ? new Response(null, { status: 202 }) : replyResponse(reply);
}

/** Makes a session. https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization */
async function begin(
  { id, params }: RpcRequest,
  exchange: Exchange,
  sessions: SessionDirectory,
): Promise<Response> {
  const result = await initialize(params, exchange);
  const { protocolVersion } = result;
  const { capabilities, clientInfo } = params;
  const client = {
    protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    ...clientName(clientInfo),
  };
  const bytes = stringBytes(JSON.stringify(client));
  if (bytes > limits.clientBytes) {
    throw new Fault(
      "invalid_params",
      `The client's capabilities, name and version are too large to be stored: they have ${bytes} bytes (limit ${limits.clientBytes}). Send shorter ones.`,
    );
  }
  const session = await sessions.begin(exchange.principal, client, exchange.countStored);
  const body = resultMessage(id, JSON.stringify(result));
  const response = exchange.accepts.json
    ? replyResponse({ status: 200, body })
    : textResponse(eventText(body), { headers: eventHeaders });
  response.headers.set(SESSION_HEADER, session);
  return response;
}

/**
 * Throws `invalid_request` for an empty or too long batch, and for one in a version without batches.
 * https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 */
function checkBatch(body: unknown[], version?: string): unknown[] {
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
  const { id, method, params, row, entry } = request;
  const { send, signal } = answering;
  const sender: UnrecordedCall = {};
  try {
    if (row.stateless) {
      return resultMessage(id, JSON.stringify(await row.stateless(params, exchange)));
    }
    if (row.list) {
      const reader = { ...NOBODY, takesStream: exchange.accepts.sse };
      const list = await listPage(row.list, params, exchange.registry, reader);
      return resultMessage(id, JSON.stringify(olderResult(list, version)));
    }
    if (row.look) {
      return resultMessage(id, JSON.stringify(await row.look(params, exchange.registry)));
    }
    if (entry === undefined) throw methodNotFound(method);
    if (entry instanceof Fault) throw entry;
    const wanted = { progressToken: progressTokenOf(meta), logLevel: "debug" } as const;
    const notify = notices(wanted, (message) => send(olderNotice(message, version)));
    const { principal, tasks, pages } = exchange;
    const client = { protocolVersion: version, ...NOBODY };
    const own = { id, meta, principal, client, trace, ref: entry.ref };
    const kept = { ...own, ...linkOf(pages, entry.tool) };
    const handOver = handingOver(kept, tasks, () => aboutOf(entry));
    const context = {
      ...kept,
      signal,
      sending() {
        sender.hasSent = true;
      },
      notify: changes(exchange, notify),
      ask: failingAsker("no session"),
      ...(handOver && entry.tool && !exchange.accepts.sse && { gate: silenceGate(entry.tool) }),
    };
    const result = await runToEnd(entry, context, handOver);
    tellResult(span, result);
    return resultMessage(id, JSON.stringify(olderResult(result, version)));
  } catch (error) {
    const fault = report(afterSending(sender, error));
    tellFault(span, fault);
    return errorMessage(id, olderError(method, fault));
  }
}
