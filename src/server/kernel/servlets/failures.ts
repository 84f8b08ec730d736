/** Explains error codes to operators and to callers of a tool. */
import type { FaultCode } from "../core/errors.ts";

/** How a run ended. `threw` means an uncaught exception. */
export type RunOutcome =
  | ("returned" | "waits" | "refused" | "threw" | "trapped")
  /** The call was refused before it ran. */
  | "invalid_arguments"
  | FaultCode;

/** A failed run, as shown to operators. */
interface Failure {
  /** The event, in a few words. */
  what: string;
  /** Its usual causes, and what can be done. */
  advice: string;
  /** True if it concerns operators; false for what callers and clients cause, or servlets report to them. */
  isOurs: boolean;
}

const ours = (what: string, advice: string): Failure => ({ what, advice, isOurs: true });
const theirs = (what: string, advice: string): Failure => ({ what, advice, isOurs: false });

const OWN_ERROR = theirs(
  "Answered with an error",
  "The servlet answered with an error of its own, which its caller has seen. Call the tool yourself to see it.",
);
const WRONG_REQUEST = theirs("Wrong request", "The client was told what is wrong with it.");
const NOT_ALLOWED = theirs(
  "Not allowed",
  "The caller was told so. If it should be, make a key with the scope, or see SCOPES (docs/access.md).",
);
const GONE = theirs("Nothing is there", "The caller was told, and can list what there is.");

/** Explanations of failed runs for operators, by outcome. */
const TO_OPERATORS: Readonly<Record<Exclude<RunOutcome, "returned" | "waits">, Failure>> = {
  invalid_arguments: theirs(
    "Wrong arguments",
    "The caller has seen which arguments are wrong. If models often fail here, describe the arguments better.",
  ),
  refused: OWN_ERROR,
  threw: ours(
    "Uncaught exception",
    "Fix the servlet at the first line of the stack that is its own, which is in the log; throw a ToolError for what its caller can correct.",
  ),
  trapped: ours(
    "Crashed, or was stopped",
    "What it wrote before is in the log. Fix the servlet, roll it back, or raise its compute_limit or memory_limit if it needs more.",
  ),
  not_configured: ours(
    "Lacks a setting",
    "Set it: in .dev.vars, or .env where you have that, for dev and start, with npx wrangler secret put NAME for the deployed Worker.",
  ),
  servlet_failed: ours(
    "Invalid answer",
    "The servlet returned something invalid, or behaved differently when it was run again. Fix the servlet; if only its state has changed, calling again is enough.",
  ),
  servlet_error: OWN_ERROR,
  extension_error: WRONG_REQUEST,
  internal: ours("Fault of this server", "Its stack is in the log. Report it if it happens again."),
  unavailable: ours(
    "Something was missing",
    "The message says what: a binding of wrangler.toml, stored state, or a servlet or request that is gone, as after a deploy.",
  ),
  storage_full: ours(
    "The storage was full",
    "Delete files that are not needed, or enlarge the disk. As soon as there is room, calls can store data again, without a restart (docs/self-hosting.md).",
  ),
  too_many: ours(
    "Too many at once",
    "Calls waited for memory, or for the state of one servlet; their callers can try again. If it happens often, see whether LIMITS can raise the limit (docs/configuration.md).",
  ),
  too_large: theirs(
    "Too large",
    "The caller was told the limit. See whether LIMITS can raise it (docs/configuration.md).",
  ),
  not_acceptable: theirs(
    "Too long for its client",
    "It accepts no stream, and would have given up. Have it send Accept: application/json, text/event-stream.",
  ),
  cancelled: theirs(
    "Stopped by its client",
    "The client cancelled the call or has left. If it often does, the tool may take too long.",
  ),
  conflict: theirs(
    "Sent twice at once",
    "Another request of this call was still at work. The caller was told to try again.",
  ),
  invalid_params: theirs(
    "Does not fit",
    "The request had wrong values, or its servlet was updated meanwhile. The caller can call again.",
  ),
  missing_capability: theirs(
    "The client cannot do this",
    "The servlet needs something of the client, such as to ask its user. LINKS=on asks on pages of this server.",
  ),
  page_required: theirs(
    "Goes on at a page",
    "The client was given a page of this server for its user. Nothing is wrong.",
  ),
  unauthorized: theirs(
    "Not signed in",
    "The key or token was missing, wrong, expired or revoked. The caller needs another one.",
  ),
  no_session: GONE,
  not_found: GONE,
  method_not_found: GONE,
  forbidden: NOT_ALLOWED,
  insufficient_scope: NOT_ALLOWED,
  too_slow: WRONG_REQUEST,
  parse_error: WRONG_REQUEST,
  invalid_request: WRONG_REQUEST,
  invalid_meta: WRONG_REQUEST,
  header_mismatch: WRONG_REQUEST,
  unsupported_version: WRONG_REQUEST,
  unsupported_media_type: WRONG_REQUEST,
  method_not_allowed: WRONG_REQUEST,
  misdirected: WRONG_REQUEST,
};

/** The meaning of this outcome of a failed run. */
export const failureOf = (outcome: string): Failure =>
  (TO_OPERATORS as Readonly<Record<string, Failure>>)[outcome] ?? OWN_ERROR;

const AGAIN = "Call the tool again.";
const LATER = `Wait a little. ${AGAIN}`;
const TELL = "If it fails again, tell whoever runs this server.";
const CHANGE = "Change what it names, then call it again.";

/** Why a call failed and what its caller can do, by code. For other codes the server's message has to do. */
const TO_CALLERS: Partial<Record<string, readonly [why: string, next: string]>> = {
  tool: ["The tool could not do it, and says why.", CHANGE],
  servlet_error: ["The servlet refused it.", CHANGE],
  invalid_params: ["The call did not fit the tool.", CHANGE],
  not_found: ["What was called is not there.", "See Home for what this server offers."],
  servlet_failed: [
    "The servlet has a fault, or changed while the call waited.",
    `See the timeline for what it had done by then. ${AGAIN} ${TELL}`,
  ],
  internal: ["This server has a fault.", `${AGAIN} ${TELL}`],
  not_configured: [
    "A setting of the servlet is missing.",
    "Whoever runs this server has to set it.",
  ],
  unavailable: ["A service that the server needs did not answer.", LATER],
  storage_full: ["The server had no room to store the changes of the call.", `${LATER} ${TELL}`],
  too_many: ["A limit was reached.", LATER],
  too_large: ["It was too large.", "Call it with less at a time."],
  cancelled: ["It was stopped before it had ended.", AGAIN],
  not_acceptable: ["Your client stopped listening before it had ended.", AGAIN],
  missing_capability: [
    "Your client cannot do what the tool needs.",
    "Use another client, or try it on this server's Home.",
  ],
  unauthorized: ["Your sign-in was no longer valid.", `Sign in again. ${AGAIN}`],
  insufficient_scope: [
    "Your access does not include this tool.",
    "Whoever runs this server can extend it.",
  ],
} satisfies Partial<Record<FaultCode | "tool", readonly [string, string]>>;

/**
 * Why a call failed and what its caller can do, by the code of a fault; for a call that ended before codes were stored,
 * by its JSON-RPC code.
 */
export function adviceFor(code: unknown): { why: string; next: string } {
  const [why, next] = TO_CALLERS[String(code)] ?? [
    "The call was refused.",
    `Correct what is named here. ${TELL}`,
  ];
  return { why, next };
}
