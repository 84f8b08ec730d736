import { limits } from "../../core/limits.ts";
import type { CallerQuota, Principal } from "../../core/model.ts";
import { isRecent } from "../../core/recent.ts";
import type { RequestId } from "../wire/message.ts";
import { demandRoom } from "./session-methods.ts";
import type { SessionFacts } from "./session-ends.ts";
import type { Introduced, NewSession, Post, SessionOwner } from "./session-object.ts";
import type { Session } from "./session.ts";

/** A session that a request names. Its methods return undefined once it has ended. */
export interface NamedSession {
  /** The content of its id; absent if the id is not a ticket. */
  readonly ticket?: SessionTicket;
  /** Answers a POST in the session's object. */
  post(post: Post): ReturnType<Session["post"]>;
  listen(lastEventId?: string, scopes?: readonly string[]): ReturnType<Session["listen"]>;
  /** `countStored` counts for its caller what is stored of ended sessions. */
  end(countStored: CallerQuota["countStored"]): Promise<true | undefined>;
}

/** The content of a session id, which clients see sealed. */
export interface SessionTicket extends NewSession {
  /** Id of the object that the session has once something must be kept. */
  object: string;
  /** Unix ms. */
  created: number;
}

/** A call of a session that runs in this isolate. */
export interface TicketCall extends Disposable {
  readonly request: RequestId;
  /** True once the client has cancelled it, or ended its session. */
  readonly isUnwanted: boolean;
  /** Aborts when it is unwanted, or its client has left long ago. Called by calls that begin to wait. */
  signal(): AbortSignal;
}

interface Surroundings {
  /** Its object, for the current request. */
  object(session: TicketSession): DurableObjectStub<Session>;
  /** Records the facts about a session, and updates them with those of other isolates. */
  record(session: TicketSession): Promise<void>;
  /** The same soon, together with other sessions. */
  recordLater(session: TicketSession): void;
  /** True if the record of one more ended session fills a MiB. */
  fillsPart(): boolean;
}

/** How often an object hears that its session is used: its client's silence decides when it is asked to come back. */
const HEARD_MS = 5000;

/** A session whose id is a ticket, as one isolate knows it. */
export class TicketSession implements NamedSession {
  readonly ticket: SessionTicket;
  readonly facts: SessionFacts = { hasEnded: false, hasObject: false };
  /** When the facts were read from their record, in Unix ms. */
  learnedAt = Date.now();
  /** True once its client has sent `notifications/initialized`. */
  isReady: boolean;
  readonly #surroundings: Surroundings;
  readonly #calls = new Set<OpenCall>();
  /** When its object last heard of a use, in Unix ms. */
  #told = 0;
  #scopes: string | undefined;

  constructor(ticket: SessionTicket, surroundings: Surroundings, isReady: boolean) {
    this.ticket = ticket;
    this.#surroundings = surroundings;
    this.isReady = isReady;
  }

  isOf({ name, profile }: SessionOwner): boolean {
    const { principal } = this.ticket;
    return principal.name === name && principal.profile === profile;
  }

  get #ageMs(): number {
    return Date.now() - this.ticket.created;
  }

  /** True once its object alone knows whether it goes on. */
  get hasExpired(): boolean {
    return this.#ageMs >= 2 * limits.sessionIdleMs;
  }

  /** True if its requests need its object, which lives for as long as it is used. */
  get needsObject(): boolean {
    return this.#ageMs >= limits.sessionIdleMs;
  }

  /** The client. Before it is initialized it has no capabilities, so it is not asked anything. */
  get client(): Introduced {
    const { client } = this.ticket;
    return this.isReady ? client : { ...client, capabilities: {} };
  }

  /** The session's owner with the scopes of this request. */
  principal({ scopes }: Pick<Principal, "scopes">): Principal {
    return { ...this.ticket.principal, ...(scopes && { scopes }) };
  }

  /** Begins a call in this isolate. Throws `too_many`. */
  open(request: RequestId, leaving: () => AbortSignal): TicketCall {
    const call = new OpenCall(request, leaving, () => this.#calls.delete(call));
    demandRoom(this.#calls.size + 1);
    this.#calls.add(call);
    return call;
  }

  /** Cancels the calls of this request; false if none runs here. */
  cancel(request: unknown): boolean {
    const found = [...this.#calls].filter((call) => call.request === request);
    for (const call of found) call.cancel();
    return found.length > 0;
  }

  /**
   * Notes that this isolate answers its client: its object, if there is one, hears of the use and of the scopes. `waits` is
   * called before it is asked.
   */
  async heard({ scopes }: Pick<Principal, "scopes">, waits: () => void): Promise<void> {
    const seen = JSON.stringify(scopes);
    if (!this.facts.hasObject || (isRecent(this.#told, HEARD_MS) && seen === this.#scopes)) return;
    this.#told = Date.now();
    this.#scopes = seen;
    waits();
    await this.#object.heard(this.#owner, scopes);
  }

  async post(post: Post): ReturnType<Session["post"]> {
    const birth = await this.#birth();
    return this.#object.post(this.#owner, post, birth);
  }

  async listen(lastEventId?: string, scopes?: readonly string[]): ReturnType<Session["listen"]> {
    const birth = await this.#birth();
    return this.#object.listen(this.#owner, lastEventId, scopes, birth);
  }

  async end(countStored: CallerQuota["countStored"]): Promise<true> {
    if (this.#surroundings.fillsPart()) await countStored();
    this.facts.hasEnded = true;
    try {
      await this.#endAll();
    } catch (error) {
      this.facts.hasEnded = false; // Its client may end it again.
      throw error;
    }
    this.#surroundings.recordLater(this);
    return true;
  }

  /** Updates the facts with those of other isolates. */
  async learn(facts: Partial<SessionFacts>): Promise<void> {
    const { hasEnded, hasObject } = this.facts;
    this.learnedAt = Date.now();
    this.facts.hasEnded ||= facts.hasEnded === true;
    this.facts.hasObject ||= facts.hasObject === true;
    const isNews = hasEnded !== this.facts.hasEnded || hasObject !== this.facts.hasObject;
    if (this.facts.hasEnded && isNews) await this.#endAll();
  }

  async #endAll(): Promise<void> {
    for (const call of this.#calls) call.cancel();
    if (this.facts.hasObject) await this.#object.end(this.#owner);
  }

  get #object() {
    return this.#surroundings.object(this);
  }

  get #owner(): SessionOwner {
    const { name, profile } = this.ticket.principal;
    return { name, ...(profile !== undefined && { profile }) };
  }

  /** The initial state for its object; undefined if the object must exist already. */
  async #birth() {
    if (!this.facts.hasObject) {
      this.facts.hasObject = true;
      try {
        await this.#surroundings.record(this);
      } catch (error) {
        this.facts.hasObject = false; // Else nobody would record it any more.
        throw error;
      }
    } else if (this.needsObject) {
      return undefined; // It may have ended, as nobody has used it.
    }
    if (this.facts.hasEnded) return undefined;
    const { principal, client, lists } = this.ticket;
    return { principal, client, lists, isReady: this.isReady };
  }
}

class OpenCall implements TicketCall {
  readonly request: RequestId;
  isUnwanted = false;
  readonly #leaving: () => AbortSignal;
  readonly #close: () => void;
  /** Another request may not abort a signal of this one, but it may settle a promise. */
  readonly #cancelled = Promise.withResolvers<void>();
  #stop: AbortController | undefined;

  constructor(request: RequestId, leaving: () => AbortSignal, close: () => void) {
    this.request = request;
    this.#leaving = leaving;
    this.#close = close;
  }

  signal(): AbortSignal {
    if (this.#stop !== undefined) return this.#stop.signal;
    const stop = (this.#stop = new AbortController());
    const abort = () => stop.abort(new DOMException("the call was cancelled", "AbortError"));
    void this.#cancelled.promise.then(abort);
    const left = () => setTimeout(abort, LEFT_MS);
    const leaving = this.#leaving();
    if (leaving.aborted) left();
    else leaving.addEventListener("abort", left, { once: true });
    return stop.signal;
  }

  cancel(): void {
    this.isUnwanted = true;
    this.#cancelled.resolve();
  }

  [Symbol.dispose](): void {
    this.#close();
  }
}

/** How long a call goes on after its client has left: the platform drops the work of a request after 30 s. */
const LEFT_MS = 20_000;
