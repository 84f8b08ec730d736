/** The record of one member of a team, in the object of that person: who they are, and what they may do. */
import type { Tokens } from "../../kernel/auth/account-provider.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { isRecent } from "../../kernel/core/recent.ts";
import type { AccountGrant } from "../../kernel/servlets/deployment.ts";
import { printable } from "../../kernel/core/text.ts";
import type { MemberAccess, MemberParts, MemberRecord } from "../people/members.ts";
import { limits } from "./limits.ts";
import { rightsOf, type Rights } from "./rules.ts";
import { notLetIn, unavailable, unknownSignIn } from "./refusals.ts";
import type { Upstream } from "./upstream.ts";

/** A sign-in, as operators see it. */
interface PastSignIn {
  /** Unix time in ms. */
  at: number;
  /** The title of the provider. */
  provider: string;
  /** The names of the fitting roles. */
  roles: readonly string[];
  /** The browser's address, country and user agent, as far as they are known. */
  from: string;
}

/** A sign-in at a provider that the rules let in. */
export interface Arrival {
  /** The name of the provider in the configuration. */
  provider: string;
  /** The `sub` of the ID token, which later checks need; empty without an ID token. */
  subject: string;
  title: string;
  rights: Rights;
  tokens: Tokens;
  scopes: readonly string[];
  signIn: PastSignIn;
}

/** A member, as operators see them. Times are in Unix ms. */
export interface MemberSummary {
  title: string;
  provider: string;
  rights: Rights;
  checkedAt: number;
  signIns: readonly PastSignIn[];
  /** When and why the access has ended; absent while it lasts. */
  ended?: { at: number; reason: string };
  /** When the access was ended by an operator, and by whom (the principal). */
  blocked?: { at: number; by: string };
}

/** What is stored about a member. The tokens are stored apart, sealed. */
interface State extends MemberSummary, Pick<Arrival, "subject" | "scopes"> {
  /** The settings that gave the rights, as JSON. */
  rules: string;
  /** See `MemberAccess`. */
  seal: string;
  /** When the provider was last asked, with an answer or without. */
  triedAt: number;
}

/** Keys of the stored values: the state, the sealed tokens, and the time of the next check in Unix ms. */
const STATE = "member";
const TOKENS = "member's tokens";
const DUE = "member due";

export class Membership implements MemberRecord {
  readonly #parts: MemberParts;
  readonly #upstreams: ReadonlyMap<string, Upstream>;
  #checking: Promise<MemberAccess> | undefined;

  constructor(parts: MemberParts, upstreams: ReadonlyMap<string, Upstream>) {
    this.#parts = parts;
    this.#upstreams = upstreams;
  }

  get #state(): State | undefined {
    return this.#parts.kv.get<State>(STATE);
  }

  #put(state: State): void {
    this.#parts.kv.put(STATE, state);
  }

  /**
   * Begins or continues the access of a person whom the rules let in, and returns the time of the previous sign-in, if
   * there is one. Throws `forbidden` if an operator has ended the access.
   */
  async admit({ tokens, rights, signIn, ...arrived }: Arrival): Promise<number | undefined> {
    const upstream = this.#upstreamOf(arrived.provider);
    const sealed = await this.#sealed(tokens);
    const now = Date.now();
    const before = this.#state;
    if (before?.blocked !== undefined) throw new Fault("forbidden", BLOCKED);
    const isOver = before === undefined || before.ended !== undefined;
    // It may be admitted twice if the object dies.
    const past = before?.signIns.filter(({ at }) => at !== signIn.at) ?? [];
    const state: State = {
      ...arrived,
      rights,
      rules: rulesIn(upstream),
      seal: isOver ? newSeal() : before.seal,
      checkedAt: now,
      triedAt: now,
      signIns: [signIn, ...past].slice(0, limits.memberSignIns),
    };
    this.#parts.kv.put(TOKENS, sealed);
    this.#put(state);
    await this.#plan();
    return past[0]?.at;
  }

  /** See `Members.access`. Concurrent calls share one check. */
  async access({ isFresh }: { isFresh: boolean }): Promise<MemberAccess> {
    const state = this.#demand();
    const upstream = this.#upstreams.get(state.provider);
    const isSame = upstream !== undefined && state.rules === rulesIn(upstream);
    const { checkedAt, triedAt } = state;
    const isDown = triedAt > checkedAt && isRecent(triedAt, limits.memberRetryMs);
    const isHeld = isDown
      ? isRecent(checkedAt, limits.memberHoldMs)
      : isRecent(checkedAt, isFresh ? limits.memberMemoryMs : limits.memberCheckMs);
    if (isSame && isHeld) return accessOf(state);
    if (isDown) throw unavailable(upstream?.title ?? state.provider);
    this.#checking ??= this.#check(state, upstream).finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  /** The state of a member with access. Throws `unauthorized`, with the reason, without access. */
  #demand(): State {
    const state = this.#state;
    if (state === undefined) throw new Fault("unauthorized", SIGNED_OUT);
    if (state.blocked !== undefined) throw new Fault("unauthorized", BLOCKED);
    if (state.ended !== undefined) throw new Fault("unauthorized", state.ended.reason);
    return state;
  }

  /** Checks at the provider whether the rules still let the person in. Throws as `access`. */
  async #check(before: State, upstream: Upstream | undefined): Promise<MemberAccess> {
    const found = await this.#found(before, upstream);
    const state = this.#state;
    // Access has ended meanwhile, or the person has signed in anew.
    if (state === undefined || state.ended !== undefined || !isSameSignIn(state, before))
      return accessOf(this.#demand());
    if ("refusal" in found) {
      await this.#end(found.refusal);
      throw new Fault("unauthorized", found.refusal);
    }
    const now = Date.now();
    if ("failure" in found) {
      const tried = { ...state, triedAt: now };
      this.#put(tried);
      const isHeld = isRecent(state.checkedAt, limits.memberHoldMs);
      if (upstream === undefined || state.rules !== rulesIn(upstream) || !isHeld)
        throw found.failure;
      report(found.failure);
      await this.#plan();
      return accessOf(tried);
    }
    const checked = { ...state, ...found, checkedAt: now, triedAt: now };
    this.#put(checked);
    await this.#plan();
    return accessOf(checked);
  }

  /** What a member may do, as the provider knows them now; or why they may not enter, or why it cannot be asked. */
  async #found(
    before: State,
    upstream: Upstream | undefined,
  ): Promise<Pick<State, "title" | "rights" | "rules"> | { refusal: string } | { failure: Fault }> {
    if (upstream === undefined)
      return {
        refusal: "This server no longer has the provider at which you signed in. Sign in again.",
      };
    try {
      const known = await this.#identified(upstream, before);
      if (known?.principal !== this.#parts.principal) throw unknownSignIn(upstream.title);
      const { title, facts, obstacles } = known;
      const rights = rightsOf(upstream.settings, facts);
      if (rights === undefined) return { refusal: notLetIn(title, obstacles) };
      return { title, rights, rules: rulesIn(upstream) };
    } catch (error) {
      const failure = Fault.from(error);
      return failure.code === "forbidden" ? { refusal: failure.message } : { failure };
    }
  }

  /** The person, as the provider knows them now; undefined if it has ended the sign-in. */
  async #identified(upstream: Upstream, before: State) {
    const tokens = await this.#tokens();
    if (tokens === undefined) return undefined;
    const granted = await upstream.renew(tokens, async (renewed) => {
      const sealed = await this.#sealed(renewed);
      const state = this.#state;
      if (state !== undefined && isSameSignIn(state, before)) this.#parts.kv.put(TOKENS, sealed);
    });
    return granted && upstream.identify(granted, before.subject);
  }

  /** Ends the access of a person whom the provider or an operator no longer lets in. */
  async #end(reason: string): Promise<void> {
    const state = this.#state;
    if (state === undefined) return;
    console.warn(
      `${printable(state.title)} (${printable(this.#parts.principal)}) no longer has access: ${reason}`,
    );
    this.#put({ ...state, seal: newSeal(), ended: { at: Date.now(), reason } });
    this.#parts.kv.delete(TOKENS);
    await this.#parts.stopCalls(reason);
    // A call that could not be reached is stopped at the alarm.
    await this.#plan();
  }

  /** Ends the access until an operator lets the person in again; false for somebody who has never signed in. */
  async block(by: string): Promise<boolean> {
    const state = this.#state;
    if (state === undefined) return false;
    this.#put({ ...state, blocked: { at: Date.now(), by } });
    await this.#end(BLOCKED);
    return true;
  }

  /** Undoes `block`, if there is one: the person may sign in again. */
  async unblock(): Promise<boolean> {
    const state = this.#state;
    if (state?.blocked === undefined) return false;
    const { blocked, ...rest } = state;
    this.#put({ ...rest, ended: { at: blocked.at, reason: SIGNED_OUT } });
    return true;
  }

  /**
   * Ends what was granted to apps and browsers. It is the person who signs out, so calls go on: while they do, the tokens
   * are kept, by which it is seen whether the person leaves.
   */
  async signOut(): Promise<void> {
    const state = this.#state;
    if (state === undefined || state.ended !== undefined) return;
    this.#put({ ...state, seal: newSeal(), ended: { at: Date.now(), reason: SIGNED_OUT } });
    if (!(await this.#parts.hasCalls())) this.#forgetTokens(state);
  }

  async summary(): Promise<MemberSummary | undefined> {
    const state = this.#state;
    if (state === undefined) return undefined;
    const { title, provider, rights, checkedAt, signIns, ended, blocked } = state;
    return {
      title,
      provider,
      rights,
      checkedAt,
      signIns,
      ...(ended && { ended }),
      ...(blocked && { blocked }),
    };
  }

  async token(
    { account, scopes, hosts }: AccountGrant,
    refused?: string,
  ): Promise<string | undefined> {
    const state = this.#state;
    if (state === undefined || state.ended !== undefined || state.blocked !== undefined)
      return undefined;
    const upstream = this.#upstreams.get(account);
    if (state.provider !== account || upstream?.settings.account !== true) return undefined;
    // For other hosts, and other scopes, the person is asked.
    if (!upstream.ownsHosts(hosts) || !scopes.every((one) => state.scopes.includes(one)))
      return undefined;
    let tokens = await this.#tokens();
    const isOver = (tokens?.expires ?? Infinity) <= Date.now() + limits.memberRetryMs;
    // A host that refuses even a token that was just checked does so for another reason.
    const isRefused = refused !== undefined && tokens?.access === refused;
    if (isOver || (isRefused && !isRecent(state.checkedAt, REFUSED_MS))) {
      await this.access({ isFresh: true });
      tokens = await this.#tokens();
    }
    return tokens?.access;
  }

  /** What must outlive that everything else about the person is forgotten. */
  lasting(): () => void {
    const state = this.#state;
    if (state?.blocked === undefined) return () => undefined;
    return () => this.#put({ ...state, signIns: state.signIns.slice(0, 1) });
  }

  /** See `MemberRecord`. Checks the access of a person with calls that go on without a client. */
  async ring(now: number): Promise<void> {
    const { kv, hasCalls, stopCalls, wakeBy } = this.#parts;
    const due = kv.get<number>(DUE) ?? Infinity;
    if (due > now) return void (due < Infinity && (await wakeBy(due)));
    kv.delete(DUE);
    const state = this.#state;
    if (state === undefined) return;
    const { ended } = state;
    if (!(await hasCalls())) return ended && this.#forgetTokens(state);
    if (ended === undefined)
      await this.access({ isFresh: false }).catch((error: unknown) => void report(error));
    else if (kv.get(TOKENS) === undefined) await stopCalls(ended.reason);
    else await this.#checkSignedOut(state);
    await this.#plan();
  }

  /** Stops the calls of a person who has signed out, and is no longer let in. */
  async #checkSignedOut(state: State): Promise<void> {
    const found = await this.#found(state, this.#upstreams.get(state.provider));
    if ("failure" in found) report(found.failure);
    if ("refusal" in found && this.#state && isSameSignIn(this.#state, state))
      await this.#end(found.refusal);
  }

  /** Forgets the tokens of this sign-in. */
  #forgetTokens(of: State): void {
    const state = this.#state;
    if (state === undefined || isSameSignIn(state, of)) this.#parts.kv.delete(TOKENS);
  }

  /** Plans the next check by the alarm. */
  async #plan(): Promise<void> {
    // Later than the check is due, so that calls that begin just before that are seen.
    const at = Date.now() + limits.memberCheckMs + limits.memberRetryMs;
    this.#parts.kv.put(DUE, at);
    await this.#parts.wakeBy(at);
  }

  #upstreamOf(name: string): Upstream {
    const found = this.#upstreams.get(name);
    if (found !== undefined) return found;
    throw new Fault("unavailable", `This server has no provider ${name} any more. Sign in again.`);
  }

  #sealed(tokens: Tokens): Promise<Uint8Array<ArrayBuffer>> {
    return this.#parts.sealer.seal(new TextEncoder().encode(JSON.stringify(tokens)), TOKENS);
  }

  async #tokens(): Promise<Tokens | undefined> {
    const sealed = this.#parts.kv.get<Uint8Array<ArrayBuffer>>(TOKENS);
    const opened = sealed && (await this.#parts.sealer.open(sealed, TOKENS));
    return opened && (JSON.parse(new TextDecoder().decode(opened)) as Tokens);
  }
}

/** A refused token that was checked within this time is not checked again. */
const REFUSED_MS = 60_000;

/** The reason that a member who has signed out is told. */
export const SIGNED_OUT = "You are signed out. Sign in again.";
const BLOCKED =
  "Your access to this server was ended by somebody who runs it. Ask them to let you in again.";

const accessOf = ({ title, seal, rights: { scopes, isOperator } }: State): MemberAccess => ({
  title,
  seal,
  isOperator,
  ...(scopes && { scopes }),
});

/** True if both are of one sign-in: tokens of an earlier one say nothing about a later. */
const isSameSignIn = (one: State, other: State): boolean =>
  one.signIns[0]?.at === other.signIns[0]?.at && one.blocked === undefined;

/** The settings that decide on the rights, as JSON: a check under other settings does not count. */
const rulesIn = ({ provider, settings: { allow, roles, operators } }: Upstream): string =>
  JSON.stringify([provider.identity, allow, roles, operators]);

const newSeal = (): string => crypto.getRandomValues(new Uint8Array(16)).toHex();
