/** Refuses plugins that cannot be servlets, and says why. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../limits.ts";
import { dialects } from "../../../server/kernel/servlets/dialects.ts";
import { hostFunctions } from "../../../server/kernel/wasm/link.ts";
import { Refusal } from "../refusal.ts";
import { initialEntries, outline, paramsOf, SECTION, type Import, type Outline } from "./binary.ts";
import { Reader, sections } from "./bytes.ts";
import { checkType } from "./import-types.ts";
import { readInstruction, skipLocals, type Instruction } from "./instructions.ts";

/** Mutable globals of one servlet: each takes 150 bytes outside of its memory; compilers make about ten. */
const MUTABLE_GLOBALS = 10_000;
/**
 * Values in one exception: 30 bytes and 15 ns each, outside of the guest's memory, for as long as it is held. Compilers
 * throw an address.
 */
const EXCEPTION_VALUES = 8;

/** Exports of a servlet that some dialect calls. */
export const SERVLET_EXPORTS: ReadonlySet<string> = new Set(
  Object.values(dialects).flatMap(({ exports }) => exports),
);

/** Host functions that some dialect's servlets may import, by namespace. */
export const offeredFunctions: Readonly<Record<string, object>> = hostFunctions(
  Object.assign({}, ...Object.values(dialects).map(({ userFunctions }) => userFunctions)),
);

/** Namespaces of plugins, and their names in a prepared servlet. */
export const NAMESPACES: Record<string, string> = {
  "extism:host/env": "edge:host",
  "extism:host/user": "edge:user",
  "extism:host/usr": "edge:user",
  wasi_snapshot_preview1: "edge:wasi",
  env: "edge:env",
};

export const KERNEL = join(import.meta.dirname, "kernel.wat");

let kernelExports: Promise<Set<string>> | undefined;

/** Functions of `extism:host/env` that the kernel implements. */
export async function kernelFunctions(): Promise<Set<string>> {
  kernelExports ??= readFile(KERNEL, "utf8").then(
    (source) => new Set([...source.matchAll(/export "(\w+)"/g)].map((match) => match[1]!)),
  );
  return kernelExports;
}

/** For whom a plugin was built that has this import, and how to build it for this server; empty if that is not known. */
function madeFor({ module, name }: { module: string; name: string }): string {
  if (module === "gojs" || name.startsWith("runtime.wasm")) {
    return ". It was built for browsers (GOOS=js). Build it with GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o servlet.wasm .";
  }
  if (/^(wbg|__wbindgen_.*|\.\/.*_bg\.js)$/.test(module)) {
    return ". It was built for JavaScript (wasm-bindgen, wasm-pack). Build it with cargo build --release --target wasm32-unknown-unknown, and leave out crates that need wasm-bindgen";
  }
  if (module === "wasi_unstable" || module.startsWith("wasi:")) {
    return ". It was built for another WASI than preview 1. In Rust, the target wasm32-wasip1 has that";
  }
  if (/^_?emscripten_|^invoke_|^__syscall/.test(name)) {
    return ". It was built for JavaScript (Emscripten). Build it with clang or zig for wasm32-wasi";
  }
  return "";
}

/** The outline of a plugin. Throws a `Refusal` where it cannot be a servlet. */
export async function check(plugin: Uint8Array<ArrayBuffer>): Promise<Outline> {
  if (plugin.length < 8 || Buffer.from(plugin.subarray(0, 4)).toString("latin1") !== "\0asm") {
    throw new Refusal("it is not WebAssembly: it does not begin with the bytes \\0asm");
  }
  let guest: Outline;
  try {
    await WebAssembly.compile(plugin);
    guest = outline(plugin);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace("WebAssembly.compile(): ", "") : "";
    throw new Refusal(`it is not valid WebAssembly (${why}): build or copy it again`);
  }
  if (guest.memories.length > 1)
    throw new Refusal("it has more than one memory: build it with one");
  if (guest.memories.some((memory) => memory.shared)) {
    throw new Refusal("its memory is shared: build it without threads");
  }
  if (guest.memories.some((memory) => memory.exotic)) {
    throw new Refusal(
      "its memory has 64-bit addresses or pages of its own size: build it for wasm32",
    );
  }
  checkBounds(guest);
  for (const [index, one] of guest.imports.entries()) {
    const { module, name, kind } = one;
    if (kind !== "function") {
      throw new Refusal(
        `it imports the ${kind} ${module}.${name}: build it so that it defines its own`,
      );
    }
    if (!(await isOffered(one))) {
      throw new Refusal(
        `it imports ${module}.${name}, which is not offered here: offered are ${Object.keys(NAMESPACES).join(", ")} with the functions of an Extism host, of hyper-mcp and of WASI preview 1${madeFor(one)}`,
      );
    }
    // All imports are functions, so they have the first indices.
    const type = guest.functionType(index) ?? "->";
    await checkType(one, type, { namespace: NAMESPACES[module]!, kernel: KERNEL });
  }
  const offers = guest.exports.filter(({ name }) => SERVLET_EXPORTS.has(name));
  for (const { name, kind, index } of offers) {
    const type = kind === "function" ? guest.functionType(index) : kind;
    if (type !== "->7f" && type !== "->") {
      throw new Refusal(`its export ${name} is not a function without parameters that returns i32`);
    }
  }
  return guest;
}

/**
 * Reads the instructions of all functions, in order. Throws a `Refusal` at one that is not supported: binaryen's message
 * would name its own files.
 */
export function everyInstruction(wasm: Uint8Array, visit = (_one: Instruction): void => {}): void {
  const code = sections(wasm).find(({ id }) => id === SECTION.code);
  if (code === undefined) return;
  const reader = new Reader(code.body);
  for (const body of reader.list(() => new Reader(reader.take(reader.number())))) {
    skipLocals(body);
    while (body.at < body.bytes.length) visit(readInstruction(body));
  }
}

/** True if the host or the kernel has this import of a plugin. */
export async function isOffered({ module, name, kind }: Import): Promise<boolean> {
  if (kind !== "function") return false;
  if (Object.hasOwn(offeredFunctions[NAMESPACES[module] ?? ""] ?? {}, name)) return true;
  return (
    module === "extism:host/env" && !name.startsWith("edge_") && (await kernelFunctions()).has(name)
  );
}

/** Types that tables and globals may hold: numbers, vectors, functions, external references. */
const HELD_TYPES = new Set(["7f", "7e", "7d", "7c", "7b", "70", "6f"]);

/** Refuses what takes memory that `memory_limit` does not bound. */
function checkBounds({ tables, mutableGlobals, globals, tagTypes }: Outline): void {
  const entries = initialEntries(tables);
  if (entries > limits.tableEntries) {
    throw new Refusal(
      `its tables start with ${entries} entries (each table counts as ${limits.tableOverhead} more), and ${limits.tableEntries} is the limit: take the address of fewer functions, or split it into several servlets`,
    );
  }
  if (![...tables, ...globals].every(({ type }) => HELD_TYPES.has(type))) {
    throw new Refusal(
      "it keeps exceptions (exnref) or other references in a table or a global, which may hold numbers, functions and external references only: keep them in locals",
    );
  }
  if (mutableGlobals.length > MUTABLE_GLOBALS) {
    throw new Refusal(
      `it has ${mutableGlobals.length} mutable globals, and ${MUTABLE_GLOBALS} is the limit: keep its variables in memory`,
    );
  }
  const values = Math.max(0, ...tagTypes.map((type) => paramsOf(type).length));
  if (values > EXCEPTION_VALUES) {
    throw new Refusal(
      `it has an exception with ${values} values, and ${EXCEPTION_VALUES} is the limit: keep them in memory, and throw their address`,
    );
  }
}
