/**
 * Calls handed over to a person: the client cannot ask its user, or receives nothing until the call ends and would wait
 * too long. The call continues as a task, the client gets a link instead of the result, and the person answers on a
 * page of this server. Asks that only a client can answer (sampling, roots) fail.
 */
import type { Asker, Asks } from "../core/asks.ts";
import type { CallContext, ClientDescription } from "../core/call-context.ts";
import type { Way } from "../calls/engine.ts";
import type { DetailedTask, TaskCall, TaskCreator } from "../calls/task-object.ts";
import type { Recorded } from "../core/record.ts";
import { silenceGate } from "./gates.ts";
import { isObject, type Json } from "../core/model.ts";
import type { ToolEntry } from "../servlets/catalog.ts";
import { cannotAsk } from "../servlets/ask-failures.ts";
import { Wait, type Suspended, type WaitReason } from "../core/suspension.ts";
import { limits } from "../core/limits.ts";
import { stringBytes } from "../core/text.ts";
import { linkResult } from "../servlets/links.ts";
import { unanswered, unaskable } from "./answers.ts";

/** The client of a call that was handed over: it supports no asks. */
export const NOBODY: ClientDescription = { capabilities: {} };

/** True if these asks need a person whom this client cannot ask, and can be shown on pages. */
export const needsPerson = (asks: Asks, client: ClientDescription): boolean =>
  stringBytes(JSON.stringify(asks)) <= limits.shownAskBytes &&
  Object.keys(unaskable(asks, client)).some((key) => asks[key]!.method === "elicitation/create");

/** An asker that interrupts the call for asks that need a person, and passes other asks on. */
export const linkAsker =
  (ask: Asker, client: ClientDescription): Asker =>
  async (asks, signal) => {
    if (!needsPerson(asks, client)) return ask(asks, signal);
    throw new Wait({ kind: "input", asks, given: {} });
  };

/**
 * How to hand over a call that waits for a person or takes too long for its client: its wait, and the client's result.
 * Undefined for any other wait.
 */
export function handOver(
  { link, client, owner }: Pick<TaskCall, "link" | "client" | "owner">,
  reason: WaitReason | undefined,
  { id, isHandedOver }: { id: string; isHandedOver: boolean },
): { reason: WaitReason; result: Json } | undefined {
  if (link === undefined) return undefined;
  // The session that owns the call notifies its client.
  if (reason?.kind === "task" && owner === undefined)
    return {
      reason: { kind: "retry", until: Date.now(), ms: 0 },
      result: linkResult(link, id, {}),
    };
  if (reason?.kind !== "input") return undefined;
  const open = unanswered(reason.asks, reason.given);
  if (!needsPerson(open, isHandedOver ? NOBODY : client)) return undefined;
  const failed = Object.entries(open).flatMap(([key, ask]) =>
    ask.method === "elicitation/create" ? [] : [[key, cannotAsk(ask, WITHOUT_CLIENT)] as const],
  );
  const given = { ...reason.given, ...Object.fromEntries(failed) };
  const result = linkResult(link, id, unanswered(reason.asks, given));
  return { reason: { ...reason, given }, result };
}

const WITHOUT_CLIENT =
  "it was given a link, by which its user answers. Use a client that declares elicitation.";

const TASK: WaitReason = { kind: "task" };

/** True for a call that was stopped by its gate, or had no room to wait. */
const goesOn = ({ kind }: WaitReason): boolean => kind === "task" || kind === "retry";

/** Hands a call to a person: it continues as a task, and its client gets a link. */
export interface PersonWay extends Way {
  /** Stops a call that takes too long for a client which receives nothing until the call ends. */
  gate?: CallContext["gate"];
  /** An asker that interrupts the call for asks that need a person. */
  asker(own: Asker): Asker;
}

interface PersonWayOptions {
  tasks: TaskCreator | undefined;
  tool: ToolEntry | undefined;
  /** True if the client receives messages while the call runs. */
  hears: boolean;
  /** Describes the call in lists; by default `call.about`. */
  about?(): TaskCall["about"];
  /** The task that an earlier request has made of the call, or is making under this id. */
  known?(): Promise<{ id: string; recorded?: Recorded }> | undefined;
  /** The client's result for the task: by default the link. */
  shown?(task: DetailedTask): Json;
}

/** The way to hand a call to a person; undefined if nobody could open its page. */
export function personWay(call: TaskCall, options: PersonWayOptions): PersonWay | undefined {
  const { tasks, tool, hears, about = () => call.about, known, shown = linkIn } = options;
  if (tasks === undefined || call.link === undefined) return undefined;
  const hand = async (waiting: Suspended, isAsked: boolean) => {
    const made = await known?.();
    // The record of a consent question ends with the question, whatever earlier requests have recorded.
    const recorded = isAsked ? waiting.recorded : latest(made?.recorded, waiting.recorded);
    const reason = isAsked ? waiting.reason : TASK;
    const start = Object.assign({}, waiting, { recorded, reason });
    const again = made && { id: made.id, isRetried: true };
    return shown(await tasks.create({ ...call, about: about() }, start, again));
  };
  return {
    ...(tool && !hears && { gate: silenceGate(tool) }),
    asker: (own) => linkAsker(own, call.client),
    take(waiting) {
      const { reason } = waiting;
      const isAsked = reason.kind === "input" && needsPerson(reason.asks, call.client);
      return isAsked || goesOn(reason) ? hand(waiting, isAsked) : undefined;
    },
  };
}

/**
 * The record that earlier requests with the same state have left, if any, with the notices that this request has sent.
 */
export const latest = (
  earlier: Recorded | undefined,
  own: Recorded | undefined,
): Recorded | undefined => (earlier ? { ...earlier, notices: own?.notices ?? 0 } : own);

/** The client's result for a call that was handed over as this task. */
function linkIn({ result }: DetailedTask): Json {
  if (!isObject(result)) throw new Error("This task was not handed over to a person.");
  return result;
}

/** The link of a call to this tool, for `TaskCall`. */
export const linkOf = (origin: string | undefined, tool: ToolEntry | undefined) =>
  origin !== undefined && tool && { link: { origin, isTyped: tool.output !== undefined } };
