/**
 * Links CPython, which comes as a shared library of Wasm, with the shim and a libc into one module. What dynamic linking
 * would do is done here: https://github.com/WebAssembly/tool-conventions/blob/main/DynamicLinking.md
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Tree } from "@yowasp/clang";
import {
  outline,
  paramsOf,
  rewrite,
  SECTION,
  type Export,
} from "../../../src/tools/bundle/wasm/binary.ts";
import { Reader, sections } from "../../../src/tools/bundle/wasm/bytes.ts";
import { functionNames, redirected } from "./replace.ts";
import { FEATURES, inFolder, optimise, tool } from "../../../src/tools/bundle/wasm/binaryen.ts";

const SHIM = "shim.c";
const STACK_BYTES = 1024 * 1024;
const PAGE = 65536;
const FIRST_ENTRY = 1;
const DATA_SECTION = 11;

/** Functions of sockets and names of hosts, which the libc of clang lacks: each fails. */
const ABSENT =
  "bind connect freeaddrinfo gai_strerror getaddrinfo gethostbyaddr gethostbyname getnameinfo getpeername getprotobyname getservbyname getservbyport getsockname hstrerror listen recvfrom sendto setsockopt socket".split(
    " ",
  );

/**
 * Where the library's data have the tables of Chinese, Japanese and Korean encodings, a tenth of all that is uploaded: the
 * host decodes these. As the arrays that `_codecs_cn` and its like describe to `_multibytecodec` have them, when loaded.
 */
const ENCODING_TABLES = [
  [623_392, 725_826],
  [728_336, 852_212],
  [853_040, 1_009_574],
  [1_009_952, 1_010_078],
  [1_010_160, 1_133_588],
  [1_134_160, 1_212_720],
] as const;

/** Functions of CPython that the shim has anew, as `instead_NAME`. */
const MENDED = ["PyOS_double_to_string", "conv_content_model", "zlib_ZlibDecompressor_decompress"];
/** What the names of Expat's functions begin with in CPython. */
const EXPAT = /^PyExpat_(?=XML_)/;

/** Of its release 2.8.5: the half of a character in UTF-16 is refused where the other half does not follow. */
const HALF_CHARACTER = {
  file: "xmltok_impl.c",
  from: "IS_INVALID_CHAR(enc, ptr, n) (0)",
  to: "IS_INVALID_CHAR(enc, ptr, n) ((n) == 4 && BYTE_TYPE(enc, (ptr) + 2) != BT_TRAIL)",
};
const EXPAT_FILES = ["xmlparse.c", "xmlrole.c", "xmltok.c"];
/** As CPython configures it, with the host's chance against collisions of hashes. */
const EXPAT_CONFIG = `
  #define BYTEORDER 1234
  #define HAVE_ARC4RANDOM_BUF 1
  #define NDEBUG 1
  #define XML_CONTEXT_BYTES 1024
  #define XML_DTD 1
  #define XML_GE 1
  #define XML_NS 1
`;

/** Types of the parts of a function's type in C, by their bytes in hex. */
const C_TYPES: Readonly<Record<string, string>> = {
  "7f": "int",
  "7e": "long long",
  "7d": "float",
  "7c": "double",
};
const WAT_TYPES: Readonly<Record<string, string>> = {
  "7f": "i32",
  "7e": "i64",
  "7d": "f32",
  "7c": "f64",
};

const resultsOf = (type: string) => type.split("->")[1]!.split(",").filter(Boolean);

/** The module that has Python, the shim, Expat's sources and libc, before it is prepared. */
export async function link(
  library: Uint8Array,
  expat: ReadonlyMap<string, Uint8Array>,
): Promise<Uint8Array<ArrayBuffer>> {
  const python = outline(library);
  const { memory, table } = needs(library);
  const isFunction = ({ kind }: { kind: string }) => kind === "function";
  const exported = new Map(python.exports.map((one) => [one.name, one]));
  const functions = python.imports.filter(isFunction);
  const typeOf = new Map(
    functions.map(({ name }, index) => [name, python.functionType(index)!] as const),
  );
  const addressed = (module: string) =>
    python.imports.filter((one) => one.module === module).map(({ name }) => name);
  const [data, pointers] = [addressed("GOT.mem"), addressed("GOT.func")];
  const wanted = functions.filter(({ module }) => module === "env").map(({ name }) => name);
  const fromLibc = [...new Set([...wanted, ...data, ...pointers])].filter(
    (name) => !exported.has(name),
  );

  // What takes the place of a function of Python, by its name.
  const names = functionNames(library);
  const replaced = new Map([
    ...MENDED.map((name) => [name, `instead_${name}`] as const),
    ...[...names.keys()]
      .filter((name) => EXPAT.test(name))
      .map((name) => [name, name.replace(EXPAT, "")] as const),
  ]);
  const tableEnd = FIRST_ENTRY + table;
  const replacedEnd = tableEnd + pointers.length;
  const shim = await compile(
    (await readFile(join(import.meta.dirname, SHIM), "utf8")) +
      ABSENT.map((name) => stub(name, typeOf.get(name) ?? "->7f")).join(""),
    expat,
    [
      `-Wl,--global-base=${Math.ceil((STACK_BYTES + memory) / PAGE) * PAGE}`,
      `-Wl,--table-base=${replacedEnd + replaced.size}`,
      ...fromLibc.map((name) => `-Wl,--export-if-defined=${name}`),
      ...[...replaced.values()].map((name) => `-Wl,--export=${name}`),
    ],
  );
  const addresses = dataAddresses(shim);
  const offsets = dataAddresses(library);
  const addressOf = (name: string) => {
    const offset = offsets.get(name);
    const address = offset === undefined ? addresses.get(name) : STACK_BYTES + offset;
    if (address === undefined) throw new Error(`nothing defines ${name}`);
    return address;
  };
  const made = outline(shim);
  const defined = new Map(made.exports.map((one) => [one.name, one]));
  const typeInShim = (name: string) => made.functionType(defined.get(name)!.index)!;
  const signature = (type: string) =>
    [
      ...paramsOf(type).map((one) => `(param ${WAT_TYPES[one]})`),
      ...resultsOf(type).map((one) => `(result ${WAT_TYPES[one]})`),
    ].join("");
  const typeOfPointer = (name: string) => {
    const own = exported.get(name);
    if (own !== undefined) return python.functionType(own.index)!;
    return typeInShim(name);
  };
  // Where each function and datum is whose address Python takes.
  const table_ = pointers.map((name, nth) => {
    const from = exported.has(name) ? "python" : "env";
    return {
      imported: `(import "${from}" "${name}" (func $f${nth} ${signature(typeOfPointer(name))}))`,
      global: `(global (export "function ${name}") (mut i32) (i32.const ${tableEnd + nth}))`,
    };
  });
  const instead = [...replaced].map(([name, by], nth) => {
    if (python.functionType(names.get(name)!) !== typeInShim(by))
      throw new Error(`${by} has another type than ${name}`);
    return `(import "env" "${by}" (func $r${nth} ${signature(typeInShim(by))}))`;
  });
  const offsetsWat = `(module
    (import "env" "__indirect_function_table" (table $table ${replacedEnd + replaced.size} funcref))
    ${[...table_.map(({ imported }) => imported), ...instead].join("\n")}
    (elem (table $table) (i32.const ${tableEnd}) func ${pointers.map((_, nth) => `$f${nth}`).join(" ")})
    (elem (table $table) (i32.const ${replacedEnd}) func ${instead.map((_, nth) => `$r${nth}`).join(" ")})
    ${table_.map(({ global }) => global).join("\n")}
    ${data.map((name) => `(global (export "data ${name}") (mut i32) (i32.const ${addressOf(name)}))`).join("\n")}
    (global (export "__memory_base") i32 (i32.const ${STACK_BYTES}))
    (global (export "__table_base") i32 (i32.const ${FIRST_ENTRY})))`;
  const offsetModules: Readonly<Record<string, string>> = {
    "GOT.mem": "data",
    "GOT.func": "function",
  };
  const entries = new Map([...replaced.keys()].map((name, nth) => [name, replacedEnd + nth]));
  const renamed = rewrite(redirected(library, entries), {
    imports: (one) => {
      const kind = offsetModules[one.module];
      if (kind !== undefined) return { ...one, module: "offsets", name: `${kind} ${one.name}` };
      return /^__(memory|table)_base$/.test(one.name) ? { ...one, module: "offsets" } : one;
    },
  });
  return inFolder(async (file) => {
    clear(renamed);
    const inputs = {
      env: ["shim.wasm", shim],
      python: ["python.wasm", renamed],
      offsets: ["offsets.wat", offsetsWat],
    } as const;
    for (const [name, content] of Object.values(inputs)) await writeFile(file(name), content);
    const features = [...new Set([...FEATURES, "--enable-gc"])];
    await tool("wasm-merge", [
      ...Object.entries(inputs).flatMap(([module, [name]]) => [file(name), module]),
      "-o",
      file("merged.wasm"),
      "--rename-export-conflicts",
      ...features,
    ]);
    const merged = new Uint8Array(await readFile(file("merged.wasm")));
    const own = new Set([...defined.values()].filter(isServlet).map(({ name }) => name));
    await writeFile(
      file("trimmed.wasm"),
      rewrite(merged, { exports: (old) => old.filter(({ name }) => own.has(name)) }),
    );
    const passes = [
      "--simplify-globals",
      "--remove-unused-module-elements",
      "-O1",
      "--strip-producers",
    ];
    await optimise([file("trimmed.wasm"), ...passes, "-o", file("out.wasm"), ...features], {
      short: false,
    });
    return new Uint8Array(await readFile(file("out.wasm")));
  });
}

/** Makes the tables zero that nothing uses. */
function clear(library: Uint8Array): void {
  const { body } = sections(library).find(({ id }) => id === DATA_SECTION)!;
  const reader = new Reader(body);
  reader.list(() => {
    if (reader.byte() !== 0) throw new Error("its data have no place of their own");
    // The place is the base of its memory and, but for the first ones, a distance.
    let place = 0;
    for (let opcode = reader.byte(); opcode !== 0x0b; opcode = reader.byte()) {
      if (opcode === 0x41) place = signed(reader);
      else if (opcode === 0x23) reader.number();
    }
    const bytes = reader.take(reader.number());
    for (const [from, to] of ENCODING_TABLES)
      bytes.fill(0, Math.max(0, from - place), Math.max(0, to - place));
  });
}

/** What the host sees of the whole. */
const SERVLET_EXPORTS =
  /^(memory|_initialize|edge_\w+|list_\w+|call_tool|read_resource|get_prompt|complete|on_roots_list_changed|run_schedule|receive_webhook)$/;
const isServlet = ({ name }: Export) => SERVLET_EXPORTS.test(name);

/** A function in C of this type that fails: with an empty text where it gives one. */
function stub(name: string, type: string): string {
  const params = paramsOf(type).map((one, nth) => `${C_TYPES[one]} a${nth}`);
  const [result] = resultsOf(type);
  const value = name.endsWith("strerror") ? `(int)""` : "-1";
  const body = result === undefined ? "" : `return ${value};`;
  return `\n${result === undefined ? "void" : C_TYPES[result]} ${name}(${params.join(", ") || "void"}) { ${body} }`;
}

async function compile(
  source: string,
  expat: ReadonlyMap<string, Uint8Array>,
  flags: string[],
): Promise<Uint8Array<ArrayBuffer>> {
  const { clang } = (await import("@yowasp/clang")).commands;
  await clang(undefined, {}, { fetchProgress() {} });
  let diagnostics = "";
  const { file, from, to } = HALF_CHARACTER;
  const old = new TextDecoder().decode(expat.get(file));
  if (!old.includes(from)) throw new Error(`${file} of Expat has changed`);
  const tree: Tree = {
    [SHIM]: `${source}\nint h_errno;\n`,
    expat: {
      ...Object.fromEntries(expat),
      [file]: old.replace(from, to),
      "expat_config.h": EXPAT_CONFIG,
    },
  };
  const made = await (
    clang(
      [
        "--target=wasm32-wasip1",
        "-mexec-model=reactor",
        "-O2",
        "-fno-builtin",
        "-Wno-unused-parameter",
        SHIM,
        ...EXPAT_FILES.map((name) => `expat/${name}`),
        "-Iexpat",
        "-o",
        "shim.wasm",
        "-lwasi-emulated-signal",
        "-lwasi-emulated-getpid",
        "-lwasi-emulated-process-clocks",
        "-ldl",
        "-lm",
        "-Wl,--stack-first",
        `-Wl,-z,stack-size=${STACK_BYTES}`,
        "-Wl,--export-table",
        "-Wl,--export=__stack_pointer",
        "-Wl,--strip-debug",
        ...flags,
      ],
      tree,
      {
        decodeASCII: false,
        fetchProgress() {},
        stdout() {},
        stderr: (bytes: Uint8Array | null) => {
          if (bytes !== null) diagnostics += new TextDecoder().decode(bytes, { stream: true });
        },
      },
    ) as Promise<Tree>
  ).catch((error: unknown) => {
    throw new Error(`clang: ${diagnostics}`, { cause: error });
  });
  return new Uint8Array(made["shim.wasm"] as Uint8Array);
}

/** How many bytes of memory and entries of the table a shared library needs, by its section `dylink.0`. */
function needs(library: Uint8Array): { memory: number; table: number } {
  for (const { id, body } of sections(library)) {
    const reader = new Reader(body);
    if (id !== SECTION.custom || reader.text() !== "dylink.0") continue;
    while (reader.at < body.length) {
      const part = new Reader(body, reader.at + 1);
      const length = part.number();
      if (body[reader.at] === 1) {
        const [memory, , table] = [part.number(), part.number(), part.number()];
        return { memory, table };
      }
      reader.at = part.at + length;
    }
  }
  throw new Error("it is no shared library");
}

/** The values of the exported globals: the addresses of a module's data, or in a library their offsets. */
function dataAddresses(wasm: Uint8Array): Map<string, number> {
  const { imports, exports } = outline(wasm);
  const imported = imports.filter(({ kind }) => kind === "global").length;
  const body = sections(wasm).find(({ id }) => id === SECTION.global)?.body ?? Uint8Array.of(0);
  const reader = new Reader(body);
  const values = reader.list(() => {
    reader.at += 2;
    const start = reader.at;
    for (let opcode = reader.byte(); opcode !== 0x0b; opcode = reader.byte())
      if (opcode === 0x41 || opcode === 0x23) reader.skipNumber();
    const constant = new Reader(body, start);
    return constant.byte() === 0x41 ? signed(constant) : 0;
  });
  return new Map(
    exports.flatMap(({ name, kind, index }) =>
      kind === "global" && index >= imported ? [[name, values[index - imported]!] as const] : [],
    ),
  );
}

/** A signed LEB128 number of 32 bits. */
function signed(reader: Reader): number {
  for (let value = 0, shift = 0; ;) {
    const byte = reader.byte();
    value |= (byte & 0x7f) << shift;
    shift += 7;
    if (byte < 0x80) return shift < 32 && byte & 0x40 ? value | (-1 << shift) : value;
  }
}
