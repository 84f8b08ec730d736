import type { CallRef } from "./call-ref.ts";
import { rpcError, type Fault, type FaultCode, type JsonRpcError } from "../core/errors.ts";
import type { CallerQuota, Json, Principal } from "../core/model.ts";
import type { AboutCall } from "./shown-arguments.ts";
import type { Answers, Asks } from "../core/asks.ts";
import type { CallContext, ClientDescription } from "../core/call-context.ts";
import type { JournalEntry, Recorded } from "../core/record.ts";
import type { Suspended } from "../core/suspension.ts";

/** A call as its task stores it. */
export interface TaskCall extends Pick<
  CallContext,
  "id" | "meta" | "input" | "trace" | "fuelUsed" | "link" | "session"
> {
  principal: Principal;
  client: ClientDescription;
  ref: CallRef;
  /** Its servlet and arguments, for lists. */
  about?: AboutCall;
  /** The session that is notified of its progress; absent if clients poll. */
  owner?: Owner;
  /** How long the task is stored after its creation. */
  ttlMs?: number;
  /** How often its servlet was called again with answers to an input request that it had returned. */
  restarts?: number;
  /** Its journal from before it became a task, and its last progress message. */
  recorded?: Recorded;
  message?: string;
}

/** The caller that asks for a task, at the endpoint of a profile or of the whole server. */
export interface TaskViewer extends Principal {
  /** When it asks, in Unix ms by its own clock. */
  at?: number;
  /** True for a person at a page of this server, who sees the calls of every endpoint. */
  isAtPage?: boolean;
  /** True for an operator at a page, who also sees the calls that servlets made by themselves. */
  isOperator?: boolean;
}

/** The session that a call belongs to. */
export interface Owner {
  session: string;
  /** True if the client does not see the task and waits for the call itself. */
  isHidden: boolean;
}

/** The progress of a task, for its owner: the client's view, and the asks without an answer. */
export interface TaskProgress {
  view: DetailedTask;
  asks: Asks;
  /** How often the servlet has asked. An outdated message has a lower number. */
  round: number;
}

/** The state of a call that becomes a task after it began: it has ended, or waits. */
export type Start = TaskEnd | Pick<Suspended, "reason" | "recorded" | "state" | "fuelUsed">;

/** How a call has ended. */
export type TaskEnd = { result: Json } | { error: JsonRpcError; code?: FaultCode };

/** The end of a call that threw this fault. */
export const endOf = (fault: Fault): TaskEnd => ({ error: rpcError(fault), code: fault.code });

/** The parts of a call that were uploaded to its task before `create`. */
export interface Uploaded {
  /** The number of journal entries. */
  answers: number;
  call: boolean;
}

/** A task as clients see it: https://modelcontextprotocol.io/seps/2663-tasks-extension#tasks */
export type DetailedTask = { taskId: string; status: string } & Json;

/** A call that was handed over to a person, in its real state. Its client sees it as completed, with the link. */
export interface HandedOver {
  view: DetailedTask;
  /** The asks that the person has not answered. */
  asks: Asks;
  /** The address of its page. */
  url: string;
  /** Unix time in ms: of the last change, and when the task is deleted. */
  updated: number;
  expires: number;
  /** The call, for the page; absent once it has ended. */
  called?: { servlet: string; tool: string; arguments: Record<string, string> };
}

/** What a caller asks to see of its own task. */
export type Look =
  | { what: "timeline" }
  /** Runs it again from so many entries of its journal, where it can do nothing in the world. */
  | { what: "replay"; entries: number }
  /**
   * Makes the task `id`, which goes on from so many entries, unless it was made before; its questions are answered on
   * pages of this origin.
   */
  | { what: "fork"; entries: number; origin: string; id: string };

export interface TaskInspection {
  timeline?: TaskTimeline;
  replay?: ReplayOutcome;
  /** The id of the new task. */
  fork?: string;
}

/** A change of a task. */
export interface TaskChange extends Record<string, SqlStorageValue> {
  /** Unix time in ms. */
  at: number;
  /** `run` for the start of a run, otherwise the new status. */
  what: string;
}

/** A host answer in the servlet's journal, as a timeline shows it. */
export interface TimelineEntry extends Pick<JournalEntry, "what" | "at" | "words"> {
  /** The beginning of the caller's answer. */
  answer?: string;
  /** Its outcome: the status of an HTTP response, `failed`, or the user's action. */
  outcome?: string;
}

/** A task as its timeline shows it. Times are Unix times in ms. */
export interface TaskTimeline {
  view: DetailedTask;
  created: number;
  updated: number;
  expires: number;
  /** Fuel that its runs have used. */
  fuel: number;
  /** The name or URI of the called entry; all of its arguments while the journal is stored, then the first ones. */
  called: AboutCall & { name: string; all: Record<string, string> };
  changes: TaskChange[];
  /** The first entries of the journal. */
  entries: TimelineEntry[];
  /** True also if its result is an error. */
  hasFailed: boolean;
  /** Its pending question, reason of failure, or last message. */
  reason: string;
  /** The code of a failure that is not the tool's own. */
  code?: FaultCode;
  /** When its current sleep ends. */
  wakes?: number;
  /** True while it can be replayed and forked. */
  hasJournal: boolean;
}

/** The outcome of a replay. */
export interface ReplayOutcome {
  /** What it would ask next, its result, or why it failed. */
  end: string;
  /** The progress messages and log lines that it sent. */
  said: string[];
  fuel: number;
}

/** How a task is created. */
export interface CreateOptions {
  id?: string;
  isRetried?: boolean;
}

/** Creates tasks of one principal. */
export interface TaskCreator {
  /**
   * Settles when the task is durable. Without a start, its call begins now, or resumes from `recorded`. Throws
   * `too_many` if its caller has stored too much. A task whose id cannot be reported to the caller is cancelled, and
   * the error says that its outcome is unknown; with `isRetried`, it is left to a request that creates it again.
   */
  create(call: TaskCall, start?: Start, options?: CreateOptions): Promise<DetailedTask>;
}

/** How long a page waits for a call that was handed over. */
export interface PageWait {
  /** Waits for a change after this Unix time in ms, for at most this many ms. */
  since?: number;
  ms?: number;
  /** Include calls that were not handed over. */
  isAny?: boolean;
}

/** The tasks of one principal. Methods resolve to undefined for an unknown id. */
export interface Tasks extends TaskCreator {
  /** An id for `create`, which cannot be guessed. */
  newId(): string;
  get(id: string): Promise<DetailedTask | undefined>;
  /** Returns what is wrong with the answers, if anything. Ignores answers to closed asks. */
  update(id: string, answers: Answers): Promise<{ wrong?: string } | undefined>;
  /** A call that was handed over to a person, after this wait. */
  handedOver(id: string, wait?: PageWait): Promise<HandedOver | undefined>;
  /** Passes on a person's answer, and returns what is wrong with it, if anything; false if the question is not open. */
  reply(id: string, key: string, result: Json): Promise<false | { wrong?: string } | undefined>;
  /** Shows, replays or forks it. */
  look(id: string, look: Look): Promise<TaskInspection | undefined>;
  /** False for an unknown id. */
  cancel(id: string, isByPerson?: boolean): Promise<boolean>;
  /** Fails it with this reason. */
  stop(id: string, reason: string): Promise<void>;
  /** Cancels and deletes it. */
  forget(id: string): Promise<void>;
  /** Subscribes a session to the task's progress. */
  adopt(id: string, session: string): Promise<void>;
}

/** Makes the tasks of a principal, which count against its quota. */
export type TasksOf = (principal: TaskViewer, countStored: CallerQuota["countStored"]) => Tasks;
