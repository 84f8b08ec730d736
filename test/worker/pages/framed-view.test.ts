import { describe, expect, test } from "vitest";
import { viewEndpoint } from "../../../src/server/features/people/framed-view.ts";
import type { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { manifestSchema } from "../../../src/server/kernel/servlets/manifest.ts";
import { serverOf } from "../auth/key-holders.ts";
import { browser } from "./browser.ts";

/** Views as documents of frames: who gets them, and what they may reach. */

const BOARD = "/console/view?uri=ui%3A%2F%2Fviewing%2Fboard";

const directives = ({ headers }: Response) =>
  Object.fromEntries(
    headers
      .get("content-security-policy")!
      .split("; ")
      .map((one) => [one.split(" ")[0]!, one.split(" ").slice(1).join(" ")]),
  );

describe("a view", () => {
  test("is sandboxed, and reaches what its manifest declares", async () => {
    const { response, html } = await browser().fetch(BOARD);
    expect(html).toContain("A board");
    expect(directives(response)).toEqual({
      sandbox: "allow-scripts",
      "default-src": "'none'",
      "script-src": "'unsafe-inline'",
      "style-src": "'unsafe-inline'",
      "img-src": "data:",
      "media-src": "data:",
      "font-src": "data:",
      "connect-src": "https://api.example.com",
      "frame-src": "'none'",
      "base-uri": "'none'",
      "worker-src": "'none'",
      "form-action": "'none'",
      "frame-ancestors": "'self'",
    });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "permissions-policy": "camera=(), microphone=(), geolocation=()",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "same-origin",
      "x-content-type-options": "nosniff",
    });
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  test.each(["ui://viewing/other", "ui://viewing/constructor", "board://text", "", "https://a.b/"])(
    "that does not exist is not found: %s",
    async (uri) => {
      const { status, response } = await browser().fetch(
        `/console/view?uri=${encodeURIComponent(uri)}`,
      );
      expect(status).toBe(404);
      expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
      expect(directives(response)).toHaveProperty("sandbox");
    },
  );

  test.each(["cross-site", "same-site", "none"])(
    "is shown on this server's own pages only: %s",
    async (site) => {
      const { status, html } = await browser().fetch(BOARD, {
        headers: { "sec-fetch-site": site },
      });
      expect(status).toBe(403);
      expect(html).not.toContain("A board");
    },
  );
});

test("who may use its servlet may open a view, and nobody else", async () => {
  const server = await serverOf({ ada: { scopes: ["viewing:*"] }, bob: { scopes: ["hello:*"] } });
  const visitor = browser(server);
  expect((await visitor.fetch(BOARD)).status).toBe(401);
  const statusFor = async (credential: string) => {
    const one = browser(server);
    await one.send("/sign-in", { credential });
    return (await one.fetch(BOARD)).status;
  };
  expect(await statusFor("ada")).toBe(200);
  expect(await statusFor("bob")).toBe(403);
  const headers = { authorization: "Bearer ada" };
  expect((await visitor.fetch(BOARD, { headers })).status).toBe(401);
});

/** What would be another source, another directive or another header, if it stood in a policy. */
const NO_ORIGINS = [
  ...["*", "'self'", "'unsafe-eval'", "data:", "blob:", "https:", "https://*", "https://*.*", ""],
  ...["https://a.example; script-src *", "https://a.example ;sandbox", "https://a.example *"],
  ...[
    "https://a.example\n*",
    "https://a.example\n",
    "\nhttps://a.example",
    "https://a.example\r\nx: y",
  ],
  ...["https://a.example,", "https://a.example, script-src *", "https://a.example\t*"],
  ...["https://a.example/path", "https://user@a.example", "https://a.example:*", "javascript://a"],
  ...["https://ä.example", "https://a.example\u00a0*", "https://[::1]", "HTTPS://a.example"],
];

describe("an origin that is none", () => {
  test.each(NO_ORIGINS)("is refused in a manifest: %j", (origin) => {
    for (const key of ["connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"])
      expect(
        manifestSchema().safeParse({ views: { a: { file: "a.html", csp: { [key]: [origin] } } } })
          .error?.message,
      ).toContain("must be an origin");
  });

  test("is left out where a servlet makes its view itself", async () => {
    const origins = [...NO_ORIGINS, 7, null, ["https://a.example *"], "https://a.example"];
    const csp = { connectDomains: origins, resourceDomains: "*", frameDomains: origins };
    const permissions = { camera: {}, geolocation: "*", usb: {}, "microphone=*, a": {} };
    const _meta = { ui: { csp, permissions } };
    const mimeType = "text/html;profile=mcp-app";
    const contents = [{ uri: "ui://a/b", mimeType, blob: btoa("<!doctype html>"), _meta }];
    const registry = { resolve: async () => ({ run: async () => ({ contents }) }) };
    const response = await viewEndpoint(
      new Request("http://localhost/console/view?uri=ui://a/b"),
      async () => ({ registry: registry as never as Registry, principal: { name: "anonymous" } }),
    );
    expect(await response.text()).toBe("<!doctype html>");
    expect(directives(response)).toMatchObject({
      "connect-src": "https://a.example",
      "frame-src": "https://a.example",
      "script-src": "'unsafe-inline'",
      "base-uri": "'none'",
    });
    expect(response.headers.get("permissions-policy")).toBe(
      "microphone=(), geolocation=(), clipboard-write=()",
    );
  });
});
