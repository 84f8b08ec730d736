import { readFile } from "node:fs/promises";
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { upgraded } from "../../../../src/bundle/commands/upgrade.ts";

/** What these tests look at of a configuration. */
interface Config {
  durable_objects: { bindings: { name: string }[] };
  migrations: { tag: string; new_sqlite_classes: string[] }[];
  env: Record<string, Config>;
}

const own = await readFile("wrangler.toml", "utf8");

test("a configuration that is complete stays as it is", () => {
  expect(upgraded(own)).toEqual({ missing: [], text: own });
});

test("what is missing is added, and the rest stays", () => {
  const { missing, text } = upgraded('name = "mine"\n\n[vars]\nA = "b"\n');
  expect(missing).toContain("the Durable Object SESSIONS");
  expect(parse(text)).toMatchObject({ name: "mine", vars: { A: "b" } });
  expect(upgraded(text).missing).toEqual([]);
  const { durable_objects, migrations, compatibility_date, compatibility_flags } = parse(own);
  expect(parse(text)).toMatchObject({
    ...{ durable_objects, migrations, compatibility_date, compatibility_flags },
  });
});

test("a class that has its migration gets no other, and tags that are taken stay the user's", () => {
  const mine = '[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["Mine", "Session"]\n';
  const { migrations } = parse(upgraded(mine).text) as unknown as Config;
  expect(migrations[0]).toEqual({ tag: "v1", new_sqlite_classes: ["Mine", "Session"] });
  expect(migrations[1]!.tag).toBe("edge-servlets-v1");
  const classes = migrations.flatMap((one) => one.new_sqlite_classes);
  expect(classes.filter((name) => name === "Session")).toHaveLength(1);
  expect(new Set(migrations.map(({ tag }) => tag)).size).toBe(migrations.length);
});

test("an older date and missing flags are replaced at the top", () => {
  const theirs = `compatibility_date = "2025-01-01"
compatibility_flags = [
  "mine",
]
[env.other]
main = "other.js"
compatibility_date = "2024-01-01"
compatibility_flags = []
`;
  const config = parse(upgraded(theirs).text);
  expect(config["compatibility_date"]).toBe(parse(own)["compatibility_date"]);
  expect(config["compatibility_flags"]).toEqual(
    expect.arrayContaining(["mine", "enable_request_signal"]),
  );
  expect(config["env"]).toEqual({
    other: { main: "other.js", compatibility_date: "2024-01-01", compatibility_flags: [] },
  });
  const newer = 'compatibility_date = "2099-01-01"\n';
  expect(upgraded(newer).text).toContain(newer);
});

test("an environment gets the Durable Objects, which it does not inherit, and only those that it lacks", () => {
  const theirs = `${own}
[env.staging]
name = "staging"
[[env.staging.durable_objects.bindings]]
name = "SESSIONS"
class_name = "Session"
[env."two words"]
main = "./src/index.ts"
[env.other]
main = "other.js"
`;
  const { missing, text } = upgraded(theirs);
  expect(missing).toContain("the Durable Object TASKS in [env.staging]");
  expect(missing).toContain('the Durable Object SESSIONS in [env."two words"]');
  const { durable_objects, env, ...rest } = parse(text) as unknown as Config;
  const sorted = ({ bindings }: Config["durable_objects"]) =>
    bindings.toSorted((a, b) => a.name.localeCompare(b.name));
  for (const name of ["staging", "two words"])
    expect(sorted(env[name]!.durable_objects)).toEqual(sorted(durable_objects));
  expect(env["staging"]).toHaveProperty("name", "staging");
  expect(env["other"]).toEqual({ main: "other.js" });
  expect({ durable_objects, ...rest }).toEqual(parse(own));
  expect(upgraded(text).missing).toEqual([]);
});

test("an environment's migrations are completed; its older date is to be changed by hand", () => {
  const migrations = '[[env.a.migrations]]\ntag = "v1"\nnew_sqlite_classes = ["Session"]\n';
  const { text } = upgraded(own + migrations);
  const { env } = parse(text) as unknown as Config;
  const classes = env["a"]!.migrations.flatMap((one) => one.new_sqlite_classes);
  expect(classes.filter((name) => name === "Session")).toHaveLength(1);
  expect(classes).toContain("Task");
  const older = `${own}[env.a]\ncompatibility_date = "2024-01-01"\n`;
  expect(() => upgraded(older)).toThrow(/by hand.*\ncompatibility_date = "20.* in \[env\.a\]\n/s);
});

test.each([
  ["inline bindings", 'durable_objects.bindings = [{ name = "MINE", class_name = "Mine" }]\n'],
  ["inline bindings in a table", "[durable_objects]\nbindings = []\n"],
  ["inline migrations", 'migrations = [{ tag = "v0", new_sqlite_classes = ["Mine"] }]\n'],
  ["a quoted key", '"compatibility_date" = "2024-01-01"\n'],
  ["a text of lines that look like keys", `name = """\ncompatibility_date = "x"\n"""\n`],
  ["flags with brackets in a comment", 'compatibility_flags = [ # ["old"]\n  "mine",\n]\n'],
])("a file with %s is never broken: what cannot be added is said", (_what, theirs) => {
  expect(() => upgraded(theirs)).toThrow(
    /cannot be changed.*\n.*\[\[durable_objects.bindings\]\]/s,
  );
});

test.each([
  ["an indented key", '  compatibility_date = "2024-01-01"\nname = "mine"\n', 'name = "mine"'],
  ["a comment behind a value", 'compatibility_date = "2024-01-01" # old\n', "# old"],
  [
    "lines of Windows",
    'name = "mine"\r\ncompatibility_date = "2024-01-01"\r\n',
    'name = "mine"\r\n',
  ],
])("a file with %s is upgraded, and keeps it", (_what, theirs, kept) => {
  const { text } = upgraded(theirs);
  expect(upgraded(text).missing).toEqual([]);
  expect(text).toContain(kept);
  expect(text.match(/compatibility_date/g)).toHaveLength(1);
});

test("a file that cannot be read is refused with the place of the mistake", () => {
  expect(() => upgraded("name = [")).toThrow(/wrangler.toml cannot be read: .*1/s);
  expect(() => upgraded("migrations = 3")).toThrow(/wrangler.toml cannot be read: .*migrations/s);
  expect(() => upgraded("[env.a]\nmigrations = 3")).toThrow(/cannot be read: .*"a".*migrations/s);
  expect(() => upgraded("env.a = 3")).toThrow(/wrangler.toml cannot be read: .*"a"/s);
});
