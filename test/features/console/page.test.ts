import { features } from "../../all-features.ts";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { serverOf } from "../../worker/auth/key-holders.ts";
import { browser } from "../../worker/pages/browser.ts";
import { profiled } from "../../worker/profiles.ts";
import { modern } from "../../worker/server.ts";

/** The start page: what it shows of servlets that mean no good, and to whom; and the calls of its script. */

type Json = Record<string, any>;

/** A server with one servlet, whose tool is this. */
const serverWith = (tool: Json, manifest: Json = {}, more: Json = {}) => {
  const hello = bundle.servlets.find(({ name }) => name === "hello")!;
  const [greet] = hello.lists!.tools;
  const tools = [{ ...greet!, ...tool }] as NonNullable<typeof hello.lists>["tools"];
  const servlet = { ...hello, lists: { ...hello.lists!, tools }, manifest, ...more };
  return createApp(new Kernel({ features, servlets: [servlet] }, env));
};

/** The page of the tool. */
const pageOf = async (tool: Json, manifest: Json = {}, more: Json = {}) =>
  browser(serverWith(tool, manifest, more)).fetch(
    `/?${String(new URLSearchParams({ tool: tool["name"] ?? "greet" }))}`,
  );

const EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e";

describe("the page of a profile", () => {
  const html = { accept: "text/html" };

  test("shows what the profile has, and how to connect to it", async () => {
    const server = profiled({ LINKS: "on" });
    const page = await browser(server).fetch("/mcp/support", { headers: html });
    expect(page.status).toBe(200);
    expect(page.text).toMatch(/Support A profile of edge-servlets\s*\.\s+What support needs\./);
    expect(page.html).toContain('data-name="greet"');
    expect(page.html).not.toContain('data-name="echo"');
    expect(page.html).toMatch(/data-mcp="\/mcp\/support"\s+data-profile="support"/);
    expect(page.text).toContain("edge-servlets-support http://localhost:8787/mcp/support");
    const { text } = await browser(server).fetch("/");
    expect(text).toContain("Profiles");
    expect(text).toContain("http://localhost:8787/mcp/plans");
    expect((await browser(profiled({}, {})).fetch("/")).text).not.toContain("Profiles");
  });

  test("shows to whom may use it alone, and calls as they may", async () => {
    const API_KEYS = JSON.stringify({
      bound: { hash: await digest("bound"), scopes: ["profile:support"] },
      other: { hash: await digest("other"), scopes: ["hello:greet"] },
    });
    const server = profiled({ LINKS: "on", API_KEYS });
    const { body, headers } = modern("tools/list", {});
    const call = (visitor: ReturnType<typeof browser>, path: string) =>
      visitor.fetch(path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { ...headers, ...JSON_TYPE, origin: visitor.origin },
      });
    const bound = browser(server);
    await bound.send("/sign-in", { credential: "bound" });
    const page = await bound.fetch("/mcp/support", { headers: html });
    expect(page.html).toContain('data-name="greet"');
    expect(page.html).toContain('data-mcp="/console/mcp/support"');
    expect((await call(bound, "/console/mcp/support")).html).toContain('"greet"');
    expect((await call(bound, "/console/mcp")).html).not.toContain('"greet"');
    expect((await call(bound, "/console/mcp/plans")).status).toBe(403);
    const other = browser(server);
    await other.send("/sign-in", { credential: "other" });
    const denied = await other.fetch("/mcp/support", { headers: html });
    expect(denied.text).toContain("You may not use this profile");
    expect(denied.html).not.toContain('data-name="greet"');
    expect((await call(other, "/console/mcp/support")).status).toBe(403);
  });
});

const digest = async (text: string) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();

describe("the start page", () => {
  test("says what APIs of models refuse in a tool", async () => {
    const inputSchema = { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] };
    const { text } = await pageOf({ name: "a.b", inputSchema });
    expect(text).toMatch(/Beware: the tool "a\.b" is listed as a\.b: .*names with dots/);
    expect(text).toMatch(/has anyOf at the root of its inputSchema/);
  });

  test("shows names, descriptions and schemas as text", async () => {
    const properties = { [EVIL]: { type: EVIL, description: EVIL, default: EVIL, pattern: EVIL } };
    const inputSchema = { type: "object", properties, required: [EVIL] };
    const { html, text } = await pageOf(
      { description: EVIL, inputSchema },
      { description: EVIL, prefix: "a" },
    );
    const own = /<script type="module" src="[^"]+"><\/script>|<img class="icon"/g;
    expect(html.replaceAll(own, "")).not.toMatch(/<script|<img/);
    expect(text).toContain("<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\\u{202e}");
    expect(html).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  });

  test("runs no script but its own, and is framed by nobody", async () => {
    const { response } = await pageOf({});
    const policy = response.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'; style-src 'nonce-");
    expect(policy).toContain("script-src 'self'; connect-src 'self'; media-src data:");
    expect(policy).toContain("frame-ancestors 'none'; base-uri 'none'");
    expect(policy).not.toMatch(/unsafe|\*/);
  });

  test("is short where a servlet says a megabyte, nests its schema, or lists a million members", async () => {
    const megabyte = "x".repeat(1024 * 1024);
    let deep: Json = { type: "string" };
    for (let level = 0; level < 500; level++) deep = { type: "object", properties: { a: deep } };
    const members = Array.from({ length: 20_000 }, (_, at) => [
      `m${at}`,
      { description: megabyte },
    ]);
    const properties = { deep, ...Object.fromEntries(members) };
    const { html, text } = await pageOf({
      description: megabyte,
      inputSchema: { type: "object", properties },
      annotations: { readOnlyHint: true },
    });
    expect(html.length).toBeLessThan(1024 * 1024);
    expect(text).toContain("Not all members are shown");
    expect(text).toContain("reads only");
  });

  test("is there for the others where one servlet fills it, or describes its tools senselessly", async () => {
    const long = { type: "string", description: "\u202e".repeat(20_000) };
    const members = Array.from({ length: 100 }, (_, at) => [`m${at}`, long] as const);
    let list: Json = { type: "string" };
    for (let level = 0; level < 20_000; level++) list = { type: "array", items: list };
    const odd = [
      { type: [{ toString: 1 }, "number"] },
      { anyOf: [{ type: [[], { valueOf: 1 }] }] },
      list,
    ];
    const schemas = [
      ...odd.map((one) => ({ one })),
      Object.fromEntries(members),
      ...Array.from({ length: 3000 }, () => ({})),
    ];
    const hello = bundle.servlets.find(({ name }) => name === "hello")!;
    const tools = schemas.map((properties: Json, nth) => {
      const schema = { type: "object" as const, properties };
      const description = "\u202e".repeat(20_000);
      return { ...hello.lists!.tools[0]!, name: `t${nth}`, description, inputSchema: schema };
    });
    const hostile = { ...hello, name: "a", lists: { ...hello.lists!, tools } };
    const other = { ...hello, name: "b" };
    const server = createApp(new Kernel({ features, servlets: [hostile, other] }, env));
    const visitor = browser(server);
    for (const nth of odd.keys()) expect((await visitor.fetch(`/?tool=t${nth}`)).status).toBe(200);
    const { html, text, status } = await visitor.fetch("/");
    expect(status).toBe(200);
    expect(html.length).toBeLessThan(5 * 1024 * 1024);
    // Booleans: a failure need not print megabytes.
    expect(/Clients list \d+ more/.test(text)).toBe(true);
    expect(html.includes('data-name="greet"')).toBe(true);
  });

  test("shows that a tool may ask if its servlet's code can, unless its manifest says otherwise", async () => {
    const badge = "may ask you";
    expect((await pageOf({}, {}, { mayAsk: true })).text).toContain(badge);
    expect((await pageOf({}, {}, { mayAsk: false })).text).not.toContain(badge);
    const tools = { greet: { asks: false } };
    expect((await pageOf({}, { tools }, { mayAsk: true })).text).not.toContain(badge);
  });

  test("says in words what a tool may do, and what it needs", async () => {
    const { text } = await pageOf(
      { annotations: { destructiveHint: true, openWorldHint: true } },
      {
        accounts: { github: { hosts: ["api.github.com"] } },
        tools: { greet: { task: "auto", asks: true } },
      },
    );
    for (const badge of [
      "may delete or overwrite",
      "reaches outside",
      "may ask you",
      "may take long",
      "uses your account github",
    ])
      expect(text).toContain(badge);
  });
});

test("commands to copy run nothing but themselves, whatever the host is called", async () => {
  const visitor = browser(serverWith({}), "http://$(id)';id;'.localhost:8787");
  const url = `'http://$(id)'\\'';id;'\\''.localhost:8787/mcp'`;
  const { text } = await visitor.fetch("/");
  expect(text).toContain(`claude mcp add --transport http edge-servlets ${url}`);
  expect(text).toContain(`curl ${url} -H`);
});

const JSON_TYPE = { "content-type": "application/json", accept: "application/json" };

test("assets are scripts, by their names alone", async () => {
  const visitor = browser(serverWith({}));
  for (const path of ["..%2Fmain.js", "main.js%2F..", "nothing.js", "%00.js"])
    expect([400, 404]).toContain((await visitor.fetch(`/console/${path}`)).status);
  const { response, html } = await visitor.fetch("/console/main.js");
  expect(response.headers.get("content-type")).toMatch(/^text\/javascript/);
  expect(html).toContain("import(");
});

describe("the page of an entry", () => {
  test("has its title, its description in short, and the list of all beside it", async () => {
    const description = `Greets a person by name. ${"It may take long to say why. ".repeat(20)}`;
    const { html, text, status } = await pageOf({ title: "Greet somebody", description });
    expect(status).toBe(200);
    expect(html).toContain("<title>Greet somebody · edge-servlets</title>");
    expect(html.match(/<h1/g)).toHaveLength(1);
    expect(html).toMatch(/<p class="text">Greets a person by name\.<\/p>/);
    expect(text).toContain("More about it Greets a person by name. It may take long");
    expect(html).toMatch(/<a href="\?tool=greet" aria-current="page">/);
    expect(text).toContain("Arguments and results as tables Arguments Name Type Description");
  });

  test("leads to entries of all kinds, whatever they are called", async () => {
    const server = createApp(new Kernel(bundle, env));
    const { html } = await browser(server).fetch("/");
    const links = [...html.matchAll(/href="(\?(tool|prompt|resource|template)=[^"]*)"/g)];
    expect(new Set(links.map(([, , kind]) => kind)).size).toBe(4);
    for (const kind of ["prompt", "resource", "template"]) {
      const [, link] = links.find((one) => one[2] === kind)!;
      const page = await browser(server).fetch(`/${link!}`);
      expect(page.status).toBe(200);
      expect(page.html).toContain('class="place"');
    }
  });

  test("that is not there says so, with a way on, and quotes its name as text", async () => {
    const { html, status } = await browser(serverWith({})).fetch(
      `/?${String(new URLSearchParams({ tool: EVIL }))}`,
    );
    expect(status).toBe(404);
    expect(html).toContain("There is no such tool");
    expect(html).toContain('<a href="?">See all tools</a>');
    expect(html).not.toMatch(/<script>|<img src=x/);
  });
});

describe("where callers must be known, the page", () => {
  const keys = { ada: {}, bob: { scopes: ["greeter"] } };

  test("shows each what the key grants, with the scope that it takes", async () => {
    const server = await serverOf(keys);
    const visitor = browser(server);
    expect((await visitor.fetch("/")).text).not.toContain("greet");
    await visitor.send("/sign-in", { credential: "bob" });
    const page = await visitor.fetch("/");
    expect(page.text).toContain("bob Account Sign out");
    expect(page.text).toContain("greet");
    expect(page.text).not.toContain("lookup_status");
    expect((await visitor.fetch("/?tool=greet")).text).toContain("scope greeter");
    // A tool of others is as one that is not there.
    const hidden = await visitor.fetch("/?tool=lookup_status");
    expect(hidden.status).toBe(404);
    expect(hidden.text).toContain("lookup_status is not offered here");
  });

  test("of an entry leads back to itself after the sign-in", async () => {
    const visitor = browser(await serverOf(keys));
    const page = await visitor.fetch("/?tool=greet");
    const links = page.html.match(/href="\/sign-in[^"]*"/g);
    expect(links).toEqual(Array(2).fill('href="/sign-in?back=%2F%3Ftool%3Dgreet"'));
    expect(page.text).not.toContain("greet");
    await visitor.send("/sign-in?back=%2F%3Ftool%3Dgreet", { credential: "ada" });
    expect((await visitor.fetch("/?tool=greet")).html).toContain('class="place"');
  });

  test("leads back to this server only", async () => {
    const server = await serverOf(keys);
    const visitor = browser(server);
    const { response } = await visitor.send("/sign-in?back=%2F%23tool-greet", {
      credential: "ada",
    });
    expect(response.headers.get("location")).toBe("/#tool-greet");
    for (const back of ["/.//evil.example/", "/x/..//evil.example/"]) {
      const page = await visitor.fetch(`/sign-in?back=${encodeURIComponent(back)}`);
      const to = new URL(page.response.headers.get("location")!, visitor.origin);
      expect(to.origin).toBe(visitor.origin);
    }
    for (const back of [
      "//evil.example/",
      "https://evil.example/",
      "\\\\evil.example",
      "javascript:1",
      "blob:http://localhost:8787/x",
      "http://ada:pass@localhost:8787/x",
    ]) {
      const page = await visitor.fetch(`/sign-in?back=${encodeURIComponent(back)}`);
      expect(page.status).toBe(400);
      expect(page.response.headers.get("location")).toBeNull();
    }
  });

  test("calls as its visitor, by cookie, from this server's own pages only", async () => {
    const server = await serverOf(keys);
    const visitor = browser(server);
    const { body, headers } = modern("tools/list", {});
    const post = (more: Record<string, string> = {}) =>
      visitor.fetch("/console/mcp", {
        method: "POST",
        body: JSON.stringify(body),
        headers: { ...headers, ...JSON_TYPE, origin: visitor.origin, ...more },
      });
    const unknown = await post();
    expect(unknown.status).toBe(401);
    expect(unknown.html).toContain("Sign in again");
    await visitor.send("/sign-in", { credential: "bob" });
    const { html, status } = await post();
    expect(status).toBe(200);
    expect(html).toContain('"greet"');
    expect(html).not.toContain("lookup_status");
    for (const origin of ["https://evil.example", "http://localhost:3000"])
      expect((await post({ origin })).status).toBe(403);
    // Where anybody may call, callers are counted by their networks, at the endpoint of clients alone.
    const open = browser(createApp(new Kernel(bundle, env)));
    const anybody = await open.fetch("/console/mcp", {
      method: "POST",
      body: JSON.stringify(body),
      headers: { ...headers, ...JSON_TYPE, origin: visitor.origin },
    });
    expect(anybody.status).toBe(401);
    // A cookie is no key to the endpoint of clients.
    const other = await visitor.fetch("/mcp", {
      method: "POST",
      body: JSON.stringify(body),
      headers: { ...headers, ...JSON_TYPE },
    });
    expect(other.status).toBe(401);
  });
});
