import { afterEach, describe, expect, test, vi } from "vitest";
import { beginSelfHosted, refusalWithoutPublicUrl } from "../../worker/auth/self-hosted.ts";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { browser } from "../../worker/pages/browser.ts";
import { base64url } from "../../worker/auth/issuer.ts";
import { serverOf } from "../../worker/auth/key-holders.ts";

const issuers = (...all: object[]) => ({ OAUTH_ISSUERS: JSON.stringify(all) });
const WITH = { issuer: "https://a.example", audience: "us" };
const WITHOUT = { issuer: "https://b.example" };

test("a self-hosted server needs to know whom tokens are for", () => {
  expect(refusalWithoutPublicUrl(issuers(WITHOUT))).toMatch(
    /b\.example without an audience.*Set PUBLIC_URL/,
  );
  expect(refusalWithoutPublicUrl(issuers(WITH, WITHOUT))).toMatch(/b\.example.*Set PUBLIC_URL/);
  expect(() => beginSelfHosted(issuers(WITH))).not.toThrow();
});

const PUBLIC_URL = "https://mcp.example.com";
const OAUTH_ISSUERS = JSON.stringify([{ issuer: "https://issuer.example" }]);

const get = async (env: object, url: string, init?: RequestInit) =>
  createApp(new Kernel(bundle, { AUTH: undefined, ...env })).fetch(new Request(url, init));

const METADATA = "/.well-known/oauth-protected-resource/mcp";

describe("PUBLIC_URL names the server", () => {
  test.each([
    "http://127.0.0.1:8787",
    "http://localhost",
    "https://mcp.example.com:9000",
    "https://allowed.example",
    PUBLIC_URL,
  ])("in metadata and challenges, whatever the request names: %s", async (at) => {
    const env = { PUBLIC_URL: `${PUBLIC_URL}/`, OAUTH_ISSUERS, ALLOWED_HOSTS: "allowed.example" };
    expect(await (await get(env, at + METADATA)).json()).toMatchObject({
      resource: `${PUBLIC_URL}/mcp`,
    });
    const refused = await get(env, `${at}/mcp`, { method: "POST", body: "{}" });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toContain(
      `resource_metadata="${PUBLIC_URL}${METADATA}"`,
    );
  });
});

const HOSTED = { PUBLIC_URL, [RUNS]: "self-hosted" };

describe(
  "behind a proxy that names this machine and says nothing else, at an https PUBLIC_URL",
  { tags: ["people"] },
  () => {
    const LOCAL = "http://127.0.0.1:8787";
    const issuer = "https://issuer.example";

    /** An issuer at which this server is a client: anybody who comes there is Ada. */
    function issuing() {
      let nonce = "";
      const idToken = () =>
        ["", { iss: issuer, sub: "ada", aud: "us", nonce, ...validNow() }, ""]
          .map((part) => base64url(part || { alg: "RS256" }))
          .join(".");
      const metadata = {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
      };
      vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
        const url = input instanceof Request ? input.url : String(input);
        if (!url.endsWith("/token")) return Response.json(metadata);
        return Response.json({ access_token: "a", token_type: "bearer", id_token: idToken() });
      });
      return {
        /** The answer with which it sends a person back. */
        answerTo(location: string): string {
          const { searchParams } = new URL(location);
          nonce = searchParams.get("nonce")!;
          const state = searchParams.get("state")!;
          const answer = new URLSearchParams({ code: "c", state, iss: issuer });
          return `${searchParams.get("redirect_uri")}?${answer.toString()}`;
        },
      };
    }

    const validNow = () => {
      const now = Math.floor(Date.now() / 1000);
      return { iat: now, exp: now + 60 };
    };

    const client = { client_id: "us" };
    const settings = {
      ...HOSTED,
      OAUTH_ISSUERS: JSON.stringify([{ issuer, client }]),
    };

    afterEach(() => vi.restoreAllMocks());

    test("a sign-in at an issuer sets cookies of PUBLIC_URL, which its forms have", async () => {
      const { answerTo } = issuing();
      const app = await serverOf({ ada: {} }, settings);
      const person = browser(app, LOCAL);
      const begun = await person.fetch("/account/sign-in?provider=0&back=/nope");
      expect(begun.response.headers.getSetCookie()).toEqual([
        expect.stringMatching(/^__Host-sign-in=.*; Secure$/),
      ]);
      const answer = answerTo(begun.response.headers.get("location")!);
      expect(answer).toMatch(/^https:\/\/mcp\.example\.com\/account\/callback\?/);
      const { pathname, search } = new URL(answer);
      const back = await person.fetch(pathname + search);
      expect(back.response.headers.get("location")).toBe("/nope");
      expect(back.response.headers.getSetCookie()).toEqual([
        expect.stringMatching(/^__Host-person=.*; Secure$/),
        // The way is over.
        expect.stringMatching(/^__Host-sign-in=; .*Max-Age=0; Secure$/),
      ]);
      expect((await person.fetch("/sign-in")).status).toBe(303);
      const form = { method: "POST", body: new URLSearchParams(), headers: { origin: PUBLIC_URL } };
      expect((await person.fetch("/sign-in", form)).status).toBe(303);
    });

    test("a sign-in at an issuer leads back to a path of this server only", async () => {
      const { answerTo } = issuing();
      const person = browser(await serverOf({ ada: {} }, settings), LOCAL);
      const begin = (back: string) =>
        person.fetch(`/account/sign-in?provider=0&back=${encodeURIComponent(back)}`);
      for (const back of [
        `blob:${PUBLIC_URL}/x`,
        PUBLIC_URL.replace("//", "//ada:pass@"),
        "http:evil.example",
        "//evil.example",
      ])
        expect(await begin(back)).toMatchObject({ status: 400 });
      const { pathname, search } = new URL(
        answerTo((await begin("/.//evil.example")).response.headers.get("location")!),
      );
      const { response } = await person.fetch(pathname + search);
      const to = new URL(response.headers.get("location")!, PUBLIC_URL);
      expect(to.origin).toBe(PUBLIC_URL);
    });

    test("whoever is on this machine sets out to an issuer from PUBLIC_URL, where they come back", async () => {
      const { answerTo } = issuing();
      const app = await serverOf({ ada: {} }, settings);
      const local = browser(app, LOCAL);
      const wayOf = (html: string) =>
        /href="([^"]*\/account\/sign-in\?[^"]*)"/.exec(html)![1]!.replaceAll("&amp;", "&");
      for (const page of [
        await local.fetch("/sign-in?back=/a"),
        await local.send("/sign-in?back=/a", { credential: "wrong" }),
        await browser(app, "http://localhost:8787").fetch("/sign-in?back=/a"),
      ]) {
        const way = wayOf(page.html);
        expect(way).toMatch(/^https:\/\/mcp\.example\.com\/account\/sign-in\?/);
        const there = browser(app, PUBLIC_URL);
        const begun = await there.fetch(way);
        const back = await there.fetch(answerTo(begun.response.headers.get("location")!));
        expect(back.response.headers.get("location")).toBe("/sign-in?back=/a");
        expect((await there.fetch("/sign-in")).status).toBe(303);
      }
      expect(wayOf((await browser(app, PUBLIC_URL).fetch("/sign-in")).html)).toMatch(/^\/account/);
    });
  },
);
