import { sessionAsker, sessionFailures, inputAsker } from "../../kernel/asks/askers.ts";
import { allReasons, type Policy, type Waiting } from "../../kernel/calls/engine.ts";
import type { TaskCall, Start } from "../../kernel/calls/task-object.ts";
import type { Json, Principal } from "../../kernel/core/model.ts";
import type { Asker, Asks, Answers } from "../../kernel/core/asks.ts";
import type { ClientDescription } from "../../kernel/core/call-context.ts";
import type { Deployment } from "../../kernel/servlets/deployment.ts";
import type { Entry, Registry } from "../../kernel/servlets/registry.ts";
import type { KnownRecord } from "../../kernel/core/record.ts";
import { demandCapabilities, dated, unanswered } from "../../kernel/asks/answers.ts";
import { linkAsker, needsPerson, handOver, NOBODY } from "../../kernel/asks/links.ts";
import { Fault } from "../../kernel/core/errors.ts";
import type { Subject } from "./task-rows.ts";
import { limits } from "../../kernel/core/limits.ts";
import type { Suspended, WaitReason } from "../../kernel/core/suspension.ts";
import type { TaskStore } from "./task-store.ts";

/** The end of one run of a task's call. */
export type RunEnd = { result: Json } | { waiting: Waiting };

/** The asker of a task's call, for its client's era. */
export function taskAsker(
  { owner, link, ...given }: Pick<TaskCall, "owner" | "link" | "input" | "recorded">,
  client: ClientDescription,
): Asker {
  const own = owner ? sessionAsker(client) : inputAsker({ ...given, client });
  return link ? linkAsker(own, client) : own;
}

/** Stores calls that wait. Throws `missing_capability` if nobody can answer the asks. */
export const taskPolicy = (
  { owner, link }: Pick<TaskCall, "owner" | "link">,
  client: ClientDescription,
): Policy<RunEnd> => ({
  ended: (result) => ({ result }),
  waits: {
    ...allReasons((waiting) => ({ waiting })),
    input(waiting) {
      const { asks } = waiting.reason;
      const isForPerson = link !== undefined && needsPerson(asks, client);
      if (!owner && !isForPerson) demandCapabilities(asks, client);
      return { waiting };
    },
  },
});

/** The entry of a task's call in the build it began with, run with `parts`. Throws as `Registry.at` and `resolve`. */
export async function entryAgain(
  call: Pick<TaskCall, "session" | "principal" | "ref">,
  registry: Registry,
  recorded: KnownRecord | undefined,
  change?: (deployment: Deployment) => Deployment,
): Promise<Entry> {
  const { session, principal, ref } = call;
  const all = recorded === undefined ? registry : await registry.at(recorded);
  const own = all.for({ principal, session });
  return (change === undefined ? own : own.by(change)).resolve(ref);
}

/** True if the scopes of this caller grant what the task calls. */
export async function reaches(
  registry: Registry,
  principal: Principal,
  { ref, session }: Subject,
): Promise<boolean> {
  if (principal.scopes === undefined) return true;
  try {
    await registry.for({ principal, session }).resolve(ref);
    return true;
  } catch (error) {
    return Fault.from(error).code !== "insufficient_scope";
  }
}

/** Failures for the asks that neither a session's client nor a person can answer. */
export async function failuresIn(store: TaskStore): Promise<Answers> {
  const call = await store.call();
  const waits = call?.owner && (await store.waits());
  if (call === undefined || waits?.kind !== "input") return {};
  if (handOver(call, waits, store)) return {};
  const client = store.isHandedOver ? NOBODY : call.client;
  return sessionFailures(unanswered(waits.asks, waits.given), client);
}

export async function hasAskedTooOften(store: TaskStore, { reason }: Suspended): Promise<boolean> {
  return reason.kind === "input" && (await store.asked()) >= limits.inputRounds;
}

/** Chooses answers for open asks; `given` are earlier answers. Throws for answers that do not fit. */
export type Choose = (open: Asks, given: Answers) => Answers;

/** The wait with the answers that `choose` adds, or the reason why they do not fit. */
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

/** A waiting call, and the result for its client if it is handed over to a person. */
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

/** Starts the deadlines of these asks. Call it when the owner has been notified of them. */
export async function startDeadlines(store: TaskStore, known: Asks): Promise<void> {
  const waits = await store.waits();
  if (waits?.kind !== "input" || store.isOver) return;
  const notified = Object.entries(waits.asks).filter(([key]) => Object.hasOwn(known, key));
  // By the clock of the wait's other times: if it was set back, `putForward` moves all of them.
  const seen = Math.max(store.row.planned, Date.now());
  const asks = { ...waits.asks, ...dated(Object.fromEntries(notified), seen) };
  await store.wait({ ...waits, asks }, true);
}
