/** Calls of tools that the guest of a call makes: of other servlets. */
import type { CallToolResult, Json } from "./model.ts";

/** A tool by the name that callers see. */
export interface ToolCall {
  name: string;
  arguments: Json;
}

/** Calls that are made together, each under a key of the guest's own. */
export type ToolCalls = Readonly<Record<string, ToolCall>>;

/**
 * Why a tool was not called, or what it gave is no result: `failed` for a servlet that gave an error of the protocol or something
 * invalid. A tool that fails in its own way gives a result with `isError`.
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
