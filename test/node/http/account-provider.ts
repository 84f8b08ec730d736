import type { RequestListener } from "node:http";
import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import Provider from "oidc-provider";
import { freePort } from "../workerd.ts";
import { closed, listening, tokenIn } from "./stand-in.ts";

/** A real provider at which people have accounts, and the API that its tokens are for. */

const CLIENT = { id: "edge-servlets", secret: "the secret of the client, which is long" };

/** A request to the API: its path, and the token that came with it. */
interface Seen {
  path: string;
  token: string | undefined;
}

/** Content codings in which the API echoes. */
const CODINGS = { gzip: gzipSync, deflate: deflateSync, zstd: zstdCompressSync };

/** Gmail, where a servlet thinks that it is. */
const GMAIL = "gmail.googleapis.com";
const GMAIL_SCOPE = "https://www.googleapis.com/auth/gmail.readonly";

/** Ends the refresh tokens that a provider has issued to a person; to be called before it has issued any. */
export function forgetting(provider: Provider) {
  const issued: { accountId: string; destroy(): Promise<void> }[] = [];
  provider.on("refresh_token.saved", (token) => issued.push(token as (typeof issued)[number]));
  return async (person: string) => {
    for (const one of issued.filter(({ accountId }) => accountId === person)) await one.destroy();
  };
}

/** Starts both. `redirectUri` is the server's; the provider knows no other. */
export async function accountProvider(redirectUri: string) {
  const [port, apiPort] = [await freePort(), await freePort()];
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
      },
    ],
    scopes: ["openid", "offline_access", "mail", GMAIL_SCOPE],
    features: { revocation: { enabled: true } },
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    pkce: { required: () => true },
  });
  const grants: string[] = [];
  const revoked: object[] = [];
  provider.on("grant.success", (context) => {
    const { oidc } = context as { oidc: { params: { grant_type: string } } };
    grants.push(oidc.params.grant_type);
  });
  for (const kind of ["access_token", "refresh_token"])
    provider.on(`${kind}.destroyed`, (token) => revoked.push(token));
  const forget = forgetting(provider);
  const seen: Seen[] = [];
  const api: RequestListener = (request, response) => {
    const token = tokenIn(request);
    const path = request.url ?? "";
    seen.push({ path, token });
    void (async () => {
      const known = token === undefined ? undefined : await provider.AccessToken.find(token);
      if (path === "/echo") return void response.end(`You have sent ${token}.`);
      if (path === "/echo64") return void response.end(btoa(`me:${token}`));
      if (path === "/echo-slashes")
        return void response.end(JSON.stringify({ token }).replaceAll("/", "\\/"));
      if (path === "/echo-lower")
        return void response.end(
          encodeURIComponent(token!).replace(/%../g, (one) => one.toLowerCase()),
        );
      const [, coding] = /^\/echo-(gzip|deflate|zstd)$/.exec(path) ?? [];
      if (coding !== undefined)
        return void response
          .writeHead(200, { "content-encoding": coding })
          .end(CODINGS[coding as keyof typeof CODINGS](`You have sent ${token}.`));
      if (path === "/gzip")
        return void response
          .writeHead(200, { "content-encoding": "gzip" })
          .end(gzipSync("The mail, compressed"));
      if (path === "/away") {
        response.writeHead(302, { location: `${issuer}/nowhere` }).end();
        return;
      }
      if (known === undefined) return void response.writeHead(401).end("Who?");
      if (path.includes("/messages?")) return void response.end('{"messages":[{"id":"m1"}]}');
      if (path.includes("/messages/")) {
        const headers = [{ name: "From", value: known.accountId }];
        return void response.end(JSON.stringify({ snippet: "Hello", payload: { headers } }));
      }
      response.end(`The mail of ${known.accountId}`);
    })();
  };
  const sites = provider.callback();
  const internetPort = await freePort();
  const internet: RequestListener = (request, response) =>
    (request.headers.host === GMAIL ? api : sites)(request, response);
  const servers = [
    await listening(sites, port),
    await listening(api, apiPort),
    await listening(internet, internetPort),
  ];
  return {
    issuer,
    api: `http://127.0.0.1:${apiPort}`,
    /** How a server is a client here. */
    client: { client_id: CLIENT.id, client_secret: "LOCAL_SECRET" },
    /** The variables of a server that has this provider under the name `local`. */
    variables: {
      ACCOUNTS: JSON.stringify({
        local: { issuer, client_id: CLIENT.id, client_secret: "LOCAL_SECRET", scopes: ["openid"] },
      }),
      LOCAL_SECRET: CLIENT.secret,
    },
    /** A server all of whose requests go to this port reaches the provider, and the API as Gmail. */
    internet: internetPort,
    seen,
    grants,
    revoked,
    /** Ends a token, as when it has expired. */
    end: async (token: string) => (await provider.AccessToken.find(token))?.destroy(),
    /** Ends what a person has granted, so that nothing can be renewed. */
    forget,
    close: () => {
      for (const server of servers) void closed(server);
    },
  };
}

/** A page as a person sees it. */
export interface Shown {
  url: URL;
  status: number;
  text: string;
}

/** The words of a page's content, for messages. */
export function wordsOf({ text }: Shown): string {
  const content = text.slice(Math.max(text.indexOf("<main"), 0));
  return content
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** The address of the link with these words. */
export function linkOf(page: Shown, words: string): string {
  const { url, text } = page;
  const links = [...text.matchAll(/<a\s[^>]*href="([^"]*)"[^>]*>([^<]*)</g)];
  const [, href] = links.find(([, , shown]) => shown!.trim() === words) ?? [];
  if (href === undefined) throw new Error(`${url.href} has no link "${words}": ${wordsOf(page)}`);
  return new URL(href.replaceAll("&amp;", "&"), url).href;
}

/** A person's browser without scripts: cookies by host, redirects, forms that are filled in as far as they have fields. */
export class PersonBrowser {
  readonly #cookies = new Map<string, string>();
  readonly #isEnd: (url: URL) => boolean;
  /** Every address that was opened. */
  readonly visited: URL[] = [];

  /** Addresses where `isEnd` holds are not requested, and are shown empty. */
  constructor(isEnd: (url: URL) => boolean = () => false) {
    this.#isEnd = isEnd;
  }

  /** Opens a page and answers its forms until there is none, or until `until` says so. */
  async go(
    from: string,
    answers: Record<string, string>,
    until: (shown: Shown) => boolean = () => false,
  ): Promise<Shown> {
    let shown = await this.open(from);
    for (let nth = 0; nth < 12 && shown.text.includes("<form") && !until(shown); nth++) {
      shown = await this.submit(shown, answers);
    }
    return shown;
  }

  async submit({ url, text }: Shown, answers: Record<string, string>): Promise<Shown> {
    // The first form of the content: this server's header has one to sign out.
    const [, content = text] = text.split("<main", 2);
    const [form = ""] = /<form[^]*?<\/form>/.exec(content) ?? [];
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(form) ?? [];
    const body = new URLSearchParams();
    for (const [input] of form.matchAll(/<(input|button|textarea)[^>]*>/g)) {
      const [, name] = /name="([^"]*)"/.exec(input) ?? [];
      if (name === undefined) continue;
      const [, value = ""] = /value="([^"]*)"/.exec(input) ?? [];
      if (name in answers) body.set(name, answers[name]!);
      else if (input.includes('type="hidden"')) body.set(name, value.replaceAll("&amp;", "&"));
    }
    return this.open(action === undefined ? url.href : new URL(action, url).href, body);
  }

  async open(address: string, form?: URLSearchParams): Promise<Shown> {
    let [url, body] = [new URL(address), form];
    for (let hop = 0; hop < 20; hop++) {
      this.visited.push(url);
      if (this.#isEnd(url)) return { url, status: 0, text: "" };
      const cookie = [...this.#cookies].map((pair) => pair.join("=")).join("; ");
      const how = body === undefined ? {} : { method: "POST", body };
      const response = await fetch(url, { ...how, headers: { cookie }, redirect: "manual" });
      for (const line of response.headers.getSetCookie()) {
        const [pair, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
        // As browsers do: https://httpwg.org/http-extensions/draft-ietf-httpbis-rfc6265bis.html#section-5.6
        if (pair.length > 4096) continue;
        this.#cookies.set(name!, value!);
      }
      const refresh = response.headers.get("refresh")?.replace("0; url=", "");
      const location = response.headers.get("location") ?? refresh ?? null;
      if (location === null) return { url, status: response.status, text: await response.text() };
      await response.body?.cancel();
      [url, body] = [new URL(location, url), undefined];
    }
    throw new Error("Too many redirects");
  }
}
