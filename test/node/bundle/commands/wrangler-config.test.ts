import { readFile } from "node:fs/promises";
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { lackingLines, signInTables } from "../../../../src/tools/commands/wrangler-config.ts";

/** The members of a configuration that these tests read. */
interface Config {
  durable_objects: { bindings: { name: string }[] };
  migrations: { tag: string; new_sqlite_classes: string[] }[];
  env: Record<string, Config>;
}

const own = await readFile("wrangler.toml", "utf8");

test("a configuration that is complete lacks nothing", () => {
  expect(lackingLines(own)).toBe("");
});

test("what is lacking is TOML that can be pasted", () => {
  const lines = lackingLines('name = "mine"\n');
  expect(lines).toContain('name = "SESSIONS"\nclass_name = "Session"');
  const { durable_objects, migrations, compatibility_date, compatibility_flags } = parse(own);
  expect(parse(lines)).toEqual({
    durable_objects,
    migrations,
    compatibility_date,
    compatibility_flags,
  });
  expect(lackingLines(`name = "mine"\n${lines}`)).toBe("");
});

test("a class that has its migration gets no other, and tags that are taken stay the user's", () => {
  const mine = '[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["Mine", "Session"]\n';
  const { migrations } = parse(lackingLines(mine)) as unknown as Config;
  expect(migrations[0]!.tag).toBe("edge-servlets-v1");
  expect(migrations.flatMap((one) => one.new_sqlite_classes)).not.toContain("Session");
  expect(new Set(migrations.map(({ tag }) => tag)).size).toBe(migrations.length);
});

test("of an older date and of flags the lines have the new ones, with the user's own flags", () => {
  const theirs = `compatibility_date = "2025-01-01"
compatibility_flags = ["mine"]
[env.other]
main = "other.js"
compatibility_date = "2024-01-01"
compatibility_flags = []
`;
  const lines = lackingLines(theirs);
  expect(lines).toMatch(/^\n# above all tables, instead of the same keys\ncompatibility_date/);
  expect(parse(lines)["compatibility_date"]).toBe(parse(own)["compatibility_date"]);
  expect(parse(lines)["compatibility_flags"]).toEqual(
    expect.arrayContaining(["mine", "enable_request_signal"]),
  );
  expect(lackingLines('compatibility_date = "2099-01-01"\n')).not.toContain("compatibility_date");
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
  const lines = lackingLines(theirs);
  const { env, ...rest } = parse(theirs + lines) as unknown as Config;
  const sorted = ({ bindings }: Config["durable_objects"]) =>
    bindings.toSorted((a, b) => a.name.localeCompare(b.name));
  for (const name of ["staging", "two words"])
    expect(sorted(env[name]!.durable_objects)).toEqual(sorted(rest.durable_objects));
  expect(env["other"]).toEqual({ main: "other.js" });
  expect(rest).toEqual(parse(own));
  expect(lackingLines(theirs + lines)).toBe("");
});

test("an environment's migrations are completed, and its older date is named", () => {
  const migrations = '[[env.a.migrations]]\ntag = "v1"\nnew_sqlite_classes = ["Session"]\n';
  const { env } = parse(lackingLines(own + migrations)) as unknown as Config;
  const classes = env["a"]!.migrations.flatMap((one) => one.new_sqlite_classes);
  expect(classes).not.toContain("Session");
  expect(classes).toContain("Task");
  const older = `${own}[env.a]\ncompatibility_date = "2024-01-01"\n`;
  expect(lackingLines(older)).toMatch(/# in \[env\.a\], .*\ncompatibility_date = "20/);
});

test("a file that cannot be read is refused with the place of the mistake", () => {
  expect(() => lackingLines("name = [")).toThrow(/wrangler.toml cannot be read: .*1/s);
  expect(() => lackingLines("migrations = 3")).toThrow(/cannot be read: .*migrations/s);
  expect(() => lackingLines("[env.a]\nmigrations = 3")).toThrow(/read: .*"a".*migrations/s);
  expect(() => lackingLines("env.a = 3")).toThrow(/wrangler.toml cannot be read: .*"a"/s);
});

test("what the sign-in needs can be put at the end of any configuration", () => {
  expect(signInTables(own)).toBe("");
  const theirs = `name = "mine"
[vars]
A = "1"
[[migrations]]
tag = "v1"
new_sqlite_classes = ["Attempts"]
[[durable_objects.bindings]]
name = "ATTEMPTS"
class_name = "Attempts"
[env.staging]
name = "staging"
`;
  const whole = theirs + signInTables(theirs);
  const { env, ...top } = parse(whole) as unknown as Config & { kv_namespaces: object[] };
  for (const section of [top, env["staging"]!]) {
    expect(section).toMatchObject({ kv_namespaces: [{ binding: "OAUTH_KV" }] });
    const names = section.durable_objects.bindings.map(({ name }) => name);
    expect(names.toSorted()).toEqual(["ATTEMPTS", "GRANTS"]);
  }
  expect(top.migrations.flatMap((one) => one.new_sqlite_classes)).toEqual(["Attempts", "Grant"]);
  expect(signInTables(whole)).toBe("");
});
