/** People who sign in at Microsoft Entra ID. */
import { decodeJwt } from "jose";
import type { Tokens } from "../../kernel/auth/account-provider.ts";
import { isObject, type Json } from "../../kernel/core/model.ts";
import { nameIn, OPENID_SCOPES, OpenId, stringsIn } from "./openid.ts";
import { unavailable, unknownSignIn } from "./refusals.ts";
import { type Facts, ruleNames } from "./rules.ts";
import type { SignInSettings } from "./settings.ts";
import type { Identity, UpstreamParts } from "./upstream.ts";

/** Group ids in one request to Microsoft Graph, which takes no more. */
const IDS_AT_ONCE = 20;

/** https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference */
export class Entra extends OpenId {
  constructor(name: string, settings: SignInSettings, parts: UpstreamParts) {
    const tenants = tenantsOf(settings);
    const [first = ""] = tenants;
    const endpoints = `${serverOf(settings)}/${tenants.length === 1 ? first : "organizations"}/oauth2/v2.0`;
    super(name, settings, parts, {
      auth: "post",
      issuer: issuerAt(settings, first),
      authorization_endpoint: `${endpoints}/authorize`,
      token_endpoint: `${endpoints}/token`,
      scopes: [...OPENID_SCOPES, "offline_access", "User.Read"],
      // An ID token of another tenant is refused, as one of another issuer.
      issuerOf(idToken) {
        const tenant = String(decodeJwt(idToken)["tid"]).toLowerCase();
        return issuerAt(settings, tenants.includes(tenant) ? tenant : first);
      },
    });
  }

  override get accountChoice(): Readonly<Record<string, string>> {
    return { prompt: "select_account" };
  }

  override get issuers(): readonly string[] {
    return tenantsOf(this.settings).map((tenant) => issuerAt(this.settings, tenant));
  }

  override get hosts(): readonly string[] {
    const graph = graphOf(this.settings);
    return graph === undefined ? [] : [new URL(graph).hostname];
  }

  /** `offline_access` is among the scopes that are always requested. */
  override async extraScopes(): Promise<readonly string[]> {
    return [];
  }

  protected override factsIn(claims: Json): Facts {
    const { tid, oid, groups } = claims;
    return {
      claims,
      users: stringsIn(oid).map((one) => one.toLowerCase()),
      tenants: isGuest(claims) ? [] : stringsIn(tid).map((one) => one.toLowerCase()),
      groups: stringsIn(groups).map((one) => one.toLowerCase()),
    };
  }

  /** The principal has the object id in the tenant: `sub` differs from app to app. */
  protected override async identity(claims: Json, facts: Facts, tokens: Tokens): Promise<Identity> {
    const [tenant] = stringsIn(claims["tid"]);
    const [user] = facts.users ?? [];
    if (tenant === undefined || user === undefined) throw unknownSignIn(this.title);
    return {
      principal: `${issuerAt(this.settings, tenant.toLowerCase())} ${user}`,
      title: nameIn(claims),
      facts: hasTooManyGroups(claims)
        ? { ...facts, groups: await this.#groupsOf(tokens.access) }
        : facts,
      obstacles: [],
    };
  }

  /** The groups in the rules to which the person belongs, from Microsoft Graph. Throws `unavailable`. */
  async #groupsOf(access: string): Promise<string[]> {
    const url = `${graphOf(this.settings)}/v1.0/me/checkMemberGroups`;
    const wanted = ruleNames(this.settings, "groups");
    const found: string[] = [];
    for (let at = 0; at < wanted.length; at += IDS_AT_ONCE) {
      const groupIds = wanted.slice(at, at + IDS_AT_ONCE);
      const { status, body } = await this.request(url, access, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ groupIds }),
      });
      if (status !== 200 || !Array.isArray(body["value"])) {
        const advice =
          "the app needs the permission GroupMember.Read.All, with an administrator's consent";
        throw unavailable(
          this.title,
          new Error(`POST ${url} answers with status ${status}: ${advice}`),
        );
      }
      found.push(...stringsIn(body["value"]).map((one) => one.toLowerCase()));
    }
    return found;
  }
}

const issuerAt = (settings: SignInSettings, tenant: string): string =>
  `${serverOf(settings)}/${tenant}/v2.0`;

/** True if the token has too many groups to name them: Microsoft Graph does. */
function hasTooManyGroups({ _claim_names: names, hasgroups }: Json): boolean {
  return hasgroups === true || (isObject(names) && Object.hasOwn(names, "groups"));
}

/**
 * True for a guest of the tenant, whose `tid` is the tenant's, too. `acct` is optional; `idp` names a guest's own
 * server.
 */
const isGuest = ({ acct, idp, iss }: Json): boolean =>
  acct === 1 || acct === "1" || (idp !== undefined && idp !== iss);

/** Origins of Entra ID, and of the Microsoft Graph of the same cloud. */
const GRAPHS: Readonly<Record<string, string>> = {
  "https://login.microsoftonline.com": "https://graph.microsoft.com",
  "https://login.microsoftonline.us": "https://graph.microsoft.us",
  "https://login.partner.microsoftonline.cn": "https://microsoftgraph.chinacloudapi.cn",
};

const serverOf = ({ server }: SignInSettings): string =>
  new URL(server ?? "https://login.microsoftonline.com").origin;

/** The base URL of Microsoft Graph; undefined for an unknown cloud. */
const graphOf = (settings: SignInSettings): string | undefined =>
  settings.graph?.replace(/\/$/, "") ?? GRAPHS[serverOf(settings)];

/** The tenants, in lower case. */
const tenantsOf = ({ tenant = [] }: SignInSettings): string[] =>
  [tenant].flat().map((one) => one.toLowerCase());
