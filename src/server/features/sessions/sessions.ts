import { waitUntil } from "cloudflare:workers";
import { report } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import type { CallerQuota, Principal } from "../../kernel/core/model.ts";
import { isRecent } from "../../kernel/core/recent.ts";
import { retry } from "../../kernel/core/retry.ts";
import { stringBytes } from "../../kernel/core/text.ts";
import { runsOf } from "../../kernel/settings/env.ts";
import { copyFor } from "../../kernel/storage/copies.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import type { ListDigests } from "../../kernel/mcp/legacy/list-digests.ts";
import type { KnownSessions } from "./session-ends.ts";
import type {
  IntroducedClient,
  NamedSession,
  SessionDirectory,
  SessionOwner,
  SessionTicket,
} from "./session-object.ts";
import type { Session } from "./session.ts";
import { TicketSession } from "./ticket-session.ts";

interface SessionDependencies {
  sealer: Sealer;
  env: object;
  /** Digests of the lists of everything, or of a profile. */
  listDigests(profile?: string): ListDigests;
}

/** The first character of a session id that is a ticket: ids of objects are hexadecimal. */
const TICKET_MARK = "~";
/** Purpose for which tickets are sealed. */
const TICKET_PURPOSE = "session";
/** Maximum characters of a ticket: servers and proxies accept some 8 KB of headers. */
const MAX_TICKET_LENGTH = 2048;
/** Sessions with tickets that an isolate caches: some 2 KB each. */
const MAX_CACHED = 1000;
/** Maximum age of a session's facts before its record is read again, so that all isolates soon know of its end. */
const FACTS_MAX_AGE_MS = 1500;
/** How long an isolate collects facts before it records them in one transaction. */
const RECORD_DELAY_MS = 1000;
/** Ended sessions whose records fill a MiB, which is counted for the caller whose session fills it. */
const ENDED_PER_MIB = 10_000;
const HOUR = 3_600_000;

/**
 * The sessions of a Worker. The id of a new session is a ticket: it contains, sealed, all that calls need of the
 * session. Its object is created when something must be stored, such as a stream or a question.
 */
export class Sessions implements SessionDirectory {
  readonly #objects: DurableObjectNamespace<Session>;
  readonly #sealer: Sealer;
  readonly #env: object;
  /** True on a self-hosted server: its only isolate knows all ended sessions. */
  readonly #isAlone: boolean;
  readonly #listDigests: (profile?: string) => ListDigests;
  /** By ticket, the most recently used last. */
  readonly #cached = new Map<string, TicketSession>();
  /** Sessions with facts that are not recorded yet, by the name of their record. */
  readonly #unrecorded = new Map<string, { sessions: Set<TicketSession>; since: number }>();

  /** Number of sessions with tickets that have ended here. */
  #ended = 0;
  readonly #access = {
    object: ({ ticket }: TicketSession) =>
      this.#objects.get(this.#objects.idFromString(ticket.object)),
    record: (session: TicketSession) => this.#exchange(this.#recordOf(session), [session]),
    recordLater: (session: TicketSession) => this.#recordLater(session),
    countEnd: () => ++this.#ended % ENDED_PER_MIB === 0,
  };

  constructor(
    objects: DurableObjectNamespace<Session>,
    { sealer, env, listDigests }: SessionDependencies,
  ) {
    this.#objects = objects;
    this.#sealer = sealer;
    this.#env = env;
    this.#isAlone = runsOf(env) !== undefined;
    this.#listDigests = listDigests;
  }

  /** Returns the id of a new session. It cannot be guessed. */
  async begin(
    { name, address, profile }: Principal,
    client: IntroducedClient,
    countStored: CallerQuota["countStored"],
  ): Promise<string> {
    const object = this.#objects.newUniqueId();
    const principal = { name, ...(address && { address }), ...(profile && { profile }) };
    const begun = { principal, client, lists: this.#listDigests(profile) };
    const ticket: SessionTicket = { ...begun, object: object.toString(), created: Date.now() };
    const id = TICKET_MARK + (await this.#sealer.sealText(ticket, TICKET_PURPOSE));
    if (id.length <= MAX_TICKET_LENGTH) {
      this.#cache(id, new TicketSession(ticket, this.#access, false));
      return id;
    }
    await countStored(stringBytes(JSON.stringify(client)));
    await this.#objects.get(object).create(begun);
    return object.toString();
  }

  /**
   * The session with this id; undefined if it is another owner's, has ended, or was not begun by this deployment. Calls
   * `waits` before it asks a Durable Object.
   */
  async find(
    id: string,
    owner: SessionOwner,
    waits: () => void,
  ): Promise<NamedSession | undefined> {
    if (!id.startsWith(TICKET_MARK)) return this.#stored(id, owner);
    let session = this.#cached.get(id);
    const isNew = session === undefined;
    if (session === undefined) {
      const ticket = await this.#ticketIn(id);
      if (ticket === undefined) return undefined;
      // Another isolate has begun the session; its client has most likely initialized.
      session = new TicketSession(ticket, this.#access, true);
    }
    if (!session.isOf(owner)) return undefined;
    if (session.hasExpired) return this.#stored(session.ticket.object, owner);
    if (isNew || !(this.#isAlone || isRecent(session.learnedAt, FACTS_MAX_AGE_MS))) {
      waits();
      await this.#access.record(session);
      // Another request may have found it meanwhile. Both must share one object, and so its facts.
      session = this.#cached.get(id) ?? session;
    }
    this.#cache(id, session);
    return session.facts.hasEnded ? undefined : session;
  }

  /** The id under which servlets keep state for this session; undefined for a ticket of another deployment. */
  async stateId(id: string): Promise<string | undefined> {
    return id.startsWith(TICKET_MARK) ? (await this.#ticketIn(id))?.object : id;
  }

  async #ticketIn(id: string): Promise<SessionTicket | undefined> {
    const ticket = await this.#sealer.openText(id.slice(TICKET_MARK.length), TICKET_PURPOSE);
    return ticket as SessionTicket | undefined;
  }

  /** The session with this Durable Object id; undefined for an id that this deployment cannot have made. */
  #stored(id: string, owner: SessionOwner): NamedSession | undefined {
    let object: DurableObjectStub<Session>;
    try {
      object = this.#objects.get(this.#objects.idFromString(id));
    } catch {
      return undefined;
    }
    return {
      post: (post) => object.post(owner, post),
      listen: (lastEventId, scopes) => object.listen(owner, lastEventId, scopes),
      end: () => object.end(owner),
    };
  }

  #cache(id: string, session: TicketSession): void {
    this.#cached.delete(id);
    this.#cached.set(id, session);
    if (this.#cached.size <= MAX_CACHED) return;
    const [oldest] = this.#cached.keys();
    this.#cached.delete(oldest!);
  }

  /** The name of the object that has the record of this session. */
  #recordOf({ ticket: { created, object } }: TicketSession): string {
    return copyFor(`tickets ${Math.floor(created / HOUR)}`, object, this.#env);
  }

  /** Records a session's facts soon, together with those of other sessions. */
  #recordLater(session: TicketSession): void {
    const name = this.#recordOf(session);
    const now = Date.now();
    const { sessions, since } = this.#unrecorded.get(name) ?? { sessions: new Set(), since: 0 };
    sessions.add(session);
    // Otherwise the request that was to record them may have been stopped.
    if (isRecent(since, 2 * RECORD_DELAY_MS)) return;
    this.#unrecorded.set(name, { sessions, since: now });
    const exchange = () => this.#exchange(name, []);
    waitUntil(scheduler.wait(RECORD_DELAY_MS).then(exchange).catch(report));
  }

  async #exchange(name: string, asked: readonly TicketSession[]): Promise<void> {
    const { sessions } = this.#unrecorded.get(name) ?? {};
    const all = [...new Set([...asked, ...(sessions ?? [])])];
    if (all.length === 0) return;
    this.#unrecorded.delete(name);
    // By then, all tickets of this hour have expired.
    const until = all[0]!.ticket.created + HOUR + 2 * limits.sessionIdleMs;
    const learned = Object.fromEntries(all.map(({ ticket, facts }) => [ticket.object, facts]));
    let known: KnownSessions;
    try {
      known = await retry(async () => this.#objects.getByName(name).exchange(learned, until));
    } catch (error) {
      for (const session of sessions ?? []) this.#recordLater(session);
      throw error;
    }
    // A failing object of one session must not affect the others.
    const learn = async (session: TicketSession) => {
      const learning = session.learn(known[session.ticket.object] ?? {});
      await (asked.includes(session) ? learning : learning.catch(report));
    };
    await Promise.all(all.map(learn));
  }
}
