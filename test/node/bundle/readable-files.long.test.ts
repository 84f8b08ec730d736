import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { filesOf } from "../../../src/tools/bundle/servlet-files.ts";

/** A servlet's folder may be anybody's: it takes no file of who bundles it. */
const SECRET = "OWNER_PASSPHRASE = 'of the owner'";
const TOOL = 'from edge_servlets import tool\n@tool\ndef f() -> str:\n  """F"""\n  return ';
const SCRIPT = (before: string, value: string) =>
  `import { defineServlet } from "edge-servlets/servlet";\n${before}\nexport default defineServlet({ tools: { f: { description: "F", input: { type: "object", properties: {} }, handler: () => String(${value}) } } });\n`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "readable-"));
  await put({
    "package.json": "{}",
    ".dev.vars": SECRET,
    ".secrets/keys.py": SECRET,
    ".env.ts": "export default 'secret'",
    "keys.json": '{ "key": "secret" }',
    "notes.txt": "secret",
    "common/words.py": 'WORD = "common"',
    "common/words.ts": 'export const word = "common";',
    "node_modules/lib/package.json": '{ "name": "lib", "main": "a.js" }',
    "node_modules/lib/a.js": 'import data from "./data.json"; export default data.word;',
    "node_modules/lib/data.json": '{ "word": "installed" }',
  });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function put(files: Record<string, string>) {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** Bundles the servlet of these files in `plugins/s`; links are by path there, to where they lead. */
async function bundled(files: Record<string, string>, links: Record<string, string> = {}) {
  await put(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`plugins/s/${path}`, text])),
  );
  for (const [path, target] of Object.entries(links)) {
    await mkdir(dirname(join(folder, "plugins/s", path)), { recursive: true });
    await symlink(target.replaceAll("FOLDER", folder), join(folder, "plugins/s", path));
  }
  return makeBundle({
    folders: [join(folder, "plugins")],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
    optimise: false,
  });
}

const view = (file: string) => ({
  "servlet.js": SCRIPT("", "1"),
  "servlet.json": JSON.stringify({ views: { v: { file, tools: ["f"] } } }),
});
const html = (body: string) => `<!doctype html><html><body>${body}</body></html>`;

describe("a servlet is refused", () => {
  test.each<[what: string, files: Record<string, string>, links: Record<string, string>]>([
    [
      "whose module is a link to a file of settings",
      { "servlet.py": `from settings import OWNER_PASSPHRASE\n${TOOL}OWNER_PASSPHRASE` },
      { "settings.py": "../../.dev.vars" },
    ],
    [
      "whose package in vendor/ has a link to one",
      { "servlet.py": `import lib.settings\n${TOOL}"a"`, "vendor/lib/__init__.py": "" },
      { "vendor/lib/settings.py": "../../../../.dev.vars" },
    ],
    [
      "whose folder of modules is a link to one with a dot",
      { "servlet.py": `import hidden.keys\n${TOOL}"a"` },
      { hidden: "../../.secrets" },
    ],
    ["that is itself a link to code outside of the project", {}, { "servlet.py": "/etc/passwd" }],
    [
      "with a link in place of its manifest",
      { "servlet.py": `${TOOL}"a"` },
      { "servlet.json": "../../keys.json" },
    ],
    [
      "with a link in place of requirements",
      { "servlet.py": `${TOOL}"a"` },
      { "requirements.txt": "../../notes.txt" },
    ],
    [
      "that imports JSON above its folder",
      { "servlet.js": SCRIPT('import a from "../../keys.json";', "a.key") },
      {},
    ],
    [
      "that imports text above its folder",
      { "servlet.js": SCRIPT('import a from "../../notes.txt";', "a") },
      {},
    ],
    [
      "that imports JSON by an absolute path",
      { "servlet.js": SCRIPT('import a from "FOLDER/keys.json";', "a.key") },
      {},
    ],
    [
      "that imports code as text above its folder",
      { "servlet.js": SCRIPT('import a from "../../common/words.ts" with { type: "text" };', "a") },
      {},
    ],
    [
      "that imports code with a dot",
      { "servlet.js": SCRIPT('import a from "../../.env";', "a") },
      {},
    ],
    [
      "that imports JSON by a link",
      { "servlet.js": SCRIPT('import a from "./a.json";', "a.key") },
      { "a.json": "../../keys.json" },
    ],
    [
      "whose own package is a link to the project",
      { "servlet.js": SCRIPT('import a from "mine/keys.json";', "a.key") },
      { "node_modules/mine": "../../.." },
    ],
    [
      "whose own package names a file elsewhere for browsers",
      {
        "servlet.js": SCRIPT('import a from "mine";', "a"),
        "node_modules/mine/package.json":
          '{ "name": "mine", "browser": { "./index.js": "../../../../.env.ts" } }',
        "node_modules/mine/index.js": "export default process.cwd();",
      },
      {},
    ],
    [
      "whose source in C embeds a link",
      { "servlet.c": "int x;" },
      { "secret.h": "../../.dev.vars" },
    ],
    [
      "whose source in AssemblyScript is a link",
      { "assembly/index.ts": 'export * from "./other";' },
      { "assembly/other.ts": "../../../.env.ts" },
    ],
    [
      "whose view has a picture elsewhere",
      { ...view("v.html"), "v.html": html('<img src="../../notes.png">') },
      {},
    ],
    ["whose view is a link", view("v.html"), { "v.html": "../../notes.txt" }],
    ["whose view has a dot", { ...view(".v.html"), ".v.html": html("") }, {}],
    [
      "whose view has a script elsewhere",
      { ...view("v.html"), "v.html": html('<script src="../../.env.ts"></script>') },
      {},
    ],
    [
      "whose view has JSON elsewhere",
      { ...view("v.ts"), "v.ts": 'import a from "../../keys.json"; document.title = a.key;' },
      {},
    ],
    [
      "whose folder of files has a name with a dot",
      {
        "servlet.py": `${TOOL}"a"`,
        "servlet.json": JSON.stringify({ state: "caller", allowed_paths: ["ro:.git:/a"] }),
        ".git/config": "secret",
      },
      {},
    ],
  ])("%s", async (_, files, links) => {
    await put({ "notes.png": "secret" });
    const given = Object.entries(files).map(([path, text]) => [
      path,
      text.replaceAll("FOLDER", folder),
    ]);
    await expect(bundled(Object.fromEntries(given), links)).rejects.toThrow(
      /is outside of the servlet's (folder|project):|begins with a dot/,
    );
  });
});

describe("a servlet may have", () => {
  test.each<[what: string, files: Record<string, string>, links: Record<string, string>]>([
    [
      "code of its project, by an import",
      { "servlet.js": SCRIPT('import { word } from "../../common/words.ts";', "word") },
      {},
    ],
    [
      "code of its project, by a link",
      { "servlet.py": `from words import WORD\n${TOOL}WORD` },
      { "words.py": "../../common/words.py" },
    ],
    [
      "an installed package with its data",
      { "servlet.js": SCRIPT('import a from "lib";', "a") },
      {},
    ],
    [
      "its own data",
      { "servlet.js": SCRIPT('import a from "./a.json";', "a.a"), "a.json": '{ "a": 1 }' },
      {},
    ],
    [
      "data by a link within its folder",
      { "servlet.js": SCRIPT('import a from "./b.json";', "a.a"), "a.json": '{ "a": 1 }' },
      { "b.json": "a.json" },
    ],
  ])("%s", async (_, files, links) => {
    expect(await bundled(files, links)).toHaveLength(1);
  });

  test("a package of a project whose folder of packages is a link", async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), "packages-"));
    await rename(join(folder, "node_modules"), join(elsewhere, "node_modules"));
    await symlink(join(elsewhere, "node_modules"), join(folder, "node_modules"));
    const script = SCRIPT('import a from "lib";', "a");
    expect(await bundled({ "servlet.js": script })).toHaveLength(1);
    await rm(elsewhere, { recursive: true });
  });

  test("a package that a workspace links to", async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), "workspace-"));
    await writeFile(join(elsewhere, "package.json"), '{ "name": "linked", "main": "a.js" }');
    await writeFile(join(elsewhere, "a.js"), 'export { word as default } from "./data.json";');
    await writeFile(join(elsewhere, "data.json"), '{ "word": "linked" }');
    await symlink(elsewhere, join(folder, "node_modules/linked"));
    const script = SCRIPT('import a from "linked";', "a");
    expect(await bundled({ "servlet.js": script })).toHaveLength(1);
    await rm(elsewhere, { recursive: true });
  });
});

test("hidden files are not among the initial files of a servlet's folders", async () => {
  await put({ "data/a.txt": "a", "data/.env": "secret", "data/.git/config": "secret" });
  const files = await filesOf(join(folder, "data"));
  expect(files.map(({ path }) => path)).toEqual(["a.txt"]);
});
