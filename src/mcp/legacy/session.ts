import { DurableObject } from "cloudflare:workers";
import type { Env } from "../../bindings.ts";
import { report } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { SessionProtocol } from "./session-protocol.ts";
import { callerKey } from "../../core/callers.ts";
import type { Notification, Principal } from "../../core/model.ts";
import { beginningOf, printable } from "../../core/text.ts";
import type { SealingServer } from "../../server.ts";
import { hubNameOf } from "../../calls/changes.ts";
import type { Hub } from "../hub.ts";
import { listerOf } from "../../calls/listed-calls.ts";
import type { Profiles } from "../../pages/profiles.ts";
import type { Introduced, Post } from "./session-object.ts";
import { SessionStore } from "./session-store.ts";
import type { TaskProgress } from "../../calls/task-object.ts";
import { Unreadable } from "../../storage/vault.ts";

/**
 * One client's session. Its calls run here; one that has to wait for its client, or takes long, continues in a
 * task, which reports its asks and its end to the session. Messages are stored until the client has had time to
 * reconnect for them. For any `principal` but its owner the session does not exist, and its methods return undefined. The
 * caller reads the body of a response to its end, or cancels it.
 */
export class Session extends DurableObject<Env> {
  readonly #server: SealingServer;
  readonly #store: SessionStore;
  readonly #protocol: SessionProtocol;
  readonly #hub: () => DurableObjectStub<Hub>;
  /** Settles when the console has received the last update. */
  #told = Promise.resolve();

  constructor(state: DurableObjectState, env: Env, server: SealingServer) {
    super(state, env);
    const { serving, sealer, tasks } = server;
    const { HUBS: hubs } = env;
    this.#server = server;
    if (hubs === undefined || tasks === undefined) {
      throw new Error(
        "Sessions need the bindings HUBS and TASKS. Add these Durable Objects to wrangler.toml.",
      );
    }
    this.#hub = () => hubs.getByName(this.#store.row.hub);
    this.#store = new SessionStore(state.storage, sealer);
    this.#protocol = new SessionProtocol({
      state,
      store: this.#store,
      registry: serving.registry.bind(serving),
      tasks: (scopes) => {
        const { principal: name } = this.#store.row;
        return tasks({ name, ...(scopes && { scopes }) }, async (bytes) => {
          const caller = callerKey(await this.#store.principal());
          await server.countStored(caller, bytes);
        });
      },
      hub: this.#hub,
      scopesOf: (name) => serving.keyScopes.get(name),
      enlist: () => this.#enlist(),
    });
    state.waitUntil(this.#protocol.calls.recover());
    if (this.#store.exists) {
      state.waitUntil(this.#protocol.announceLists(server.listDigests()).catch(report));
    }
  }

  async create(principal: Principal, client: Introduced): Promise<void> {
    const hub = hubNameOf(principal, this.env);
    await this.#store.create(principal, client, { lists: this.#server.listDigests(), hub });
    const { name = "", version = "" } = client;
    const [id, created] = [this.ctx.id.toString(), Date.now()];
    const until = created + limits.taskMs;
    const said = beginningOf(printable(`${name} ${version}`).trim(), limits.pageCharacters);
    const times = { created, updated: created, until };
    this.#inConsole(principal, (profiles, by) =>
      profiles.list(by, { kind: "session", id, name: said, status: "working", ...times }),
    );
  }

  /** Tells the console of the session's person, if there is one. */
  #inConsole(
    principal: Principal,
    work: (profiles: Profiles, lister: string) => Promise<void>,
  ): void {
    const { profiles } = this.#server.serving;
    const lister = listerOf(principal);
    if (!profiles || lister === undefined) return;
    // In order: a session that is listed after its end would stay in the list.
    this.#told = this.#told.then(() => work(profiles, lister));
    this.ctx.waitUntil(this.#told);
  }

  async post(principal: string, post: Post) {
    if (!(await this.#isThereFor(principal))) return undefined;
    await this.#store.sees(post.scopes);
    if (!this.#store.exists) return undefined;
    try {
      return await this.#protocol.post(post);
    } catch (error) {
      if (this.#store.exists) throw error;
      return undefined; // The session has ended meanwhile.
    }
  }

  /** Opens the session's own stream, or the one of the event with this id. */
  async listen(principal: string, lastEventId?: string, scopes?: readonly string[]) {
    if (!(await this.#isThereFor(principal))) return undefined;
    await this.#store.sees(scopes);
    if (!this.#store.exists) return undefined;
    await this.#enlist();
    return this.#protocol.listen(lastEventId);
  }

  async end(principal: string): Promise<true | undefined> {
    if (!this.#store.isOf(principal)) return undefined;
    const id = this.ctx.id.toString();
    await this.#hub().delist(id);
    const owner = await this.#store.principal().catch(() => ({ name: principal }));
    this.#inConsole(owner, (profiles, by) => profiles.unlist(by, id));
    // Nothing is awaited after this: a call that began meanwhile would never be ended.
    await this.#protocol.end();
    await this.#store.forget();
    return true;
  }

  /** True for this principal's readable session. Ends one that cannot be decrypted: its client then begins another. */
  async #isThereFor(principal: string): Promise<boolean> {
    if (!this.#store.isOf(principal)) return false;
    try {
      await this.#store.client();
      await this.#store.principal();
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      report(error);
      await this.end(principal);
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
      // Not awaited: ending it calls the same task, which waits for this answer.
      this.ctx.waitUntil(this.end(this.#store.row.principal));
      return false;
    }
  }

  /** Receives change notifications; false if the session has ended. */
  async changed(changes: Notification[]): Promise<boolean> {
    if (!this.#store.exists) return false;
    await this.#protocol.changed(changes);
    return true;
  }

  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return this.#store.alarm.ring(info, (now) => this.#onAlarm(now));
  }

  async #onAlarm(now: number): Promise<void> {
    if (!this.#store.exists) return;
    const { used, principal } = this.#store.row;
    const { alarm } = this.#store;
    // A waiting call keeps its session alive for as long as a call may wait.
    const idleMs = limits.sessionIdleMs + (this.#protocol.hasOpenCalls ? limits.taskMs : 0);
    const isLate = now >= used + idleMs + limits.sessionPingMs;
    if (now < used + idleMs) return alarm.set(used + idleMs);
    if (isLate || !this.#protocol.isListening) return void (await this.end(principal));
    await this.#protocol.ping(); // Its client is connected, and an answer counts as use.
    return alarm.set(used + idleMs + limits.sessionPingMs);
  }

  /** Subscribes the session to change notifications, from any call. */
  async #enlist(): Promise<void> {
    const caller = callerKey(await this.#store.principal());
    await this.#hub().enlist(this.ctx.id.toString(), caller);
  }
}
