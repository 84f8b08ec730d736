import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { exampleOf } from "../../../../src/server/kernel/schema/example.ts";
import { newServlet } from "../../../../src/tools/commands/new.ts";
import { readDescription } from "../../../../src/languages/openapi/description.ts";
import { loadServlet, type Script } from "../../../../src/tools/testing/index.ts";
import { readPage } from "../../docs/pages.ts";
import { run } from "../commands/running.ts";
import { mockOf } from "./mock.ts";

/** Servlets of descriptions as different authors write them: they are built, and call an API that is made of the same. */
await mkdir(".bundle", { recursive: true });
const folder = await mkdtemp(join(".bundle", "test-openapi-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const EXCERPTS = join(import.meta.dirname, "excerpts");

interface Expected {
  file: string;
  base: string;
  script: Script;
  sent: string[];
  printed: RegExp;
}

const CASES: Record<string, Expected> = {
  forge: {
    file: "forge.json",
    base: "https://api.forge.example",
    script: {},
    sent: [
      "GET /repos/example/example/issues",
      'POST /repos/example/example/issues {"title":"example"}',
      "PATCH /repos/example/example/issues/1 {}",
      "DELETE /repos/example/example/subscription",
      "GET /repos/example/example/avatar",
    ],
    printed:
      /5 tools from 7 operations \(1 deprecated.*releases\/assets: it has a server of its own/s,
  },
  payments: {
    file: "payments.yaml",
    base: "https://api.payments.example",
    script: { variables: { PAYMENTS_KEY: "sk_1" } },
    sent: ["GET /v1/customers", "POST /v1/customers", "DELETE /v1/customers/example"],
    printed: /secret PAYMENTS_KEY.*does not use: basicAuth/s,
  },
  pets: {
    file: "pets.yaml",
    base: "https://eu.pets.example/api/v3",
    script: { caller: "ada", accounts: { pets: "t-1" } },
    sent: [
      'POST /pet {"name":"example","photoUrls":["example"]}',
      'PUT /pet {"name":"example","photoUrls":["example"]}',
      "GET /pet/findByTags?tags=example",
      expect.stringMatching(/^POST \/pet\/1\/uploadImage .*name="file"/s),
      "GET /pet/get-pets",
      "GET /pet/getPets",
      "PUT /notes",
    ],
    printed: /inventory: it takes none.*\{region\}.*cookie `session`.*ACCOUNTS='\{"pets"/s,
  },
  chat: {
    file: "chat.yaml",
    base: "https://chat.example/api",
    script: { caller: "ada", accounts: { chat: "t-1" } },
    sent: ["GET /conversations.list", "POST /chat.postMessage channel=example"],
    printed: /without `token`/,
  },
  cluster: {
    file: "cluster.json",
    base: "https://cluster.example:6443",
    script: { caller: "ada", secrets: { cluster: "Bearer t" } },
    sent: [
      "GET /api/v1/namespaces/example/pods",
      "POST /api/v1/namespaces/example/pods {}",
      "PATCH /api/v1/namespaces/example/pods/example {}",
      "GET /api/v1/namespaces/example/pods/example/log",
    ],
    printed: /4 tools from 4/,
  },
  office: {
    file: "office.yaml",
    base: "https://graph.office.example/v1.0",
    script: {},
    sent: [
      "GET /users/example/messages",
      'POST /users/example/messages {"@odata.type":"example"}',
      "PUT /users/example/drive/root:/example:/content example",
      "GET /reports/getEmailActivity(period='example')",
    ],
    printed: /Message contains itself/,
  },
};

describe.each(Object.entries(CASES))("%s", async (name, { file, base, script, sent, printed }) => {
  const path = join(EXCERPTS, file);
  const made = await newServlet(name, [folder], { openapi: path });
  // Its tests are tests of this file.
  await import(resolve(folder, name, "servlet.test.ts"));

  test("says what was left out, and what is needed", () => {
    expect(made).toMatch(printed);
  });

  test("calls the API", async () => {
    const servlet = await loadServlet(join(folder, name));
    const { tools } = await servlet.list();
    const mock = mockOf(await readDescription(path), base);
    for (const tool of tools) {
      expect(tool.name.length).toBeLessThanOrEqual(60);
      expect(tool.name).toMatch(new RegExp(`^${name}_[a-z0-9_]+$`));
      const args = exampleOf(tool.inputSchema) ?? {};
      // A file is base64, of which a schema says nothing.
      const binary = ["file", "body"].find((key) => typeof args[key] === "string");
      if (binary !== undefined) args[binary] = "ZXhhbXBsZQ==";
      const { result } = await servlet.callTool(tool.name, args, { ...script, fetch: mock.fetch });
      expect(result).not.toHaveProperty("isError", true);
    }
    expect(mock.sent).toEqual(sent);
  });
});

test("are written as the project's formatter and linter want it", async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), "test-openapi-"));
  for (const name of Object.keys(CASES))
    await cp(join(folder, name), join(elsewhere, name), { recursive: true });
  const config = JSON.parse(await readFile(".oxlintrc.json", "utf8"));
  const own = join(elsewhere, "oxlintrc.json");
  await writeFile(own, JSON.stringify({ ...config, ignorePatterns: [] }));
  const bin = (name: string) => join("node_modules", ".bin", name);
  const formatted = await run(bin("oxfmt"), ["-c", ".oxfmtrc.json", "--list-different", elsewhere]);
  const linted = await run(bin("oxlint"), ["-c", own, elsewhere]);
  await rm(elsewhere, { recursive: true });
  expect(formatted.stdout.trim()).toBe(own);
  expect(linted.stdout).toMatch(/Found 0 warnings and 0 errors/);
});

test("pass the type check", async () => {
  const config = {
    extends: "../../plugins/tsconfig.servlets.json",
    include: ["*/servlet.ts"],
    exclude: [],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  const shared = ["a", "b", "c"].map((name) => [name, { type: "string" }]);
  const X = { type: "object", properties: Object.fromEntries(shared) };
  const list = { type: ["array", "null"], items: { type: "string" } };
  const parameters = [
    {
      name: "x",
      in: "query",
      description: "So long that it is a constant of its own.",
      schema: {},
    },
    { name: "ids", in: "path", required: true, schema: { type: "array" } },
    { name: "X-Ids", in: "header", required: true, schema: list },
    {
      name: "all",
      in: "query",
      required: true,
      style: "pipeDelimited",
      explode: false,
      schema: list,
    },
  ];
  const two = { one: { $ref: "#/components/schemas/X" }, two: { $ref: "#/components/schemas/X" } };
  const schema = { type: "object", properties: two };
  const requestBody = { content: { "application/json": { schema } } };
  const post = { parameters, requestBody, responses: { 200: { description: "OK" } } };
  const description = {
    openapi: "3.1.0",
    info: { title: "Odd", version: "1" },
    servers: [{ url: "https://odd.example" }],
    paths: { "/a/{ids}": { post }, "/b/{ids}": { post } },
    components: { schemas: { X } },
  };
  await writeFile(join(folder, "odd.json"), JSON.stringify(description));
  await newServlet("odd", [folder], { openapi: join(folder, "odd.json") });
  const checked = await run(join("node_modules", ".bin", "tsc"), ["-p", folder]);
  expect(checked.stdout).toBe("");
});

test("are the same each time", async () => {
  const again = await mkdtemp(join(folder, "again-"));
  await newServlet("forge", [again], { openapi: join(EXCERPTS, "forge.json") });
  for (const file of await readdir(join(again, "forge"))) {
    if (file === "servlet.json") continue;
    const text = await readFile(join(again, "forge", file), "utf8");
    expect(text).toBe(await readFile(join(folder, "forge", file), "utf8"));
  }
});

test("the document shows one as it is made", async () => {
  const { blocks } = await readPage("docs/openapi.md");
  const shown = (name: string) => blocks.find(({ file }) => file.endsWith(name))!.text;
  const path = join(folder, "library.yaml");
  await writeFile(path, shown("library.yaml"));
  await newServlet("library", [folder], { openapi: path });
  const made = (file: string) => readFile(join(folder, "library", file), "utf8");
  const withSchema = (text: string) => text.replace(/"\$schema": ".*"/, '"$schema": ""');
  expect(shown("servlet.ts")).toBe(await made("servlet.ts"));
  expect(withSchema(shown("servlet.json"))).toBe(withSchema(await made("servlet.json")));
  const own = (await made("servlet.test.ts")).replace("import.meta.dirname", '"plugins/library"');
  expect(shown("servlet.test.ts")).toBe(own);
});
