import { expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { serverOf } from "../../worker/auth/key-holders.ts";
import { as, callOf, clock, prepare } from "../../worker/calls/client.ts";
import { saidIn, steps } from "../../worker/calls/plans.ts";
import { browser } from "../../worker/pages/browser.ts";
import { AuthorizationServer, ISSUER, METADATA, RESOURCE } from "./authorization-server.ts";

/** Accounts at an issuer that the manifest names and ACCOUNTS does not: this server makes itself a client there. */
prepare();

let servers = 0;

/** A server at an origin of its own, its callers, and the issuer. */
async function setUp({ domain = "example", names = 1 } = {}) {
  const origin = `https://server-${++servers}.${domain}`;
  const people = Array.from({ length: names }, (_, nth) => `own-${servers}-${nth}`);
  const keys = Object.fromEntries(people.map((name) => [name, {}]));
  const at = await serverOf(keys, { PUBLIC_URL: origin });
  const issuer = new AuthorizationServer(async (url) => at.fetch(new Request(url)));
  const [ada] = people as [string];

  const call = async (who = ada, url = RESOURCE) => {
    const sent = { server: at, capabilities: {}, ...as(who) };
    return callOf("plan", steps({ do: "http", url, account: "remote" }), sent);
  };
  const result = async (id: string, who = ada) =>
    saidIn(await callOf("get_result", { id }, { server: at, capabilities: {}, ...as(who) }));

  async function signIn(who = ada) {
    const person = browser(at, origin);
    await person.send("/sign-in", { credential: who });
    return person;
  }

  /** A person at the page on which the account of a waiting call is connected. */
  async function atPage(who = ada, of = RESOURCE) {
    const { id, url } = (await call(who, of)).result!["structuredContent"];
    const person = await signIn(who);
    const path = (await person.fetch(url)).response.headers.get("location")!;
    const page = await person.fetch(path);
    /** Agrees; the page that leads to the issuer, or says why none does. */
    const agree = async () => {
      const { hidden } = await person.fetch(path);
      return person.send(path, { ...hidden, decision: "accept" });
    };
    return { id, person, path, page, agree };
  }

  /** Connects an account; `change` changes the address at which the person comes back. */
  async function connect(who = ada, change: (back: URL) => void = () => {}) {
    const { id, person, agree } = await atPage(who);
    const back = await issuer.authorize(addressIn(await agree()));
    change(back);
    return { id, person, end: await person.fetch(back.href) };
  }

  return { at, origin, issuer, people, call, result, signIn, atPage, connect };
}

/** Disconnects the account at `/account`. */
async function disconnect(person: ReturnType<typeof browser>): Promise<void> {
  const { text, hidden } = await person.fetch("/account");
  expect(text).toContain("remote from durable");
  const fields = { token: hidden["token"], servlet: "durable", account: "remote" };
  await person.send("/account", { ...fields, do: "disconnect" });
}

/** What a request with the account says. */
const MAIL = [[200, "You may read offline_access"]];

/** Where a page leads to. */
function addressIn({ response, text }: { response: Response; text: string }): string {
  const refresh = response.headers.get("refresh");
  if (refresh === null) throw new Error(`No page that leads on: ${text}`);
  return refresh.replace("0; url=", "");
}

const HOUR = 3_600_000;

test("an account is connected by a registration, after a page that shows the issuer and the server", async () => {
  const { issuer, atPage, result, call, origin } = await setUp();
  const { id, person, page, agree } = await atPage();
  for (const shown of ["auth.example", `mcp.example (${RESOURCE})`, "read"])
    expect(page.text).toContain(shown);
  expect(issuer.sent).toEqual([]);
  const address = addressIn(await agree());
  expect(new URL(address).searchParams.get("scope")).toBe("read offline_access");
  const end = await person.fetch((await issuer.authorize(address)).href);
  expect(end.text).toContain("Thank you");
  expect(await result(id)).toEqual(MAIL);
  expect(saidIn(await call())).toEqual(MAIL);
  const [registration] = issuer.requestsTo("/register").map(({ body }) => JSON.parse(body));
  expect(registration).toMatchObject({
    redirect_uris: [`${origin}/account/callback/-`],
    token_endpoint_auth_method: "none",
    application_type: "web",
  });
  expect(issuer.resources).toEqual([RESOURCE]);
});

test("an account is connected by the document of this server, where the issuer takes one", async () => {
  const { issuer, connect, result, at, origin } = await setUp();
  issuer.metadata["client_id_metadata_document_supported"] = true;
  const { id } = await connect();
  expect(await result(id)).toEqual(MAIL);
  expect(issuer.requestsTo("/register")).toEqual([]);
  const document = await at.fetch(new Request(`${origin}/account/client.json`));
  expect(document.headers.get("content-type")).toContain("application/json");
  expect(await document.json()).toMatchObject({
    client_id: `${origin}/account/client.json`,
    redirect_uris: [`${origin}/account/callback/-`],
    token_endpoint_auth_method: "none",
  });
});

test("a server that its issuer cannot reach registers, though the issuer takes documents", async () => {
  const { issuer, connect, result } = await setUp({ domain: "internal" });
  issuer.metadata["client_id_metadata_document_supported"] = true;
  expect(await result((await connect()).id)).toEqual(MAIL);
  expect(issuer.requestsTo("/register")).toHaveLength(1);
});

test.each(["client_secret_basic", "client_secret_post"])(
  "a registered client uses its secret as %s, and renews by it",
  async (method) => {
    const { issuer, connect, result, call } = await setUp();
    issuer.metadata["token_endpoint_auth_methods_supported"] = [method];
    const { id } = await connect();
    expect(await result(id)).toEqual(MAIL);
    issuer.access.clear();
    clock.aheadMs = 2 * HOUR;
    expect(saidIn(await call())).toEqual(MAIL);
    expect(issuer.resources).toEqual([RESOURCE, RESOURCE]);
  },
);

test("an issuer that gives a public client a secret gets it", async () => {
  const { issuer, connect, result } = await setUp();
  issuer.registration = {
    client_secret: "s",
    token_endpoint_auth_method: "client_secret_post",
  };
  const { id } = await connect();
  expect(await result(id)).toEqual(MAIL);
});

test("callers share one registration, however many come at once", async () => {
  const { issuer, people, atPage } = await setUp({ names: 20 });
  const pages = await Promise.all(people.map((who) => atPage(who)));
  await Promise.all(pages.map(async ({ agree }) => addressIn(await agree())));
  expect(issuer.requestsTo("/register")).toHaveLength(1);
  expect(issuer.sent.filter(({ url }) => url === METADATA)).toHaveLength(1);
});

test("an answer that names another issuer, or none, is not taken", async () => {
  for (const change of [
    (back: URL) => back.searchParams.set("iss", "https://evil.example"),
    (back: URL) => back.searchParams.delete("iss"),
  ]) {
    const { issuer, connect } = await setUp();
    const { end } = await connect(undefined, change);
    expect(end.status).toBe(502);
    expect(issuer.requestsTo("/token")).toEqual([]);
  }
});

test("an answer that comes to the redirect URI of providers in ACCOUNTS is not taken", async () => {
  const { connect, issuer } = await setUp();
  const { end } = await connect(undefined, (back) => {
    back.pathname = "/account/callback";
  });
  expect(end.status).toBe(403);
  expect(issuer.requestsTo("/token")).toEqual([]);
});

test("a token endpoint that has moved to another host gets nothing, until the person connects anew", async () => {
  const { issuer, connect, call, result, signIn } = await setUp();
  const { id } = await connect();
  await result(id);
  clock.aheadMs = 2 * HOUR;
  issuer.metadata["token_endpoint"] = "https://evil.example/token";
  const [said] = saidIn(await call());
  expect(said).toContain("has moved its token endpoint from auth.example to evil.example");
  expect(said).toContain("disconnect the account at /account");
  expect(issuer.sent.filter(({ url }) => url.includes("evil"))).toEqual([]);
  await disconnect(await signIn());
  expect(issuer.revoked).toEqual([]);
  expect(issuer.sent.filter(({ url }) => url.includes("evil"))).toEqual([]);
  expect((await call()).result!["structuredContent"]).toMatchObject({ status: "waiting" });
});

test("metadata that names another issuer by now stops the renewal, and says why", async () => {
  const { issuer, connect, call, result } = await setUp();
  await result((await connect()).id);
  clock.aheadMs = 2 * HOUR;
  issuer.metadata["issuer"] = "https://evil.example";
  const [said] = saidIn(await call());
  expect(said).toContain('that of another issuer, "https://evil.example"');
  issuer.metadata["issuer"] = ISSUER;
  clock.aheadMs += limits.issuerFailureMs;
  expect(saidIn(await call())).toEqual(MAIL);
});

test("a disconnected account is revoked", async () => {
  const { issuer, connect, result } = await setUp();
  const { id, person } = await connect();
  await result(id);
  await disconnect(person);
  expect(issuer.revoked).toEqual([
    expect.stringMatching(/^refresh-token/),
    expect.stringMatching(/^access-token/),
  ]);
});

test.each(["none", "client_secret_basic"])(
  "a registration (%s) that the issuer has lost is made anew once: the person connects again by it",
  async (method) => {
    const { issuer, connect, call, people } = await setUp({ names: 2 });
    issuer.metadata["token_endpoint_auth_methods_supported"] = [method];
    await connect();
    clock.aheadMs = 2 * HOUR;
    issuer.clients.clear();
    issuer.access.clear();
    expect((await call()).result!["structuredContent"]).toMatchObject({ status: "waiting" });
    await connect();
    expect(saidIn(await call())).toEqual(MAIL);
    await connect(people[1]);
    expect(issuer.requestsTo("/register")).toHaveLength(2);
  },
);

test("a registration of which an issuer's page knows nothing is made anew, when the person sets out again", async () => {
  const { issuer, atPage } = await setUp();
  const { agree } = await atPage();
  for (const [aheadMs, registrations] of [
    [0, 1],
    [0, 1],
    [limits.newRegistrationMs, 2],
    [limits.newRegistrationMs, 2],
  ] as const) {
    clock.aheadMs = aheadMs;
    await agree();
    expect(issuer.requestsTo("/register")).toHaveLength(registrations);
  }
});

test("a registration that has expired is made anew once", async () => {
  const { issuer, people, connect, call } = await setUp({ names: 3 });
  issuer.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"];
  const expires = (ms: number) => ({
    client_secret_expires_at: Math.floor((Date.now() + ms) / 1000),
  });
  issuer.registration = expires(HOUR);
  await connect(people[0]);
  clock.aheadMs = 2 * HOUR;
  issuer.registration = expires(HOUR);
  await connect(people[1]);
  expect(saidIn(await call(people[1]))).toEqual(MAIL);
  await connect(people[2]);
  expect(issuer.requestsTo("/register")).toHaveLength(2);
});

test("an issuer that registers nobody has the person told what whoever runs the server does", async () => {
  const { issuer, atPage, origin } = await setUp();
  delete issuer.metadata["registration_endpoint"];
  const { agree } = await atPage();
  const { status, text } = await agree();
  expect(status).toBe(503);
  expect(text).toContain("The issuer auth.example registers no clients by itself.");
  expect(text).toContain(`with the redirect URI ${origin}/account/callback, and add the account`);
});

test("a person is asked for scopes that a request lacks, once, and keeps those granted before", async () => {
  const { issuer, connect, call, result, atPage } = await setUp();
  await result((await connect()).id);
  for (const [path, scopes] of [
    ["write", "read write"],
    ["admin", "read write admin"],
  ] as const) {
    const url = `https://mcp.example/needs/${path}`;
    const { id, person, page, agree } = await atPage(undefined, url);
    for (const scope of scopes.split(" ")) expect(page.text).toContain(scope);
    await person.fetch((await issuer.authorize(addressIn(await agree()))).href);
    const done = [[200, `Done by ${scopes} offline_access`]];
    expect(await result(id)).toEqual(done);
    expect(saidIn(await call(undefined, url))).toEqual(done);
  }
  expect(issuer.requestsTo("/register")).toHaveLength(1);
});

test("a person who does not allow more scopes keeps the account as it was", async () => {
  const { connect, call, result, atPage } = await setUp();
  await result((await connect()).id);
  const { id, person, path, page } = await atPage(undefined, "https://mcp.example/needs/write");
  await person.send(path, { ...page.hidden, decision: "decline" });
  expect(await result(id)).toEqual(["The account remote is not connected: the user declined."]);
  expect(saidIn(await call())).toEqual(MAIL);
});

test("scopes that were granted and do not help are not asked for again", async () => {
  const { issuer, connect, call, result } = await setUp();
  await result((await connect()).id);
  const url = "https://mcp.example/needs/read";
  const challenge = 'Bearer error="insufficient_scope", scope="read"';
  issuer.instead[url] = () =>
    new Response("More", { status: 403, headers: { "www-authenticate": challenge } });
  expect(saidIn(await call(undefined, url))).toEqual([[403, "More"]]);
});

test.each([
  ['Bearer error="insufficient_scope"'],
  ['Bearer error="insufficient_scope", scope=""'],
  [`Bearer error="insufficient_scope", scope="${"x ".repeat(30)}"`],
  [`Bearer error="insufficient_scope", scope="${"x".repeat(101)}"`],
  ['Bearer error="insufficient_scope", scope="a\\b"'],
  ['Bearer error="invalid_token", scope="write"'],
])("the challenge %s asks for nothing", async (challenge) => {
  const { issuer, connect, call, result } = await setUp();
  await result((await connect()).id);
  const url = "https://mcp.example/refused";
  issuer.instead[url] = () =>
    new Response("No", { status: 403, headers: { "www-authenticate": challenge } });
  expect(saidIn(await call(undefined, url))).toEqual([[403, "No"]]);
});
