import type { Json } from "../core/model.ts";

/** A completion request: for an argument of a prompt, or a variable of a resource template. */
export interface CompletionRequest {
  ref: { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string };
  argument: { name: string; value: string };
  /** Arguments that already have a value. */
  context?: { arguments?: Record<string, string> };
}

/**
 * The subject of a call, as plain data: it can be sealed, stored and sent. `Registry.resolve` finds its entry. `name`
 * is the name that callers see, a URI, or a servlet: one whose client has changed its roots, or one that runs without a
 * caller, with the request for its export. `input` is not checked.
 * `pinned` has the arguments that the profile set when the call began; clients cannot name them.
 */
export type CallRef =
  | { kind: "tool"; name: string; input: Json; pinned?: Json }
  | { kind: "prompt"; name: string; input: Record<string, string> }
  | { kind: "resource"; name: string }
  | { kind: "completion"; name: string; input: CompletionRequest }
  | { kind: "roots"; name: string }
  | { kind: OwnRun; name: string; input: Json };

/** Why a servlet runs without a request of a caller: only the server makes such references. */
export type OwnRun = "schedule" | "webhook";

/** The MCP method for each kind of call. */
export const METHODS: Readonly<Record<CallRef["kind"], string>> = {
  tool: "tools/call",
  prompt: "prompts/get",
  resource: "resources/read",
  completion: "completion/complete",
  roots: "notifications/roots/list_changed",
  schedule: "schedules/run",
  webhook: "webhooks/receive",
};

/** The arguments of a call. */
export const inputOf = (ref: CallRef): unknown =>
  "input" in ref && ref.kind !== "completion" ? ref.input : undefined;

/** The reference without its input, which may be large. */
export const withoutInput = (ref: CallRef): CallRef =>
  "input" in ref && ref.kind !== "completion" ? { ...ref, input: {} } : ref;
