import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { init } from "../../../../src/tools/commands/init.ts";

const OWN = "package";
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "init-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const ignored = async (project: string) =>
  (await readFile(join(project, ".gitignore"), "utf8")).split(/\r?\n/);

test("what a new repository ignores already stays, and secrets are ignored with it", async () => {
  const project = join(folder, "mine");
  await mkdir(project);
  await writeFile(join(project, ".gitignore"), "*.log\r\nnode_modules/");
  await writeFile(join(project, "README.md"), "Mine.");
  await init([project], OWN);
  const lines = await ignored(project);
  expect(lines).toEqual(expect.arrayContaining(["*.log", ".dev.vars*", ".keys.json", ".bundle/"]));
  expect(lines.filter((line) => line === "node_modules/")).toHaveLength(1);
  expect(await readFile(join(project, "README.md"), "utf8")).toBe("Mine.");
});

test("git ignores every file of secrets that `dev` reads, and not the example", async () => {
  const project = join(folder, "mine");
  await init([project], OWN);
  const secret = [".env", ".env.local", ".env.staging", ".dev.vars", ".dev.vars.staging"];
  const git = (...args: string[]) => promisify(execFile)("git", ["-C", project, ...args]);
  await git("init", "--quiet");
  const { stdout } = await git("check-ignore", ...secret, ".dev.vars.example", ".env.example");
  expect(stdout.trim().split("\n")).toEqual(secret);
});

test("an image for a container is made without secrets, keys and copies of data", async () => {
  const lines = (await readFile(".dockerignore", "utf8")).split("\n");
  const kept = [".dev.vars*", ".env*", ".keys.json", ".registry-key.pem", "backups", "restored"];
  expect(lines).toEqual(expect.arrayContaining(kept));
});

test.each([
  ["a name that is none of a Worker", ["a_b"], /cannot be the name/],
  ["the root", ["/"], /cannot be the name/],
  ["an option", ["--force"], /Expected one argument, the folder[^]*Templates: openapi, plain, /],
  ["no folder", ["--template", "team"], /Expected one argument, the folder/],
  [
    "an unknown template",
    ["a", "--template", "tema"],
    /no template "tema".*one of openapi, plain, /,
  ],
  ["a template by a path", ["a", "--template", "../template"], /no template/],
  ["two folders", ["a", "b"], /Expected one argument, the folder/],
])("refuses %s", async (_what, args, message) => {
  await expect(init(args, OWN)).rejects.toThrow(message);
});

test("refuses to make another template than one that npm took for an option of its own", async () => {
  // npm reads options before -- itself, and passes them on in the environment.
  const taken = { npm_config_template: "team" };
  await expect(init([join(folder, "mine")], OWN, taken)).rejects.toThrow("-- --template team");
  await init([join(folder, "mine"), "--template", "plain"], OWN, taken);
});

test("a template adds to the manifest and the README that all projects have", async () => {
  const made = async (...args: string[]) => {
    const project = join(folder, args.at(-1) ?? "own");
    const told = await init([project, ...args], OWN);
    const readme = await readFile(join(project, "README.md"), "utf8");
    return { told, readme, ...JSON.parse(await readFile(join(project, "package.json"), "utf8")) };
  };
  const plain = await made();
  const team = await made("--template", "team");
  expect(team).toMatchObject({
    name: "team",
    scripts: { ...plain.scripts, local: "node local.js" },
    dependencies: plain.dependencies,
    devDependencies: { ...plain.devDependencies, "oidc-provider": expect.any(String) },
  });
  expect([plain, team].map(({ told }) => told.includes("npm run local"))).toEqual([false, true]);
  for (const { readme } of [plain, team]) {
    expect(readme).toContain("## Deploy");
    expect(readme).not.toMatch(/\{\{|\n\n\n/);
  }
  expect(team.readme).toContain("sign in as `ada`");
});

test("refuses a file, and a folder that has something", async () => {
  await writeFile(join(folder, "file"), "");
  await expect(init([join(folder, "file")], OWN)).rejects.toThrow("it is a file");
  await mkdir(join(folder, "full"));
  await writeFile(join(folder, "full", "package.json"), "{}");
  await expect(init([join(folder, "full")], OWN)).rejects.toThrow("it has package.json");
});
