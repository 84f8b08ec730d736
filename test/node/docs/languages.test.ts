import { spawnSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import createPlugin from "@extism/extism";
import { beforeAll, expect, test } from "vitest";
import { loadServlet } from "../../../src/testing/index.ts";
import { readPage } from "./pages.ts";
import { copyOfProject, place, runShell } from "./shell.ts";

/** Builds each servlet of docs/other-languages.md as the page says, and calls it. */
const { blocks } = await readPage("docs/other-languages.md");
let folder: string;
beforeAll(async () => {
  folder = await copyOfProject(".bundle/docs/languages");
  for (const block of blocks) if (block.file !== "") await place(folder, block);
});

const run = (command: string, args: string[], cwd = "."): string | undefined => {
  const { status, stdout } = spawnSync(command, args, { cwd, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
};

/** The folder of the compiler's library for Wasm; undefined without one. */
const rustLibrary = run("rustc", [
  "--print",
  "target-libdir",
  "--target",
  "wasm32-unknown-unknown",
]);

/** By language: what its toolchain must have, and how its packages are fetched. */
const TOOLCHAINS = [
  {
    language: "Rust",
    needs: "cargo, with the target wasm32-unknown-unknown",
    isThere: rustLibrary !== undefined && existsSync(rustLibrary),
    fetch: ["cargo", ["fetch"], "greet-rust"],
  },
  {
    language: "Go",
    needs: "go",
    isThere: run("go", ["version"]) !== undefined,
    fetch: ["go", ["mod", "tidy"], "greet-go"],
  },
  { language: "Zig", needs: "zig", isThere: run("zig", ["version"]) !== undefined },
] as const;

const GREETING = { content: [{ type: "text", text: "Hello, Ada!" }] };

for (const { language, needs, isThere, ...toolchain } of TOOLCHAINS) {
  // A compiler's first run builds its own library, too.
  test.skipIf(!isThere)(`${language} (needs ${needs})`, { timeout: 300_000 }, async ({ skip }) => {
    if ("fetch" in toolchain) {
      const [command, args, inside] = toolchain.fetch;
      const isFetched = run(command, [...args], join(folder, inside)) !== undefined;
      skip(!isFetched, `the packages of the example cannot be fetched`);
    }
    const shell = blocks.filter(({ section, language: of }) => section === language && of === "sh");
    await runShell(folder, shell.map(({ text }) => text).join("\n"), {});
    const made = join(folder, `plugins/greet_${language.toLowerCase()}`);
    const [wasm = ""] = await readdir(made);
    // The official runtime: what it gives is what this server gives (bundle/oracle.test.ts).
    const plugin = await createPlugin(
      { wasm: [{ data: await readFile(join(made, wasm)) }] },
      { useWasi: true },
    );
    const ask = async (name: string, request: object) =>
      (
        await plugin.call(name, JSON.stringify({ request, context: { id: "1", _meta: {} } }))
      )?.json();
    expect(await ask("list_tools", {})).toMatchObject({
      tools: [{ name: `greet_${language.toLowerCase()}`, inputSchema: { required: ["name"] } }],
    });
    expect(await ask("call_tool", { name: "greet", arguments: { name: "Ada" } })).toEqual(GREETING);
    await plugin.close();
  });
}

test.each(["greet_c", "greet_as"])("%s", async (name) => {
  const servlet = await loadServlet(join(folder, "plugins", name));
  const { result } = await servlet.callTool(name, { name: "Ada" });
  expect(result).toEqual(GREETING);
});
