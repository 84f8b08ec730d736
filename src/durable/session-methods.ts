import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import { cursorText, string, uriIn } from "../mcp/methods.ts";
import { logLevelIn } from "../mcp/notices.ts";
import { isOver, olderTask } from "../mcp/older-tasks.ts";
import { isExperimental } from "../mcp/older.ts";
import type { Post } from "../mcp/session.ts";
import type { DetailedTask, TaskCall, Tasks } from "../mcp/tasks.ts";
import type { Json, Notification } from "../model.ts";
import type { OpenPost } from "./session-post.ts";
import type { KeptCall, SessionStore } from "./session-store.ts";

/** The parts of a session that its methods use. */
export interface Scope {
  store: SessionStore;
  /** The principal's; those that it may have by these scopes. */
  tasks: (scopes?: Post["scopes"]) => Tasks;
  /** Has the session told of changes from now on. */
  enlist(): Promise<void>;
}

/** A call of a session that is not over. */
export interface Call extends KeptCall {
  isKept: boolean;
  /** Is its end nothing to its client any more? */
  isUnwanted?: boolean;
  /** Absent once another instance of the session's object has taken the call over. */
  post?: OpenPost;
  scopes: Post["scopes"];
  /** Ends it, where it runs here. */
  stop?: AbortController;
  hear?: (notice: Notification) => void;
}

type SessionMethod = (params: Json, scope: Scope) => Promise<Json> | Json;

/** Methods that exist only in sessions, answered at once. */
export const sessionMethods: Readonly<Record<string, SessionMethod>> = {
  ping: () => ({}),
  initialize() {
    const message =
      "This session is initialized already: to begin another, send initialize without Mcp-Session-Id.";
    throw new Fault("invalid_request", message);
  },
  "logging/setLevel"(params, { store }) {
    store.set({ level: logLevelIn(params) });
    return {};
  },
  async "resources/subscribe"(params, { store, enlist }) {
    if (!store.subscribe(uriIn(params))) {
      const message = `Too many subscriptions in this session (limit ${limits.sessionSubscriptions}). Unsubscribe from one first.`;
      throw new Fault("too_many", message);
    }
    await enlist();
    return {};
  },
  "resources/unsubscribe"(params, { store }) {
    store.unsubscribe(uriIn(params));
    return {};
  },
  async "tasks/get"(params, scope) {
    return olderTask(await taskIn(params, scope));
  },
  async "tasks/list"({ cursor }, scope) {
    demandTasks(scope);
    const { store } = scope;
    const tasks = scope.tasks();
    const found = store.tasks(cursor === undefined ? 0 : placeOf(cursor), limits.taskPage);
    const views = await Promise.all(
      found.map(async ({ id }) => {
        const task = await tasks.get(id);
        if (task === undefined) store.dropTask(id); // Its time is over.
        return task;
      }),
    );
    const last = found.at(-1);
    return {
      tasks: views.filter((task) => task !== undefined).map(olderTask),
      ...(last !== undefined && found.length === limits.taskPage
        ? { nextCursor: btoa(`tasks:${last.at}`) }
        : {}),
    };
  },
  async "tasks/cancel"(params, scope) {
    const task = await taskIn(params, scope);
    if (isOver(task)) {
      const message = `The task is ${task.status} already, so it cannot be cancelled.`;
      throw new Fault("invalid_params", message);
    }
    await scope.tasks().cancel(task.taskId);
    return olderTask(await taskIn(params, scope));
  },
};

/** The task that params name. Throws `invalid_params` where there is none, or none of this principal. */
export async function taskIn(params: Json, scope: Scope): Promise<DetailedTask> {
  demandTasks(scope);
  const id = string(params, "taskId");
  const task = await scope.tasks().get(id);
  if (task === undefined)
    throw new Fault("invalid_params", `Unknown task: ${id.slice(0, 80)}. See tasks/list.`);
  return task;
}

/** The session's call as a task keeps it; its servlet is run with this even where it never becomes one. */
export async function taskCallOf(
  { request, method, scopes, post }: Call,
  store: SessionStore,
  params: Json,
  meta: Json,
): Promise<TaskCall> {
  const client = await store.client();
  const principal = { ...(await store.principal()), ...(scopes && { scopes }) };
  return { id: request ?? method, meta, principal, client, trace: post?.trace, method, params };
}

/** Throws `too_many` where a session has as many calls, in its object or waiting in tasks, as it may. */
export function demandRoom(calls: readonly { task?: string }[]): void {
  const running = calls.filter(({ task }) => task === undefined).length;
  const { sessionCalls, sessionTasks } = limits;
  if (running <= sessionCalls && calls.length <= sessionTasks) return;
  const limit = running > sessionCalls ? `${sessionCalls} running` : `${sessionTasks} waiting`;
  const message = `Too many open calls in this session (limit ${limit}). Wait for one to end, or cancel one.`;
  throw new Fault("too_many", message);
}

/** Adds a new task to those of the session. Throws `too_many` where it has as many as it may. */
export function addTask(store: SessionStore, id: string, ttlMs: number): void {
  if (store.addTask(id, Date.now() + Math.min(ttlMs, limits.taskMs))) return;
  const message = `Too many tasks in this session (limit ${limits.sessionTasks}). Each counts until its ttl is over. Wait for that, or begin another session.`;
  throw new Fault("too_many", message);
}

/** When a task is forgotten, in Unix ms. */
export const expiryOf = ({ createdAt, ttlMs }: DetailedTask): number =>
  Date.parse(String(createdAt)) + Number(ttlMs);

function demandTasks({ store }: Scope): void {
  if (isExperimental(store.row.version)) return;
  const message = `Tasks are not part of protocol version ${store.row.version}. Initialize with 2025-11-25 to use them.`;
  throw new Fault("method_not_found", message);
}

function placeOf(cursor: unknown): number {
  const [, place] = /^tasks:(\d+)$/.exec(cursorText(cursor)) ?? [];
  if (place !== undefined) return Number(place);
  throw new Fault("invalid_params", "The cursor is unknown: list again without one.");
}
