/** People who sign in at an OpenID provider: Google, and any other. */
import type { Granted, Tokens } from "../../kernel/auth/account-provider.ts";
import { limits } from "../../kernel/core/limits.ts";
import type { Json } from "../../kernel/core/model.ts";
import { shortened } from "../../kernel/core/text.ts";
import { unknownSignIn } from "./refusals.ts";
import { type Facts, ruleNames, lacksFacts } from "./rules.ts";
import type { SignInSettings } from "./settings.ts";
import { type Identity, type KindOfClient, type UpstreamParts, Upstream } from "./upstream.ts";

/** The strings in a claim: the claim itself, or the entries of its array. */
export const stringsIn = (claim: unknown): string[] =>
  [claim].flat().filter((one) => typeof one === "string");

/** The domain of an email address, in lower case; undefined for anything else, also a domain in another script. */
function domainOf(address: unknown): string | undefined {
  const [, domain] =
    /^[^\s]+@([a-z0-9.-]+)$/i.exec(typeof address === "string" ? address : "") ?? [];
  return domain?.toLowerCase();
}

/** The scopes that signing in needs. */
export const OPENID_SCOPES = ["openid", "profile", "email"];

/** https://openid.net/specs/openid-connect-core-1_0.html */
export class OpenId extends Upstream {
  readonly #issuer: string;

  constructor(
    name: string,
    settings: SignInSettings,
    parts: UpstreamParts,
    // The settings demand the issuer of a provider of the type `oidc`.
    client: KindOfClient = { issuer: settings.issuer!, scopes: OPENID_SCOPES },
  ) {
    super(name, settings, parts, client);
    this.#issuer = client.issuer;
  }

  get issuers(): readonly string[] {
    return [this.#issuer];
  }

  get hosts(): readonly string[] {
    return [new URL(this.#issuer).hostname];
  }

  /** Every provider supports `login`; `select_account` is optional. */
  override get accountChoice(): Readonly<Record<string, string>> {
    return { prompt: "login" };
  }

  /** Many providers give a refresh token only for this scope, and refuse an unknown one. */
  override async extraScopes(): Promise<readonly string[]> {
    const known = await this.provider.knownScopes();
    return known.includes("offline_access") ? ["offline_access"] : [];
  }

  /**
   * With a refresh token, the grant has a new ID token. Without, `identify` asks the provider by the access token, for
   * as long as that is valid.
   */
  async renew(
    tokens: Tokens,
    store: (tokens: Tokens) => Promise<void>,
  ): Promise<Granted | undefined> {
    if (tokens.refresh === undefined) return { tokens };
    const granted = await this.provider.refresh(tokens.refresh);
    if (granted !== undefined) await store(granted.tokens);
    return granted;
  }

  async identify({ tokens, claims: inToken }: Granted, subject?: string): Promise<Identity> {
    const sub = inToken?.sub ?? subject;
    if (sub === undefined) throw unknownSignIn(this.title);
    let claims: Json = { ...inToken };
    let facts = this.factsIn(claims);
    if (inToken === undefined || lacksFacts(this.settings, this.settings.type, facts)) {
      const more = await this.provider.userInfo(tokens.access, sub);
      if (more === undefined && inToken === undefined) throw unknownSignIn(this.title);
      claims = { ...more, ...claims };
      facts = this.factsIn(claims);
    }
    return this.identity({ ...claims, sub }, facts, tokens);
  }

  /** The person of these claims. */
  protected async identity(claims: Json, facts: Facts, _tokens: Tokens): Promise<Identity> {
    const obstacles: string[] = [];
    const isUnverified = claims["email"] !== undefined && claims["email_verified"] !== true;
    if (isUnverified && ruleNames(this.settings, "domains").length > 0)
      obstacles.push(
        `${this.title} has not verified the email address of this account: verify it there, then sign in again.`,
      );
    return {
      principal: `${this.#issuer} ${String(claims["sub"])}`,
      title: nameIn(claims),
      facts,
      obstacles,
    };
  }

  protected factsIn(claims: Json): Facts {
    const { sub, org_id, groups, email, email_verified: isVerified } = claims;
    const domain = isVerified === true ? domainOf(email) : undefined;
    return {
      claims,
      users: stringsIn(sub),
      ...(org_id !== undefined && { organizations: stringsIn(org_id) }),
      ...(groups !== undefined && { groups: stringsIn(groups) }),
      ...(email !== undefined && { domains: domain === undefined ? [] : [domain] }),
    };
  }
}

/** https://developers.google.com/identity/openid-connect/openid-connect */
export class Google extends OpenId {
  constructor(name: string, settings: SignInSettings, parts: UpstreamParts) {
    super(name, settings, parts, {
      issuer: settings.issuer ?? "https://accounts.google.com",
      scopes: OPENID_SCOPES,
      params: { access_type: "offline", prompt: "consent" },
    });
  }

  override get accountChoice(): Readonly<Record<string, string>> {
    return { prompt: "consent select_account" };
  }

  override get hosts(): readonly string[] {
    return [...super.hosts, "*.googleapis.com"];
  }

  /** Google has no scope `offline_access`, but the parameter `access_type`. */
  override async extraScopes(): Promise<readonly string[]> {
    return [];
  }

  /** Only the claim `hd` proves a Workspace: an address of its domain can belong to a consumer account. */
  protected override factsIn(claims: Json): Facts {
    const { hd, sub } = claims;
    const domain = typeof hd === "string" ? hd.toLowerCase() : undefined;
    return { claims, users: stringsIn(sub), domains: domain === undefined ? [] : [domain] };
  }

  /** An address proves the person if Google assigns it: in its own domains, and those of Workspaces. */
  protected override async identity(claims: Json, facts: Facts, tokens: Tokens): Promise<Identity> {
    const known = await super.identity(claims, facts, tokens);
    const { email, email_verified: isVerified, sub } = claims;
    const domain = domainOf(email);
    const [address] = stringsIn(email).map((one) => one.toLowerCase());
    const isOwn = domain === "gmail.com" || domain === "googlemail.com";
    const isGiven = isVerified === true && domain !== undefined;
    if (!isGiven || !(isOwn || facts.domains?.includes(domain))) return known;
    if (address === undefined || !ruleNames(this.settings, "users").includes(address)) return known;
    // An address can be assigned to somebody else later.
    const first = await this.firstOwnerOf(`user ${address}`, String(sub));
    if (first === sub) return { ...known, facts: { ...facts, users: [...facts.users!, address] } };
    const obstacle = `Another account had the address ${address} before. Whoever runs this server can let this one in by its id, ${String(sub)}.`;
    return { ...known, obstacles: [...known.obstacles, obstacle] };
  }
}

/** The name of a person; without one, the address, login or subject. */
export function nameIn({ name, email, preferred_username: login, sub }: Json): string {
  const found = [name, email, login, sub].flatMap(stringsIn).find((one) => one.trim() !== "");
  return shortened(found ?? "", limits.idCharacters);
}
