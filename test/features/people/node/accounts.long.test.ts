import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, describe, expect, test, vi } from "vitest";
import { freePort } from "../../../node/workerd.ts";
import { accountProvider, PersonBrowser, type Shown } from "../../../node/http/account-provider.ts";
import { serving } from "../../../node/http/serving.ts";

/** Servlets act for people at a real provider, and never see a token. */

type Json = Record<string, any>;

const keyOf = (name: string) => `key-of-${name}`;
const NAMES = Array.from({ length: 44 }, (_, at) => `person${at}`);
const port = await freePort();
const provider = await accountProvider(`http://127.0.0.1:${port}/account/callback`);
afterAll(() => provider.close());

const hostilePort = await freePort();
const HOSTILE = `http://127.0.0.1:${hostilePort}`;
const hostile = {
  client_id: "edge",
  authorization_endpoint: `${HOSTILE}/authorize`,
  token_endpoint: `${HOSTILE}/token`,
};

const logged: string[] = [];

const ACCOUNTS = {
  ...JSON.parse(provider.variables.ACCOUNTS),
  hostile,
  lost: { issuer: `${HOSTILE}/issuer`, client_id: "edge" },
};
/** A call that waits is looked at, and not waited for. */
const TEST_LIMITS = { accountFreshMs: 0, resultWaitMs: 100 };
const variables = {
  ...provider.variables,
  ACCOUNTS: JSON.stringify(ACCOUNTS),
  API_KEYS: JSON.stringify(
    Object.fromEntries(NAMES.map((name) => [name, hash("sha256", keyOf(name))])),
  ),
  RUN_LOG: "json",
  TEST_LIMITS: JSON.stringify(TEST_LIMITS),
};

const server = await serving({ port, log: (text) => logged.push(text), variables });

/** A server that soon gives a provider up that does not answer. */
const impatient = await serving({
  variables: { ...variables, TEST_LIMITS: JSON.stringify({ ...TEST_LIMITS, issuerMs: 200 }) },
});

/** Restarts the server with other variables while `work` runs. */
async function withVariables<T>(others: Json, work: () => Promise<T>): Promise<T> {
  const before = { ...variables };
  Object.assign(variables, others);
  await server.restart();
  try {
    return await work();
  } finally {
    for (const name of Object.keys(others)) Reflect.deleteProperty(variables, name);
    Object.assign(variables, before);
    await server.restart();
  }
}

const withAccounts = <T>(accounts: Json, work: () => Promise<T>): Promise<T> =>
  withVariables({ ACCOUNTS: JSON.stringify(accounts) }, work);

let people = 0;

/** Somebody whom no other test knows, with a client that can only call tools, and a browser. */
async function person({ url }: { url: URL } = server) {
  const name = NAMES[people++]!;
  const headers = { authorization: `Bearer ${keyOf(name)}` };
  const clientOf = async () => {
    const client = new Client(
      { name: "plain", version: "1.0.0" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return client;
  };
  const call = async (tool: string, args: Json) => {
    const client = await clientOf();
    const { structuredContent, content } = (await client.callTool({
      name: tool,
      arguments: args,
    })) as Json;
    await client.close();
    return (structuredContent ?? { text: content[0].text }) as Json;
  };
  const answers = {
    credential: keyOf(name),
    decision: "accept",
    login: name,
    password: "secret",
  };
  return {
    name,
    browser: new PersonBrowser(),
    answers,
    /** Makes an HTTP request with an account. */
    mail: (path = "/mail", account = "local", more: Json = {}) =>
      call("plan", { steps: [{ do: "http", url: `${provider.api}${path}`, account, ...more }] }),
    plan: (...steps: Json[]) => call("plan", { steps }),
    result: (id: string) => call("get_result", { id }),
    /** What a call has said, once it has ended. */
    said: (id: string) =>
      vi.waitFor(async () => {
        const result = await call("get_result", { id });
        expect(result).toHaveProperty("said");
        return result["said"];
      }, 20_000),
  };
}

/** The mail of somebody who has connected an account. */
async function connected() {
  const who = await person();
  const { id, url } = await who.mail();
  await who.browser.go(url, who.answers);
  expect(await who.said(id)).toEqual([[200, `The mail of ${who.name}`]]);
  return who;
}

/** Everything that is stored, as text. */
async function stored(): Promise<string> {
  const folder = server.storage();
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile())
    .map((file) => readFile(join(file.parentPath, file.name), "latin1"));
  return (await Promise.all(texts)).join("\n");
}

const isConnectPage = ({ url }: Shown) => url.pathname.startsWith("/connect/");
const isAtProvider = ({ url }: Shown) => url.origin === provider.issuer;

describe("an account", () => {
  test("is connected by the person, and the call goes on by itself, though the server is killed between the steps", async () => {
    const { browser, answers, mail, said, name } = await person();
    const { id, url, message } = await mail();
    expect(message).toContain("The account local is needed");
    await server.restart();
    const page = await browser.go(url, answers, isConnectPage);
    expect(page.text).toContain("Connect an account");
    for (const shown of ["durable", "mail", "127.0.0.1"]) expect(page.text).toContain(shown);
    await server.restart();
    const atProvider = await browser.submit(page, answers);
    expect(atProvider.url.origin).toBe(provider.issuer);
    const [, authorization] = browser.visited
      .toReversed()
      .find(({ pathname }) => pathname === "/auth")!
      .href.split("?");
    const asked = new URLSearchParams(authorization);
    expect(asked.get("code_challenge_method")).toBe("S256");
    expect(asked.get("scope")).toBe("openid mail");
    await server.restart();
    const end = await browser.go(atProvider.url.href, answers);
    expect(end.url.pathname).toBe(`/ask/${id}`);
    expect(end.text).toContain("Thank you");
    await server.restart();
    expect(await said(id)).toEqual([[200, `The mail of ${name}`]]);

    const { token } = provider.seen.at(-1)!;
    expect(await stored()).not.toContain(token);
    expect(await stored()).not.toContain(btoa(token!).slice(0, -3));
    expect((await mail())["said"]).toEqual([[200, `The mail of ${name}`]]);
    expect(provider.seen.at(-1)!.token).toBe(token);
    expect(logged.join("\n")).not.toContain(token);
  });

  test("is connected at PUBLIC_URL, though the client and the first page came by another name", async () => {
    const PUBLIC_URL = server.url.origin;
    await withVariables({ PUBLIC_URL }, async () => {
      const other = (path: string) => new URL(path, PUBLIC_URL.replace("127.0.0.1", "localhost"));
      const { browser, answers, mail, said, name } = await person({ url: other("/mcp") });
      const { id, url } = await mail();
      expect(new URL(url).origin).toBe(PUBLIC_URL);
      const page = await browser.go(other(new URL(url).pathname).href, answers, isConnectPage);
      const end = await browser.go(page.url.href, answers);
      expect(end.url.origin).toBe(PUBLIC_URL);
      expect(await said(id)).toEqual([[200, `The mail of ${name}`]]);
    });
  });

  test("is each caller's own", async () => {
    await connected();
    expect(await (await person()).mail()).toMatchObject({ status: "waiting" });
  });

  test("is renewed once for ten calls whose token has ended", async () => {
    const { mail, name } = await connected();
    const before = provider.grants.length;
    await provider.end(provider.seen.at(-1)!.token!);
    const all = await Promise.all(Array.from({ length: 10 }, () => mail()));
    expect(all.map(({ said }) => said)).toEqual(all.map(() => [[200, `The mail of ${name}`]]));
    expect(provider.grants.slice(before)).toEqual(["refresh_token"]);
  });

  test("is connected again, in the middle of a call, where the provider grants no more", async () => {
    const { mail, name, browser, answers, said } = await connected();
    const { token } = provider.seen.at(-1)!;
    await provider.end(token!);
    await provider.forget(name);
    const { id, url } = await mail();
    await browser.go(url, answers);
    expect(await said(id)).toEqual([[200, `The mail of ${name}`]]);
  });

  test("is disconnected at /account, and the provider hears of it", async () => {
    const { browser, answers, mail } = await connected();
    const page = await browser.open(new URL("/account", server.url).href);
    expect(page.text).toContain("local from durable</span>");
    const before = provider.revoked.length;
    await browser.submit(page, { do: "disconnect" });
    expect(provider.revoked.length).toBeGreaterThan(before);
    expect(await mail()).toMatchObject({ status: "waiting" });
    expect(answers).toBeDefined();
  });

  test("of a client that the server is no more, is connected again", async () => {
    const { mail } = await connected();
    const before = provider.seen.length;
    const local = { ...ACCOUNTS.local, client_id: "another" };
    const found = await withAccounts({ ...ACCOUNTS, local }, () => mail());
    expect(found).toMatchObject({ status: "waiting" });
    expect(provider.seen.length).toBe(before);
  });

  test("of a provider that the server knows no more, is forgotten with the rest", async () => {
    const { browser, plan } = await connected();
    const { local: _, ...others } = ACCOUNTS;
    await plan({ do: "ask_secret", name: "OTHER", message: "Which?" });
    await withAccounts(others, async () => {
      const page = await browser.open(new URL("/account", server.url).href);
      expect(page.text).toContain("local from durable</span>");
      const sure = await browser.submit(page, { do: "forget-me" });
      const end = await browser.submit(sure, { do: "forget-all" });
      expect(end).toMatchObject({
        status: 200,
        text: expect.stringContaining("You are forgotten"),
      });
    });
  });

  test("is used for POST, too, and by a guest that asks for its token", async () => {
    const { mail, name } = await connected();
    expect((await mail("/mail", "local", { method: "POST" }))["said"]).toEqual([
      [200, `The mail of ${name}`],
    ]);
  });
});

describe("a person who refuses", () => {
  const refused = "The account local is not connected: the user declined.";

  test("on the page of this server", async () => {
    const { browser, answers, mail, said } = await person();
    const { id, url } = await mail();
    await browser.go(url, { ...answers, decision: "decline" });
    expect(await said(id)).toEqual([refused]);
  });

  test("at the provider", async () => {
    const { browser, answers, mail, said } = await person();
    const { id, url } = await mail();
    const shown = await browser.go(url, answers, isAtProvider);
    const [, abort] = /href="([^"]*abort[^"]*)"/.exec(shown.text)!;
    const end = await browser.open(new URL(abort!, shown.url).href);
    expect(end.url.pathname).toBe(`/ask/${id}`);
    expect(await said(id)).toEqual([refused]);
  });
});

/** Connects an account at a provider whose endpoints answer so; the call requests this path with it. */
const answering = async (
  token: RequestListener,
  account: string,
  { path = "/mail", ...more }: Record<string, string> = {},
  at = server,
) => {
  const made = createServer(token);
  await new Promise<void>((resolve) => made.listen(hostilePort, "127.0.0.1", () => resolve()));
  try {
    const { browser, answers, plan, result, said } = await person(at);
    const { id, url } = await plan({ do: "http", url: `${provider.api}${path}`, account });
    const page = await browser.go(url, answers, isConnectPage);
    const end = await browser.submit(page, answers);
    const waiting = { id, result, said };
    if (account === "lost") return { end, ...waiting };
    const state = new URL(end.url).searchParams.get("state")!;
    const back = new URL("/account/callback", at.url);
    back.search = String(new URLSearchParams({ code: "x", state, ...more }));
    return { end: await browser.open(back.href), ...waiting };
  } finally {
    made.closeAllConnections();
    await new Promise((resolve) => made.close(resolve));
  }
};
const json =
  (status: number, body: string): RequestListener =>
  (request, response) => {
    if (request.url?.startsWith("/authorize")) return void response.end("Sign in");
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  };

describe("the token goes", () => {
  test.each([
    [
      "to hosts of the account only",
      "http://mail.example/",
      "local",
      /may not go to mail\.example/,
    ],
    [
      "to no host of an account that the manifest does not name",
      "http://127.0.0.1:1/",
      "other",
      /which its manifest does not name/,
    ],
    [
      "nowhere where the server does not know the provider",
      "http://127.0.0.1:1/",
      "unknown",
      /knows no provider unknown/,
    ],
  ])("%s", async (_what, url, account, why) => {
    const { plan } = await connected();
    const { said } = await plan({ do: "http", url, account });
    expect(said).toEqual([expect.stringMatching(why)]);
  });

  test("not along with a redirect to another origin", async () => {
    const { mail } = await connected();
    expect((await mail("/away"))["said"][0][0]).toBe(404);
  });

  test.each(["/echo", "/echo64", "/echo-gzip"])("not back to the servlet: %s", async (path) => {
    const { mail } = await connected();
    expect((await mail(path))["said"]).toEqual([
      expect.stringMatching(/had its access token in it/),
    ]);
  });

  test.each(["/echo-deflate", "/echo-zstd"])(
    "not back to the servlet in a coding that cannot be searched: %s",
    async (path) => {
      const { mail } = await connected();
      expect((await mail(path))["said"]).toEqual([expect.stringMatching(/compressed/)]);
      expect((await mail("/gzip"))["said"]).toEqual([[200, "The mail, compressed"]]);
    },
  );

  test.each(["/echo-slashes", "/echo-lower"])(
    "not back to the servlet, though it has characters that are escaped: %s",
    async (path) => {
      const granted = '{"access_token":"ya29/abc/def+ghi/jkl==","token_type":"bearer"}';
      const { end, id, said } = await answering(json(200, granted), "hostile", { path });
      expect(end.url.pathname).toBe(`/ask/${id}`);
      expect(await said(id)).toEqual([expect.stringMatching(/had its access token in it/)]);
    },
  );
});

describe("a link that is somebody else's", () => {
  test("connects nothing: neither the page nor the way to the provider", async () => {
    const [attacker, victim] = [await person(), await person()];
    const { id, url } = await attacker.mail();
    const page = await attacker.browser.go(url, attacker.answers, isConnectPage);
    const foreign = await victim.browser.go(page.url.href, victim.answers, ({ text }) =>
      text.includes("Not for you"),
    );
    expect(foreign.status).toBe(404);
    // The attacker goes as far as the provider, and has the victim go on from there.
    const atProvider = await attacker.browser.submit(page, attacker.answers);
    const authorization = attacker.browser.visited
      .toReversed()
      .find(({ pathname }) => pathname === "/auth")!;
    expect(atProvider.url.origin).toBe(provider.issuer);
    await victim.browser.go(new URL("/account", server.url).href, victim.answers, ({ text }) =>
      text.includes("Your account"),
    );
    const end = await victim.browser.go(authorization.href, victim.answers);
    expect(end).toMatchObject({ status: 403, text: expect.stringContaining("Not for you") });
    expect(await victim.mail()).toMatchObject({ status: "waiting" });
    expect(await attacker.result(id)).toMatchObject({ status: "waiting" });
  });

  test("an answer counts once", async () => {
    const { browser } = await connected();
    const callback = browser.visited.find(({ pathname }) => pathname === "/account/callback")!;
    expect(await browser.open(callback.href)).toMatchObject({ status: 403 });
  });

  test("an answer that nobody has begun, and one of another issuer", async () => {
    const { browser, answers, mail } = await person();
    const { url } = await mail();
    const page = await browser.go(url, answers, isConnectPage);
    await browser.submit(page, answers);
    const { searchParams } = browser.visited
      .toReversed()
      .find(({ pathname }) => pathname === "/auth")!;
    const back = new URL("/account/callback", server.url);
    back.search = String(new URLSearchParams({ code: "x", state: "forged" }));
    expect(await browser.open(back.href)).toMatchObject({ status: 403 });
    const state = searchParams.get("state")!;
    back.search = String(new URLSearchParams({ code: "x", state, iss: "https://evil.example" }));
    expect(await browser.open(back.href)).toMatchObject({
      status: 502,
      text: expect.stringContaining("Try again"),
    });
  });
});

describe("a provider that", () => {
  test.each<[string, RequestListener, typeof server?]>([
    ["answers with an error", json(400, '{"error":"invalid_client"}')],
    ["answers with an error of markup", json(400, '{"error":"<script>alert(1)</script>"}')],
    ["answers with garbage", json(200, "<html>")],
    ["answers without a token", json(200, '{"token_type":"bearer"}')],
    [
      "answers with a token that breaks a header",
      json(200, '{"access_token":"x\\r\\ny: z","token_type":"bearer"}'),
    ],
    [
      "answers with a token of 20 KB",
      json(200, `{"access_token":"${"x".repeat(20_000)}","token_type":"bearer"}`),
    ],
    ["answers with a token of another kind", json(200, '{"access_token":"x","token_type":"mac"}')],
    [
      "answers with 2 MB",
      json(200, `{"access_token":"${"x".repeat(2_000_000)}","token_type":"bearer"}`),
    ],
    [
      "never answers",
      (request, response) =>
        void (request.url?.startsWith("/authorize") && response.end("Sign in")),
      impatient,
    ],
  ])("%s leaves the call waiting, and the person may try again", async (_what, token, at) => {
    const { end, id, result } = await answering(token, "hostile", {}, at);
    expect(end.status).toBe(502);
    expect(end.text).toContain("Try again");
    expect(end.text).not.toContain("<script>");
    expect(await result(id)).toMatchObject({ status: "waiting" });
  });

  test("grants no more, and says so as GitHub does: the account is connected again", async () => {
    const { end, id, result } = await answering((request, response) => {
      void textOf(request).then((body) =>
        json(
          200,
          body.includes("grant_type=refresh_token")
            ? '{"error":"bad_refresh_token"}'
            : '{"access_token":"ended-token","refresh_token":"ended","token_type":"bearer"}',
        )(request, response),
      );
    }, "hostile");
    expect(end.text).toContain("Connect an account");
    expect(await result(id)).toMatchObject({ status: "waiting" });
  });

  test("names an issuer is said so where none is configured, and taken where it is that one", async () => {
    const granted = json(200, '{"access_token":"granted","token_type":"bearer"}');
    const iss = `${HOSTILE}/oauth`;
    const naming = () => answering(granted, "hostile", { path: "/echo", iss });
    expect((await naming()).end).toMatchObject({
      status: 502,
      text: expect.stringContaining("issuer"),
    });
    const known = { ...ACCOUNTS, hostile: { ...hostile, issuer: iss } };
    expect((await withAccounts(known, naming)).end).toMatchObject({ status: 200 });
  });

  test("is another one by now than when the person went there gets no code", async () => {
    const { browser, answers, mail } = await person();
    const { url } = await mail();
    await browser.submit(await browser.go(url, answers, isConnectPage), answers);
    const { searchParams } = browser.visited
      .toReversed()
      .find(({ pathname }) => pathname === "/auth")!;
    const back = new URL("/account/callback", server.url);
    const state = searchParams.get("state")!;
    back.search = String(new URLSearchParams({ code: "x", state, iss: HOSTILE }));
    const asked: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      asked.push(request.url);
      json(400, '{"error":"invalid_grant"}')(request, response);
    });
    await new Promise<void>((resolve) => other.listen(hostilePort, "127.0.0.1", () => resolve()));
    const end = await withAccounts({ ...ACCOUNTS, local: hostile }, () => browser.open(back.href));
    await new Promise((resolve) => other.close(resolve));
    expect(end).toMatchObject({ status: 502, text: expect.stringContaining("Try again") });
    expect(asked).toEqual([]);
  });

  test("has no metadata is said so on the page", async () => {
    const { end } = await answering(json(404, "{}"), "lost");
    expect(end.text).toMatch(/provider lost .* cannot be reached/);
  });
});
