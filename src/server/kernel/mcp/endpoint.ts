import { readJson, type BodyCounter } from "../http/body.ts";
import { Fault, report } from "../core/errors.ts";
import { limits } from "./limits.ts";
import type { CallerQuota } from "../core/model.ts";
import { parseJson } from "../core/text.ts";
import { handleLegacy } from "./legacy/handle.ts";
import { runsHere } from "../servlets/connect.ts";
import type { Incoming } from "./method.ts";
import { find } from "./methods.ts";
import { handleModern } from "./modern/handle.ts";
import { classify, isModern } from "./wire/classify.ts";
import type { Exchange } from "./method.ts";
import { idOf, readable } from "./wire/message.ts";
import { acceptsIn, refusalResponse } from "./wire/reply.ts";

interface McpDependencies
  extends Omit<Exchange, "headers" | "versionHeader" | "accepts" | "leaving">, CallerQuota {
  /** Counts the request while it is in flight. */
  admission: BodyCounter;
  /** The `WWW-Authenticate` header for a fault, if it has one. */
  challenge?(fault: Fault): string | undefined;
}

/**
 * The MCP endpoint: reads the body once, classifies it once, looks up its target once, and answers.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
export async function mcpEndpoint(
  request: Request,
  dependencies: McpDependencies,
): Promise<Response> {
  const { headers, method } = request;
  const { admission } = dependencies;
  const header = headers.get("mcp-protocol-version") ?? undefined;
  const hasStreams = dependencies.sessions !== undefined && !isModern(header);
  const allowed = hasStreams ? ["POST", "GET", "DELETE"] : ["POST"];
  let body: unknown;
  try {
    if (!allowed.includes(method)) {
      throw new Fault(
        "method_not_allowed",
        `Method ${method} is not allowed at the MCP endpoint. Use ${allowed.join(", ")}.`,
      );
    }
    const admitted = acceptsIn(headers.get("accept") ?? undefined);
    if (!admitted.json && !admitted.sse && method !== "DELETE") {
      throw new Fault(
        "not_acceptable",
        "The Accept header allows neither application/json nor text/event-stream. Add both to it.",
      );
    }
    const leaving = () => admission.leaving();
    const exchange: Exchange = {
      ...dependencies,
      leaving,
      headers,
      versionHeader: header,
      accepts: admitted,
    };
    if (method !== "POST") {
      classify(undefined, header);
      return await exchange.sessions!.handle(method, exchange);
    }
    // Its text is repeated in errors and results.
    body = await readJson(request, { parse: parseJson, counter: admission });
    const { era, version } = classify(body, header);
    if (mayWait(dependencies)) leaving();
    if (era === "modern") {
      const receiving = receive(body, dependencies);
      const message = receiving instanceof Promise ? await receiving : receiving;
      if (!isQuick(message)) leaving();
      return await handleModern(message, version, exchange);
    }
    const session = await exchange.sessions?.named(exchange, body);
    const { ticket } = session ?? {};
    if (ticket !== undefined) exchange.registry = exchange.registry.inSession(ticket.object);
    const messages = [body].flat();
    const incoming: Incoming[] = [];
    // A session's object looks up its own messages, and too long a batch is refused.
    const isCounted = dependencies.admit !== undefined || exchange.registry.access.isNarrow;
    const isRead =
      messages.length <= limits.batchMessages &&
      (isCounted || session === undefined || ticket !== undefined);
    const { registry } = exchange;
    for (const message of isRead ? messages : []) {
      incoming.push(await receive(message, { ...dependencies, registry }));
    }
    const isAnsweredHere = session === undefined || ticket !== undefined;
    const areQuick = incoming.every(isQuick);
    if (!isAnsweredHere || incoming.length === 0 || !areQuick) leaving();
    return await handleLegacy({ body, incoming, session }, version, exchange);
  } catch (error) {
    const fault = report(error);
    const response = refusalResponse(fault, {
      // Without the id, so that go-sdk reports a lost session and not an error of one request.
      id: fault.code === "no_session" ? null : idOf(body),
      challenge: dependencies.challenge?.(fault),
    });
    if (fault.code === "method_not_allowed") response.headers.set("allow", allowed.join(", "));
    return response;
  }
}

/** True if counting a message or looking up its target may have to wait. */
const mayWait = ({ admit, registry }: McpDependencies): boolean =>
  admit !== undefined || registry.isDynamic || registry.isPersonal;

/** True for a message that this isolate can answer alone, unless its list, its guest or its session needs more. */
const isQuick = (message: Incoming): boolean =>
  message.kind !== "request" ||
  message.row.list !== undefined ||
  message.row.stateless !== undefined ||
  runsHere(message.entry);

/**
 * Reads and counts a message, and looks up its target. Not a promise if nothing is counted and the target is known.
 * Throws `too_many`, `insufficient_scope`.
 */
function receive(body: unknown, dependencies: McpDependencies): Incoming | Promise<Incoming> {
  const message = readable(body);
  const { admit } = dependencies;
  if (admit) return count(message, dependencies, admit);
  return message.kind === "request" ? find(message, dependencies) : message;
}

async function count(
  message: ReturnType<typeof readable>,
  dependencies: McpDependencies,
  admit: NonNullable<CallerQuota["admit"]>,
): Promise<Incoming> {
  if (message.kind !== "response") await admit();
  if (message.kind !== "request") return message;
  const found = await find(message, dependencies);
  // Only known tools are counted: each name has its own counter, and callers could invent names.
  if (found.entry && "tool" in found.entry) await admit(found.entry.tool?.tool.name);
  return found;
}
