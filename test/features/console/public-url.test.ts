import { afterEach, describe, expect, test, vi } from "vitest";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { browser } from "../../worker/pages/browser.ts";
import { modern } from "../../worker/server.ts";
import { serverOf } from "../../worker/auth/key-holders.ts";

/** Pages of a server with a PUBLIC_URL. */

const PUBLIC_URL = "https://mcp.example.com";
const HOSTED = { PUBLIC_URL, [RUNS]: "self-hosted" };

test("the server's page names the server as PUBLIC_URL does", async () => {
  const app = await serverOf({ ada: {} }, { PUBLIC_URL });
  const page = await browser(app, "http://127.0.0.1:8787").fetch("/");
  expect(page.text).toContain(`${PUBLIC_URL}/mcp`);
});

test.each(["http://localhost:8787", "https://allowed.example", PUBLIC_URL])(
  "people sign in and out at each address of the server: %s",
  async (at) => {
    const app = await serverOf({ ada: {} }, { PUBLIC_URL, ALLOWED_HOSTS: "allowed.example" });
    const person = browser(app, at);
    await person.send("/sign-in", { credential: "ada" });
    expect((await person.fetch("/account")).text).toContain("You are signed in as ada");
    expect((await person.send("/sign-out", {})).text).toContain("You are signed out");
    expect((await person.fetch("/account")).text).not.toContain("You are signed in");
  },
);

describe("secrets do not go over plain http, whatever PUBLIC_URL says:", () => {
  const PLAIN = "http://box.local:8787";
  const allowed = { ...HOSTED, ALLOWED_HOSTS: "box.local mcp.example.com" };

  test.each([PLAIN, "http://mcp.example.com:8787"])("keys on pages at %s", async (at) => {
    const app = await serverOf({ ada: {} }, allowed);
    for (const path of ["/account", "/sign-in", "/console/live", `/ask/${"0".repeat(64)}`]) {
      const page = await browser(app, at).send(path, { credential: "ada" });
      expect(page.status).toBe(403);
      expect(page.text).toContain("over https only");
      expect(page.response.headers.getSetCookie()).toEqual([]);
    }
  });
});

describe("people sign in", () => {
  const OWN_COOKIE = /^__Host-person=.*; Secure$/;
  const LOCAL_COOKIE = /^person=((?!Secure).)*$/;

  test.each([
    ["over https", PUBLIC_URL, PUBLIC_URL, OWN_COOKIE],
    ["behind a proxy that passes the name on", "http://mcp.example.com", PUBLIC_URL, OWN_COOKIE],
    ["behind a proxy that names this machine", "http://127.0.0.1:8787", PUBLIC_URL, OWN_COOKIE],
    ["at another name", "https://other.example", "https://other.example", OWN_COOKIE],
    ["on this machine", "http://127.0.0.1:8787", "http://127.0.0.1:8787", LOCAL_COOKIE],
    ["by its name", "http://localhost:9000", "http://localhost:9000", LOCAL_COOKIE],
    ["by IPv6", "http://[::1]:8787", "http://[::1]:8787", LOCAL_COOKIE],
  ])("%s", async (_where, at, origin, cookie) => {
    const settings = { ...HOSTED, ALLOWED_HOSTS: "other.example" };
    const app = await serverOf({ boss: { scopes: ["operator"] } }, settings);
    const person = browser(app, at);
    const body = new URLSearchParams({ credential: "boss" });
    const signed = await person.fetch("/sign-in?back=/account", {
      method: "POST",
      body,
      headers: { origin },
    });
    expect(signed.status).toBe(303);
    expect(signed.response.headers.getSetCookie()[0]).toMatch(cookie);
    const led = await person.fetch(signed.response.headers.get("location")!);
    expect(led.response.headers.get("location")).toBe("/account");
    const account = await person.fetch("/account");
    expect(account.status).toBe(200);
    expect((await person.fetch("/console/usage")).status).toBe(200);
    const sent = (from: string) =>
      person.send("/account", { ...account.hidden, do: "nothing" }, { origin: from });
    expect((await sent(origin)).status).not.toBe(403);
    for (const from of ["https://evil.example", "http://mcp.example.com", "http://localhost:3000"])
      expect((await sent(from)).status).toBe(403);
    const mcp = await person.fetch("/console/mcp", {
      method: "POST",
      headers: { ...modern("ping").headers, origin, "content-type": "application/json" },
      body: JSON.stringify(modern("ping").body),
    });
    expect(mcp.status).not.toBe(403);
    const evil = { method: "POST", headers: { origin: "http://localhost:3000" }, body: "{}" };
    expect((await person.fetch("/console/mcp", evil)).status).toBe(403);
  });

  test("and a cookie of this machine is not taken from a proxy", async () => {
    const app = await serverOf({ ada: {} }, HOSTED);
    const person = browser(app, "http://127.0.0.1:8787");
    await person.send("/account", { credential: "ada" });
    expect((await person.fetch("/account")).text).toContain("signed in as ada");
    const headers = { "x-forwarded-for": "192.0.2.1" };
    expect((await person.fetch("/account", { headers })).text).not.toContain("signed in as ada");
  });
});

describe("behind a proxy that names this machine and says nothing else, at an https PUBLIC_URL", () => {
  const LOCAL = "http://127.0.0.1:8787";
  afterEach(() => vi.restoreAllMocks());

  test.each([
    "http://mcp.example.com",
    "https://mcp.example.com:8443",
    "https://127.0.0.1:1",
    "null",
  ])("forms and calls of the console have one rule for pages of others: %s", async (origin) => {
    const app = await serverOf(
      { boss: { scopes: ["operator"] } },
      { ...HOSTED, ALLOWED_ORIGINS: origin },
    );
    const person = browser(app, LOCAL);
    await person.send("/sign-in", { credential: "boss" }, { origin: PUBLIC_URL });
    const form = (from: string) =>
      person.fetch("/sign-in", {
        method: "POST",
        body: new URLSearchParams(),
        headers: { origin: from },
      });
    expect((await form(PUBLIC_URL)).status).toBe(303);
    expect((await form(origin)).status).toBe(403);
    const call = { method: "POST", body: "{}", headers: { origin } };
    expect((await person.fetch("/console/mcp", call)).status).toBe(403);
  });
});
