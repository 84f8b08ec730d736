import * as oauth from "oauth4webapi";
import type { Settings } from "../settings/env.ts";
import { Fault, orAborted } from "../core/errors.ts";
import { isRecent } from "../core/recent.ts";
import { limits } from "./limits.ts";
import { isObject } from "../core/model.ts";
import { jsonIn } from "../core/text.ts";
import { type ProviderSettings, isSecureUrl } from "../settings/oauth-settings.ts";
import { textWithin } from "../http/body.ts";

/** The tokens of a provider's grant. They never leave the host. */
export interface Tokens {
  access: string;
  refresh?: string;
  /** Unix time in ms; absent if the provider does not say. */
  expires?: number;
}

/** What a provider has granted. */
export interface Granted {
  tokens: Tokens;
  /** The claims of the ID token, if there is one. */
  claims?: oauth.IDToken;
  /** The granted scopes, if the provider names them. */
  scopes?: readonly string[];
}

/** A pending authorization request: what the provider's response is checked against. */
export interface Begun {
  state: string;
  verifier: string;
  nonce?: string;
  redirectUri: string;
  /** The server that the tokens are for: https://www.rfc-editor.org/rfc/rfc8707 */
  resource?: string;
}

/** The required issuer of this ID token, which is not verified yet. */
type IssuerOf = (idToken: string) => string;

/** The cause of a fault if the provider does not know this server as a client, or refuses its secret. */
export class RefusedClient extends Error {}

/** What some providers have besides their settings. */
interface ProviderDetails {
  /** For a provider that has an issuer for each tenant. */
  issuerOf?: IssuerOf | undefined;
  /** Its metadata, if it is known; then none is fetched, and the endpoints in the settings do not count. */
  metadata?: oauth.AuthorizationServer;
}

/** An authorization server at which this server is a client: https://www.rfc-editor.org/rfc/rfc9700 */
export class Provider {
  readonly name: string;
  readonly #settings: ProviderSettings;
  readonly #client: oauth.Client;
  readonly #auth: oauth.ClientAuth;
  readonly #issuerOf: IssuerOf | undefined;
  readonly #known: oauth.AuthorizationServer | undefined;
  #metadata: { of: oauth.AuthorizationServer; at: number } | undefined;

  /** `secret` is the client secret; absent for a public client. */
  constructor(
    name: string,
    settings: ProviderSettings,
    secret: string | undefined,
    { issuerOf, metadata }: ProviderDetails = {},
  ) {
    this.name = name;
    this.#issuerOf = issuerOf;
    this.#known = metadata;
    this.#settings = settings;
    this.#client = { client_id: settings.client_id };
    this.#auth =
      secret === undefined
        ? oauth.None()
        : settings.auth === "post"
          ? oauth.ClientSecretPost(secret)
          : oauth.ClientSecretBasic(secret);
  }

  /** The provider with its client secret from these variables. Throws if the secret is missing. */
  static of(
    name: string,
    settings: ProviderSettings,
    variables: Readonly<Record<string, string>>,
  ): Provider {
    const { client_secret: variable } = settings;
    const secret = variable === undefined ? undefined : variables[variable];
    if (variable === undefined || secret !== undefined) return new Provider(name, settings, secret);
    throw new Error(
      `The Worker's configuration is not valid. The client secret of ${name}, ${variable}, is missing: set it with wrangler secret put ${variable}.`,
    );
  }

  get clientId(): string {
    return this.#client.client_id;
  }

  /** Identifies the server that grants tokens and the client that they are granted to. */
  get identity(): string {
    const { issuer, token_endpoint } = this.#settings;
    return `${issuer ?? token_endpoint} ${this.clientId}`;
  }

  /** The provider's host, as people know it. */
  get host(): string {
    const { issuer, authorization_endpoint } = this.#settings;
    return new URL(issuer ?? authorization_endpoint!).host;
  }

  /**
   * The URL at which a person grants these scopes, with PKCE. `params` are in addition to those of the settings;
   * `resource` is the server that the tokens are for. Throws `unavailable`.
   */
  begin(
    scopes: readonly string[],
    redirectUri: string,
    {
      params: more = {},
      resource,
    }: {
      params?: Readonly<Record<string, string>> | undefined;
      resource?: string | undefined;
    } = {},
  ): Promise<{ url: string; begun: Begun }> {
    return this.#does("cannot be reached", async () => {
      const { authorization_endpoint } = await this.#server();
      const all = [...new Set([...this.#settings.scopes, ...scopes])];
      const begun: Begun = {
        state: oauth.generateRandomState(),
        verifier: oauth.generateRandomCodeVerifier(),
        redirectUri,
        ...(all.includes("openid") && { nonce: oauth.generateRandomNonce() }),
        ...(resource !== undefined && { resource }),
      };
      const params = {
        ...this.#settings.params,
        ...more,
        response_type: "code",
        client_id: this.#client.client_id,
        redirect_uri: redirectUri,
        state: begun.state,
        code_challenge: await oauth.calculatePKCECodeChallenge(begun.verifier),
        code_challenge_method: "S256",
        ...(all.length > 0 && { scope: all.join(" ") }),
        ...(begun.nonce !== undefined && { nonce: begun.nonce }),
        ...(resource !== undefined && { resource }),
      };
      const url = new URL(authorization_endpoint!);
      for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
      return { url: url.href, begun };
    });
  }

  /**
   * The grant of the provider's response, which the person's browser has brought; undefined if the person refused.
   * Throws `unavailable`, also for a response to another request or of another issuer.
   */
  finish(answer: URLSearchParams, begun: Begun): Promise<Granted | undefined> {
    const { state, verifier, nonce, redirectUri, resource } = begun;
    return this.#does("did not grant access", async () => {
      const server = await this.#server();
      const iss = answer.get("iss");
      if (iss !== null && iss !== server.issuer && this.#settings.issuer === undefined)
        throw new Fault(
          "unavailable",
          `The provider ${this.name} (${this.host}) names its issuer, which ACCOUNTS lacks: the owner of this server adds it.`,
          {
            cause: new Error(`ACCOUNTS.${this.name} has no issuer. Its answer has the iss ${iss}`),
          },
        );
      let checked: URLSearchParams;
      try {
        checked = oauth.validateAuthResponse(server, this.#client, answer, state);
      } catch (error) {
        if (!(error instanceof oauth.AuthorizationResponseError)) throw error;
        if (error.error === "access_denied") return undefined;
        throw error;
      }
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        this.#client,
        this.#auth,
        checked,
        redirectUri,
        verifier,
        optionsFor(server, resource),
      );
      const expectedNonce = nonce ?? oauth.expectNoNonce;
      return grantedBy(
        await oauth.processAuthorizationCodeResponse(
          await this.#tenantOf(server, response),
          this.#client,
          response,
          { expectedNonce },
        ),
      );
    });
  }

  /**
   * New tokens for this resource, if any; undefined if the provider no longer grants them. Throws `unavailable`, whose
   * cause is a `RefusedClient` if the provider no longer accepts this server.
   */
  refresh(refresh: string, resource?: string): Promise<Granted | undefined> {
    return this.#does("did not renew access", async () => {
      const server = await this.#server();
      try {
        const response = await oauth.refreshTokenGrantRequest(
          server,
          this.#client,
          this.#auth,
          refresh,
          optionsFor(server, resource),
        );
        const { tokens, ...granted } = grantedBy(
          await oauth.processRefreshTokenResponse(
            await this.#tenantOf(server, response),
            this.#client,
            response,
          ),
        );
        return { ...granted, tokens: { refresh, ...tokens } };
      } catch (error) {
        const isOver = error instanceof oauth.ResponseBodyError && OVER.has(error.error);
        if (isOver) return undefined;
        throw error;
      }
    });
  }

  /**
   * The claims of this subject at the userinfo endpoint; undefined if the access token is no longer valid, or the
   * provider has no such endpoint. Throws `unavailable`.
   */
  userInfo(access: string, subject: string): Promise<oauth.UserInfoResponse | undefined> {
    return this.#does("did not say who has signed in", async () => {
      const server = await this.#server();
      const { userinfo_endpoint: endpoint } = server;
      if (endpoint === undefined) return undefined;
      if (!isSecureUrl(endpoint)) throw new Error(`${endpoint} is not https`);
      const response = await oauth.userInfoRequest(server, this.#client, access, options(endpoint));
      if (response.status === 401 || response.status === 403) return undefined;
      return oauth.processUserInfoResponse(server, this.#client, subject, response);
    });
  }

  /** Revokes these tokens at the provider, if it supports that. Throws `unavailable`. */
  revoke({ access, refresh }: Tokens): Promise<void> {
    return this.#does("did not revoke access", async () => {
      const server = await this.#server();
      const { revocation_endpoint } = server;
      if (revocation_endpoint === undefined) return;
      for (const token of [refresh, access]) {
        if (token === undefined) continue;
        await oauth.processRevocationResponse(
          await oauth.revocationRequest(
            server,
            this.#client,
            this.#auth,
            token,
            options(revocation_endpoint),
          ),
        );
      }
    });
  }

  /** The provider's `scopes_supported`; empty if it does not publish them. Throws `unavailable`. */
  knownScopes(): Promise<readonly string[]> {
    return this.#does("cannot be reached", async () => {
      const { scopes_supported: scopes = [] } = await this.#server();
      return scopes;
    });
  }

  /** The metadata, with the issuer of the tenant in the response's ID token. */
  async #tenantOf(
    server: oauth.AuthorizationServer,
    response: Response,
  ): Promise<oauth.AuthorizationServer> {
    const body = this.#issuerOf && jsonIn(await response.clone().text());
    if (!isObject(body) || typeof body["id_token"] !== "string") return server;
    return { ...server, issuer: this.#issuerOf!(body["id_token"]) };
  }

  /** The provider's metadata: as configured, or as published, which is fetched at most once in `limits.keySetMs`. */
  async #server(): Promise<oauth.AuthorizationServer> {
    if (this.#known !== undefined) return this.#known;
    const { issuer, authorization_endpoint, token_endpoint, revocation_endpoint } = this.#settings;
    const configured = {
      ...(authorization_endpoint !== undefined && { authorization_endpoint }),
      ...(token_endpoint !== undefined && { token_endpoint }),
      ...(revocation_endpoint !== undefined && { revocation_endpoint }),
    };
    if (authorization_endpoint !== undefined && token_endpoint !== undefined) {
      return { issuer: issuer ?? new URL(authorization_endpoint).origin, ...configured };
    }
    if (this.#metadata === undefined || !isRecent(this.#metadata.at, limits.keySetMs)) {
      const at = Date.now();
      const of = { ...(await discovered(new URL(issuer!))), ...configured };
      this.#metadata = { of, at };
    }
    return this.#metadata.of;
  }

  /** Runs a request to the provider. The provider's messages go to the log only; its error codes are reported. */
  async #does<T>(failure: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Fault) throw error;
      const code = codeIn(error);
      const why = code === undefined ? "" : ` (${code})`;
      throw new Fault(
        "unavailable",
        `The provider ${this.name} (${this.host}) ${failure}${why}. Try again later.`,
        { cause: withoutAnswer(error) },
      );
    }
  }
}

/** The providers of this deployment, by name. Throws if a client secret is missing. */
export function providersOf(
  { ACCOUNTS = {} }: Settings,
  variables: Readonly<Record<string, string>>,
): ReadonlyMap<string, Provider> {
  return new Map(
    Object.entries(ACCOUNTS).map(([name, settings]) => [
      name,
      Provider.of(name, settings, variables),
    ]),
  );
}

/**
 * Error codes for a grant that is not renewed unless the person signs in again; the second is GitHub's. Others (a wrong
 * secret, a failure) say nothing about the person. https://openid.net/specs/openid-connect-core-1_0.html#AuthError
 */
const OVER = new Set([
  "invalid_grant",
  "bad_refresh_token",
  "access_denied",
  "interaction_required",
  "login_required",
  "consent_required",
]);

function grantedBy(granted: oauth.TokenEndpointResponse): Granted {
  const { access_token: access, refresh_token: refresh, expires_in, scope } = granted;
  // The library takes DPoP, too.
  if (granted.token_type !== "bearer") throw new Error("The access token is no bearer token");
  if (access.length > limits.tokenCharacters || !BEARER.test(access))
    throw new Error("The access token is too long, or not valid in an Authorization header");
  const claims = oauth.getValidatedIdTokenClaims(granted);
  return {
    tokens: {
      access,
      ...(refresh !== undefined && { refresh }),
      ...(expires_in !== undefined && { expires: Date.now() + expires_in * 1000 }),
    },
    ...(claims && { claims }),
    // GitHub separates them by commas.
    ...(scope !== undefined && { scopes: scope.split(/[\s,]+/).filter((one) => one !== "") }),
  };
}

/** https://www.rfc-editor.org/rfc/rfc6749#appendix-A.12, without spaces. */
const BEARER = /^[!-~]+$/;

/** The `error` of an OAuth response, if it is a plain code. */
function codeIn(error: unknown): string | undefined {
  // Without a look at the body: this is for a client that has authenticated by a header.
  if (error instanceof oauth.WWWAuthenticateChallengeError && error.status === 401)
    return REFUSED_CLIENT;
  const isResponse =
    error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError;
  return isResponse && /^[a-z_]{1,64}$/.test(error.error) ? error.error : undefined;
}

/** The error for the log, without the provider's response, which may hold tokens. */
function withoutAnswer(error: unknown): Error {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : "not an error";
  return codeIn(error) === REFUSED_CLIENT ? new RefusedClient(text) : new Error(text);
}

/** https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */
const REFUSED_CLIENT = "invalid_client";

/** The metadata that an issuer publishes: by OpenID Connect, else by RFC 8414. */
async function discovered(issuer: URL): Promise<oauth.AuthorizationServer> {
  const failures: unknown[] = [];
  for (const algorithm of ["oidc", "oauth2"] as const) {
    try {
      const response = await oauth.discoveryRequest(issuer, { algorithm, ...options(issuer.href) });
      const found = await oauth.processDiscoveryResponse(issuer, response);
      const { authorization_endpoint, token_endpoint, revocation_endpoint } = found;
      const addresses = [
        authorization_endpoint,
        token_endpoint,
        revocation_endpoint ?? issuer.href,
      ];
      if (addresses.every((url) => typeof url === "string" && isSecureUrl(url))) return found;
      throw new Error(
        `The metadata of ${issuer.href} has no endpoints, or some that are not https`,
      );
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, `No metadata of ${issuer.href} was found`);
}

/** Bounded in time and size, without redirects. Plain http is for loopback hosts, as in the settings. */
const options = (url: string | undefined) => ({
  [oauth.customFetch]: requestProvider,
  [oauth.allowInsecureRequests]: url?.startsWith("http:") === true,
});

/** The same for a request to the token endpoint. */
const optionsFor = ({ token_endpoint }: oauth.AuthorizationServer, resource?: string) => ({
  ...options(token_endpoint),
  ...(resource !== undefined && { additionalParameters: { resource } }),
});

/** Requests a URL of a provider; its answer is whole. */
export async function requestProvider(url: string, init: RequestInit): Promise<Response> {
  const signal = AbortSignal.timeout(limits.issuerMs);
  const answer = async () => {
    const { status, headers, body } = await fetch(url, { ...init, redirect: "manual", signal });
    return { status, headers, text: await textWithin(body, limits.issuerBytes) };
  };
  // An aborted fetch does not always settle.
  const { status, headers, text } = await orAborted(answer(), signal);
  if (text === undefined)
    throw new Error(`${url} answers with more than ${limits.issuerBytes} bytes`);
  const isError = status === 200 && isErrorBody(text);
  return new Response(text === "" ? null : text, { status: isError ? 400 : status, headers });
}

/** GitHub reports errors with status 200. */
function isErrorBody(text: string): boolean {
  const body = jsonIn(text);
  return isObject(body) && typeof body["error"] === "string" && body["access_token"] === undefined;
}
