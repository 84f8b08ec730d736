import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { loadServlet } from "../../../src/tools/testing/index.ts";
import { folderOf } from "./made.ts";

/** Servlets share the part of zod that most of them use. */
const sdk = (name: string, body: string, imports = 'import { z } from "zod";') => `
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
${imports}
const server = new McpServer({ name: "${name}", version: "1.0.0" });
const text = (said: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(said) }] });
${body}
await server.connect(new StdioServerTransport());
`;
const tool = (name: string, schema: string, said: string) =>
  `server.registerTool("${name}", { description: "Says what it got.", inputSchema: { value: ${schema} } }, async ({ value }) => text(${said}));`;
const kit = (schema: string) => `import { defineServlet } from "edge-servlets/servlet";
import * as z from "zod";
export default defineServlet({ tools: { kit: {
  description: "Says what it got.",
  input: z.object({ value: ${schema} }),
  handler: ({ value }) => JSON.stringify(value),
} } });`;

const FILES = {
  "one/index.ts": sdk("one", tool("one", "z.string().email()", "value")),
  "two/index.ts": sdk("two", tool("two", 'z.enum(["a", "b"]).default("b")', "value")),
  "rare/index.ts": sdk("rare", tool("rare", "z.string()", "[value, typeof z.core.$ZodType]")),
  "whole/index.ts": sdk(
    "whole",
    `const made = (zod: typeof z) => zod.number();\n${tool("whole", "made(z)", "value")}`,
  ),
  "core/index.ts": sdk(
    "core",
    tool("core", "z.string()", "value instanceof Object || typeof parse"),
    'import { z } from "zod/v4"; import { parse } from "zod/v4/core";',
  ),
  "kit/servlet.ts": kit("z.iso.date()"),
  "mini/servlet.ts": kit("z.string()").replace('"zod"', '"zod/mini"').replace("kit:", "mini:"),
};

test("zod is there once for the servlets that use what is common of it, and others have their own", async () => {
  const folder = await folderOf(FILES);
  const options = {
    folders: [folder] as [string],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  };
  const members = await makeBundle(options);
  const shared = new Map(members.map(({ found, prepared }) => [found.name, prepared.packages]));
  const isShared = [...shared].map(([name, packages]) => [name, packages !== undefined]);
  expect(Object.fromEntries(isShared)).toEqual({
    one: true,
    two: true,
    kit: true,
    rare: false,
    whole: false,
    core: false,
    mini: false,
  });
  expect(new Set([...shared.values()].map((one) => one?.path)).size).toBe(2);
  const gzipped = ({ bytes }: { bytes: Uint8Array }) => gzipSync(bytes, { level: 9 }).length;
  const sharing = members.filter(({ prepared }) => prepared.packages !== undefined);
  const sizes = sharing.map(({ prepared }) => gzipped(prepared.patch!));
  expect(Math.max(...sizes)).toBeLessThan(120 * 1024);
});

const CALLS: [name: string, value: unknown, said: unknown, bad?: unknown][] = [
  ["one", "ada@example.com", "ada@example.com", "nobody"],
  ["two", undefined, "b", "c"],
  ["rare", "x", ["x", "function"], 1],
  ["whole", 3, 3, "three"],
  ["core", "x", "function", 1],
  ["kit", "2026-11-29", "2026-11-29", "yesterday"],
  ["mini", "x", "x", 1],
];

test.each(CALLS)("%s checks its arguments", async (name, value, said, bad) => {
  const files = Object.entries(FILES).filter(([path]) => path.startsWith(`${name}/`));
  const own = files.map(([path, text]) => [path.slice(name.length + 1), text]);
  const servlet = await loadServlet(await folderOf(Object.fromEntries(own)));
  const { result } = await servlet.callTool(name, { value });
  expect(JSON.parse((result.content[0] as { text: string }).text)).toEqual(said);
  const wrong = await servlet.callTool(name, { value: bad }).then(
    ({ result: ended }) => ended.isError,
    () => true,
  );
  expect(wrong).toBe(true);
});

const loaded = async (text: string, more: Record<string, string> = {}) =>
  loadServlet(await folderOf({ "index.ts": text, ...more }));
const answer = async (text: string, name: string, args: object = {}) => {
  const { result, logs } = await (await loaded(text)).callTool(name, args as never);
  return { text: (result.content[0] as { text: string }).text, logs: logs.join("\n") };
};

test("imports of zod may have comments and lines, which stay, and texts that look like one stay, too", async () => {
  const text = sdk(
    "odd",
    `const help = \`write:
import { z } from "zod";
// import.meta.url and require.main\`;
server.registerTool("odd", { description: "Odd", inputSchema: { at: z.string().optional() } }, async () => {
  for (const one of ["here"]) {
    console.log(new Error(one).stack);
  }
  return text([help, "import z from 'zod'", "use import.meta.url", import.meta.url]);
});`,
    `import {
  z, // schemas
  ZodError, // its error
} from "zod";
void ZodError;`,
  );
  const line = text.split("\n").findIndex((one) => one.includes("new Error")) + 1;
  const { text: said, logs } = await answer(text, "odd");
  expect(JSON.parse(said)).toEqual([
    'write:\nimport { z } from "zod";\n// import.meta.url and require.main',
    "import z from 'zod'",
    "use import.meta.url",
    "file:///servlet/index.ts",
  ]);
  expect(logs).toContain(`index.ts:${line}`);
  expect(logs).not.toContain("<null>");
});

test("messages of zod are there in the languages that a server names", async () => {
  const text = sdk(
    "german",
    `z.config(z.locales.de());
server.registerTool("german", { description: "Says what is wrong" }, async () => text(z.string().safeParse(1).error!.issues[0]!.message));`,
  );
  expect((await answer(text, "german")).text).toContain("erwartet");
});

test("an empty shape needs no zod", async () => {
  const body = `server.registerTool("none", { description: "None", inputSchema: {} }, async (args) => text(args));`;
  expect((await answer(sdk("none", body, ""), "none")).text).toBe("{}");
});
