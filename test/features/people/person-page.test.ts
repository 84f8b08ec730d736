import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { serverOf } from "../../worker/auth/key-holders.ts";
import { callOf, clock, limited, prepare, type Json } from "../../worker/calls/client.ts";
import { ELICIT, saidIn, steps } from "../../worker/calls/plans.ts";
import { browser, server, type Server } from "../../worker/pages/browser.ts";

/** The page of a question: its forms, who may open it, and what nobody should send. */
prepare();

interface Link {
  id: string;
  url: string;
}

const headersOf = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };

async function linkOf(all: Json[], at: Server = server, key?: string): Promise<Link> {
  const headers = headersOf(key);
  const sent = { server: at, capabilities: {}, headers };
  const { result, error } = await callOf("plan", steps(...all), sent);
  expect(error).toBeUndefined();
  return result!["structuredContent"];
}

async function saidBy(id: string, at: Server = server, key?: string): Promise<unknown[]> {
  const headers = headersOf(key);
  return saidIn(await callOf("get_result", { id }, { server: at, capabilities: {}, headers }));
}

/** Asks for one value with this schema. */
const asking = (properties: Json, required: string[] = []) => ({
  do: "inputs",
  keys: ["a"],
  message: "Fill in",
  schema: { type: "object", properties, required },
});

describe("fields", () => {
  const TITLED = {
    oneOf: [
      { const: "r", title: "Red" },
      { const: "g", title: "Green" },
    ],
  };
  test.each<[what: string, schema: Json, typed: string[], value: unknown]>([
    ["a text", { type: "string" }, ["Ada"], "Ada"],
    ["a long text", { type: "string", maxLength: 500 }, ["a\r\nb"], "a\nb"],
    ["an e-mail address", { type: "string", format: "email" }, ["a@b.example"], "a@b.example"],
    ["an address", { type: "string", format: "uri" }, ["https://a.example/"], "https://a.example/"],
    ["a date", { type: "string", format: "date" }, ["2026-11-23"], "2026-11-23"],
    [
      "a time",
      { type: "string", format: "date-time" },
      ["2026-11-23T14:00:00Z"],
      "2026-11-23T14:00:00Z",
    ],
    ["a number", { type: "number", minimum: 0 }, [" 1.5 "], 1.5],
    ["a whole number", { type: "integer" }, ["-3"], -3],
    ["yes", { type: "boolean" }, ["true"], true],
    ["no", { type: "boolean" }, ["false"], false],
    ["one of", { type: "string", enum: ["x", "y\nz"] }, ["1"], "y\nz"],
    ["one of, named", { type: "string", enum: ["x", "y"], enumNames: ["Ex", "Why"] }, ["0"], "x"],
    ["one of, titled", { type: "string", ...TITLED }, ["1"], "g"],
    [
      "some of",
      { type: "array", items: { type: "string", enum: ["x", "y", "z"] } },
      ["0", "2"],
      ["x", "z"],
    ],
    ["some of, titled", { type: "array", items: { anyOf: TITLED.oneOf } }, ["0"], ["r"]],
  ])("%s", async (_what, schema, typed, value) => {
    const { id, url } = await linkOf([asking({ value: schema }, ["value"])]);
    const person = browser();
    const { hidden } = await person.fetch(url);
    const fields = [...Object.entries(hidden), ...typed.map((one) => ["f0", one])];
    await person.send(url, [...fields, ["decision", "accept"]] as [string, string][]);
    expect(await saidBy(id)).toEqual([{ a: { action: "accept", content: { value } } }]);
  });

  test.each<[what: string, schema: Json, typed: string, message: RegExp]>([
    ["too short", { type: "string", minLength: 3 }, "ab", /at least 3/],
    ["no number", { type: "number" }, "many", /number/],
    ["too large", { type: "integer", maximum: 10 }, "11", /10/],
    ["larger than any number", { type: "number" }, "1e999", /number/],
    ["no whole number", { type: "integer" }, "1.5", /integer/],
    ["no address", { type: "string", format: "email" }, "a@", /email/],
    ["not one of these", { type: "string", enum: ["x"] }, "7", /one of|must be/],
    ["missing", { type: "string" }, "", /required|missing/],
  ])(
    "what does not fit is said beside the field, and what was typed is kept: %s",
    async (_what, schema, typed, message) => {
      const { id, url } = await linkOf([
        asking({ value: { title: "The value", ...schema }, other: { type: "string" } }, ["value"]),
      ]);
      const person = browser();
      const page = await person.answer(url, { f0: typed, f1: "<kept>" });
      expect(page.status).toBe(422);
      const [, wrong = ""] = /id="f0-wrong">([^<]*)</.exec(page.html) ?? [];
      expect(wrong).toMatch(message);
      expect(page.html).toContain('href="#f0"');
      expect(page.html).toMatch(/id="f0"[^>]*aria-describedby="f0-wrong"/);
      expect(page.html).toContain('value="&lt;kept&gt;"');
      await person.send(url, { ...page.hidden, decision: "decline" });
      expect(await saidBy(id)).toEqual([{ a: { action: "decline" } }]);
    },
  );

  test("defaults are filled in, and optional fields may stay empty", async () => {
    const { id, url } = await linkOf([
      asking({
        name: { type: "string", default: "Ada" },
        size: { type: "number", default: 2 },
        sure: { type: "boolean", default: true },
        color: { type: "string", enum: ["r", "g"], default: "g" },
        many: { type: "array", items: { enum: ["x", "y"] }, default: ["y"] },
        none: { type: "string" },
      }),
    ]);
    const person = browser();
    const { html } = await person.fetch(url);
    const checked = [...html.matchAll(/name="(f\d)"\s+value="([^"]*)"\s+checked/g)];
    expect(checked.map(([, name, value]) => [name, value])).toEqual([
      ["f2", "true"],
      ["f4", "1"],
    ]);
    expect(html).toMatch(/value="1"\s+selected/);
    await person.answer(url, { f0: "Ada", f1: "2", f2: "true", f3: "1", f4: "1", f5: "" });
    const content = { name: "Ada", size: 2, sure: true, color: "g", many: ["y"] };
    expect(await saidBy(id)).toEqual([{ a: { action: "accept", content } }]);
  });

  test("markup and control characters of a servlet are shown, and not obeyed", async () => {
    const evil = `<script>alert(1)</script>"'\u202e\u0007`;
    const schema = { [evil]: { title: evil, description: evil, enum: [evil], enumNames: [evil] } };
    const { url } = await linkOf([{ ...asking(schema), message: evil }]);
    const { html } = await browser().fetch(url);
    expect(html).not.toContain("<script");
    for (const one of ["\u202e", "\u0007"]) expect(html).not.toContain(one);
  });

  test("10,000 choices, and an answer to the last", async () => {
    const values = Array.from({ length: 10_000 }, (_, nth) => `v${nth}`);
    const { id, url } = await linkOf([asking({ value: { type: "string", enum: values } })]);
    await browser().answer(url, { f0: "9999" });
    expect(await saidBy(id)).toEqual([{ a: { action: "accept", content: { value: "v9999" } } }]);
  });

  test("a form of 1,000 fields, the last a text of 800,000 characters", async () => {
    const names = Array.from({ length: 1000 }, (_, nth) => `field ${nth}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const { id, url } = await linkOf([asking(properties, names)]);
    const typed = names.map((_name, nth) => [`f${nth}`, nth === 999 ? "x".repeat(800_000) : "y"]);
    await browser().answer(url, Object.fromEntries(typed));
    const [{ a }] = (await saidBy(id)) as [Json];
    expect(Object.keys(a.content)).toEqual(names);
    expect(a.content["field 999"]).toHaveLength(800_000);
  });

  test("several questions at once come one after the other", async () => {
    const { id, url } = await linkOf([{ do: "inputs", keys: ["a", "b"], message: "Say" }]);
    const person = browser();
    expect((await person.fetch(url)).text).toContain("1 more will be asked");
    expect((await person.answer(url, { f0: "A" })).text).toContain("Say b");
    await person.answer(url, { f0: "B" });
    const answer = (value: string) => ({ action: "accept", content: { value } });
    expect(await saidBy(id)).toEqual([{ a: answer("A"), b: answer("B") }]);
  });
});

test("a question under a key of two lines is answered, although browsers send another line break", async () => {
  const { id, url } = await linkOf([{ do: "inputs", keys: ["a\nb"], message: "Say" }]);
  const person = browser();
  const { hidden } = await person.fetch(url);
  const ask = hidden["ask"]!.replaceAll("\n", "\r\n");
  await person.send(url, { ...hidden, ask, f0: "A", decision: "accept" });
  const answer = { action: "accept", content: { value: "A" } };
  expect(await saidBy(id)).toEqual([{ "a\nb": answer }]);
});

describe("who may open it", () => {
  test("its headers: no frames, no scripts, nothing kept", async () => {
    const { url } = await linkOf([ELICIT]);
    const { headers } = (await browser().fetch(url)).response;
    const policy = headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self'");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("same-origin");
  });

  test("the holder of the key; others learn nothing", async () => {
    const keys = await serverOf({ ada: {}, eve: {} }, {});
    const { id, url } = await linkOf([{ ...ELICIT, message: "Secret?" }], keys, "ada");
    const person = browser(keys);
    const asked = await person.fetch(url);
    expect(asked.text).toContain("Sign in to edge-servlets");
    expect(asked.text).not.toContain("Secret?");
    expect((await person.send(url, { credential: "wrong" })).status).toBe(403);
    expect((await person.send(url, { credential: "ada" })).text).toContain("Secret?");
    const eve = browser(keys);
    const foreign = await eve.send(url, { credential: "eve" });
    const unknown = await eve.fetch(`/ask/${"0".repeat(64)}`);
    expect(foreign.text).toContain("Not for you");
    expect([foreign.status, foreign.text]).toEqual([unknown.status, unknown.text]);
    await person.answer(url, { f0: "Ada" });
    expect(await saidBy(id, keys, "ada")).toEqual(["Ada"]);
    const stolen = await callOf(
      "get_result",
      { id },
      { server: keys, capabilities: {}, headers: { authorization: "Bearer eve" } },
    );
    expect(stolen.result).toMatchObject({ isError: true });
  });

  test("the cookie is over after a while, is of one server's key, and is not sent to other sites", async () => {
    const keys = await serverOf({ ada: {} }, {});
    const { url } = await linkOf([ELICIT], keys, "ada");
    const person = browser(keys);
    const first = await person.fetch(url, {
      method: "POST",
      body: new URLSearchParams({ credential: "ada" }),
      headers: { origin: person.origin },
    });
    const [cookie] = first.response.headers.getSetCookie();
    expect(cookie).toMatch(/^person=\S+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=900$/);
    expect((await person.fetch(url)).text).toContain("Who?");
    // The same name with another key.
    const changed = await serverOf({ ada: { hash: "0".repeat(64) } }, {});
    const same = browser(changed);
    for (const [name, value] of person.cookies) same.cookies.set(name, value);
    expect((await same.fetch(url)).text).toContain("Sign in to edge-servlets");
    clock.aheadMs += limits.personMs + 1;
    expect((await person.fetch(url)).text).toContain("Sign in to edge-servlets");
    const late = await person.send(url, { ask: "ask_1", f0: "late", decision: "accept" });
    expect(late.text).toContain("Sign in to edge-servlets");
  });

  test("an answer is kept where the cookie has ended, until its sender has signed in again", async () => {
    const keys = await serverOf({ ada: {}, eve: {} }, {});
    const { id, url } = await linkOf([ELICIT], keys, "ada");
    const person = browser(keys);
    await person.send(url, { credential: "ada" });
    const { hidden } = await person.fetch(url);
    clock.aheadMs += limits.personMs + 1;
    const over = await person.send(url, { ...hidden, f0: "<long> text", decision: "accept" });
    expect([over.status, over.text]).toEqual([403, expect.stringContaining("Your answer is kept")]);
    expect(over.hidden).toEqual({ ask: hidden["ask"], f0: "<long> text" });
    const wrong = await person.send(url, { ...over.hidden, credential: "no" });
    expect(wrong.hidden).toEqual(over.hidden);
    const eve = await browser(keys).send(url, { ...over.hidden, credential: "eve" });
    expect(eve.text).toContain("Not for you");
    const again = await person.send(url, { ...wrong.hidden, credential: "ada" });
    expect([again.status, again.text]).toEqual([200, expect.stringContaining("Check your answer")]);
    expect(again.html).toContain('value="&lt;long&gt; text"');
    // Alarms go off by the platform's clock.
    clock.aheadMs = 0;
    await person.send(url, { ...again.hidden, f0: "<long> text", decision: "accept" });
    expect(await saidBy(id, keys, "ada")).toEqual(["<long> text"]);
  });

  test("over https the cookie is of this host alone", async () => {
    const keys = await serverOf({ ada: {} }, {});
    const person = browser(keys, "https://tools.example");
    const page = await person.fetch(`/ask/${"0".repeat(64)}`, {
      method: "POST",
      body: new URLSearchParams({ credential: "ada" }),
      headers: { origin: "https://tools.example" },
    });
    expect(page.response.headers.getSetCookie()[0]).toMatch(
      /^__Host-person=.*; Path=\/;.*; Secure$/,
    );
  });

  test("over plain http nothing is entered, also where that host is allowed", async () => {
    const keys = await serverOf({ ada: {} }, { ALLOWED_HOSTS: "lan.example" });
    const person = browser(keys, "http://lan.example");
    const page = await person.fetch("/sign-in");
    expect([page.status, page.text]).toEqual([403, expect.stringContaining("https")]);
    expect((await person.send("/sign-in", { credential: "ada" })).status).toBe(403);
    expect(person.cookies.size).toBe(0);
  });
});

describe("what nobody should send", () => {
  async function opened(all: Json[] = [ELICIT]) {
    const link = await linkOf(all);
    const person = browser();
    const { hidden } = await person.fetch(link.url);
    return { ...link, person, hidden };
  }

  test.each<[what: string, headers: Json]>([
    ["of another site", { origin: "https://evil.example" }],
    ["of a page on this machine", { origin: "http://localhost:3000" }],
    ["without an origin, from another site", { origin: "null" }],
    ["of a site that the browser calls another", { "sec-fetch-site": "cross-site" }],
    ["in a frame", { "sec-fetch-dest": "iframe" }],
    [
      "by a script of another site",
      { "sec-fetch-dest": "empty", "sec-fetch-site": "cross-site", origin: "null" },
    ],
    ["by a script of a related site", { "sec-fetch-dest": "empty", "sec-fetch-site": "same-site" }],
    ["as a picture", { "sec-fetch-dest": "image" }],
  ])("a form %s", async (_what, headers) => {
    const { person, url, hidden } = await opened();
    const page = await person.send(url, { ...hidden, f0: "Eve", decision: "accept" }, headers);
    expect(page.status).toBe(403);
    expect((await person.fetch(url)).text).toContain("Who?");
  });

  test("a form twice: the second is told so, and counts for nothing", async () => {
    const { person, url, id, hidden } = await opened([ELICIT, ELICIT]);
    await person.send(url, { ...hidden, f0: "one", decision: "accept" });
    const again = await person.send(url, { ...hidden, f0: "two", decision: "accept" });
    expect([again.status, again.text]).toEqual([409, expect.stringContaining("not open any more")]);
    await person.answer(url, { f0: "three" });
    expect(await saidBy(id)).toEqual(["one", "three"]);
    const late = await person.send(url, { ...hidden, f0: "four", decision: "accept" });
    expect(late.status).toBe(409);
  });

  test("two answers at once: one counts", async () => {
    const { person, url, id, hidden } = await opened();
    const both = ["one", "two"].map((f0) =>
      person.fetch(url, {
        method: "POST",
        body: new URLSearchParams({ ...hidden, f0, decision: "accept" }),
        headers: { origin: person.origin },
      }),
    );
    const statuses = (await Promise.all(both)).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([303, 409]);
    expect(["one", "two"]).toContain((await saidBy(id))[0]);
  });

  test("a token of another question, of another call, of another person, or none", async () => {
    const { person, url, id, hidden } = await opened();
    const other = await opened();
    for (const token of ["", "x", "AAAA", other.hidden["token"]!, `${hidden["token"]}A`]) {
      const page = await person.send(url, { ...hidden, token, f0: "Eve", decision: "accept" });
      expect(page.status).toBe(403);
      expect(page.html).toContain('value="Eve"');
    }
    for (const ask of ["", "ask_2", "__proto__", "constructor"]) {
      const page = await person.send(url, { ...hidden, ask, f0: "Eve", decision: "accept" });
      expect(page.status).toBe(403);
    }
    const keys = await serverOf({ ada: {} }, {});
    const link = await linkOf([ELICIT], keys, "ada");
    const [first, second] = [browser(keys), browser(keys)];
    await first.send(link.url, { credential: "ada" });
    await second.send(link.url, { credential: "ada" });
    const { hidden: ofFirst } = await first.fetch(link.url);
    const swapped = await second.send(link.url, { ...ofFirst, f0: "Eve", decision: "accept" });
    expect(swapped.status).toBe(403);
    await person.answer(url, { f0: "Ada" });
    expect(await saidBy(id)).toEqual(["Ada"]);
  });

  test("fields that are none, and a button that is none", async () => {
    const { person, url, id, hidden } = await opened();
    const odd = await person.send(url, { ...hidden, f0: "Ada", decision: "cancel" });
    expect(odd.status).toBe(400);
    const more = { f1: "x", value: "y", __proto__: "z", f00: "0" };
    await person.send(url, { ...hidden, ...more, f0: "Ada", decision: "accept" });
    expect(await saidBy(id)).toEqual(["Ada"]);
  });

  test("too much, or something else than a form", async () => {
    limited({ bodyBytes: 1000 });
    const { person, url } = await opened();
    const large = await person.send(url, { f0: "x".repeat(2000) });
    expect([large.status, large.text]).toEqual([413, expect.stringContaining("too large")]);
    const init = {
      method: "POST",
      headers: { origin: person.origin, "content-type": "application/json" },
    };
    expect((await person.fetch(url, { ...init, body: "{}" })).status).toBe(415);
  });

  test("more fields than any form has, of somebody who is not known", async () => {
    const keys = await serverOf({ ada: {} }, {});
    const person = browser(keys);
    const page = await person.fetch("/ask/x", {
      method: "POST",
      body: "f0&".repeat(1_300_000),
      headers: { origin: person.origin, "content-type": "application/x-www-form-urlencoded" },
    });
    expect([page.status, page.text]).toEqual([413, expect.stringContaining("too many fields")]);
  });

  test.each(["x", "0".repeat(64), "..%2f", "%00", "a".repeat(5000)])(
    "an id that is none: %s",
    async (id) => {
      const page = await browser().fetch(`/ask/${id}`);
      expect([page.status, page.text]).toEqual([404, expect.stringContaining("Not for you")]);
      expect(page.html).toMatch(/<a class="button" href="[^"]+">Go to the home page</);
    },
  );

  test("a call that was cancelled or has ended", async () => {
    const { person, url, hidden } = await opened();
    await person.send(url, { ...hidden, f0: "Ada", decision: "accept" });
    const page = await person.fetch(url);
    expect([page.status, page.text]).toEqual([
      200,
      expect.stringContaining("You can close this page"),
    ]);
  });
});

describe("an answer that a view gives", () => {
  const SEAT = asking({ seat: { type: "integer", maximum: 9 } }, ["seat"]);

  test.each(["{", "7", "[]", "null", '{"seat":70}', '{"seat":"a"}', "{}"])(
    "is not taken where it does not fit: %s",
    async (content) => {
      const { id, url } = await linkOf([SEAT]);
      const { status, text } = await browser().answer(url, { content });
      expect(status).toBe(422);
      expect(text).toContain("This was not sent");
      expect(await browser().answer(url, { content: '{"seat":7}' })).toMatchObject({ status: 200 });
      expect(JSON.stringify(await saidBy(id))).toContain('"seat":7');
    },
  );

  test("is taken from the page's own form alone", async () => {
    const { url } = await linkOf([SEAT]);
    const visitor = browser();
    const { hidden } = await visitor.fetch(url);
    const fields = { ...hidden, token: "forged", decision: "accept", content: '{"seat":7}' };
    expect((await visitor.send(url, fields)).status).toBe(403);
    const foreign = await visitor.send(
      url,
      { ...fields, ...hidden },
      { origin: "https://a.example" },
    );
    expect(foreign.status).toBe(403);
  });
});
