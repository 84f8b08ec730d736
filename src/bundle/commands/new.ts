/** Writes a new servlet in TypeScript: one tool that works, its manifest, and a test that passes. */
import { mkdir, writeFile } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { refuseName, refuseTaken } from "../servlet-name.ts";

const PROJECT = resolve(import.meta.dirname, "../../..");

/**
 * Makes the servlet in the first of these folders; gives what to tell.
 *
 * Throws a `Refusal` for a name that is not fit or is taken.
 */
export async function newServlet(
  name: string,
  folders: readonly [string, ...string[]],
): Promise<string> {
  refuseName(name, /^[a-z][a-z0-9-]*$/, "lower-case letters a-z, digits and -");
  await refuseTaken(name, folders);
  const folder = join(folders[0], name);
  // No other servlet's name turns into the same: names have no underscores.
  const tool = `${name.replaceAll("-", "_")}_count`;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "servlet.ts"), servletSource(tool));
  await writeFile(join(folder, "servlet.json"), manifest(folder));
  await writeFile(join(folder, "servlet.test.ts"), testSource(tool));
  return `${folder} is made:
  servlet.ts       the tool ${tool}: change it into your own
  servlet.json     its manifest: the hosts that it may reach, its config (docs/manifest.md)
  servlet.test.ts  a test of it

Next:
  npm run dev      serves it at http://localhost:8787/mcp, and again whenever you save
  npm test         ${testHint(folder)}`;
}

function testHint(folder: string): string {
  const inside = relative(PROJECT, resolve(folder)).split(sep);
  if (inside[0] === "plugins") return "runs all tests, this one among them";
  return inside[0] === ".."
    ? `runs this project's tests; this one needs vitest and edge-servlets (${PROJECT}) where it is`
    : "runs this one as well once vitest.config.ts includes its folder";
}

const manifest = (folder: string) => {
  const schema = relative(folder, join(import.meta.dirname, "../servlet.schema.json"));
  const content = {
    $schema: schema.replaceAll("\\", "/"),
    description: "Counts words, lines and characters.",
  };
  return `${JSON.stringify(content, null, 2)}\n`;
};

const servletSource = (tool: string) => `import { defineServlet } from "edge-servlets/servlet";

// This runs once, when the servlet is built. Every call starts from there, on its own.
export default defineServlet({
  tools: {
    ${tool}: {
      description: "Counts the words, lines and characters of a text.",
      // A JSON Schema; a zod schema does as well. The handler's types come from it.
      input: {
        type: "object",
        properties: {
          text: { type: "string", description: "The text to look at." },
        },
        required: ["text"],
      },
      output: {
        type: "object",
        properties: {
          words: { type: "integer" },
          lines: { type: "integer" },
          characters: { type: "integer" },
        },
        required: ["words", "lines", "characters"],
      },
      // A second parameter, \`context\`, can ask the user, report progress and more.
      handler({ text }) {
        return {
          words: text.split(/\\s+/).filter((word) => word !== "").length,
          lines: text.split("\\n").length,
          characters: [...text].length,
        };
      },
    },
  },
});
`;

const testSource = (tool: string) => `import { loadServlet } from "edge-servlets/testing";
import { expect, test } from "vitest";

const servlet = await loadServlet(import.meta.dirname);

test("counts words, lines and characters", async () => {
  const text = "One two\\nthree";
  const { result } = await servlet.callTool("${tool}", { text });
  expect(result.structuredContent).toEqual({ words: 3, lines: 2, characters: 13 });
});

test("says what is wrong with a call", async () => {
  const { result } = await servlet.callTool("${tool}", {});
  expect(result.isError).toBe(true);
});
`;
