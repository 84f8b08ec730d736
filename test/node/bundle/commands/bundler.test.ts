import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { askBundler, BUNDLER } from "../../../../src/bundle/commands/ask-bundler.ts";
import { freePort } from "../../workerd.ts";
import { run } from "./running.ts";

/** The bundle under `dev`, whose process makes it for wrangler's build command. */

afterEach(() => vi.unstubAllEnvs());

test("without a bundler that listens, the build command makes the bundle itself", async () => {
  expect(await askBundler([])).toBeUndefined();
  vi.stubEnv(BUNDLER, join(tmpdir(), "nobody-listens-here"));
  expect(await askBundler([])).toBeUndefined();
});

test("a servlet whose types are wrong is not served: dev says so and ends", async () => {
  const project = await mkdtemp(join(tmpdir(), "bundler-"));
  try {
    await mkdir(join(project, "plugins/wrong"), { recursive: true });
    await symlink(resolve("node_modules"), join(project, "node_modules"));
    await writeFile(
      join(project, "plugins/wrong/servlet.ts"),
      `import { defineServlet } from "edge-servlets/servlet";
const one: number = "one";
export default defineServlet({ tools: { one: { description: "One.", handler: () => one } } });
`,
    );
    await writeFile(
      join(project, "wrangler.toml"),
      `name = "wrong"\nmain = "index.js"\ncompatibility_date = "2026-09-01"\n[build]\ncommand = "node ${resolve("src/bundle/commands/bundle.ts")}"\n`,
    );
    await writeFile(join(project, "index.js"), "export default { fetch: () => new Response() };\n");
    const script = `process.chdir(${JSON.stringify(project)});
process.argv = [process.execPath, "cli.ts", "dev", "--ip=127.0.0.1", "--port=${await freePort()}"];
await import(${JSON.stringify(resolve("src/bundle/commands/cli.ts"))});`;
    const { code, stdout, stderr } = await run(process.execPath, ["-e", script]);
    expect(stderr).toContain("Type 'string' is not assignable to type 'number'");
    expect(stderr).toContain("The bundle was not made.");
    expect(stdout).not.toContain("Ready on");
    expect(code).toBe(1);
  } finally {
    await rm(project, { recursive: true });
  }
});
