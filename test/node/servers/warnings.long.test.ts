import { expect, test } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { folderOf } from "./made.ts";

const SERVER = `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
// new Date().toLocaleString("de") in a comment is not code.
const server = new McpServer({ name: "w", version: "1.0.0" });
const text = (text: string) => ({ content: [{ type: "text" as const, text }] });
let calls = 0;
server.registerTool("when", { description: "Says when" }, async () => {
  calls += 1;
  const place = process.env.PLACE ?? process.env.REGION ?? process.env.PORT;
  return text(\`\${new Date(0).toLocaleDateString("en-GB")} \${place} \${calls}\`);
});
export default server;
`;
const KIT = `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: { sorted: {
  description: "Sorts",
  handler: () => ["b", "a"].sort((x, y) => x.localeCompare(y, "de")).join(),
} } });
`;

async function warningsOf(files: Record<string, string>): Promise<string[]> {
  const folder = await folderOf({ ...files, "package.json": "{}" });
  const [member] = await makeBundle({
    folders: [folder],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  });
  return member!.warnings.map((one) => one.replace(folder, "w"));
}

test("what a server reads and keeps, and what has no meaning here, is said with its place", async () => {
  const manifest = { env_vars: { PLACE: "here" } };
  const files = { "s/index.ts": SERVER, "s/servlet.json": JSON.stringify(manifest) };
  const all = await warningsOf(files);
  expect(all).toEqual([
    expect.stringMatching(
      /^w\/s\/index\.ts:8: REGION is not in servlet\.json.*env_vars or allowed_secrets/,
    ),
    expect.stringMatching(/^w\/s\/index\.ts:5: handlers change the variable calls.*"session"/),
    expect.stringMatching(/^w\/s\/index\.ts:9: servlets have no Intl/),
  ]);
  const told = { env_vars: { PLACE: "here", REGION: "there" }, state: "call" };
  const few = await warningsOf({ ...files, "s/servlet.json": JSON.stringify(told) });
  expect(few).toHaveLength(1);
});

test("a servlet of the kit that asks for a locale gets a warning", async () => {
  const all = await warningsOf({ "k/servlet.ts": KIT });
  expect(all).toEqual([expect.stringMatching(/^w\/k\/servlet\.ts:4: servlets have no Intl/)]);
});
