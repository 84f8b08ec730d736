import { glob, readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { expect, test, vi } from "vitest";

interface Reader {
  readSettings(env: object): Record<string, unknown>;
}

/** The limits that `LIMITS` can change, each with its feature or room of the kernel. */
const limits: { path: string; room: string; name: string }[] = [];
for await (const path of glob("src/server/{features,kernel}/*/limits.ts")) {
  const text = await readFile(path, "utf8");
  const [, changeable = ""] = /^ {2}public: \{$([^]*?)^ {2}\},$/m.exec(text) ?? [];
  for (const [, name] of changeable.matchAll(/^ {4}(\w+): /gm))
    limits.push({ path, room: basename(dirname(path)), name: name! });
}
const ofFeatures = limits.filter(({ path }) => path.includes("/features/"));

// By computed paths: their types are those of Workers.
const ENV: string = "../../src/server/kernel/settings/env.ts";
const ALL_SETTINGS: string = "../../src/server/all-settings.ts";
// Other test files may have loaded features.
vi.resetModules();
await import("../../src/tools/bundle/features.ts");
const kernel = (await import(ENV)) as Reader;
const withLimit = ({ readSettings }: Reader, name: string) =>
  readSettings({ LIMITS: JSON.stringify({ [name]: 1 }) });
/** What the kernel says of them before any feature is loaded. */
const refusals = new Map(
  ofFeatures.map(({ name }) => {
    try {
      withLimit(kernel, name);
      return [name, ""];
    } catch (error) {
      return [name, (error as Error).message];
    }
  }),
);
vi.resetModules();
const tools = (await import(ALL_SETTINGS)) as Reader;

test("some features have limits that LIMITS can change", () => {
  expect(ofFeatures.length).toBeGreaterThan(8);
});

test.each(ofFeatures)("LIMITS cannot have $name without the feature $room", ({ room, name }) => {
  expect(refusals.get(name)).toMatch(
    `LIMITS: has ${name}, but this server was built without the feature ${room}, which it needs. `,
  );
  expect(refusals.get(name)).toMatch(
    /(Bind|Set) .* wrangler\.toml.* Then deploy, or start npm run dev, again\.$/,
  );
});

test.each(limits)("tools know the limit $name of $room", ({ name }) => {
  expect(withLimit(tools, name)).toMatchObject({ LIMITS: { [name]: 1 } });
});
