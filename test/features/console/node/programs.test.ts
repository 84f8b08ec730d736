import { execFile } from "node:child_process";
import { hash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  KEY,
  programsFor,
  type Calling,
} from "../../../../src/server/features/console/programs.ts";
import { serving } from "../../../node/http/serving.ts";

/** The programs that the console offers to copy are run as they are, against a server that knows their key. */

const run = promisify(execFile);

const server = await serving({
  variables: { API_KEYS: JSON.stringify({ me: hash("sha256", KEY) }) },
});

// Below the project, where the client that they import is found.
let folder: string;
beforeAll(async () => (folder = await mkdtemp(join(import.meta.dirname, ".programs-"))));
afterAll(() => rm(folder, { recursive: true }));

const CALLS: [Calling, string][] = [
  [{ method: "tools/list", params: {} }, "greet"],
  [
    { method: "tools/call", params: { name: "greet", arguments: { name: `Ada's "$(id)" \\ Ω` } } },
    "Hello, Ada's ",
  ],
  [
    { method: "prompts/get", params: { name: "explain_status", arguments: { code: "404" } } },
    "404",
  ],
  [{ method: "resources/read", params: { uri: "http-status://index" } }, "Continue"],
];

describe.each(CALLS)("%j", (calling, expected) => {
  const programs = () => programsFor({ url: server.url.href, isKeyed: true }, calling);

  test("runs with curl", async () => {
    const { stdout } = await run("sh", ["-c", programs()["curl"]!]);
    expect(stdout).toContain(expected);
    expect(stdout).not.toContain("uid=");
  });

  test("runs in TypeScript", async () => {
    const file = join(folder, `${calling.method.replace("/", "-")}.ts`);
    await writeFile(file, programs()["TypeScript"]!);
    const { stdout } = await run(process.execPath, [file]);
    expect(stdout).toContain(expected);
  });
});
