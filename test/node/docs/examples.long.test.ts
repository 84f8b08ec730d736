import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";
import { buildWorker, serve, stop } from "../workerd.ts";
import { exportsOf, FACES, moduleOf, uncommented, type Exported } from "./examples.ts";

/** What the package exports has a comment and an example, and each example is run. */
await mkdir(".bundle", { recursive: true });
const FOLDER = await mkdtemp(".bundle/examples-");
afterAll(() => rm(FOLDER, { recursive: true, force: true }));

const EXPORTED = Object.fromEntries(
  await Promise.all(
    Object.entries(FACES).map(async ([face, path]) => [face, await exportsOf(path)] as const),
  ),
) as Record<keyof typeof FACES, Exported[]>;
const examplesOf = (...faces: (keyof typeof FACES)[]) =>
  faces.flatMap((face) =>
    EXPORTED[face]
      .filter(({ example }) => example !== "")
      .map(({ name, example }) => ({ name, example, face })),
  );

test.each(Object.entries(EXPORTED))("%s documents all that it exports", (_face, exported) => {
  const hasExample = ({ comment, example }: Exported) =>
    example !== "" ||
    exported.some((one) => one.example !== "" && comment.includes(`{@link ${one.name}}`));
  expect(exported.length).toBeGreaterThan(1);
  expect(exported.filter((one) => !/^[A-Z`]/.test(one.comment)).map(({ name }) => name)).toEqual(
    [],
  );
  expect(exported.filter((one) => !hasExample(one)).map(({ name }) => name)).toEqual([]);
});

describe("in a servlet", () => {
  const all = examplesOf(
    "edge-servlets/servlet",
    "edge-servlets/files",
    "edge-servlets/api",
    "edge-servlets/remote",
  );
  const isServlet = ({ example }: { example: string }) => example.includes("export default");
  const bodies = all.filter((one) => !isServlet(one));
  let servlet: ServletUnderTest;

  beforeAll(async () => {
    const folder = join(FOLDER, "handlers");
    await mkdir(folder);
    for (const { name, example, face } of bodies)
      await writeFile(join(folder, `${name}.ts`), moduleOf(example, face, EXPORTED[face]));
    const names = bodies.map(({ name }) => name);
    const source = `import { defineServlet } from "edge-servlets/servlet";
${names.map((name) => `import { run as ${name}_ } from "./${name}.ts";`).join("\n")}
export default defineServlet({ tools: {
${names.map((name) => `  ${name}: { handler: async (args, context) => (await ${name}_(args, context)) ?? null },`).join("\n")}
} });
`;
    await writeFile(join(folder, "servlet.ts"), source);
    const manifest = { state: "caller", allowed_paths: ["data:/data"] };
    await writeFile(join(folder, "servlet.json"), JSON.stringify(manifest));
    servlet = await loadServlet(folder);
  });

  test.each(bodies)("$name", async ({ name }) => {
    const { result } = await servlet.callTool(
      name,
      {},
      {
        capabilities: { elicitation: {}, sampling: {}, roots: {} },
        answers: {
          "elicitation/create": () => ({ action: "accept", content: { name: "Ada" } }),
          "sampling/createMessage": () => ({
            role: "assistant",
            model: "test",
            content: { type: "text", text: "Bonjour" },
          }),
          "roots/list": () => ({ roots: [{ uri: "file:///home/ada" }] }),
        },
        hostFunctions: {
          "schedules.list": () => [{ id: "a", tool: "b", arguments: {}, next: null, last: null }],
          "snippets.list": () => [{ name: "a", description: "b" }],
          "transfers.write": () => ({
            type: "resource_link",
            uri: "https://a.example/1",
            name: "a",
          }),
        },
      },
    );
    expect(result.isError ? result.content : []).toEqual([]);
  });

  test.each(all.filter(isServlet))("$name", async ({ name, example }) => {
    const folder = join(FOLDER, name);
    await mkdir(folder);
    await writeFile(join(folder, "servlet.ts"), example);
    expect((await (await loadServlet(folder)).list()).tools).toHaveLength(1);
  });
});

describe("in a test", async () => {
  const all = examplesOf("edge-servlets/testing");
  const folder = resolve(FOLDER, "tests");
  await mkdir(folder);
  for (const { name, example, face } of all)
    await writeFile(join(folder, `${name}.ts`), moduleOf(example, face, EXPORTED[face]));

  test("the types fit", async () => {
    const config = {
      extends: resolve("plugins/tsconfig.tests.json"),
      compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
      include: ["*.ts", resolve("src/server/kernel/wasm/jspi.d.ts")],
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    const checked = promisify(execFile)("npx", ["tsc", "-p", folder]);
    expect(await checked.catch(({ stdout }: { stdout: string }) => stdout)).toMatchObject({
      stdout: "",
    });
  });

  test.each(all)("$name", async ({ name }) => {
    const { run } = (await import(join(folder, `${name}.ts`))) as { run(): Promise<unknown> };
    await expect(run()).resolves.toBeUndefined();
  });
});

test("those of views fit their types, and make pages", async () => {
  const examples = examplesOf("edge-servlets/view");
  const folder = join(FOLDER, "views");
  await mkdir(folder);
  const names = EXPORTED["edge-servlets/view"].map(({ name, isType }) =>
    isType ? `type ${name}` : name,
  );
  const views: Record<string, object> = {};
  for (const { name, example } of examples) {
    const file = `${name}.ts`;
    views[name.toLowerCase()] = { file };
    const own = /^const view /m.test(example) ? "" : "const view = await connect();\n";
    const head = `import { ${names.join(", ")} } from "edge-servlets/view";\nimport type { TypedServlet } from "edge-servlets/servlet";\n`;
    await writeFile(join(folder, file), `${head}${own}${example}\nvoid view;`);
  }
  const source = `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ views: ${JSON.stringify(views)}, tools: { one: { handler: () => "" } } });`;
  await writeFile(join(folder, "servlet.ts"), source);
  await expect(loadServlet(folder)).resolves.toBeDefined();
});

test("the entry file of createWorker serves the bundle", async () => {
  const { example } = examplesOf("edge-servlets")[0]!;
  const contents = example
    .replace('"edge-servlets"', '"./src/server/worker.ts"')
    .replace("./.bundle/bundle.gen.ts", "./src/bundle.gen.ts");
  const folder = join(FOLDER, "worker");
  const served = await serve(await buildWorker({ contents, resolveDir: "." }, folder), {
    durable: true,
  });
  const health = await fetch(`http://127.0.0.1:${served.port}/health`);
  await stop(served);
  expect(health.status).toBe(200);
  // A project sees the types that are written by hand.
  const { comment } = EXPORTED["edge-servlets"].find(({ name }) => name === "createWorker")!;
  expect(uncommented(await readFile("package/worker.d.ts", "utf8"))).toContain(comment);
  expect(await readFile("docs/projects.md", "utf8")).toContain(
    /^export const .*$/m.exec(example)![0],
  );
});
