/**
 * A Wasm module's outline, read and changed section by section, code left as it is.
 * Format: https://webassembly.github.io/spec/core/binary/modules.html
 */
import { limits } from "../limits.ts";
import { concatenate } from "../../../server/kernel/wasm/image.ts";
import { leb, Reader, sections, text } from "./bytes.ts";

export type Kind = "function" | "table" | "memory" | "global" | "tag";

export interface Import {
  module: string;
  name: string;
  kind: Kind;
}

export interface Export {
  name: string;
  kind: Kind;
  index: number;
}

/** The size of a memory in pages of 64 KiB, or of a table in entries. */
export interface Size {
  initial: number;
  maximum?: number;
  shared: boolean;
  /** Addresses are 64 bits wide, or pages have another size. */
  exotic: boolean;
}

interface Table extends Size {
  /** The type of its entries, in hex. */
  type: string;
}

/** Changes that `rewrite` makes to a module; absent parts stay as they are. */
interface Changes {
  imports?: (one: Import) => Import;
  /** The exports in place of the old ones; `index` as in the old ones. */
  exports?: (old: Export[]) => Export[];
  /** Sets the maximum of every memory that is defined here, in pages. */
  maximumPages?: number;
  /** Bounds the entries of all tables that are defined here together; see `boundedTables`. */
  maximumTableEntries?: number;
  /** Drops the start function; `outline().start` says which it was. */
  dropStart?: boolean;
}

export interface Outline {
  imports: Import[];
  exports: Export[];
  memories: Size[];
  tables: Table[];
  /** Indices of the mutable globals that are defined here and hold numbers. */
  mutableGlobals: number[];
  /** The globals that are defined here, with their types in hex. */
  globals: { type: string; isMutable: boolean }[];
  /** The types of the tags that are defined here, as those of functions. */
  tagTypes: string[];
  /** Index of the start function. */
  start?: number;
  /** A function's type by its index, as `params->results` of value type bytes in hex, e.g. `->7f`. */
  functionType(index: number): string | undefined;
}

/** Ids of sections. */
export const SECTION = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
  code: 10,
  tag: 13,
};
const KINDS: Kind[] = ["function", "table", "memory", "global", "tag"];

function readSize(reader: Reader): Size {
  const flags = reader.byte();
  const initial = reader.number();
  const maximum = flags & 1 ? reader.number() : undefined;
  if (flags & 8) reader.number();
  return {
    initial,
    ...(maximum === undefined ? {} : { maximum }),
    shared: (flags & 2) !== 0,
    exotic: flags > 3,
  };
}

/** Reads one table that has no initial entries of its own. */
function readTable(reader: Reader): Table {
  const type = readValueType(reader);
  return { type, ...readSize(reader) };
}

/** How many entries these tables take to begin with. */
export const initialEntries = (tables: readonly Table[]): number =>
  tables.reduce((sum, { initial }) => sum + initial + limits.tableOverhead, 0);

/** Tables with the maxima that bound all of them to so many entries: what is left is shared equally. */
function boundedTables(tables: readonly Table[], entries: number): (Table & { maximum: number })[] {
  const share = Math.floor((entries - initialEntries(tables)) / tables.length);
  return tables.map(({ maximum = Infinity, ...table }) => ({
    ...table,
    maximum: Math.min(maximum, table.initial + share),
  }));
}

/** Reads one import; `type` is the range of bytes that says what is imported. */
function readImport(reader: Reader): Import & { type: Uint8Array; functionType?: number } {
  const module = reader.text();
  const name = reader.text();
  const start = reader.at;
  const kind = KINDS[reader.byte()];
  let functionType: number | undefined;
  switch (kind) {
    case "function":
      functionType = reader.number();
      break;
    case "memory":
      readSize(reader);
      break;
    case "table":
      readTable(reader);
      break;
    case "global":
      readValueType(reader);
      reader.byte();
      break;
    case "tag":
      reader.byte();
      reader.number();
      break;
    case undefined:
      throw new Error(`the import ${module}.${name} is of an unknown kind`);
  }
  return { module, name, kind, type: reader.bytes.subarray(start, reader.at), functionType };
}

function readValueType(reader: Reader): string {
  const byte = reader.byte();
  if (byte !== 0x63 && byte !== 0x64) return byte.toString(16);
  return `${byte.toString(16)}:${reader.number()}`;
}

/** The types of numbers that JavaScript can read and set, in hex. */
export const NUMBER_TYPES = new Set(["7f", "7e", "7d", "7c"]);

function readGlobal(reader: Reader): { type: string; isMutable: boolean } {
  const type = readValueType(reader);
  const isMutable = reader.byte() === 1;
  // Its first value is a constant expression: instructions up to `end`.
  for (let opcode = reader.byte(); opcode !== 0x0b; opcode = reader.byte()) {
    if (opcode === 0x43) reader.take(4);
    else if (opcode === 0x44) reader.take(8);
    else if (opcode === 0x41 || opcode === 0x42) reader.skipNumber();
    else if (opcode === 0x23 || opcode === 0xd2 || opcode === 0xd0) reader.number();
  }
  return { type, isMutable };
}

/** Function types, in order; reading stops at the first that is not a plain function (GC types). */
function readTypes(reader: Reader): string[] {
  const types: string[] = [];
  const count = reader.number();
  while (types.length < count && reader.byte() === 0x60) {
    const params = reader.list(() => readValueType(reader));
    const results = reader.list(() => readValueType(reader));
    types.push(`${params.join(",")}->${results.join(",")}`);
  }
  return types;
}

/** The types of a function's or a tag's parameters. */
export const paramsOf = (type: string): string[] => type.split("->")[0]!.split(",").filter(Boolean);

/** Reads the outline of a module that a Wasm engine has found to be valid. */
export function outline(wasm: Uint8Array): Outline {
  const found = new Map(sections(wasm).map(({ id, body }) => [id, new Reader(body)]));
  const list = <T>(id: number, one: (reader: Reader) => T): T[] => {
    const reader = found.get(id);
    return reader === undefined ? [] : reader.list(() => one(reader));
  };
  const types = found.has(SECTION.type) ? readTypes(found.get(SECTION.type)!) : [];
  const imports = list(SECTION.import, readImport);
  const functionTypes = [
    ...imports.flatMap((one) => (one.functionType === undefined ? [] : [one.functionType])),
    ...list(SECTION.function, (reader) => reader.number()),
  ];
  const globals = list(SECTION.global, readGlobal);
  return {
    imports: imports.map(({ module, name, kind }) => ({ module, name, kind })),
    exports: list(SECTION.export, (reader) => ({
      name: reader.text(),
      kind: KINDS[reader.byte()]!,
      index: reader.number(),
    })),
    memories: list(SECTION.memory, readSize),
    tables: list(SECTION.table, readTable),
    globals,
    mutableGlobals: globals.flatMap(({ type, isMutable }, at) =>
      isMutable && NUMBER_TYPES.has(type)
        ? [at + imports.filter(({ kind }) => kind === "global").length]
        : [],
    ),
    tagTypes: list(SECTION.tag, (reader) => {
      reader.byte();
      return types[reader.number()] ?? "->";
    }),
    start: found.get(SECTION.start)?.number(),
    functionType: (index) => types[functionTypes[index] ?? -1],
  };
}

/** Changes a module's imports, exports, memory limits and start; drops custom sections but the features. */
export function rewrite(wasm: Uint8Array, changes: Changes): Uint8Array {
  const out: Uint8Array[] = [wasm.subarray(0, 8)];
  let exported = false;
  const put = (id: number, body: Uint8Array) => {
    out.push(Uint8Array.from([id, ...leb(body.length)]), body);
  };
  const putExports = (old: Export[]) => {
    exported = true;
    const entries = (changes.exports?.(old) ?? old).map(({ name, kind, index }) => [
      ...text(name),
      KINDS.indexOf(kind),
      ...leb(index),
    ]);
    put(SECTION.export, Uint8Array.from([...leb(entries.length), ...entries.flat()]));
  };
  for (const { id, body } of sections(wasm)) {
    const reader = new Reader(body);
    if (id === SECTION.custom) {
      if (reader.text() === "target_features") put(id, body);
      continue;
    }
    // Where the export section is missing, its place is before all with a higher id but tags (13).
    if (!exported && id > SECTION.export && id !== 13) putExports([]);
    if (id === SECTION.import && changes.imports) {
      const rename = changes.imports;
      const entries = reader.list(() => {
        const one = readImport(reader);
        const { module, name } = rename(one);
        return [...text(module), ...text(name), ...one.type];
      });
      put(id, Uint8Array.from([...leb(entries.length), ...entries.flat()]));
    } else if (id === SECTION.memory && changes.maximumPages !== undefined) {
      const maximum = changes.maximumPages;
      const entries = reader.list(() => [1, ...leb(readSize(reader).initial), ...leb(maximum)]);
      put(id, Uint8Array.from([...leb(entries.length), ...entries.flat()]));
    } else if (id === SECTION.table && changes.maximumTableEntries !== undefined) {
      const tables = boundedTables(
        reader.list(() => readTable(reader)),
        changes.maximumTableEntries,
      );
      const entries = tables.map(({ type, initial, maximum }) => [
        Number.parseInt(type, 16),
        1,
        ...leb(initial),
        ...leb(maximum),
      ]);
      put(id, Uint8Array.from([...leb(entries.length), ...entries.flat()]));
    } else if (id === SECTION.export) {
      putExports(outline(wasm).exports);
    } else if (id !== SECTION.start || !changes.dropStart) {
      put(id, body);
    }
  }
  if (!exported) putExports([]);
  return concatenate(out);
}

/** The same module with entries added at the end of some sections, which it has, and with other code. */
export function extend(
  wasm: Uint8Array,
  added: ReadonlyMap<number, readonly (readonly number[])[]>,
  codes: readonly Uint8Array[],
): Uint8Array {
  const section = (id: number, parts: readonly (readonly number[] | Uint8Array)[]) => {
    const body = concatenate(parts);
    return [Uint8Array.from([id, ...leb(body.length)]), body];
  };
  const parts = sections(wasm).flatMap(({ id, body }) => {
    if (id === SECTION.code) return section(id, [leb(codes.length), ...codes]);
    const more = added.get(id) ?? [];
    if (more.length === 0) return section(id, [body]);
    const old = new Reader(body);
    return section(id, [leb(old.number() + more.length), body.subarray(old.at), ...more]);
  });
  return concatenate([wasm.subarray(0, 8), ...parts]);
}
