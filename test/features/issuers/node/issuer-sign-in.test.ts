import { createServer } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../../node/workerd.ts";
import { accountProvider, PersonBrowser } from "../../../node/http/account-provider.ts";
import { request } from "../../../node/http/installing.ts";
import { serving } from "../../../node/http/serving.ts";

/** Users of a token issuer prove who they are on pages of this server by signing in there. */

type Json = Record<string, any>;

const [port, keysPort] = [await freePort(), await freePort()];
const issuer = await accountProvider(`http://127.0.0.1:${port}/account/callback`);
// The tokens of callers are signed here: the provider's own are not for this server.
const { privateKey, publicKey } = await generateKeyPair("ES256");
const jwk = { ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" };
const keys = createServer((_request, response) => response.end(JSON.stringify({ keys: [jwk] })));

const server = await serving({
  port,
  variables: {
    ...issuer.variables,
    SCOPES: JSON.stringify({ greeter: ["hello:*"], tester: ["durable:*"] }),
    OAUTH_ISSUERS: JSON.stringify([
      { issuer: issuer.issuer, jwks_uri: `http://127.0.0.1:${keysPort}/`, client: issuer.client },
    ]),
  },
});

beforeAll(() => new Promise<void>((resolve) => void keys.listen(keysPort, "127.0.0.1", resolve)));
afterAll(() => {
  issuer.close();
  keys.closeAllConnections();
  keys.close();
});

async function call(who: string, name: string, args: object): Promise<Json> {
  const token = await new SignJWT({ sub: who, scope: "tester" })
    .setProtectedHeader({ alg: "ES256", kid: "k" })
    .setIssuer(issuer.issuer)
    .setAudience(server.url.href)
    .setExpirationTime("5m")
    .sign(privateKey);
  const params = { name, arguments: args };
  const headers = { authorization: `Bearer ${token}` };
  const result = (await request(server.url, { method: "tools/call", params }, headers)) as Json;
  return (result["structuredContent"] ?? result["_meta"]["edge-servlets/waiting"]) as Json;
}

/** Opens a page and signs in at the issuer. */
async function signedIn(who: string, url: string) {
  const browser = new PersonBrowser();
  const page = await browser.open(url);
  const [, href] = /href="(\/account\/sign-in[^"]*)"/.exec(page.text)!;
  const answers = { login: who, password: "secret" };
  const isBack = ({ url: at }: { url: URL }) => at.origin === server.url.origin;
  const there = new URL(href!.replaceAll("&amp;", "&"), url).href;
  return { browser, page: await browser.go(there, answers, isBack) };
}

const ASK = { steps: [{ do: "elicit", message: "Who?" }] };

describe("a user of an issuer at which this server is a client", () => {
  test("signs in there, comes back to the page and answers", async () => {
    const { id, url } = await call("ada", "plan", ASK);
    const { browser, page } = await signedIn("ada", url);
    expect(page.url.href).toBe(url);
    expect(page.text).toContain("A question for you");
    await browser.submit(page, { f0: "Ada", decision: "accept" });
    expect((await call("ada", "get_result", { id }))["said"]).toEqual(["Ada"]);
  });

  test("signs in from a page whose address no cookie can hold", async () => {
    const ask = { do: "ask_secret", name: "名".repeat(256), message: "鍵".repeat(500) };
    const { url } = await call("ada", "plan", { steps: [ask] });
    const { page } = await signedIn("ada", url);
    expect(page.text).toContain("A secret is needed");
    const { browser, page: direct } = await signedIn("ada", page.url.href);
    expect(direct.text).toContain("You are signed in");
    const again = await browser.open(page.url.href);
    expect(again.text).toContain("A secret is needed");
  });

  test("has proven no scopes, so the start page offers no tools", async () => {
    const { browser, page } = await signedIn("ada", new URL("/sign-in", server.url).href);
    expect(page.text).toContain("Sign out");
    expect(page.text).not.toContain("get_result");
    expect(page.text).not.toContain('data-name="greet"');
    expect(browser.visited.at(-1)!.pathname).toBe("/");
  });

  test("does not get the page of another", async () => {
    const { url } = await call("ada", "plan", ASK);
    const { page } = await signedIn("eve", url);
    expect(page).toMatchObject({ status: 404, text: expect.stringContaining("Not for you") });
  });

  test("is sent nowhere else, and comes back only where the sign-in has begun", async () => {
    const { url } = await call("ada", "plan", ASK);
    const browser = new PersonBrowser();
    for (const back of ["https://evil.example/", "//evil.example/", "/\\evil.example"]) {
      const search = new URLSearchParams({ provider: "0", back }).toString();
      const there = await browser.open(new URL(`/account/sign-in?${search}`, url).href);
      expect(there.text).toContain("This link leads to another server");
    }
    const { browser: eve } = await signedIn("eve", url);
    const callback = eve.visited.find(({ pathname }) => pathname === "/account/callback")!;
    // The attacker's answer in a browser that has begun nothing: it is not signed in as the attacker.
    const victim = await new PersonBrowser().open(callback.href);
    expect(victim.text).toContain("Sign in to edge-servlets");
    // And not twice in the attacker's own.
    expect((await eve.open(callback.href)).text).toContain(
      "is not to anything that you have begun",
    );
  });
});
