import { Fault, report } from "../../errors.ts";
import { limits } from "../../limits.ts";
import { isObject, Suspended } from "../../model.ts";
import type { CallContext, Json } from "../../model.ts";
import { afterSending, type Sender } from "../../unknown-outcome.ts";
import type { Registry } from "../../servlets/registry.ts";
import { changes } from "../wire/changes.ts";
import { unableAsker } from "./askers.ts";
import { LEGACY_VERSIONS } from "../wire/classify.ts";
import type { Exchange } from "../wire/exchange.ts";
import {
  errorMessage,
  readable,
  resultMessage,
  type Message,
  type Request,
  type Unreadable,
} from "../wire/message.ts";
import { traceIn } from "../wire/headers.ts";
import { capabilities, methods, type Method } from "../methods.ts";
import { logLevelIn, notices, progressTokenOf } from "../wire/notifications.ts";
import { TASK_CAPABILITY } from "./tasks.ts";
import { isExperimental, older, olderError, olderIntroduction, olderNotice } from "./shapes.ts";
import { Replies } from "./batch.ts";
import { eventText, jsonResponse, respond, type Reply, type Talk } from "../wire/reply.ts";
import { SESSION_HEADER, type Session, type Sessions } from "../wire/session.ts";

/**
 * Protocols 2024-11-05 to 2025-11-25. What belongs to a session goes to its object; a request of a client
 * that has none is answered by itself.
 * https://modelcontextprotocol.io/specification/2025-11-25
 */
export async function handleLegacy(
  body: unknown,
  version: string,
  exchange: Exchange,
): Promise<Response> {
  const isBatch = Array.isArray(body);
  const session = sessionOf(exchange);
  if (session !== undefined) {
    const { accepts, principal } = exchange;
    const messages = isBatch ? batch(body) : [body];
    return responseOf(
      known(
        await session.post({
          messages,
          isBatch,
          accepts,
          scopes: principal.scopes,
          trace: traceIn(exchange.headers),
        }),
      ),
    );
  }
  const messages = (isBatch ? oldBatch(body, version) : [body]).map(readable);
  const single = messages[0];
  if (!isBatch && single?.kind === "unreadable") throw single.fault;
  if (exchange.sessions !== undefined) {
    if (messages.some(belongsToSession)) throw noSession();
    if (!isBatch && single?.kind === "request" && single.method === "initialize") {
      return initialize(single, exchange, exchange.sessions);
    }
  }
  if (messages.every(({ kind }) => kind !== "request" && kind !== "unreadable")) {
    return new Response(null, { status: 202 });
  }
  return respond(exchange.accepts, exchange.leaving, async (talk): Promise<Reply> => {
    const replies = new Replies(isBatch);
    // One after the other: of several large results at once none could be refused in time.
    for (const message of messages) {
      if (message.kind === "unreadable") {
        replies.add(errorMessage(message.id, message.fault), message.id);
      }
      if (message.kind !== "request") continue;
      const reply = replies.isFull ? "" : await answer(message, version, exchange, talk);
      replies.add(reply, message.id);
    }
    return { status: 200, body: replies.all, isBatch };
  });
}

/** GET opens a stream of a session, DELETE ends it. */
export async function handleSession(method: string, exchange: Exchange): Promise<Response> {
  const session = sessionOf(exchange);
  if (session === undefined) throw noSession();
  if (method === "DELETE") {
    known(await session.end());
    return new Response(null, { status: 204 });
  }
  if (!exchange.accepts.sse) {
    throw new Fault("not_acceptable", "Accept must admit text/event-stream: this is a stream.");
  }
  return responseOf(
    known(await session.listen(exchange.headers.get("last-event-id") ?? undefined)),
  );
}

/** The session that a request names; undefined where it names none. Throws `no_session`. */
function sessionOf({ headers, sessions }: Exchange): Session | undefined {
  const id = headers.get(SESSION_HEADER);
  return id === null || sessions === undefined ? undefined : known(sessions.get(id));
}

function known<T>(found: T | undefined): T {
  if (found !== undefined) return found;
  const message = "Unknown or ended session. Send initialize to begin another.";
  throw new Fault("no_session", message);
}

const noSession = () =>
  new Fault(
    "invalid_request",
    "This method needs a session. Send initialize first, then its Mcp-Session-Id with every request.",
  );

const SESSION_METHODS = /^(resources\/(un)?subscribe|logging\/setLevel|tasks\/\w+)$/;

const belongsToSession = (message: Message | Unreadable): boolean =>
  message.kind === "response" ||
  (message.kind === "request" && SESSION_METHODS.test(message.method));

function responseOf(told: Response | Reply): Response {
  if (told instanceof Response) return told;
  return told.status === 202 ? new Response(null, { status: 202 }) : jsonResponse(told);
}

/** Makes a session. https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization */
async function initialize(
  { id, params }: Request,
  exchange: Exchange,
  sessions: Sessions,
): Promise<Response> {
  const result = await introduction(params, exchange);
  const { capabilities: declared, clientInfo } = params;
  const text = (key: string) =>
    isObject(clientInfo) && typeof clientInfo[key] === "string" ? { [key]: clientInfo[key] } : {};
  await exchange.keep();
  const session = await sessions.create({
    protocolVersion: result.protocolVersion,
    capabilities: isObject(declared) ? declared : {},
    ...text("name"),
    ...text("version"),
  });
  const body = resultMessage(id, JSON.stringify(result));
  const response = exchange.accepts.json
    ? jsonResponse({ status: 200, body })
    : new Response(eventText(body), { headers: { "content-type": "text/event-stream" } });
  response.headers.set(SESSION_HEADER, session);
  return response;
}

async function introduction({ protocolVersion }: Json, { server, registry, sessions }: Exchange) {
  const version =
    LEGACY_VERSIONS.find((one) => one === protocolVersion) ?? String(LEGACY_VERSIONS[0]);
  const hasTasks = sessions !== undefined && isExperimental(version);
  const introduced = {
    protocolVersion: version,
    capabilities: {
      ...(await capabilities(registry, { listens: sessions !== undefined })),
      ...(hasTasks && { tasks: TASK_CAPABILITY }),
    },
    serverInfo: server.info,
    ...(server.instructions === undefined ? {} : { instructions: server.instructions }),
  };
  return olderIntroduction(introduced, version);
}

/** https://modelcontextprotocol.io/specification/2025-03-26/basic#batching */
function oldBatch(body: unknown[], version: string): unknown[] {
  if (version !== "2025-03-26" && version !== "2024-11-05") {
    throw new Fault(
      "invalid_request",
      `Batches are not part of protocol version ${version}. Send each message in its own request.`,
    );
  }
  return batch(body);
}

/** Throws `invalid_request` if the batch is empty or too long. */
function batch(body: unknown[]): unknown[] {
  if (body.length === 0)
    throw new Fault("invalid_request", "The batch is empty. Send at least one message.");
  if (body.length > limits.batchMessages) {
    throw new Fault(
      "invalid_request",
      `The batch has ${body.length} messages (limit ${limits.batchMessages}). Send several batches.`,
    );
  }
  return body;
}

async function answer(
  request: Request,
  version: string,
  exchange: Exchange,
  { send, signal }: Talk,
): Promise<string> {
  const { id, method, params } = request;
  const meta = isObject(params["_meta"]) ? params["_meta"] : {};
  const sender: Sender = {};
  const call: CallContext = {
    id,
    meta,
    principal: exchange.principal,
    client: { protocolVersion: version, capabilities: {} },
    trace: traceIn(exchange.headers),
    signal,
    sending() {
      sender.hasSent = true;
    },
    notify: changes(
      exchange,
      notices({ progressToken: progressTokenOf(meta), logLevel: "debug" }, (message) =>
        send(olderNotice(message, version)),
      ),
    ),
    ask: unableAsker("no session"),
  };
  try {
    const own = Object.hasOwn(ownMethods, method) ? ownMethods[method] : undefined;
    if (own !== undefined) return resultMessage(id, JSON.stringify(await own(params, exchange)));
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (run === undefined) throw new Fault("method_not_found", `Method not found: ${method}`);
    const result = older(await settled(run, params, call, exchange.registry), version);
    return resultMessage(id, JSON.stringify(result));
  } catch (error) {
    return errorMessage(id, olderError(method, report(afterSending(sender, error))));
  }
}

/** Runs a method whose `call.ask` never waits: a servlet that returns what it asks is called again. */
export async function settled(
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
    const responses = await call.ask(outcome.reason.asks, call.signal());
    const state = outcome.state === undefined ? {} : { state: outcome.state };
    context = { ...call, input: { responses, ...state } };
  }
  throw new Fault("servlet_failed", "The servlet keeps asking a client that cannot be asked.");
}

type OwnMethod = (params: Json, exchange: Exchange) => Promise<Json> | Json;

/** Methods that only these revisions have. */
const ownMethods: Readonly<Record<string, OwnMethod>> = {
  ping: () => ({}),
  initialize: introduction,
  "logging/setLevel": (params) => {
    logLevelIn(params);
    return {};
  },
};
