/** The one error class, and how each of its codes looks on the wire. */
import { limits } from "./limits.ts";
import { isStorageFull, storageRoom } from "./storage-room.ts";
import { printableLines, shortened, stacksOf } from "./text.ts";

/**
 * Each error code on the wire: as a JSON-RPC code, and as the HTTP status of a response whose whole body it is.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes
 */
const CODES = {
  parse_error: { rpc: -32700, http: 400 },
  invalid_request: { rpc: -32600, http: 400 },
  method_not_found: { rpc: -32601, http: 404 },
  invalid_params: { rpc: -32602, http: 200 },
  invalid_meta: { rpc: -32602, http: 400 },
  not_found: { rpc: -32602, http: 200 },
  header_mismatch: { rpc: -32020, http: 400 },
  missing_capability: { rpc: -32021, http: 400 },
  unsupported_version: { rpc: -32022, http: 400 },
  too_slow: { rpc: -32600, http: 408 },
  too_large: { rpc: -32600, http: 413 },
  too_many: { rpc: -32600, http: 429 },
  no_session: { rpc: -32600, http: 404 },
  conflict: { rpc: -32600, http: 409 },
  not_acceptable: { rpc: -32600, http: 406 },
  unsupported_media_type: { rpc: -32600, http: 415 },
  method_not_allowed: { rpc: -32600, http: 405 },
  forbidden: { rpc: -32600, http: 403 },
  /** The request is for another host than this server. */
  misdirected: { rpc: -32600, http: 421 },
  unauthorized: { rpc: -32600, http: 401 },
  insufficient_scope: { rpc: -32600, http: 403 },
  unavailable: { rpc: -32603, http: 503 },
  /** There is no room to store anything: the disk is full, or an object has reached the platform's limit. */
  storage_full: { rpc: -32603, http: 503 },
  /**
   * Only in sessions of 2025-11-25.
   * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
   */
  page_required: { rpc: -32042, http: 200 },
  cancelled: { rpc: -32600, http: 400 },
  /** Chosen by the servlet, with its own JSON-RPC code. */
  servlet_error: { rpc: -32603, http: 200 },
  servlet_failed: { rpc: -32603, http: 200 },
  /** Of an extension of MCP, which defines its own JSON-RPC code. */
  extension_error: { rpc: -32603, http: 200 },
  /** The servlet lacks a variable or secret of the Worker. */
  not_configured: { rpc: -32603, http: 200 },
  internal: { rpc: -32603, http: 500 },
} as const;

export type FaultCode = keyof typeof CODES;

export const FAULT_CODES = Object.keys(CODES) as FaultCode[];

interface FaultDetails {
  /** Sent to the caller with the message. */
  data?: unknown;
  /** The JSON-RPC code that a servlet chose or an extension defines; only with `servlet_error` and `extension_error`. */
  ownCode?: number;
  /** For the log alone. */
  cause?: unknown;
}

/** A failure. The caller sees its message and `data`, and nothing else. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly data: unknown;
  readonly ownCode: number | undefined;

  constructor(code: FaultCode, message: string, { data, ownCode, cause }: FaultDetails = {}) {
    super(message, { cause });
    this.name = "Fault";
    this.code = code;
    this.data = data;
    this.ownCode = ownCode;
  }

  /** Any thrown value as a fault; an unknown error becomes the cause of an `internal` or a `storage_full` fault. */
  static from(error: unknown): Fault {
    if (error instanceof Fault) return error;
    if (!isStorageFull(error)) return new Fault("internal", "Internal error", { cause: error });
    const data = { retryAfter: ROOM_S };
    const message = `The storage of this server is full. Retry in ${ROOM_S} seconds.`;
    return new Fault("storage_full", message, { data, cause: error });
  }
}

/** `retryAfter` of `storage_full`, in seconds: an operator has to free space first. */
const ROOM_S = 30;

/** The fault for an unknown resource. */
export const noResource = (uri: string): Fault =>
  new Fault("not_found", `Resource not found: ${uri}`, { data: { uri } });

/** The fault of a call that was stopped for the reason of this signal, or because nobody wants its result. */
export const clientHasLeft = (signal?: AbortSignal): Fault =>
  signal?.reason instanceof Fault
    ? signal.reason
    : new Fault("cancelled", "The client has left, so the call was stopped.");

/**
 * Settles as `work` does, or rejects at once when `gone` aborts. A request whose client has left ends with the
 * listeners of its signal: its fetches never settle, and its timers never fire. A guest that waited for them would be
 * abandoned, with its memory.
 */
export function orAborted<T>(work: Promise<T>, gone: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const stop = () => reject(gone.reason);
  if (gone.aborted) stop();
  gone.addEventListener("abort", stop, { once: true });
  void work.then(resolve, reject).finally(() => gone.removeEventListener("abort", stop));
  return promise;
}

/** The fault of a call that was stopped before its client, which receives nothing until it ends, gives up. */
export const tooSilent = (
  why = "its request accepts no stream",
  how = "Send Accept: application/json, text/event-stream.",
): Fault =>
  new Fault(
    "not_acceptable",
    `The call has not ended within ${limits.silentEndMs / 1000} s, and ${why}, so it was stopped. ${how}`,
  );

/** True if the cause of this fault should be logged. A host that knows that the disk is full has already logged it. */
export const isForLog = ({ code }: Fault): boolean =>
  code === "internal" || (code === "storage_full" && !storageRoom.isFull);

/** The fault that the caller may see. Logs the cause of `internal`, `storage_full` and `unavailable` faults. */
export function report(error: unknown, redact?: (text: string) => string): Fault {
  const fault = Fault.from(error);
  const isLogged = fault.code === "unavailable" && fault.cause !== undefined;
  if (isForLog(fault) || isLogged) logError(fault.cause, redact);
  return fault;
}

/** Logs an error with its causes. Its messages may quote anything, so they are redacted, cut and made printable. */
export function logError(error: unknown, redact = (text: string) => text): void {
  const trace = printableLines(redact(stacksOf(error)));
  const { logCharacters } = limits;
  console.error(shortened(trace, logCharacters));
}

/** A JSON-RPC error object. https://www.jsonrpc.org/specification#error_object */
export interface JsonRpcError {
  code: number;
  message: string;
  data?: unknown;
}

export const rpcError = ({ code, message, data, ownCode }: Fault): JsonRpcError => ({
  code: ownCode ?? CODES[code].rpc,
  message,
  ...(data !== undefined && { data }),
});

/** The `Retry-After` value of a fault, if it has one. */
export function retryAfterOf({ data }: Fault): string | undefined {
  const isObject = typeof data === "object" && data !== null;
  return isObject && "retryAfter" in data ? String(data.retryAfter) : undefined;
}

/** The HTTP status of a response whose whole body is this fault. */
export const httpStatus = ({ code }: Fault) => CODES[code].http;
