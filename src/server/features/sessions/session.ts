import type { Sealer } from "../../kernel/storage/vault.ts";
import type { TasksOf } from "../../kernel/calls/task-object.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { DurableObject } from "cloudflare:workers";
import { report, type Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import type { CallerQuota, Notification, Principal } from "../../kernel/core/model.ts";
import { beginningOf, printable, stringBytes } from "../../kernel/core/text.ts";
import { hubNameOf } from "../../kernel/calls/changes.ts";
import type { Hub, HubsEnv } from "./hub.ts";
import { listerOf, type ListedCall } from "../../kernel/calls/listed-calls.ts";
import { SessionEnds, type KnownSessions } from "./session-ends.ts";
import type { NewSession, Post, SessionOwner } from "./session-object.ts";
import type { Methods } from "../../kernel/mcp/method.ts";
import { SessionStore, type SessionParts } from "./session-store.ts";
import { afterSending } from "../../kernel/core/unknown-outcome.ts";
import type { TaskProgress } from "../../kernel/calls/task-object.ts";
import { Unreadable } from "../../kernel/storage/vault.ts";
import { METHODS } from "../../kernel/calls/call-ref.ts";
import {
  errorMessage,
  idOf,
  readable,
  type Message,
  type RequestId,
} from "../../kernel/mcp/wire/message.ts";
import { failedReply, type Reply } from "../../kernel/mcp/wire/reply.ts";
import { changedLists, type ListDigests } from "../../kernel/mcp/legacy/list-digests.ts";
import { OpenCalls } from "./open-calls.ts";
import { OpenPost } from "./open-post.ts";
import { SessionCalls } from "./session-calls.ts";
import { OWN, SessionStreams } from "./session-streams.ts";
import { hears } from "../../kernel/servlets/hearing.ts";

/** The initial state of the object of a session with a ticket. */
type InitialState = NewSession & { isReady: boolean };

/** The parts of the server that a session uses. */
interface SessionServer {
  readonly methods: Methods;
  readonly sealer: Sealer;
  readonly persons?: SessionLists;
  readonly keyScopes: ReadonlyMap<string, readonly string[] | undefined>;
  registry(): Promise<Registry>;
  readonly tasks?: TasksOf;
  countStored(caller: string | undefined, bytes?: number): Promise<void>;
  /** Digests of the lists of the bundle, or of a profile. */
  listDigests(profile?: string): ListDigests;
}

/** The lists of people's calls and sessions. Its methods never throw. */
interface SessionLists {
  list(principal: string, listed: ListedCall): Promise<void>;
  prolong(principal: string, id: string, until: number): Promise<void>;
  unlist(principal: string, id: string): Promise<void>;
}

/**
 * One client's session. Its calls run here; a call that has to wait for its client, or takes long, continues in a
 * task, which reports its asks and its end to the session. Messages are stored until the client has had time to
 * reconnect for them. For any `principal` but its owner its methods return undefined, as if it did not exist. The
 * caller must read the body of a response to its end or cancel it.
 */
export class Session extends DurableObject<HubsEnv> {
  readonly #server: SessionServer;
  readonly #store: SessionStore;
  readonly #protocol: SessionProtocol;
  readonly #hub: () => DurableObjectStub<Hub>;
  /** Settles when the console has received the last update. */
  #told = Promise.resolve();
  #creating: Promise<void> | undefined;
  /** True once the session has ended: a late request must not create it again. */
  #hasEnded = false;
  /** Present only in an object with the record of other sessions. */
  #ends: SessionEnds | undefined;

  constructor(state: DurableObjectState, env: HubsEnv, server: SessionServer) {
    super(state, env);
    const { sealer, tasks } = server;
    const { HUBS: hubs } = env;
    this.#server = server;
    if (hubs === undefined || tasks === undefined) {
      throw new Error(
        "Sessions need the bindings HUBS and TASKS. Add these Durable Objects to wrangler.toml.",
      );
    }
    this.#hub = () => hubs.getByName(this.#store.row.hub);
    this.#store = new SessionStore(state.storage, sealer);
    const countStored = async (bytes?: number) =>
      server.countStored(callerKey(await this.#store.principal()), bytes);
    this.#protocol = new SessionProtocol({
      state,
      store: this.#store,
      registry: () => server.registry(),
      methods: server.methods,
      tasks: (scopes) => tasks({ ...this.#store.owner, ...(scopes && { scopes }) }, countStored),
      countStored,
      hub: this.#hub,
      scopesOf: (name) => server.keyScopes.get(name),
      enlist: () => this.#enlist(),
    });
    state.waitUntil(this.#protocol.calls.recover());
    if (this.#store.exists) {
      const lists = server.listDigests(this.#store.owner.profile);
      state.waitUntil(this.#protocol.announceLists(lists).catch(report));
    }
  }

  async create(begun: NewSession): Promise<void> {
    await this.#create(begun, false);
  }

  async #create(begun: NewSession, isReady: boolean): Promise<void> {
    const { principal, client } = begun;
    await this.#store.create(begun, { isReady, hub: hubNameOf(principal, this.env) });
    const { name = "", version = "" } = client;
    const [id, created] = [this.ctx.id.toString(), Date.now()];
    const until = created + limits.taskMs;
    const said = beginningOf(printable(`${name} ${version}`).trim(), limits.pageCharacters);
    const times = { created, updated: created, until };
    this.#inConsole(principal, (persons, by) =>
      persons.list(by, { kind: "session", id, name: said, status: "working", ...times }),
    );
  }

  /**
   * Creates the session of a ticket unless it exists. If its caller may store no more, returns an error reply, or the response
   * of a call that has ended.
   */
  async #createOnce(
    { isReady, ...begun }: InitialState,
    { messages = [], begun: call }: Partial<Pick<Post, "messages" | "begun">> = {},
  ): Promise<Reply | undefined> {
    if (this.#hasEnded) return undefined;
    try {
      if (!this.#store.exists) {
        this.#creating ??= this.#begin(begun, isReady).finally(() => (this.#creating = undefined));
        await this.#creating;
      }
    } catch (error) {
      // The call has ended: its result is returned even if its notifications cannot be sent.
      if (call && "reply" in call) return { status: 200, body: call.reply };
      return replyOf(afterSending(call ?? {}, error), idOf(messages[0]));
    }
    if (isReady && this.#store.exists && this.#store.row.ready === 0) this.#store.set({ ready: 1 });
    return undefined;
  }

  async #begin(begun: NewSession, isReady: boolean): Promise<void> {
    const { principal, client } = begun;
    await this.#server.countStored(callerKey(principal), stringBytes(JSON.stringify(client)));
    await this.#create(begun, isReady);
    const lists = this.#server.listDigests(principal.profile);
    this.ctx.waitUntil(this.#protocol.announceLists(lists).catch(report));
  }

  /** As `SessionEnds.exchange`; the record is deleted at `until` (Unix ms). */
  async exchange(learned: KnownSessions, until: number): Promise<KnownSessions> {
    this.#ends ??= new SessionEnds(this.ctx.storage.sql);
    const known = this.#ends.exchange(learned);
    if ((await this.ctx.storage.getAlarm()) === null) await this.#store.alarm.set(until);
    return known;
  }

  /** Updates the console of the session's person, if any. */
  #inConsole(
    principal: Principal,
    work: (persons: SessionLists, lister: string) => Promise<void>,
  ): void {
    const { persons } = this.#server;
    const lister = listerOf(principal);
    if (!persons || lister === undefined) return;
    // In order: a session that is listed after its end would stay in the list.
    this.#told = this.#told.then(() => work(persons, lister));
    this.ctx.waitUntil(this.#told);
  }

  /** Answers a POST. With `initial`, the session is created if it does not exist. */
  async post(owner: SessionOwner, post: Post, initial?: InitialState) {
    const refused = initial && (await this.#createOnce(initial, post));
    if (refused !== undefined) return refused;
    if (!(await this.#isThereFor(owner))) return undefined;
    await this.#store.sees(post.scopes);
    if (!this.#store.exists) return undefined;
    try {
      return await this.#protocol.post(post);
    } catch (error) {
      if (this.#store.exists) throw error;
      return undefined; // The session has ended meanwhile.
    }
  }

  /** Records a request with these scopes that the Worker answers itself. */
  async recordUse(owner: SessionOwner, scopes?: readonly string[]): Promise<void> {
    if (!(await this.#isThereFor(owner))) return;
    this.#store.touch();
    await this.#store.sees(scopes);
  }

  /** Opens the session's own stream, or the stream of the event with this id. */
  async listen(
    owner: SessionOwner,
    lastEventId?: string,
    scopes?: readonly string[],
    initial?: InitialState,
  ) {
    const refused = initial && (await this.#createOnce(initial));
    if (refused !== undefined) return refused;
    if (!(await this.#isThereFor(owner))) return undefined;
    await this.#store.sees(scopes);
    if (!this.#store.exists) return undefined;
    await this.#enlist();
    return this.#protocol.listen(lastEventId);
  }

  async end(owner: SessionOwner): Promise<true | undefined> {
    if (!this.#store.exists) this.#hasEnded = true;
    if (!this.#store.isOf(owner)) return undefined;
    const id = this.ctx.id.toString();
    await this.#hub().delist(id);
    const principal = await this.#store.principal().catch(() => owner);
    this.#inConsole(principal, (persons, by) => persons.unlist(by, id));
    this.#hasEnded = true;
    await this.#protocol.end();
    await this.#store.forget();
    return true;
  }

  /** True for this owner's readable session. Ends a session that cannot be decrypted: its client begins anew. */
  async #isThereFor(owner: SessionOwner): Promise<boolean> {
    if (!this.#store.isOf(owner)) return false;
    try {
      await this.#store.client();
      await this.#store.principal();
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      report(error);
      await this.end(owner);
    }
    return this.#store.exists;
  }

  /** Receives notification number `nth` of a task's call; false if no call waits for the task. */
  async notified(task: string, nth: number, notice: Notification): Promise<boolean> {
    return this.#hearing(() => this.#protocol.calls.notified(task, nth, notice));
  }

  /** Receives the progress of a task; false if neither a call nor the client follows it. */
  async progressed(task: string, progress: TaskProgress): Promise<boolean> {
    return this.#hearing(() => this.#protocol.calls.progressed(task, progress));
  }

  /** Runs a request of a task to this session; false if the session has ended or cannot be read. */
  async #hearing(work: () => Promise<boolean>): Promise<boolean> {
    if (!this.#store.exists) return false;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      report(error);
      // Not awaited: ending the session calls the same task, which waits for this answer.
      this.ctx.waitUntil(this.end(this.#store.owner));
      return false;
    }
  }

  /** Receives change notifications; false if the session has ended. */
  async changed(changes: Notification[]): Promise<boolean> {
    if (!this.#store.exists) return false;
    await this.#protocol.changed(changes);
    return true;
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    if (SessionEnds.isIn(this.ctx.storage.sql)) {
      this.#ends = undefined;
      return this.#store.forget();
    }
    return this.#store.alarm.ring(info, (now) => this.#onAlarm(now));
  }

  async #onAlarm(now: number): Promise<void> {
    if (!this.#store.exists) return;
    const { used } = this.#store.row;
    const { alarm } = this.#store;
    // A waiting call keeps its session alive for as long as a call may wait.
    const idleMs = limits.sessionIdleMs + (this.#protocol.hasOpenCalls ? limits.taskMs : 0);
    const isLate = now >= used + idleMs + limits.sessionPingMs;
    const { owner } = this.#store;
    if (now < used + idleMs) {
      const principal = await this.#store.principal().catch(() => owner);
      // The expiry until the next alarm prolongs it.
      const until = used + idleMs + limits.sessionIdleMs;
      this.#inConsole(principal, (persons, by) =>
        persons.prolong(by, this.ctx.id.toString(), until),
      );
      return alarm.set(used + idleMs);
    }
    if (isLate || !this.#protocol.isListening) {
      // The platform retries a failed alarm only for some minutes.
      const retryLater = (error: unknown) => {
        report(error);
        return alarm.set(now + limits.sessionPingMs);
      };
      return void (await this.end(owner).catch(retryLater));
    }
    await this.#protocol.ping(); // The client is connected, and its answer counts as use.
    return alarm.set(used + idleMs + limits.sessionPingMs);
  }

  /** Subscribes the session to change notifications, from any call. */
  async #enlist(): Promise<void> {
    const caller = callerKey(await this.#store.principal());
    await this.#hub().enlist(this.ctx.id.toString(), caller);
  }
}

interface SessionDependencies extends Omit<SessionParts, "awaitTask"> {
  methods: Methods;
  /** State of the session's Durable Object. */
  state: DurableObjectState;
  hub: () => DurableObjectStub<Hub>;
  /** Counts stored bytes against the caller's quota. */
  countStored: CallerQuota["countStored"];
  /** The configured scopes of the API key with this name; undefined if they are not narrowed. */
  scopesOf(principal: string): readonly string[] | undefined;
}

/**
 * The protocol of one session: handles the client's messages and sends the server's.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
class SessionProtocol {
  readonly #parts: SessionDependencies;
  readonly #streams: SessionStreams;
  readonly #open: OpenCalls;
  readonly calls: SessionCalls;

  constructor(parts: SessionDependencies) {
    const { state, store } = parts;
    this.#parts = parts;
    this.#streams = new SessionStreams(store, state, {
      goesOn: (stream) => this.#open.areOn(stream),
      countStored: parts.countStored,
    });
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
  async post({ messages, begun, ...how }: Post): Promise<Response | Reply | undefined> {
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
    // No await before each request is an open call, so that the end of the session ends it.
    if (!store.exists) return undefined;
    const asking = read.filter(({ kind }) => kind === "request" || kind === "unreadable");
    if (asking.length === 0) return failure ? replyOf(failure) : { status: 202, body: "" };
    const post = new OpenPost(asking.length, how);
    for (const one of asking) {
      if (one.kind === "request") state.waitUntil(this.calls.answer(one, post, begun));
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
      case "notifications/cancelled": {
        const cancel = () => this.#open.cancel(params["requestId"]);
        // Clients cancel once.
        const insist = () => this.#parts.state.waitUntil(this.#parts.store.insist(cancel));
        return cancel().catch(insist);
      }
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
    const { store, registry, scopesOf } = this.#parts;
    for (const { method, params = {}, servlet } of changes) {
      // The session may have ended since the last change.
      if (!store.exists) return;
      const { uri } = params;
      if (typeof uri === "string") {
        if (!store.isSubscribed(uri)) continue;
        const all = await registry();
        // The scopes of the newest request, and the current ones of its API key.
        const granted = await Promise.all(
          [await store.scopes(), scopesOf(store.row.principal)].map((scopes) =>
            hears(uri, all.within({ ...store.owner, ...(scopes && { scopes }) }), servlet),
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
  const reply = failedReply(report(error), id);
  return reply.status === 200 ? { ...reply, status: 400 } : reply;
}
