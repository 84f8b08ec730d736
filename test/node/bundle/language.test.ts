import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { typescript } from "../../../src/languages/typescript/language.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import type { InterpretedLanguage } from "../../../src/tools/bundle/language.ts";

/** The bundle step knows of languages what their records say, and of no others. */

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "language-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function write(path: string, text: string): Promise<string> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
  return join(folder, path);
}

/** A language of lines `say NAME: TEXT`, each of which is a tool; its interpreter is that of TypeScript. */
const sayings: InterpretedLanguage = {
  ...typescript,
  name: "Sayings",
  kind: "sayings",
  files: ["servlet.say"],
  defines: /^say \w+:/m,
  async read(entry) {
    const lines = (await readFile(entry, "utf8")).matchAll(/^say (\w+): (.*)$/gm);
    const tools = [...lines].map(
      ([, name, text]) => `${name}: { description: "", handler: () => ${JSON.stringify(text)} }`,
    );
    const script = `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: { ${tools.join(", ")} } });`;
    return typescript.read(await write("read/servlet.ts", script), { place: "", manifest: {} });
  },
};

const bundled = (path: string) =>
  makeBundle({
    folders: [join(folder, path)],
    languages: [sayings],
    cache: ".bundle",
    progress: () => {},
  });

test("a servlet in a language that is given as a record is found, loaded and listed", async () => {
  await write("plugins/polite/servlet.say", "say hello: Good day!\nsay bye: Farewell!\n");
  const [member, ...others] = await bundled("plugins");
  expect(others).toEqual([]);
  expect(member!.found).toMatchObject({ name: "polite", source: { kind: "sayings" } });
  expect(member!.lists!.tools.map(({ name }) => name)).toEqual(["hello", "bye"]);
  expect(member!.neverWaits).toBe(true);
});

test("a servlet in such a language whose file has another name is refused", async () => {
  await write("plugins/polite/greetings.say", "say hello: Good day!\n");
  await expect(bundled("plugins")).rejects.toThrow(
    /greetings\.say: it is a servlet, but only servlet\.say is read as one: rename it/,
  );
});

test("a servlet in a language that is not given is not found", async () => {
  await write("plugins/other/servlet.py", "");
  expect(await bundled("plugins")).toEqual([]);
});
