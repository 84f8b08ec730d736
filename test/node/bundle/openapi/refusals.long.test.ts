import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { configureLimits } from "../../../../src/server/kernel/core/limits.ts";
import { limits } from "../../../../src/tools/bundle/limits.ts";
import { loadServlet } from "../../../../src/tools/testing/index.ts";
import { newServlet } from "../../../../src/tools/commands/new.ts";

/** Descriptions of which no servlet is made, or not of all: the message says why, and nothing is written. */
let folder: string;
let server: Server;
let origin: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === "/page") response.setHeader("content-type", "text/html");
    response.statusCode = request.url === "/none" ? 404 : 200;
    response.end(
      request.url === "/page" ? "<html>" : JSON.stringify(described({ servers: undefined })),
    );
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(async () => {
  await mkdir(".bundle", { recursive: true });
  folder = await mkdtemp(join(".bundle", "test-refusals-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const OK = { responses: { 200: { description: "OK" } } };

const described = (others: object = {}) => ({
  openapi: "3.1.0",
  info: { title: "Example", version: "1" },
  servers: [{ url: "https://api.example.com" }],
  paths: { "/a": { get: { operationId: "getA", ...OK } } },
  ...others,
});

async function made(content: unknown, choice: object = {}): Promise<string> {
  const path = join(folder, "description.yaml");
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  return newServlet("sample", [join(folder, "servlets")], { openapi: path, ...choice });
}

const written = () => readdir(join(folder, "servlets")).catch(() => []);

const withSchema = (schema: object, components: object = {}) =>
  described({
    paths: {
      "/a": { post: { ...OK, requestBody: { content: { "application/json": { schema } } } } },
    },
    components: { schemas: components },
  });

describe("is refused", () => {
  const many = Object.fromEntries(
    Array.from({ length: 5000 }, (_, at) => [
      `/group${at % 50}/{id}/item${at}`,
      { get: { operationId: `op${at}`, tags: [`tag${at % 3}`], ...OK } },
    ]),
  );

  test.each<[what: string, content: unknown, message: RegExp, choice?: object]>([
    ["text that is not YAML", "a: b: c", /cannot be read as YAML or JSON: Nested mappings/],
    ["JSON that ends early", '{"openapi": ', /cannot be read as YAML or JSON/],
    ["an alias that leads to itself", "a: &a { b: *a }", /circular/],
    ["a text", "hello", /it is no object/],
    ["a file of something else", { name: "x" }, /no `openapi: 3/],
    ["Swagger 2.0", { swagger: "2.0", info: {}, paths: {} }, /Swagger 2\.0.*swagger2openapi/],
    ["OpenAPI 4", { openapi: "4.0.0" }, /OpenAPI 4\.0\.0, and 3\.0 to 3\.2/],
    ["no paths", described({ paths: {} }), /no `paths`/],
    ["no version", described({ info: { title: "T" } }), /at \/info: .*'version'/],
    ["a server without a URL", described({ servers: [{}] }), /at \/servers\/0: .*'url'/],
    [
      "references to other hosts",
      withSchema({ $ref: "https://schemas.example.com/pet.json#/Pet" }),
      /refers to https:\/\/schemas\.example\.com\/pet\.json#\/Pet, and other documents are not read.*bundle/,
    ],
    [
      "paths in other files",
      described({ paths: { "/a": { $ref: "./paths/a.yaml" } } }),
      /refers to \.\/paths\/a\.yaml, and other documents are not read/,
    ],
    ["references to files", withSchema({ $ref: "./pet.yaml" }), /refers to \.\/pet\.yaml/],
    [
      "a reference to nothing",
      withSchema({ $ref: "#/components/schemas/Pet" }),
      /Pet is not in it/,
    ],
    [
      "a reference that is badly encoded",
      withSchema(
        { $ref: "#/components/schemas/A/properties/50%" },
        { A: { properties: { "50%": {} } } },
      ),
      /it is not valid OpenAPI 3\.1\.0: URI malformed/,
    ],
    [
      "a reference to itself",
      described({
        paths: { "/a": { get: { ...OK, parameters: [{ $ref: "#/components/parameters/p" }] } } },
        components: { parameters: { p: { $ref: "#/components/parameters/p" } } },
      }),
      /parameters\/p refers to itself/,
    ],
    [
      "what is not valid",
      described({ paths: { "/a": { get: { ...OK, parameters: [{ in: "query", schema: {} }] } } } }),
      /not valid OpenAPI 3\.1\.0 at \/paths\/~1a\/get\/parameters\/0: it must have required property 'name'/,
    ],
    ["5,000 operations", described({ paths: many }), /5000 operations.*1667 {2}--tag "tag0"/s],
    [
      "a tag of many operations",
      described({ paths: many }),
      /1667 operations.*34 {2}--only "\/group0\/\*"/s,
      { tag: ["tag0"] },
    ],
    [
      "a choice of nothing",
      described(),
      /nothing in it is chosen.*--only "getA"/s,
      { only: ["b*"] },
    ],
    [
      "a choice of what is deprecated",
      described({ paths: { "/a": { get: { deprecated: true, ...OK } } } }),
      /all that is chosen is deprecated/,
    ],
    [
      "a server without a host",
      described({ servers: [{ url: "/api/v3" }] }),
      /its server is \/api\/v3.*under `servers`, such as https:\/\/api\.example\.com\/api\/v3/,
    ],
    [
      "only what servlets cannot do",
      described({
        paths: {
          "/a": {
            get: { ...OK, parameters: [{ name: "s", in: "cookie", required: true, schema: {} }] },
          },
        },
      }),
      /none of its operations can become a tool:\n {2}GET \/a: it needs the cookie s/,
    ],
    ["another language", described(), /leave out --lang/, { lang: "c" }],
    [
      "a server that is any host",
      described({ servers: [{ url: "https://*/v1" }] }),
      /its server is https:\/\/\*\/v1\..*such as https:\/\/api\.example\.com$/,
    ],
    [
      "a server with a variable that it does not have",
      described({ servers: [{ url: "https://api.example.com/{version}" }] }),
      /its server is https:\/\/api\.example\.com\/\{version\}/,
    ],
    ["no list of servers", described({ servers: [null] }), /at \/servers\/0: it must be object/],
    ["no list of credentials", described({ security: "x" }), /at \/security: it must be array/],
    ["maps that are keys of maps", `${"? ".repeat(300)}x`, /YAML or JSON: Map keys must be texts/],
    ["a key twice", "a: 1\nb: 2\na: 3", /Map keys must be unique: a is there twice/],
    [
      "schemas that are nested too deeply",
      JSON.stringify(withSchema({ a: "HERE" })).replace(
        '{"a":"HERE"}',
        '{"type":"array","items":'.repeat(9000) + "{}" + "}".repeat(9000),
      ),
      /not valid OpenAPI 3\.1\.0: Maximum call stack/,
    ],
    [
      "schemas that refer to each other too often",
      withSchema(
        { $ref: "#/components/schemas/S0" },
        Object.fromEntries(
          Array.from({ length: 15_000 }, (_, at) => [
            `S${at}`,
            at === 14_999 ? {} : { allOf: [{ $ref: `#/components/schemas/S${at + 1}` }] },
          ]),
        ),
      ),
      /its schemas are nested too deeply/,
    ],
  ])("%s", async (_what, content, message, choice) => {
    await expect(made(content, choice)).rejects.toThrow(message);
    expect(await written()).toEqual([]);
  });

  test("a choice without a description", async () => {
    const choosing = newServlet("sample", [folder], { only: ["a"] });
    await expect(choosing).rejects.toThrow(/give --openapi/);
  });

  test.each([
    ["none", /status 404: there is nothing/],
    ["page", /a web page/],
  ])("the address /%s", async (path, message) => {
    const making = newServlet("sample", [folder], { openapi: `${origin}/${path}` });
    await expect(making).rejects.toThrow(message);
    expect(await readdir(folder)).toEqual([]);
  });

  test("a URL that is not encrypted", async () => {
    const making = newServlet("sample", [folder], { openapi: "http://example.com/openapi.json" });
    await expect(making).rejects.toThrow(/not encrypted/);
  });

  test("a file that is not there, or too large", async () => {
    const making = newServlet("sample", [folder], { openapi: join(folder, "none.yaml") });
    await expect(making).rejects.toThrow(/no such file/);
    const { descriptionBytes } = limits;
    configureLimits({ descriptionBytes: 10 });
    await expect(made(described())).rejects.toThrow(/larger than 10 bytes/);
    await expect(newServlet("sample", [folder], { openapi: origin })).rejects.toThrow(
      /larger than 10/,
    );
    configureLimits({ descriptionBytes });
  });
});

describe("is made", () => {
  const code = () => readFile(join(folder, "servlets/sample/servlet.ts"), "utf8");

  test("of a URL, from which its server is told", async () => {
    await newServlet("sample", [join(folder, "servlets")], {
      openapi: `${origin}/v2/openapi.json`,
    });
    expect(await code()).toContain(`url: "${origin}",`);
  });

  test("of what is chosen, though the rest is not valid", async () => {
    const { paths } = described();
    const rest = { "/b": { get: { parameters: [{ $ref: "https://other.example" }] } } };
    await made(described({ paths: { ...paths, ...rest } }), { only: ["getA"] });
    expect(await code()).toContain("sample_get_a:");
  });

  test("of JSON with a byte order mark", async () => {
    await made(`\uFEFF${JSON.stringify(described())}`);
    expect(await code()).toContain("sample_get_a:");
  });

  test("of a version that YAML takes for a number", async () => {
    await made(
      "openapi: 3.0.0\ninfo: { title: T, version: 1.0 }\nservers: [{ url: https://a.example }]\npaths: { /a: { get: { responses: { 200: { description: OK } } } } }\n",
    );
    expect(await code()).toContain("sample_get_a:");
  });

  test("with a note of a schema that is not valid", async () => {
    const text = await made({
      ...withSchema({ type: "object", properties: { a: { type: "text" } } }),
      openapi: "3.0.3",
    });
    expect(text).toMatch(/not valid OpenAPI 3\.0\.3 at .*schema/);
  });

  test("of the same names, whatever is chosen of them", async () => {
    const paths = {
      "/a": { get: { operationId: "get-a", ...OK } },
      "/b": { get: { operationId: "getA", tags: ["b"], ...OK } },
    };
    await made(described({ paths }), { tag: ["b"] });
    expect(await code()).toContain("sample_get_a_2:");
  });

  test("though extensions refer to what is in no part of OpenAPI", async () => {
    const policy = { $ref: "#/components/x-policy/standard" };
    const schema = {
      type: "object",
      "x-shown": policy,
      properties: { "x-own": { $ref: "#/components/schemas/x-named" } },
    };
    const get = { operationId: "getA", "x-policies": [policy], ...OK };
    const content = { "application/json": { schema } };
    const post = { operationId: "postA", ...OK, requestBody: { content } };
    const components = {
      "x-policy": { standard: [{ $ref: "#/components/x-policy/other" }], other: {} },
      schemas: { "x-named": { type: "string", "x-shown": policy } },
    };
    for (const openapi of ["3.0.3", "3.1.0"]) {
      await rm(join(folder, "servlets"), { recursive: true, force: true });
      await made({ ...described({ paths: { "/a": { get, post } }, components }), openapi });
      expect(await code()).toContain("x-own");
    }
  });

  test("of an operation that names the server of all others as its own", async () => {
    const servers = [{ url: "https://api.example.com/" }];
    const get = { operationId: "getA", servers, ...OK };
    await made(described({ paths: { "/a": { get } } }));
    expect(await code()).toContain("sample_get_a:");
  });

  test("though a part of it is empty", async () => {
    await made(described({ components: null, security: null, tags: null }));
    expect(await code()).toContain("sample_get_a:");
  });

  test("of what is deprecated, where it is named", async () => {
    const paths = {
      "/a": { get: { operationId: "a", deprecated: true, ...OK } },
      "/b": { get: { operationId: "b", deprecated: true, ...OK } },
    };
    const text = await made(described({ paths }), { only: ["a"] });
    expect(text).toMatch(/1 tool from 2 operations \(1 deprecated, left out\)/);
  });

  test("of names that begin with a digit", async () => {
    const parameters = [{ name: "2fa", in: "path", required: true, schema: { type: "string" } }];
    await made(described({ paths: { "/a/{2fa}": { get: { parameters, ...OK } } } }));
    expect(await code()).toContain("path`/a/${value_2fa}`");
  });

  test("with a test whose arguments are as long and small as they must be", async () => {
    const properties = {
      pair: { type: "array", items: { type: "number", maximum: 0.5 }, minItems: 2 },
      long: { type: "string", minLength: 2 ** 40, maxLength: 2 ** 41 },
    };
    await made(withSchema({ type: "object", properties, required: ["pair", "long"] }));
    const text = await readFile(join(folder, "servlets/sample/servlet.test.ts"), "utf8");
    expect(text).toContain("pair: [0.5, 0.5]");
  });

  test("of schemas that have themselves in a member `references`", async () => {
    const node = {
      type: "object",
      properties: {
        references: { $ref: "#/components/schemas/Node" },
        a: { type: "string" },
        b: { type: "string" },
        c: { type: "string" },
      },
    };
    const reference = { $ref: "#/components/schemas/Node" };
    const both = { type: "object", properties: { x: reference, y: reference } };
    await made(withSchema(both, { Node: node }));
    expect(await code()).not.toContain("const Node =");
  });

  test("of schemas that refer to each other", async () => {
    const node = {
      type: "object",
      properties: {
        next: { $ref: "#/components/schemas/Node" },
        all: { type: "array", items: { $ref: "#/components/schemas/Node" } },
      },
    };
    const text = await made(withSchema({ $ref: "#/components/schemas/Node" }, { Node: node }));
    expect(text).toContain("Node contains itself");
    expect(await code()).toContain('z.describe("Another Node, like the one around it")');
  });

  const parameter = (name: string, others: object = {}) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
    ...others,
  });
  const at = (path: string, ...parameters: object[]) => ({
    [path]: { get: { operationId: "getA", ...OK, parameters } },
  });

  const rows: [what: string, paths: ReturnType<typeof at>, expected: string][] = [
    ["a digit first", at("/a/{2fa}", parameter("2fa")), "{ value_2fa, fields }"],
    [
      "the name that another has in the code",
      at("/a/{class}/{class_}", parameter("class"), parameter("class_")),
      "{ class: class__, class_, fields }",
    ],
    [
      "the name of what the code uses",
      at("/a/{JSON}", parameter("JSON")),
      "{ JSON: JSON_, fields }",
    ],
    [
      "more characters than clients take",
      at(`/{${"a".repeat(80)}}`),
      /{ a{30}\w{1,20}, fields }/.source,
    ],
    [
      "code in it",
      at("/a/{k`+x()+`}", parameter("k`+x()+`", { style: "matrix" })),
      "path`/a/;k\\`+x()+\\`=${k_x}`",
    ],
    ["a zero beside it", at("/a\0b\0/{id}"), "path`/a\\u0000b\\u0000/${id}`"],
  ];

  test.each(rows)("of a parameter with %s", async (_what, paths, expected) => {
    await made(described({ paths }));
    expect(await code()).toMatch(expected.startsWith("{ a{") ? new RegExp(expected) : expected);
  });

  test("of all these parameters together, and can be loaded", async () => {
    await made(described({ paths: Object.assign({}, ...rows.map(([, paths]) => paths)) }));
    const servlet = await loadServlet(join(folder, "servlets/sample"));
    const { tools } = await servlet.list();
    expect(tools).toHaveLength(rows.length);
  });

  test("of members with the names of those that each object has", async () => {
    const texts = { constructor: { type: "string" }, toString: { type: "string" } };
    await made(withSchema({ type: "object", properties: texts }));
    expect(await code()).toMatch(/constructor: z.optional\(z.string\(\)\),\s+toString: z/);
  });

  test("of 5,000 operations and parameters with one name, and of 100,000 braces, in linear time", async () => {
    const names = (count: number) => Array.from({ length: count }, (_, nth) => nth);
    const parameters = names(5000).map((nth) => ({
      name: String.fromCodePoint(0x4e00 + nth),
      in: "query",
      schema: { type: "string" },
    }));
    const get = { operationId: "one", parameters, ...OK };
    const others = names(5000).map((nth) => [
      `/a${nth}`,
      { get: { operationId: "-".repeat(nth % 9) + "other", ...OK } },
    ]);
    const braces = "{".repeat(100_000);
    const paths = { [`/${braces}`]: { get }, ...Object.fromEntries(others) };
    const servers = [{ url: `https://${braces}` }, { url: "https://api.example.com" }];
    await made(described({ paths, servers }), { only: ["one"] });
    expect(await code()).toContain("value_4999:");
  });

  test("though the addresses of its provider are templates, or relative", async () => {
    const flow = (authorizationUrl: string, tokenUrl: string) => ({
      type: "oauth2",
      flows: { authorizationCode: { authorizationUrl, tokenUrl, scopes: {} } },
    });
    const said = async (scheme: object) => {
      await rm(join(folder, "servlets"), { recursive: true, force: true });
      const components = { securitySchemes: { scheme } };
      const servers = [
        {
          url: "https://{region}.example.com/v1",
          variables: { region: { default: "eu" } },
        },
      ];
      return made({
        ...described({ security: [{ scheme: [] }], components, servers }),
        openapi: "3.0.3",
      });
    };
    expect(await said(flow("https://{region}.example.com/a", "/oauth/token"))).toContain(
      '"authorization_endpoint":"https://eu.example.com/a","token_endpoint":"https://eu.example.com/oauth/token"',
    );
    const unknown = flow("https://{tenant}.example.com/a", "https://{tenant}.example.com/t");
    expect(await said(unknown)).toMatch(/https:\/\/\{tenant\}.*\n\s+with your own \{tenant\}\./);
    expect(
      await said({
        type: "openIdConnect",
        openIdConnectUrl: "https://{region}.id.example/.well-known/openid-configuration",
      }),
    ).toContain('"issuer":"https://eu.id.example"');
  });

  test("of a path that is the prototype of all objects, which stays as it is", async () => {
    const content = JSON.stringify(described({ paths: { "/a": { get: OK }, P: { get: OK } } }));
    await made(content.replace('"P":', '"__proto__":')).catch(() => {});
    expect({}).not.toHaveProperty("get");
  });

  test("of a reference to the prototype of all objects, which stays as it is", async () => {
    const content = JSON.stringify(withSchema({ $ref: "#/components/__proto__/polluted" }));
    await made(content.replace('"schemas":{}', '"__proto__":{"polluted":{"type":"string"}}'));
    expect({}).not.toHaveProperty("polluted");
  });

  /** Schemas in pairs, each of which has both of the next pair. */
  const pairs = (make: (next: object[]) => object) =>
    Object.fromEntries(
      Array.from({ length: 40 }, (_, nth) => {
        const schema =
          nth === 39
            ? { type: "string" }
            : make(["A", "B"].map((name) => ({ $ref: `#/components/schemas/${name}${nth + 1}` })));
        return [`A${nth}`, `B${nth}`].map((name) => [name, schema]);
      }).flat(),
    );

  test.each<[string, (next: object[]) => object]>([
    ["choices of choices", (oneOf) => ({ oneOf })],
    ["objects that are choices", (oneOf) => ({ properties: { a: {} }, oneOf })],
    ["parts of parts", (allOf) => ({ allOf })],
    ["objects in objects", ([a, b]) => ({ type: "object", properties: { a, b } })],
  ])("of %s, which would be without end", async (_what, make) => {
    await made(withSchema({ $ref: "#/components/schemas/A0" }, pairs(make)));
    expect((await code()).length).toBeLessThan(10_000);
  });

  test("of lists in lists", async () => {
    let schema: object = { type: "string" };
    for (let depth = 0; depth < 1500; depth++) schema = { type: "array", items: schema };
    await made(withSchema(schema));
    expect(await code()).toContain("z.unknown()");
  });

  test("of a text that patterns would take long for", async () => {
    const get = { description: `Gets it. ${"<".repeat(300_000)}`, ...OK };
    await made(
      described({
        info: { title: `T${" ".repeat(300_000)}.`, version: "1" },
        paths: { "/a": { get } },
      }),
    );
    expect(await code()).toContain('"Gets it. <');
  });

  test("of parts that are there, and empty", async () => {
    const { paths } = described();
    await made({ ...described({ components: null, security: null }), paths });
    expect(await code()).toContain("sample_get_a:");
    const get = { operationId: "getB", servers: [], ...OK };
    await rm(join(folder, "servlets"), { recursive: true });
    await made(described({ paths: { "/b": { get } } }));
    expect(await code()).toContain("sample_get_b:");
  });

  test("with a test whose arguments fit", async () => {
    const paths = at(
      "/a",
      parameter("bbox", {
        in: "query",
        schema: { type: "array", minItems: 4, items: { type: "number", maximum: 0 } },
      }),
      parameter("above", { in: "query", schema: { type: "integer", exclusiveMinimum: 5 } }),
      parameter("long", { in: "query", schema: { type: "string", minLength: 2e9, maxLength: 3 } }),
    );
    await made(described({ paths }));
    const text = await readFile(join(folder, "servlets/sample/servlet.test.ts"), "utf8");
    expect(text).toMatch(/bbox: \[0, 0, 0, 0\],\s+above: 6,/);
  });

  test("with a line for a shell, which an address does not end", async () => {
    const flow = { authorizationUrl: "https://a.example/';x;'", tokenUrl: "https://a.example/t" };
    const oauth = { type: "oauth2", flows: { authorizationCode: { ...flow, scopes: {} } } };
    const said = await made(
      described({ security: [{ oauth: [] }], components: { securitySchemes: { oauth } } }),
    );
    expect(said).toMatch(/ACCOUNTS='[^']*'$/m);
  });

  test("of texts that would end a comment, a text or a template", async () => {
    const evil = 'a */ ` ${x} " \\ \u2028 end';
    const get = {
      description: evil,
      ...OK,
      parameters: [{ name: "b`${y}", in: "query", description: evil, schema: { type: "string" } }],
    };
    await made(described({ info: { title: evil, version: "1" }, paths: { "/a`${z}": { get } } }));
    expect(await code()).toContain("path`/a\\`$${z_}`");
    await expect(loadServlet(join(folder, "servlets/sample"))).resolves.toBeDefined();
  });
});
