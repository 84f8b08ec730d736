import { waitUntil } from "cloudflare:workers";
import { report } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { CallerQuota, Principal } from "../../core/model.ts";
import { isRecent } from "../../core/recent.ts";
import { retry } from "../../core/retry.ts";
import { stringBytes } from "../../core/text.ts";
import { runsOf } from "../../settings/env.ts";
import { copyFor } from "../../storage/copies.ts";
import type { Sealer } from "../../storage/vault.ts";
import type { ListDigests } from "./list-digests.ts";
import type { KnownSessions } from "./session-ends.ts";
import type { Introduced, SessionOwner } from "./session-object.ts";
import type { Session } from "./session.ts";
import { TicketSession, type NamedSession, type SessionTicket } from "./ticket-session.ts";

interface SessionDependencies {
  sealer: Sealer;
  env: object;
  /** Digests of the lists of everything, or of a profile. */
  listDigests(profile?: string): ListDigests;
}

/** The first character of a session id that is a ticket: ids of objects are hexadecimal. */
const TICKET_MARK = "~";
/** The purpose that a sealed ticket is bound to. */
const PLACE = "session";
/** Characters of the longest ticket: servers and proxies accept some 8 KB of headers. */
const TICKET_CHARACTERS = 2048;
/** Sessions with tickets that an isolate remembers: some 2 KB each. */
const REMEMBERED = 1000;
/** How old knowledge of a session may be before its record is read again: ended sessions are unknown everywhere soon. */
const KNOWN_MS = 1500;
/** How long an isolate collects what it has learned before it is recorded: one transaction for all of it. */
const COLLECTED_MS = 1000;
/** Ended sessions whose record fills a MiB: the caller whose session fills it pays for all of them. */
const ENDED_IN_PART = 10_000;
const HOUR = 3_600_000;

/**
 * The sessions of a Worker. The id of a new one is a ticket: what calls need to know of it, sealed. Its object is made when
 * something must be kept, such as a stream or a question.
 */
export class Sessions {
  readonly #objects: DurableObjectNamespace<Session>;
  readonly #sealer: Sealer;
  readonly #env: object;
  /** True on a machine of one's own: its one isolate knows what it has learned. */
  readonly #isAlone: boolean;
  readonly #listDigests: (profile?: string) => ListDigests;
  /** By ticket, those that were used last at the end. */
  readonly #remembered = new Map<string, TicketSession>();
  /** By the name of their record: sessions of which there is something to record. */
  readonly #unrecorded = new Map<string, { sessions: Set<TicketSession>; since: number }>();

  /** How many sessions with tickets have ended here. */
  #ended = 0;
  readonly #surroundings = {
    object: ({ ticket }: TicketSession) =>
      this.#objects.get(this.#objects.idFromString(ticket.object)),
    record: (session: TicketSession) => this.#exchange(this.#recordOf(session), [session]),
    recordLater: (session: TicketSession) => this.#recordLater(session),
    fillsPart: () => ++this.#ended % ENDED_IN_PART === 0,
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
    client: Introduced,
    countStored: CallerQuota["countStored"],
  ): Promise<string> {
    const object = this.#objects.newUniqueId();
    const principal = { name, ...(address && { address }), ...(profile && { profile }) };
    const begun = { principal, client, lists: this.#listDigests(profile) };
    const ticket: SessionTicket = { ...begun, object: object.toString(), created: Date.now() };
    const id = TICKET_MARK + (await this.#sealer.sealText(ticket, PLACE));
    if (id.length <= TICKET_CHARACTERS) {
      this.#remember(id, new TicketSession(ticket, this.#surroundings, false));
      return id;
    }
    await countStored(stringBytes(JSON.stringify(client)));
    await this.#objects.get(object).create(begun);
    return object.toString();
  }

  /**
   * The session with this id; undefined for one that is not this owner's, has ended or was not begun here. `waits` is called
   * before it asks an object.
   */
  async find(
    id: string,
    owner: SessionOwner,
    waits: () => void,
  ): Promise<NamedSession | undefined> {
    if (!id.startsWith(TICKET_MARK)) return this.#stored(id, owner);
    let session = this.#remembered.get(id);
    const isNew = session === undefined;
    if (session === undefined) {
      const ticket = await this.#ticketIn(id);
      if (ticket === undefined) return undefined;
      // Another isolate has begun it; its client has most likely initialized.
      session = new TicketSession(ticket, this.#surroundings, true);
    }
    if (!session.isOf(owner)) return undefined;
    if (session.hasExpired) return this.#stored(session.ticket.object, owner);
    if (isNew || !(this.#isAlone || isRecent(session.learnedAt, KNOWN_MS))) {
      waits();
      await this.#surroundings.record(session);
      // Another request may have found it meanwhile: what either learns later, both must know.
      session = this.#remembered.get(id) ?? session;
    }
    this.#remember(id, session);
    return session.facts.hasEnded ? undefined : session;
  }

  /** The id under which servlets keep state for this session; undefined for a ticket that was not made here. */
  async stateId(id: string): Promise<string | undefined> {
    return id.startsWith(TICKET_MARK) ? (await this.#ticketIn(id))?.object : id;
  }

  async #ticketIn(id: string): Promise<SessionTicket | undefined> {
    const ticket = await this.#sealer.openText(id.slice(TICKET_MARK.length), PLACE);
    return ticket as SessionTicket | undefined;
  }

  /** The session of this object; undefined for an id that this deployment cannot have made. */
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

  #remember(id: string, session: TicketSession): void {
    this.#remembered.delete(id);
    this.#remembered.set(id, session);
    if (this.#remembered.size <= REMEMBERED) return;
    const [oldest] = this.#remembered.keys();
    this.#remembered.delete(oldest!);
  }

  /** The name of the object that has the record of this session. */
  #recordOf({ ticket: { created, object } }: TicketSession): string {
    return copyFor(`tickets ${Math.floor(created / HOUR)}`, object, this.#env);
  }

  /** Records the facts about a session within a second, in one batch with those of other sessions. */
  #recordLater(session: TicketSession): void {
    const name = this.#recordOf(session);
    const now = Date.now();
    const { sessions, since } = this.#unrecorded.get(name) ?? { sessions: new Set(), since: 0 };
    sessions.add(session);
    // A request that should have recorded them may be gone.
    if (isRecent(since, 2 * COLLECTED_MS)) return;
    this.#unrecorded.set(name, { sessions, since: now });
    const exchange = () => this.#exchange(name, []);
    waitUntil(scheduler.wait(COLLECTED_MS).then(exchange).catch(report));
  }

  async #exchange(name: string, asked: readonly TicketSession[]): Promise<void> {
    const { sessions } = this.#unrecorded.get(name) ?? {};
    const all = [...new Set([...asked, ...(sessions ?? [])])];
    if (all.length === 0) return;
    this.#unrecorded.delete(name);
    // When all tickets of this hour have expired.
    const until = all[0]!.ticket.created + HOUR + 2 * limits.sessionIdleMs;
    const learned = Object.fromEntries(all.map(({ ticket, facts }) => [ticket.object, facts]));
    let known: KnownSessions;
    try {
      const record = this.#objects.getByName(name);
      known = await retry(async () => record.exchange(learned, until));
    } catch (error) {
      for (const session of sessions ?? []) this.#recordLater(session);
      throw error;
    }
    // A session whose object fails is no matter of the others.
    const learn = async (session: TicketSession) => {
      const learning = session.learn(known[session.ticket.object] ?? {});
      await (asked.includes(session) ? learning : learning.catch(report));
    };
    await Promise.all(all.map(learn));
  }
}
