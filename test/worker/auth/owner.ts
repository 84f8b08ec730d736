import { answerOf } from "../server.ts";
/// <reference types="@cloudflare/vitest-plugin/types" />
import { env } from "cloudflare:workers";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { bundle } from "../../bundle.gen.ts";

/** A server whose owner signs in, and a client that wants to come in, with a browser. */
export const PASSPHRASE = "correct horse battery";
export const ORIGIN = "https://tools.example";
export const CALLBACK = "https://claude.ai/api/mcp/auth_callback";

export const ownersApp = async (more: object = {}) =>
  createApp(
    new Kernel(bundle, { ...env, OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE), ...more }),
  );

export type App = Awaited<ReturnType<typeof ownersApp>>;

let addresses = 0;

/** One client and its browser, at an address of its own. */
export function visitor(app: App, address = `192.0.2.${++addresses}`, origin = ORIGIN) {
  const cookies = new Map<string, string>();
  const verifier = crypto.randomUUID() + crypto.randomUUID();

  async function fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("cf-connecting-ip", address);
    if (cookies.size > 0)
      headers.set("cookie", [...cookies].map((pair) => pair.join("=")).join("; "));
    const response = await app.fetch(
      new Request(new URL(path, origin), { ...init, headers, cf: {} } as RequestInit),
    );
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (name !== undefined) cookies.set(name, value ?? "");
    }
    return response;
  }

  const form = (path: string, fields: Record<string, string>, headers = { origin }) =>
    fetch(path, { method: "POST", body: new URLSearchParams(fields), headers, redirect: "manual" });

  async function register(metadata: object = {}): Promise<string> {
    const response = await fetch("/oauth/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        client_name: "Claude",
        redirect_uris: [CALLBACK],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        ...metadata,
      }),
    });
    return ((await response.json()) as { client_id: string }).client_id;
  }

  async function authorizePath(client: string, more: Record<string, string | undefined> = {}) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
    const challenge = btoa(String.fromCharCode(...new Uint8Array(digest)));
    const all = {
      response_type: "code",
      client_id: client,
      redirect_uri: CALLBACK,
      state: "s1",
      code_challenge: challenge.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""),
      code_challenge_method: "S256",
      resource: `${origin}/mcp`,
      ...more,
    };
    const given = Object.entries(all).filter((pair): pair is [string, string] => !!pair[1]);
    return `/authorize?${new URLSearchParams(given).toString()}`;
  }

  /** Shows the page; gives its text, and the handle in its form. */
  async function open(path: string) {
    const response = await fetch(path);
    const text = await response.text();
    return { response, text, handle: /name="handle" value="([^"]+)"/.exec(text)?.[1] ?? "" };
  }

  /** Fills in the page; gives what the client is sent back with. */
  async function agree(path: string, passphrase = PASSPHRASE) {
    const { handle } = await open(path);
    return form(path, { handle, decision: "allow", passphrase });
  }

  async function tokens(fields: Record<string, string>): Promise<any> {
    const response = await form("/oauth/token", fields);
    return { status: response.status, ...((await response.json()) as Record<string, any>) };
  }

  /** All of it: registers, agrees, and fetches the tokens. */
  async function signIn(more: Record<string, string> = {}): Promise<any> {
    const client = await register();
    const back = await agree(await authorizePath(client, more));
    const code = new URL(back.headers.get("location") ?? "").searchParams.get("code") ?? "";
    const grant = { grant_type: "authorization_code", code, code_verifier: verifier };
    return { client, ...(await tokens({ ...grant, client_id: client, redirect_uri: CALLBACK })) };
  }

  const call = (token: string, path = "/mcp") =>
    fetch(path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "echo_input" },
      }),
    });

  return { fetch, form, register, authorizePath, open, agree, tokens, signIn, call, verifier };
}

/** The principal of the call that this response answers. */
export const principalOf = async (response: Response) => {
  const { result } = await answerOf(response);
  return JSON.parse(result?.["content"][0].text).context.client.principal;
};
