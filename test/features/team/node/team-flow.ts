import { createHash, randomBytes } from "node:crypto";
import { linkOf, PersonBrowser, type Shown } from "../../../node/http/account-provider.ts";
import { freePort } from "../../../node/workerd.ts";
import { listening } from "../../../node/http/stand-in.ts";

/** A person with a browser and an app, who signs in at a provider. */

/** Where apps want to be sent back to: every page there is empty. Files of tests share it, so none closes it. */
const appPort = await freePort();
const APP = `http://127.0.0.1:${appPort}/callback`;
(await listening((_request, response) => void response.end("Back"), appPort)).unref();

type Json = Record<string, any>;

/** What a person answers at a provider and on the pages of the server. */
const answersFor = (login: string) => ({ login, password: "any", decision: "allow" });

/** A page's link to a provider. */
export const wayTo = (page: Shown, title: string): string => linkOf(page, `Continue with ${title}`);

export class Member {
  readonly login: string;
  readonly title: string;
  readonly server: URL;
  readonly browser = new PersonBrowser();
  #client: string | undefined;
  readonly #verifier = randomBytes(32).toString("base64url");

  /** A person with this login at the provider of that title. `client` is the id of an app that is registered. */
  constructor(server: URL, title: string, login: string, client?: string) {
    this.#client = client;
    this.server = server;
    this.title = title;
    this.login = login;
  }

  /** Signs in at a page of the server, and shows what comes then. */
  async open(path: string): Promise<Shown> {
    const page = await this.browser.open(new URL(path, this.server).href);
    return this.go(wayTo(page, this.title));
  }

  /** Goes on at the provider until the server shows a page that is no form to sign in. */
  go(from: string): Promise<Shown> {
    const isBack = ({ url }: Shown) => url.origin === this.server.origin;
    return this.browser.go(from, answersFor(this.login), isBack);
  }

  /** The address at which an app has a person sign in. */
  async asked(more: Record<string, string> = {}): Promise<string> {
    this.#client ??= await this.register();
    const challenge = createHash("sha256").update(this.#verifier).digest("base64url");
    const search = new URLSearchParams({
      response_type: "code",
      client_id: this.#client,
      redirect_uri: APP,
      state: "s1",
      code_challenge: challenge,
      code_challenge_method: "S256",
      resource: this.server.href,
      ...more,
    });
    return new URL(`/authorize?${search.toString()}`, this.server).href;
  }

  /** The id of a new app. */
  async register(): Promise<string> {
    const body = JSON.stringify({
      client_name: "An app",
      redirect_uris: [APP],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
    });
    const headers = { "content-type": "application/json" };
    const url = new URL("/oauth/register", this.server);
    const response = await fetch(url, { method: "POST", body, headers });
    return ((await response.json()) as Json)["client_id"] as string;
  }

  /** The page after the sign-in at the provider, on which the person may consent. */
  async consent(more: Record<string, string> = {}): Promise<Shown> {
    const asked = await this.asked(more);
    return this.go(wayTo(await this.browser.open(asked), this.title));
  }

  /** Consents, and returns the page to which that leads: of the app, or of the server. */
  agree(page: Shown): Promise<Shown> {
    return this.browser.submit(page, answersFor(this.login));
  }

  /** An app's tokens for its code. */
  tokens({ url }: Shown): Promise<Json> {
    return this.token({
      grant_type: "authorization_code",
      code: url.searchParams.get("code") ?? "",
      code_verifier: this.#verifier,
      redirect_uri: APP,
    });
  }

  refresh(refresh_token: string): Promise<Json> {
    return this.token({ grant_type: "refresh_token", refresh_token });
  }

  async token(grant: Record<string, string>): Promise<Json> {
    const body = new URLSearchParams({ ...grant, client_id: this.#client! });
    const response = await fetch(new URL("/oauth/token", this.server), { method: "POST", body });
    return { status: response.status, ...((await response.json()) as Json) };
  }

  /** Signs in and lets the app in. */
  async signIn(more: Record<string, string> = {}): Promise<Json> {
    return this.tokens(await this.agree(await this.consent(more)));
  }
}

/** Calls a tool without a session. */
export async function call(
  server: URL,
  token: string,
  name: string,
  args: object = {},
): Promise<{ status: number; body: Json; headers: Headers }> {
  const response = await fetch(server, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: args },
    }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: (text.startsWith("{") ? JSON.parse(text) : { text }) as Json,
    headers: response.headers,
  };
}

/** The principal and scopes of whoever calls with this token. */
export async function callerOf(server: URL, token: string): Promise<Json> {
  const { body, status } = await call(server, token, "echo_input");
  if (status !== 200) return { status, ...body };
  const echoed = JSON.parse(body["result"].content[0].text) as Json;
  return echoed["context"]["client"] as Json;
}
