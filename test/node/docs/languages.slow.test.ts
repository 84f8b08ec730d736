import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, inject, test } from "vitest";
import { go } from "../../../src/languages/compiled/go.ts";
import { rust } from "../../../src/languages/compiled/rust.ts";
import { zig } from "../../../src/languages/compiled/zig.ts";
import type { ToolchainLanguage } from "../../../src/tools/bundle/language.ts";
import { makeServlet } from "./languages.ts";
import { copyOfProject, runShell } from "./shell.ts";

/** Makes and builds a servlet in each language that has a compiler of its own, as its page says, and runs its test. */
let folder: string;
beforeAll(async () => {
  folder = await copyOfProject(join(inject("worker"), "docs/built-languages"));
});

const run = promisify(execFile);

/** The languages, which are headings of the page, and the command that fetches the packages of each. */
const BUILT: [language: ToolchainLanguage, fetch?: [string, ...string[]]][] = [
  [rust, ["cargo", "fetch"]],
  [go, ["go", "mod", "download"]],
  [zig],
];

for (const [language, fetch] of BUILT) {
  const { name: heading, toolchain } = language;
  const { needs } = toolchain;
  const isThere = (await Promise.all(needs.map((tool) => tool.isThere()))).every(Boolean);
  const named = needs.map(({ name }) => name).join(", ");
  // A compiler's first run builds its own library, too.
  test.skipIf(!isThere)(`${heading} (needs ${named})`, { timeout: 600_000 }, async ({ skip }) => {
    const { servlet, told, build } = await makeServlet(heading, folder);
    // What it says is to be done next is what the page says.
    expect(build).toHaveLength(1);
    expect(told).toContain(`\n  ${build[0]}\n`);
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
