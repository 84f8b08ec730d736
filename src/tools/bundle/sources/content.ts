/** Finds the wasm in the content of a source: the module itself, or a tar archive. */
import { constants, gunzipSync, zstdDecompressSync } from "node:zlib";
import { unpackTar } from "modern-tar";
import { limits } from "../limits.ts";
import { dialectOf } from "../../../server/kernel/servlets/dialects.ts";
import { isComponent, readComponent, withComponent } from "../component/component.ts";
import { componentTools } from "../component/tools.ts";
import { Refusal, refusedAt } from "../refusal.ts";

const startsWith = (bytes: Uint8Array, ...start: number[]) =>
  start.every((byte, at) => bytes[at] === byte);

/** True if the bytes begin like a wasm module or component. */
const isWasm = (bytes: Uint8Array) => startsWith(bytes, 0x00, 0x61, 0x73, 0x6d);

/** Throws a `Refusal` unless the bytes are a servlet's module or a component. `place` names them in the message. */
export async function demandServlet(bytes: Uint8Array<ArrayBuffer>, place: string): Promise<void> {
  if (!isWasm(bytes)) {
    throw new Refusal(`${place}: it is not WebAssembly: look at the address, or build it again`);
  }
  if (isComponent(bytes)) {
    await withComponent(() => componentTools(readComponent(bytes))).catch(refusedAt(place));
    return;
  }
  const module = await WebAssembly.compile(bytes).catch((error: Error) => {
    throw new Refusal(`${place}: it does not compile, so it may be cut off: ${error.message}`);
  });
  if (dialectOf(WebAssembly.Module.exports(module).map(({ name }) => name)) === undefined) {
    throw new Refusal(
      `${place}: it is not a servlet: it exports neither call_tool or list_tools, nor call and describe`,
    );
  }
}

/** The wasm in a layer of an image: the layer itself, or a file in its tar; undefined if there is none. */
export async function wasmIn(
  layer: Uint8Array<ArrayBuffer>,
  place: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (isWasm(layer)) return layer;
  const entries = await unpackTar(expanded(layer, place), {
    strict: true,
    filter: ({ name }) => name.endsWith(".wasm") || name.split("/").includes(".."),
  }).catch((error: Error) => {
    throw new Refusal(`${place}: it is not a whole tar: ${error.message}`);
  });
  const outside = entries.find(({ header }) => header.name.split("/").includes(".."));
  if (outside !== undefined) {
    throw new Refusal(
      `${place}: its tar has the path ${outside.header.name}, which leads outside: build it again without ".." in paths`,
    );
  }
  const files = entries.flatMap(({ header, data }) =>
    data !== undefined && isWasm(data) ? [{ name: header.name, data }] : [],
  );
  const named = files.filter(({ name }) => /(^|\/)plugin\.wasm$/.test(name));
  const [first, second] = named.length > 0 ? named : files;
  if (second !== undefined) {
    throw new Refusal(
      `${place}: its tar has ${first!.name} and ${second.name}: name the servlet's plugin.wasm`,
    );
  }
  return first?.data;
}

/** A layer's tar, decompressed. */
function expanded(layer: Uint8Array<ArrayBuffer>, place: string): Uint8Array {
  const maxOutputLength = limits.sourceBytes;
  try {
    if (startsWith(layer, 0x1f, 0x8b)) return gunzipSync(layer, { maxOutputLength });
    if (startsWith(layer, 0x28, 0xb5, 0x2f, 0xfd)) {
      return zstdDecompressSync(layer, {
        maxOutputLength,
        params: { [constants.ZSTD_d_windowLogMax]: 27 },
      });
    }
    return layer;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Refusal(
      code === "ERR_BUFFER_TOO_LARGE"
        ? `${place}: it is larger than ${maxOutputLength} bytes once it is unpacked, which is the limit`
        : `${place}: it cannot be unpacked, so it may be cut off: ${message}`,
    );
  }
}
