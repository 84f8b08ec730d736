/**
 * Requests of sessions whose id is a ticket. The Worker answers those that end soon without having said anything. Any other
 * goes on in the session's object: at its first notification or question, or once it waits for long.
 */
import { sessionAsker } from "../../asks/askers.ts";
import { linkAsker, linkOf } from "../../asks/links.ts";
import { changes } from "../../calls/changes.ts";
import { perform, whateverFor } from "../../calls/engine.ts";
import { METHODS } from "../../calls/call-ref.ts";
import type { CallContext } from "../../core/call-context.ts";
import { Fault, report } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { isObject, type Json, type Notification } from "../../core/model.ts";
import { Wait, type Suspended } from "../../core/suspension.ts";
import { afterSending, type UnrecordedCall } from "../../core/unknown-outcome.ts";
import { mcpSpan, told } from "../../observe/request-span.ts";
import { inRequestSpan } from "../../observe/spans.ts";
import { traceIn, traceInHeaders } from "../../observe/trace-context.ts";
import type { ToolEntry } from "../../servlets/catalog.ts";
import { keepsState } from "../../servlets/manifest.ts";
import type { FoundRequest, Incoming } from "../method.ts";
import type { Exchange } from "../wire/exchange.ts";
import { errorMessage, methodNotFound, resultMessage } from "../wire/message.ts";
import { notices as passing, progressTokenOf } from "../wire/notifications.ts";
import { listPage } from "../wire/params.ts";
import type { Reply } from "../wire/reply.ts";
import { sendingKeeper } from "./session-calls.ts";
import type { BegunCall } from "./session-object.ts";
import { hasTasks, olderError, olderResult } from "./shapes.ts";
import { wantedTtl } from "./tasks.ts";
import type { TicketCall, TicketSession } from "./ticket-session.ts";

/** How long a call may wait in the Worker, in ms from when it first waits. */
const SOON_MS = 1000;

/** The Worker's answer to a message; without one, the message belongs to the session's object. */
interface Answer {
  reply?: Reply;
  /** How far its call has come. */
  begun?: BegunCall;
}

/** Answers a message of the client, as far as that needs nothing of the session's object. */
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
      if (!takes(message, session)) return {};
      await session.heard(exchange.principal, exchange.leaving);
      return { reply: TAKEN };
    case "request":
      if (needsObject(message, exchange)) return {};
      await session.heard(exchange.principal, exchange.leaving);
      return answerRequest(message, session, exchange);
  }
}

const TAKEN: Reply = { status: 202, body: "" };

/** Takes a notification; false if it concerns the session's object. */
function takes(
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
  // A client that takes streams alone can resume each of them.
  if (!accepts.json) return true;
  if (row.session !== undefined && (row.stateless === undefined || row.sessionFirst)) return true;
  if (entry === undefined || entry instanceof Fault) return false;
  return params["task"] !== undefined || isSpeaker(request);
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
      told(span, resultOf(request, session, exchange, { run, meta, trace })),
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
  if (run.call?.isUnwanted === true) return { reply: TAKEN };
  const { notices, sent } = run;
  if (notices.length > 0) return { begun: { ...sent, notices, reply: message } };
  return { reply: { status: 200, body: message } };
}

interface Parts extends Pick<CallContext, "meta" | "trace"> {
  run: TicketRun;
}

/** The result of a request; an empty one if its call goes on in the session's object. */
async function resultOf(
  { id, method, params, row, entry }: FoundRequest,
  session: TicketSession,
  exchange: Exchange,
  { run, meta, trace }: Parts,
): Promise<Json> {
  const { client, ticket } = session;
  if (row.stateless) return row.stateless(params, exchange);
  if (row.list) return listPage(row.list, params, exchange.registry, client);
  if (row.look) return row.look(params, exchange.registry);
  if (entry === undefined) throw methodNotFound(method);
  if (entry instanceof Fault) throw entry;
  if (entry.tool && hasTasks(client.protocolVersion)) wantedTtl(entry.tool.tool, params);
  const link = linkOf(exchange.pages, entry.tool);
  const own = sessionAsker(client);
  const canAsk = session.isReady && exchange.accepts.sse;
  const context: CallContext = {
    ...{ id, meta, trace, client },
    principal: session.principal(exchange.principal),
    session: ticket.object,
    ...link,
    signal: () => run.call!.signal(),
    keeper: sendingKeeper(run.sent, () => {}),
    notify: changes(exchange, run.hearing(meta)),
    // The object knows what becomes of questions to other clients.
    ask: canAsk ? (link ? linkAsker(own, client) : own) : goOnInObject,
    gate: (ms) => run.demandSoon(ms),
  };
  return perform<Json>(entry, context, {
    ended: (result) => result,
    waits: whateverFor((waiting) => {
      run.waiting = Object.assign({}, waiting);
      return {};
    }),
  });
}

/** Stops a call here: the session's object repeats it from its record. */
function goOnInObject(): never {
  throw new Wait({ kind: "task" });
}

/** One call in the Worker. */
class TicketRun {
  call: TicketCall | undefined;
  readonly sent: Required<UnrecordedCall> = { hasSent: false };
  /** Its suspension, if it goes on in the session's object. */
  waiting: Suspended | undefined;
  readonly #tool: ToolEntry | undefined;
  readonly #heard: Notification[] = [];
  /** True once it has said something that its client wants to hear. */
  #hasSpoken = false;
  /** When it first waited, in Unix ms. */
  #waitsSince: number | undefined;

  constructor(tool: ToolEntry | undefined) {
    this.#tool = tool;
  }

  /** The notifications of a call that has spoken. */
  get notices(): readonly Notification[] {
    return this.#hasSpoken ? this.#heard : [];
  }

  /** Takes notifications, of which none is sent from here: the first that the client wants stops the call. */
  hearing(meta: Json): (notice: Notification) => void {
    // The session's object knows the level that its client has set, and the pages that it was sent to.
    const wanted = {
      progressToken: progressTokenOf(meta),
      logLevel: "debug" as const,
      takePage: () => true,
    };
    const hear = passing(wanted, () => {
      this.#hasSpoken = true;
      if (this.#tool !== undefined) speakers.add(this.#tool);
    });
    return (notice) => {
      this.#heard.push(notice);
      hear(notice);
      // A guest in another isolate does not see it; its next wait ends there.
      if (this.#hasSpoken) goOnInObject();
    };
  }

  /**
   * Stops the call where it has spoken, or would wait for so many ms although it has waited for long. A call of a servlet that
   * keeps state loses what it has changed, and others may change that before it runs again, so it goes on as long as it can.
   */
  demandSoon(ms: number): void {
    if (this.call?.isUnwanted) throw new Fault("cancelled", "The call was cancelled.");
    this.#waitsSince ??= Date.now();
    const isStateful = this.#tool !== undefined && keepsState(this.#tool.servlet.manifest);
    const mostMs = isStateful ? limits.promoteAfterMs : SOON_MS;
    const waitedMs = Date.now() - this.#waitsSince + ms;
    if ((this.#hasSpoken && !isStateful) || waitedMs > mostMs) goOnInObject();
  }
}

/** Tools whose last call has spoken: their next call most likely does, too, and begins in the session's object. */
const speakers = new WeakSet<ToolEntry>();

const toolOf = ({ entry }: Pick<FoundRequest, "entry">): ToolEntry | undefined =>
  entry instanceof Fault ? undefined : entry?.tool;

function isSpeaker(request: FoundRequest): boolean {
  const tool = toolOf(request);
  return tool !== undefined && speakers.has(tool);
}

/** Notes that the session's object has answered a request without a stream: its tool has said nothing. */
export function wasSilent(request: FoundRequest): void {
  const tool = toolOf(request);
  if (tool !== undefined) speakers.delete(tool);
}
