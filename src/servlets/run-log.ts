/** How did a run of a servlet end, and where it failed, why and what can be done about it? */
import type { CountedRun } from "../observe/counts.ts";
import { Fault, type FaultCode } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { CallContext } from "../core/call-context.ts";
import { isObject } from "../core/model.ts";
import { beginningOf, printable, printableJson, printableLines } from "../core/text.ts";
import type { Ending } from "../wasm/call.ts";
import type { Deployment } from "./deployment.ts";

/** Characters of a servlet's error that operators are shown. */
const ERROR_EXCERPT = 300;

/** One run of a servlet in the run log, without its input and output. */
interface RunLine {
  /** When it was begun, in ISO 8601. */
  time: string;
  /** Of the request, as the client gave it. */
  id: string | number;
  principal: string;
  /** The revision of MCP that its client speaks. */
  protocol: string | undefined;
  servlet: string;
  /** The export that was run, and the tool, prompt, resource or template that the call named. */
  export: string;
  subject: string | undefined;
  outcome: RunOutcome;
  /** By the platform's clock, which stands still while a guest computes. */
  ms: number;
  /** Length of its input and its output, in characters. */
  given: number;
  gave: number;
  /** Number of recorded answers that were replayed. */
  replayed: number;
  /** Why it failed, unless the servlet has said so to its caller alone, and what operators can do. */
  message?: string;
  advice?: string;
}

/** How a run ended. `threw` is a refusal by an exception that nobody has caught. */
type RunOutcome =
  | ("returned" | "waits" | "refused" | "threw" | "trapped")
  /** The call was refused before it ran. */
  | "invalid_arguments"
  | FaultCode;

/** The parts of a call that its log line shows. */
type LoggedCall = Pick<CallContext, "id" | "principal" | "client"> &
  Partial<Pick<CallContext, "subject" | "taskId" | "recorded" | "fuelUsed">>;

/** A failed run, as an operator is told of it. */
interface Failure {
  /** What happened, in a few words. */
  what: string;
  /** What it comes from, and what can be done. */
  advice: string;
  /** True if it is for those who run the server; false for what callers and clients do, or servlets tell them. */
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

/** What failed runs mean to an operator, by their outcome. */
const FAILURES: Readonly<Record<Exclude<RunOutcome, "returned" | "waits">, Failure>> = {
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
    "Set it: in .dev.vars for dev and start, with npx wrangler secret put NAME for the deployed Worker.",
  ),
  servlet_failed: ours(
    "Invalid answer",
    "The servlet returned something invalid, or behaved differently when it was run again. Fix the servlet; if only its state has changed, calling again is enough.",
  ),
  servlet_error: OWN_ERROR,
  internal: ours("Fault of this server", "Its stack is in the log. Report it if it happens again."),
  unavailable: ours(
    "Something was missing",
    "The message says what: a binding of wrangler.toml, stored state, or a servlet or request that is gone, as after a deploy.",
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

/** What this outcome of a failed run means. */
export const failureOf = (outcome: string): Failure =>
  (FAILURES as Readonly<Record<string, Failure>>)[outcome] ?? OWN_ERROR;

/** Faults of servlets and of this server, whose messages nobody else has written. */
const TOLD = new Set<FaultCode>([
  ...(["internal", "servlet_failed", "not_configured", "unavailable", "too_many"] as const),
]);

type Watched = Pick<RunLine, "servlet" | "export" | "given"> & {
  /** Unix time in ms. */
  began: number;
  call: LoggedCall;
  deployment: Deployment;
};

/** Writes the line of a run that has ended, with what was read of it, and counts it. */
export function tellEnded(watched: Watched, ending: Ending, result: unknown): void {
  const verdict = verdictOf(ending, isObject(result) && result["isError"] === true);
  tell(watched, ending, verdict);
  // It has only logged what reads like that.
  if (verdict.outcome === "returned" && "failure" in ending && ending.failure !== undefined)
    watched.deployment.log(watched.servlet, "error", ending.failure);
}

/** Writes the line of a run that has thrown, or has an ending that cannot be read, and counts it. */
export function tellFailed(watched: Watched, ending: Ending | undefined, error: unknown): void {
  const isOwn = ending !== undefined && ending.kind !== "returned";
  tell(watched, ending, isOwn ? verdictOf(ending, true) : faultVerdict(error));
}

/** Writes the line of a call whose arguments do not fit the schema of its tool, so that its servlet does not run. */
export const tellMisfit = (servlet: string, call: LoggedCall, deployment: Deployment): void =>
  tell({ servlet, export: "", given: 0, began: Date.now(), call, deployment }, undefined, {
    outcome: "invalid_arguments",
    message: "The arguments do not fit the input schema of the tool.",
  });

type Verdict = Pick<RunLine, "outcome" | "message">;

function verdictOf(ending: Ending, isError: boolean): Verdict {
  if (ending.kind === "suspended") return { outcome: "waits" };
  const { kind, failure } = ending;
  if (kind === "trapped")
    return { outcome: kind, message: [ending.message, failure ?? []].flat().join("\n") };
  if (kind === "returned" && !isError) return { outcome: kind };
  const outcome = failure?.startsWith("Uncaught ") === true ? "threw" : "refused";
  return { outcome, ...(failure !== undefined && { message: failure }) };
}

function faultVerdict(error: unknown): Verdict {
  const { code, message } = Fault.from(error);
  return { outcome: code, ...(TOLD.has(code) && { message }) };
}

function tell(
  { began, call, deployment, ...about }: Watched,
  ending: Ending | undefined,
  { outcome, message }: Verdict,
): void {
  const { principal, client, subject, taskId, recorded, fuelUsed = 0 } = call;
  const { record, count } = deployment;
  const failure = outcome === "returned" || outcome === "waits" ? undefined : failureOf(outcome);
  const ms = Date.now() - began;
  if (count !== undefined) {
    // The address of a resource may say something of its caller, and there are any number.
    const tool = subject === undefined || subject.includes(":") ? about.export : subject;
    const fuel = Math.max(0, fuelIn(ending) - fuelUsed);
    const { name: caller } = principal;
    const run: CountedRun = { servlet: about.servlet, tool, caller, outcome, ms, fuel };
    count(
      failure ? { ...run, message: briefly(message ?? ""), ...(taskId && { task: taskId }) } : run,
    );
  }
  if (!failure && !(record && Math.random() < record.share)) return;
  const line: RunLine = {
    time: new Date(began).toISOString(),
    id: typeof call.id === "string" ? beginningOf(call.id, limits.idCharacters) : call.id,
    principal: principal.name,
    protocol: client.protocolVersion,
    subject,
    ...about,
    outcome,
    ms,
    gave: ending?.kind === "returned" ? (ending.output?.length ?? 0) : 0,
    replayed: recorded?.entries.length ?? 0,
    ...(message !== undefined && { message }),
    ...(failure && { advice: failure.advice }),
  };
  if (record === undefined) deployment.log(about.servlet, "error", textOf(line));
  else record.print(record.format === "json" ? printableJson(line) : textOf(line));
}

/** The first line of a message, which has no line numbers and so is the same for each such failure. */
const briefly = (message: string): string => beginningOf(message.split("\n", 1)[0]!, ERROR_EXCERPT);

/** Fuel that the runs of a call have used. */
export const fuelIn = (ending: Ending | undefined): number =>
  (ending?.kind === "suspended" ? ending.suspended.fuelUsed : ending?.fuelUsed) ?? 0;

/** Printable, whatever characters the names contain; only a message may have more than one line. */
const textOf = (line: RunLine): string => {
  const { time, principal, servlet, subject, outcome, ms, given, gave, id, advice, message } = line;
  const head = `${time} ${principal}: ${servlet} ${subject ?? line.export} ${outcome} after ${ms} ms, ${given} in, ${gave} out, id ${id}`;
  const why = [advice, message && printableLines(message)].filter((part) => part !== undefined);
  return why.length === 0 ? printable(head) : `${printable(head)}. ${why.join(" ")}`;
};
