import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LANGUAGES } from "../../../../../src/languages/index.ts";
import { makeBundle } from "../../../../../src/tools/bundle/bundle.ts";
import { loadServlet } from "../../../../../src/tools/testing/index.ts";
import { CORPUS, packageOf, type Used } from "./corpus.ts";

/** Packages from PyPI in servlets: they give there what they give elsewhere, or fail as docs/packages.md says. */
let folder: string;
let isReachable: boolean;
beforeAll(async () => {
  isReachable = await fetch("https://pypi.org/simple/").then(
    () => true,
    () => false,
  );
  await mkdir(".bundle", { recursive: true });
  folder = await mkdtemp(".bundle/python-corpus-");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes a servlet that uses the package in its tool `use`; gives its folder. */
async function writeServlet({
  name,
  version,
  code,
  manifest = {},
  ...used
}: Used): Promise<string> {
  const servlet = join(folder, name.replaceAll(/\W+/g, "-"));
  await mkdir(servlet, { recursive: true });
  const files = {
    "requirements.txt": `${packageOf(name)}==${version}\n${used.with ?? ""}`,
    "servlet.py": `from edge_servlets import tool
import using

@tool
def use() -> dict:
    return {"made": using.use()}
`,
    "using.py": code,
    "servlet.json": JSON.stringify(manifest),
  };
  for (const [file, text] of Object.entries(files)) await writeFile(join(servlet, file), text);
  return servlet;
}

/** The result of a servlet that uses a package, or why there is none. */
const outcomeIn = (path: string) =>
  loadServlet(path)
    .then((servlet) => servlet.callTool("use", {}, { now: Date.UTC(2026, 10, 26) }))
    .then(
      ({ result }) => (result.isError ? JSON.stringify(result.content) : result.structuredContent),
      String,
    );

const [working, failing] = [true, false].map((works) =>
  CORPUS.filter(({ fails }) => (fails === undefined) === works),
) as [Used[], Used[]];

test.for(working)("$name works (needs PyPI)", { timeout: 300_000 }, async (used, { skip }) => {
  skip(!isReachable, "it cannot be reached");
  const path = await writeServlet(used);
  expect(await outcomeIn(path)).toEqual({ made: used.gives });
  const [member] = await makeBundle({
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
    folders: [path],
  });
  expect(member!.size.gzip / 1000).toBeGreaterThan(used.kb! * 0.9 - 1);
  expect(member!.size.gzip / 1000).toBeLessThan(used.kb! * 1.1 + 1);
});

test.for(failing)("$name does not (needs PyPI)", { timeout: 300_000 }, async (used, { skip }) => {
  skip(!isReachable, "it cannot be reached");
  expect(await outcomeIn(await writeServlet(used))).toMatch(used.fails!.error);
});
