import { limits } from "./limits.ts";
import type { CallerQuota, Principal } from "../../kernel/core/model.ts";
import { isRecent } from "../../kernel/core/recent.ts";
import type { RequestId } from "../../kernel/mcp/wire/message.ts";
import { demandRoom } from "./session-methods.ts";
import type { SessionFacts } from "./session-ends.ts";
import type {
  IntroducedClient,
  NamedSession,
  Post,
  SessionOwner,
  SessionTicket,
} from "./session-object.ts";
import type { Session } from "./session.ts";

/** A call of a session that runs in this isolate. */
export interface TicketCall extends Disposable {
  readonly request: RequestId;
  /** True once the client has cancelled the call or ended its session. */
  readonly isUnwanted: boolean;
  /** Aborts when the call is unwanted, or `GRACE_MS` after its client has left. Called when the call begins to wait. */
  signal(): AbortSignal;
}

/** Access to session objects and to the record of sessions. */
interface SessionObjects {
  /** A stub of the session's object, for the current request. */
  object(session: TicketSession): DurableObjectStub<Session>;
  /** Records the session's facts, and updates them with those that other isolates have recorded. */
  record(session: TicketSession): Promise<void>;
  /** As `record`, soon after, in one transaction with other sessions. */
  recordLater(session: TicketSession): void;
  /** Counts an ended session; true if its record fills a MiB. */
  countEnd(): boolean;
}

/** Interval at which an object is told that its session is in use. An object whose session seems idle pings its client. */
const USE_REPORT_MS = 5000;

/** One isolate's view of a session whose id is a ticket. */
export class TicketSession implements NamedSession {
  readonly ticket: SessionTicket;
  readonly facts: SessionFacts = { hasEnded: false, hasObject: false };
  /** When the facts were last read from the record, in Unix ms. */
  learnedAt = Date.now();
  /** True once its client has sent `notifications/initialized`. */
  isReady: boolean;
  readonly #objects: SessionObjects;
  readonly #calls = new Set<OpenCall>();
  /** When a use was last reported to the session's object, in Unix ms. */
  #reportedAt = 0;
  #scopes: string | undefined;

  constructor(ticket: SessionTicket, objects: SessionObjects, isReady: boolean) {
    this.ticket = ticket;
    this.#objects = objects;
    this.isReady = isReady;
  }

  isOf({ name, profile }: SessionOwner): boolean {
    const { principal } = this.ticket;
    return principal.name === name && principal.profile === profile;
  }

  get #ageMs(): number {
    return Date.now() - this.ticket.created;
  }

  /** True once the ticket has expired: only the session's object knows whether the session has ended. */
  get hasExpired(): boolean {
    return this.#ageMs >= 2 * limits.sessionIdleMs;
  }

  /** True once all requests go to the session's object, which exists as long as the session is used. */
  get needsObject(): boolean {
    return this.#ageMs >= limits.sessionIdleMs;
  }

  /** The client; without capabilities before it has initialized, so that it is not asked anything. */
  get client(): IntroducedClient {
    const { client } = this.ticket;
    return this.isReady ? client : { ...client, capabilities: {} };
  }

  /** The session's owner with the scopes of this request. */
  principal({ scopes }: Pick<Principal, "scopes">): Principal {
    return { ...this.ticket.principal, ...(scopes && { scopes }) };
  }

  /** Begins a call in this isolate; `leaving` gives a signal that aborts when its client disconnects. Throws `too_many`. */
  open(request: RequestId, leaving: () => AbortSignal): TicketCall {
    const call = new OpenCall(request, leaving, () => this.#calls.delete(call));
    demandRoom(this.#calls.size + 1);
    this.#calls.add(call);
    return call;
  }

  /** Cancels the calls of the request with this id; false if none runs in this isolate. */
  cancel(request: unknown): boolean {
    const found = [...this.#calls].filter((call) => call.request === request);
    for (const call of found) call.cancel();
    return found.length > 0;
  }

  /**
   * Tells the session's object, if it has one, that the session is in use by a request with these scopes. Calls `waits`
   * before the call to the object.
   */
  async reportUse({ scopes }: Pick<Principal, "scopes">, waits: () => void): Promise<void> {
    const key = JSON.stringify(scopes);
    if (
      !this.facts.hasObject ||
      (isRecent(this.#reportedAt, USE_REPORT_MS) && key === this.#scopes)
    )
      return;
    this.#reportedAt = Date.now();
    this.#scopes = key;
    waits();
    await this.#object.recordUse(this.#owner, scopes);
  }

  async post(post: Post): ReturnType<Session["post"]> {
    const initial = await this.#initialState();
    return this.#object.post(this.#owner, post, initial);
  }

  async listen(lastEventId?: string, scopes?: readonly string[]): ReturnType<Session["listen"]> {
    const initial = await this.#initialState();
    return this.#object.listen(this.#owner, lastEventId, scopes, initial);
  }

  async end(countStored: CallerQuota["countStored"]): Promise<true> {
    if (this.#objects.countEnd()) await countStored();
    this.facts.hasEnded = true;
    try {
      await this.#endAll();
    } catch (error) {
      this.facts.hasEnded = false; // The client may end it again.
      throw error;
    }
    this.#objects.recordLater(this);
    return true;
  }

  /** Merges facts that another isolate has recorded. */
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
    return this.#objects.object(this);
  }

  get #owner(): SessionOwner {
    const { name, profile } = this.ticket.principal;
    return { name, ...(profile !== undefined && { profile }) };
  }

  /** The state with which the session's object is created if it does not exist; undefined if it must not be created. */
  async #initialState() {
    if (!this.facts.hasObject) {
      this.facts.hasObject = true;
      try {
        await this.#objects.record(this);
      } catch (error) {
        this.facts.hasObject = false; // Otherwise it would never be recorded again.
        throw error;
      }
    } else if (this.needsObject) {
      return undefined; // If the object does not exist, the session has expired.
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
  /** Another request cannot abort a signal of this request on the platform, but it can settle a promise. */
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
    const left = () => setTimeout(abort, GRACE_MS);
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

/** How long a call continues after its client has left: the platform stops the work of a request after 30 s. */
const GRACE_MS = 20_000;
