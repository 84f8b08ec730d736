import { type TaskEnd, endOf } from "../../kernel/calls/task-object.ts";
import { METHODS } from "../../kernel/calls/call-ref.ts";
import { Fault, logError } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { perform } from "../../kernel/calls/engine.ts";
import { entryAgain, taskAsker, taskPolicy, type RunEnd } from "./task-call.ts";
import { mcpSpan, recordFault, recordResult } from "../../kernel/observe/request-span.ts";
import { inLaterSpan } from "../../kernel/observe/spans.ts";
import { NOBODY } from "../../kernel/asks/links.ts";
import type { CallContext } from "../../kernel/core/call-context.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import { isShortage, shortage, Wait } from "../../kernel/core/suspension.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import {
  adviceAfter,
  afterSending,
  hasSentIn,
  type UnrecordedCall,
} from "../../kernel/core/unknown-outcome.ts";
import { StoredBytes } from "../../kernel/storage/stored-bytes.ts";
import type { TaskOwners } from "./task-owners.ts";
import type { TaskStore } from "./task-store.ts";

interface TaskRun {
  store: TaskStore;
  owners: TaskOwners;
  registry: Registry;
  /** Counts one more MiB that is stored for this caller. */
  countStored(caller: string | undefined): Promise<void>;
  /** Called with the text of a progress notification. */
  onProgress(message: string): void;
  /** Aborts when the task is cancelled. */
  signal: AbortSignal;
  /** Called when the run waits for something. */
  begun(): void;
}

/**
 * Runs a task's call. Returns undefined if the task is over, or runs again later: after an internal error, which may
 * not recur, or when storage is full.
 */
export async function runTask(run: TaskRun): Promise<TaskEnd | RunEnd | undefined> {
  const { store, owners, signal } = run;
  const call = await store.call();
  const recorded = await store.recorded();
  if (call === undefined || store.isOver) return undefined;
  const sender: UnrecordedCall = { hasSent: hasSentIn(recorded) || call.restarts !== undefined };
  const stored = new StoredBytes(
    () => run.countStored(callerKey(call.principal)),
    [call.ref, recorded?.entries ?? [], recorded?.inner ?? []],
  );
  try {
    // A call that was handed over has no client to ask.
    const client = store.isHandedOver ? NOBODY : call.client;
    const method = METHODS[call.ref.kind];
    const { protocolVersion: version } = call.client;
    const start = () => mcpSpan({ method, entry: call, session: call.session, version });
    const end = await inLaterSpan(call.trace, start, async (trace, span) => {
      const context: CallContext = {
        ...call,
        trace,
        taskId: store.id,
        ...(recorded && { recorded }),
        fuelUsed: store.row.fuel,
        signal: () => signal,
        notify: owners.notifier(call, recorded, run.onProgress),
        keeper: owners.keeper(sender, stored),
        ask: taskAsker({ ...call, recorded }, client),
        gate: (ms) => {
          run.begun();
          demandShort(ms, signal);
        },
      };
      try {
        const entry = await entryAgain(call, run.registry, recorded);
        const ended = await perform(entry, context, taskPolicy(call, client));
        if ("result" in ended) recordResult(span, ended.result);
        return ended;
      } catch (error) {
        recordFault(span, Fault.from(error));
        throw error;
      }
    });
    if ("result" in end) await stored.add(end.result);
    return end;
  } catch (error) {
    const fault = Fault.from(error);
    if (isShortage(fault)) {
      await store.wait(shortage(await store.waits()), true);
      return undefined;
    }
    // It runs again, and continues once there is room.
    if (fault.code === "storage_full") return undefined;
    if (fault.code !== "internal") return endOf(afterSending(sender, fault));
    logError(fault.cause);
    return undefined;
  }
}

/** Throws `Wait` for a sleep that is too long to stay in memory, `cancelled` after an abort. */
function demandShort(ms: number, signal: AbortSignal): void {
  if (signal.aborted) throw new Fault("cancelled", "The task was cancelled.");
  if (ms <= limits.sleepInPlaceMs) return;
  // No task lives longer, and a guest's time may be beyond the range of dates.
  const longest = Math.min(ms, limits.taskMs);
  throw new Wait({ kind: "sleep", until: Date.now() + longest, ms: longest });
}

/** The end of a task whose runs have died too often in a row. */
export async function stoppedTooOften(store: TaskStore): Promise<TaskEnd> {
  const advice = adviceAfter(await store.recorded(), "Call the tool again.");
  return failed(
    `The task was stopped ${limits.maxRuns} times in a row without progress, because the server stopped or failed. ${advice}`,
  );
}

/** The end of a task whose servlet asks too often. */
export const askedTooOften = (): TaskEnd =>
  failed(
    `The servlet asked for input too often in one call (limit ${limits.inputRounds}). Report this to its author.`,
  );

const failed = (message: string): TaskEnd => endOf(new Fault("servlet_failed", message));
