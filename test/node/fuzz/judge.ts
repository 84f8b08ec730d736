import {
  CallToolResultSchema,
  CompleteResultSchema,
  GetPromptResultSchema,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
  ReadResourceResultSchema,
} from "@modelcontextprotocol/core";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { keyOf, markOf, MODERN, PRINCIPALS, type Json, type Sent } from "./draft.ts";

/** A response. */
export interface Got {
  status: number;
  /** Names and values, as they came. */
  head: string;
  type: string;
  text: string;
  /** JSON-RPC messages, of a body or of a stream's events. */
  messages: Json[];
  /** Ids of a stream's events. */
  eventIds: string[];
  /** Has it come to its end? Streams may be left before that. */
  isWhole: boolean;
  session: string | undefined;
}

/** Secrets that no answer may contain: no request and no guest ever says them. */
const HIDDEN = "hidden-7d0c55aa";
export const SECRETS = {
  STATE_KEY: "5eed".repeat(16),
  UNREAD_SECRET: HIDDEN,
};
const NEVER = [...Object.values(SECRETS), ...PRINCIPALS.map(keyOf)];

/** Of what the server is made, and where. The servlet `code` says where in the caller's own `script` something failed. */
const INSIDES =
  /node_modules|\/work\b|\.ts:\d|\n\s+at \S|\bat \S+ \((?!script:)\S+:\d+|worker\.js|index\.js:\d/;

/** Statuses of what is refused before its body is read. */
const UNREAD = new Set([401, 403, 405, 406, 413, 415, 429]);

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fault of an answer; undefined if it is correct. `ids` are those of its session's requests. */
export function wrongWith(sent: Sent, got: Got, ids: unknown[] = []): string | undefined {
  return leaked(sent, got) ?? misshapen(sent, got, ids);
}

function leaked({ as }: Sent, { head, text }: Got): string | undefined {
  const all = `${head}\n${text}`;
  const secret = NEVER.find((one) => all.includes(one));
  if (secret !== undefined) return `the answer has the secret ${secret}`;
  const other = PRINCIPALS.find((name) => name !== as && all.includes(markOf(name)));
  if (other !== undefined) return `the answer to ${as} has what is ${other}'s`;
  const inside = INSIDES.exec(all);
  return inside ? `the answer shows the inside: ${JSON.stringify(inside[0])}` : undefined;
}

function misshapen(sent: Sent, got: Got, ids: unknown[]): string | undefined {
  const { status, type, text, messages } = got;
  // Bodies of other requests in flight may leave no room for one, which is not read then.
  if (status === 503 && /has no room for a body/.test(text)) return undefined;
  if (status >= 500) return `the status is ${status}`;
  // As it was sent: workerd leaves `..` in paths, and so does the router.
  const pathname = sent.path.replace(/[?#].*$/, "");
  const isOurs = pathname === "/mcp";
  if (sent.method === "HEAD" || text === "") {
    return text === "" ? undefined : "an answer without a body has one";
  }
  if (type === "text/event-stream") return firstOf(messages, (one) => badMessage(one, sent, ids));
  if (type.startsWith("text/html")) return text.includes("<html") ? undefined : "no page";
  // Refused by workerd itself: not HTTP, or for another host.
  if (
    /^ERROR: |^invalid content-length|^message head is too large/.test(text) &&
    (status === 400 || status === 431)
  )
    return undefined;
  if (type !== "application/json") return `the answer is ${type || "of no type"}`;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return "the answer is no JSON";
  }
  // Middleware before the routes answers in the form of Open Tool Calling under its paths.
  const isOpen = status === 403 ? /^\/(tools|health)\b/ : /^\/tools(\/call)?$/;
  if (isOpen.test(pathname)) return badOpenCall(body, status);
  if (!isOurs && isObject(body) && !("jsonrpc" in body)) {
    return status === 404 || status === 200 ? undefined : "an unknown path has another status";
  }
  return Array.isArray(body)
    ? badBatch(body, sent, status)
    : (badMessage(body, sent, ids, status) ?? undefined);
}

/** The fault of an answer of Open Tool Calling. */
function badOpenCall(body: unknown, status: number): string | undefined {
  if (!isObject(body)) return "an open call's answer is no object";
  if (typeof body["$schema"] !== "string") return "an open call's answer has no $schema";
  if (status !== 200) return typeof body["message"] === "string" ? undefined : "it says not why";
  if (Array.isArray(body["tools"])) return undefined;
  const { result } = body;
  return isObject(result) && typeof result["success"] === "boolean" ? undefined : "no result";
}

function badBatch(body: unknown[], sent: Sent, status: number): string | undefined {
  const asked = bodyOf(sent);
  if (!Array.isArray(asked)) return "one request has an array for its answer";
  if (body.length === 0) return "an empty batch";
  return firstOf(body, (one) => badMessage(one, sent, [], status));
}

function badMessage(one: unknown, sent: Sent, more: unknown[], status = 200): string | undefined {
  if (!isObject(one) || one["jsonrpc"] !== "2.0") return "no JSON-RPC";
  const { id, method, params, result, error } = one;
  if (method !== undefined) {
    if (typeof method !== "string") return "a method that is no string";
    return params === undefined || isObject(params) ? undefined : "params that are no object";
  }
  if ((result === undefined) === (error === undefined)) return "neither a result nor an error";
  if (error !== undefined) {
    if (!isObject(error) || !Number.isInteger(error["code"])) return "an error without a code";
    if (typeof error["message"] !== "string") return "an error without a message";
    if (error["message"] === "Internal error") return "an internal error";
  } else if (!isObject(result)) return "a result that is no object";
  else if (sent.headers["mcp-protocol-version"] === MODERN && more.length === 0) {
    const { resultType } = result;
    // An initialize is answered as before sessions went, whatever its headers say.
    if (resultType === undefined && methodOf(sent) === "initialize") return undefined;
    if (!KINDS.has(resultType)) return `resultType ${String(resultType)}`;
    const schema = RESULTS[methodOf(sent)];
    const wrong = resultType === "complete" ? schema?.safeParse(result).error : undefined;
    if (wrong !== undefined) return `a result that clients refuse: ${wrong.message}`;
  }
  // The 404 of a session that has ended is about the session, not about the request.
  const isOfSession = status === 404 && error?.["code"] === -32600;
  if (id === null && error !== undefined && (UNREAD.has(status) || isOfSession || unreadable(sent)))
    return undefined;
  const known = [...idsIn(bodyOf(sent)), ...more];
  return known.some((other) => JSON.stringify(other) === JSON.stringify(id))
    ? undefined
    : `the id is ${JSON.stringify(id)}, and none of ${JSON.stringify(known).slice(0, 200)}`;
}

function methodOf(sent: Sent): string {
  const asked = bodyOf(sent);
  return isObject(asked) ? String(asked["method"]) : "";
}

interface Schema {
  safeParse(value: unknown): { error?: { message: string } | undefined };
}

/** The official client's schema for the result of each method. */
export const RESULTS: Readonly<Record<string, Schema | undefined>> = {
  "tools/call": CallToolResultSchema,
  "tools/list": ListToolsResultSchema,
  "prompts/get": GetPromptResultSchema,
  "prompts/list": ListPromptsResultSchema,
  "resources/read": ReadResourceResultSchema,
  "resources/list": ListResourcesResultSchema,
  "resources/templates/list": ListResourceTemplatesResultSchema,
  "completion/complete": CompleteResultSchema,
};

const KINDS = new Set<unknown>(["complete", "input_required", "task"]);

const bodyOf = ({ body }: Sent): unknown => {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
};

/** True if this is, or contains, something other than a request with a usable id. */
function unreadable(sent: Sent): boolean {
  const body = bodyOf(sent);
  const isRequest = isObject(body) && typeof body["method"] === "string";
  // A forged length cuts it.
  const isCut = sent.headers["content-length"] !== undefined;
  return isCut || sent.method !== "POST" || !isRequest || idsIn(body)[0] === null;
}

/** The ids of a body's messages as they must come back: null for what has none, or one that is too long. */
function idsIn(body: unknown): unknown[] {
  if (Array.isArray(body) && body.length > 0)
    return body.flatMap((one: unknown) => idsIn(Array.isArray(one) ? 0 : one));
  const id: unknown = isObject(body) ? body["id"] : undefined;
  const isText = typeof id === "string" && id.length <= limits.idCharacters;
  // Halves of characters come back as U+FFFD.
  if (isText) return [id.toWellFormed()];
  return [Number.isSafeInteger(id) ? id : null];
}

function firstOf<T>(all: T[], wrong: (one: T) => string | undefined): string | undefined {
  for (const one of all) {
    const found = wrong(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
