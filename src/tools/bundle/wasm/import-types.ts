import { readFile } from "node:fs/promises";
import { userFunctionTypes } from "../../../server/kernel/servlets/hyper/function-types.ts";
import { paramsOf, type Import } from "./binary.ts";
import { Refusal } from "../refusal.ts";

/**
 * Types of the functions that a plugin may import, as `params->results`; `i` stands for i32, `l` for i64.
 * A JavaScript function has no such type, and a plugin that expects another would fail at its first call.
 */
const EXTISM: Readonly<Record<string, string>> = {
  config_get: "l->l",
  var_get: "l->l",
  var_set: "ll->",
  http_request: "ll->l",
  http_status_code: "->i",
  http_headers: "->l",
  log_trace: "l->",
  log_debug: "l->",
  log_info: "l->",
  log_warn: "l->",
  log_error: "l->",
  get_log_level: "->i",
};

/** https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/witx/wasi_snapshot_preview1.witx */
const WASI: Readonly<Record<string, string>> = {
  args_get: "ii->i",
  args_sizes_get: "ii->i",
  environ_get: "ii->i",
  environ_sizes_get: "ii->i",
  clock_res_get: "ii->i",
  clock_time_get: "ili->i",
  random_get: "ii->i",
  sched_yield: "->i",
  proc_exit: "i->",
  proc_raise: "i->i",
  poll_oneoff: "iiii->i",
  fd_advise: "illi->i",
  fd_allocate: "ill->i",
  fd_close: "i->i",
  fd_datasync: "i->i",
  fd_fdstat_get: "ii->i",
  fd_fdstat_set_flags: "ii->i",
  fd_fdstat_set_rights: "ill->i",
  fd_filestat_get: "ii->i",
  fd_filestat_set_size: "il->i",
  fd_filestat_set_times: "illi->i",
  fd_pread: "iiili->i",
  fd_prestat_get: "ii->i",
  fd_prestat_dir_name: "iii->i",
  fd_pwrite: "iiili->i",
  fd_read: "iiii->i",
  fd_readdir: "iiili->i",
  fd_renumber: "ii->i",
  fd_seek: "ilii->i",
  fd_sync: "i->i",
  fd_tell: "ii->i",
  fd_write: "iiii->i",
  path_create_directory: "iii->i",
  path_filestat_get: "iiiii->i",
  path_filestat_set_times: "iiiilli->i",
  path_link: "iiiiiii->i",
  path_open: "iiiiillii->i",
  path_readlink: "iiiiii->i",
  path_remove_directory: "iii->i",
  path_rename: "iiiiii->i",
  path_symlink: "iiiii->i",
  path_unlink_file: "iii->i",
  sock_accept: "iii->i",
  sock_recv: "iiiiii->i",
  sock_send: "iiiii->i",
  sock_shutdown: "ii->i",
};

/** By the namespaces of prepared servlets. */
export const importTypes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "edge:host": EXTISM,
  "edge:user": userFunctionTypes,
  "edge:wasi": WASI,
  "edge:env": { abort: "iiii->" },
};

const CODES: Readonly<Record<string, string>> = { i: "7f", l: "7e" };
const NAMES: Readonly<Record<string, string>> = {
  "7f": "i32",
  "7e": "i64",
  "7d": "f32",
  "7c": "f64",
};

/** The expected and the found type of an import that does not fit, for an error message. */
export interface Mismatch {
  expected: string;
  found: string;
}

/**
 * Compares the type of an import with that of what is offered; undefined where they go together. A function
 * may be given more than it takes, and its result may be left alone, as JavaScript has it.
 */
export function mismatch(offered: string, found: string): Mismatch | undefined {
  const [params = "", results = ""] = offered.split("->");
  const wanted = params.split("").map((one) => CODES[one]!);
  const given = paramsOf(found);
  const result = found.split("->")[1]!;
  const isFitting =
    wanted.every((one, at) => given[at] === one) &&
    given.every((one) => one === "7f" || one === "7e") &&
    (result === "" || result === (CODES[results] ?? ""));
  if (isFitting) return undefined;
  return { expected: shown(wanted, CODES[results] ?? ""), found: shown(given, result) };
}

const shown = (params: readonly string[], results: string): string => {
  const named = (codes: readonly string[]) => codes.map((one) => NAMES[one] ?? one).join(", ");
  return `(${named(params)}) -> (${named(results.split(",").filter(Boolean))})`;
};

/** The types of the functions that our kernel exports, by name. */
export async function kernelTypes(file: string): Promise<ReadonlyMap<string, string>> {
  const source = await readFile(file, "utf8");
  const letters = (list: string) =>
    list.replaceAll(/i64/g, "l").replaceAll(/i32/g, "i").replaceAll(/[^il]/g, "");
  const all = source.matchAll(
    /\(func(?: \$\w+)? \(export "(\w+)"\)((?: \((?:param|result)[^)]*\))*)/g,
  );
  // Exported under another name than it is defined by.
  const renamed = [
    ["length", "l->l"],
    ["length_unsafe", "l->l"],
  ] as const;
  return new Map([
    ...renamed,
    ...[...all].map(([, name, signature = ""]) => {
      const part = (kind: string) =>
        [...signature.matchAll(new RegExp(`\\(${kind}([^)]*)\\)`, "g"))]
          .map(([, list]) => letters(list!.replaceAll(/\$\w+/g, "")))
          .join("");
      return [name!, `${part("param")}->${part("result")}`] as const;
    }),
  ]);
}

/** Throws a `Refusal` where a plugin imports a function as one of another type than it is. */
export async function checkType(
  { module, name }: Import,
  type: string,
  { namespace, kernel }: { namespace: string; kernel: string },
): Promise<void> {
  const own = importTypes[namespace] ?? {};
  const offered = Object.hasOwn(own, name) ? own[name] : (await kernelTypes(kernel)).get(name);
  const wrong = offered === undefined ? undefined : mismatch(offered, type);
  if (wrong === undefined) return;
  throw new Refusal(
    `it imports ${module}.${name} as a function ${wrong.found}, and here it is ${wrong.expected}: declare it so, or build with a newer PDK`,
  );
}
