import { vi } from "vitest";

/**
 * A strict authorization server with dynamic registration and client documents, and a resource server for which its tokens
 * are, on the other side of `fetch`.
 */
export const ISSUER = "https://auth.example";
export const RESOURCE = "https://mcp.example/mcp";
export const METADATA = `${ISSUER}/.well-known/oauth-authorization-server`;

type Json = Record<string, any>;

interface Client {
  redirectUris: readonly string[];
  method: string;
  secret?: string;
}

interface Code {
  client: string;
  redirectUri: string;
  challenge: string;
  scope: string;
}

export interface Sent {
  url: string;
  method: string;
  body: string;
  authorization: string | null;
}

/** The URL of a page of the server under test, for client documents. */
type Page = (url: string) => Promise<Response>;

const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  Response.json(body, { status, headers });

export class AuthorizationServer {
  metadata: Json = {
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}/authorize`,
    token_endpoint: `${ISSUER}/token`,
    registration_endpoint: `${ISSUER}/register`,
    revocation_endpoint: `${ISSUER}/revoke`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    authorization_response_iss_parameter_supported: true,
    scopes_supported: ["read", "offline_access"],
  };
  /** Answers in place of the server's own, by URL. */
  readonly instead: Record<string, (sent: Sent) => Response | Promise<Response>> = {};
  /** Members of each registration's answer, and its time of expiry. */
  registration: Json = {};
  readonly clients = new Map<string, Client>();
  /** The requests in order. */
  readonly sent: Sent[] = [];
  readonly #page: Page;
  readonly #codes = new Map<string, Code>();
  readonly #refreshTokens = new Map<string, { client: string; scope: string }>();
  readonly access = new Map<string, string>();
  /** What each requested access token is for. */
  readonly resources: (string | null)[] = [];
  readonly revoked: string[] = [];
  #count = 0;

  /** Takes the place of `fetch`; `page` opens pages of the server under test. */
  constructor(page: Page = async () => new Response("", { status: 404 })) {
    this.#page = page;
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      const request = new Request(input as string, init);
      if (init?.redirect !== "manual" && request.redirect !== "manual")
        throw new Error(`${request.url} is requested with redirects`);
      const { url, method } = request;
      const body = await request.text();
      const sent = { url, method, body, authorization: request.headers.get("authorization") };
      this.sent.push(sent);
      return (this.instead[url] ?? ((one: Sent) => this.#answer(one)))(sent);
    });
  }

  requestsTo(path: string): Sent[] {
    return this.sent.filter(({ url }) => url === ISSUER + path);
  }

  /** What a person's browser does with the address of the authorization request: where it is sent back. */
  async authorize(address: string): Promise<URL> {
    const { origin, pathname, searchParams: asked } = new URL(address);
    const get = (name: string) => asked.get(name) ?? "";
    if (origin + pathname !== this.metadata["authorization_endpoint"])
      throw new Error(`${address} is not the authorization endpoint`);
    const client = await this.#clientOf(get("client_id"));
    const faults = [
      get("response_type") !== "code" && "response_type",
      client === undefined && "client_id",
      !client?.redirectUris.includes(get("redirect_uri")) && "redirect_uri",
      get("code_challenge_method") !== "S256" && "code_challenge_method",
      !/^[\w-]{43}$/.test(get("code_challenge")) && "code_challenge",
      get("state").length < 16 && "state",
      get("resource") !== RESOURCE && "resource",
    ].filter(Boolean);
    if (faults.length > 0) throw new Error(`${address} has a wrong ${faults.join(", ")}`);
    const code = `code-${++this.#count}`;
    this.#codes.set(code, {
      client: get("client_id"),
      redirectUri: get("redirect_uri"),
      challenge: get("code_challenge"),
      scope: get("scope"),
    });
    const back = new URL(get("redirect_uri"));
    back.search = String(new URLSearchParams({ code, state: get("state"), iss: ISSUER }));
    return back;
  }

  async #clientOf(id: string): Promise<Client | undefined> {
    if (!id.startsWith("https://")) return this.clients.get(id);
    if (this.metadata["client_id_metadata_document_supported"] !== true) return undefined;
    const response = await this.#page(id);
    if (response.status !== 200) return undefined;
    const document = (await response.json()) as Json;
    if (document["client_id"] !== id) return undefined;
    return {
      redirectUris: document["redirect_uris"],
      method: document["token_endpoint_auth_method"],
    };
  }

  async #answer(sent: Sent): Promise<Response> {
    switch (sent.url) {
      case METADATA:
        return json(200, this.metadata);
      case `${ISSUER}/register`:
        return this.#register(sent);
      case `${ISSUER}/token`:
        return this.#token(sent);
      case `${ISSUER}/revoke`:
        this.revoked.push(new URLSearchParams(sent.body).get("token")!);
        return new Response(null, { status: 200 });
      case RESOURCE: {
        const token = sent.authorization?.replace(/^Bearer /, "") ?? "";
        const scope = this.access.get(token);
        return scope === undefined
          ? new Response("Who?", { status: 401 })
          : new Response(`You may ${scope}`);
      }
      default:
        return this.#scoped(sent);
    }
  }

  /** `/needs/SCOPE/…` of the resource server: what needs these scopes. */
  #scoped({ url, authorization }: Sent): Response {
    const { host, pathname } = new URL(url);
    const [, first, ...needed] = pathname.split("/");
    if (host !== new URL(RESOURCE).host || first !== "needs")
      return new Response("", { status: 404 });
    const scopes = this.access.get(authorization?.replace(/^Bearer /, "") ?? "")?.split(" ") ?? [];
    if (needed.every((one) => scopes.includes(one)))
      return new Response(`Done by ${scopes.join(" ")}`);
    const challenge = `Bearer error="insufficient_scope", scope="${needed.join(" ")}"`;
    return new Response("More", { status: 403, headers: { "www-authenticate": challenge } });
  }

  #register({ method, body }: Sent): Response {
    const asked = JSON.parse(body) as Json;
    const isWrong =
      method !== "POST" ||
      typeof asked["client_name"] !== "string" ||
      !Array.isArray(asked["redirect_uris"]) ||
      asked["redirect_uris"].length !== 1 ||
      String(asked["grant_types"]) !== "authorization_code,refresh_token" ||
      String(asked["response_types"]) !== "code";
    if (isWrong) return json(400, { error: "invalid_client_metadata" });
    const id = `client-${++this.#count}`;
    const asSecret = asked["token_endpoint_auth_method"] !== "none";
    const given: Json = {
      ...asked,
      ...(asSecret && { client_secret: `secret of ${id}`, client_secret_expires_at: 0 }),
      ...this.registration,
      client_id: id,
    };
    this.clients.set(id, {
      redirectUris: asked["redirect_uris"],
      method: given["token_endpoint_auth_method"],
      ...(given["client_secret"] && { secret: given["client_secret"] }),
    });
    return json(201, given);
  }

  async #token({ body, authorization }: Sent): Promise<Response> {
    const form = new URLSearchParams(body);
    const get = (name: string) => form.get(name) ?? "";
    const [, pair = ""] = /^Basic (.*)$/.exec(authorization ?? "") ?? [];
    const [basicId, basicSecret] = atob(pair)
      .split(":")
      .map((part) => decodeURIComponent(part.replaceAll("+", " ")));
    const id = basicId || get("client_id");
    const client = await this.#clientOf(id);
    const proof = {
      none: form.has("client_secret") || pair !== "" ? "wrong" : undefined,
      client_secret_basic: basicSecret,
      client_secret_post: form.get("client_secret") ?? undefined,
    }[client?.method ?? "none"];
    if (client === undefined || proof !== client.secret)
      return json(401, { error: "invalid_client" }, pair ? { "www-authenticate": "Basic" } : {});
    if (get("resource") !== RESOURCE) return json(400, { error: "invalid_target" });
    let scope: string;
    if (get("grant_type") === "authorization_code") {
      const code = this.#codes.get(get("code"));
      this.#codes.delete(get("code"));
      const digest = await crypto.subtle.digest(
        "SHA-256",
        new TextEncoder().encode(get("code_verifier")),
      );
      const challenge = new Uint8Array(digest).toBase64({
        alphabet: "base64url",
        omitPadding: true,
      });
      const isRight =
        code?.client === id &&
        code.redirectUri === get("redirect_uri") &&
        code.challenge === challenge;
      if (!isRight) return json(400, { error: "invalid_grant" });
      ({ scope } = code);
    } else {
      const known = this.#refreshTokens.get(get("refresh_token"));
      this.#refreshTokens.delete(get("refresh_token"));
      if (get("grant_type") !== "refresh_token" || known?.client !== id)
        return json(400, { error: "invalid_grant" });
      ({ scope } = known);
    }
    const [access, refresh] = [`access-token-${++this.#count}`, `refresh-token-${this.#count}`];
    this.resources.push(form.get("resource"));
    this.access.set(access, scope);
    this.#refreshTokens.set(refresh, { client: id, scope });
    return json(200, {
      access_token: access,
      token_type: "Bearer",
      expires_in: 3600,
      refresh_token: refresh,
      scope,
    });
  }
}
