/** The library that the glue consists of besides its generated code: AssemblyScript in files beside this one. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ComponentFunction } from "./component.ts";
import { Refusal } from "../refusal.ts";

/** Files of the library. */
export const LIBRARY = ["memory.as", "wasi.as", "async.as", "wasi3.as"];

export const library = LIBRARY.map((name) =>
  readFileSync(join(import.meta.dirname, name), "utf8"),
).join("\n");

export interface LibraryFunction {
  params: { name: string; type: string }[];
  result: string;
}

/**
 * Functions that core modules may import, by name: `wasi_X` of WASI, `wasi3_X` where WASI 0.3 differs, `begin3_X` for its
 * asynchronous form, and `canon_X`, a built-in of the component model.
 */
export const libraryFunctions = new Map<string, LibraryFunction>(
  [...library.matchAll(/^function ((?:wasi3?|begin3|canon)_\w+)\((.*?)\): (\w+) \{/gm)].map(
    ([, name, params, result]) => [
      name!,
      {
        params: [...params!.matchAll(/(\w+): (\w+)/g)].map(([, param, type]) => ({
          name: param!,
          type: type!,
        })),
        result: result!,
      },
    ],
  ),
);

/** The types of a function in AssemblyScript, with the integers of Wasm. */
export function signature(params: readonly string[], result = "void"): string {
  return `${params.join(",")}->${result}`.replaceAll("u", "i");
}

export const signatureOf = ({ params, result }: LibraryFunction): string =>
  signature(
    params.map(({ type }) => type),
    result,
  );

/** Interfaces whose functions are in the library, or fail when they are called. */
const INTERFACES =
  /^wasi:(?:cli|clocks|random|io|filesystem|http|sockets|config|logging)\/[\w-]+@0\.(?:[12]\.|3\.\d+$)/;

/** Functions of WASI 0.3 that version 0.2 has by another name. */
const RENAMED: Readonly<Record<string, string>> = {
  wasi_cli_environment_get_initial_cwd: "wasi_cli_environment_initial_cwd",
  wasi_clocks_monotonic_clock_get_resolution: "wasi_clocks_monotonic_clock_resolution",
  wasi_clocks_system_clock_now: "wasi_clocks_wall_clock_now",
  wasi_clocks_system_clock_get_resolution: "wasi_clocks_monotonic_clock_resolution",
  wasi_random_insecure_seed_get_insecure_seed: "wasi_random_insecure_seed_insecure_seed",
  wasi_http_types_fields_copy_all: "wasi_http_types_fields_entries",
  wasi_http_types_request_get_headers: "wasi_http_types_outgoing_request_headers",
  wasi_http_types_request_set_authority: "wasi_http_types_outgoing_request_set_authority",
  wasi_http_types_request_set_path_with_query:
    "wasi_http_types_outgoing_request_set_path_with_query",
  wasi_http_types_request_set_scheme: "wasi_http_types_outgoing_request_set_scheme",
  wasi_http_types_response_get_headers: "wasi_http_types_incoming_response_headers",
  wasi_http_types_response_get_status_code: "wasi_http_types_incoming_response_status",
};

export type WasiFunction = Extract<ComponentFunction, { from: "host" }>;

export const isWasi3 = ({ module }: { module: string }): boolean => /@0\.3\./.test(module);

/** The name of the library's function for a function of an interface. Throws a `Refusal` for other interfaces. */
export function implementation({ module, name }: WasiFunction): string {
  if (!INTERFACES.test(module)) {
    throw new Refusal(
      /^wasi:.*@0\.3\./.test(module)
        ? `the component imports ${module}, which is older than the release of WASI 0.3: rebuild it with newer tools`
        : `the component imports ${module === "" ? name : module}, which is not offered here: offered are wasi:cli, clocks, random, io, filesystem, http, sockets (which refuse), config and logging. Build the component without it`,
    );
  }
  const own = name.replace(/^\[constructor\](.*)$/, "$1.constructor").replace(/^\[\w+\]/, "");
  const path = `${module.replace(/@.*$/, "")}.${own}`.replaceAll(/[^A-Za-z0-9]/g, "_");
  if (!isWasi3({ module })) return path;
  const wasi3 = path.replace("wasi", "wasi3");
  return libraryFunctions.has(wasi3) ? wasi3 : (RENAMED[path] ?? path);
}
