/** Methods of sessions. */
import { aboutOf } from "../../kernel/calls/shown-arguments.ts";
import type { Entry } from "../../kernel/servlets/registry.ts";
import type { DetailedTask, TaskCall } from "../../kernel/calls/task-object.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import type { Json, Notification } from "../../kernel/core/model.ts";
import { logLevelIn, notices } from "../../kernel/mcp/wire/notifications.ts";
import { cursorText, stringParam, uriIn } from "../../kernel/mcp/wire/params.ts";
import type { SessionStore, SessionCall, SessionParts } from "./session-store.ts";
import { hasTasks, olderNotice } from "../../kernel/mcp/legacy/shapes.ts";
import { isOver, olderTask, related, TASK_RESULT } from "./legacy-tasks.ts";
import { beginningOf } from "../../kernel/core/text.ts";
import type { StoredCall } from "./session-rows.ts";
import { demandHearing } from "../../kernel/servlets/hearing.ts";

export function initializeAgain(): never {
  const message =
    "This session is already initialized. To begin another, send initialize alone, not in a batch.";
  throw new Fault("invalid_request", message);
}

export function setSessionLevel(params: Json, { store }: SessionParts): Json {
  store.set({ level: logLevelIn(params) });
  return {};
}

export async function subscribe(
  params: Json,
  { store, enlist, registry }: SessionParts,
  { scopes }: SessionCall,
): Promise<Json> {
  const uri = uriIn(params);
  const all = await registry();
  await demandHearing(uri, all.within({ ...store.owner, ...(scopes && { scopes }) }));
  if (!store.subscribe(uri)) {
    const message = `Too many subscriptions in this session (limit ${limits.sessionSubscriptions}, with ${limits.sessionSubscriptionCharacters} characters together). Unsubscribe from one first.`;
    throw new Fault("too_many", message);
  }
  await enlist();
  return {};
}

export function unsubscribe(params: Json, { store }: SessionParts): Json {
  store.unsubscribe(uriIn(params));
  return {};
}

export async function getSessionTask(params: Json, session: SessionParts): Promise<Json> {
  return olderTask(await taskIn(params, session));
}

export async function listTasks({ cursor }: Json, session: SessionParts): Promise<Json> {
  demandTasks(session);
  const { store } = session;
  const tasks = session.tasks();
  const found = store.tasks(cursor === undefined ? 0 : placeOf(cursor), limits.taskPage);
  const views = await Promise.all(found.map(({ id }) => tasks.get(id)));
  const last = found.at(-1);
  return {
    tasks: views.filter((task) => task !== undefined).map(olderTask),
    ...(last !== undefined && found.length === limits.taskPage
      ? { nextCursor: btoa(`tasks:${last.at}`) }
      : {}),
  };
}

export async function cancelSessionTask(params: Json, session: SessionParts): Promise<Json> {
  const task = await taskIn(params, session);
  if (isOver(task)) {
    const message = `The task is ${task.status} already, so it cannot be cancelled.`;
    throw new Fault("invalid_params", message);
  }
  await session.tasks().cancel(task.taskId);
  return olderTask(await taskIn(params, session));
}

/** Answers with the task's result when it ends; the asks of its servlet are sent on the stream of this call. */
export async function awaitTask(
  params: Json,
  session: SessionParts,
  call: SessionCall,
): Promise<undefined> {
  await session.awaitTask(call, await taskIn(params, session));
  return undefined;
}

/** The principal's task that the params name. Throws `invalid_params` for an unknown task. */
async function taskIn(params: Json, session: SessionParts): Promise<DetailedTask> {
  demandTasks(session);
  const id = stringParam(params, "taskId");
  const task = await session.tasks().get(id);
  if (task === undefined)
    throw new Fault("invalid_params", `Unknown task: ${beginningOf(id, 80)}. See tasks/list.`);
  return task;
}

/** The session's call in the form that a task stores. Its servlet runs with this even if it never becomes a task. */
export async function taskCallOf(
  { request, method, scopes, trace }: SessionCall,
  { store, id: session }: { store: SessionStore; id: string },
  entry: Entry,
  meta: Json,
): Promise<TaskCall> {
  const client = await store.client();
  const principal = { ...(await store.principal()), ...(scopes && { scopes }) };
  return {
    id: request ?? method,
    meta,
    principal,
    client,
    session,
    trace,
    ref: entry.ref,
    about: aboutOf(entry),
  };
}

/** Throws `too_many` if a session has too many running calls, or too many calls including those that wait in tasks. */
export function demandRoom(running: number, all = running): void {
  const { sessionCalls, sessionTasks } = limits;
  if (running <= sessionCalls && all <= sessionTasks) return;
  const limit = running > sessionCalls ? `${sessionCalls} running` : `${sessionTasks} waiting`;
  const message = `Too many open calls in this session (limit ${limit}). Wait for one to end, or cancel one.`;
  throw new Fault("too_many", message);
}

/** Adds a new task to the session. Throws `too_many` if it has too many. */
export function addTask(store: SessionStore, id: string, ttlMs: number): void {
  if (store.addTask(id, Date.now() + Math.min(ttlMs, limits.taskMs))) return;
  const message = `Too many tasks in this session (limit ${limits.sessionTasks}). Each counts until its ttl is over. Wait for that, or begin another session.`;
  throw new Fault("too_many", message);
}

/** When a task is deleted, in Unix ms. */
export const expiryOf = ({ createdAt, ttlMs }: DetailedTask): number =>
  Date.parse(String(createdAt)) + Number(ttlMs);

function demandTasks({ store }: SessionParts): void {
  if (hasTasks(store.row.version)) return;
  const message = `Tasks are not part of protocol version ${store.row.version}. Initialize with 2025-11-25 to use them.`;
  throw new Fault("method_not_found", message);
}

function placeOf(cursor: unknown): number {
  const [, place] = /^tasks:(\d+)$/.exec(cursorText(cursor)) ?? [];
  if (place !== undefined) return Number(place);
  throw new Fault("invalid_params", "The cursor is unknown. List again without one.");
}

/**
 * True for the entry of a task that the client has created, which is not a request. Its progress token is valid
 * until the task ends, whether or not a request waits for the result.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-progress-notifications
 */
export const isListener = ({ request, method }: StoredCall): boolean =>
  request === null && method === TASK_RESULT;

/** Sends the notifications of a call that its client wants, and records the progress. */
export function hearing(
  call: StoredCall,
  store: SessionStore,
  send: (message: Json) => void,
): (notice: Notification) => void {
  const wanted = {
    progressToken: call.progressToken,
    progress: call.progress,
    get logLevel() {
      return store.row.level;
    },
    takePage: (id: string) => store.takePage(id),
  };
  return notices(wanted, (message) => {
    const params = message["params"] as Json;
    const { progress } = params;
    if (typeof progress === "number") call.progress = progress;
    const ofTask = isListener(call) ? { params: related(params, call.task!) } : {};
    send(olderNotice({ ...message, ...ofTask }, store.row.version));
  });
}
