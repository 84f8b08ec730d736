import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { parse } from "smol-toml";
import { expect, test } from "vitest";

/** What `npm create cloudflare -- --template` and the deploy button read in the repository. */

const project = JSON.parse(await readFile("package.json", "utf8")) as {
  repository: string;
  scripts: Record<string, string>;
  cloudflare: { bindings: Record<string, { description: string }> };
};
const config = parse(await readFile("wrangler.toml", "utf8")) as {
  name: string;
  main: string;
  build: { command: string };
  vars: Record<string, string>;
  kv_namespaces: { binding: string; id?: string }[];
  durable_objects: { bindings: { class_name: string }[] };
  migrations: { new_sqlite_classes: string[] }[];
};
const REPOSITORY = project.repository.replace("github:", "");

test("the button and the command name this repository", async () => {
  for (const page of ["README.md", "docs/deploying.md"])
    expect(await readFile(page, "utf8")).toContain(
      `(https://deploy.workers.cloudflare.com/?url=https://github.com/${REPOSITORY})`,
    );
  expect(await readFile("docs/deploying.md", "utf8")).toContain(
    `npm create cloudflare@latest my-server -- --template github:${REPOSITORY}`,
  );
});

test("the secrets that the button asks for are described, and so is each resource that it creates", async () => {
  const example = await readFile(".dev.vars.example", "utf8");
  const secrets = Array.from(example.matchAll(/^(\w+)=/gm), ([, name]) => name!);
  const resources = config.kv_namespaces.map(({ binding }) => binding);
  expect(Object.keys(project.cloudflare.bindings).toSorted()).toEqual(
    [...secrets, ...resources].toSorted(),
  );
  // An id would be that of somebody else's namespace.
  expect(config.kv_namespaces.filter(({ id }) => id !== undefined)).toEqual([]);
});

test("a deploy needs nothing that is not in the repository, and declares every Durable Object", () => {
  expect(config.name).toMatch(/^[a-z0-9-]+$/);
  expect(existsSync(config.main)).toBe(true);
  const [, script = ""] = /^npm run --silent (\w+)$/.exec(config.build.command) ?? [];
  expect(project.scripts).toMatchObject({
    [script]: expect.any(String),
    deploy: expect.any(String),
  });
  const declared = config.migrations.flatMap((one) => one.new_sqlite_classes);
  expect(declared.toSorted()).toEqual(
    config.durable_objects.bindings.map((one) => one.class_name).toSorted(),
  );
});

test("create-cloudflare takes the whole repository, not a part of it as one of two languages", async () => {
  expect((await readdir(".")).filter((name) => name === "js" || name === "ts")).toEqual([]);
});
