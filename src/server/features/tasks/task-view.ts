import { limits } from "./limits.ts";
import { inputRequests, unanswered } from "../../kernel/asks/answers.ts";
import type { Ask } from "../../kernel/core/asks.ts";
import type { WaitReason } from "../../kernel/core/suspension.ts";
import { beginningOf, printableLine } from "../../kernel/core/text.ts";
import type { DetailedTask, TaskEnd, TaskProgress } from "../../kernel/calls/task-object.ts";
import { openIn, type TaskRow } from "./task-rows.ts";
import type { TaskStore } from "./task-store.ts";

/** The task as its client sees it: one that was handed over to a person has ended with the link. */
export async function viewOf(store: TaskStore): Promise<DetailedTask> {
  const row = { ...store.row };
  const result = row.handed === null ? undefined : await store.read("handed");
  if (result === undefined) return realViewOf(store);
  const ended = { ...row, status: "completed", updated: row.handed ?? row.updated } as const;
  return { taskId: store.id, ...statusOf(ended, {}), result };
}

/** The task's real state. The row is copied before anything is awaited, since the task may continue meanwhile. */
export async function realViewOf(store: TaskStore): Promise<DetailedTask> {
  const row = { ...store.row };
  const [message, waits, end] = await Promise.all([
    row.status === "cancelled" ? undefined : store.read("message"),
    store.waits(),
    store.isOver ? store.read("end") : undefined,
  ]);
  return { taskId: store.id, ...statusOf(row, { message, waits }), ...seenOf(end) };
}

/** An end as clients see it. */
const seenOf = (end: TaskEnd | undefined) => end && ("error" in end ? { error: end.error } : end);

/** The task's progress for its owner. Copies the row first, too. */
export async function taskProgressOf(store: TaskStore): Promise<TaskProgress> {
  if (store.isOver || store.isHandedOver)
    return { view: await viewOf(store), asks: {}, round: Infinity };
  const all = [viewOf(store), store.waits(), store.asked()] as const;
  const [view, waits, round] = await Promise.all(all);
  const asks = waits?.kind === "input" ? unanswered(waits.asks, waits.given) : {};
  return { view, asks, round };
}

/** The view without the task's id and its end. */
function statusOf(
  { status, created, updated, ttl }: TaskRow,
  { message, waits }: { message?: string | undefined; waits?: WaitReason | undefined },
) {
  const said = status === "cancelled" ? "It was cancelled." : statusMessage(message, waits);
  return {
    status,
    ...(said !== undefined && { statusMessage: said }),
    createdAt: new Date(created).toISOString(),
    lastUpdatedAt: new Date(updated).toISOString(),
    ttlMs: ttl,
    pollIntervalMs: limits.taskPollMs,
    ...(status === "input_required" &&
      waits?.kind === "input" && {
        inputRequests: inputRequests(unanswered(waits.asks, waits.given)),
      }),
  };
}

/** A task's `statusMessage`: the newest progress message and the reason for waiting. */
function statusMessage(said?: string, waits?: WaitReason): string | undefined {
  const parts = [said && textOf(said), waits && waitInWords(waits)];
  return parts.filter(Boolean).join("; ") || undefined;
}

function waitInWords(waits: WaitReason): string | undefined {
  switch (waits.kind) {
    case "input":
      return openIn(waits).map(askInWords).join("; ") || undefined;
    case "sleep":
      return `sleeping until ${new Date(waits.until).toISOString()}`;
    case "retry":
      return `waiting for room on the server, next try at ${new Date(waits.until).toISOString()}`;
    case "task":
    case "earlier":
      return undefined;
  }
}

function askInWords({ method, params }: Ask): string {
  switch (method) {
    case "elicitation/create":
      return `waiting for the user: ${textOf(params["message"])}`;
    case "sampling/createMessage":
      return "waiting for the client's model";
    case "roots/list":
      return "waiting for the client's roots";
  }
}

/** The beginning of a servlet's text; the whole question is in the request. */
const textOf = (message: unknown): string =>
  typeof message === "string" ? printableLine(beginningOf(message, limits.statusCharacters)) : "";
