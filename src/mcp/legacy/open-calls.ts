import { report } from "../../core/errors.ts";
import type { Notification } from "../../core/model.ts";
import type { OpenPost } from "./open-post.ts";
import { SessionAsks } from "./session-asks.ts";
import { hearing, isListener } from "./session-notifications.ts";
import type { SessionCall as Call, SessionParts } from "./session-parts.ts";
import { OWN, type SessionStreams } from "./session-streams.ts";
import { TASK_RESULT } from "./tasks.ts";

/** Dependencies of `OpenCalls`. */
interface OpenCallDependencies extends Pick<SessionParts, "store" | "tasks"> {
  streams: SessionStreams;
}

/** The open calls of a session, each with its stream. */
export class OpenCalls {
  readonly #parts: OpenCallDependencies;
  readonly #open = new Map<number, Call>();
  readonly asks: SessionAsks;
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
    return stream === OWN || this.all.some((call) => call.stream === stream);
  }

  /** Opens a call under a number of its own. */
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
    for (const call of this.all) {
      if (call.request !== null && call.request === request) await this.stop(call);
    }
  }

  /** Ends all calls of a session that is over. */
  async end(): Promise<void> {
    for (const call of this.all) await this.stop(call);
  }

  /** Sends the client a call's notification number `nth`, unless it was sent before. */
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
      const sending = streams.send(stream, message, { also: () => store.dropCall(number) });
      await sending.catch((error: unknown) => {
        this.#open.set(number, call); // Its client still waits for the reply.
        throw error;
      });
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
      await this.asks.settle(call.task, {});
      await this.#parts.tasks().cancel(call.task);
    }
    // Last, so that a crash before leaves the call to be cancelled again.
    await this.reply(call);
  }

  /** Stores a call, so that it survives the eviction of the session's object. */
  store(call: Call): void {
    call.isStored = true;
    this.#parts.store.storeCall(call);
  }

  /** The call whose stream carries a task's messages: the newest that waits for the task, since its client knows that stream. */
  waitingFor(task: string): Call | undefined {
    return this.ofTask(task).findLast((call) => !isListener(call));
  }

  /** The open calls of this task. */
  ofTask(task: string): Call[] {
    return this.all.filter((call) => call.task === task && !call.isUnwanted);
  }
}
