import {
  type Start,
  type TaskCall,
  type TaskChange,
  type TaskEnd,
  endOf,
} from "../../kernel/calls/task-object.ts";
import { withoutInput, type CallRef } from "../../kernel/calls/call-ref.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { once } from "../../kernel/core/once.ts";
import { dated, unanswered } from "../../kernel/asks/answers.ts";
import type { Ask, Answer, Asks } from "../../kernel/core/asks.ts";
import type { Json } from "../../kernel/core/model.ts";
import type { Recorded } from "../../kernel/core/record.ts";
import type { Suspended, WaitReason } from "../../kernel/core/suspension.ts";
import { mapValues } from "../../kernel/core/values.ts";
import { listerOf } from "../../kernel/calls/listed-calls.ts";
import type { AboutCall } from "../../kernel/calls/shown-arguments.ts";
import { SealedRows, type Writes } from "../../kernel/storage/sealed-rows.ts";
import { hasTable, firstRow } from "../../kernel/storage/tables.ts";

export type Status = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** A task's row: the columns that are not sealed. */
export interface TaskRow extends Record<string, SqlStorageValue> {
  principal: string;
  /** The profile at whose endpoint its call began; null at `/mcp`. */
  profile: string | null;
  /** The name of its principal's hub. */
  hub: string;
  status: Status;
  created: number;
  updated: number;
  /** How long the task is stored, in ms. */
  ttl: number;
  runs: number;
  notices: number;
  /** Fuel used by all its runs. */
  fuel: number;
  /** Ids of the notified sessions, separated by spaces; null if there are none. */
  session: string | null;
  hidden: 0 | 1;
  /** When its client could first see the asks, in Unix ms; null while that is unknown. */
  seen: number | null;
  /** When the call was handed over to a person, in Unix ms; null if it was not. Its client sees it as completed. */
  handed: number | null;
  /** When the alarm was last set, in Unix ms. */
  planned: number;
}

/** The parts of a task's call by which it is looked up, checked and listed. */
export interface Subject {
  /** Without its input; scopes are checked by it. */
  ref: CallRef;
  /** The session that it runs in. */
  session?: string | undefined;
  /** The person in whose console it is listed. */
  lister?: string | undefined;
  /** Its entry in that list. */
  about?: AboutCall | undefined;
}

const subjectOf = ({ ref, principal, session, about }: TaskCall): Subject => ({
  ref: withoutInput(ref),
  session,
  lister: listerOf(principal),
  about,
});

/** Encrypted values of a task, by name. */
export interface Texts {
  call: Omit<TaskCall, (typeof STORED_APART)[number]>;
  /** Stored as long as the task, unless its key is lost. */
  subject: Subject;
  /** The last progress message. */
  message: string;
  /** The record that the next run resumes, without its entries and requests; absent if the servlet is called again. */
  begun: Omit<Recorded, "entries" | "intents">;
  waits: WaitReason;
  /** The servlet's own `requestState`. */
  state: string;
  keys: AskKeys;
  end: TaskEnd;
  /** The result that its client got when the call was handed over; stored as long as the task. */
  handed: Json;
}

/** Writes of one transaction. */
export interface TaskWrites extends Writes {
  /** Null deletes a text. */
  texts?: { [K in keyof Texts]?: Texts[K] | null };
  /** Further writes. */
  also?: () => void;
  /** True to write even to a task that is over. */
  isFinal?: boolean;
  /** When the next alarm is due, in Unix ms; called after all other writes. */
  alarm?: () => number;
}

/** Parts of a call that are stored apart from its text. */
const STORED_APART = ["recorded", "message", "ttlMs", "fuelUsed"] as const;

/** The part of a call that is stored as its text. */
export function storedCall(given: TaskCall): Texts["call"] {
  const call = { ...given };
  for (const part of STORED_APART) delete call[part];
  return call;
}

/** The first stored state of a task: its end, or its journal and the reason for waiting. */
export function firstStateOf(
  given: TaskCall,
  start: Start | undefined,
  { handed, hasCall }: { handed?: Json | undefined; hasCall: boolean },
) {
  const { recorded, fuelUsed = 0, message } = given;
  const suspended = start && "reason" in start ? start : undefined;
  const end = start && !("reason" in start) ? start : undefined;
  const { entries = [], intents = [], ...begun } = suspended?.recorded ?? recorded ?? {};
  const isWaiting = suspended !== undefined && suspended.reason.kind !== "task";
  const waiting = isWaiting ? waitingOf(suspended) : undefined;
  const subject = subjectOf(given);
  const texts: NonNullable<TaskWrites["texts"]> = end
    ? { end, subject }
    : {
        subject,
        ...(!hasCall && { call: storedCall(given) }),
        message: message ?? null,
        ...("head" in begun && { begun }),
        ...(handed && { handed }),
        ...waiting?.texts,
      };
  const status = end ? statusOf(end) : (waiting?.status ?? "working");
  const notices = "notices" in begun ? begun.notices : 0;
  const row = { status, notices, fuel: suspended?.fuelUsed ?? fuelUsed };
  return { texts, entries, intents, row, waits: waiting?.texts.waits };
}

const TASK_SCHEMA = `
CREATE TABLE task (principal TEXT NOT NULL, profile TEXT, hub TEXT NOT NULL, status TEXT NOT NULL,
  created INTEGER NOT NULL, updated INTEGER NOT NULL, ttl INTEGER NOT NULL,
  runs INTEGER NOT NULL, notices INTEGER NOT NULL, session TEXT, hidden INTEGER NOT NULL,
  fuel INTEGER NOT NULL, seen INTEGER, handed INTEGER, planned INTEGER NOT NULL);
${SealedRows.texts}${SealedRows.answers}CREATE TABLE history (at INTEGER NOT NULL, what TEXT NOT NULL);`;

export function storedTask(sql: SqlStorage): TaskRow | undefined {
  return hasTable(sql, "task") ? firstRow(sql.exec<TaskRow>("SELECT * FROM task")) : undefined;
}

/** Stores a new task, and returns its row. */
export function insertTask(
  sql: SqlStorage,
  { principal, owner }: TaskCall,
  row: Pick<TaskRow, "hub" | "status" | "created" | "ttl" | "notices" | "fuel" | "handed">,
): TaskRow {
  const { hub, status, created, ttl, notices, fuel, handed } = row;
  const times = [created, created, ttl, 0, notices];
  const owned = [owner?.session ?? null, owner?.isHidden === true ? 1 : 0];
  const seen = owner === undefined ? Date.now() : handed;
  const values = [
    principal.name,
    principal.profile ?? null,
    hub,
    status,
    ...times,
    ...owned,
    fuel,
    seen,
    handed,
    created,
  ];
  sql.exec(TASK_SCHEMA);
  sql.exec("INSERT INTO task VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", ...values);
  return sql.exec<TaskRow>("SELECT * FROM task").one();
}

/** The end of a task whose stored texts cannot be decrypted any more. */
export const lost = once((): TaskEnd =>
  // Created lazily: for an error's stack trace V8 parses the whole script again, too slow while the Worker starts.
  endOf(
    new Fault(
      "servlet_failed",
      "The stored state of this task can no longer be opened: the key that sealed it is gone. The outcome of its call is unknown. Check it before you call the tool again.",
    ),
  ),
);

/** The wait with its deadlines, which count from when the client can see the asks. */
export const seenAt = <W extends WaitReason | undefined>(
  seen: number | null | undefined,
  waits: W,
): W =>
  waits?.kind === "input" && typeof seen === "number"
    ? { ...waits, asks: dated(waits.asks, seen) }
    : waits;

/** When a waiting call needs its next alarm: at the end of its sleep, a deadline or its task's lifetime. */
export function dueAt(waits: WaitReason, expires: number): number {
  if ("until" in waits) return Math.min(waits.until, expires);
  const open = openIn(waits);
  // A servlet that returned without asks is called again at once.
  if (waits.kind === "input" && open.length === 0) return Date.now();
  return Math.min(expires, ...open.flatMap(({ deadline }) => deadline ?? []));
}

/** When the times of a wait were set, in Unix ms. */
export const madeAt = (waits: WaitReason): number =>
  "until" in waits ? waits.until - waits.ms : Date.now();

/** The wait with all its times moved earlier by this many ms. */
export function putForward(waits: WaitReason, ms: number): WaitReason {
  if ("until" in waits) return { ...waits, until: waits.until - ms };
  if (waits.kind !== "input") return waits;
  const asks = mapValues(waits.asks, (ask) => {
    const { deadline } = ask;
    return deadline === undefined ? ask : { ...ask, deadline: deadline - ms };
  });
  return { ...waits, asks };
}

/** The asks that have no answer yet. */
export const openIn = (waits: WaitReason): Ask[] =>
  waits.kind === "input" ? Object.values(unanswered(waits.asks, waits.given)) : [];

export const statusOf = (end: TaskEnd): Status => ("result" in end ? "completed" : "failed");

/**
 * The stored state of a waiting call. Keys of asks are never used twice in a task, so that an answer cannot reach
 * another ask.
 */
export function waitingOf(
  { reason, recorded, state }: Omit<Suspended, "isSingleUse">,
  keys: AskKeys = { used: {}, names: {}, rounds: 0 },
) {
  const { entries: _entries, intents: _intents, ...begun } = recorded ?? {};
  const waits = reason.kind === "input" ? freshKeys(reason, keys) : reason;
  const status: Status = openIn(waits).length > 0 ? "input_required" : "working";
  const texts = { begun: "head" in begun ? begun : null, state: state ?? null, keys, waits };
  return { status, texts };
}

/** The sessions of a task after another has adopted it: the newest first, the owner always last. */
export function adopted(sessions: readonly string[], session: string): string {
  const owner = sessions.at(-1) ?? session;
  const others = new Set([session, ...sessions]);
  others.delete(owner);
  return [...[...others].slice(0, limits.taskSessions - 1), owner].join(" ");
}

/** The keys of a task's asks. */
interface AskKeys {
  /** All keys that were used on the wire. */
  used: Record<string, true>;
  /** The servlet's own key for each key on the wire, for open asks. */
  names: Record<string, string>;
  /** How often the task has asked, whatever the number of asks each time. */
  rounds: number;
}

/**
 * Renames asks to keys that the task has never used, so that an answer cannot reach another ask. Adds them to
 * `keys`. https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests
 */
function freshKeys(reason: WaitReason & { kind: "input" }, keys: AskKeys): WaitReason {
  const asks: Record<string, Asks[string]> = {};
  const given: Record<string, Answer> = {};
  keys.rounds++;
  keys.names = {};
  for (const [key, ask] of Object.entries(reason.asks)) {
    let name = key;
    for (let times = 2; keys.used[name] !== undefined; times++) name = `${key}-${times}`;
    keys.used[name] = true;
    keys.names[name] = key;
    asks[name] = ask;
    if (Object.hasOwn(reason.given, key)) given[name] = reason.given[key]!;
  }
  return { kind: "input", asks, given };
}

/** Records a change, and deletes the oldest beyond `limits.shownEntries`. */
export function note(sql: SqlStorage, what: string): void {
  sql.exec("INSERT INTO history VALUES (?, ?)", Date.now(), what);
  const last = "(SELECT MAX(rowid) FROM history)";
  sql.exec(`DELETE FROM history WHERE rowid <= ${last} - ?`, limits.shownEntries);
}

/** All recorded changes, in order. */
export const historyIn = (sql: SqlStorage): TaskChange[] =>
  sql.exec<TaskChange>("SELECT at, what FROM history ORDER BY rowid").toArray();
