import type { Tasks } from "../../calls/tasks.ts";
import { Fault } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { answerOf } from "../../asks/answers.ts";
import type { ClientResponse } from "../wire/message.ts";
import { hasTasks, olderAsk, pageIn } from "./shapes.ts";
import { related, takesAsTask } from "./tasks.ts";
import type { Post } from "./session-object.ts";
import { isObject, type Json } from "../../core/model.ts";
import type { Asks } from "../../core/asks.ts";
import { clientError, unusableAnswer } from "../../servlets/ask-failures.ts";
import type { SessionStore } from "./session-store.ts";
import type { StoredAsk } from "./session-rows.ts";
import type { SessionStreams } from "./session-streams.ts";

/** Dependencies of `SessionAsks`. */
interface AskDependencies {
  store: SessionStore;
  streams: SessionStreams;
  tasks: (scopes?: Post["scopes"]) => Tasks;
}

/** The recipient of a task's asks: the newest call that waits for the task. */
interface Addressee {
  call: () => { stream: number } | undefined;
  /** True if the client knows the task. */
  isListed: boolean;
  round: number;
}

/** The open requests of the server to a session's client. */
export class SessionAsks {
  readonly #parts: AskDependencies;
  readonly #open = new Map<number, StoredAsk>();
  /**
   * Answered or withdrawn keys of each task. Older messages of the task may still arrive; since it never reuses a
   * key, these are ignored.
   */
  readonly #closed = new Map<string, Set<string>>();
  /** The newest round of each task. */
  readonly #rounds = new Map<string, number>();
  #settling = Promise.resolve();

  constructor(parts: AskDependencies) {
    this.#parts = parts;
    for (const ask of parts.store.asks()) this.#open.set(ask.number, ask);
  }

  /**
   * Sends the new asks of a task on the stream of the call that `to` returns, and withdraws the asks that it has
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
      // A client that lost a response requests the result again, and knows the newer stream only.
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
    // Another answer may have come in the meantime.
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
    const keys = this.#closed.get(task) ?? new Set();
    this.#closed.set(task, keys.add(key));
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

/** Why the task rejects an answer that fits its request. */
const TOO_LARGE = `is too large: with the answers before it, it must not exceed ${limits.hostBytes} characters`;
