import { expect, test } from "vitest";
import { follow } from "./answer-judge.ts";
import { newAttempt, type Attempt } from "./attempt.ts";
import type { Step } from "./programs.ts";

/** The simulation's judge: which answers of its original a fork may be given, and questions without an answer. */

const QUESTION: Step = { do: "elicit" };
const inner = (tool: string): Step => ({ do: "call", tools: [tool], branches: [[QUESTION]] });
const accepted = (value: string) => ({ action: "accept", content: { value } });
const result = (said: unknown[]) => ({
  said,
  ids: said.map((_, at) => `id ${at}`),
  times: said.map((_, at) => at),
});

/** A call in which the answer to each question is its label. */
function answered(tool: string, program: Step[], labels: string[]): Attempt {
  const attempt = newAttempt("c", tool, program, { host: "https://world.example" });
  for (const label of labels) attempt.answers.set(label, accepted(label));
  return attempt;
}

/** The rules that the judge finds broken. */
function judged(attempt: Attempt, said: unknown[]): string[] {
  const broken: string[] = [];
  follow(attempt, result(said), { arrivals: [] }, (rule) => void broken.push(rule));
  return broken;
}

/** A fork of such a call: its first answer is another one, and it was asked nothing more. */
function fork(of: Attempt, changes: Partial<Attempt> = {}): Attempt {
  const answers = new Map([["c.0", accepted("other")]]);
  return { ...of, answers, fork: { of, at: "c.0" }, ...changes };
}

test.each([
  ["the answer of its original", "plan", {}, ["answers fit"]],
  ["the answer of its original, which kept state", "ks-plan", {}, []],
  ["the answer of its original, which is the same task", "plan", { taskId: "1" }, []],
  ["the answer of its original, which is another task", "plan", { taskId: "2" }, ["answers fit"]],
])("a fork that was not asked is given %s", (_what, tool, changes, rules) => {
  const call = { ...answered(tool, [QUESTION, QUESTION], ["c.0", "c.1"]), taskId: "1" };
  expect(judged(fork(call, { taskId: undefined, ...changes } as object), ["other", "c.1"])).toEqual(
    rules,
  );
});

test.each([
  ["with state", "kc-plan", []],
  ["without state", "plan", ["answers fit"]],
])("a fork is given the answer of an inner call %s", (_what, tool, rules) => {
  const call = answered("plan", [QUESTION, inner(tool)], ["c.0", "c.1.0.0"]);
  expect(judged(fork(call), ["other", [result(["c.1.0.0"])]])).toEqual(rules);
});

test("an inner call with state lets the call around it have none of the original's answers", () => {
  const call = answered("plan", [QUESTION, inner("kc-plan"), QUESTION], ["c.0", "c.1.0.0", "c.2"]);
  expect(judged(fork(call), ["other", [result(["c.1.0.0"])], "c.2"])).toEqual(["answers fit"]);
});

test("a result with too few steps, and questions that nobody has answered, are faults", () => {
  const call = answered("plan", [QUESTION, { do: "inputs", keys: ["a"] }], ["c.0"]);
  expect(judged(call, ["c.0"])).toEqual(["ends as it should"]);
  expect(judged(call, ["c.0", {}])).toEqual(["answers fit"]);
});
