/**
 * Many calls in checked mode: each instance is compared with a new one when it is put back.
 * `CHECKED_CALLS=100000` makes more of them.
 */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle, type Member } from "../../../src/tools/bundle/bundle.ts";
import type { CallContext } from "../../../src/server/kernel/core/call-context.ts";
import { Fault } from "../../../src/server/kernel/core/errors.ts";
import { ANONYMOUS, type Json } from "../../../src/server/kernel/core/model.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { idleInstances } from "../../../src/server/kernel/wasm/pool.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { Chance } from "../fuzz/chance.ts";
import { givenWorker } from "../given-plugins.ts";

const CALLS = Number(process.env["CHECKED_CALLS"] ?? 600);
const GIVEN = process.env["PLUGIN_CASES"];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "checked-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Calls of tools, and the registry that has them. */
interface Calls {
  registry: Registry;
  calls: { tool: string; arguments: Json }[];
}

/** The servlets called here have no network and never wait. */
const world = {
  ...liveWorld,
  sleep: async () => {},
  fetch: () => Promise.reject(new Error("there is no network here")),
};

const context: CallContext = {
  id: "test",
  meta: {},
  principal: ANONYMOUS,
  client: { capabilities: {} },
  signal: () => new AbortController().signal,
  notify: () => {},
  ask: () => Promise.reject(new Fault("servlet_failed", "Nobody is asked here.")),
};

async function registryOf(members: readonly Member[]): Promise<Registry> {
  // Servlets of one interpreter share it, and its instances.
  const modules = new Map<string, Promise<WebAssembly.Module>>();
  const compiled = (path: string, wasm: Uint8Array<ArrayBuffer>) => {
    const module = modules.get(path) ?? WebAssembly.compile(wasm);
    modules.set(path, module);
    return module;
  };
  const servlets = members.map(async ({ found, dialect, prepared, startsOnce, lists }) => ({
    name: found.name,
    dialect,
    module: await compiled(prepared.path, prepared.wasm),
    ...(prepared.base && { base: prepared.base.bytes.buffer }),
    ...(prepared.packages && { packages: prepared.packages.bytes.buffer }),
    ...(prepared.patch && { patch: prepared.patch.bytes.buffer }),
    startsOnce,
    restorable: prepared.unrestorable === undefined,
    hash: prepared.hash,
    exports: prepared.exports,
    manifest: found.manifest,
    ...(lists && { lists }),
  }));
  const deployment = { variables: {}, logLevel: "error", log: () => {}, world } as const;
  return new Registry(
    { servlets: await Promise.all(servlets) },
    { ...deployment, isolation: "checked" },
  );
}

/** Calls some of these, as the seed has it; counts their results, and those that were no error. */
async function callMany({ registry, calls }: Calls, count: number) {
  const chance = new Chance(1);
  const seen = { ended: 0, succeeded: 0 };
  for (; seen.ended < count; seen.ended++) {
    const { tool, arguments: given } = chance.pick(calls);
    try {
      const entry = await registry.resolve({ kind: "tool", name: tool, input: given });
      const result = await entry.run(context);
      if ("content" in result && result["isError"] !== true) seen.succeeded++;
    } catch (error) {
      if (!(error instanceof Fault))
        throw new Error(`${tool} ${JSON.stringify(given)}`, { cause: error });
    }
  }
  return seen;
}

/** Each plugin, what its manifest says besides, and how many in a hundred calls are of it. */
const PLUGINS: Record<string, { plugin: string; share: number; manifest?: object }> = {
  keeper: { plugin: "keeper", share: 30 },
  files: { plugin: "files", share: 20 },
  ledger: { plugin: "ledger", share: 10, manifest: { env_vars: { db_path: ":memory:" } } },
  diary: { plugin: "diary", share: 10 },
  "diary-once": { plugin: "diary", share: 10, manifest: { start: "once" } },
  python: { plugin: "python", share: 10 },
  "python-warm": {
    plugin: "python",
    share: 10,
    manifest: { warm: [{ tool: "run", arguments: { code: "1" } }] },
  },
};

test.skipIf(GIVEN === undefined).each(Object.entries(PLUGINS))(
  "%s, given by PLUGIN_CASES",
  async (name, { plugin, share, manifest }) => {
    await givenWorker();
    const home = join(folder, name);
    await mkdir(home);
    await cp(join(GIVEN!, plugin, "plugin.wasm"), join(home, "plugin.wasm"));
    await writeFile(join(home, "servlet.json"), JSON.stringify({ prefix: name, ...manifest }));
    const how = { languages: LANGUAGES, cache: ".bundle", progress: () => {}, optimise: false };
    const members = await makeBundle({ folders: [home], ...how });
    const registry = await registryOf(members);
    const { lists } = await registry.catalog();
    const tools = new Set(lists.tools.map((tool) => tool.name));
    const cases: { servlet: string; tool: string; arguments: Json }[] = JSON.parse(
      await readFile(join(GIVEN!, "cases.json"), "utf8"),
    );
    const calls = cases
      .filter(({ servlet }) => servlet === plugin)
      .map((one) => ({ tool: `${name}-${one.tool}`, arguments: one.arguments }))
      .filter(({ tool }) => tools.has(tool));
    const count = Math.ceil((CALLS * share) / 100);
    const { ended, succeeded } = await callMany({ registry, calls }, count);
    expect(ended).toBe(count);
    // Those of `files`, and most of `diary`, ask for a folder, which there is not.
    expect(succeeded).toBeGreaterThan(plugin === "files" ? -1 : count / 50);
    for (const servlet of registry.servlets)
      expect(idleInstances({ ...servlet, module: servlet.module! })).toBe(1);
    console.log(`${name}: ${ended} calls of ${calls.length} kinds, ${succeeded} without an error`);
  },
  3_600_000,
);

test("all servlets that are bundled", async () => {
  const members = await makeBundle({
    folders: ["plugins"],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  });
  const registry = await registryOf(members);
  const { lists } = await registry.catalog();
  const sample = (schema: any): any =>
    schema.enum?.[0] ??
    { string: "https://example.invalid/", number: 1, integer: 1, boolean: true }[
      schema.type as string
    ] ??
    (schema.type === "array" ? [sample(schema.items ?? {}), sample(schema.items ?? {})] : {});
  const calls = lists.tools.map(({ name, inputSchema }: any) => ({
    tool: name,
    arguments: Object.fromEntries(
      (inputSchema.required ?? []).map((key: string) => [key, sample(inputSchema.properties[key])]),
    ),
  }));
  const { ended, succeeded } = await callMany({ registry, calls }, CALLS);
  expect(ended).toBe(CALLS);
  expect(succeeded).toBeGreaterThan(CALLS / 10);
  console.log(`bundled: ${ended} calls of ${calls.length} tools, ${succeeded} without an error`);
}, 3_600_000);
