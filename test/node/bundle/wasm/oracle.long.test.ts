import { readFile } from "node:fs/promises";
import createPlugin from "@extism/extism";
import { describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { runnerScripts } from "../../../../src/tools/bundle/runner-scripts.ts";
import { prepare } from "../../../../src/tools/bundle/wasm/prepare.ts";
import { build, sourceIn } from "../../../../src/tools/bundle/source.ts";
import { callExport } from "../../../../src/server/kernel/wasm/call.ts";
import { liveWorld } from "../../../../src/server/kernel/wasm/world.ts";

/**
 * A prepared servlet, run by this project, gives to the byte what the plugin as it was compiled gives
 * under the stock Extism SDK.
 */
const context = { id: "1", _meta: {} };
const v2 = (request: object) => JSON.stringify({ request, context });
const v1 = (params: object) => JSON.stringify({ method: "tools/call", params });

const cases: [folder: string, name: string, input: string][] = [
  ["plugins/hello", "list_tools", v2({})],
  ["plugins/hello", "call_tool", v2({ name: "greet", arguments: { name: "Zoë 𝄞" } })],
  ["plugins/hello", "call_tool", v2({ name: "greet", arguments: { name: "x".repeat(300_000) } })],
  ["plugins/factor", "describe", ""],
  ["plugins/factor", "call", v1({ name: "factor", arguments: { number: 60 } })],
  ["plugins/web", "describe", ""],
];

async function bySdk(plugin: Uint8Array, name: string, input: string): Promise<string> {
  const functions = { env: { abort: () => {} }, "extism:host/user": {} };
  const guest = await createPlugin(
    { wasm: [{ data: plugin }] },
    { useWasi: true, functions, allowedHosts: [] },
  );
  try {
    return (await guest.call(name, input))?.text() ?? "";
  } catch (error) {
    return `error: ${(error as Error).message.replace("Plugin-originated error: ", "")}`;
  } finally {
    await guest.close();
  }
}

async function byUs(plugin: Uint8Array<ArrayBuffer>, name: string, input: string): Promise<string> {
  const { wasm } = await prepare(plugin, { memoryBytes: 64 << 20 }, ".bundle", () => {});
  const ending = await callExport({ module: await WebAssembly.compile(wasm) }, name, input, {
    world: liveWorld,
    config: {},
    allowedHosts: [],
    secret: () => undefined,
    logLevel: "info",
    signal: () => new AbortController().signal,
    log: () => {},
    notify: () => {},
    ask: () => Promise.reject(new Error("nobody to ask")),
  });
  if (ending.kind === "suspended") throw new Error("a servlet of the oracle waits");
  return ending.kind === "returned" ? (ending.output ?? "") : `error: ${ending.message}`;
}

describe.each(cases)("%s %s", (folder, name, input) => {
  test(`of ${input.slice(0, 60)}`, async () => {
    const source = await sourceIn(folder, LANGUAGES);
    const plugin = await build(source!, ".bundle", () => {});
    const ours = await byUs(plugin, name, input);
    expect(ours).toBe(await bySdk(plugin, name, input));
    expect(ours).not.toBe("");
  });
});

test("the JSON Schema of the manifest is the one that is committed", async () => {
  const { manifestSchema } = await import("../../../../src/server/kernel/servlets/manifest.ts");
  const { toJSONSchema } = await import("zod");
  const committed = JSON.parse(await readFile("src/tools/bundle/servlet.schema.json", "utf8"));
  expect(toJSONSchema(manifestSchema())).toEqual(committed);
});

test("the same input makes the same bundle, to the byte", async () => {
  const { makeBundle } = await import("../../../../src/tools/bundle/bundle.ts");
  const { skillsIn } = await import("../../../../src/tools/bundle/skills.ts");
  const { bundleSource } = await import("../../../../src/tools/bundle/bundle-module.ts");
  const options = { folders: ["plugins"], progress: () => {} };
  const warm = await makeBundle({ ...options, languages: LANGUAGES, cache: ".bundle" });
  const again = await makeBundle({ ...options, languages: LANGUAGES, cache: ".bundle" });
  const out = "src/bundle.gen.ts";
  expect(bundleSource(warm, out)).toBe(bundleSource(again, out));
  const runner = await runnerScripts(".bundle");
  const { archive: skills } = await skillsIn(".", ".bundle");
  const { featuresOf, projectOf } = await import("../../../../src/tools/commands/make-module.ts");
  const features = featuresOf(projectOf(warm, { skills }));
  const source = bundleSource(warm, out, runner, { skills, features });
  expect(source).toBe(await readFile(out, "utf8"));
});
