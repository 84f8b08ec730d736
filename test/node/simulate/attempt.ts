import type { Chance } from "../fuzz/chance.ts";
import { labelled, type Step } from "./programs.ts";

export type Json = Record<string, any>;

/** One call by a client: its questions, answers and outcome. */
export interface Attempt {
  /** The beginning of the labels of its steps. */
  label: string;
  program: Step[];
  steps: Step[];
  tool: string;
  /** By label, the keys under which a question was asked. */
  asked: Map<string, Set<string>>;
  /** Answers by label and part. */
  answers: Map<string, Json>;
  /** Notifications, request by request; a call of a session is one of them. */
  heard: Heard[];
  taskId?: string;
  /** Was it asked to end, and was that confirmed? */
  cancelled: "no" | "asked" | "confirmed";
  /** Its last word: a result or an error. */
  end?: Json;
  /** Nobody follows it any more: the client has lost it. */
  isOrphan: boolean;
  /** The error that it was given up for, where there was a response. */
  refusal?: string;
  /** Was its state carried by the client, from question to question? */
  isCarried: boolean;
  /** Of one that goes on from a state of another with other answers: the other, and the question. */
  fork?: { of: Attempt; at: string };
  /** When it was confirmed that it was cancelled, in true time. */
  cancelledAt?: number;
  problems: string[];
}

/** The progress messages of one request, in order. */
export interface Heard {
  messages: string[];
  /** Has its result come, so that nobody asks again? */
  isWhole: boolean;
}

export const ABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** Time, chance and the network as a client has them: simulated, or those of real processes. */
export interface ClientWorld {
  chance: Chance;
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Rejects where no response comes. Where `leavesMs` is given, the client does not wait for longer. */
  request(init: RequestInit, leavesMs?: number, path?: string): Promise<Response>;
  note(what: string): void;
  /** Where the servlet sends its requests. */
  host: string;
}

export const newAttempt = (
  label: string,
  tool: string,
  program: Step[],
  { host }: Pick<ClientWorld, "host">,
): Attempt => ({
  label,
  tool,
  program,
  steps: labelled(program, label, host),
  asked: new Map(),
  answers: new Map(),
  heard: [],
  cancelled: "no",
  isOrphan: false,
  isCarried: false,
  problems: [],
});

/** The user's answer: always the same to the same question. `key` is the key of the question. */
export function answerTo(
  attempt: Attempt,
  key: string,
  { method, params }: Json,
  chance: { of(likelihood: number): boolean },
): Json {
  const label = labelIn(method, params) ?? `roots ${key}`;
  const keys = attempt.asked.get(label) ?? new Set();
  attempt.asked.set(label, keys.add(key));
  const known = attempt.answers.get(label);
  if (known !== undefined) return known;
  const answer = answerOf(
    method,
    label,
    chance.of(0.8) ? "accept" : chance.of(0.5) ? "decline" : "cancel",
  );
  attempt.answers.set(label, answer);
  return answer;
}

/** The message of a question; undefined for roots, which are requested without one. */
function labelIn(method: string, params: Json): string | undefined {
  if (method === "roots/list") return undefined;
  return method === "sampling/createMessage"
    ? params["messages"][0].content.text
    : askedIn(params["message"]);
}

/** The label in a message, which says before it which servlet asks, if another one has called that. */
export const askedIn = (message: string): string => message.replace(/^[\w-]+: /, "");

export function answerOf(method: string, label: string, action: string, word = "typed"): Json {
  if (method === "roots/list") return { roots: [{ uri: "file:///a", name: "a" }] };
  if (method === "sampling/createMessage") {
    return { role: "assistant", content: { type: "text", text: `said: ${label}` }, model: "m" };
  }
  return action === "accept" ? { action, content: { value: `${word}: ${label}` } } : { action };
}

export function eventsIn(text: string): Json[] {
  return text
    .split("\n\n")
    .filter((event) => event.includes("data: {"))
    .map((event) => JSON.parse(event.slice(event.indexOf("data: ") + 6)) as Json);
}

export const brief = ({ status, result, error }: Json): string => {
  const what =
    result?.["resultType"] === "complete" ? (result["status"] ?? "result") : result?.["resultType"];
  return `${status} ${error === undefined ? what : `error ${error["message"]}`}`;
};
