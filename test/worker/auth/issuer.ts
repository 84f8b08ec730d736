import { exportJWK, generateKeyPair, SignJWT, type JWK, type JWTPayload } from "jose";
import { afterEach, beforeAll, beforeEach, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { answerOf, post } from "../server.ts";

/** An issuer on the other side of `fetch`. */
export const ISSUER = "https://issuer.example";
export const RESOURCE = "http://localhost:8787/mcp";

export interface SigningKey {
  kid: string;
  alg: string;
  privateKey: CryptoKey;
  jwk: JWK;
}

export async function signingKey(kid: string, alg = "ES256"): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

export const now = () => Math.floor(Date.now() / 1000);

/** A token; `claims` stand in for those of a good one, and undefined takes one away. */
export function tokenOf(key: SigningKey, claims: JWTPayload = {}, header = {}): Promise<string> {
  const all = { iss: ISSUER, sub: "ada", aud: RESOURCE, exp: now() + 600, scope: "read write" };
  const given = Object.entries({ ...all, ...claims }).filter(([, value]) => value !== undefined);
  return new SignJWT(Object.fromEntries(given))
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: "at+jwt", ...header })
    .sign(key.privateKey, { crit: { odd: true } });
}

export const base64url = (value: unknown) =>
  btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** Answers by URL; what is not there answers 404, and an Error is thrown. `asked` are the URLs in order. */
export function internet(pages: Record<string, unknown>) {
  const asked: string[] = [];
  const fetch = async (url: string | URL | Request): Promise<Response> => {
    const address = url instanceof Request ? url.url : String(url);
    asked.push(address);
    const page = pages[address];
    if (page instanceof Error) throw page;
    if (page instanceof Response) return page.clone();
    return page === undefined ? new Response("", { status: 404 }) : Response.json(page);
  };
  vi.spyOn(globalThis, "fetch").mockImplementation(fetch);
  return { pages, asked };
}

export const METADATA = `${ISSUER}/.well-known/oauth-authorization-server`;
export const KEYS = `${ISSUER}/keys`;

/** The issuer as it should be, with these keys. */
export const pagesOf = (...keys: SigningKey[]): Record<string, unknown> => ({
  [METADATA]: { issuer: ISSUER, jwks_uri: KEYS },
  [KEYS]: { keys: keys.map(({ jwk }) => jwk) },
});

/** The issuer's usual key. */
export let key: SigningKey;
/** The server's error log. */
export let logged: ReturnType<typeof vi.fn>;

/** In each test the clock moves by `forward` alone, and what is logged is held back. */
export function prepare(): void {
  beforeAll(async () => {
    key = await signingKey("first");
  });
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
    logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}

export const appOf = (issuer: object = {}, more: object = {}) =>
  createApp(
    new Kernel(bundle, {
      OAUTH_ISSUERS: JSON.stringify([{ issuer: ISSUER, ...issuer }]),
      ...more,
    }),
  );

export const CALL = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo_input" } };

/** Outcome of a call with this token. */
export async function come(token: string, app = appOf()) {
  const response = await post(CALL, { authorization: `Bearer ${token}` }, app);
  const challenge = response.headers.get("www-authenticate") ?? "";
  const { status, error, result } = await answerOf(response);
  const text = result?.["content"]?.[0]?.text;
  const principal = text && JSON.parse(text).context.client.principal;
  return { status, challenge, message: error?.message, principal };
}

export const forward = (ms: number) => vi.setSystemTime(Date.now() + ms);
