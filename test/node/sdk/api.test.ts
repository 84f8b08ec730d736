import { describe, expect, test } from "vitest";
import {
  type ApiOptions,
  type ApiRequest,
  deepObject,
  defineApi,
  path,
  type Style,
} from "../../../src/kit/api.ts";
import type { Context } from "../../../src/kit/context.ts";

/** The client of `edge-servlets/api`. Here it runs in Node; test/node/bundle/openapi runs it in servlets. */
const OPTIONS: ApiOptions = { name: "Example", url: "https://api.example.com/v1" };

interface World {
  answers?: (Response | (() => Response))[];
  secrets?: Record<string, string>;
  asked?: Record<string, string | undefined>;
}

/** Makes a request; gives its result, what was sent, and how long it waited. */
async function called(
  request: ApiRequest,
  { answers = [Response.json({})], secrets = {}, asked = {} }: World = {},
  { options = OPTIONS, method = "get" as "get" | "post", to = "/items" } = {},
) {
  const sent: { url: string; headers: Headers; body: unknown; account: unknown }[] = [];
  const slept: number[] = [];
  const context = {
    fetch: async (url: string, init: RequestInit & { account?: string }) => {
      sent.push({ url, headers: init.headers as Headers, body: init.body, account: init.account });
      const answer = answers[Math.min(sent.length, answers.length) - 1]!;
      return typeof answer === "function" ? answer() : answer.clone();
    },
    secret: (service: string, user: string) => secrets[`${service} ${user}`],
    askSecret: async ({ name }: { name: string }) => asked[name],
    sleep: async (ms: number) => void slept.push(ms),
  } as unknown as Context;
  const call = defineApi(options)[method];
  const ended = await call(context, to, request).then(
    (result) => ({ result, error: undefined }),
    (error: Error) => ({ result: undefined, error: error.message }),
  );
  return { ...ended, sent, slept, url: sent[0]?.url.slice(OPTIONS.url.length) };
}

const structured = async (...given: Parameters<typeof called>) =>
  (await called(...given)).result?.structuredContent as Record<string, unknown>;

describe("a request", () => {
  test.each<[ApiRequest, string]>([
    [{ query: { a: 1, b: undefined, c: null, d: false } }, "/items?a=1&d=false"],
    [{ query: { a: ["x y", "z"], $top: 5 } }, "/items?a=x%20y&a=z&%24top=5"],
    [{ query: { a: "x&y,z!" } }, "/items?a=x%26y%2Cz%21"],
    [
      { query: { a: [], b: {} }, styles: { a: { explode: false }, b: { explode: false } } },
      "/items",
    ],
    [{ query: { filter: { a: 1 } } }, "/items?filter=%7B%22a%22:1%7D".replaceAll(":", "%3A")],
    [
      { query: deepObject({ f: { a: { b: 1 } }, l: ["x"] }) },
      "/items?f%5Ba%5D%5Bb%5D=1&l%5B0%5D=x",
    ],
    [{ query: { a: 1 }, next: "page=2&a=1" }, "/items?page=2&a=1"],
  ])("%j asks for %s", async (request, url) => {
    expect(await called(request)).toMatchObject({ url, error: undefined });
  });

  test.each<[ApiRequest, string, string]>([
    [{ json: { a: null } }, "application/json", '{"a":null}'],
    [
      { json: 0, headers: { "content-type": "application/merge-patch+json" } },
      "application/merge-patch+json",
      "0",
    ],
    [{ form: { a: "x&", b: ["1", "2"] } }, "application/x-www-form-urlencoded", "a=x%26&b=1&b=2"],
    [{ body: "text", headers: { "content-type": "text/plain" } }, "text/plain", "text"],
  ])("%j has a body of %s", async (request, type, body) => {
    const { sent } = await called(request, {}, { method: "post" });
    expect(sent[0]!.headers.get("content-type")).toBe(type);
    expect(sent[0]!.body).toBe(body);
  });

  test("has files in a form", async () => {
    const multipart = { name: "x", none: undefined, file: new Uint8Array([1, 2]) };
    const { sent } = await called({ multipart }, {}, { method: "post" });
    const { body, headers } = sent[0]!;
    const data = await new Response(body as Uint8Array<ArrayBuffer>, { headers }).formData();
    expect([...data.keys()]).toEqual(["name", "file"]);
    expect(data.get("name")).toBe("x");
    expect(await (data.get("file") as File).bytes()).toEqual(new Uint8Array([1, 2]));
  });

  test("has parts with their content types, and only parts with bytes are files", async () => {
    const multipart = {
      'a"\r\nb': 1,
      object: { x: ["é"] },
      list: [{ x: 1 }, "text"],
      empty: [],
      files: [new Uint8Array([65]), new Uint8Array([66])],
      whole: ["a", "b"],
      xml: "<a/>",
      ids: [1, 2],
      deep: { x: { y: 1 } },
    };
    const encoding = {
      files: { contentType: "image/png" },
      whole: { contentType: "application/json" },
      xml: { contentType: "text/xml" },
      ids: { style: "pipeDelimited" as const },
      deep: { style: "deepObject" as const },
    };
    const { sent } = await called({ multipart, encoding }, {}, { method: "post" });
    const [, boundary] = /^multipart\/form-data; boundary=(.+)$/.exec(
      sent[0]!.headers.get("content-type")!,
    )!;
    const text = new TextDecoder().decode(sent[0]!.body as Uint8Array);
    const disposition = "Content-Disposition: form-data; name=";
    expect(text.split(`--${boundary}`).map((part) => part.trim().replace(disposition, ""))).toEqual(
      [
        "",
        '"a%22%0D%0Ab"\r\n\r\n1',
        '"object"\r\nContent-Type: application/json\r\n\r\n{"x":["é"]}',
        '"list"\r\nContent-Type: application/json\r\n\r\n{"x":1}',
        '"list"\r\n\r\ntext',
        '"files"; filename="files"\r\nContent-Type: image/png\r\n\r\nA',
        '"files"; filename="files"\r\nContent-Type: image/png\r\n\r\nB',
        '"whole"\r\nContent-Type: application/json\r\n\r\n["a","b"]',
        '"xml"\r\nContent-Type: text/xml\r\n\r\n<a/>',
        '"ids"\r\n\r\n1|2',
        '"deep[x][y]"\r\n\r\n1',
        "--",
      ],
    );
  });
});

/** The examples of https://spec.openapis.org/oas/v3.1.1.html#style-examples, and what these leave open. */
describe("a parameter in the style", () => {
  const list = ["blue", "black", "brown"];
  const object = { R: 100, G: 200, B: 150 };

  test.each<[Style, unknown, string]>([
    [{ explode: false }, "blue", "color=blue"],
    [{ explode: false }, list, "color=blue,black,brown"],
    [{ explode: false }, object, "color=R,100,G,200,B,150"],
    [{ explode: true }, list, "color=blue&color=black&color=brown"],
    [{ explode: true }, object, "R=100&G=200&B=150"],
    [{ style: "spaceDelimited" }, list, "color=blue%20black%20brown"],
    [{ style: "spaceDelimited" }, object, "color=R%20100%20G%20200%20B%20150"],
    [{ style: "pipeDelimited" }, list, "color=blue%7Cblack%7Cbrown"],
    [{ style: "pipeDelimited" }, object, "color=R%7C100%7CG%7C200%7CB%7C150"],
    [{ style: "pipeDelimited", explode: true }, list, "color=blue&color=black&color=brown"],
    [{ style: "deepObject" }, object, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"],
    [{ explode: false }, ["a,b", "c&d", null, undefined], "color=a%2Cb,c%26d"],
    [{ explode: false }, { a: undefined, "b,": "1,2" }, "color=b%2C,1%2C2"],
    [{ style: "deepObject" }, { a: undefined, b: null, c: ["d"] }, "color%5Bc%5D%5B0%5D=d"],
    [
      { allowReserved: true },
      "a/b:c,d é&e=f+g#h%2Fi[j]",
      "color=a/b:c,d%20%C3%A9%26e%3Df%2Bg%23h%2Fi%5Bj%5D",
    ],
    [{}, "a", "color=a"],
  ])("%j has %j as %s", async (style, color, expected) => {
    const { url } = await called({ query: { color }, styles: { color: style } });
    expect(url).toBe(`/items?${expected}`);
    const { sent } = await called(
      { form: { color }, encoding: { color: style } },
      {},
      { method: "post" },
    );
    expect(sent[0]!.body).toBe(expected);
  });

  test("leaves other parameters as they are", async () => {
    const query = { ids: [1, 2], label: ["a,b", "c"], filter: { x: 1 }, constructor: { y: 2 } };
    const { url } = await called({ query, styles: { ids: { explode: false } } });
    expect(decodeURIComponent(url!)).toBe(
      '/items?ids=1,2&label=a,b&label=c&filter={"x":1}&constructor={"y":2}',
    );
  });

  test("`simple` is a header", async () => {
    const headers = { "x-ids": [1, "a b", null], "x-empty": [], "x-map": object, "x-all": object };
    const { sent } = await called({ headers, styles: { "x-all": { explode: true } } });
    expect(Object.fromEntries(sent[0]!.headers)).toMatchObject({
      "x-ids": "1,a b",
      "x-map": "R,100,G,200,B,150",
      "x-all": "R=100,G=200,B=150",
    });
    expect(sent[0]!.headers.has("x-empty")).toBe(false);
  });
});

describe("a path", () => {
  test("that has a query gets more of it", async () => {
    expect((await called({ query: { a: 1 } }, {}, { to: "/items?kind=x" })).url).toBe(
      "/items?kind=x&a=1",
    );
    expect((await called({}, {}, { to: "/items?kind=x" })).url).toBe("/items?kind=x");
  });

  test("has encoded values", () => {
    expect(path`/a/${"b/c?d#"}/${7}/${["x,", "y"]}.json`).toBe("/a/b%2Fc%3Fd%23/7/x%2C,y.json");
    expect(path`/a('${"b'c"}')`).toBe("/a('b%27c')");
  });

  test.each([[""], ["."], [".."]])("refuses %j", (value) => {
    expect(() => path`/users/${value}/keys`).toThrow(/cannot be in a path/);
    expect(() => path`/users/keys/${value}?all`).toThrow(/cannot be in a path/);
  });
});

describe("credentials", () => {
  test.each<[ApiOptions["keys"], Record<string, string>, string]>([
    [[{ secret: "k", as: "bearer" }], { authorization: "Bearer ключ" }, "/items"],
    [[{ secret: "k", as: { header: "x-key" } }], { "x-key": "ключ" }, "/items"],
  ])("%j", async (keys, headers, url) => {
    const { sent, ...got } = await called(
      {},
      { secrets: { "k key": "key" } },
      { options: { ...OPTIONS, keys: keys! } },
    );
    expect(got.url).toBe(url);
    for (const [name, value] of Object.entries(headers))
      expect(sent[0]!.headers.get(name)).toBe(value.replace("ключ", "key"));
  });

  test("are a user and a password", async () => {
    const options: ApiOptions = { ...OPTIONS, keys: [{ secret: "k", as: "basic" }] };
    const { sent } = await called({}, { asked: { k: "ada:pass" } }, { options });
    expect(sent[0]!.headers.get("authorization")).toBe(`Basic ${btoa("ada:pass")}`);
  });

  test("in the query do not come back in `next`", async () => {
    const options: ApiOptions = { ...OPTIONS, keys: [{ secret: "k", as: { query: "key" } }] };
    const link = '<https://api.example.com/v1/items?key=s&page=2>; rel="next"';
    const world = { asked: { k: "s" }, answers: [Response.json([], { headers: { link } })] };
    const { url, result } = await called({ query: { a: 1 } }, world, { options });
    expect(url).toBe("/items?a=1&key=s");
    expect(result!.structuredContent).toEqual({ items: [], next: "page=2" });
  });

  test("in the query leave a cursor as it is", async () => {
    const options: ApiOptions = { ...OPTIONS, keys: [{ secret: "k", as: { query: "key" } }] };
    const world = { asked: { k: "s" }, answers: [Response.json({ next: "a/b+c=" })] };
    expect(await structured({ nextAt: "next" }, world, { options })).toEqual({ next: "a/b+c=" });
  });

  test("are an account, and are left out of a request without them", async () => {
    const options: ApiOptions = { ...OPTIONS, account: "acme" };
    expect((await called({}, {}, { options })).sent[0]!.account).toBe("acme");
    expect((await called({ anonymous: true }, {}, { options })).sent[0]!.account).toBeUndefined();
  });

  test("that the caller does not give are missed by name", async () => {
    const options: ApiOptions = { ...OPTIONS, keys: [{ secret: "k", as: "bearer" }] };
    const { error, sent } = await called({}, {}, { options });
    expect(error).toMatch(/no key of Example/);
    expect(sent).toEqual([]);
  });
});

describe("an answer", () => {
  const one = (body: BodyInit | null, headers: Record<string, string> = {}) => ({
    answers: [new Response(body, { headers })],
  });
  const json = (value: unknown, headers: Record<string, string> = {}) => ({
    answers: [Response.json(value, { headers })],
  });

  test("is an object, a list or a value", async () => {
    expect(await structured({}, json({ content: ["x"] }))).toEqual({ content: ["x"] });
    expect(await structured({}, json([1, 2]))).toEqual({ items: [1, 2] });
    expect(await structured({}, json(7))).toEqual({ value: 7 });
  });

  test.each<[ReturnType<typeof one>, object]>([
    [{ answers: [new Response(null, { status: 204 })] }, { type: "text", text: "Example: done." }],
    [one("a,b", { "content-type": "text/csv" }), { type: "text", text: "a,b" }],
    [one("<a/>", { "content-type": "application/xml" }), { type: "text", text: "<a/>" }],
    [
      one("x", { "content-type": "image/png" }),
      { type: "image", data: "eA==", mimeType: "image/png" },
    ],
    [
      one("x", { "content-type": "application/pdf" }),
      { type: "resource", resource: { uri: "", mimeType: "application/pdf", blob: "eA==" } },
    ],
  ])("%# that is no JSON is content", async (world, block) => {
    expect((await called({}, world)).result).toEqual({ content: [block] });
  });

  test("that is too large a file is refused", async () => {
    const world = one(new Uint8Array(2 ** 20 + 1), { "content-type": "image/png" });
    expect((await called({}, world)).error).toMatch(/1048577 bytes/);
  });

  test("is cut to the members that are wanted", async () => {
    const value = { total: 2, list: [{ id: 1, user: { login: "ada", url: "x" } }, { id: 2 }] };
    expect(
      await structured({ fields: ["list.id", "list.user.login", "none"] }, json(value)),
    ).toEqual({
      list: [{ id: 1, user: { login: "ada" } }, { id: 2 }],
    });
    expect(await structured({ fields: ["id"] }, json([{ id: 1, name: "x" }]))).toEqual({
      items: [{ id: 1 }],
    });
  });

  test("that is too large says what was cut, and what there is", async () => {
    const list = Array.from({ length: 500 }, (_, id) => ({
      id,
      text: "x".repeat(700),
      inner: { a: [1] },
    }));
    const { items, note } = await structured({ fields: undefined }, json(list));
    expect(items).toHaveLength(50);
    expect(note).toMatch(
      /^Cut from \d{6} characters: lists to 50 items.*objects to 6 levels of 100 members.*`fields`.*id, text, inner/,
    );
    const text = JSON.stringify(await structured({}, json({ text: "x".repeat(1e6) })));
    expect(text.length).toBeLessThan(3000);
    expect(text).toContain("Ask for less.");
    const halves = await structured({}, json({ text: "x".repeat(1999) + "😀".repeat(30_000) }));
    expect(halves["text"]).toBe(`${"x".repeat(1999)}…`);
    const wide = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, n) => [`key${n}`, "x".repeat(50)]),
    );
    expect(JSON.stringify(await structured({}, json(wide))).length).toBeLessThan(40_000);
  });

  test.each<[unknown, Record<string, string>, string | undefined, string | undefined]>([
    [
      [],
      { link: '<https://x.example/a?page=1>; rel="prev", </a?page=3&b=c>; rel="next"' },
      undefined,
      "page=3&b=c",
    ],
    [[], { link: '<https://x.example/a?page=1>; rel="last"' }, undefined, undefined],
    [[], { link: '<https://x.example/a/page/2>; rel="next"' }, undefined, undefined],
    [[], { link: '</a?page=2#end>; rel="next"' }, undefined, "page=2"],
    [{ meta: { next_cursor: "abc=" } }, {}, "meta.next_cursor", "abc="],
    [{ meta: { next_cursor: "" } }, {}, "meta.next_cursor", undefined],
    [{ "@odata.nextLink": "https://x.example/v1?$skip=2" }, {}, "@odata.nextLink", "$skip=2"],
    [{ page: { next: { after: "x" } } }, {}, "page.next.after", "x"],
    [{ next_page: 3 }, {}, "next_page", "3"],
    [{ next_page: null }, {}, "next_page", undefined],
    [{ has_more: true, data: [{ id: "a" }, { id: "b" }] }, {}, "data.id", "b"],
    [{ has_more: false, data: [{ id: "a" }] }, {}, "data.id", undefined],
    [{ has_more: true, data: [] }, {}, "data.id", undefined],
    [{ pageInfo: { hasNextPage: false, endCursor: "x" } }, {}, "pageInfo.endCursor", undefined],
    [{ pageInfo: { hasNextPage: true, endCursor: "x" } }, {}, "pageInfo.endCursor", "x"],
  ])("%# names the next page", async (value, headers, nextAt, next) => {
    const request = nextAt === undefined ? {} : { nextAt };
    expect((await structured(request, json(value, headers)))["next"]).toBe(next);
  });
});

test("a cursor is added to the query, and a URL replaces it", async () => {
  const request = { query: { a: 1, cursor: "old" }, nextAt: "next", nextIn: "cursor" };
  const nextOf = async (next: unknown) =>
    (await structured(request, { answers: [Response.json({ next })] }))["next"] as string;
  const ask = async (next: string) => (await called({ ...request, next })).url;
  expect(await ask(await nextOf("/x+y="))).toBe("/items?a=1&cursor=%2Fx%2By%3D");
  expect(await ask(await nextOf("https://x.example/items?cursor=z&b=2"))).toBe(
    "/items?cursor=z&b=2",
  );
});

describe("a refusal", () => {
  const refused = (body: unknown, status = 422, headers: Record<string, string> = {}) => ({
    answers: [Response.json(body, { status, headers })],
  });

  test.each<[unknown, string]>([
    [
      { message: "Validation Failed", errors: [{ field: "title" }] },
      'Validation Failed [{"field":"title"}]',
    ],
    [{ error: { message: "No such customer", type: "invalid" } }, "No such customer"],
    [{ error: "invalid_grant", error_description: "Expired" }, "Expired"],
    [{ title: "Bad Request", detail: "`a` is required" }, "`a` is required"],
    [[{ message: "One" }], "One"],
    ["Just text", "Just text"],
  ])("%j has a message", async (body, message) => {
    expect((await called({}, refused(body))).error).toContain(`Example answered 422: ${message}`);
  });

  test("by a page of a proxy has its status alone", async () => {
    const answers = [new Response("<html>", { status: 502, statusText: "Bad Gateway" })];
    expect((await called({}, { answers })).error).toBe("Example answered 502 Bad Gateway.");
  });

  test("with the status 200 is one too", async () => {
    const { error } = await called(
      {},
      { answers: [Response.json({ ok: false, error: "not_authed" })] },
    );
    expect(error).toBe("Example refused: not_authed");
  });

  test("for now is waited for, three times", async () => {
    const busy = () => Response.json({}, { status: 429, headers: { "retry-after": "7" } });
    const once = await called({}, { answers: [busy, () => Response.json({ id: 1 })] });
    expect(once).toMatchObject({ slept: [7000], error: undefined });
    const always = await called({}, { answers: [busy] });
    expect(always.slept).toEqual([7000, 7000, 7000]);
    expect(always.error).toBe("Example answered 429. Try again in 7 seconds.");
  });

  test.each(["3600", "soon"])("for %j is not waited for", async (after) => {
    const world = refused({}, 429, { "retry-after": after });
    expect((await called({}, world)).slept).toEqual([]);
  });

  test("until a date is waited for", async () => {
    const busy = () =>
      Response.json(
        {},
        { status: 503, headers: { "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" } },
      );
    const { slept } = await called({}, { answers: [busy, () => Response.json({})] });
    expect(slept).toEqual([0]);
  });
});
