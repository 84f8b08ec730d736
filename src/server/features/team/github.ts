/** People who sign in at GitHub, or at an Enterprise Server. Without OpenID Connect: its API says who they are. */
import type { Granted, Tokens } from "../../kernel/auth/account-provider.ts";
import { logError } from "../../kernel/core/errors.ts";
import { limits } from "../../kernel/core/limits.ts";
import { isObject, type Json } from "../../kernel/core/model.ts";
import { printable, shortened } from "../../kernel/core/text.ts";
import { ID, ruleNames } from "./rules.ts";
import { unavailable, unknownSignIn } from "./refusals.ts";
import type { SignInSettings } from "./settings.ts";
import { type ApiResponse, type Identity, type UpstreamParts, Upstream } from "./upstream.ts";

/** https://docs.github.com/en/rest */
export class GitHub extends Upstream {
  readonly #server: string;

  constructor(name: string, settings: SignInSettings, parts: UpstreamParts) {
    const { origin } = new URL(settings.server ?? "https://github.com");
    super(name, settings, parts, {
      auth: "post",
      issuer: `${origin}/login/oauth`,
      authorization_endpoint: `${origin}/login/oauth/authorize`,
      token_endpoint: `${origin}/login/oauth/access_token`,
      scopes: ["read:user", "read:org"],
    });
    this.#server = origin;
  }

  get issuers(): readonly string[] {
    return [this.#server];
  }

  get hosts(): readonly string[] {
    return [this.#server, this.#api].map((one) => new URL(one).hostname);
  }

  /** The base URL of the API: of github.com, of a company at ghe.com, or of an Enterprise Server. */
  get #api(): string {
    const { protocol, host, hostname } = new URL(this.#server);
    const isCloud = hostname === "github.com" || hostname.endsWith(".ghe.com");
    return isCloud ? `${protocol}//api.${host}` : `${this.#server}/api/v3`;
  }

  /** Tokens of OAuth apps do not expire; those of GitHub Apps do, and are renewed. */
  async renew(
    tokens: Tokens,
    store: (tokens: Tokens) => Promise<void>,
  ): Promise<Granted | undefined> {
    const { refresh, expires = Infinity } = tokens;
    if (expires > Date.now() + MARGIN_MS) return { tokens };
    if (refresh === undefined) return undefined;
    const granted = await this.provider.refresh(refresh);
    if (granted !== undefined) await store(granted.tokens);
    return granted;
  }

  async identify({ tokens: { access } }: Granted): Promise<Identity> {
    const { status, body: user } = await this.#ask("/user", access);
    if (status === 401) throw unknownSignIn(this.title);
    const { id, login, name } = user;
    if (status !== 200 || !Number.isSafeInteger(id) || typeof login !== "string")
      throw unavailable(this.title, new Error(`GET /user answers with status ${status}`));
    const hasName = typeof name === "string" && name.trim() !== "";
    const title = shortened(hasName ? `${name} (${login})` : login, limits.idCharacters);
    const teams = ruleNames(this.settings, "teams");
    const organizations = new Set([
      ...ruleNames(this.settings, "organizations"),
      ...teams.map((team) => team.split("/")[0]!),
    ]);
    const obstacles: string[] = [];
    const memberOf = await this.#which([...organizations], (organization) =>
      this.#isMember(organization, access, obstacles),
    );
    const asked = teams.filter((team) => memberOf.includes(team.split("/")[0]!));
    const inTeams = await this.#which(asked, (team) =>
      this.#isInTeam(team, { login, access, obstacles }),
    );
    return {
      principal: `${this.#server} ${String(id)}`,
      title,
      facts: {
        users: [ID + String(id), ...(await this.#loginOf(login, String(id), obstacles))],
        organizations: memberOf,
        teams: inTeams,
      },
      obstacles,
    };
  }

  /** The login, if a rule names it and it still belongs to its first owner; otherwise nothing. */
  async #loginOf(login: string, id: string, obstacles: string[]): Promise<string[]> {
    const own = login.toLowerCase();
    if (!ruleNames(this.settings, "users").includes(own)) return [];
    if ((await this.firstOwnerOf(`user ${own}`, id)) === id) return [own];
    obstacles.push(
      `Another account was called ${own} before. Whoever runs this server can let this one in by its id, ${id}.`,
    );
    return [];
  }

  async #isMember(organization: string, access: string, obstacles: string[]): Promise<boolean> {
    const path = `/user/memberships/orgs/${encodeURIComponent(organization)}`;
    const { status, headers, body } = await this.#ask(path, access);
    if (status === 403) {
      obstacles.push(obstacleIn(headers, organization, body));
      return false;
    }
    if (status !== 200) return false;
    const { id, login } = isObject(body["organization"]) ? body["organization"] : {};
    if (typeof body["state"] !== "string" || !Number.isSafeInteger(id))
      throw unavailable(this.title, new Error(`GET ${path} answers without state or organization`));
    if (body["state"] !== "active") {
      if (body["state"] === "pending")
        obstacles.push(`The invitation to ${organization} is open: accept it at GitHub first.`);
      return false;
    }
    const isSame = await this.#isSame(`organization ${organization}`, String(id), obstacles);
    return isSame && String(login).toLowerCase() === organization;
  }

  async #isInTeam(
    team: string,
    { login, access, obstacles }: { login: string; access: string; obstacles: string[] },
  ): Promise<boolean> {
    const path = `/orgs/${team.split("/").map(encodeURIComponent).join("/teams/")}`;
    const membership = `${path}/memberships/${encodeURIComponent(login)}`;
    const { status, body } = await this.#ask(membership, access);
    if (status !== 200 || body["state"] !== "active") return false;
    const { id } = (await this.#ask(path, access)).body;
    if (!Number.isSafeInteger(id))
      throw unavailable(this.title, new Error(`GET ${path} answers without the team's id`));
    return this.#isSame(`team ${team}`, String(id), obstacles);
  }

  /**
   * True if an organization or team still has its first owner's name: anybody can take the former name of an organization,
   * and any member of the organization that of a team.
   */
  async #isSame(named: string, id: string, obstacles: string[]): Promise<boolean> {
    const first = await this.firstOwnerOf(named, id);
    if (first === id) return true;
    logError(
      new Error(
        `SIGN_IN.${this.name} names the ${printable(named)}, whose id at GitHub was ${first} and is now ${id}. Another one has the name, so nobody is let in by it. Use the present name of yours. If it is this one: npx wrangler kv key delete --binding OAUTH_KV --remote '${printable(this.keyOf(named))}'`,
      ),
    );
    obstacles.push(`The ${named} is not the one that this server means.`);
    return false;
  }

  /** The names for which the check is true. A few run at a time. */
  async #which(
    all: readonly string[],
    isTrue: (name: string) => Promise<boolean>,
  ): Promise<string[]> {
    const found: string[] = [];
    for (let at = 0; at < all.length; at += AT_ONCE) {
      const some = all.slice(at, at + AT_ONCE);
      const answers = await Promise.all(some.map(isTrue));
      found.push(...some.filter((_name, nth) => answers[nth]));
    }
    return found;
  }

  /** Requests a path of the API. Throws `unavailable`, also where GitHub limits the rate. */
  async #ask(path: string, access: string): Promise<ApiResponse> {
    const answer = await this.request(this.#api + path, access, {
      headers: { accept: "application/vnd.github+json", "user-agent": "edge-servlets" },
    });
    const { status } = answer;
    if (isRateLimited(answer))
      throw unavailable(this.title, new Error(`GET ${path} answers with status ${status}`));
    if (status === 401 && path !== "/user") throw unknownSignIn(this.title);
    return answer;
  }
}

/** https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api */
function isRateLimited({ status, headers, body }: ApiResponse): boolean {
  if (status !== 403) return false;
  const isUsedUp = headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0";
  return isUsedUp || /rate limit/i.test(String(body["message"]));
}

/** How long before its end a token counts as expired, in ms. */
const MARGIN_MS = 60_000;

/** Concurrent requests: GitHub takes many for abuse. */
const AT_ONCE = 6;

/** Why GitHub does not tell whether somebody is a member. */
function obstacleIn(headers: Headers, organization: string, { message }: Json): string {
  const [, url] = /url=(https:\/\/[^\s;,]+)/.exec(headers.get("x-github-sso") ?? "") ?? [];
  if (url !== undefined)
    return `${organization} wants its single sign-on first: open ${url}, then sign in here again.`;
  if (/OAuth App access restrictions/i.test(String(message)))
    return `${organization} has not approved this app yet: one of its owners does, at GitHub under Settings, Third-party access. Ask them, then sign in again.`;
  return `GitHub does not tell this app who belongs to ${organization}: it needs the scope read:org, or as a GitHub App the permission Members: read and an installation in ${organization}.`;
}
