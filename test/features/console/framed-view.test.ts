// @module-tag views
import { describe, expect, test } from "vitest";
import { serverOf } from "../../worker/auth/key-holders.ts";
import { browser } from "../../worker/pages/browser.ts";

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
