import { Fault } from "../errors.ts";
import { isObject, type Answers, type Ask, type Asks, type Client, type Json } from "../model.ts";
import { FORMATS } from "../schema/formats.ts";
import { checkOf, told } from "../servlets/checks.ts";

/** The capability that a client must declare in order to be asked. */
const CAPABILITY: Record<Ask["method"], string> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/**
 * Throws `missing_capability` where the client cannot be asked one of these. A client that declares
 * `elicitation: {}` takes forms; pages (mode `url`) have to be declared, and a model's use of tools.
 * https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#capabilities
 * https://modelcontextprotocol.io/specification/2026-07-28/client/sampling#capabilities
 */
export function demandCapabilities(asks: Asks, { capabilities }: Client): void {
  for (const { method, params } of Object.values(asks)) {
    const name = CAPABILITY[method];
    const declared = capabilities[name];
    const part = partOf({ method, params });
    const isForm = method === "elicitation/create" && part === undefined;
    const takesForms = isObject(declared) && (isObject(declared["form"]) || !("url" in declared));
    if (isObject(declared) && (part ? isObject(declared[part]) : !isForm || takesForms)) continue;
    const data = { requiredCapabilities: { [name]: part ? { [part]: {} } : {} } };
    const message = `This call needs a client with the capability ${name}${part ? `.${part}` : ""}.`;
    throw new Fault("missing_capability", message, { data });
  }
}

/** What an ask needs of its capability, where that is more than the capability itself. */
function partOf({ method, params }: Ask): "url" | "tools" | undefined {
  if (method === "elicitation/create") return params["mode"] === "url" ? "url" : undefined;
  return method === "sampling/createMessage" && ("tools" in params || "toolChoice" in params)
    ? "tools"
    : undefined;
}

/** The requests as they go over the wire; ids of elicitations are of the older revisions. */
export function inputRequests(asks: Asks): Json {
  const wired = Object.entries(asks).map(([key, { method, params }]): [string, Json] => {
    const { elicitationId: _id, ...rest } = params;
    return [key, { method, params: rest }];
  });
  return Object.fromEntries(wired);
}

/** The client's `inputResponses` as they came. Throws `invalid_params` where they are none. */
export function responsesIn(value: unknown): Answers {
  if (!isObject(value)) throw bad("inputResponses", "must be an object");
  for (const [key, answer] of Object.entries(value)) {
    if (!isObject(answer)) throw bad(`inputResponses.${key}`, "must be an object");
  }
  return value as Answers;
}

/**
 * Those of the answers that were asked for, checked. What has none by its deadline was cancelled by the
 * user. Throws `invalid_params` where one does not fit what was asked.
 */
export function fittingAnswers(asks: Asks, responses: Answers, now: number): Answers {
  const fitting: Record<string, Json> = {};
  for (const [key, ask] of Object.entries(asks)) {
    if (ask.deadline !== undefined && now >= ask.deadline) {
      fitting[key] = { action: "cancel" };
    } else if (Object.hasOwn(responses, key)) {
      const answer = responses[key]!;
      const wrong = wrongWith(ask, answer);
      if (wrong !== undefined) throw bad(`inputResponses.${key}`, wrong);
      fitting[key] = forGuest(ask, answer);
    }
  }
  return fitting;
}

export const isComplete = (asks: Asks, answers: Answers): boolean =>
  Object.keys(asks).every((key) => Object.hasOwn(answers, key));

/** Those that have no answer yet. */
export const unanswered = (asks: Asks, answers: Answers): Asks =>
  Object.fromEntries(Object.entries(asks).filter(([key]) => !Object.hasOwn(answers, key)));

/** What is wrong with an answer, if it does not fit what was asked. */
export function wrongWith({ method, params }: Ask, answer: Json): string | undefined {
  switch (method) {
    case "elicitation/create": {
      const { action, content } = answer;
      if (action === "decline" || action === "cancel") return undefined;
      if (action !== "accept") return "must have an action: accept, decline or cancel";
      if (params["mode"] === "url" || !isObject(params["requestedSchema"])) return undefined;
      if (!isObject(content)) return "is accepted, so it must have content";
      const use = { name: "requestedSchema", formats: FORMATS };
      const wrong = checkOf(params["requestedSchema"], use)(content);
      return wrong && `does not fit what was asked: ${told(wrong)}`;
    }
    case "sampling/createMessage":
      if (typeof answer["role"] === "string" && [answer["content"]].flat().every(isBlock)) {
        return undefined;
      }
      return "must be a message with role and content";
    case "roots/list":
      if (Array.isArray(answer["roots"]) && answer["roots"].every(isRoot)) return undefined;
      return "must have roots, each with its uri";
  }
}

const isBlock = (value: unknown) => isObject(value) && typeof value["type"] === "string";
const isRoot = (value: unknown) => isObject(value) && typeof value["uri"] === "string";

/** Guests of today want a message's content as one object. */
function forGuest({ method }: Ask, answer: Json): Json {
  const { content } = answer;
  const isList = method === "sampling/createMessage" && Array.isArray(content);
  return isList && content.length === 1 ? { ...answer, content: content[0] as unknown } : answer;
}

const bad = (what: string, why: string) => new Fault("invalid_params", `params.${what} ${why}.`);
