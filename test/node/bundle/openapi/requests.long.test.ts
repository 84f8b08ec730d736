import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../../../../src/server/kernel/core/model.ts";
import { newServlet } from "../../../../src/tools/commands/new.ts";
import { loadServlet, type ServletUnderTest } from "../../../../src/tools/testing/index.ts";
import { run } from "../commands/running.ts";

/** The requests that servlets of descriptions make, for arguments: each case is an operation of one servlet. */
interface Case {
  path?: string;
  method?: string;
  parameters?: Json[];
  /** The schema of a body, and what its media type has besides. */
  body?: [type: string, schema: Json, media?: Json];
  args: Json;
  /** The path with query, decoded, and the body; or the error of a call that sends nothing. */
  sent: string | RegExp;
}

const text = { type: "string" };
const list = { type: "array", items: text };
const query = (name: string, others: Json = {}) => ({ name, in: "query", schema: text, ...others });
const FORM = "application/x-www-form-urlencoded";
const file = { type: "string", format: "binary" };

const CASES: Record<string, Case> = {
  "a parameter that is a deep object, beside others": {
    parameters: [
      query("filter", { style: "deepObject", explode: true, schema: { type: "object" } }),
      query("sort"),
      query("tags", { schema: list }),
    ],
    args: { filter: { a: 1 }, sort: "x", tags: ["p", "q"] },
    sent: "?filter[a]=1&sort=x&tags=p&tags=q",
  },
  "lists with commas between items that have some": {
    parameters: [query("ids", { explode: false, schema: list })],
    args: { ids: ["a,b", "c"] },
    sent: "?ids=a%2Cb,c",
  },
  "empty lists, which are no parameters": {
    parameters: ["form", "spaceDelimited", "pipeDelimited"].map((style) =>
      query(style, { style, explode: false, schema: list }),
    ),
    args: { form: [], spaceDelimited: [], pipeDelimited: [] },
    sent: "",
  },
  "a list or a text, as either": {
    parameters: [
      query("a", { explode: false, schema: { oneOf: [list, text] } }),
      query("b", { explode: false, schema: { oneOf: [text, list] } }),
    ],
    args: { a: ["x", "y"], b: "z,z" },
    sent: "?a=x,y&b=z%2Cz",
  },
  "objects whose members are parameters": {
    parameters: [query("page", { schema: { type: "object" } })],
    args: { page: { limit: 5, at: "x" } },
    sent: "?limit=5&at=x",
  },
  "reserved characters as they are": {
    parameters: [query("q", { allowReserved: true })],
    args: { q: "a/b:c&d" },
    sent: "?q=a/b:c%26d",
  },
  "a parameter that is JSON": {
    parameters: [{ name: "q", in: "query", content: { "application/json": { schema: list } } }],
    args: { q: ["a"] },
    sent: '?q=["a"]',
  },
  "a path that has a query": {
    path: "/search?type=x",
    parameters: [query("q")],
    args: { q: "y" },
    sent: "/search?type=x&q=y",
  },
  "a path whose query has a parameter": {
    path: "/find?q={q}&of={of}",
    parameters: [query("q"), { name: "of", in: "path", required: true, schema: text }],
    args: { q: "y", of: "a&b" },
    sent: "/find?of=a%26b&q=y",
  },
  "a path with a fragment": {
    path: "/object#acl",
    parameters: [query("q")],
    args: { q: "y" },
    sent: "/object?q=y",
  },
  "names that differ by a sign": {
    parameters: ["Sent<", "Sent>", "Sent<=", "Sent!", "+1", "-1"].map((name) => query(name)),
    args: { sent_lt: "a", sent_gt: "b", sent_lte: "c", sent_not: "d", plus_1: "e", minus_1: "f" },
    sent: "?Sent<=a&Sent>=b&Sent<==c&Sent!=d&+1=e&-1=f",
  },
  "names that clients do not take": {
    parameters: ["名前", "住所", "地域"].map((name) => query(name)),
    args: { value: "a", query_value: "b", value_2: "c" },
    sent: "?名前=a&住所=b&地域=c",
  },
  "names that every object has": {
    parameters: [
      ...["constructor", "__proto__", "toString", "a"].map((name) => query(name)),
      { name: "valueOf", in: "header", schema: text },
    ],
    args: { constructor: "x", proto: "y" },
    sent: "?constructor=x&__proto__=y",
  },
  "deep objects whose names every object has": {
    parameters: ["constructor", "toString"].map((name) => ({
      name,
      in: "query",
      style: "deepObject",
      explode: true,
      schema: { type: "object", properties: { a: text } },
    })),
    args: { constructor: { a: "x" }, toString: { a: "y" } },
    sent: "?constructor[a]=x&toString[a]=y",
  },
  "no names that every object has, in two places": {
    method: "post",
    parameters: [query("valueOf"), query("b"), query("c"), query("d")],
    body: [
      "application/json",
      {
        type: "object",
        properties: {
          constructor: { type: "object", properties: { hasOwnProperty: text } },
          a: text,
        },
      },
    ],
    args: { a: "x", body_constructor: {}, b: "y" },
    sent: '?b=y {"constructor":{},"a":"x"}',
  },
  "a member of a form that is a deep object": {
    method: "post",
    body: [
      FORM,
      {
        type: "object",
        properties: { a: { type: "object" }, b: { type: "object" }, c: list, d: list, e: list },
      },
      {
        encoding: {
          a: { style: "deepObject" },
          c: { explode: false },
          d: { contentType: "application/json" },
        },
      },
    ],
    args: { a: { x: 1 }, b: { y: 2 }, c: ["1,", "2"], d: ["3"], e: ["4", "5"] },
    sent: ' a[x]=1&b={"y":2}&c=1%2C,2&d=["3"]&e=4&e=5',
  },
  "parts with their content types": {
    method: "post",
    body: [
      "multipart/form-data",
      {
        type: "object",
        required: ["files"],
        properties: {
          files: { type: "array", items: file },
          picture: file,
          about: { type: "object" },
          all: list,
          text,
        },
      },
      {
        encoding: {
          picture: { contentType: "image/png, image/jpeg" },
          all: { contentType: "application/json" },
        },
      },
    ],
    args: { files: ["QQ==", "Qg=="], picture: "Qw==", about: { x: 1 }, all: ["y"], text: "z" },
    sent: ` ${[
      'about application/json {"x":1}',
      'all application/json ["y"]',
      "text - z",
      "files application/octet-stream A",
      "files application/octet-stream B",
      "picture image/png C",
    ].join("|")}`,
  },
  "text in base64, where the API wants that": {
    method: "post",
    body: [
      "multipart/form-data",
      {
        type: "object",
        properties: {
          a: { type: "string", contentEncoding: "base64", contentMediaType: "image/png" },
        },
      },
    ],
    args: { a: "QQ==" },
    sent: " a - QQ==",
  },
  "members that the schema of a body allows": {
    method: "post",
    path: "/open/{id}",
    body: [
      "application/json",
      { type: "object", properties: { name: text, $a: text }, additionalProperties: true },
    ],
    args: { id: "1", name: "x", a: "y", custom: { z: 1 } },
    sent: '/open/1 {"name":"x","custom":{"z":1},"$a":"y"}',
  },
  "members of a type that the schema of a form allows": {
    method: "post",
    body: [
      FORM,
      { type: "object", properties: { name: text }, additionalProperties: { type: "integer" } },
    ],
    args: { name: "x", custom: 5 },
    sent: " name=x&custom=5",
  },
  "members of another type": {
    method: "post",
    body: [
      FORM,
      { type: "object", properties: { name: text }, additionalProperties: { type: "integer" } },
    ],
    args: { name: "x", custom: "five" },
    sent: /custom/,
  },
  "members that an inner schema allows, by saying nothing": {
    method: "post",
    body: [
      "application/json",
      {
        type: "object",
        properties: {
          a: { type: "object", properties: { b: text } },
          c: {
            type: "array",
            items: {
              type: "object",
              properties: { b: text },
              additionalProperties: { type: "integer" },
            },
          },
        },
      },
    ],
    args: { a: { b: "x", d: [1] }, c: [{ b: "y", e: 2 }] },
    sent: ' {"a":{"b":"x","d":[1]},"c":[{"b":"y","e":2}]}',
  },
  "members that an inner schema forbids": {
    method: "post",
    body: [
      "application/json",
      {
        type: "object",
        properties: { a: { type: "object", properties: { b: text }, additionalProperties: false } },
      },
    ],
    args: { a: { b: "x", d: 1 } },
    sent: /a.*d/,
  },
  "a form whose only member is a file with the name `body`": {
    method: "post",
    body: ["multipart/form-data", { type: "object", properties: { body: file } }],
    args: { multipart_body: "aGk=" },
    sent: " body application/octet-stream hi",
  },
  "keys of its own, by which the API knows a request again": {
    method: "post",
    parameters: [
      { name: "Idempotency-Key", in: "header", required: true, schema: text },
      { name: "Acme-Request-Id", in: "header", schema: text, description: "For idempotency." },
      { name: "X-Request-Id", in: "header", schema: text },
    ],
    body: [
      "application/json",
      {
        type: "object",
        required: ["idempotency_key"],
        properties: { idempotency_key: { type: "string", maxLength: 45 }, a: text },
      },
    ],
    args: { a: "x" },
    sent: ' {"a":"x","idempotency_key":"UUID"} Acme-Request-Id: UUID, Idempotency-Key: UUID',
  },
};

await mkdir(".bundle", { recursive: true });
const folder = await mkdtemp(join(".bundle", "test-requests-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

let servlet: ServletUnderTest;
let printed: string;
beforeAll(async () => {
  const paths: Record<string, Json> = {};
  for (const [
    at,
    { path = `/${nameOf(at)}`, method = "get", parameters = [], body },
  ] of Object.entries(CASES)) {
    const [type, schema, media] = body ?? [];
    paths[path] = {
      [method]: {
        operationId: nameOf(at),
        parameters,
        ...(type !== undefined && { requestBody: { content: { [type]: { schema, ...media } } } }),
        responses: { 200: { description: "OK" } },
      },
    };
  }
  const description = {
    openapi: "3.1.0",
    info: { title: "Sample", version: "1" },
    servers: [{ url: "https://api.example.com" }],
    paths,
  };
  await writeFile(join(folder, "all.json"), JSON.stringify(description));
  printed = await newServlet("sample", [folder], { openapi: join(folder, "all.json") });
  servlet = await loadServlet(join(folder, "sample"));
});

const nameOf = (what: string) => `case_${Object.keys(CASES).indexOf(what)}`;

/** A request as the cases have it. */
async function shown(request: Request, path: string): Promise<string> {
  const { pathname, search } = new URL(request.url);
  const type = request.headers.get("content-type") ?? "";
  const encoded = await request.clone().text();
  const body = type.startsWith("multipart/")
    ? encoded
        .split(/\r\n?--[^\r]*\r\n|^--[^\r]*\r\n/)
        .filter(Boolean)
        .map(partOf)
        .join("|")
    : type === FORM
      ? readable(encoded)
      : encoded;
  const keys = [...request.headers].filter(([name]) => /idempotency|request-id/.test(name));
  const uuid = /[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g;
  const whole = [
    (pathname === path ? "" : decodeURI(pathname)) + readable(search),
    body,
    keys.map(([name, value]) => `${CASED[name]}: ${value}`).join(", "),
  ];
  return whole.join(" ").trimEnd().replaceAll(uuid, "UUID");
}

const CASED: Record<string, string> = {
  "idempotency-key": "Idempotency-Key",
  "acme-request-id": "Acme-Request-Id",
  "x-request-id": "X-Request-Id",
};

/** Decoded, but for what separates values. */
const readable = (encoded: string) =>
  encoded.replaceAll(/(%[\dA-F]{2})+/g, (code) =>
    /%2C|%26/.test(code) ? code : decodeURIComponent(code),
  );

function partOf(part: string): string {
  const [head = "", content] = part.split("\r\n\r\n");
  const name = /name="([^"]*)"/.exec(head)?.[1];
  return `${name} ${/content-type: (\S+)/i.exec(head)?.[1] ?? "-"} ${content}`;
}

test.each(Object.entries(CASES))("A request has %s", async (what, { args, sent }) => {
  const requests: string[] = [];
  const { result } = await servlet.callTool(`sample_${nameOf(what)}`, args, {
    fetch: async (request) => {
      requests.push(await shown(request, `/${nameOf(what)}`));
      return Response.json({});
    },
  });
  const said = requests.length === 0 ? JSON.stringify(result.content) : requests.join("\n");
  const isExact = typeof sent === "string";
  expect(said).toMatch(isExact ? new RegExp(`^${RegExp.escape(sent)}$`) : sent);
});

test("The arguments say what the API calls them, where their names do not.", async () => {
  const { tools } = await servlet.list();
  const described = Object.assign(
    {},
    ...tools.map(({ inputSchema }) => inputSchema.properties),
  ) as Record<string, { description?: string }>;
  expect(described["sent_lt"]?.description).toBe("`Sent<` in the API.");
  expect(described["query_value"]?.description).toBe("`住所` in the API.");
  expect(described["tags"]).not.toHaveProperty("description");
});

test("The report says which arguments are made, and that unnamed members are not sent.", () => {
  expect(printed).toMatch(/its `Idempotency-Key` is a new one in each call/);
  expect(printed).toMatch(/bodies may have members that the description does not name/);
});

test("The code passes the type check.", async () => {
  const config = {
    extends: "../../plugins/tsconfig.servlets.json",
    include: ["*/servlet.ts"],
    exclude: [],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { stdout } = await run(join("node_modules", ".bin", "tsc"), ["-p", folder]);
  expect(stdout).toBe("");
});

describe("A POST is said to delete or overwrite", () => {
  const operations: [path: string, operation: Json, isDestructive: boolean][] = [
    ["/pets", { operationId: "addPet" }, false],
    ["/pets", {}, false],
    ["/chat.postMessage", { operationId: "chat_postMessage" }, false],
    ["/search", { summary: "Search for pets" }, false],
    ["/reports/run", { operationId: "runReport" }, false],
    ["/customers/{customer}", { operationId: "PostCustomersCustomer" }, true],
    ["/customers/{customer}", { summary: "Updates a customer" }, true],
    ["/customers/{customer}", { operationId: "getCustomerByPost" }, false],
    ["/tokens/{id}/revoke", { operationId: "tokens_1" }, true],
    ["/pets:batchDelete", {}, true],
    ["/deletePet", { operationId: "op7" }, true],
    ["/orders/{id}/cancellation", { summary: "Cancel an order" }, true],
    ["/settings", { operationId: "setSettings" }, true],
    ["/assets", { operationId: "uploadAsset" }, false],
  ];

  test.each(operations)("%s %j: %s", async (path, operation, isDestructive) => {
    const here = await mkdtemp(join(folder, "post-"));
    const responses = { 200: { description: "OK" } };
    const description = {
      openapi: "3.1.0",
      info: { title: "Sample", version: "1" },
      servers: [{ url: "https://api.example.com" }],
      paths: { [path]: { post: { ...operation, responses } } },
    };
    await writeFile(join(here, "all.json"), JSON.stringify(description));
    await newServlet("sample", [here], { openapi: join(here, "all.json") });
    const code = await readFile(join(here, "sample", "servlet.ts"), "utf8");
    expect(code).toContain(`destructiveHint: ${isDestructive} `);
  });
});
