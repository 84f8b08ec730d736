import type { Hub } from "../hub.ts";
import { httpStatus, report, type Fault } from "../../core/errors.ts";
import type { Notification } from "../../core/model.ts";
import { METHODS } from "../../calls/call-ref.ts";
import { errorMessage, readable, type Message, type RequestId } from "../wire/message.ts";
import type { Reply } from "../wire/reply.ts";
import type { Post } from "./session-object.ts";
import { changedLists, type ListDigests } from "./list-digests.ts";
import { OpenCalls } from "./open-calls.ts";
import { OpenPost } from "./open-post.ts";
import { SessionCalls } from "./session-calls.ts";
import type { SessionParts } from "./session-parts.ts";
import { OWN, SessionStreams } from "./session-streams.ts";

/** Dependencies of `SessionProtocol`. */
interface SessionDependencies extends Omit<SessionParts, "awaitTask"> {
  /** State of the session's Durable Object. */
  state: DurableObjectState;
  hub: () => DurableObjectStub<Hub>;
  /** The scopes that are configured for the API key of this name; undefined if they are not narrowed. */
  scopesOf(principal: string): readonly string[] | undefined;
}

/**
 * The protocol of one session: handles its client's messages, and sends those of the server.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export class SessionProtocol {
  readonly #parts: SessionDependencies;
  readonly #streams: SessionStreams;
  readonly #open: OpenCalls;
  readonly calls: SessionCalls;

  constructor(parts: SessionDependencies) {
    const { state, store } = parts;
    this.#parts = parts;
    this.#streams = new SessionStreams(store, state, (stream) => this.#open.areOn(stream));
    this.#open = new OpenCalls({ ...parts, streams: this.#streams });
    const id = state.id.toString();
    this.calls = new SessionCalls({ ...parts, id, streams: this.#streams, open: this.#open });
  }

  /** True while a call is running or waiting. */
  get hasOpenCalls(): boolean {
    return this.#open.all.length > 0;
  }

  /** True while the client is connected to the session's own stream. */
  get isListening(): boolean {
    return this.#streams.isOpen(OWN);
  }

  /** Answers a POST; undefined if the session ends meanwhile. */
  async post({ messages, ...how }: Post): Promise<Response | Reply | undefined> {
    const { isBatch, accepts, scopes } = how;
    const { store, state } = this.#parts;
    store.touch();
    const read = messages.map(readable);
    let failure: Fault | undefined;
    for (const message of read) {
      if (message.kind === "notification") await this.#take(message, scopes);
      else if (message.kind === "response" && !isPing(message.id)) {
        failure = (await this.#open.asks.take(message, scopes)) ?? failure;
      }
      if (message.kind === "unreadable" && !isBatch) return replyOf(message.fault, message.id);
    }
    // Nothing is awaited until each request is an open call, so that the end of the session ends it.
    if (!store.exists) return undefined;
    const asking = read.filter(({ kind }) => kind === "request" || kind === "unreadable");
    if (asking.length === 0) return failure ? replyOf(failure) : { status: 202, body: "" };
    const post = new OpenPost(asking.length, how);
    for (const one of asking) {
      if (one.kind === "request") state.waitUntil(this.calls.answer(one, post));
      if (one.kind === "unreadable") post.reply(one.id, errorMessage(one.id, one.fault));
    }
    if (!accepts.json) this.#open.begin(post);
    return post.response;
  }

  async #take(
    { method, params }: Message & { kind: "notification" },
    scopes: Post["scopes"],
  ): Promise<void> {
    switch (method) {
      case "notifications/initialized":
        return this.#parts.store.set({ ready: 1 });
      case "notifications/cancelled":
        return this.#open.cancel(params["requestId"]);
      case METHODS.roots:
        return this.#parts.state.waitUntil(this.calls.rootsChanged(scopes));
    }
  }

  /** Answers a GET with a stream; undefined if the session ends meanwhile. */
  async listen(lastEventId?: string): Promise<Response | Reply | undefined> {
    this.#parts.state.waitUntil(this.calls.lookAtTasks());
    try {
      return await this.#streams.listen(lastEventId);
    } catch (error) {
      return this.#parts.store.exists ? replyOf(error) : undefined;
    }
  }

  /** Notifies the client of lists that a new deployment has changed since the client could last see them. */
  async announceLists(lists: ListDigests): Promise<void> {
    const { store } = this.#parts;
    if (!store.exists) return;
    const seen = (await store.rows.text("lists")) as Partial<ListDigests> | undefined;
    for (const list of seen === undefined ? [] : changedLists(seen, lists)) {
      await this.#notify({ method: `notifications/${list}/list_changed` }, { lists });
    }
  }

  /** Sends change notifications; those of resources only if the client is subscribed. */
  async changed(changes: readonly Notification[]): Promise<void> {
    for (const { method, params = {}, servlet } of changes) {
      const { uri } = params;
      if (typeof uri === "string") {
        const { store, registry, scopesOf } = this.#parts;
        if (!store.isSubscribed(uri)) continue;
        const all = await registry();
        // Those of the newest request, and those that its key has by now.
        const granted = await Promise.all(
          [await store.scopes(), scopesOf(store.row.principal)].map((scopes) =>
            all.within(scopes).hears(uri, servlet),
          ),
        );
        if (granted.includes(false) || !store.exists) continue;
      }
      await this.#notify({ method, params });
    }
  }

  #notify(notification: Notification, texts?: Record<string, unknown>): Promise<void> {
    const message = JSON.stringify({ jsonrpc: "2.0", ...notification });
    return this.#streams.send(OWN, message, { isMinor: true, ...(texts && { texts }) });
  }

  /** Sends a ping on the session's own stream. */
  ping(): Promise<void> {
    const id = `${PING}${this.#parts.store.next("asks")}`;
    return this.#streams.send(OWN, JSON.stringify({ jsonrpc: "2.0", id, method: "ping" }));
  }

  /** Ends all calls and streams. */
  async end(): Promise<void> {
    await this.#open.end();
    this.#streams.end();
  }
}

const PING = "ping ";
/** True for the id of a ping of the server, whose answer has no content. */
const isPing = (id: RequestId | null) => String(id).startsWith(PING);

function replyOf(error: unknown, id: RequestId | null = null): Reply {
  const fault = report(error);
  const status = httpStatus(fault);
  return { status: status === 200 ? 400 : status, body: errorMessage(id, fault) };
}
