/** The one error class, and how each of its codes looks on the wire. */
import { limits } from "./limits.ts";
import { printableLines, traceOf } from "./text.ts";

/** All error codes. */
export type FaultCode =
  | "parse_error"
  | "invalid_request"
  | "method_not_found"
  | "invalid_params"
  | "invalid_meta"
  | "not_found"
  | "header_mismatch"
  | "missing_capability"
  | "unsupported_version"
  | "too_large"
  | "too_many"
  | "no_session"
  | "conflict"
  | "not_acceptable"
  | "unsupported_media_type"
  | "method_not_allowed"
  | "forbidden"
  | "unauthorized"
  | "insufficient_scope"
  | "unavailable"
  | "cancelled"
  | "servlet_error"
  | "servlet_failed"
  | "internal";

interface FaultDetails {
  /** Goes to the caller with the message. */
  data?: unknown;
  /** The JSON-RPC code that a servlet chose; only with `servlet_error`. */
  servletCode?: number;
  /** For the log alone. */
  cause?: unknown;
}

/** A failure with a message for the caller, who sees nothing else of it but `data`. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly data: unknown;
  readonly servletCode: number | undefined;

  constructor(code: FaultCode, message: string, { data, servletCode, cause }: FaultDetails = {}) {
    super(message, { cause });
    this.name = "Fault";
    this.code = code;
    this.data = data;
    this.servletCode = servletCode;
  }

  /** Any thrown value as a fault; what is not one becomes `internal`, its details kept for the log. */
  static from(error: unknown): Fault {
    if (error instanceof Fault) return error;
    return new Fault("internal", "Internal error", { cause: error });
  }
}

/** The part of an error that its caller may see; the cause of what is not the caller's mistake goes to the log. */
export function report(error: unknown, redact?: (text: string) => string): Fault {
  const fault = Fault.from(error);
  if (fault.code === "internal" || fault.code === "unavailable") logError(fault.cause, redact);
  return fault;
}

/** Logs an error with its causes. Its messages may quote anything, so they are redacted, cut and made printable. */
export function logError(error: unknown, redact = (text: string) => text): void {
  const trace = printableLines(redact(traceOf(error)));
  const { logCharacters } = limits;
  console.error(trace.length > logCharacters ? `${trace.slice(0, logCharacters)}…` : trace);
}

/** A JSON-RPC error object. https://www.jsonrpc.org/specification#error_object */
export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

export function rpcError(fault: Fault): RpcError {
  return {
    code: rpcCode(fault),
    message: fault.message,
    ...(fault.data === undefined ? {} : { data: fault.data }),
  };
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes */
function rpcCode(fault: Fault): number {
  switch (fault.code) {
    case "parse_error":
      return -32700;
    case "invalid_request":
    case "too_large":
    case "too_many":
    case "no_session":
    case "conflict":
    case "not_acceptable":
    case "unsupported_media_type":
    case "method_not_allowed":
    case "forbidden":
    case "insufficient_scope":
    case "unauthorized":
    case "cancelled":
      return -32600;
    case "method_not_found":
      return -32601;
    case "invalid_params":
    case "invalid_meta":
    case "not_found":
      return -32602;
    case "header_mismatch":
      return -32020;
    case "missing_capability":
      return -32021;
    case "unsupported_version":
      return -32022;
    case "servlet_error":
      return fault.servletCode ?? -32603;
    case "servlet_failed":
    case "unavailable":
    case "internal":
      return -32603;
  }
}

/** The `Retry-After` value of a fault, if it has one. */
export function retryAfterOf({ data }: Fault): string | undefined {
  const isObject = typeof data === "object" && data !== null;
  return isObject && "retryAfter" in data ? String(data.retryAfter) : undefined;
}

/** The HTTP status of a response whose whole body is this fault. */
export function httpStatus(
  fault: Fault,
): 200 | 400 | 401 | 403 | 404 | 405 | 406 | 409 | 413 | 415 | 429 | 500 | 503 {
  switch (fault.code) {
    case "parse_error":
    case "invalid_request":
    case "invalid_meta":
    case "header_mismatch":
    case "missing_capability":
    case "unsupported_version":
    case "cancelled":
      return 400;
    case "unauthorized":
      return 401;
    case "forbidden":
    case "insufficient_scope":
      return 403;
    case "method_not_found":
    case "no_session":
      return 404;
    case "method_not_allowed":
      return 405;
    case "not_acceptable":
      return 406;
    case "conflict":
      return 409;
    case "too_large":
      return 413;
    case "unsupported_media_type":
      return 415;
    case "too_many":
      return 429;
    case "invalid_params":
    case "not_found":
    case "servlet_error":
    case "servlet_failed":
      return 200;
    case "internal":
      return 500;
    case "unavailable":
      return 503;
  }
}
