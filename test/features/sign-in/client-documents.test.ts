import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { ORIGIN, ownersApp, visitor } from "../../worker/auth/owner.ts";

/** Clients whose id is the URL of a document that describes them: what fetching those may cost. */
const CLIENT = "https://chat.example/client.json";
const BACK = "https://chat.example/back";

const { OAUTH_KV } = env as unknown as { OAUTH_KV: KVNamespace };

const documentOf = (client_id: string, more: object = {}) => ({
  client_id,
  client_name: "Chat",
  redirect_uris: [BACK],
  grant_types: ["authorization_code", "refresh_token"],
  ...more,
});

let fetched: { url: string; redirect: unknown }[];
let tests = 0;
let answer: (url: string) => Response | Promise<Response>;

beforeEach(() => {
  fetched = [];
  answer = (url) => Response.json(documentOf(url));
  vi.useFakeTimers({ toFake: ["Date"] });
  // Whatever earlier tests have counted is over.
  vi.setSystemTime(Date.now() + ++tests * 3 * limits.attemptsMs);
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const url = input instanceof Request ? input.url : input.toString();
    fetched.push({ url, redirect: init?.redirect });
    return answer(url);
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const grant = (client_id: string) => ({
  grant_type: "authorization_code",
  code: "owner:x:y",
  code_verifier: "x".repeat(43),
  redirect_uri: BACK,
  client_id,
});

const pageOf = async (visit: ReturnType<typeof visitor>, client: string) =>
  visit.open(await visit.authorizePath(client, { redirect_uri: BACK }));

describe("fetches are bounded", () => {
  test("for one address, whose further clients learn when to retry", async () => {
    const { tokens } = visitor(await ownersApp());
    const ids = Array.from({ length: 150 }, (_, at) => `https://host${at}.example/c.json`);
    const answers = await Promise.all(ids.map((id) => tokens(grant(id))));
    expect(fetched).toHaveLength(limits.documentFetches);
    const late = answers.filter(({ status }) => status === 429);
    expect(late).toHaveLength(150 - limits.documentFetches);
    expect(late[0]).toMatchObject({ error: "temporarily_unavailable" });
    expect(answers.filter(({ error }) => error === "invalid_grant")).toHaveLength(
      limits.documentFetches,
    );
  });

  test("for all addresses together", async () => {
    const { documentFetchesOfAll } = limits;
    configureLimits({ documentFetchesOfAll: 5 });
    const app = await ownersApp();
    const visits = Array.from({ length: 15 }, (_, at) =>
      visitor(app).tokens(grant(`https://host${at}.example/c.json`)),
    );
    const answers = await Promise.all(visits);
    configureLimits({ documentFetchesOfAll });
    expect(fetched).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(10);
  });

  test("and one that all together leave no room for does not count for its address", async () => {
    const { documentFetches, documentFetchesOfAll } = limits;
    const { tokens } = visitor(await ownersApp());
    configureLimits({ documentFetches: 1, documentFetchesOfAll: 0 });
    expect((await tokens(grant("https://a.example/c.json"))).status).toBe(429);
    configureLimits({ documentFetchesOfAll });
    expect((await tokens(grant("https://b.example/c.json"))).status).toBe(400);
    configureLimits({ documentFetches });
  });

  test("by a cached document or refusal, until it expires", async () => {
    const visit = visitor(await ownersApp());
    answer = (url) =>
      url === CLIENT ? Response.json(documentOf(url)) : new Response("", { status: 404 });
    const bad = "https://gone.example/client.json";
    for (let times = 0; times < 5; times++) {
      expect((await pageOf(visit, CLIENT)).response.status).toBe(200);
      expect((await pageOf(visit, bad)).response.status).toBe(400);
      expect(await visit.tokens(grant(bad))).toMatchObject({
        status: 401,
        error: "invalid_client",
      });
    }
    expect(fetched.map(({ url }) => url)).toEqual([CLIENT, bad]);
    vi.setSystemTime(Date.now() + limits.documentRetryMs + 1);
    await pageOf(visit, CLIENT);
    await pageOf(visit, bad);
    expect(fetched.map(({ url }) => url)).toEqual([CLIENT, bad, bad]);
    vi.setSystemTime(Date.now() + limits.documentMs);
    await pageOf(visit, CLIENT);
    expect(fetched).toHaveLength(4);
    // The clock was wrong until now.
    vi.setSystemTime(Date.now() - limits.documentMs - 1);
    await pageOf(visit, CLIENT);
    expect(fetched).toHaveLength(5);
  });
});

test.each([
  "https://127.0.0.1/c.json",
  "https://10.1.2.3/c.json",
  "https://169.254.169.254/latest",
  "https://[::1]/c.json",
  "https://[fd00::1]/c.json",
  "https://localhost/c.json",
  "https://router/c.json",
  "https://db.internal/c.json",
  "https://db.internal./c.json",
  "https://2130706433/c.json",
  "https://chat.example:8443/c.json",
  "https://chat.example:22/c.json",
  "https://user:pw@chat.example/c.json",
  "https://chat.example/a/../c.json",
  "https://chat.example/c.json#part",
  "https://chat.example",
  `https://chat.example/${"x".repeat(600)}`,
])("%s is never fetched", async (client) => {
  const visit = visitor(await ownersApp());
  expect((await pageOf(visit, client)).response.status).toBe(400);
  expect(await visit.tokens(grant(client))).toMatchObject({ status: 401, error: "invalid_client" });
  expect(fetched).toEqual([]);
});

test.each<[string, () => Response]>([
  ["a redirect", () => Response.redirect("https://10.0.0.1/c.json")],
  ["an error", () => new Response("", { status: 500 })],
  ["no JSON", () => new Response("<html>")],
  ["a list", () => Response.json([])],
  ["the document of another", () => Response.json(documentOf("https://else.example/c.json"))],
  ["no name", () => Response.json(documentOf(CLIENT, { client_name: " " }))],
  ["no redirect URI", () => Response.json(documentOf(CLIENT, { redirect_uris: [] }))],
  ["a secret", () => Response.json(documentOf(CLIENT, { client_secret: "s" }))],
  [
    "a client that has to prove itself",
    () => Response.json(documentOf(CLIENT, { token_endpoint_auth_method: "private_key_jwt" })),
  ],
])("an id that leads to %s is refused, and nothing else is fetched", async (_name, response) => {
  answer = response;
  const { response: page, text } = await pageOf(visitor(await ownersApp()), CLIENT);
  expect(page.status).toBe(400);
  expect(text).toContain("chat.example");
  expect(fetched).toEqual([{ url: CLIENT, redirect: "manual" }]);
});

test("a document without end is not read to its end", async () => {
  let chunks = 0;
  answer = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          chunks++;
          controller.enqueue(new Uint8Array(1024).fill(32));
        },
      }),
    );
  expect((await pageOf(visitor(await ownersApp()), CLIENT)).response.status).toBe(400);
  expect(chunks).toBeLessThan(100);
});

test("a client that was let in stays in where its document cannot be fetched any more", async () => {
  const visit = visitor(await ownersApp());
  const path = await visit.authorizePath(CLIENT, { redirect_uri: BACK });
  const { searchParams } = new URL((await visit.agree(path)).headers.get("location")!);
  answer = () => new Response("", { status: 503 });
  const { refresh_token, status } = await visit.tokens({
    ...grant(CLIENT),
    code: searchParams.get("code")!,
    code_verifier: visit.verifier,
  });
  expect(status).toBe(200);
  vi.setSystemTime(Date.now() + limits.documentMs + 1);
  const again = { grant_type: "refresh_token", refresh_token, client_id: CLIENT };
  expect((await visit.tokens(again)).status).toBe(200);
  expect(fetched).toHaveLength(1);
});

test("a client that was let in stays in for as long as it refreshes its tokens", async () => {
  const visit = visitor(await ownersApp());
  const id = "https://chat.example/daily.json";
  const path = await visit.authorizePath(id, { redirect_uri: BACK });
  const { searchParams } = new URL((await visit.agree(path)).headers.get("location")!);
  const { refresh_token } = await visit.tokens({
    ...grant(id),
    code: searchParams.get("code")!,
    code_verifier: visit.verifier,
  });
  // The store's own expiry is by the real clock.
  const storedUntil = async () =>
    (await OAUTH_KV.get<{ registrationExpiresAt?: number }>(`client:${id}`, "json"))
      ?.registrationExpiresAt;
  const until = (await storedUntil())!;
  vi.setSystemTime(Date.now() + limits.refreshTokenMs * 0.6);
  const again = { grant_type: "refresh_token", refresh_token, client_id: id };
  expect((await visit.tokens(again)).status).toBe(200);
  expect(await storedUntil()).toBeGreaterThan(until);
});

describe("texts of callers that are too long for the store", () => {
  test.each(["client_id", "code", "refresh_token"])("%s: an error of theirs", async (name) => {
    const { tokens, register } = visitor(await ownersApp());
    const long = `owner:${"x".repeat(600)}:y`;
    const grant_type = name === "refresh_token" ? name : "authorization_code";
    const given = { ...grant(await register()), grant_type, [name]: long };
    expect((await tokens(given)).status).toBeOneOf([400, 401]);
  });

  test("an access token: 401", async () => {
    const { call } = visitor(await ownersApp());
    expect((await call(`owner:${"x".repeat(600)}:y`)).status).toBe(401);
  });
});

test("that such ids are taken is said", async () => {
  const { fetch } = visitor(await ownersApp());
  const metadata = await fetch("/.well-known/oauth-authorization-server");
  expect(await metadata.json()).toMatchObject({
    issuer: ORIGIN,
    client_id_metadata_document_supported: true,
  });
});
