import type { Attempt, Json } from "./attempt.ts";
import type { HttpServer } from "./http-server.ts";
import { ASKS, isKeeping } from "./programs.ts";
import type { Against, Rule } from "./rules.ts";

/** When the client of a task could answer, and when that was over, in true time. */
export interface Asking {
  from: number;
  until: number;
}

/** The result of a servlet that follows a program: by step, its answers, random numbers and times. */
export interface Followed {
  said: unknown[];
  ids: string[];
  times: number[];
}

const CHANGED_INSIDE = /^error: The state of this servlet has changed/;
const TROUBLE = /^The host \S+ (could not be reached|gave no answer)/;
export const UNKNOWN = /outcome .*unknown|not known what came of it/;

/** All random numbers that a call has seen. */
export function numbersOf({ said, ids }: Followed): string[] {
  return [
    ...ids,
    ...said.flatMap((one) => {
      if (typeof one === "number") return [String(one)];
      const branches = (Array.isArray(one) ? one : []).filter(
        (branch): branch is Followed =>
          typeof branch === "object" && branch !== null && "ids" in branch,
      );
      return branches.flatMap(numbersOf);
    }),
  ];
}

/** Judges the answers that the servlet was given at each step. */
export function follow(
  attempt: Attempt,
  { said, ids, times }: Followed,
  internet: Pick<HttpServer, "arrivals">,
  against: Against,
): void {
  const { steps, tool, answers: own, fork, taskId } = attempt;
  if (said.length !== steps.length)
    return against("ends as it should", `${said.length} of ${steps.length} steps`);
  // If both answers came too late, a fork and its original are one task. A servlet with state returns the stored result of a
  // finished call to its forks. Then nobody asks the fork.
  const isSameTask = taskId !== undefined && taskId === fork?.of.taskId;
  const isShared = fork !== undefined && (isSameTask || isKeeping(tool));
  const answers = isShared ? new Map([...fork.of.answers, ...own]) : own;
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
        const answer = answers.get(label);
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
        const answer = answers.get(asked);
        if (value !== (answer?.["content"]?.value ?? answer?.["action"])) wrong();
        break;
      }
      case "back":
      case "inputs": {
        const given = one as Json;
        for (const key of step.keys!) {
          const answer = answers.get(`${label} ${key}`);
          if (answer === undefined || JSON.stringify(given[key]) !== JSON.stringify(answer))
            wrong();
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
      case "call":
        for (const [number, branch] of step.branches!.entries()) {
          const inner = (one as (Followed | string)[])[number];
          const last = branch.at(-1);
          if (typeof inner === "string" && CHANGED_INSIDE.test(inner)) continue;
          if (last?.do === "fail" || typeof inner !== "object") {
            if (last?.do !== "fail" || inner !== `error: ${last.message}`) wrong();
          } else {
            const its = { steps: branch, tool: step.tools?.[number] ?? tool, answers };
            follow({ ...attempt, ...its }, inner, internet, against);
          }
        }
        break;
    }
  }
}

/** Where a question's time has passed, its client could have answered all that time. */
export function deadlines(
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
