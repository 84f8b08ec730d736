import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { checkTypes } from "../../../../src/languages/typescript/types.ts";
import { loadServlet } from "../../../../src/tools/testing/index.ts";
import { KIT, servletFolder, textOf, tool } from "./writing.ts";

/** The type check of servlets: what it knows, and that editors know the same. */
const folder = servletFolder();

const refusalOf = async (files: Record<string, string>) =>
  loadServlet(await folder.write(files)).then(
    () => "",
    (error: unknown) => String(error),
  );

/** Two packages as they are found beside servlets: types of Node, and types that refer to them. */
const WITH_NODE = {
  "node_modules/@types/node/package.json": '{ "name": "@types/node", "types": "index.d.ts" }',
  "node_modules/@types/node/index.d.ts": `declare var Buffer: { from(text: string): { length: number } };
declare var process: { pid: number };
declare module "fs" { export function readFileSync(path: string): string; }
`,
  "node_modules/parser/package.json": '{ "name": "parser", "types": "index.d.ts" }',
  "node_modules/parser/index.js": "exports.parse = (text) => text.length;",
  "node_modules/parser/index.d.ts": `/// <reference types="node" />
import { Duplex } from "node:stream";
export function parse(text: string): number;
export function stream(): Duplex;
`,
};

test("a servlet outside of the project has the types of its own packages, and zod/mini without installing it", async () => {
  const path = await folder.write({
    ...WITH_NODE,
    "servlet.ts": `${KIT}import * as z from "zod/mini";
import { parse } from "parser";
export default defineServlet({
  tools: {
    t: {
      description: "",
      input: z.object({ n: z.number() }),
      handler: ({ n }) => {
        const length: number = parse("four");
        return n.toFixed(length);
      },
    },
  },
});
`,
  });
  const { result } = await (await loadServlet(path)).callTool("t", { n: 1 });
  expect(textOf(result)).toBe("1.0000");
});

test("a servlet is checked again when a file changes of which it takes only types", async () => {
  const source = tool(
    "const a: Answer = { text: 'yes' }; return a.text;",
    'import type { Answer } from "./answer.ts";\n',
  );
  const path = await folder.write({
    "servlet.ts": source,
    "answer.ts": "export interface Answer { text: string }\n",
  });
  await loadServlet(path);
  await writeFile(join(path, "answer.ts"), "export interface Answer { text: number }\n");
  await expect(loadServlet(path)).rejects.toThrow(/servlet\.ts\(10,\d+\): error TS2322/);
});

test("servlets that were checked together are not checked again alone, until one of them changes", async () => {
  const source = tool('return "yes";');
  const [one, other] = await Promise.all(
    ["one", "other"].map((name) => folder.write({ "servlet.ts": source }, name)),
  );
  const checks: string[] = [];
  const check = (...folders: string[]) => {
    const entries = folders.map((path) => join(path, "servlet.ts"));
    return checkTypes(entries, join(folder.path(), "cache"), (doing) => checks.push(doing));
  };
  await check(one!, other!);
  await check(one!);
  await check(other!);
  expect(checks).toHaveLength(1);
  await folder.write({ "servlet.ts": tool("return 1 + no_such_name;") }, "other");
  await expect(check(other!)).rejects.toThrow("no_such_name");
  await check(one!);
  expect(checks).toHaveLength(3);
});

test("a servlet that is saved while its types are checked is checked again", async () => {
  const path = await folder.write({ "servlet.ts": tool('return "yes";') });
  const entry = join(path, "servlet.ts");
  const check = (during: () => void) => checkTypes([entry], join(folder.path(), "cache"), during);
  await check(() => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    writeFileSync(entry, tool('return "no";'));
  });
  let isCheckedAgain = false;
  await check(() => (isCheckedAgain = true));
  expect(isCheckedAgain).toBe(true);
});

test.each([
  ["is killed", "process.kill(process.pid, 'SIGKILL');"],
  ["cannot start its native program", "throw new Error('no native program');"],
])("a check whose compiler %s has not passed, and is made again", async (_how, fault) => {
  const path = await folder.write({
    "servlet.ts": tool("return 1 + no_such_name;"),
    "fault.cjs": fault,
  });
  const check = () =>
    checkTypes([join(path, "servlet.ts")], join(folder.path(), "cache"), () => {});
  vi.stubEnv("NODE_OPTIONS", `--require=${join(path, "fault.cjs")}`);
  try {
    await expect(check()).rejects.toThrow(/compiler of TypeScript ended/);
  } finally {
    vi.unstubAllEnvs();
  }
  await expect(check()).rejects.toThrow("no_such_name");
});

test("the parameters of the platform's functions have types, and answers narrow one by one", async () => {
  const types = `const init: RequestInit = { method: "POST", credentials: "include", headers: new Headers() };
const body: BodyInit = new Blob(["x"]);
const more: [HeadersInit, ResponseInit, RequestInfo, BlobPart, EventInit] = [{}, {}, "", "", {}];
const source: ReadableStream<Uint8Array<ArrayBuffer>> | null = new Response(body).body;
`;
  const narrows = `const { elicit } = context;
const schema = { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] } as const;
const answer = await elicit({ message: "Which?", schema });
if (answer.action === "decline") return "declined";
if (answer.action === "cancel") return "cancelled";
const colour: string = answer.content.colour;
return colour + String([init, more, source]);`;
  expect(await refusalOf({ "servlet.ts": tool(narrows, types) })).toBe("");
});

test.each([
  ["an object", "z.object({ home: z.object({ street: z.string() }) })"],
  ["a list of objects", "z.object({ all: z.array(z.object({ a: z.string() })) })"],
  [
    "an object in a JSON Schema",
    '{ type: "object", properties: { home: { type: "object", properties: { a: { type: "string" } } } } }',
  ],
])("a form that asks for %s is refused when the servlet is made", async (_what, schema) => {
  const source = tool(
    `await context.elicit({ message: "Where?", schema: ${schema} });\nreturn "";`,
    'import * as z from "zod/mini";\nvoid z;\n',
  );
  expect(await refusalOf({ "servlet.ts": source })).toMatch(
    /servlet\.ts\(\d+,\d+\): error TS\d+: [\s\S]*a form asks for texts, numbers, booleans and choices, not for/,
  );
});

test("a form that has only texts, numbers, booleans and choices is not, nor one that is made elsewhere", async () => {
  const source = tool(
    `const flat = z.object({
  a: z.optional(z.string()), b: z.number(), c: z.boolean(), d: z.enum(["x", "y"]), e: z.array(z.enum(["x"])),
});
await context.elicit({ message: "", schema: flat });
const made: Record<string, unknown> = { type: "object", properties: {} };
await context.elicit({ message: "", schema: made });
return "";`,
    'import * as z from "zod/mini";\n',
  );
  expect(await refusalOf({ "servlet.ts": source })).toBe("");
});

test("a form that is nested all the same is refused before it is sent", async () => {
  const nested = [
    '{ type: "object", properties: { home: { type: "object", properties: {} } } }',
    '{ type: "object", properties: { all: { type: "array", items: { type: "object" } } } }',
  ];
  const source = tool(
    `const said = [];
for (const schema of [${nested.join()}]) await context.elicit({ message: "?", schema }).catch((error) => said.push(String(error)));
return said.join();`,
  );
  const { result } = await (
    await loadServlet(await folder.write({ "servlet.js": source }))
  ).callTool("try_it");
  expect(textOf(result)).toMatch(
    /requestedSchema of \w+ cannot be used: clients cannot ask for home, which is an object\. Ask for texts, numbers/,
  );
});

test("nothing of Node is there, whatever types packages bring, and an editor says the same", async () => {
  const source = tool(
    'return Buffer.from("x").length + parse("") + process.pid + document.title;',
    'import { parse } from "parser";\n',
  );
  const said = await refusalOf({ ...WITH_NODE, "servlet.ts": source });
  for (const name of ["Buffer", "process", "document"]) expect(said).toContain(`name '${name}'`);
  const settings = {
    extends: resolve("src/kit/servlets.tsconfig.json"),
    include: ["*.ts"],
  };
  await folder.write({ "tsconfig.json": JSON.stringify(settings) });
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [resolve("node_modules/typescript/bin/tsc"), "-p", join(folder.path(), "mine")],
    { encoding: "utf8" },
  ).catch((error: { stdout: string }) => error);
  const placesIn = (text: string) => text.match(/\(\d+,\d+\): error TS\d+/g);
  expect(placesIn(stdout)).toHaveLength(3);
  expect(placesIn(stdout)).toEqual(placesIn(said));
});

test.each(["servlets", "tests"])(
  "the plugins' %s have the settings of their kind",
  async (kind) => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      resolve("node_modules/typescript/bin/tsc"),
      "--showConfig",
      "-p",
      `plugins/tsconfig.${kind}.json`,
    ]);
    const { files, compilerOptions } = JSON.parse(stdout) as {
      files: string[];
      compilerOptions: { types: string[] };
    };
    const tests = files.filter((file) => file.endsWith(".test.ts"));
    expect(compilerOptions.types).toEqual(kind === "tests" ? ["node"] : []);
    expect(tests.length > 0).toBe(kind === "tests");
    expect(files.includes("../src/kit/ambient.d.ts")).toBe(kind === "servlets");
  },
);

test("servlets that call each other in a row have the types of those that they call", async () => {
  /** A servlet whose tool gives a number, by calling that of another one. */
  const calling = (
    name: string,
    other?: string,
    args = "{ n }",
  ) => `${KIT}import type { CallableTools } from "edge-servlets/servlet";
${other === undefined ? "" : `import type other from "../${other}/servlet.ts";`}
export default defineServlet({
  tools: {
    ${name}: {
      description: "",
      input: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      output: { type: "object", properties: { m: { type: "integer" } }, required: ["m"] },
      async handler({ n }, context) {
        ${
          other === undefined
            ? "return { m: n };"
            : `const { ${other} } = context.tools as CallableTools<typeof other>;
        const { structuredContent } = await ${other}(${args});
        return { m: structuredContent?.m ?? 0 };`
        }
      },
    },
  },
});
`;
  const check = async (args?: string) => {
    const path = await folder.write({
      "a/servlet.ts": calling("a", "b", args),
      "b/servlet.ts": calling("b", "c"),
      "c/servlet.ts": calling("c"),
    });
    const entries = ["a", "b", "c"].map((one) => join(path, one, "servlet.ts"));
    await checkTypes(entries, join(path, "cache"), () => {});
  };
  await check();
  await expect(check("{ n: String(n) }")).rejects.toThrow(
    /'string' is not assignable to type 'number'/,
  );
});
