import type { SessionCall as Call, SessionHandler, SessionParts } from "./session-store.ts";
import { sessionAsker } from "../../kernel/asks/askers.ts";
import { METHODS } from "../../kernel/calls/call-ref.ts";
import { allReasons, perform, type Waiting } from "../../kernel/calls/engine.ts";
import type { DetailedTask, TaskProgress, TaskCall } from "../../kernel/calls/task-object.ts";
import { Fault, report, tooSilent } from "../../kernel/core/errors.ts";
import { failingAsker, streamlessAsker, runToEnd } from "../../kernel/mcp/legacy/askers.ts";
import { changes } from "../../kernel/calls/changes.ts";
import { errorMessage, resultMessage, type RpcRequest } from "../../kernel/mcp/wire/message.ts";
import { mcpSpan, recordOutcome } from "../../kernel/observe/request-span.ts";
import { inRequestSpan } from "../../kernel/observe/spans.ts";
import type { FoundRequest, Methods } from "../../kernel/mcp/method.ts";
import { calledEntry, find, lookedUp } from "../../kernel/mcp/methods.ts";
import { progressTokenOf } from "../../kernel/mcp/wire/notifications.ts";
import { hasTasks, olderResult, olderError } from "../../kernel/mcp/legacy/shapes.ts";
import { taskResponseOf, isOver, olderTask, TASK_RESULT, wantedTtl } from "./legacy-tasks.ts";
import { taskGate } from "../../kernel/asks/gates.ts";
import { NOBODY, linkAsker, linkOf, personWay } from "../../kernel/asks/links.ts";
import { isObject, type Json, type Notification } from "../../kernel/core/model.ts";
import { traceIn } from "../../kernel/observe/trace-context.ts";
import type { CallContext } from "../../kernel/core/call-context.ts";
import type { Entry, Registry } from "../../kernel/servlets/registry.ts";
import { limits } from "../../kernel/core/limits.ts";
import {
  afterSending,
  UNKNOWN_OUTCOME,
  type UnrecordedCall,
} from "../../kernel/core/unknown-outcome.ts";
import type { Hub } from "./hub.ts";
import type { OpenCalls } from "./open-calls.ts";
import { addTask, demandRoom, expiryOf, taskCallOf, isListener } from "./session-methods.ts";
import type { OpenPost } from "./open-post.ts";
import type { BegunCall } from "./session-object.ts";
import type { Suspended } from "../../kernel/core/suspension.ts";
import { OWN, type SessionStreams } from "./session-streams.ts";
import type { Keeper } from "../../kernel/core/record.ts";
import { rootsListeners } from "../../kernel/servlets/hearing.ts";

/** A call's `_meta`, and its suspension if it began in the Worker. */
interface About {
  meta: Json;
  waiting?: Suspended | undefined;
}

interface CallDependencies extends Omit<SessionParts, "awaitTask"> {
  /** Id of the session's Durable Object. */
  id: string;
  methods: Methods;
  open: OpenCalls;
  streams: SessionStreams;
  registry: () => Promise<Registry>;
  hub: () => DurableObjectStub<Hub>;
}

/** Runs the calls of a session: in its object, or in a task that reports back to it. */
export class SessionCalls implements Pick<SessionParts, "awaitTask"> {
  readonly #parts: CallDependencies;
  readonly #open: OpenCalls;
  #rootsChanges = 0;
  /** When its tasks were last checked, in Unix ms. */
  #looked = Date.now();

  constructor(parts: CallDependencies) {
    this.#parts = parts;
    this.#open = parts.open;
  }

  /** Ends the calls that died with an earlier instance of the object. */
  async recover(): Promise<void> {
    const end = async (call: Call) => {
      const lives = call.task !== undefined && (await this.#parts.tasks().get(call.task));
      const { request: id } = call;
      if (!lives)
        await this.#open.reply(call, id === null ? undefined : errorMessage(id, stopped(call)));
    };
    await Promise.all(this.#open.all.map((call) => this.#parts.store.insist(() => end(call))));
  }

  /**
   * Checks the tasks of open calls, at most every `limits.callStreamMs`: a task with a lost alarm continues when it is
   * accessed. Never throws.
   */
  async lookAtTasks(): Promise<void> {
    const now = Date.now();
    if (Math.abs(now - this.#looked) < limits.callStreamMs) return;
    this.#looked = now;
    const tasks = this.#open.all.flatMap(({ task }) => task ?? []);
    await Promise.all(tasks.map((task) => this.#parts.tasks().get(task))).catch(report);
  }

  /** Answers a request, now or when its call has ended; continues a call that began in the Worker. Never throws. */
  async answer(request: RpcRequest, post: OpenPost, begun?: BegunCall): Promise<void> {
    const { id, method, params } = request;
    const meta = isObject(params["_meta"]) ? params["_meta"] : {};
    const progressToken = progressTokenOf(meta);
    const call = this.#open.open({
      request: id,
      method,
      post,
      scopes: post.scopes,
      progressToken,
    });
    const { version } = this.#parts.store.row;
    if (begun?.hasSent) call.hasSent = true;
    if (begun !== undefined && this.#open.takeCancellation(id)) return this.#open.stop(call);
    const run = async () => {
      begun?.notices.forEach((notice, nth) => this.#open.tell(call, nth + 1, notice));
      if (begun && "reply" in begun) return begun.reply;
      post.demandRoom();
      const result = await this.#run(call, request, { meta, waiting: begun?.waiting });
      return result && resultMessage(id, JSON.stringify(olderResult(result, version)));
    };
    await post.inTurn(async () => {
      const message = await run().catch((error: unknown) => {
        if (!this.#parts.store.exists) return undefined; // With the session, its calls have ended.
        return errorMessage(id, olderError(method, report(afterSending(call, error))));
      });
      if (message !== undefined)
        await this.#parts.store.insist(() => this.#open.reply(call, message));
    });
  }

  /**
   * Notifies the servlets that handle changes of the client's roots. Ends their calls about an earlier change, so
   * that each has at most one. Never throws.
   */
  async rootsChanged(scopes: Call["scopes"]): Promise<void> {
    const change = ++this.#rootsChanges;
    for (const call of this.#open.all) {
      if (call.method === METHODS.roots) await this.#open.stop(call).catch(report);
    }
    const registry = await this.#registry(scopes);
    for (const bundled of await rootsListeners(registry)) {
      if (change !== this.#rootsChanges || !this.#parts.store.exists) return;
      const call = this.#open.open({ request: null, method: METHODS.roots, scopes });
      try {
        const entry = await registry.resolve({ kind: "roots", name: bundled.name });
        if (await this.#start(call, entry, { meta: {} })) await this.#open.reply(call);
      } catch (error) {
        if (!this.#parts.store.exists) return; // The session has ended meanwhile.
        report(error);
        await this.#open.reply(call);
      }
    }
  }

  async notified(task: string, nth: number, notice: Notification): Promise<boolean> {
    const call = this.#open.ofTask(task)[0];
    if (call === undefined) return false;
    this.#open.tell(call, nth, notice);
    await this.#parts.streams.settled();
    return true;
  }

  async progressed(task: string, { view, asks, round }: TaskProgress): Promise<boolean> {
    const { store, streams } = this.#parts;
    const calls = this.#open.ofTask(task);
    const isListed = store.hasTask(task);
    const waiting = () => this.#open.waitingFor(task);
    await this.#open.asks.settle(task, asks, { isListed, round, call: waiting });
    if (isOver(view)) for (const call of this.#open.ofTask(task)) await this.#end(call, view);
    if (isListed && store.isNews(task, `${view.status} ${String(view["lastUpdatedAt"])}`)) {
      const params = olderTask(view);
      const message = { jsonrpc: "2.0", method: "notifications/tasks/status", params };
      await streams.send(OWN, JSON.stringify(message), { isMinor: true });
    }
    return calls.length > 0 || isListed;
  }

  /** The registry as the session's client sees it. */
  async #registry(scopes: Call["scopes"]): Promise<Registry> {
    const { registry, store, id: session } = this.#parts;
    const principal = { ...(await store.principal()), ...(scopes && { scopes }) };
    return (await registry()).for({ principal, session });
  }

  /** Returns the result of a request; undefined if its call continues. */
  async #run(call: Call, request: RpcRequest, about: About): Promise<Json | undefined> {
    const open = this.#open.all.filter((one) => !isListener(one));
    demandRoom(open.filter(({ task }) => task === undefined).length, open.length);
    const registry = await this.#registry(call.scopes);
    const found = await find(request, { registry, methods: this.#parts.methods });
    const { store, id: session } = this.#parts;
    const start = () => mcpSpan({ ...found, version: store.row.version, session });
    return inRequestSpan(traceIn(about.meta, call.post?.trace), start, (trace, span) => {
      call.trace = trace;
      return recordOutcome(span, this.#runFound(call, found, { ...about, registry }));
    });
  }

  async #runFound(
    call: Call,
    request: FoundRequest,
    { meta, waiting, registry: seen }: About & { registry: Registry },
  ): Promise<Json | undefined> {
    const { params, row } = request;
    if (row.session) {
      const { store, enlist, registry } = this.#parts;
      const tasks = () => this.#parts.tasks(call.scopes);
      const awaitTask = this.awaitTask.bind(this);
      const answer = row.session as SessionHandler;
      return answer(params, { store, tasks, enlist, registry, awaitTask }, call);
    }
    const { capabilities } = row.list ? await this.#parts.store.client() : NOBODY;
    const takesStream = call.post?.accepts.sse !== false;
    const listed = lookedUp(request, seen, { capabilities, takesStream });
    if (listed) return listed;
    const entry = calledEntry(request);
    const task = await this.#asTask(call, entry, params, meta);
    if (task) return { task: olderTask(task) };
    const record = waiting?.recorded;
    const own = record && (await seen.at(record));
    const again = own === undefined || own === seen ? entry : await own.resolve(entry.ref);
    return this.#start(call, again, { meta, waiting });
  }

  /** Runs a call until it ends or has to wait; returns undefined if it continues as a task. */
  async #start(
    call: Call,
    entry: Entry,
    { meta, waiting: before }: About,
  ): Promise<Json | undefined> {
    const { store, hub } = this.#parts;
    const linked = linkOf(call.post?.pages, entry.tool);
    const kept = { ...(await taskCallOf(call, this.#parts, entry, meta)), ...linked };
    const stop = (call.stop = new AbortController());
    let nth = 0;
    const tell = changes({ hub }, (notice) => this.#open.tell(call, nth, notice));
    // A call that stopped at a question asks it from here. Any other is replayed with full fuel: fuel used in the
    // Worker counts only against its caller.
    const asked = before?.reason.kind === "input" ? before : undefined;
    const recorded = asked === undefined ? before?.recorded : undefined;
    const context: CallContext = {
      ...kept,
      // The Worker has sent no notification.
      ...(recorded && { recorded: { ...recorded, notices: 0 } }),
      signal: () => stop.signal,
      notify(notice) {
        // Counted as in a task, which continues the count.
        if (notice.isInner !== true) nth++;
        tell(notice);
      },
      ask:
        store.row.ready === 0
          ? failingAsker("not initialized")
          : streamlessAsker(kept.client, (id) => store.addPage(id)),
      keeper: sendingKeeper(call, () => call.isStored && this.#open.store(call)),
    };
    if (store.row.ready === 0 || call.post?.accepts.sse === false) {
      const { post } = call;
      post?.whenSilent(() => stop.abort(tooSilent()));
      // Otherwise the client gets no message until the call ends: a stream shows signs of life.
      const opening = post && setTimeout(() => this.#open.begin(post), limits.keepAliveMs);
      const { tool } = entry;
      const hears = post?.accepts.sse === true;
      const person = personWay(kept, { tasks: this.#parts.tasks(), tool, hears });
      return runToEnd(entry, context, person, asked).finally(() => clearTimeout(opening));
    }
    const own = sessionAsker(kept.client);
    const ask = kept.link ? linkAsker(own, kept.client) : own;
    return perform<Json | undefined>(
      entry,
      { ...context, ask, gate: taskGate("auto") },
      {
        ended: (result) => result,
        waits: allReasons(async (waiting) => {
          // Sent notifications must be stored before the task repeats the run.
          await this.#parts.streams.settled();
          if (this.#open.has(call)) await this.#goOn(call, kept, waiting);
          return undefined;
        }),
      },
      asked,
    );
  }

  /** Continues a call as a task that its client does not see. */
  async #goOn(call: Call, kept: TaskCall, waiting: Waiting): Promise<void> {
    if (call.post !== undefined) this.#open.begin(call.post);
    const tasks = this.#parts.tasks();
    const id = tasks.newId();
    // Stored before the task is created, since that reports its asks at once.
    this.#open.store(Object.assign(call, { task: id }));
    const owner = { session: this.#parts.id, isHidden: true };
    await tasks.create({ ...kept, owner }, Object.assign({}, waiting), { id });
    if (call.isUnwanted) await tasks.cancel(id);
  }

  /** Runs a call as a task if its client requests one. */
  async #asTask(call: Call, entry: Entry, params: Json, meta: Json) {
    const { store, id: session } = this.#parts;
    const { tool } = entry;
    if (tool === undefined || !hasTasks(store.row.version)) return undefined;
    const ttlMs = wantedTtl(tool.tool, params);
    if (ttlMs === undefined) return undefined;
    const tasks = this.#parts.tasks();
    const object = tasks.newId();
    addTask(store, object, ttlMs);
    const kept = await taskCallOf(call, this.#parts, entry, meta);
    const { scopes, progressToken } = call;
    const about = { request: null, method: TASK_RESULT, scopes, progressToken, task: object };
    const listener = this.#open.open(about);
    this.#open.store(listener);
    const linked = linkOf(call.post?.pages, tool);
    const made = { ...kept, ...linked, owner: { session, isHidden: false }, ttlMs };
    return tasks.create(made, undefined, { id: object }).catch(async (error: unknown) => {
      store.dropTask(object);
      await this.#open.reply(listener);
      throw error;
    });
  }

  async awaitTask(call: Call, task: DetailedTask): Promise<void> {
    const { taskId } = task;
    if (isOver(task)) return this.#end(call, task);
    if (call.post !== undefined) this.#open.begin(call.post);
    const end = () => this.#open.reply(call, errorMessage(call.request, stillRunning()));
    call.post?.whenSilent(() => void end().catch(report));
    this.#open.store(Object.assign(call, { task: taskId }));
    this.#parts.store.addTask(taskId, expiryOf(task));
    await this.#parts.tasks().adopt(taskId, this.#parts.id);
  }

  async #end(call: Call, task: DetailedTask): Promise<void> {
    const { request: id, method } = call;
    const { version } = this.#parts.store.row;
    await this.#open.reply(
      call,
      id === null ? undefined : taskResponseOf({ id, method, version }, task),
    );
  }
}

const stillRunning = () =>
  new Fault(
    "not_acceptable",
    "The task still runs, and this request accepts no stream. Ask for its result again, or send Accept: application/json, text/event-stream.",
  );

/** The keeper of a call in a session's object; calls `note` before a request that must not be repeated is sent. */
export const sendingKeeper = (call: UnrecordedCall, note: () => void): Keeper => ({
  isVolatile: true,
  begin: async () => {},
  async intend(_position, _key, method) {
    if (method !== "once") return false;
    call.hasSent = true;
    note();
    return false;
  },
  keep: async () => {},
});

/** The error for the client of a call that died with its object. */
const stopped = ({ hasSent = false }: UnrecordedCall): Fault =>
  new Fault(
    "servlet_failed",
    hasSent
      ? `The server stopped during this call. ${UNKNOWN_OUTCOME}`
      : "The server stopped before this call ended. Call again.",
  );
