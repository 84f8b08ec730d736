import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newServlet } from "../../../src/tools/commands/new.ts";
import { folderOf } from "./made.ts";

const SERVER = `#!/usr/bin/env node
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { ListToolsRequestSchema, ListPromptsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { readFileSync } from "fs";
import { spawn } from "child_process";
import axios from "axios";
import { helper } from "./lib/helper.js";
const { API_TOKEN, API_URL } = process.env;
let requests = 0;
const server = new Server({ name: "a", version: "1" });
const text = readFileSync(new URL("../prompts/hello.md", import.meta.url), "utf8");
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [] }));
server.setRequestHandler(ListPromptsRequestSchema, listPrompts);
async function listPrompts() {
  requests++;
  const response = await fetch("https://api.example.net/prompts?token=" + API_TOKEN);
  return { prompts: await response.json() };
}
server.connect();
`;

const FILES = {
  "package.json":
    '{ "name": "a", "main": "dist/index.js", "dependencies": { "axios": "^1.7.0", "@modelcontextprotocol/sdk": "^1.0.0" } }',
  "src/index.ts": SERVER,
  "src/lib/helper.ts": "export const helper = process.env.PORT;\n",
  "src/unused.ts": "export const unused = 1;\n",
  "prompts/hello.md": "# Hello",
  ".env.example": "API_TOKEN=x\nREGION=eu\n",
};

test("a server is taken with the files that it needs, and its author is told what they decide", async () => {
  const from = await folderOf(FILES);
  const to = await folderOf({});
  const text = await newServlet("taken", [to], { from });
  const folder = join(to, "taken");
  const manifest = JSON.parse(await readFile(join(folder, "servlet.json"), "utf8")) as object;
  expect(manifest).toEqual({
    $schema: expect.stringContaining("servlet.schema.json"),
    allowed_hosts: ["api.example.net"],
    env_vars: { API_URL: "${API_URL:-}", REGION: "${REGION:-}" },
    allowed_secrets: [{ service: "api_token", user: "server", variable: "API_TOKEN" }],
    state: "session",
    lists: "dynamic",
  });
  expect(await readFile(join(folder, "src/index.ts"), "utf8")).toBe(SERVER);
  expect(await readFile(join(folder, "prompts/hello.md"), "utf8")).toBe("# Hello");
  await expect(stat(join(folder, "src/unused.ts"))).rejects.toThrow("ENOENT");
  for (const line of [
    "src/index.ts is the entry",
    "src/index.ts:16: it reaches api.example.net",
    "src/index.ts:8: it reads API_TOKEN: allowed_secrets",
    ".env.example:2: it reads REGION: env_vars",
    "src/index.ts:9: the variable requests changes in handlers",
    'src/index.ts:13: this list comes from a request: "lists": "dynamic"',
    'src/index.ts:5: it imports "child_process" of Node',
    'npm install "axios@^1.7.0"',
  ]) {
    expect(text).toContain(line);
  }
});

test("--dry-run makes nothing, and what cannot be taken says why", async () => {
  const from = await folderOf(FILES);
  const to = await folderOf({});
  const told = await newServlet("taken", [to], { from, dryRun: true });
  expect(told).toMatch(/would have:\n {2}package\.json\n/);
  expect(told).toMatch(/"\$schema": ".*servlet\.schema\.json"/);
  await expect(stat(join(to, "taken"))).rejects.toThrow("ENOENT");
  const take = (path: string) => newServlet("taken", [to], { from: path });
  await expect(take("no/such")).rejects.toThrow("no/such: there is no such folder or file");
  await expect(take(to)).rejects.toThrow(/it imports no SDK of MCP servers/);
  await mkdir(join(to, "taken"));
  await writeFile(join(to, "taken/servlet.ts"), "");
  await expect(take(from)).rejects.toThrow("taken");
});

test("a server is taken whose package.json has other members than it should", async () => {
  const server = SERVER.replace(/^import .*helper.*$/m, "").replace(/^const text.*$/m, "");
  const to = await folderOf({});
  for (const [name, text] of Object.entries({ a: "null", b: '{ "dependencies": null }' })) {
    const from = await folderOf({ "package.json": text, "src/index.ts": server });
    await newServlet(name, [to], { from });
    expect(await readFile(join(to, name, "src/index.ts"), "utf8")).toBe(server);
  }
});

test("each way to read what a sign-in gave is warned of", async () => {
  const uses = ["this.props.name", "this.props!.name", "this.props?.name", "extra.authInfo!.token"];
  for (const [at, use] of uses.entries()) {
    const from = await folderOf({ ...FILES, "src/index.ts": `${SERVER}void (() => ${use});\n` });
    const told = await newServlet(`taken${at}`, [await folderOf({})], { from });
    expect(told).toMatch(/^src\/index\.ts:20: .*(principal|token)/m);
  }
});
