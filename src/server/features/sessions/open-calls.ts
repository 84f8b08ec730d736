import { hearing, isListener } from "./session-methods.ts";
import type { SessionCall as Call, SessionParts } from "./session-store.ts";
import { report, Fault } from "../../kernel/core/errors.ts";
import { type Notification, isObject, type Json } from "../../kernel/core/model.ts";
import type { OpenPost } from "./open-post.ts";
import { OWN, type SessionStreams } from "./session-streams.ts";
import { TASK_RESULT, related, takesAsTask } from "./legacy-tasks.ts";
import { limits } from "./limits.ts";
import { answerOf } from "../../kernel/asks/answers.ts";
import { isId, type ClientResponse, type RequestId } from "../../kernel/mcp/wire/message.ts";
import { hasTasks, olderAsk, pageIn } from "../../kernel/mcp/legacy/shapes.ts";
import type { Post } from "./session-object.ts";
import type { Asks } from "../../kernel/core/asks.ts";
import { clientError, unusableAnswer } from "../../kernel/servlets/ask-failures.ts";
import type { StoredAsk } from "./session-rows.ts";

interface OpenCallDependencies extends Pick<SessionParts, "store" | "tasks"> {
  streams: SessionStreams;
}

/** The open calls of a session, each with its stream. */
export class OpenCalls {
  readonly #parts: OpenCallDependencies;
  readonly #open = new Map<number, Call>();
  /** Calls whose reply is not stored yet: their streams stay open. */
  readonly #ending = new Set<Call>();
  readonly asks: SessionAsks;
  /** Ids of requests that were cancelled before their call was open here. */
  readonly #cancelled = new Set<RequestId>();
  #last = 0;

  constructor(parts: OpenCallDependencies) {
    this.#parts = parts;
    this.asks = new SessionAsks(parts);
    for (const call of parts.store.calls()) {
      this.#open.set(call.number, { ...call, scopes: undefined, isStored: true });
      this.#last = Math.max(this.#last, call.number);
    }
  }

  get all(): readonly Call[] {
    return [...this.#open.values()];
  }

  has({ number }: Call): boolean {
    return this.#open.has(number);
  }

  /** True while more messages may follow on this stream. */
  areOn(stream: number): boolean {
    return stream === OWN || [...this.all, ...this.#ending].some((call) => call.stream === stream);
  }

  /** Opens a call under a new number. */
  open(about: Pick<Call, "request" | "method" | "scopes"> & Partial<Call>): Call {
    const call = { number: ++this.#last, stream: OWN, notified: 0, isStored: false, ...about };
    this.#open.set(call.number, call);
    return call;
  }

  /** Answers the POST with a stream from now on, and stores its open calls. */
  begin(post: OpenPost): void {
    if (post.stream !== undefined || !post.accepts.sse) return;
    const { store, streams } = this.#parts;
    const stream = store.next("streams");
    for (const call of this.all) {
      if (call.post === post) this.store(Object.assign(call, { stream }));
    }
    const early = post.begin(stream, streams.begin(stream));
    for (const message of early) streams.send(stream, message).catch(report);
    if (!this.areOn(stream)) streams.finish(stream).catch(report);
  }

  /** Ends the call of a request that the client has cancelled, without a reply. */
  async cancel(request: unknown): Promise<void> {
    const cancelled = this.all.filter((call) => call.request !== null && call.request === request);
    for (const call of cancelled) await this.stop(call);
    // The call may be on its way from the Worker.
    if (cancelled.length > 0 || !isId(request)) return;
    this.#cancelled.add(request);
    if (this.#cancelled.size > limits.sessionCalls)
      this.#cancelled.delete([...this.#cancelled][0]!);
  }

  /** True if this request was cancelled before its call was opened here. Forgets that cancellation. */
  takeCancellation(request: RequestId): boolean {
    return this.#cancelled.delete(request);
  }

  /** Ends all calls of a session that has ended, including those that begin meanwhile. */
  async end(): Promise<void> {
    for (const call of this.#open.values()) await this.stop(call);
  }

  /** Sends the client the `nth` notification of a call, unless it was sent before. */
  tell(call: Call, nth: number, notice: Notification): void {
    const { store, streams } = this.#parts;
    if (nth <= call.notified) return;
    call.notified = nth;
    call.hear ??= hearing(call, store, (message) => {
      if (call.post !== undefined) this.begin(call.post);
      if (call.stream === OWN && call.request !== null) return; // Its client accepts no stream.
      const waiting = isListener(call) && this.waitingFor(call.task!);
      const also = store.setNotified.bind(store, { ...call });
      const { stream } = waiting || call;
      streams.send(stream, JSON.stringify(message), { isMinor: true, also }).catch(report);
    });
    call.hear(notice);
  }

  /** Ends a call, with this message as its reply if there is one. */
  async reply(call: Call, message?: string): Promise<void> {
    const { store, streams } = this.#parts;
    const { number, post, stream, isStored, task } = call;
    if (!this.#open.delete(number)) return;
    if (post !== undefined && post.stream === undefined) post.reply(call.request, message);
    else if (message !== undefined) {
      this.#ending.add(call);
      const sending = streams.send(stream, message, { also: () => store.dropCall(number) });
      const failed = (error: unknown) => {
        this.#open.set(number, call); // Its client still waits for the reply.
        throw error;
      };
      await sending.catch(failed).finally(() => this.#ending.delete(call));
    }
    if (task !== undefined && this.ofTask(task).length === 0) this.asks.forget(task);
    if (isStored) store.dropCall(number);
    if (!this.areOn(stream)) await streams.finish(stream);
  }

  /** Aborts a call, cancels its task, and drops it without a reply. */
  async stop(call: Call): Promise<void> {
    call.stop?.abort(new DOMException("the call was cancelled", "AbortError"));
    call.isUnwanted = true;
    if (call.task !== undefined && call.method !== TASK_RESULT) {
      await this.#parts.tasks().cancel(call.task);
      // After cancelling: a task that a crash saves from it would ask the same again under other ids.
      await this.asks.settle(call.task, {});
    }
    // Last, so that after a crash the call is cancelled again.
    await this.reply(call);
  }

  /** Stores a call, so that it survives the eviction of the session's object. */
  store(call: Call): void {
    call.isStored = true;
    this.#parts.store.storeCall(call);
  }

  /** The call whose stream carries a task's messages: the newest that waits for it, as the client knows that stream. */
  waitingFor(task: string): Call | undefined {
    return this.ofTask(task).findLast((call) => !isListener(call));
  }

  /** The open calls of this task. */
  ofTask(task: string): Call[] {
    return this.all.filter((call) => call.task === task && !call.isUnwanted);
  }
}

/** The recipient of a task's asks: the newest call that waits for the task. */
interface Addressee {
  call: () => { stream: number } | undefined;
  /** True if the client knows the task. */
  isListed: boolean;
  round: number;
}

/** The open requests of the server to a session's client. */
class SessionAsks {
  readonly #parts: OpenCallDependencies;
  readonly #open = new Map<number, StoredAsk>();
  /**
   * Answered or withdrawn keys of each task. Older messages of the task may still arrive; since it never reuses a
   * key, these are ignored.
   */
  readonly #closed = new Map<string, Set<string>>();
  /** The newest round of each task. */
  readonly #rounds = new Map<string, number>();
  #settling = Promise.resolve();

  constructor(parts: OpenCallDependencies) {
    this.#parts = parts;
    for (const ask of parts.store.asks()) this.#open.set(ask.number, ask);
  }

  /**
   * Sends the new asks of a task on the stream of the call in `to`, and withdraws the asks that it has
   * dropped. Without a call there is no client to ask yet. Runs one at a time.
   */
  settle(task: string, asks: Asks, to?: Addressee): Promise<void> {
    const settling = this.#settling.then(() => this.#settle(task, asks, to));
    this.#settling = settling.catch(() => {});
    return settling;
  }

  async #settle(task: string, asks: Asks, to?: Addressee): Promise<void> {
    const round = to?.round ?? Infinity;
    if (round < (this.#rounds.get(task) ?? 0)) return;
    this.#rounds.set(task, round);
    const open = [...this.#open.values()].filter((ask) => ask.task === task);
    for (const ask of open) if (!Object.hasOwn(asks, ask.key)) await this.#withdraw(ask);
    const call = to?.call();
    if (to === undefined || call === undefined) return;
    const { store, streams } = this.#parts;
    const { capabilities, protocolVersion: version } = await store.client();
    for (const [key, asked] of Object.entries(asks)) {
      const known = open.filter((ask) => ask.key === key);
      // A client that lost a response requests the result again, and knows only the newer stream.
      const isThere = known.some(
        ({ stream }) => !to.isListed || stream >= call.stream || streams.isOpen(stream),
      );
      if (isThere || this.#closed.get(task)?.has(key)) continue;
      const { method } = asked;
      const params = olderAsk(asked, version);
      const isTask = hasTasks(version) && takesAsTask({ capabilities }, method);
      const sent = isTask ? { ...params, task: { ttl: limits.stateMs } } : params;
      await this.#send(
        { task, key, stream: call.stream },
        { method, params: to.isListed ? related(sent, task) : sent },
        { method, params, isTask },
      );
      for (const ask of known) await this.#withdraw(ask);
    }
  }

  /**
   * Takes the client's answer to an open request; an error or an unusable answer fails the ask. Ignores an answer
   * to any other request: its call was cancelled, or has its answer. Returns the fault of a failed attempt.
   */
  async take(
    { id, result, error }: ClientResponse,
    scopes: Post["scopes"],
  ): Promise<Fault | undefined> {
    const { store } = this.#parts;
    const tasks = () => this.#parts.tasks(scopes);
    const ask = typeof id === "number" ? this.#open.get(id) : undefined;
    const asked = ask && (await store.asked(ask.number));
    // Another answer may have arrived meanwhile.
    if (ask === undefined || asked === undefined || !this.#open.delete(ask.number))
      return undefined;
    try {
      const made = isObject(result) ? result["task"] : undefined;
      if (asked.isTask && isObject(made) && typeof made["taskId"] === "string") {
        // https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#retrieving-task-results
        const request = { method: "tasks/result", params: { taskId: made["taskId"] } };
        await this.#send(ask, request, { ...asked, isTask: false });
      } else {
        // Clients answer once, so the call continues with this answer.
        const answer = error === undefined ? answerOf(asked, result) : clientError(asked, error);
        this.#close(ask);
        const taken = await tasks().update(ask.task, { [ask.key]: answer });
        if (taken?.wrong !== undefined) {
          const failure = unusableAnswer(asked, TOO_LARGE);
          await tasks().update(ask.task, { [ask.key]: failure });
        }
      }
      store.dropAsk(ask.number);
      return undefined;
    } catch (failure) {
      this.#closed.get(ask.task)?.delete(ask.key);
      this.#open.set(ask.number, ask); // The client may answer again.
      return Fault.from(failure);
    }
  }

  async #send(
    { task, key, stream }: Pick<StoredAsk, "task" | "key" | "stream">,
    request: { method: string; params: Json },
    asked: Json,
  ): Promise<void> {
    const { store, streams } = this.#parts;
    const ask = { number: store.next("asks"), task, key, stream };
    this.#open.set(ask.number, ask);
    const message = JSON.stringify({ jsonrpc: "2.0", id: ask.number, ...request });
    const texts = { [`ask ${ask.number}`]: asked };
    const page = pageIn(request);
    const also = () => {
      store.storeAsk(ask);
      if (page !== undefined) store.addPage(page);
    };
    try {
      await streams.send(stream, message, { texts, also });
    } catch (error) {
      this.#open.delete(ask.number);
      throw error;
    }
  }

  #close({ task, key }: Pick<StoredAsk, "task" | "key">): void {
    this.#closed.getOrInsertComputed(task, () => new Set()).add(key);
  }

  /** Drops the state of a task whose call has ended. */
  forget(task: string): void {
    this.#closed.delete(task);
    this.#rounds.delete(task);
  }

  async #withdraw({ number, task, key, stream }: StoredAsk): Promise<void> {
    const { store, streams } = this.#parts;
    if (!this.#open.delete(number)) return;
    const isMoved = [...this.#open.values()].some((ask) => ask.task === task && ask.key === key);
    if (!isMoved) this.#close({ task, key });
    const params = { requestId: number, reason: "The server no longer waits for the answer." };
    const message = { jsonrpc: "2.0", method: "notifications/cancelled", params };
    await streams.send(stream, JSON.stringify(message), { also: () => store.dropAsk(number) });
  }
}

/** The reason why a task rejects an answer that fits its request. */
const TOO_LARGE = `is too large: with the answers before it, it must not exceed ${limits.hostBytes} characters`;
