/** The file functions that `npm run bench -- fuel` measures, each with files in the worst state that is known for it. */
import { importTypes } from "../../../src/tools/bundle/wasm/import-types.ts";
import { FileStore } from "../../../src/server/kernel/files/file-store.ts";
import type { Files } from "../../../src/server/kernel/files/files.ts";
import { parseMounts } from "../../../src/server/kernel/files/mounts.ts";
import { RIGHTS_ALL } from "../../../src/server/kernel/files/rights.ts";
import { sealingWith } from "../../../src/server/kernel/files/sealing.ts";
import { rootOfStore } from "../../../src/server/kernel/files/tree.ts";
import { limits } from "../../../src/server/kernel/files/limits.ts";
import { Database } from "../../../src/tools/bundle/database.ts";
import { descriptorFunctions } from "../../../src/server/kernel/wasm/wasi-descriptors.ts";
import { pathFunctions } from "../../../src/server/kernel/wasm/wasi-paths.ts";
import { one, type Row } from "./fuel-rows.ts";

const BLOCK = 16_384;
const NAMES = 3000;
const DEPTH = 500;

/** Does something with the root of a call's files. */
type Preparation = (files: Files, root: number) => void;

const at = (files: Files, root: number, path: string) => files.walk(root, path, false);
const open = (files: Files, node: number, kind: "file" | "folder") =>
  files.open({
    node,
    kind,
    mount: "/data",
    isPreopened: false,
    offset: 0,
    flags: 0,
    rights: RIGHTS_ALL,
    inheriting: RIGHTS_ALL,
  });

/** What earlier calls have left, and what the measured call has done before. Descriptor 3 is the root, 4 is named. */
const STATES: Record<string, { before?: Preparation; now: Preparation }> = {
  "names that are gone": {
    before(files, root) {
      for (let nth = 0; nth < NAMES; nth++) files.create(at(files, root, `f${nth}`), "file");
    },
    now(files, root) {
      for (let nth = 0; nth < NAMES; nth++) files.unlink(at(files, root, `f${nth}`));
      open(files, root, "folder");
    },
  },
  "known holes": {
    now(files, root) {
      const node = files.create(at(files, root, "sparse"), "file");
      files.resize(node, 2 ** 33);
      const byte = new Uint8Array(1);
      for (let nth = 0; nth < 10_000; nth++) files.read(node, nth * BLOCK, byte);
      files.write(node, 0, byte.fill(1));
      open(files, node, "file");
    },
  },
  "blocks with holes between": {
    before(files, root) {
      const node = files.create(at(files, root, "blocks"), "file");
      for (let nth = 0; nth < NAMES; nth++) files.write(node, 2 * nth * BLOCK, new Uint8Array([1]));
    },
    now(files, root) {
      open(files, at(files, root, "blocks").node!, "file");
    },
  },
  "long links": {
    now(files, root) {
      const dots = "./".repeat(2040);
      files.create(at(files, root, "d"), "folder");
      files.create(at(files, root, "link0"), "link", `${dots}d`);
      for (let nth = 1; nth < limits.symlinks; nth++) {
        files.create(at(files, root, `link${nth}`), "link", `${dots}link${nth - 1}`);
      }
      open(files, at(files, root, "d").node!, "folder");
    },
  },
  "many open files": {
    now(files, root) {
      const node = files.create(at(files, root, "a"), "file");
      files.create(at(files, root, "b"), "file");
      files.write(node, 0, new Uint8Array(100_000).fill(1));
      while (files.descriptors.size < limits.openFiles - 1) open(files, node, "file");
    },
  },
  "a deep folder": {
    now(files, root) {
      files.create(at(files, root, "b"), "folder");
      let folder = root;
      for (let nth = 0; nth < DEPTH; nth++) {
        folder = files.create(at(files, folder, "d"), "folder");
      }
      open(files, folder, "folder");
    },
  },
};

const stores = new Map<string, { database: Database; store: FileStore }>();

/** The files of a call, in the state that a row names. */
export function filesOf(row: Row): Files {
  const name = row.name.split(": ")[0]!;
  const state = STATES[name]!;
  const mounts = parseMounts(["/data"]);
  let known = stores.get(name);
  if (known === undefined) {
    const database = new Database();
    known = { database, store: new FileStore(database, sealingWith(new Uint8Array(32))) };
    stores.set(name, known);
    const files = known.store.begin(mounts, { now: 0n });
    state.before?.(files, rootOfStore(files, "/data")!);
    database.transactionSync(() => files.commit({ keepsOpen: false }));
  }
  const files = known.store.begin(mounts, { now: 0n });
  state.now(files, rootOfStore(files, "/data")!);
  return files;
}

/** Paths in the guest's memory. */
const PATHS = {
  none: "none",
  root: ".",
  a: "a",
  b: "b",
  c: "c",
  dots: `${"./".repeat(2040)}a`,
  gone: `${"./".repeat(2040)}z`,
  link: `link${limits.symlinks - 1}`,
};
const PATHS_AT = 200_000;
const texts = Object.values(PATHS);
const path = (name: keyof typeof PATHS) => {
  const before = texts.slice(0, Object.keys(PATHS).indexOf(name));
  return `(i32.const ${PATHS_AT + before.join("").length}) (i32.const ${PATHS[name].length})`;
};
const i32s = (...numbers: number[]) => numbers.map((number) => `(i32.const ${number})`).join(" ");
const i64s = (...numbers: number[]) => numbers.map((number) => `(i64.const ${number})`).join(" ");

const BUFFER = 300_000;
const ROOM = 100_000;
/** One vector of eight bytes. */
const VECTOR = 8192;
const call = (name: string, args: string) => `(drop (call $${name} ${args}))`;
const opened = (given: string, flags = 0) =>
  call("path_open", `${i32s(3, 1)} ${given} ${i32s(flags)} ${i64s(0x1fffff, 0)} ${i32s(0, 4096)}`) +
  call("fd_close", "(i32.load (i32.const 4096))");

const ways: Record<string, [name: string, body: string][]> = {
  "names that are gone": [
    ["fd_readdir of one name", call("fd_readdir", `${i32s(3, BUFFER, 30)} ${i64s(0)} ${i32s(0)}`)],
    ["fd_readdir", call("fd_readdir", `${i32s(3, BUFFER, ROOM)} ${i64s(0)} ${i32s(0)}`)],
    ["path_filestat_get", call("path_filestat_get", `${i32s(3, 1)} ${path("none")} ${i32s(4096)}`)],
  ],
  "known holes": [
    [
      "fd_filestat_set_size",
      call("fd_filestat_set_size", `${i32s(4)} ${i64s(2 ** 33)}`) +
        call("fd_filestat_set_size", `${i32s(4)} ${i64s(2 ** 32)}`),
    ],
    [
      "fd_filestat_set_size by a block",
      call("fd_filestat_set_size", `${i32s(4)} ${i64s(100 * BLOCK)}`) +
        call("fd_filestat_set_size", `${i32s(4)} ${i64s(99 * BLOCK)}`),
    ],
    ["fd_allocate", call("fd_allocate", `${i32s(4)} ${i64s(0, 2 ** 33)}`)],
    ["fd_pread", call("fd_pread", `${i32s(4, VECTOR, 1)} ${i64s(5 * BLOCK)} ${i32s(0)}`)],
    ["fd_pwrite", call("fd_pwrite", `${i32s(4, VECTOR, 1)} ${i64s(5 * BLOCK)} ${i32s(0)}`)],
  ],
  "blocks with holes between": [
    [
      "fd_filestat_set_size",
      call("fd_filestat_set_size", `${i32s(4)} ${i64s(NAMES * 2 * BLOCK)}`) +
        call("fd_filestat_set_size", `${i32s(4)} ${i64s((NAMES * 2 - 2) * BLOCK)}`),
    ],
  ],
  "long links": [
    ["path_filestat_get", call("path_filestat_get", `${i32s(3, 1)} ${path("link")} ${i32s(4096)}`)],
    ["path_open fd_close", opened(path("link"))],
    [
      "path_filestat_set_times",
      call("path_filestat_set_times", `${i32s(3, 1)} ${path("link")} ${i64s(1, 1)} ${i32s(5)}`),
    ],
    ["path_link", call("path_link", `${i32s(3, 1)} ${path("link")} ${i32s(3)} ${path("none")}`)],
  ],
  "many open files": [
    ["path_open fd_close", opened(path("b"))],
    ["path_open to empty, fd_close", opened(path("b"), 8)],
    ["fd_read", call("fd_read", i32s(4, VECTOR, 1, 0))],
    ["fd_write", call("fd_write", i32s(4, VECTOR, 1, 0))],
    ["fd_seek", call("fd_seek", `${i32s(4)} ${i64s(0)} ${i32s(0, 4096)}`)],
    ["fd_tell", call("fd_tell", i32s(4, 4096))],
    ["fd_filestat_get", call("fd_filestat_get", i32s(4, 4096))],
    ["fd_fdstat_get", call("fd_fdstat_get", i32s(4, 4096))],
    ["fd_fdstat_set_flags", call("fd_fdstat_set_flags", i32s(4, 1))],
    ["fd_fdstat_set_rights", call("fd_fdstat_set_rights", `${i32s(4)} ${i64s(0x1fffff, 0)}`)],
    ["fd_filestat_set_times", call("fd_filestat_set_times", `${i32s(4)} ${i64s(1, 1)} ${i32s(5)}`)],
    ["fd_advise", call("fd_advise", `${i32s(4)} ${i64s(0, 0)} ${i32s(0)}`)],
    ["fd_sync", call("fd_sync", i32s(4))],
    ["fd_datasync", call("fd_datasync", i32s(4))],
    ["fd_renumber", call("fd_renumber", i32s(4, 4))],
    ["fd_prestat_get", call("fd_prestat_get", i32s(3, 4096))],
    ["fd_prestat_dir_name", call("fd_prestat_dir_name", i32s(3, 4096, 100))],
    [
      "path_create_directory path_remove_directory",
      call("path_create_directory", `${i32s(3)} ${path("gone")}`) +
        call("path_remove_directory", `${i32s(3)} ${path("gone")}`),
    ],
    [
      "path_symlink path_readlink path_unlink_file",
      call("path_symlink", `${path("dots")} ${i32s(3)} ${path("gone")}`) +
        call("path_readlink", `${i32s(3)} ${path("gone")} ${i32s(BUFFER, ROOM, 0)}`) +
        call("path_unlink_file", `${i32s(3)} ${path("gone")}`),
    ],
    [
      "path_rename",
      call("path_rename", `${i32s(3)} ${path("b")} ${i32s(3)} ${path("c")}`) +
        call("path_rename", `${i32s(3)} ${path("c")} ${i32s(3)} ${path("b")}`),
    ],
  ],
  "a deep folder": [
    [
      "path_rename",
      call("path_rename", `${i32s(3)} ${path("b")} ${i32s(4)} ${path("c")}`) +
        call("path_rename", `${i32s(4)} ${path("c")} ${i32s(3)} ${path("b")}`),
    ],
  ],
};

/** All file functions of WASI. */
export const fileFunctions = [...Object.keys(descriptorFunctions), ...Object.keys(pathFunctions)];

export const fileDeclarations = `
  ${fileFunctions
    .map((name) => {
      const [params] = importTypes["edge:wasi"]![name]!.split("->");
      const types = params!.split("").map((letter) => (letter === "l" ? "i64" : "i32"));
      return `(import "wasi_snapshot_preview1" "${name}" (func $${name} (param ${types.join(" ")}) (result i32)))`;
    })
    .join("\n")}
  (data (i32.const ${VECTOR}) "\\00\\90\\00\\00\\08\\00\\00\\00")
  (data (i32.const 0x9000) "abcdefgh")
  (data (i32.const ${PATHS_AT}) "${texts.join("")}")`;

export const fileRows: Row[] = Object.entries(ways).flatMap(([state, rows]) =>
  rows.map(([name, body]) => one(`${state}: ${name}`, body, { times: [1] })),
);
