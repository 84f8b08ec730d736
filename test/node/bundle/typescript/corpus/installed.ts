/** The packages of the corpus, installed outside of the project: as its own they would be installed by everybody. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Used } from "./corpus.ts";

const run = promisify(execFile);

const UNREACHABLE = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED/;

/** The folder with the packages; undefined where their registry cannot be reached. Later runs find it. */
export async function installPackages(): Promise<string | undefined> {
  const lock = await readFile(join(import.meta.dirname, "package-lock.json"));
  const digest = createHash("sha256").update(lock).digest("hex").slice(0, 16);
  const folder = join(tmpdir(), `edge-servlets-packages-${digest}`);
  const done = join(folder, "node_modules", ".installed");
  if (existsSync(done)) return folder;
  await mkdir(folder, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) {
    await cp(join(import.meta.dirname, name), join(folder, name));
  }
  try {
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"];
    await run("npm", ["ci", ...flags], { cwd: folder });
  } catch (error) {
    if (UNREACHABLE.test(String((error as { stderr?: string }).stderr))) return undefined;
    throw error;
  }
  await writeFile(done, "");
  return folder;
}

const slug = (name: string) => name.replaceAll(/\W+/g, "-").replace(/^-/, "");

/** The module that uses a package. */
export const useOf = (folder: string, { name }: Used) =>
  join(folder, "servlets", slug(name), "use.ts");

/** Writes a servlet that uses the package in its tool `use`; gives its folder. Its types are checked with all others'. */
export async function writeServlet(folder: string, used: Used): Promise<string> {
  const servlet = dirname(useOf(folder, used));
  await mkdir(servlet, { recursive: true });
  const files = {
    "use.ts": `${used.imports}\n\nexport async function use() {\n${used.body}\n}\n`,
    "servlet.js": `import { defineServlet } from "edge-servlets/servlet";
import { use } from "./use.ts";

export default defineServlet({
  tools: {
    use: { description: "Uses the package", handler: async () => ({ made: await use() }) },
  },
});
`,
    "servlet.json": '{ "allowed_hosts": ["api.example"] }\n',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(servlet, name), text);
  return servlet;
}

/** The results of these packages in Node, by name; without those that ask a server. */
export async function usedInNode(
  folder: string,
  corpus: readonly Used[],
): Promise<Record<string, unknown>> {
  const asked = corpus.filter(({ gives }) => gives === undefined);
  const uses = asked.map((used) => [used.name, useOf(folder, used)]);
  const script = `const results = {};
for (const [name, path] of ${JSON.stringify(uses)}) {
  const { use } = await import(path);
  results[name] = await use();
}
console.log(JSON.stringify(results));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], {
    cwd: folder,
    env: { ...process.env, TZ: "UTC" },
  });
  return JSON.parse(stdout) as Record<string, unknown>;
}
