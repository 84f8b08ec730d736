import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { askBundler, BUNDLER } from "../../../../src/tools/commands/ask-bundler.ts";
import { freePort } from "../../workerd.ts";
import { run } from "./running.ts";

/** The bundle under `dev`, whose process makes it for wrangler's build command. */

afterEach(() => vi.unstubAllEnvs());

/** The path of a module of commands, as a literal. */
const module = (name: string) => JSON.stringify(resolve(`src/tools/commands/${name}.ts`));

test("without a bundler that listens, the build command makes the bundle itself", async () => {
  expect(await askBundler([])).toBeUndefined();
  vi.stubEnv(BUNDLER, join(tmpdir(), "nobody-listens-here"));
  expect(await askBundler([])).toBeUndefined();
});

test("a servlet whose types are wrong is not served: dev says so and ends", async () => {
  const project = await mkdtemp(join(tmpdir(), "bundler-"));
  try {
    await mkdir(join(project, "plugins/wrong"), { recursive: true });
    await symlink(resolve("node_modules"), join(project, "node_modules"));
    await writeFile(
      join(project, "plugins/wrong/servlet.ts"),
      `import { defineServlet } from "edge-servlets/servlet";
const one: number = "one";
export default defineServlet({ tools: { one: { description: "One.", handler: () => one } } });
`,
    );
    await writeFile(
      join(project, "wrangler.toml"),
      `name = "wrong"\nmain = "index.js"\ncompatibility_date = "2026-09-01"\n[build]\ncommand = "node ${resolve("src/tools/commands/bundle.ts")}"\n`,
    );
    await writeFile(join(project, "index.js"), "export default { fetch: () => new Response() };\n");
    const script = `process.chdir(${JSON.stringify(project)});
process.argv = [process.execPath, "cli.ts", "dev", "--ip=127.0.0.1", "--port=${await freePort()}"];
await import(${JSON.stringify(resolve("src/tools/commands/cli.ts"))});`;
    const { code, stdout, stderr } = await run(process.execPath, ["-e", script]);
    expect(stderr).toContain("Type 'string' is not assignable to type 'number'");
    expect(stderr).toContain("The bundle was not made.");
    expect(stdout).not.toContain("Ready on");
    expect(code).toBe(1);
  } finally {
    await rm(project, { recursive: true });
  }
});

test("a saved file is bundled before the build command asks, which is told what has changed; and wrangler is woken if it does not ask", async () => {
  const project = await mkdtemp(join(tmpdir(), "bundler-"));
  try {
    await mkdir(join(project, "plugins/one"), { recursive: true });
    await mkdir(join(project, "src"));
    await symlink(resolve("node_modules"), join(project, "node_modules"));
    const source = (answer: string) =>
      `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: { one: { description: "${answer}", handler: () => "" } } });
`;
    await writeFile(join(project, "plugins/one/servlet.ts"), source("Before."));
    await writeFile(
      join(project, "bundling.mjs"),
      `import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
const { serveBundles } = await import(${module("bundler")});
const { askBundler } = await import(${module("ask-bundler")});
const { promise: overlooked, resolve } = Promise.withResolvers();
const bundler = await serveBundles(["plugins", "profiles.json"], { overlooked: resolve, patienceMs: 1 });
await bundler.begin(async () => undefined);
const text = () => readFile("src/bundle.gen.ts", "utf8");
const saving = async (file, content, expected) => {
  await writeFile(file, content);
  while (!(await text()).includes(expected)) await pause(10);
};
const said = [(await askBundler([])).said];
await saving("plugins/one/servlet.ts", ${JSON.stringify(source("After."))}, "After.");
await overlooked;
said.push((await askBundler([])).said, (await askBundler([])).said);
await saving("profiles.json", '{ "few": { "servlets": ["one"] } }', "few");
said.push((await askBundler([])).said);
await bundler.close();
console.log(JSON.stringify(said.map((one) => /^Reloading.*$/m.exec(one)?.[0] ?? "")));
`,
    );
    const script = `process.chdir(${JSON.stringify(project)}); await import(${JSON.stringify(join(project, "bundling.mjs"))});`;
    const { code, stdout, stderr } = await run(process.execPath, ["-e", script]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
    const said = ["", "Reloading: one has changed.", "", "Reloading: profiles.json has changed."];
    expect(JSON.parse(stdout.trim().split("\n").at(-1)!)).toEqual(said);
  } finally {
    await rm(project, { recursive: true });
  }
});

test("says which lines wrangler.toml lacks for a servlet", async () => {
  const own = await mkdtemp(join(tmpdir(), "lacking"));
  await writeFile(
    join(own, "servlet.ts"),
    `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({
  webhooks: { it: { verify: { type: "none" }, receive: () => "done" } },
});`,
  );
  const args = ["src/tools/commands/bundle.ts", "--out", join(own, "bundle.gen.ts"), own];
  const { stdout, code } = await run(process.execPath, args);
  expect(code).toBe(0);
  expect(stdout).toMatch(/warning: wrangler\.toml lacks bindings .*: lacking\w+ has webhooks/);
  expect(stdout).toContain('class_name = "Hooks"');
  await rm(own, { recursive: true });
});
