import { Fault, rpcError, type JsonRpcError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { isObject, type Json } from "../../core/model.ts";

/** JSON-RPC 2.0 as MCP narrows it: https://modelcontextprotocol.io/specification/2026-07-28/basic/index#messages */
export type RequestId = string | number;

export interface RpcRequest {
  kind: "request";
  id: RequestId;
  method: string;
  params: Json;
}

export type Message =
  | RpcRequest
  | { kind: "notification"; method: string; params: Json }
  | ClientResponse;

/** A client's response to a request of the server: a result or an error. */
export interface ClientResponse {
  kind: "response";
  /** Null if the response has no valid id. */
  id: RequestId | null;
  /** Unchecked; the sender of the request validates it. */
  result?: unknown;
  /** The error's message. */
  error?: string;
}

/** True for a notification, even if other parts of it are not valid. */
export const isNotification = (body: unknown): boolean =>
  isObject(body) && typeof body["method"] === "string" && body["id"] === undefined;

/** Reads one message of a parsed body. Throws `invalid_request` that says what is wrong with it. */
function decode(body: unknown): Message {
  if (!isObject(body)) throw new Fault("invalid_request", "A message must be a JSON object.");
  const { jsonrpc, id, method, params } = body;
  if (jsonrpc !== "2.0")
    throw new Fault("invalid_request", 'A message must have "jsonrpc": "2.0".');
  if (method === undefined && id !== undefined && ("result" in body || "error" in body)) {
    return responseOf(body);
  }
  if (id !== undefined && !isId(id)) {
    throw new Fault(
      "invalid_request",
      `A message's id must be a string or an integer, of at most ${limits.idCharacters} characters.`,
    );
  }
  if (typeof method !== "string") {
    throw new Fault("invalid_request", "A message's method must be a string.");
  }
  if (params !== undefined && !isObject(params)) {
    throw new Fault("invalid_request", "A message's params must be an object.");
  }
  if (id === undefined) return { kind: "notification", method, params: params ?? {} };
  return { kind: "request", id, method, params: params ?? {} };
}

function responseOf(body: Json): ClientResponse {
  const { result, error } = body;
  const response = { kind: "response" as const, id: idOf(body) };
  if (error === undefined) return { ...response, result };
  const message = isObject(error) && typeof error["message"] === "string" ? error["message"] : "";
  return { ...response, error: message || "The client sent no error message." };
}

/** A message that is not valid JSON-RPC. */
export interface UnreadableMessage {
  kind: "unreadable";
  id: RequestId | null;
  fault: Fault;
  /** True if it has a method and no id: it then has no effect. */
  isNotification: boolean;
}

/**
 * Reads one message; an invalid one becomes an `UnreadableMessage`, so that the others of a batch are still answered.
 */
export function readable(body: unknown): Message | UnreadableMessage {
  try {
    return decode(body);
  } catch (error) {
    const fault = Fault.from(error);
    return { kind: "unreadable", id: idOf(body), fault, isNotification: isNotification(body) };
  }
}

/** The id of a possibly invalid message; null if it has no valid id. */
export function idOf(body: unknown): RequestId | null {
  if (!isObject(body)) return null;
  const { id } = body;
  return isId(id) ? id : null;
}

/** Ids are stored with calls and streams, and repeated in messages, so their length is limited. */
/** True for the id of a request. */
export const isId = (id: unknown): id is RequestId =>
  typeof id === "string" ? id.length <= limits.idCharacters : Number.isSafeInteger(id);

/** A response as JSON text; `result` is JSON text, too. */
export function resultMessage(id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

const encoder = new TextEncoder();

/** As `resultMessage`, in UTF-8; `result` is JSON in UTF-8, so that a long result is encoded only once. */
export function encodedResultMessage(id: RequestId, result: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
  const message = new Uint8Array(3 * head.length + result.length + 1);
  const { written } = encoder.encodeInto(head, message);
  message.set(result, written);
  const length = written + result.length;
  message[length] = "}".charCodeAt(0);
  return message.subarray(0, length + 1);
}

/** An error response as JSON text; its id is null if the request's id could not be read. */
export function errorMessage(id: RequestId | null, error: Fault | JsonRpcError): string {
  const body = error instanceof Fault ? rpcError(error) : error;
  return JSON.stringify({ jsonrpc: "2.0", id, error: body });
}

export const methodNotFound = (method: string): Fault =>
  new Fault("method_not_found", `Method not found: ${method}`);
