import { hash, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { freePort } from "../workerd.ts";
import { bodyOf, type Outage, type Received, standIn } from "./stand-in.ts";

/** Membership of an organization: https://docs.github.com/en/rest/orgs/members */
export interface Membership {
  /** `pending`: invited, not a member yet. */
  state: "active" | "pending";
  role?: "member" | "admin";
}

/** Membership of a team: https://docs.github.com/en/rest/teams/members */
export interface TeamMembership {
  state: "active" | "pending";
  role?: "member" | "maintainer";
}

/** A person with an account. */
export interface Person {
  id: number;
  login: string;
  name?: string;
  /** By login of the organization, in lower case. */
  organizations?: Record<string, Membership>;
  /** By login of the organization and slug of the team, in lower case: `acme/core`. */
  teams?: Record<string, TeamMembership>;
}

/** Id and policies of an organization. An organization known only from memberships gets an id when it is first asked for. */
export interface Organization {
  id: number;
  /** Whether access of the OAuth App lacks approval. */
  restricted?: boolean;
  /** Whether a SAML session is required; nobody has one. */
  singleSignOn?: boolean;
  /** Whether the GitHub App is not installed. */
  lacksApp?: boolean;
}

/** An exceeded rate limit: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api */
export interface RateLimit {
  kind: "primary" | "secondary";
  status?: 403 | 429;
  /** Seconds. */
  retryAfter?: number;
}

interface Token {
  personId: number;
  access: string;
  refresh?: string | undefined;
  scopes: string[];
  isExpired?: boolean;
}

interface Code {
  personId: number;
  redirectUri: string;
  challenge: string | null;
  scopes: string[];
}

/** A stand-in for a GitHub Enterprise Server at `url`. Tests may change its fields at any time. */
export interface GitHub {
  url: string;
  issuer: string;
  /** The registered app. Tokens of a `github` app expire and have no scopes; tokens of an `oauth` app have scopes and no end. */
  app: { kind: "oauth" | "github"; clientId: string; clientSecret: string; callback: string };
  people: Person[];
  /** By login, in lower case. */
  organizations: Record<string, Organization>;
  /** Ids of teams, by `organization/slug` in lower case. A team known only from memberships gets one when it is asked for. */
  teamIds: Record<string, number>;
  /** Requested scopes that people do not grant. */
  refusedScopes: Set<string>;
  /** Refuses every API request while it is set. */
  rateLimit: RateLimit | undefined;
  /** `iss` of authorization responses; `undefined` for none. Default: `issuer`. */
  sentIssuer: string | undefined;
  /** Answers instead of those of the API, by the start of the path behind `/api/v3`. `body` is not JSON. */
  instead: Map<string, { status: number; body: string }>;
  /** Called before the API answers a request. */
  before: (path: string) => Promise<void> | void;
  requests: Received[];
  /** Takes the server down; without an argument up again. */
  fail(how?: Outage): Promise<void>;
  /** Renames an organization, which keeps its id, members and policies. The old login becomes free. */
  renameOrganization(from: string, to: string): void;
  /** Expires the access tokens of a person; refresh tokens still work. */
  expire(login: string): void;
  /** Revokes all tokens of a person. */
  revoke(login: string): void;
  /** Valid access tokens of a person. */
  tokensOf(login: string): string[];
  close(): Promise<void>;
}

type Answer = { status: number; body?: object; headers?: Record<string, string> };

const DOCUMENTATION = "https://docs.github.com/rest";
const HOURS_8 = 28_800;
const MONTHS_6 = 15_897_600;

const failed = (status: number, message: string, headers = {}): Answer => ({
  status,
  body: { message, documentation_url: DOCUMENTATION, status: String(status) },
  headers,
});

const NOT_FOUND = failed(404, "Not Found");

const isLogin = (one: string, other: string | null) => one.toLowerCase() === other?.toLowerCase();

/** Errors of the token endpoint come with status 200: https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors */
const TOKEN_ERRORS = {
  incorrect_client_credentials: "The client_id and/or client_secret passed are incorrect.",
  redirect_uri_mismatch:
    "The redirect_uri MUST match the registered callback URL for this application.",
  bad_verification_code: "The code passed is incorrect or expired.",
  bad_refresh_token: "The refresh token passed is incorrect or expired.",
  unsupported_grant_type: "The grant type is not supported.",
};

const tokenError = (error: keyof typeof TOKEN_ERRORS): Answer => ({
  status: 200,
  body: { error, error_description: TOKEN_ERRORS[error], error_uri: DOCUMENTATION },
});

const page = (people: Person[], clientId: string) => `<!doctype html>
<html lang="en"><head><title>Authorize ${clientId}</title></head><body><main>
<h1>Authorize ${clientId}</h1>
<form method="post">
<label>Login <input name="login" list="people" autocomplete="off"></label>
<datalist id="people">${people.map(({ login }) => `<option>${login}</option>`).join("")}</datalist>
<button name="authorize" value="1">Authorize</button>
<button name="authorize" value="0">Cancel</button>
</form></main></body></html>`;

/**
 * Starts a stand-in for GitHub, with the paths of an Enterprise Server.
 *
 *     const github = await gitHub("http://127.0.0.1:8787/callback");
 *     github.people.push({ id: 1, login: "Ada", organizations: { acme: { state: "active" } } });
 *     await new PersonBrowser().go(authorizationUrl, { login: "ada" }); // or { login: "ada", authorize: "0" }
 */
export async function gitHub(callback = "http://127.0.0.1/callback"): Promise<GitHub> {
  const codes = new Map<string, Code>();
  let tokens: Token[] = [];
  let nextOrganization = 1000;
  const port = await freePort();

  const personOf = (login: string | null) =>
    github.people.find((person) => isLogin(person.login, login));

  const personWith = (id: number) => github.people.find((person) => person.id === id);

  const organizationOf = (login: string): Organization => {
    const { organizations } = github;
    return (organizations[login.toLowerCase()] ??= { id: nextOrganization++ });
  };

  /** https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#redirect-urls, without the exception for ports of loopback addresses */
  const isRegistered = (redirectUri: string) => {
    const [url, registered] = [new URL(redirectUri), new URL(github.app.callback)];
    const below = registered.pathname.replace(/\/?$/, "/");
    return url.origin === registered.origin && `${url.pathname}/`.startsWith(below);
  };

  function redirect(response: ServerResponse, to: string, parameters: Record<string, string>) {
    const url = new URL(to);
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    response.writeHead(302, { location: url.href }).end();
  }

  async function authorize(request: IncomingMessage, response: ServerResponse) {
    const { query } = server.recordOf(request);
    const { app } = github;
    if (query.get("client_id") !== app.clientId) return void response.writeHead(404).end("404");
    const redirectUri = query.get("redirect_uri") ?? app.callback;
    const sent: Record<string, string> = {};
    if (query.has("state")) sent["state"] = query.get("state")!;
    if (github.sentIssuer !== undefined) sent["iss"] = github.sentIssuer;
    const refuse = (error: string, error_description: string, to = redirectUri) =>
      redirect(response, to, { error, error_description, error_uri: DOCUMENTATION, ...sent });
    if (!isRegistered(redirectUri)) {
      const [error, why] = ["redirect_uri_mismatch", TOKEN_ERRORS.redirect_uri_mismatch];
      return refuse(error, why, app.callback);
    }
    const challenge = query.get("code_challenge");
    if (challenge !== null && query.get("code_challenge_method") !== "S256")
      return refuse("invalid_request", "The code_challenge_method must be S256.");
    const form = new URLSearchParams(await bodyOf(request));
    if (form.get("authorize") === "0")
      return refuse("access_denied", "The user has denied your application access.");
    const person = personOf(form.get("login"));
    if (request.method !== "POST" || person === undefined) {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      return void response.end(page(github.people, app.clientId));
    }
    const asked = query.get("scope")?.split(/[ ,]+/).filter(Boolean) ?? [];
    const scopes = asked.filter((scope) => !github.refusedScopes.has(scope));
    const code = randomUUID().replaceAll("-", "").slice(0, 20);
    codes.set(code, { personId: person.id, redirectUri, challenge, scopes });
    redirect(response, redirectUri, { code, ...sent });
  }

  function issue({ personId, scopes }: { personId: number; scopes: string[] }): Answer {
    const isExpiring = github.app.kind === "github";
    const secret = () => randomUUID().replaceAll("-", "");
    const access = `${isExpiring ? "ghu" : "gho"}_${secret()}`;
    const refresh = isExpiring ? `ghr_${secret()}` : undefined;
    const granted = isExpiring ? [] : scopes;
    tokens.push({ personId, access, refresh, scopes: granted });
    const expiry = isExpiring && {
      expires_in: HOURS_8,
      refresh_token: refresh,
      refresh_token_expires_in: MONTHS_6,
    };
    const scope = granted.join(",");
    return { status: 200, body: { access_token: access, ...expiry, scope, token_type: "bearer" } };
  }

  async function tokenAnswer(request: IncomingMessage): Promise<Answer> {
    const record = server.recordOf(request);
    const text = await bodyOf(request);
    const isJson = request.headers["content-type"]?.includes("json");
    const form = isJson
      ? new URLSearchParams(JSON.parse(text) as Record<string, string>)
      : new URLSearchParams(text || record.query);
    const basic = /^Basic (.*)$/.exec(request.headers.authorization ?? "")?.[1];
    const [id, secret] =
      basic === undefined
        ? [form.get("client_id"), form.get("client_secret")]
        : atob(basic).split(":").map(decodeURIComponent);
    record.grant = form.get("grant_type") ?? "authorization_code";
    if (id !== github.app.clientId || secret !== github.app.clientSecret)
      return tokenError("incorrect_client_credentials");
    if (record.grant === "refresh_token") {
      const old = tokens.find(({ refresh }) => refresh && refresh === form.get("refresh_token"));
      const owner = old && personWith(old.personId);
      if (owner === undefined) return tokenError("bad_refresh_token");
      record.login = owner.login;
      // A used refresh token ends with its access token.
      tokens = tokens.filter((one) => one !== old);
      return issue(old!);
    }
    if (record.grant !== "authorization_code") return tokenError("unsupported_grant_type");
    const code = codes.get(form.get("code") ?? "");
    if (code === undefined) return tokenError("bad_verification_code");
    if ((form.get("redirect_uri") ?? code.redirectUri) !== code.redirectUri)
      return tokenError("redirect_uri_mismatch");
    codes.delete(form.get("code")!);
    const verifier = form.get("code_verifier") ?? "";
    if (code.challenge !== null && code.challenge !== hash("sha256", verifier, "base64url"))
      return tokenError("bad_verification_code");
    const person = personWith(code.personId);
    if (person === undefined) return tokenError("bad_verification_code");
    record.login = person.login;
    return issue(code);
  }

  function limited({ kind, status = 403, retryAfter = 60 }: RateLimit, person: Person): Answer {
    if (kind === "secondary")
      return failed(
        status,
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        { "retry-after": String(retryAfter) },
      );
    return failed(status, `API rate limit exceeded for user ID ${person.id}.`, {
      "retry-after": String(retryAfter),
      "x-ratelimit-limit": "5000",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": String(Math.floor(Date.now() / 1000) + retryAfter),
    });
  }

  /** Refusal of a token without the scopes to read organizations. */
  function scopeRefusal({ scopes }: Token): Answer | undefined {
    const isEnough = scopes.some((scope) => /^(admin|write|read):org$|^user$/.test(scope));
    if (github.app.kind === "github" || isEnough) return undefined;
    return failed(403, "You need at least read:org scope or user scope.", {
      "x-accepted-oauth-scopes": "admin:org, read:org, user, write:org",
    });
  }

  /** Refusal by the policies of an organization. */
  function policyRefusal(org: string): Answer | undefined {
    const { restricted, singleSignOn, lacksApp } = github.organizations[org.toLowerCase()] ?? {};
    const { kind } = github.app;
    if (kind === "github" && lacksApp) return failed(403, "Resource not accessible by integration");
    if (kind === "oauth" && restricted)
      return failed(
        403,
        `Although you appear to have the correct authorization credentials, the \`${org}\` organization has enabled OAuth App access restrictions, meaning that data access to third-parties is limited. For more information on these restrictions, including how to enable this app, visit https://docs.github.com/articles/restricting-access-to-your-organization-s-data/`,
      );
    if (!singleSignOn) return undefined;
    const session = `https://github.com/orgs/${org}/sso?authorization_request=AZSCKtL4U8yX1H3sCQIVnVgmjmon5fWxks5YrqhJgah0b2tlbl9pZM4EuMz4`;
    return failed(
      403,
      "Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization.",
      { "x-github-sso": `required; url=${session}` },
    );
  }

  const api = (path: string) => `${github.url}/api/v3${path}`;

  const userOf = ({
    id,
    login,
    name = null,
  }: {
    id: number;
    login: string;
    name?: string | null;
  }) => ({
    login,
    id,
    url: api(`/users/${login}`),
    html_url: `${github.url}/${login}`,
    type: "User",
    name,
  });

  function apiAnswer(path: string, token: Token, person: Person): Answer {
    if (path === "/user") return { status: 200, body: userOf(person) };
    const [, org] = /^\/user\/memberships\/orgs\/([^/]+)$/.exec(path) ?? [];
    if (org !== undefined) {
      const membership = person.organizations?.[org.toLowerCase()];
      if (membership === undefined) return scopeRefusal(token) ?? NOT_FOUND;
      const login = org.toLowerCase();
      const body = {
        url: api(`/orgs/${login}/memberships/${person.login}`),
        state: membership.state,
        role: membership.role ?? "member",
        organization_url: api(`/orgs/${login}`),
        organization: { login, id: organizationOf(org).id, url: api(`/orgs/${login}`) },
        user: userOf(person),
      };
      return scopeRefusal(token) ?? policyRefusal(org) ?? { status: 200, body };
    }
    const [, at, named] = /^\/orgs\/([^/]+)\/teams\/([^/]+)$/.exec(path) ?? [];
    if (at !== undefined) {
      // https://docs.github.com/en/rest/teams/teams#get-a-team-by-name
      const id = (github.teamIds[`${at}/${named}`.toLowerCase()] ??= nextOrganization++);
      const body = { id, slug: named, url: api(path) };
      return scopeRefusal(token) ?? policyRefusal(at) ?? { status: 200, body };
    }
    const [, owner, slug, login] =
      /^\/orgs\/([^/]+)\/teams\/([^/]+)\/memberships\/([^/]+)$/.exec(path) ?? [];
    const membership = personOf(login!)?.teams?.[`${owner}/${slug}`.toLowerCase()];
    if (owner === undefined) return NOT_FOUND;
    if (membership === undefined) return scopeRefusal(token) ?? NOT_FOUND;
    const { state, role = "member" } = membership;
    const body = { url: api(path), role, state };
    return scopeRefusal(token) ?? policyRefusal(owner) ?? { status: 200, body };
  }

  async function revokeGrant(request: IncomingMessage, clientId: string): Promise<Answer> {
    const { app } = github;
    const credentials = `Basic ${btoa(`${app.clientId}:${app.clientSecret}`)}`;
    if (clientId !== app.clientId || request.headers.authorization !== credentials)
      return NOT_FOUND;
    const { access_token } = JSON.parse(await bodyOf(request)) as { access_token?: string };
    const token = tokens.find(({ access }) => access === access_token);
    if (token === undefined) return failed(422, "Validation Failed");
    tokens = tokens.filter(({ personId }) => personId !== token.personId);
    return { status: 204 };
  }

  async function answer(request: IncomingMessage): Promise<Answer> {
    const record = server.recordOf(request);
    if (record.path === "/login/oauth/access_token" && request.method === "POST")
      return tokenAnswer(request);
    const [, path] = /^\/api\/v3(\/.*)$/.exec(record.path) ?? [];
    if (path === undefined) return NOT_FOUND;
    // As GitHub does; `fetch` in a Worker sends none by itself.
    if (!request.headers["user-agent"])
      return failed(
        403,
        "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.",
      );
    const [, clientId] = /^\/applications\/([^/]+)\/grant$/.exec(path) ?? [];
    if (clientId !== undefined && request.method === "DELETE")
      return revokeGrant(request, clientId);
    const [, access] = /^(?:Bearer|token) (.*)$/i.exec(request.headers.authorization ?? "") ?? [];
    if (access === undefined) return failed(401, "Requires authentication");
    const token = tokens.find((one) => one.access === access && !one.isExpired);
    const person = token && personWith(token.personId);
    if (token === undefined || person === undefined) return failed(401, "Bad credentials");
    record.login = person.login;
    if (github.rateLimit !== undefined) return limited(github.rateLimit, person);
    const { status, body, headers } = apiAnswer(path, token, person);
    return {
      status,
      body: body ?? {},
      headers: { "x-oauth-scopes": token.scopes.join(", "), ...headers },
    };
  }

  const server = await standIn((request, response) => {
    void (async () => {
      const { path } = server.recordOf(request);
      if (path === "/login/oauth/authorize") return authorize(request, response);
      const apiPath = path.replace(/^\/api\/v3/, "");
      await github.before(apiPath);
      const odd = [...github.instead].find(([start]) => apiPath.startsWith(start))?.[1];
      if (odd !== undefined)
        return void response.writeHead(odd.status, { location: "/elsewhere" }).end(odd.body);
      const { status, body, headers } = await answer(request);
      const isForm = path.startsWith("/login/") && !request.headers.accept?.includes("json");
      const type = isForm ? "application/x-www-form-urlencoded" : "application/json";
      response.writeHead(status, { "content-type": `${type}; charset=utf-8`, ...headers });
      if (body === undefined) return void response.end();
      response.end(isForm ? String(new URLSearchParams({ ...body })) : JSON.stringify(body));
    })().catch((error: unknown) => response.writeHead(500).end(String(error)));
  }, port);

  const isOf = (login: string) => {
    const person = personOf(login);
    return ({ personId }: Token) => personId === person?.id;
  };
  const issuer = `${server.url}/login/oauth`;
  const github: GitHub = {
    url: server.url,
    issuer,
    app: {
      kind: "oauth",
      clientId: "Iv1.8a61f9b3a7aba766",
      clientSecret: "the secret of the app at GitHub",
      callback,
    },
    people: [],
    organizations: {},
    teamIds: {},
    refusedScopes: new Set(),
    rateLimit: undefined,
    sentIssuer: issuer,
    instead: new Map(),
    before: () => undefined,
    requests: server.requests,
    fail: server.fail,
    renameOrganization(from, to) {
      const rename = (all: Record<string, unknown> = {}) => {
        for (const [name, value] of Object.entries(all)) {
          const renamed = name.replace(new RegExp(`^${from}(?=/|$)`, "i"), to.toLowerCase());
          if (renamed === name) continue;
          delete all[name];
          all[renamed] = value;
        }
      };
      organizationOf(from);
      rename(github.organizations);
      for (const { organizations, teams } of github.people) {
        rename(organizations);
        rename(teams);
      }
    },
    expire(login) {
      for (const token of tokens.filter(isOf(login))) token.isExpired = true;
    },
    revoke(login) {
      const isTheirs = isOf(login);
      tokens = tokens.filter((token) => !isTheirs(token));
    },
    tokensOf: (login) =>
      tokens
        .filter(isOf(login))
        .filter(({ isExpired }) => !isExpired)
        .map(({ access }) => access),
    close: server.close,
  };
  return github;
}
