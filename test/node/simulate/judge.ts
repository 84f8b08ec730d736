import { limits } from "../../../src/limits.ts";
import type { Attempt, Json } from "./attempt.ts";
import type { HttpServer } from "./http-server.ts";
import { ASKS, type Step } from "./programs.ts";
import { CHANGED } from "./state-judge.ts";

/** A rule of the model that did not hold. */
export interface Violation {
  rule: Rule;
  what: string;
  /** The hole that it comes from, where it is one that is known. */
  hole?: string;
}

/** What may be seen of a durable call from internet, whatever happens. */
export const RULES = {
  "effect once":
    "A POST arrives at most once for each step of a program, unless the manifest says otherwise",
  "same key": "A request that is sent again has the key that it had",
  "answers fit": "What the servlet was told is an answer to its own question",
  "time rises": "The servlet's clock never goes back",
  "sleeps last": "A sleep takes its time by the servlet's clock",
  "unknown is said": "A caller that gets no result is told where the outcome of a POST is unknown",
  "asked once": "The client is asked each question under one key",
  "asked at all":
    "The client has had the whole time of a question before the servlet hears that it has passed",
  "same random numbers": "A request carries the random number that the servlet has at that step",
  "no shared random numbers":
    "Random numbers of a call are different from each other, and so are those of forks",
  // A request is repeated where its response was lost: nobody knows what of it was heard, so it says all again.
  "told in order":
    "Notifications come in order and once, and again only in the retry of a request that got no whole response",
  "told at all": "Who gets a result has heard all that was said before it",
  "ends are final": "A call that is over stays so",
  "ends as it should": "A call ends as its program says, given its answers",
  "ends at all": "When faults stop, a call comes to its end",
  "quiet when cancelled": "A call that is cancelled sends no further requests",
  "alarms lead on": "An alarm that has gone off is not set again and again for the same time",
  "one history":
    "All calls of a scope see the same history of what is kept there, each as much of it as there is",
  "scopes share nothing": "What one scope keeps is seen in no other",
  "all or nothing":
    "All that a call keeps is there, or nothing of it; of one that is stopped, nothing",
  "state once": "What a call keeps is there once, however often it is run",
  "state kept": "What a call that has its answer keeps is there from then on",
  "nothing is left": "When the time of a call is over, nothing of it is stored",
  "no failure of ours": "No request is answered by an internal error but for a fault",
} as const;

export type Rule = keyof typeof RULES;

/**
 * Holes that are known, and what is seen of them. They fail no run until they are closed: take the row away
 * then, and what it let pass is a failure again.
 */
const KNOWN: Record<string, (violation: Violation, attempt: Attempt | undefined) => boolean> = {
  "the retry of a call that has changed its servlet's state gets the stored ending without what was said before it":
    ({ rule }, attempt) =>
      rule === "told at all" && attempt?.isCarried === true && /^k[scv]-/.test(attempt.tool),
};

/** The known hole that a violation comes from, if it is one. */
const known = (violation: Violation, attempt?: Attempt): string | undefined =>
  Object.keys(KNOWN).find((hole) => KNOWN[hole]!(violation, attempt));

/** When the client of a task could answer, and when that was over, in true time. */
export interface Asking {
  from: number;
  until: number;
}

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
  /** What clocks may be apart by, and messages may take. */
  toleranceMs: number;
}

interface Followed {
  said: unknown[];
  ids: string[];
  times: number[];
}

const TROUBLE = /^The host \S+ (could not be reached|gave no answer)/;
/** Runs that may be over before it is seen how far the one before them has come. */
const SEEN_LATE = 2;
const CANCELLED = /^The (task was cancelled|client has left)/;
const GIVEN_UP = /stopped \d+ times in a row/;
const DIED = /^The server (has )?stopped/;
const STOPPED: Record<string, RegExp> = { forever: /was stopped/, crash: /crash/ };
const WAITED = /^The servlet waited for too long/;
const UNKNOWN = /outcome .*unknown|not known what came of it/;

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
  for (const step of flat(attempt.steps)) {
    if (step.do === "http" && !isForked) effects(step, internet, attempt, against);
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

type Against = (rule: Rule, what: string) => void;

const flat = (steps: Step[]): Step[] =>
  steps.flatMap((step) => (step.do === "all" ? step.branches!.flatMap(flat) : [step]));

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
  const others = flat(steps).filter((one) => one !== step);
  const isToldElse = others.some(({ message = "" }) => troubled.has(message));
  const branches = steps.flatMap((one) => one.branches ?? []);
  const isLate = step.method === "GET" && others.some(({ timeout }) => timeout !== undefined);
  const sleeps = branches.flat().some((one) => one.do === "sleep");
  if (isCarried && (isToldElse || isLate || sleeps)) return;
  if (new Set(arrivals.map(({ key }) => key ?? {})).size > 1 && step.method !== "POST") {
    against("same key", `${step.method} ${step.message}: ${lines.join("; ")}`);
  }
  if (new Set(arrivals.map(({ id }) => id)).size > 1) {
    against("same random numbers", `${step.method} ${step.message}: ${lines.join("; ")}`);
  }
}

function ended(evidence: Evidence, against: Against): void {
  const { attempt, askings, toleranceMs } = evidence;
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
    const stopped = STOPPED[attempt.steps.at(-1)!.do];
    if (stopped?.test(text) === true) return;
    if (!fails || text !== attempt.steps.at(-1)!.message)
      against("ends as it should", `failed: ${text}`);
    return;
  }
  if (fails) return against("ends as it should", "it should have failed");
  follow(attempt.steps, followed, evidence, against);
  const isSequence = attempt.steps.every((step) => step.do !== "all");
  const isTask = attempt.taskId !== undefined;
  // Of one that was carried first, the task has asked only the later questions; and time that passes while
  // everything stands still, even as the question is written, is nobody's.
  const hasAskedAll = !attempt.isCarried && attempt.fork === undefined;
  if (isSequence && isTask && hasAskedAll && !evidence.stoodStill)
    deadlines(attempt, followed, askings, toleranceMs, against);
  if (isSequence && !isTask && attempt.fork === undefined) toldAtAll(attempt, against);
  const ids = numbersOf(followed);
  if (new Set(ids).size < ids.length) against("no shared random numbers", ids.join(", "));
  if (attempt.fork !== undefined) forked(attempt, followed, against);
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

/** What is random after a fork is not so on the other side. */
function forked({ steps, fork }: Attempt, followed: Followed, against: Against): void {
  const { of, at } = fork!;
  const other = of.end?.["result"]?.structuredContent as Followed | undefined;
  const place = steps.findIndex(
    ({ message }) => message !== undefined && at.split(" ")[0] === message,
  );
  // Where both answers came too late, they were the same.
  const isSame = JSON.stringify(other?.said[place]) === JSON.stringify(followed.said[place]);
  if (other === undefined || place < 0 || isSame) return;
  const behind = ({ said, ids, times }: Followed) =>
    numbersOf({ said: said.slice(place + 1), ids: ids.slice(place + 1), times });
  const others = new Set(behind(other));
  const shared = behind(followed).filter((one) => others.has(one));
  if (shared.length > 0) against("no shared random numbers", `behind ${at}: ${shared.join(", ")}`);
}

/** All random numbers that a call has seen. */
function numbersOf({ said, ids }: Followed): string[] {
  return [
    ...ids,
    ...said.flatMap((one) => {
      if (typeof one === "number") return [String(one)];
      const isAll =
        Array.isArray(one) &&
        one.some((branch) => typeof branch === "object" && branch !== null && "ids" in branch);
      return isAll ? (one as Followed[]).flatMap(numbersOf) : [];
    }),
  ];
}

function follow(
  steps: Step[],
  { said, ids, times }: Followed,
  evidence: Evidence,
  against: Against,
): void {
  const { attempt, internet } = evidence;
  if (said.length !== steps.length)
    return against("ends as it should", `${said.length} of ${steps.length} steps`);
  for (const [at, step] of steps.entries()) {
    const one = said[at];
    const label = step.message ?? "";
    const wrong = (rule: Rule = "answers fit") =>
      against(rule, `${label} ${step.do}: ${JSON.stringify(one)}`);
    // A servlet that is called anew may be so on another machine.
    if (at > 0 && step.do !== "back" && times[at]! < times[at - 1]!)
      against("time rises", `${label}: ${times.join(", ")}`);
    if (step.catches === true) {
      if (one !== "cannot-ask") wrong();
      continue;
    }
    switch (step.do) {
      case "http": {
        if (typeof one === "string") {
          if (!TROUBLE.test(one) && !UNKNOWN.test(one)) wrong();
          break;
        }
        const [status, text] = one as [number, string];
        const arrival = internet.arrivals.find(({ answer }) => answer === text);
        if (arrival?.label !== label || (status === 500) !== text.startsWith("bad")) wrong();
        else if (arrival.id !== ids[at]) {
          against(
            "same random numbers",
            `${label} was sent with ${arrival.id}, and the servlet has ${ids[at]}`,
          );
        }
        break;
      }
      case "elicit": {
        const answer = attempt.answers.get(label);
        const expected = answer?.["content"]?.value ?? answer?.["action"];
        const isOver = one === "cancel" && step.timeout !== undefined;
        if (one !== expected && !isOver) wrong();
        break;
      }
      case "keep":
        if ((one as string[]).at(-1) !== label) wrong();
        break;
      case "tally": {
        const [asked, value] = one as [string, string];
        const answer = attempt.answers.get(asked);
        if (value !== (answer?.["content"]?.value ?? answer?.["action"])) wrong();
        break;
      }
      case "back":
      case "inputs": {
        const given = one as Json;
        for (const key of step.keys!) {
          const answer = attempt.answers.get(`${label} ${key}`);
          if (JSON.stringify(given[key]) !== JSON.stringify(answer)) wrong();
        }
        break;
      }
      case "sample":
        if ((one as Json)["text"] !== `said: ${label}`) wrong();
        break;
      case "roots":
        if (JSON.stringify(one) !== '[{"uri":"file:///a","name":"a"}]') wrong();
        break;
      case "sleep":
        if (one !== "slept") wrong();
        if (at > 0 && times[at]! - times[at - 1]! < step.ms!) {
          against(
            "sleeps last",
            `${label} slept for ${times[at]! - times[at - 1]!} ms instead of ${step.ms}`,
          );
        }
        break;
      case "config":
        if (one !== "hi") wrong();
        break;
      case "secret":
        if (one !== "opened") wrong();
        break;
      case "all":
        for (const [number, branch] of step.branches!.entries()) {
          follow(branch, (one as Followed[])[number]!, evidence, against);
        }
        break;
    }
  }
}

/** Where a question's time has passed, its client could have answered all that time. */
function deadlines(
  attempt: Attempt,
  { said }: Followed,
  askings: Asking[],
  toleranceMs: number,
  against: Against,
): void {
  const asks = attempt.steps
    .map((step, at) => ({ step, at }))
    .filter(({ step }) => ASKS.has(step.do));
  for (const [number, { step, at }] of asks.entries()) {
    if (step.timeout === undefined || said[at] !== "cancel") continue;
    if (attempt.answers.get(step.message!)?.["action"] === "cancel") continue;
    const asking = askings[number];
    const lasted = asking === undefined ? 0 : asking.until - asking.from;
    if (lasted < step.timeout - toleranceMs) {
      against(
        "asked at all",
        `${step.message} could be answered for ${lasted} of ${step.timeout} ms`,
      );
    }
  }
}
