import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleSource } from "../../../src/bundle/bundle-module.ts";
import { makeBundle } from "../../../src/bundle/bundle.ts";
import { modern } from "../bench/kinds.ts";
import { OBJECTS } from "../objects.ts";
import { buildWorker, serve, stop, type Served } from "../workerd.ts";

/**
 * Plugins that keep memory and files, served by workerd, answer what a reference host has answered, in
 * order; also where the server is killed in between. `PLUGIN_CASES` names the folder that has them.
 */
const FOLDER = process.env["PLUGIN_CASES"];
const PLUGINS = ["keeper", "files", "ledger", "python", "diary"];
const scratch = join(".bundle", "recorded");

interface Case {
  servlet: string;
  tool: string;
  arguments: object;
  answer?: unknown;
  error?: string;
  isError?: boolean;
  traps?: boolean;
}

/** Bundles the plugins with state and folders, and builds a Worker that serves them. */
async function buildPlugins(): Promise<string> {
  await rm(scratch, { recursive: true, force: true });
  for (const plugin of PLUGINS) {
    const folder = join(scratch, "plugins", plugin);
    await mkdir(join(folder, "files"), { recursive: true });
    await writeFile(join(folder, "files", "r.txt"), "readme");
    await symlink(join(FOLDER!, plugin, "plugin.wasm"), join(folder, "plugin.wasm"));
    const manifest = {
      prefix: plugin,
      state: "server",
      allowed_paths: ["data:/data", "ro:files:/readonly"],
    };
    await writeFile(join(folder, "servlet.json"), JSON.stringify(manifest));
  }
  const members = await makeBundle({
    folders: [join(scratch, "plugins")],
    cache: ".bundle",
    progress: () => {},
  });
  const out = join(scratch, "bundle.gen.ts");
  await writeFile(out, bundleSource(members, out));
  const source = (path: string) => JSON.stringify(relative(scratch, path));
  await writeFile(
    join(scratch, "index.ts"),
    `import { env } from "cloudflare:workers";
import { createApp } from ${source("src/app.ts")};
import { durableObjects } from ${source("src/durable/objects.ts")};
import { bundle } from "./bundle.gen.ts";
export const { ${Object.values(OBJECTS).join(", ")} } = durableObjects(bundle);
export default createApp(bundle, env);
`,
  );
  return buildWorker(join(scratch, "index.ts"), join(scratch, "built"));
}

/** The answer of a call, in the shape of a case. */
async function answerOf(port: number, { servlet, tool, arguments: given }: Case) {
  const name = `${servlet}-${tool}`;
  const { body, headers } = modern("tools/call", { name, arguments: given }, name);
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body,
  });
  const text = await response.text();
  const [, event] = /^data: (.*)$/m.exec(text) ?? [];
  const { result, error } = JSON.parse(event ?? text) as {
    result?: { content: { text: string }[]; isError?: boolean };
    error?: { message: string };
  };
  if (result === undefined) return { error: error!.message };
  const said = result.content[0]?.text ?? "";
  if (result.isError && said.startsWith("The servlet crashed")) return { traps: true };
  let answer: unknown = said;
  try {
    answer = JSON.parse(said);
  } catch {}
  return { answer, ...(result.isError && { isError: true }) };
}

describe.skipIf(FOLDER === undefined)("recorded plugins (PLUGIN_CASES names their folder)", () => {
  let built: string;
  let cases: Case[];
  let server: Served | undefined;
  beforeAll(async () => {
    built = await buildPlugins();
    cases = JSON.parse(await readFile(join(FOLDER!, "cases.json"), "utf8")) as Case[];
  }, 900_000);
  afterAll(async () => {
    if (server) await stop(server);
  });

  test.each([
    ["in one run", 0],
    ["with the server killed after every 20 calls", 20],
  ])("%s", { timeout: 900_000 }, async (_how, lives) => {
    const storage = join(scratch, `storage-${lives}`);
    server = await serve(built, { durable: storage });
    const wrong: unknown[] = [];
    for (const [at, one] of cases.entries()) {
      if (lives > 0 && at > 0 && at % lives === 0) {
        server.process.kill("SIGKILL");
        server = await serve(built, { durable: storage });
      }
      const { servlet, tool, answer, error, isError, traps } = one;
      const expected = traps
        ? { traps: true }
        : error === undefined
          ? { answer, ...(isError && { isError: true }) }
          : { answer: error, isError: true };
      const said = await answerOf(server.port, one);
      if (JSON.stringify(said) !== JSON.stringify(expected))
        wrong.push({ at, servlet, tool, arguments: one.arguments, said, expected });
    }
    expect(wrong).toEqual([]);
    await stop(server);
    server = undefined;
  });
});
