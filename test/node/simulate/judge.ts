import { limits } from "../../../src/server/features/tasks/limits.ts";
import type { Attempt, Json } from "./attempt.ts";
import type { HttpServer } from "./http-server.ts";
import {
  deadlines,
  follow,
  numbersOf,
  UNKNOWN,
  type Asking,
  type Followed,
} from "./answer-judge.ts";
import type { Step } from "./programs.ts";
import { known, type Against, type Rule, type Violation } from "./rules.ts";
import { CHANGED } from "./state-judge.ts";

interface Evidence {
  attempt: Attempt;
  internet: Pick<HttpServer, "arrivals" | "sent" | "troubled">;
  askings: Asking[];
  /** Has another attempt gone on from a state of this one? */
  isForked: boolean;
  /** How many faults there were. */
  faults: number;
  /** How often at most a task was run before it failed, without an answer more. */
  runsInVain: number;
  /** Has everything stood still for some time, in which calls have waited? */
  stoodStill: boolean;
  /** The most by which clocks differ, and messages take. */
  toleranceMs: number;
}

/** Runs that may be over before it is seen how far the one before them has come. */
const SEEN_LATE = 2;
const CANCELLED = /^The (task was cancelled|client has left)/;
const GIVEN_UP = /stopped \d+ times in a row/;
const DIED = /^The server (has )?stopped/;
const STOPPED: Record<string, RegExp> = { forever: /was stopped/, crash: /crash/ };
const WAITED = /^The servlet waited for too long/;

export function judge(evidence: Evidence): Violation[] {
  const { attempt, internet, isForked } = evidence;
  const violations: Violation[] = [];
  const against = (rule: Rule, what: string) => {
    const violation: Violation = { rule, what: `${attempt.label}: ${what}` };
    const hole = known(violation, attempt);
    violations.push({ ...violation, ...(hole !== undefined && { hole }) });
  };

  for (const problem of attempt.problems) {
    against(
      problem.startsWith("the end has changed") ? "ends are final" : "ends as it should",
      problem,
    );
  }
  for (const { step, tool } of flat(attempt.steps, attempt.tool)) {
    if (step.do === "http" && !isForked) effects(step, internet, { ...attempt, tool }, against);
  }
  const { cancelledAt = Infinity } = attempt;
  for (const { label, at } of isForked ? [] : internet.sent) {
    if (at > cancelledAt && label.startsWith(`${attempt.label}.`))
      against("quiet when cancelled", `sends ${label}`);
  }
  for (const [label, keys] of attempt.asked) {
    if (keys.size > 1) against("asked once", `${label} under ${[...keys].join(", ")}`);
  }
  const whole = attempt.heard.filter(({ isWhole }) => isWhole).flatMap(({ messages }) => messages);
  for (const messages of [whole, ...attempt.heard.map((one) => one.messages)]) {
    if (!isOrdered(messages)) against("told in order", messages.join(", "));
  }
  if (attempt.refusal !== undefined) toldUnknown(evidence, attempt.refusal, against);
  if (attempt.isOrphan) return violations;
  if (attempt.end === undefined) {
    against("ends at all", "no end");
    return violations;
  }
  ended(evidence, against);
  return violations;
}

/** Branches may say what they have to say in any order. */
function isOrdered(messages: string[]): boolean {
  const places = messages.map((one) => Number(one.split(".")[1]));
  const isInOrder = places.every((place, at) => at === 0 || place >= places[at - 1]!);
  return isInOrder && new Set(messages).size === messages.length;
}

/** All steps, each with the tool that does it. */
const flat = (steps: Step[], tool: string): { step: Step; tool: string }[] =>
  steps.flatMap((step) => {
    const { branches, tools = [] } = step;
    if (branches === undefined) return [{ step, tool }];
    return branches.flatMap((branch, nth) => flat(branch, tools[nth] ?? tool));
  });

function effects(
  step: Step,
  { arrivals: all, troubled }: Evidence["internet"],
  { tool, isCarried, steps }: Attempt,
  against: Against,
): void {
  const arrivals = all.filter(({ label }) => label === step.message);
  const lines = arrivals.map(
    ({ key, id, from }) => `${key?.slice(0, 6) ?? "no key"}/${id?.slice(0, 6)} by ${from}`,
  );
  if (step.method === "POST" && arrivals.length > 1) {
    const isRepeated = arrivals.some(({ isNew }, at) => at > 0 && isNew);
    if (!tool.startsWith("r-") || isRepeated) {
      against(
        "effect once",
        `POST ${step.message} arrived ${arrivals.length} times: ${lines.join("; ")}`,
      );
    }
  }
  // Nothing is kept of a carried call that has sent no POST: a retry that is told something else is another call,
  // and so is one that comes later, where the servlet sleeps for as long as is left of a time. So is one that comes
  // after a question's time, where it has sent nothing but GETs.
  const others = flat(steps, tool).flatMap((one) => (one.step === step ? [] : [one.step]));
  const isToldElse = others.some(({ message = "" }) => troubled.has(message));
  const isLate = step.method === "GET" && others.some(({ timeout }) => timeout !== undefined);
  const isSequence = steps.every((one) => one.branches === undefined);
  const sleeps = !isSequence && others.some((one) => one.do === "sleep");
  if (isCarried && (isToldElse || isLate || sleeps)) return;
  if (new Set(arrivals.map(({ key }) => key ?? {})).size > 1 && step.method !== "POST") {
    against("same key", `${step.method} ${step.message}: ${lines.join("; ")}`);
  }
  if (new Set(arrivals.map(({ id }) => id)).size > 1) {
    against("same random numbers", `${step.method} ${step.message}: ${lines.join("; ")}`);
  }
}

function ended(evidence: Evidence, against: Against): void {
  const { attempt, internet, askings, toleranceMs } = evidence;
  const { fork } = attempt;
  const { status, error } = attempt.end!;
  if (status === "cancelled") {
    if (attempt.cancelled === "no") against("ends as it should", "cancelled, though nobody did");
    return;
  }
  if (error !== undefined) {
    if (GIVEN_UP.test(error.message) && evidence.runsInVain >= limits.maxRuns - SEEN_LATE) return;
    if (attempt.cancelled !== "no" && CANCELLED.test(error.message)) return;
    // Judged with the scope.
    if (CHANGED.test(error.message)) return;
    // A call of a session dies with its object, where it has had nothing to wait for; and what cannot be kept fails.
    const isFault = DIED.test(error.message) || error.message.startsWith("Internal error");
    if (!isFault) return against("ends as it should", `error: ${error.message}`);
    if (evidence.faults === 0) return against("no failure of ours", error.message);
    return toldUnknown(evidence, error.message, against);
  }
  const result = attempt.end!["result"] as Json;
  const { structuredContent: followed, isError, content } = result;
  const fails = attempt.steps.at(-1)?.do === "fail";
  if (isError === true) {
    const { text } = content[0];
    if (evidence.stoodStill && WAITED.test(text)) return;
    if (attempt.steps.some(({ do: what }) => what === "call") && CHANGED.test(text)) return;
    const stopped = STOPPED[attempt.steps.at(-1)!.do];
    if (stopped?.test(text) === true) return;
    if (!fails || text !== attempt.steps.at(-1)!.message)
      against("ends as it should", `failed: ${text}`);
    return;
  }
  if (fails) return against("ends as it should", "it should have failed");
  follow(attempt, followed, internet, against);
  const isSequence = attempt.steps.every((step) => step.branches === undefined);
  const isTask = attempt.taskId !== undefined;
  // Of one that was carried first, the task has asked only the later questions; and time that passes while
  // everything stands still, even as the question is written, is nobody's.
  const hasAskedAll = !attempt.isCarried && attempt.fork === undefined;
  if (isSequence && isTask && hasAskedAll && !evidence.stoodStill)
    deadlines(attempt, followed, askings, toleranceMs, against);
  if (isSequence && !isTask && attempt.fork === undefined) toldAtAll(attempt, against);
  const ids = numbersOf(followed);
  if (new Set(ids).size < ids.length) against("no shared random numbers", ids.join(", "));
  if (fork !== undefined) forked(fork, attempt, followed, against);
}

function toldUnknown({ attempt, internet }: Evidence, message: string, against: Against): void {
  const hasSent = internet.arrivals.some(
    ({ method, label }) => method === "POST" && label.startsWith(`${attempt.label}.`),
  );
  if (hasSent && !UNKNOWN.test(message)) against("unknown is said", message);
}

function toldAtAll({ steps, heard }: Attempt, against: Against): void {
  const whole = new Set(heard.flatMap(({ messages, isWhole }) => (isWhole ? messages : [])));
  for (const { do: what, message = "" } of steps) {
    if (what === "progress" && !whole.has(message)) against("told at all", message);
  }
}

/** The place of the question that a fork has answered otherwise; negative if it is in a branch. */
const placeOf = ({ at }: Fork, { steps }: Attempt): number =>
  steps.findIndex(({ message }) => message !== undefined && at.split(" ")[0] === message);

/** True for a fork and its call where both answers came too late: they were the same. */
function isOneCall(fork: Fork, attempt: Attempt, followed: Followed): boolean {
  const place = placeOf(fork, attempt);
  const other = fork.of.end?.["result"]?.structuredContent as Followed | undefined;
  return (
    place >= 0 &&
    other !== undefined &&
    JSON.stringify(other.said[place]) === JSON.stringify(followed.said[place])
  );
}

type Fork = NonNullable<Attempt["fork"]>;

/** Random numbers after a fork are not those of the other side. */
function forked(fork: Fork, attempt: Attempt, followed: Followed, against: Against): void {
  const place = placeOf(fork, attempt);
  const other = fork.of.end?.["result"]?.structuredContent as Followed | undefined;
  if (other === undefined || place < 0 || isOneCall(fork, attempt, followed)) return;
  const behind = ({ said, ids, times }: Followed) =>
    numbersOf({ said: said.slice(place + 1), ids: ids.slice(place + 1), times });
  const others = new Set(behind(other));
  const shared = behind(followed).filter((one) => others.has(one));
  if (shared.length > 0)
    against("no shared random numbers", `behind ${fork.at}: ${shared.join(", ")}`);
}
