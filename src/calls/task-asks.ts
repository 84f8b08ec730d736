import { Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import { unsupportedAsks } from "./task-call.ts";
import { dated, unanswered } from "../asks/answers.ts";
import { handOver, NOBODY } from "../asks/links.ts";
import type { Answers, Asks } from "../core/asks.ts";
import type { Suspended, WaitReason } from "../core/suspension.ts";
import type { Json } from "../core/model.ts";
import type { Start, TaskCall } from "./task-object.ts";
import type { TaskStore } from "./task-store.ts";

/** The open asks of a task, and who may answer them. */

/** Failures of the asks that neither a session's client nor a person can answer. */
export async function failuresIn(store: TaskStore): Promise<Answers> {
  const call = await store.call();
  const waits = call?.owner && (await store.waits());
  if (call === undefined || waits?.kind !== "input") return {};
  if (handOver(call, waits, store)) return {};
  const client = store.isHandedOver ? NOBODY : call.client;
  return unsupportedAsks({ ...call, client }, unanswered(waits.asks, waits.given));
}

export async function hasAskedTooOften(store: TaskStore, { reason }: Suspended): Promise<boolean> {
  return reason.kind === "input" && (await store.asked()) >= limits.inputRounds;
}

/** Chooses answers for open asks, given those that have answers. Throws for answers that do not fit. */
export type Choose = (open: Asks, given: Answers) => Answers;

/** A wait with the answers that `choose` adds, or what is wrong with these. */
export function waitWith(
  waits: WaitReason & { kind: "input" },
  choose: Choose,
): (WaitReason & { kind: "input" }) | { wrong: string } {
  const { asks, given } = waits;
  try {
    return { ...waits, given: { ...given, ...choose(unanswered(asks, given), given) } };
  } catch (error) {
    return { wrong: Fault.from(error).message };
  }
}

/** A call as it waits, and what its client gets where it is handed over to a person. */
export function waitOf<S extends Start | undefined>(
  call: Pick<TaskCall, "link" | "client" | "owner"> | undefined,
  start: S,
  store: TaskStore,
): { begun: S; handed?: Json } {
  if (call === undefined || start === undefined || !("reason" in start)) return { begun: start };
  const over = handOver(call, start.reason, store);
  if (over === undefined) return { begun: start };
  return { begun: Object.assign({}, start, { reason: over.reason }), handed: over.result };
}

/** True if one of these asks has a deadline that has not started. */
export const hasDeadlines = (asks: Asks): boolean =>
  Object.values(asks).some(({ timeoutMs, deadline }) => timeoutMs && !deadline);

/** Starts the deadlines of these asks, of which the owner has just been notified. */
export async function startDeadlines(store: TaskStore, known: Asks): Promise<void> {
  const waits = await store.waits();
  if (waits?.kind !== "input" || store.isOver) return;
  const notified = Object.entries(waits.asks).filter(([key]) => Object.hasOwn(known, key));
  const asks = { ...waits.asks, ...dated(Object.fromEntries(notified), Date.now()) };
  await store.wait({ ...waits, asks }, true);
}
