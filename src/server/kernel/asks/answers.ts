import { checkWithoutNulls } from "../core/deviations.ts";
import { Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { Answer, Answers, Ask, AskFailure, Asks } from "../core/asks.ts";
import type { ClientDescription } from "../core/call-context.ts";
import { isObject, type Json } from "../core/model.ts";
import { textBytes } from "../core/shape.ts";
import { mapValues } from "../core/values.ts";
import { cannotAsk, unusableAnswer } from "../servlets/ask-failures.ts";
import { FORMATS } from "../schema/formats.ts";
import { Steps } from "../schema/steps.ts";
import { checkOf, describeIssues } from "../servlets/checks.ts";

/** The capability that a client must declare to receive an ask. */
const CAPABILITY: Record<Ask["method"], string> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/**
 * The capabilities that the client lacks for this ask, if any. A client that declares `elicitation: {}` supports
 * forms; pages (mode `url`) and tools in sampling must be declared.
 * https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#capabilities
 * https://modelcontextprotocol.io/specification/2026-07-28/client/sampling#capabilities
 */
function missingCapability(ask: Ask, { capabilities }: ClientDescription): Json | undefined {
  const name = CAPABILITY[ask.method];
  const declared = capabilities[name];
  const part = partOf(ask);
  const isForm = ask.method === "elicitation/create" && part === undefined;
  const takesForms = isObject(declared) && (isObject(declared["form"]) || !("url" in declared));
  if (isObject(declared) && (part ? isObject(declared[part]) : !isForm || takesForms)) {
    return undefined;
  }
  return { [name]: part ? { [part]: {} } : {} };
}

/** A failure for each ask that this client does not support. */
export function unaskable(asks: Asks, client: ClientDescription): Record<string, AskFailure> {
  const failures = Object.entries(asks).flatMap(([key, ask]): [string, AskFailure][] => {
    const missing = missingCapability(ask, client);
    if (missing === undefined) return [];
    const name = CAPABILITY[ask.method];
    const declares = `it does not declare the capability ${[name, partOf(ask) ?? []].flat().join(".")}`;
    return [[key, cannotAsk(ask, `${declares}. Use a client that supports it.`, missing)]];
  });
  return Object.fromEntries(failures);
}

/** Throws `missing_capability` if the client does not support one of these asks. */
export function demandCapabilities(asks: Asks, client: ClientDescription): void {
  for (const { message, requiredCapabilities } of Object.values(unaskable(asks, client))) {
    throw new Fault("missing_capability", message, { data: { requiredCapabilities } });
  }
}

/** The sub-capability that an ask needs, if any. */
function partOf({ method, params }: Ask): "url" | "tools" | undefined {
  if (method === "elicitation/create") return params["mode"] === "url" ? "url" : undefined;
  return method === "sampling/createMessage" && ("tools" in params || "toolChoice" in params)
    ? "tools"
    : undefined;
}

/** The asks on the wire, without `elicitationId`, which only older revisions have. */
export const inputRequests = (asks: Asks): Json =>
  mapValues(asks, ({ method, params }) => {
    const { elicitationId: _id, ...rest } = params;
    return { method, params: rest };
  });

/** The client's `inputResponses`, unchecked. Throws `invalid_params` unless they are an object of objects. */
export function responsesIn(value: unknown): Answers {
  if (!isObject(value)) throw bad("inputResponses", "must be an object");
  return mapValues(value, (result, key) => {
    if (!isObject(result)) throw bad(`inputResponses.${key}`, "must be an object");
    return { result };
  });
}

/**
 * The checked answers to these asks; failures are not checked. An ask without an answer by its deadline counts as
 * cancelled by the user. Throws `invalid_params` if a result does not fit its ask, or if the results, with those of
 * `before`, exceed the limit of one call.
 */
export function fittingAnswers(
  asks: Asks,
  answers: Answers,
  now: number,
  before: Answers = {},
): Answers {
  // Without a prototype: a servlet may ask under the key `__proto__`.
  const fitting = Object.create(null) as Record<string, Answer>;
  // One budget for all asks: a servlet may send thousands, each with its own schema.
  const steps = new Steps(limits.checkSteps);
  let hasResults = false;
  for (const [key, ask] of Object.entries(asks)) {
    if (isOverdue(ask, now)) {
      fitting[key] = { result: { action: "cancel" } };
    } else if (Object.hasOwn(answers, key)) {
      const answer = answers[key]!;
      const read = "result" in answer ? readResult(ask, answer.result, steps) : answer;
      if ("wrong" in read) throw bad(`inputResponses.${key}`, read.wrong);
      fitting[key] = read;
      hasResults ||= "result" in read;
    }
  }
  // Cancellations and failures are accepted at any size: without them the call could not continue.
  if (hasResults && JSON.stringify([before, fitting]).length > limits.hostBytes) throw tooLarge();
  return { ...fitting };
}

/** The asks with deadlines, counted from `now`, when the client first sees them. */
export const dated = (asks: Asks, now: number): Asks =>
  mapValues(asks, (ask) => {
    const { timeoutMs, deadline = timeoutMs && now + timeoutMs } = ask;
    return deadline === undefined ? ask : { ...ask, deadline };
  });

export const isOverdue = ({ deadline = Infinity }: Ask, now: number): boolean => now >= deadline;

export const isComplete = (asks: Asks, answers: Answers): boolean =>
  Object.keys(asks).every((key) => Object.hasOwn(answers, key));

/** The asks that have no answer yet. */
export const unanswered = (asks: Asks, answers: Answers): Asks =>
  Object.fromEntries(Object.entries(asks).filter(([key]) => !Object.hasOwn(answers, key)));

/** The answer of a client that cannot be asked again: an unusable result becomes a failure. */
export function answerOf(ask: Ask, result: unknown): Answer {
  try {
    const read = readResult(ask, result);
    return "wrong" in read ? unusableAnswer(ask, read.wrong) : read;
  } catch (error) {
    const fault = Fault.from(error);
    if (fault.code !== "servlet_failed") throw fault;
    // Its form has no valid schema, so nothing fits it.
    return unusableAnswer(ask, `cannot be checked: ${fault.message}`);
  }
}

/** A result in the form that servlets get, or why it does not fit its ask. */
function readResult(
  { method, params }: Ask,
  result: unknown,
  steps?: Steps,
): { result: Json } | { wrong: string } {
  if (!isObject(result)) return { wrong: "must be an object" };
  if (textBytes(result) > limits.answerBytes) {
    return { wrong: `is larger than the ${limits.answerBytes} bytes that an answer may have` };
  }
  switch (method) {
    case "elicitation/create": {
      const { action, content } = result;
      if (action === "decline" || action === "cancel") return { result };
      if (action !== "accept") {
        return { wrong: "must have an action: accept, decline or cancel" };
      }
      if (params["mode"] === "url" || !isObject(params["requestedSchema"])) return { result };
      const none = "is accepted, so it must have content";
      // A form without fields has nothing to send.
      const sent = content === undefined ? {} : content;
      if (!isObject(sent)) return { wrong: none };
      const use = { name: "requestedSchema", formats: FORMATS, isInput: true };
      const check = checkOf(params["requestedSchema"], use);
      const { value, issues } = checkWithoutNulls((given) => check(given, steps), sent);
      if (issues !== undefined && content === undefined) return { wrong: none };
      if (issues !== undefined)
        return { wrong: `does not fit what was asked: ${describeIssues(issues)}` };
      return { result: value === content ? result : { ...result, content: value } };
    }
    case "sampling/createMessage": {
      const { role, content } = result;
      if (typeof role !== "string" || ![content].flat().every(isBlock)) {
        return { wrong: "must be a message with role and content" };
      }
      // Existing guests expect a message's content to be one object.
      const isOne = Array.isArray(content) && content.length === 1;
      return { result: isOne ? { ...result, content: content[0] as unknown } : result };
    }
    case "roots/list":
      if (Array.isArray(result["roots"]) && result["roots"].every(isRoot)) return { result };
      return { wrong: "must have roots, each with its uri" };
  }
}

const isBlock = (value: unknown) => isObject(value) && typeof value["type"] === "string";
const isRoot = (value: unknown) => isObject(value) && typeof value["uri"] === "string";

const tooLarge = () =>
  bad(
    "inputResponses",
    `and the answers before them must not exceed ${limits.hostBytes} characters together`,
  );

const bad = (param: string, why: string) => new Fault("invalid_params", `params.${param} ${why}.`);
