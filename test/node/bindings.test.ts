import { glob, readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { lackingIn } from "../../src/server/kernel/settings/lacking.ts";
import { BINDINGS } from "../../src/server/kernel/settings/own-names.ts";
import { KNOWN } from "../../src/tools/bundle/features.ts";
import { ownConfig } from "../../src/tools/commands/wrangler-config.ts";

/** The list of bindings, and all that must agree with it. */

const toml = await readFile("wrangler.toml", "utf8");
const configured = ownConfig();
// The kernel's, and those that features add.
const sources = await Promise.all(
  [
    "src/server/kernel/bindings.ts",
    ...(await Array.fromAsync(glob("src/server/features/*/feature.ts"))),
  ].map(async (path) => /interface Env [^]*?\n *\}/.exec(await readFile(path, "utf8"))?.[0] ?? ""),
);
const source = sources.join("\n");
const declared = [
  ...source.matchAll(/^ +\/\*\* (.+) \*\/\n +(\w+)\?: (?:DurableObjectNamespace<(\w+)>|\w+);/gm),
].map(([, meaning, name, objects]) => ({ meaning, name: name!, objects }));
/** Classes that deployments know by another name than the code. */
const DEPLOYED: Record<string, string> = {
  PersonObject: "Profile",
  HookObject: "Hooks",
  TransfersObject: "Transfers",
};
const objects = declared.flatMap(({ name, objects: of }) =>
  of === undefined ? [] : [[name, DEPLOYED[of] ?? of]],
);
const classes = objects.map(([, of]) => of!);

test("each binding has a line that says what it switches on", () => {
  expect(declared).toHaveLength(source.match(/^ +\w+\?:/gm)!.length);
  const named = [...BINDINGS, ...KNOWN.bindings];
  expect(declared.map(({ name }) => name).toSorted()).toEqual(named.toSorted());
});

test("operators are told what is off without each, but without RATE_LIMIT nothing is", () => {
  const told = new Set(lackingIn({}).flatMap(({ bindings }) => bindings));
  const others = declared.map(({ name }) => name).filter((name) => name !== "RATE_LIMIT");
  expect([...told].toSorted()).toEqual(others.toSorted());
});

test("wrangler.toml has each, as a comment where a plan may lack it", () => {
  const { bindings } = configured.durable_objects;
  expect(new Map(bindings.map(({ name, class_name }) => [name, class_name]))).toEqual(
    new Map(objects as [string, string][]),
  );
  for (const { name } of declared)
    expect(toml).toMatch(new RegExp(`^(# )?(name|binding) = "${name}"$`, "m"));
});

test("each class has a migration, and is exported by the entry", async () => {
  const made = configured.migrations.flatMap((one) => one.new_sqlite_classes);
  expect(made.toSorted()).toEqual(classes.toSorted());
  const entry = await readFile("src/index.ts", "utf8");
  const [, exported] = /^export const \{([^}]+)\}/m.exec(entry)!;
  expect(exported!.match(/\w+/g)!.toSorted()).toEqual(classes.toSorted());
});

test("stored-data.md lists each table of the Durable Objects", async () => {
  const readme = await readFile("src/server/kernel/storage/stored-data.md", "utf8");
  const cells = readme.matchAll(/^\| (`.+?`) \|/gm).map(([, cell = ""]) => cell);
  const rows = new Set([...cells].flatMap((cell) => cell.match(/\w+(?=`)/g)));
  const files = (await readdir("src", { recursive: true })).filter(
    // The platform's stores are those of a machine of one's own; tables of files have a row together.
    (name) =>
      name.endsWith(".ts") && !/^(tools\/host\/platform|server\/kernel\/files)\//.test(name),
  );
  const texts = await Promise.all(files.map((name) => readFile(`src/${name}`, "utf8")));
  const tables = texts
    .join()
    .matchAll(/CREATE TABLE (?:IF NOT EXISTS )?"?\s*(\w+) \(/g)
    .map(([, table]) => table!);
  const missing = [...new Set(tables)].filter((table) => !rows.has(table));
  expect(missing).toEqual([]);
});
