/** Errors of the official SDK, of both generations. */
import { RpcError } from "../run.ts";

export const ErrorCode = {
  ConnectionClosed: -32000,
  RequestTimeout: -32001,
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  UrlElicitationRequired: -32042,
} as const;

export const ProtocolErrorCode = {
  ...ErrorCode,
  ResourceNotFound: -32602,
  MissingRequiredClientCapability: -32021,
  UnsupportedProtocolVersion: -32022,
} as const;

/** A protocol error, the base class of the SDK's errors. */
export class ProtocolError extends RpcError {
  override name = "ProtocolError";

  static fromError(code: number, message: string, data?: unknown): ProtocolError {
    return new this(code, message, data);
  }
}

export class McpError extends ProtocolError {
  override name = "McpError";

  constructor(code: number, message: string, data?: unknown) {
    super(code, `MCP error ${code}: ${message}`, data);
  }
}

export class ResourceNotFoundError extends ProtocolError {
  constructor(uri: string, message = `Resource ${uri} not found`) {
    super(ProtocolErrorCode.ResourceNotFound, message, { uri });
  }
}

export class UrlElicitationRequiredError extends ProtocolError {
  constructor(
    elicitations: unknown[],
    message = `URL elicitation${elicitations.length > 1 ? "s" : ""} required`,
  ) {
    super(ErrorCode.UrlElicitationRequired, message, { elicitations });
  }

  get elicitations(): unknown {
    return (this.data as { elicitations?: unknown } | undefined)?.elicitations ?? [];
  }
}

/** Converts an error as the SDK does: to a protocol error with its own code, or else with that of an internal error. */
export function asProtocolError(thrown: unknown): unknown {
  if (thrown instanceof RpcError || !(thrown instanceof Error)) return thrown;
  const { code, data } = thrown as { code?: unknown; data?: unknown };
  const known = Number.isSafeInteger(code) ? (code as number) : ErrorCode.InternalError;
  return Object.assign(new RpcError(known, thrown.message || "Internal error", data), {
    cause: thrown,
  });
}
