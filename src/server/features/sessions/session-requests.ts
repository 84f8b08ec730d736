/**
 * Requests that begin a session or belong to one.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
import { waitUntil } from "cloudflare:workers";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { isObject, type Principal } from "../../kernel/core/model.ts";
import { stringBytes, textIn } from "../../kernel/core/text.ts";
import { afterSending } from "../../kernel/core/unknown-outcome.ts";
import { asStream, eventHeaders, streamResponse, textResponse } from "../../kernel/http/body.ts";
import { isListening } from "../../kernel/observe/spans.ts";
import { traceInHeaders } from "../../kernel/observe/trace-context.ts";
import {
  canAsk,
  rowIn,
  type Exchange,
  type LegacyPost,
  type SessionRequests,
} from "../../kernel/mcp/method.ts";
import { isInitialize } from "../../kernel/mcp/wire/classify.ts";
import { resultMessage, type RpcRequest } from "../../kernel/mcp/wire/message.ts";
import { describedClient } from "../../kernel/mcp/wire/params.ts";
import { demandStream, eventText, replyResponse, type Reply } from "../../kernel/mcp/wire/reply.ts";
import { whileGranted } from "../../kernel/mcp/wire/subscription.ts";
import { checkBatch, noSession } from "../../kernel/mcp/legacy/handle.ts";
import { initialize } from "../../kernel/mcp/legacy/introduction.ts";
import type { NamedSession, SessionDirectory, SessionOwner } from "./session-object.ts";
import { answerTicket, recordSilence } from "./ticket-calls.ts";
import { TicketSession } from "./ticket-session.ts";

const SESSION_HEADER = "mcp-session-id";

/** The requests to the sessions of a Worker. */
export function sessionRequests(sessions: SessionDirectory): SessionRequests<NamedSession> {
  /** The session that a request names; undefined without one or if the body begins a session. Throws `no_session`. */
  async function named({ headers, principal, leaving }: Exchange, body?: unknown) {
    const id = headers.get(SESSION_HEADER);
    if (id === null || isInitialize(body)) return undefined;
    return known(await sessions.find(id, ownerIn(principal), leaving));
  }

  return {
    named,
    begin: (request, exchange) => begin(request, exchange, sessions),
    post(post, exchange) {
      const answering = answer(post, exchange);
      // A client that disconnects has not cancelled its call.
      if (post.session instanceof TicketSession) waitUntil(answering.catch(() => {}));
      return answering;
    },
    async handle(method, exchange) {
      const session = await named(exchange);
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
    },
  };
}

async function answer(
  { body, incoming: [message], session }: LegacyPost<NamedSession> & { session: NamedSession },
  exchange: Exchange,
): Promise<Response> {
  const isBatch = Array.isArray(body);
  const { accepts, principal, pages, methods } = exchange;
  const { scopes } = principal;
  const messages = isBatch ? checkBatch(body) : [body];
  const hasTicket = session instanceof TicketSession && !isBatch && message !== undefined;
  const { reply, begun } = hasTicket ? await answerTicket(message, session, exchange) : {};
  if (reply !== undefined) return responseOf(reply);
  const headers = traceInHeaders(exchange.headers);
  const trace = isListening() ? { ...headers, isRecorded: true } : headers;
  const post = { messages, isBatch, accepts, scopes, trace, pages, begun };
  exchange.leaving();
  const runsServlet = (one: unknown): boolean =>
    isObject(one) && canAsk(rowIn(methods, textIn(one["method"])));
  const response = await session.post(post).catch((error: unknown) => {
    throw afterSending({ hasSent: messages.some(runsServlet) }, error);
  });
  const isStream = response instanceof Response;
  if (hasTicket && message.kind === "request" && !isStream) recordSilence(message);
  return responseOf(known(response));
}

function responseOf(reply: Response | Reply): Response {
  if (reply instanceof Response) return reply.body === null ? reply : asStream(reply);
  return reply.status === 202 ? new Response(null, { status: 202 }) : replyResponse(reply);
}

/** Begins a session. https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization */
async function begin(
  { id, params }: RpcRequest,
  exchange: Exchange,
  sessions: SessionDirectory,
): Promise<Response> {
  const result = await initialize(params, exchange);
  const { protocolVersion } = result;
  const { capabilities, clientInfo } = params;
  const declared = isObject(capabilities) ? capabilities : {};
  const client = describedClient(protocolVersion, declared, { clientInfo, exchange });
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

const ownerIn = ({ name, profile }: Principal): SessionOwner => ({
  name,
  ...(profile !== undefined && { profile }),
});

function known<T>(found: T | undefined): T {
  if (found !== undefined) return found;
  const message =
    "Unknown or ended session. Send initialize, alone and not in a batch, to begin another.";
  throw new Fault("no_session", message);
}
