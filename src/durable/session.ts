import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { DurableObject } from "cloudflare:workers";
import { deploymentOf, namespaceOf } from "../env.ts";
import { httpStatus, report, type Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import { errorMessage, readable, type Message, type RequestId } from "../mcp/wire/message.ts";
import { ROOTS_CHANGED } from "../mcp/methods.ts";
import type { Reply } from "../mcp/wire/reply.ts";
import type { Introduced, Post } from "../mcp/wire/session.ts";
import { taskBytes, type Progress, type Tasks } from "../mcp/wire/tasks.ts";
import { callerKey, type Lists, type Notification, type Principal } from "../model.ts";
import { storageQuota } from "../quotas.ts";
import type { Bundle } from "../servlets/bundle.ts";
import { Registry } from "../servlets/registry.ts";
import { timeOf } from "./alarms.ts";
import type { Hub } from "./hub.ts";
import { SessionCalls } from "../mcp/legacy/session-calls.ts";
import { OpenPost } from "../mcp/legacy/open-post.ts";
import type { SessionObject } from "./session-object.ts";
import { SessionStore } from "./session-store.ts";
import { OWN, SessionStreams } from "./session-streams.ts";
import { tasksOf } from "./tasks.ts";
import { sealerOf, Unreadable, type Sealer } from "./vault.ts";

/**
 * One client's session. Its calls run here; one that has to wait for its client, or that lasts, goes on
 * in a task, which tells the session what it asks and how it ends. All that is on a stream is kept until
 * the client has had time to come back for it.
 */
export function sessionObject(bundle: Bundle) {
  // For all sessions of the isolate.
  let registry: Registry | undefined;
  let sealer: Sealer | undefined;
  let offered: ReturnType<typeof fingerprints> | undefined;

  return class Session extends DurableObject implements SessionObject {
    readonly #store: SessionStore;
    readonly #streams: SessionStreams;
    readonly #calls: SessionCalls;
    readonly #hub: () => DurableObjectStub<Hub>;

    constructor(state: DurableObjectState, env: Cloudflare.Env) {
      super(state, env);
      sealer ??= sealerOf(env);
      const tasks = tasksOf(env);
      const hubs = namespaceOf<Hub>(env, "HUBS");
      if (sealer === undefined || hubs === undefined || tasks === undefined) {
        throw new Error("sessions need the bindings HUBS, KEY_RING and TASKS");
      }
      this.#hub = () => hubs.getByName(this.#store.row.principal);
      this.#store = new SessionStore(state.storage, sealer);
      this.#streams = new SessionStreams(this.#store, state, (one) => this.#calls.areOn(one));
      this.#calls = new SessionCalls({
        id: state.id.toString(),
        store: this.#store,
        streams: this.#streams,
        registry: (registry ??= new Registry(bundle, deploymentOf(env))),
        tasks: (scopes) => {
          const { principal: name } = this.#store.row;
          return this.#counted(tasks({ name, ...(scopes && { scopes }) }));
        },
        hub: this.#hub,
        enlist: () => this.#enlist(),
      });
      state.waitUntil(this.#calls.recover());
      state.waitUntil(this.#announceLists().catch(report));
    }

    /** Tasks, each of which counts as stored for the session's caller. */
    #counted(tasks: Tasks): Tasks {
      return {
        ...tasks,
        create: async (call, start, id) => {
          const caller = callerKey(await this.#store.principal());
          await storageQuota(this.env)(caller, taskBytes(call, start));
          return tasks.create(call, start, id);
        },
      };
    }

    create(principal: Principal, client: Introduced): Promise<void> {
      return this.#store.create(principal, client, (offered ??= fingerprints(bundle)));
    }

    /** Tells the client which lists a new deployment has changed since it could last see them. */
    async #announceLists(): Promise<void> {
      if (!this.#store.exists) return;
      const lists = (offered ??= fingerprints(bundle));
      const seen = (await this.#store.rows.text("lists")) as Partial<typeof lists> | undefined;
      const changed = CHANGING.filter((kind) => seen !== undefined && seen[kind] !== lists[kind]);
      for (const kind of changed) {
        const message = { jsonrpc: "2.0", method: `notifications/${kind}/list_changed` };
        await this.#streams.send(OWN, JSON.stringify(message), { isMinor: true, texts: { lists } });
      }
    }

    async post(principal: string, post: Post) {
      if (!(await this.#isThereFor(principal))) return undefined;
      try {
        return await this.#answer(post);
      } catch (error) {
        if (this.#store.exists) throw error;
        return undefined; // It has ended meanwhile.
      }
    }

    async #answer({ messages, ...how }: Post) {
      const { isBatch, accepts, scopes } = how;
      this.#store.touch();
      const read = messages.map(readable);
      let failure: Fault | undefined;
      for (const message of read) {
        if (message.kind === "notification") await this.#notified(message, scopes);
        else if (message.kind === "response" && !isPing(message.id)) {
          failure = (await this.#calls.asks.take(message, scopes)) ?? failure;
        }
        if (message.kind === "unreadable" && !isBatch) return replyOf(message.fault, message.id);
      }
      // From here on nothing is awaited until each request is an open call, which the session's end ends.
      if (!this.#store.exists) return undefined;
      const asking = read.filter(({ kind }) => kind === "request" || kind === "unreadable");
      if (asking.length === 0) return failure ? replyOf(failure) : { status: 202, body: "" };
      const post = new OpenPost(asking.length, how);
      for (const one of asking) {
        if (one.kind === "request") this.ctx.waitUntil(this.#calls.answer(one, post));
        if (one.kind === "unreadable") post.reply(one.id, errorMessage(one.id, one.fault));
      }
      if (!accepts.json) this.#calls.begin(post);
      return post.response;
    }

    async #notified(
      { method, params }: Message & { kind: "notification" },
      scopes: Post["scopes"],
    ): Promise<void> {
      switch (method) {
        case "notifications/initialized":
          return this.#store.set({ ready: 1 });
        case "notifications/cancelled":
          return this.#calls.cancel(params["requestId"]);
        case ROOTS_CHANGED:
          return this.ctx.waitUntil(this.#calls.rootsChanged(scopes));
      }
    }

    async listen(principal: string, lastEventId?: string) {
      if (!(await this.#isThereFor(principal))) return undefined;
      await this.#enlist();
      try {
        return await this.#streams.listen(lastEventId);
      } catch (error) {
        return this.#store.exists ? replyOf(error) : undefined;
      }
    }

    async end(principal: string): Promise<true | undefined> {
      if (!this.#store.isOf(principal)) return undefined;
      await this.#hub().delist(this.ctx.id.toString());
      // Nothing is awaited behind this: what would begin meanwhile, nobody would end.
      await this.#calls.end();
      this.#streams.end();
      await this.#store.forget();
      return true;
    }

    /** Is it this principal's, and can it be read? One whose key is gone ends: its client begins another. */
    async #isThereFor(principal: string): Promise<boolean> {
      if (!this.#store.isOf(principal)) return false;
      try {
        await this.#store.client();
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error;
        report(error);
        await this.end(principal);
      }
      return this.#store.exists;
    }

    async notified(task: string, nth: number, notice: Notification): Promise<boolean> {
      return this.#hearing(() => this.#calls.notified(task, nth, notice));
    }

    async progressed(task: string, progress: Progress): Promise<boolean> {
      return this.#hearing(() => this.#calls.progressed(task, progress));
    }

    /** Runs a request of a task to this session; false if the session has ended or cannot be read. */
    async #hearing(work: () => Promise<boolean>): Promise<boolean> {
      if (!this.#store.exists) return false;
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error;
        report(error);
        // Not awaited: to end it is to ask the same task, which waits for this answer.
        this.ctx.waitUntil(this.end(this.#store.row.principal));
        return false;
      }
    }

    async changed(changes: Notification[]): Promise<boolean> {
      if (!this.#store.exists) return false;
      for (const { method, params = {} } of changes) {
        const { uri } = params;
        if (typeof uri === "string" && !this.#store.isSubscribed(uri)) continue;
        const message = JSON.stringify({ jsonrpc: "2.0", method, params });
        await this.#streams.send(OWN, message, { isMinor: true });
      }
      return true;
    }

    override async alarm(info?: AlarmInvocationInfo): Promise<void> {
      if (!this.#store.exists) return;
      const now = timeOf(info);
      const { used, principal } = this.#store.row;
      const { storage } = this.ctx;
      // A call that waits keeps its session, for as long as there may be such a call.
      const idleMs = limits.sessionIdleMs + (this.#calls.areOpen ? limits.taskMs : 0);
      const isLate = now >= used + idleMs + limits.sessionPingMs;
      if (now < used + idleMs) return storage.setAlarm(used + idleMs);
      if (isLate || !this.#streams.isOpen(OWN)) return void (await this.end(principal));
      // Its client is there, and may say so.
      await this.#streams.send(OWN, ping(this.#store.next("asks")));
      return storage.setAlarm(used + idleMs + limits.sessionPingMs);
    }

    /** Has the session told of changes, of whichever call. */
    async #enlist(): Promise<void> {
      const caller = callerKey(await this.#store.principal());
      await this.#hub().enlist(this.ctx.id.toString(), caller);
    }
  };
}

/** Lists whose changes clients are told of. */
const CHANGING = ["tools", "prompts", "resources"] as const;

/** A digest of each list as the bundle has it; a servlet that is asked at run time counts by its build. */
function fingerprints({ servlets }: Bundle): Record<(typeof CHANGING)[number], string> {
  const digest = (pick: (lists: Lists) => unknown) => {
    const all = servlets.map(({ name, manifest, lists, hash }) => [
      name,
      manifest,
      lists ? pick(lists) : hash,
    ]);
    return bytesToHex(sha256(utf8ToBytes(JSON.stringify(all))));
  };
  return {
    tools: digest(({ tools }) => tools),
    prompts: digest(({ prompts }) => prompts),
    resources: digest(({ resources, resourceTemplates }) => [resources, resourceTemplates]),
  };
}

const PING = "ping ";
const ping = (number: number) =>
  JSON.stringify({ jsonrpc: "2.0", id: `${PING}${number}`, method: "ping" });
/** True for the id of a ping of ours. A ping only needs an answer. */
const isPing = (id: RequestId | null) => String(id).startsWith(PING);

function replyOf(error: unknown, id: RequestId | null = null): Reply {
  const fault = report(error);
  const status = httpStatus(fault);
  return { status: status === 200 ? 400 : status, body: errorMessage(id, fault) };
}
