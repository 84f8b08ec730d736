/** Calls that a guest makes to tools of other servlets. */
import type { CallToolResult, Json } from "./model.ts";

/** A tool by the name that callers see. */
export interface ToolCall {
  name: string;
  arguments: Json;
}

/** Calls made together, each under a key that the guest chose. */
export type ToolCalls = Readonly<Record<string, ToolCall>>;

/**
 * Why a tool call has no result: `failed` for a servlet with a protocol error or an invalid result. A tool that reports
 * its own failure has a result with `isError`.
 */
export type ToolCallReason =
  | "unknown-tool"
  | "not-allowed"
  | "declined"
  | "insufficient-scope"
  | "bad-arguments"
  | "state-in-use"
  | "too-deep"
  | "too-many"
  | "failed";

/** The answer to a call of a guest. */
export type ToolAnswer = { result: CallToolResult } | { failed: ToolCallReason; message: string };
