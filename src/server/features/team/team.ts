/** The members of a team: lets people in by the rules, and asks the records of members what each may do. */
import type { Granted } from "../../kernel/auth/account-provider.ts";
import { hexDigest } from "../../kernel/core/digest.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { retry } from "../../kernel/core/retry.ts";
import { unsettled, type Settled } from "../../kernel/core/settled.ts";
import { beginningOf, printable } from "../../kernel/core/text.ts";
import type { MemberAccess, Members } from "../people/members.ts";
import { callbackPath, type SignInProvider } from "../people/provider-sign-in.ts";
import type { PersonObjects } from "../people/person-objects.ts";
import { limits } from "./limits.ts";
import type { Membership, MemberSummary } from "./membership.ts";
import { notLetIn } from "./refusals.ts";
import { rightsOf } from "./rules.ts";
import type { Upstream } from "./upstream.ts";

/** A member in the list of operators. */
export interface ListedMember extends MemberSummary {
  principal: string;
}

/** The metadata of a member's entry in the list of all: KV takes 1024 bytes of JSON. */
interface Listed {
  principal: string;
  /** The beginning of the name, by which operators search. */
  title: string;
}

const LISTED = "member:";
const TITLE_CHARACTERS = 60;

/** The key of an entry. KV lists keys in ascending order, so the latest sign-in comes first. */
const keyOf = async (principal: string, signedInAt: number): Promise<string> =>
  `${LISTED}${Number.MAX_SAFE_INTEGER - signedInAt} ${await hexDigest(principal)}`;

export class Team implements Members {
  readonly #upstreams: ReadonlyMap<string, Upstream>;
  readonly #persons: PersonObjects;
  /** Has an entry for each member. */
  readonly #store: KVNamespace;
  readonly providers: readonly SignInProvider[];

  constructor(
    upstreams: ReadonlyMap<string, Upstream>,
    { persons, store }: { persons: PersonObjects; store: KVNamespace },
  ) {
    this.#upstreams = upstreams;
    this.#persons = persons;
    this.#store = store;
    const usable = [...upstreams.values()].filter(({ problem }) => problem === undefined);
    this.providers = usable.map((upstream) => ({
      id: upstream.name,
      title: upstream.title,
      provider: upstream.provider,
      callback: callbackPath(upstream.name),
      accountChoice: upstream.accountChoice,
      scopes: () => upstream.extraScopes(),
      admit: (granted, request) => this.#admit(upstream, granted, request),
    }));
  }

  knows(principal: string): boolean {
    return [...this.#upstreams.values()].some((one) => one.owns(principal));
  }

  access(principal: string, how = { isFresh: false }): Promise<MemberAccess> {
    return this.#ask(principal, "access", how);
  }

  async signOut(principal: string): Promise<void> {
    await this.#ask(principal, "signOut");
  }

  /** Ends a member's access until `unblock`; false for somebody who has never signed in. `by` is the operator. */
  block(principal: string, by: string): Promise<boolean> {
    return this.#ask(principal, "block", by);
  }

  /** False if there is nothing to undo. */
  unblock(principal: string): Promise<boolean> {
    return this.#ask(principal, "unblock");
  }

  /**
   * One page of the members, by latest sign-in, and the cursor of the next page. With a `name`, the members among the
   * next thousand whose name or principal contains it.
   */
  async list(cursor: string, name: string): Promise<{ members: ListedMember[]; next?: string }> {
    const wanted = name.toLowerCase();
    const limit = wanted === "" ? limits.shownMembers : undefined;
    const page = await this.#store.list<Listed>({
      prefix: LISTED,
      ...(cursor !== "" && { cursor }),
      ...(limit && { limit }),
    });
    const found = page.keys.filter(({ metadata }) =>
      `${metadata?.title} ${metadata?.principal}`.toLowerCase().includes(wanted),
    );
    const members = await Promise.all(
      found.slice(0, limits.shownMembers).map(async ({ metadata }) => {
        const { principal = "" } = metadata ?? {};
        const summary = await this.#ask(principal, "summary");
        return summary && { principal, ...summary };
      }),
    );
    return {
      members: members.filter((one) => one !== undefined),
      ...(!page.list_complete && { next: page.cursor }),
    };
  }

  /** Takes a member out of the list, unless an operator has ended their access: that can only be undone in the list. */
  async forget(principal: string): Promise<void> {
    if (!this.knows(principal)) return;
    const summary = await this.#ask(principal, "summary");
    const [last] = summary?.signIns ?? [];
    if (last !== undefined && summary?.blocked === undefined)
      await this.#store.delete(await keyOf(principal, last.at));
  }

  /** Lets in the person of this grant: see `SignInProvider.admit`. */
  async #admit(upstream: Upstream, granted: Granted, request: Request): Promise<string> {
    const { principal, title, facts, obstacles } = await upstream.identify(granted);
    const rights = rightsOf(upstream.settings, facts);
    if (rights === undefined) throw new Fault("forbidden", notLetIn(title, obstacles));
    const { tokens, claims, scopes = upstream.settings.scopes } = granted;
    const at = Date.now();
    const key = await this.#enlist({ principal, title }, at);
    try {
      const before = await this.#ask(principal, "admit", {
        provider: upstream.name,
        subject: claims?.sub ?? "",
        title,
        rights,
        tokens,
        scopes,
        signIn: { at, provider: upstream.title, roles: rights.roles, from: browserOf(request) },
      });
      if (before !== undefined)
        await this.#store.delete(await keyOf(principal, before)).catch(report);
    } catch (error) {
      // Whose access an operator has ended is listed already.
      if (Fault.from(error).code === "forbidden") await this.#store.delete(key).catch(report);
      throw error;
    }
    return principal;
  }

  /**
   * Adds somebody to the list, without which no operator could end their access, and returns the key. Throws `forbidden`,
   * `unavailable`.
   */
  async #enlist({ principal, title }: Listed, at: number): Promise<string> {
    if (principal.length > PRINCIPAL_CHARACTERS)
      throw new Fault("forbidden", "Your account has too long an id at its provider.");
    const metadata: Listed = { principal, title: beginningOf(title, TITLE_CHARACTERS) };
    const key = await keyOf(principal, at);
    try {
      await retry(() => this.#store.put(key, "", { metadata }));
      return key;
    } catch (cause) {
      const message = "Members cannot be listed now. Try again in a minute.";
      throw new Fault("unavailable", message, { cause });
    }
  }

  /** Calls a method of a member's record, which is in the object of that person. */
  async #ask<Method extends RecordMethod>(
    principal: string,
    method: Method,
    ...args: Parameters<Membership[Method]>
  ): Promise<Awaited<ReturnType<Membership[Method]>>> {
    const done = await this.#persons.at(principal, async (object) =>
      object.member(principal, method, args),
    );
    return unsettled(done as Settled<Awaited<ReturnType<Membership[Method]>>>);
  }
}

type RecordMethod = "admit" | "access" | "signOut" | "block" | "unblock" | "summary";

/** The address, country and user agent of a browser, as far as they are known. */
function browserOf({ headers, cf }: Request): string {
  const { country } = (cf ?? {}) as { country?: unknown };
  const parts = [headers.get("cf-connecting-ip"), country, headers.get("user-agent")];
  const known = parts.filter((one): one is string => typeof one === "string" && one !== "");
  return printable(beginningOf(known.join(", "), FROM_CHARACTERS));
}

const FROM_CHARACTERS = 200;

/** Longest principal, which is in the metadata of an entry: OpenID Connect allows 255 characters for the subject. */
const PRINCIPAL_CHARACTERS = 512;
