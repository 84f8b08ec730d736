/**
 * Messages to sessions whose id is a ticket. The Worker answers a request that ends soon and sends no notification or
 * question. Any other request continues in the session's object: from its first notification or question, or when it would
 * wait for longer than `MAX_WAIT_MS`.
 */
import { sessionAsker } from "../../kernel/asks/askers.ts";
import { linkAsker, linkOf } from "../../kernel/asks/links.ts";
import { changes } from "../../kernel/calls/changes.ts";
import { allReasons, perform } from "../../kernel/calls/engine.ts";
import { METHODS } from "../../kernel/calls/call-ref.ts";
import type { CallContext } from "../../kernel/core/call-context.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { limits } from "../../kernel/core/limits.ts";
import { isObject, type Json, type Notification } from "../../kernel/core/model.ts";
import { Wait, type Suspended } from "../../kernel/core/suspension.ts";
import { afterSending, type UnrecordedCall } from "../../kernel/core/unknown-outcome.ts";
import { mcpSpan, recordOutcome } from "../../kernel/observe/request-span.ts";
import { inRequestSpan } from "../../kernel/observe/spans.ts";
import { traceIn, traceInHeaders } from "../../kernel/observe/trace-context.ts";
import type { ToolEntry } from "../../kernel/servlets/catalog.ts";
import { keepsState } from "../../kernel/servlets/manifest.ts";
import type { FoundRequest, Incoming } from "../../kernel/mcp/method.ts";
import type { Exchange } from "../../kernel/mcp/method.ts";
import { errorMessage, resultMessage } from "../../kernel/mcp/wire/message.ts";
import { notices as passing, progressTokenOf } from "../../kernel/mcp/wire/notifications.ts";
import { calledEntry, lookedUp } from "../../kernel/mcp/methods.ts";
import type { Reply } from "../../kernel/mcp/wire/reply.ts";
import { sendingKeeper } from "./session-calls.ts";
import type { BegunCall } from "./session-object.ts";
import { hasTasks, olderError, olderResult } from "../../kernel/mcp/legacy/shapes.ts";
import { wantedTtl } from "./legacy-tasks.ts";
import type { TicketCall, TicketSession } from "./ticket-session.ts";

/** How long a call may wait in the Worker, in ms since its first wait began. */
const MAX_WAIT_MS = 1000;

/** The Worker's answer to a message; without a reply, the message goes to the session's object. */
interface Answer {
  reply?: Reply;
  /** The state of a call that has begun in the Worker. */
  begun?: BegunCall;
}

/** Answers a client's message that does not need the session's object. Throws the fault of an unreadable message. */
export async function answerTicket(
  message: Incoming,
  session: TicketSession,
  exchange: Exchange,
): Promise<Answer> {
  if (session.needsObject) return {};
  switch (message.kind) {
    case "unreadable":
      throw message.fault;
    case "response":
      return {};
    case "notification":
      if (!acceptNotification(message, session)) return {};
      await session.reportUse(exchange.principal, exchange.leaving);
      return { reply: ACCEPTED };
    case "request":
      if (needsObject(message, exchange)) return {};
      await session.reportUse(exchange.principal, exchange.leaving);
      return answerRequest(message, session, exchange);
  }
}

const ACCEPTED: Reply = { status: 202, body: "" };

/** Acts on a notification; false if the session's object must receive it. */
function acceptNotification(
  { method, params }: Incoming & { kind: "notification" },
  session: TicketSession,
): boolean {
  switch (method) {
    case "notifications/initialized":
      session.isReady = true;
      return true;
    case "notifications/cancelled":
      return session.cancel(params["requestId"]);
    case METHODS.roots:
      return false;
    default:
      return true;
  }
}

function needsObject(request: FoundRequest, { accepts }: Exchange): boolean {
  const { row, params, entry } = request;
  // A client that accepts only streams may resume any of them, so its messages must be stored.
  if (!accepts.json) return true;
  if (row.session !== undefined && (row.stateless === undefined || row.sessionFirst)) return true;
  if (entry === undefined || entry instanceof Fault) return false;
  return params["task"] !== undefined || isNotifying(request);
}

async function answerRequest(
  request: FoundRequest,
  session: TicketSession,
  exchange: Exchange,
): Promise<Answer> {
  const { id, method, params } = request;
  const version = session.client.protocolVersion;
  const meta = isObject(params["_meta"]) ? params["_meta"] : {};
  const run = new TicketRun(toolOf(request));
  let message: string;
  try {
    using call = session.open(id, exchange.leaving);
    run.call = call;
    const start = () => mcpSpan({ ...request, version, session: session.ticket.object });
    const received = traceIn(meta, traceInHeaders(exchange.headers));
    const result = await inRequestSpan(received, start, (trace, span) =>
      recordOutcome(span, resultOf(request, session, exchange, { run, meta, trace })),
    );
    const { waiting } = run;
    if (waiting !== undefined && !call.isUnwanted) {
      // The object asks a question without repeating the run.
      const notices = waiting.reason.kind === "input" ? run.notices : [];
      return { begun: { ...run.sent, notices, waiting } };
    }
    message = resultMessage(id, JSON.stringify(olderResult(result, version)));
  } catch (error) {
    message = errorMessage(id, olderError(method, report(afterSending(run.sent, error))));
  }
  if (run.call?.isUnwanted === true) return { reply: ACCEPTED };
  const { notices, sent } = run;
  if (notices.length > 0) return { begun: { ...sent, notices, reply: message } };
  return { reply: { status: 200, body: message } };
}

interface RunParts extends Pick<CallContext, "meta" | "trace"> {
  run: TicketRun;
}

/** The result of a request; empty if its call continues in the session's object. */
async function resultOf(
  request: FoundRequest,
  session: TicketSession,
  exchange: Exchange,
  { run, meta, trace }: RunParts,
): Promise<Json> {
  const { id, params, row } = request;
  const { client, ticket } = session;
  if (row.stateless) return row.stateless(params, exchange);
  const { capabilities } = client;
  const { accepts, leaving } = exchange;
  const reader = { capabilities, takesStream: accepts.sse, leaving };
  const found = lookedUp(request, exchange.registry, reader);
  if (found) return found;
  const entry = calledEntry(request);
  if (entry.tool && hasTasks(client.protocolVersion)) wantedTtl(entry.tool.tool, params);
  const link = linkOf(exchange.pages, entry.tool);
  const own = sessionAsker(client);
  const canAsk = session.isReady && exchange.accepts.sse;
  const context: CallContext = {
    id,
    meta,
    trace,
    client,
    principal: session.principal(exchange.principal),
    session: ticket.object,
    ...link,
    signal: () => run.call!.signal(),
    keeper: sendingKeeper(run.sent, () => {}),
    notify: changes(exchange, run.notifier(meta)),
    // If the client cannot be asked here, the session's object decides how to ask its user.
    ask: canAsk ? (link ? linkAsker(own, client) : own) : continueInObject,
    gate: (ms) => run.checkWait(ms),
  };
  return perform<Json>(entry, context, {
    ended: (result) => result,
    waits: allReasons((waiting) => {
      run.waiting = Object.assign({}, waiting);
      return {};
    }),
  });
}

/** Suspends a call in the Worker: the session's object continues it from its journal. */
function continueInObject(): never {
  throw new Wait({ kind: "task" });
}

/** One run of a call in the Worker. */
class TicketRun {
  call: TicketCall | undefined;
  readonly sent: Required<UnrecordedCall> = { hasSent: false };
  /** Its suspension if it continues in the session's object. */
  waiting: Suspended | undefined;
  readonly #tool: ToolEntry | undefined;
  readonly #notices: Notification[] = [];
  /** True once the call has sent a notification that its client wants. */
  #hasNotified = false;
  /** When its first wait began, in Unix ms. */
  #waitsSince: number | undefined;

  constructor(tool: ToolEntry | undefined) {
    this.#tool = tool;
  }

  /** The call's notifications; empty if its client wants none of them. */
  get notices(): readonly Notification[] {
    return this.#hasNotified ? this.#notices : [];
  }

  /** Collects notifications for the session's object, which sends them. The first that the client wants suspends the call. */
  notifier(meta: Json): (notice: Notification) => void {
    // Only the session's object knows the client's log level and its pages, so nothing is filtered by them here.
    const wanted = {
      progressToken: progressTokenOf(meta),
      logLevel: "debug" as const,
      takePage: () => true,
    };
    const pass = passing(wanted, () => {
      this.#hasNotified = true;
      if (this.#tool !== undefined) notifyingTools.add(this.#tool);
    });
    return (notice) => {
      this.#notices.push(notice);
      pass(notice);
      // A guest in another isolate does not notice this exception; its next wait is refused by `checkWait`.
      if (this.#hasNotified) continueInObject();
    };
  }

  /**
   * Suspends the call if it has notified its client, or if `ms` more would exceed its waiting time. A call of a servlet that
   * keeps state stays in the Worker as long as possible: a suspended run loses its changes, and others may change the
   * state before it runs again. Throws `cancelled`.
   */
  checkWait(ms: number): void {
    if (this.call?.isUnwanted) throw new Fault("cancelled", "The call was cancelled.");
    this.#waitsSince ??= Date.now();
    const isStateful = this.#tool !== undefined && keepsState(this.#tool.servlet.manifest);
    const mostMs = isStateful ? limits.promoteAfterMs : MAX_WAIT_MS;
    const waitedMs = Date.now() - this.#waitsSince + ms;
    if ((this.#hasNotified && !isStateful) || waitedMs > mostMs) continueInObject();
  }
}

/** Tools whose last call sent notifications: their next call begins in the session's object, as it probably will. */
const notifyingTools = new WeakSet<ToolEntry>();

const toolOf = ({ entry }: Pick<FoundRequest, "entry">): ToolEntry | undefined =>
  entry instanceof Fault ? undefined : entry?.tool;

function isNotifying(request: FoundRequest): boolean {
  const tool = toolOf(request);
  return tool !== undefined && notifyingTools.has(tool);
}

/** Records that the session's object answered a request without a stream: its tool sent no notification. */
export function recordSilence(request: FoundRequest): void {
  const tool = toolOf(request);
  if (tool !== undefined) notifyingTools.delete(tool);
}
