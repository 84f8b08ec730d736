import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Fault } from "../../../src/server/kernel/core/errors.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { pathOf } from "../../../src/server/features/people/errors.ts";
import { bundle } from "../../bundle.gen.ts";
import { serverOf } from "../../worker/auth/key-holders.ts";
import { browser } from "../../worker/pages/browser.ts";

/** The frame of all pages: the server's own look, failures as pages, and why people sign in. */

const html = { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } };

const serverWith = (settings: object) => new Kernel(bundle, { ...env, ...settings });
const visitorOf = (settings: object) => browser(createApp(serverWith(settings)));

describe("the look of a server", () => {
  test("has an accent and an icon of its own, which clients see too", async () => {
    const icon = "https://tools.example/icon.png";
    const server = serverWith({ SERVER_COLOR: "#FD0", SERVER_ICON: icon });
    expect(server.introduction.info).toMatchObject({ icons: [{ src: icon }] });
    const { html: text, response } = await browser(createApp(server)).fetch("/");
    expect(text).toContain(`<link rel="icon" href="${icon}" />`);
    expect(text).toMatch(
      /--accent: light-dark\(#[0-9a-f]{6}, #ffdd00\); --fill: #FD0; --on-fill: #000000/,
    );
    expect(response.headers.get("content-security-policy")).toContain(
      "img-src data: blob: https://tools.example",
    );
  });

  test("has the server's name where its title is blank", async () => {
    for (const SERVER_TITLE of ["", " "]) {
      const settings = { SERVER_TITLE, SERVER_NAME: "weather" };
      const { html: text } = await visitorOf(settings).fetch("/");
      expect(text).toMatch(/<h1[^>]*>weather<\/h1>/);
    }
  });

  test("has an icon of the title's letter by default, which the policy allows on every page", async () => {
    const { html: text, response } = await visitorOf({ SERVER_TITLE: "<weather>" }).fetch("/ask/x");
    expect(text).toMatch(/<link rel="icon" href="data:image\/svg\+xml,[^"<>]+%3EW%3C%2Ftext%3E/);
    expect(response.headers.get("content-security-policy")).toMatch(/img-src data:$/);
  });
});

describe("a failure", () => {
  const broken = (error: unknown) => {
    const server = serverWith({ LINKS: "off" });
    vi.spyOn(server, "registry").mockRejectedValue(error);
    return browser(createApp(server));
  };
  const tooMany = new Fault("too_many", "Too many calls. Retry in 7 seconds.", {
    data: { retryAfter: 7 },
  });

  test.each<[number, string, () => ReturnType<typeof browser>, string, string, object?]>([
    [404, "There is nothing here", () => visitorOf({}), "/nothing%3Cb%3E", "Go to the home page"],
    [
      403,
      "You may not open this",
      () => visitorOf({}),
      "/",
      "Go to the home page",
      { origin: "https://evil.example" },
    ] as [number, string, () => ReturnType<typeof browser>, string, string, object],
    [429, "Too many requests", () => broken(tooMany), "/", "Try again"],
    [500, "Something went wrong here", () => broken(new Error("secret")), "/", "Try again"],
  ])("%d is a page for browsers: %s", async (status, title, visitor, path, way, headers) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const init = { headers: { ...html.headers, ...headers } };
    const page = await visitor().fetch(path, init);
    expect(page.status).toBe(status);
    expect(page.response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.html).toContain(`<h1>${title}</h1>`);
    expect(page.html).toMatch(new RegExp(`<a class="button primary" href="[^"]+">${way}</a>`));
    expect(page.html).not.toMatch(/secret|<b>/);
    expect(page.response.headers.get("retry-after")).toBe(status === 429 ? "7" : null);
  });

  test("of a form is a page, too", async () => {
    const body = new URLSearchParams({ credential: "ada" });
    const headers = { ...html.headers, origin: "https://evil.example" };
    const page = await visitorOf({}).fetch("/sign-out", { method: "POST", body, headers });
    expect(page.status).toBe(403);
    expect(page.html).toContain("<h1>You may not open this</h1>");
  });

  test("is JSON for everyone else, to the byte", async () => {
    for (const init of [{}, { headers: { accept: "*/*" } }, { ...html, method: "PUT" }]) {
      const { response, html: text } = await visitorOf({}).fetch("/nothing", init);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(text).toBe(
        '{"error":"Not found. The MCP endpoint of this server is http://localhost:8787/mcp."}',
      );
    }
    const { html: text } = await visitorOf({ API_KEYS: "{}" }).fetch("/operator/states");
    expect(JSON.parse(text)).toHaveProperty("error");
  });
});

describe("people sign in", () => {
  test.each([
    ["/sign-in?back=%2F", "see and try the tools"],
    ["/sign-in?back=%2Fconsole%2Flive", "go on to Live"],
    ["/console/operate", "for those who run the server. Then you go on to Operate"],
    ["/account", "what this server keeps for you"],
    ["/ask/x", "A call that was made for you waits for your answer"],
  ])("at %s for a reason that they are told", async (path, words) => {
    const visitor = browser(await serverOf({ ada: {} }));
    const { text } = await visitor.fetch(path);
    expect(text).toContain("Sign in to edge-servlets");
    expect(text).toContain(words);
  });

  test("and out by the button of every page, which no other site can press", async () => {
    const visitor = browser(await serverOf({ ada: {} }));
    await visitor.send("/sign-in", { credential: "ada" });
    const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    expect((await visitor.send("/sign-out", {}, foreign)).status).toBe(403);
    expect((await visitor.fetch("/account")).text).toContain("You are signed in as ada");
    const out = await visitor.send("/sign-out", {});
    expect(out.text).toContain("You are signed out");
    expect((await visitor.fetch("/account")).text).toContain("Sign in to edge-servlets");
  });
});

test("home says what the server is; the instructions for clients are for those who may call", async () => {
  const said = { SERVER_INSTRUCTIONS: "Forecasts of 40 stations.\nCall them by name." };
  expect((await visitorOf(said).fetch("/")).text).toContain("Forecasts of 40 stations.");
  const keyed = { ...said, API_KEYS: "{}" };
  expect((await visitorOf(keyed).fetch("/")).text).not.toContain("40 stations");
  const described = { ...keyed, SERVER_DESCRIPTION: "Weather for all." };
  expect((await visitorOf(described).fetch("/")).text).toContain("Weather for all.");
});

test("the path of a request leads to no other server as a link", () => {
  const link = pathOf(new Request("http://localhost:8787//evil.example/a?b"));
  expect(new URL(link, "http://localhost:8787").host).toBe("localhost:8787");
});
