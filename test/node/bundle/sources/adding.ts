/** A folder, a cache and a registry for each test, and servlets that are small. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { afterEach, beforeEach } from "vitest";
import { addSource, type AddOptions } from "../../../../src/tools/bundle/sources/add.ts";
import { assembled } from "../wasm/wat-guests.ts";
import { TestRegistry, type Layer } from "./registry.ts";

export const WASM = "application/wasm";
const TAR = "application/vnd.oci.image.layer.v1.tar+gzip";

const made = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();

/** A servlet with these tools; the same for the same tools. */
export function servlet(...tools: { name: string; description?: string }[]) {
  const lists = JSON.stringify({
    tools: tools.map((tool) => ({ ...tool, inputSchema: { type: "object" } })),
  });
  const known = made.get(lists) ?? assembled(fields(lists));
  made.set(lists, known);
  return known;
}

const fields = (lists: string) => `
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory 1)
  (data (i32.const 0) ${JSON.stringify(lists)})
  (func $say (param $length i32) (local $block i64) (local $i i32)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $length))))
    (loop $more
      (call $store
        (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (local.get $length))))
    (call $output (local.get $block) (i64.extend_i32_u (local.get $length))))
  (func (export "list_tools") (result i32) (call $say (i32.const ${lists.length})) (i32.const 0))
  (func (export "call_tool") (result i32) (i32.const 1))`;

/** A layer as Docker makes it of a file. */
export async function tarLayer(bytes: Uint8Array, name = "plugin.wasm"): Promise<Layer> {
  const tar = await packTar([
    { header: { name, size: bytes.length }, body: new Uint8Array(bytes) },
  ]);
  return { mediaType: TAR, bytes: gzipSync(tar) };
}

export function adding() {
  let folder = "";
  let registry: TestRegistry;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "adding-"));
    registry = new TestRegistry();
    await registry.start();
    // Not the user's own.
    process.env["DOCKER_CONFIG"] = join(folder, "docker");
  });
  afterEach(async () => {
    await registry.stop();
    await rm(folder, { recursive: true, force: true });
    delete process.env["DOCKER_CONFIG"];
  });
  const plugins = () => join(folder, "plugins");
  return {
    registry: () => registry,
    at: (name: string) => join(folder, name),
    plugins,
    cache: () => join(folder, "cache"),
    source: (repository: string, reference = ":latest") =>
      `oci://${registry.host}/${repository}${reference}`,
    add: (source: string, options: Partial<AddOptions> = {}) =>
      addSource(source, {
        name: "time",
        folders: [plugins()],
        cache: join(folder, "cache"),
        progress: () => {},
        ...options,
      }),
    /** The lock file; undefined if there is none. */
    lock: async () => {
      const path = join(plugins(), "servlets.lock.json");
      const text = await readFile(path, "utf8").catch(() => undefined);
      return text === undefined
        ? undefined
        : (JSON.parse(text) as { servlets: Record<string, Record<string, unknown>> }).servlets;
    },
    /** All that is in the folder of servlets. */
    files: () => readdir(plugins(), { recursive: true }).catch(() => []),
  };
}
