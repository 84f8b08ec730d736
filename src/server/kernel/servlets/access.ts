/** The part of the server that one caller may use: what its profile contains and its scopes grant. */
import { Fault } from "../core/errors.ts";
import type { Json, Tool } from "../core/model.ts";
import { mayIn, pinsFor, profileOf, servedIn, type Profile, type Profiles } from "./profiles.ts";
import { mayBy, mayUnscoped, patternsBy, scopeFor, type May, type Scopes } from "./scopes.ts";

/** The members of a principal that decide what it may use. */
export interface AccessKey {
  profile?: string | undefined;
  /** Absent if all of the profile is granted. */
  scopes?: readonly string[] | undefined;
}

/** The access of callers with the same profile and scopes. */
export class Access {
  readonly key: AccessKey;
  /** The profile; the whole server has the profile with the empty name. Undefined if unknown. */
  readonly profile: Profile | undefined;
  /** The patterns that the scopes grant; undefined if no scopes restrict the access. */
  readonly patterns: readonly string[] | undefined;
  /** True for an entry that is in the profile and granted by the scopes. */
  readonly may: May;
  /** True for an entry that the scopes grant, regardless of the profile. */
  readonly #isGranted: May;
  readonly #configured: Scopes;

  constructor(
    key: AccessKey,
    {
      profiles,
      scopes: configured = {},
    }: { profiles?: Profiles | undefined; scopes?: Scopes | undefined },
  ) {
    const { profile: name, scopes } = key;
    this.key = key;
    this.#configured = configured;
    this.profile = profileOf(profiles, name ?? "");
    this.patterns = scopes && patternsBy(scopes, configured);
    this.#isGranted = scopes ? mayBy(scopes, configured) : () => true;
    const isInProfile = name === undefined ? mayUnscoped : mayIn(this.profile);
    const both: May = (...entry) => this.#isGranted(...entry) && isInProfile(...entry);
    // Only scopes can grant the tools of operators.
    this.may = scopes === undefined ? isInProfile : name === undefined ? this.#isGranted : both;
  }

  /** True for the access of a caller at a profile's endpoint. */
  get isAtProfile(): boolean {
    return this.key.profile !== undefined;
  }

  /** True if scopes restrict it. */
  get isNarrow(): boolean {
    return this.key.scopes !== undefined;
  }

  /** True if nothing restricts it. */
  get isWhole(): boolean {
    return !this.isNarrow && !this.isAtProfile;
  }

  /** The servlets that may have accessible entries. */
  servletsOf<T extends { name: string }>(servlets: readonly T[]): readonly T[] {
    return this.isAtProfile ? servedIn(servlets, this.profile) : servlets;
  }

  /** The arguments that the profile pins for this tool. */
  pinsFor(servlet: string, tool: Tool): Json {
    return this.isAtProfile ? pinsFor(this.profile, servlet, tool) : {};
  }

  /** Throws `insufficient_scope`, naming a sufficient scope, for an entry that the scopes do not grant. */
  demand({ servlet, own }: { servlet?: { name: string } | undefined; own?: string } = {}): void {
    if (servlet === undefined || own === undefined) return;
    if (this.#isGranted(servlet.name, own)) return;
    const scope = scopeFor(servlet.name, own, this.#configured);
    throw new Fault(
      "insufficient_scope",
      `The token lacks the scope ${scope}. Request a token with it.`,
      { data: { scope } },
    );
  }
}
