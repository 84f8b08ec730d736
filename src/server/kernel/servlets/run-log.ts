/** Logs runs of servlets: how each ended and, if it failed, why and what to do. */
import type { CountedRun } from "../observe/counted.ts";
import { Fault, type FaultCode } from "../core/errors.ts";
import { failureOf, type RunOutcome } from "./failures.ts";
import { limits } from "../core/limits.ts";
import type { CallContext } from "../core/call-context.ts";
import { isObject, textsIn } from "../core/model.ts";
import { isShortage, Suspended } from "../core/suspension.ts";
import { beginningOf, printable, printableJson, printableLines } from "../core/text.ts";
import type { Ending } from "../wasm/call.ts";
import type { Deployment } from "./deployment.ts";

/** Characters of a servlet's error that operators see. */
const ERROR_EXCERPT = 300;

/** One run of a servlet in the run log, without its input and output. */
interface RunLine {
  /** When it began, in ISO 8601. */
  time: string;
  /** The request's id, as sent by the client. */
  id: string | number;
  principal: string;
  /** The MCP revision of its client. */
  protocol: string | undefined;
  servlet: string;
  /** The export, and the tool, prompt, resource or template that the call named. */
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
  /** Why it failed, unless the servlet told only its caller, and what operators can do. */
  message?: string;
  advice?: string;
}

/** The parts of a call that its log line shows. */
type LoggedCall = Pick<CallContext, "id" | "principal" | "client"> &
  Partial<Pick<CallContext, "subject" | "taskId" | "recorded" | "fuelUsed">>;

/** Faults of servlets and of this server, with messages that no one else wrote. */
const TOLD = new Set<FaultCode>([
  "internal",
  "servlet_failed",
  "not_configured",
  "unavailable",
  "storage_full",
  "too_many",
]);

type LoggedRun = Pick<RunLine, "servlet" | "export" | "given"> & {
  /** Unix time in ms. */
  began: number;
  call: LoggedCall;
  deployment: Deployment;
};

/** Logs a run that has ended, with its interpreted result, and counts it. */
export function tellEnded(watched: LoggedRun, ending: Ending, result: unknown): void {
  const isError = isObject(result) && result["isError"] === true;
  const verdict = verdictOf(ending, isError);
  // A servlet that returned a question is called again with its answer.
  const isOver = !(result instanceof Suspended);
  const error = isError ? textsIn(result).join(" ") : "";
  tell(watched, ending, { ...verdict, ...(isOver && { error }) });
  // It has only logged text that looks like a failure.
  if (verdict.outcome === "returned" && "failure" in ending && ending.failure !== undefined)
    watched.deployment.log(watched.servlet, "error", ending.failure);
}

/** Logs a run that has thrown, or whose ending is invalid, and counts it. */
export function tellFailed(watched: LoggedRun, ending: Ending | undefined, error: unknown): void {
  const isOwn = ending !== undefined && ending.kind !== "returned";
  const fault = Fault.from(error);
  const verdict = isOwn ? verdictOf(ending, true) : faultVerdict(fault);
  // A task that found no room runs again.
  const isOver = watched.call.taskId === undefined || !isShortage(fault);
  tell(watched, ending, { ...verdict, ...(isOver && { error: fault.message }) });
}

/**
 * Logs and counts a call that was rejected before its servlet ran: its arguments do not match the tool's input schema.
 */
export const tellMisfit = (
  servlet: string,
  { call, error, deployment }: Pick<LoggedRun, "call" | "deployment"> & { error: string },
): void =>
  tell({ servlet, export: "", given: 0, began: Date.now(), call, deployment }, undefined, {
    outcome: "invalid_arguments",
    message: "The arguments do not fit the input schema of the tool.",
    error,
  });

type Verdict = Pick<RunLine, "outcome" | "message"> & {
  /** The error message that the caller gets, empty for none; absent if the call continues after this run. */
  error?: string;
};

function verdictOf(ending: Ending, isError: boolean): Verdict {
  if (ending.kind === "suspended") return { outcome: "waits" };
  const { kind, failure } = ending;
  if (kind === "trapped")
    return { outcome: kind, message: [ending.message, failure ?? []].flat().join("\n") };
  if (kind === "returned" && !isError) return { outcome: kind };
  const outcome = failure?.startsWith("Uncaught ") === true ? "threw" : "refused";
  return { outcome, ...(failure !== undefined && { message: failure }) };
}

function faultVerdict({ code, message }: Fault): Verdict {
  return { outcome: code, ...(TOLD.has(code) && { message }) };
}

function tell(watched: LoggedRun, ending: Ending | undefined, verdict: Verdict): void {
  const { outcome, message, error } = verdict;
  const { servlet, export: run, given, began, call, deployment } = watched;
  const { principal, client, subject, taskId, recorded, fuelUsed = 0 } = call;
  const { record, count } = deployment;
  const failure = outcome === "returned" || outcome === "waits" ? undefined : failureOf(outcome);
  const ms = Date.now() - began;
  if (count !== undefined) {
    // The URI of a resource may reveal something about its caller, and has unlimited variety.
    const tool = subject === undefined || subject.includes(":") ? run : subject;
    const fuel = Math.max(0, fuelIn(ending) - fuelUsed);
    const { name: caller } = principal;
    const counted: CountedRun = { servlet, tool, caller, outcome, ms, fuel };
    if (failure) counted.message = briefly(message ?? "");
    if (failure && taskId) counted.task = taskId;
    if (subject !== undefined && outcome !== "waits" && error !== undefined) {
      const at = Math.min(began, recorded?.head.time ?? began);
      const ended = { at, ms: began + ms - at, task: taskId ?? null, error: "" };
      if (failure) ended.error = beginningOf(printableLines(error), ERROR_EXCERPT);
      counted.call = ended;
    }
    count(counted);
  }
  if (!failure && !(record && Math.random() < record.share)) return;
  const line: RunLine = {
    time: new Date(began).toISOString(),
    id: typeof call.id === "string" ? beginningOf(call.id, limits.idCharacters) : call.id,
    principal: principal.name,
    protocol: client.protocolVersion,
    subject,
    servlet,
    export: run,
    given,
    outcome,
    ms,
    gave: ending?.kind === "returned" ? (ending.output?.length ?? 0) : 0,
    replayed: recorded?.entries.length ?? 0,
    ...(message !== undefined && { message }),
    ...(failure && { advice: failure.advice }),
  };
  if (record === undefined) deployment.log(servlet, "error", textOf(line));
  else record.print(record.format === "json" ? printableJson(line) : textOf(line));
}

/** The first line of a message, without line numbers and so equal for equal failures. */
const briefly = (message: string): string => beginningOf(message.split("\n", 1)[0]!, ERROR_EXCERPT);

/** Fuel used by the runs of a call. */
export const fuelIn = (ending: Ending | undefined): number => ending?.fuelUsed ?? 0;

/** Printable, whatever characters the names contain; only a message may have several lines. */
const textOf = (line: RunLine): string => {
  const { time, principal, servlet, subject, outcome, ms, given, gave, id, advice, message } = line;
  const head = `${time} ${principal}: ${servlet} ${subject ?? line.export} ${outcome} after ${ms} ms, ${given} in, ${gave} out, id ${id}`;
  const why = [advice, message && printableLines(message)].filter((part) => part !== undefined);
  return why.length === 0 ? printable(head) : `${printable(head)}. ${why.join(" ")}`;
};
