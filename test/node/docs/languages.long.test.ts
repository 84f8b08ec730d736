import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, inject, test } from "vitest";
import { TOOLCHAINS, type Toolchain } from "../../../src/bundle/toolchains.ts";
import { readPage } from "./pages.ts";
import { copyOfProject, runShell } from "./shell.ts";

/** Makes and builds a servlet in each language as docs/other-languages.md says, and runs its test. */
const { blocks } = await readPage("docs/other-languages.md");
let folder: string;
beforeAll(async () => {
  folder = await copyOfProject(join(inject("worker"), "docs/languages"));
});

const run = promisify(execFile);

/** By its heading in the page: what a language's build needs, and the command that fetches its packages. */
const LANGUAGES: [heading: string, toolchain?: Toolchain, fetch?: [string, ...string[]]][] = [
  ["Rust", TOOLCHAINS.rust, ["cargo", "fetch"]],
  ["Go", TOOLCHAINS.go, ["go", "mod", "download"]],
  ["Zig", TOOLCHAINS.zig],
  ["C"],
  ["AssemblyScript"],
];

for (const [heading, toolchain, fetch] of LANGUAGES) {
  const needs = toolchain?.needs ?? [];
  const isThere = (await Promise.all(needs.map((tool) => tool.isThere()))).every(Boolean);
  const named = needs.map(({ name }) => name).join(", ") || "nothing";
  // A compiler's first run builds its own library, too.
  test.skipIf(!isThere)(`${heading} (needs ${named})`, { timeout: 600_000 }, async ({ skip }) => {
    const lines = blocks
      .filter(({ section, language }) => section === heading && language === "sh")
      .flatMap(({ text }) => text.trim().split("\n"));
    const made = lines.findIndex((line) => line.startsWith("npm run servlets -- new"));
    const name = / new (\S+)/.exec(lines[made]!)![1]!;
    const told = await runShell(folder, lines.slice(0, made + 1).join("\n"), {});
    // What it says is to be done next is what the page says.
    const build = lines.slice(made + 1);
    for (const line of build) expect(told).toContain(`\n  ${line}\n`);
    expect(build.length).toBe(toolchain === undefined ? 0 : 1);

    const servlet = join(folder, "plugins", name);
    if (fetch !== undefined) {
      const [program, ...args] = fetch;
      const isFetched = await run(program, args, { cwd: servlet }).then(
        () => true,
        () => false,
      );
      skip(!isFetched, "the packages that it needs cannot be fetched");
    }
    await runShell(folder, build.join("\n"), {});
    // The project's own configuration is for its tests.
    await writeFile(join(servlet, "vitest.config.js"), "export default {};\n");
    const tested = await run(join("node_modules", ".bin", "vitest"), ["run", "--root", servlet], {
      env: { ...process.env, NO_COLOR: "1" },
    });
    expect(tested.stdout).toMatch(/Tests +2 passed/);
  });
}
