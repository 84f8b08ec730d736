import { glob, readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { expect, test, vi } from "vitest";

interface Reader {
  readSettings(env: object): Record<string, unknown>;
}

/** The feature and name of each limit of a feature that `LIMITS` can change. */
const limits: [feature: string, name: string][] = [];
for await (const path of glob("src/server/features/*/limits.ts")) {
  const text = await readFile(path, "utf8");
  const [, changeable = ""] = /^ {2}public: \{$([^]*?)^ {2}\},$/m.exec(text) ?? [];
  for (const [, name] of changeable.matchAll(/^ {4}(\w+): /gm))
    limits.push([basename(dirname(path)), name!]);
}

// By computed paths: their types are those of Workers.
const ENV: string = "../../src/server/kernel/settings/env.ts";
const ALL_SETTINGS: string = "../../src/server/all-settings.ts";
const kernel = (await import(ENV)) as Reader;
const withLimit = ({ readSettings }: Reader, name: string) =>
  readSettings({ LIMITS: JSON.stringify({ [name]: 1 }) });
/** What the kernel says of them before any feature is loaded. */
const refusals = new Map(
  limits.map(([, name]) => {
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
  expect(limits.length).toBeGreaterThan(8);
});

test.each(limits)("a server without %s says that LIMITS needs it for %s", (feature, name) => {
  expect(refusals.get(name)).toMatch(
    `LIMITS: has ${name}, but this server was built without the feature ${feature}, which it needs. `,
  );
  expect(refusals.get(name)).toMatch(
    /(Bind|Set) .* wrangler\.toml.* Then deploy, or start npm run dev, again\.$/,
  );
});

test.each(limits)("tools know that of %s, %s", (_feature, name) => {
  expect(withLimit(tools, name)).toMatchObject({ LIMITS: { [name]: 1 } });
});
