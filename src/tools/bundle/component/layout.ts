/**
 * How values lie in memory, and as parameters and results of core functions:
 * https://github.com/WebAssembly/component-model/blob/main/design/mvp/CanonicalABI.md
 */
import { oncePer } from "../../../server/kernel/core/once-per.ts";
import type { FunctionType, ValueType } from "./component.ts";

export type CoreType = "i32" | "i64" | "f32" | "f64";

const SIZES: Readonly<Record<string, number>> = {
  bool: 1,
  s8: 1,
  u8: 1,
  s16: 2,
  u16: 2,
  s32: 4,
  u32: 4,
  s64: 8,
  u64: 8,
  f32: 4,
  f64: 8,
  char: 4,
  handle: 4,
  stream: 4,
  future: 4,
};

const alignedTo = (offset: number, align: number) => Math.ceil(offset / align) * align;

/** The cases of a variant, enum, option or result, each with the type of its content, if any. */
export function casesOf(
  type: ValueType,
): { name: string; type?: ValueType | undefined }[] | undefined {
  if (type.kind === "variant") return type.cases;
  if (type.kind === "enum") return type.names.map((name) => ({ name }));
  if (type.kind === "option") return [{ name: "none" }, { name: "some", type: type.of }];
  if (type.kind === "result")
    return [
      { name: "ok", type: type.ok },
      { name: "err", type: type.err },
    ];
  return undefined;
}

/** The parts of a type that lie one after another. */
export function sequenceOf(type: ValueType): ValueType[] | undefined {
  if (type.kind === "record") return type.fields.map((one) => one.type);
  return type.kind === "tuple" ? type.of : undefined;
}

/** Bytes of the number that says which case it is. */
export const tagSize = (cases: readonly unknown[]): number =>
  cases.length <= 256 ? 1 : cases.length <= 65_536 ? 2 : 4;

/** Bytes of a number with a bit for each flag; of more than 32, a multiple of 4. */
export const flagsSize = (names: readonly unknown[]): number =>
  names.length <= 8 ? 1 : names.length <= 16 ? 2 : 4 * Math.ceil(names.length / 32);

const contentsOf = (type: ValueType) =>
  (casesOf(type) ?? []).flatMap((one) => (one.type === undefined ? [] : [one.type]));

export const alignOf = oncePer((type: ValueType): number => {
  const cases = casesOf(type);
  if (cases !== undefined) return Math.max(tagSize(cases), ...contentsOf(type).map(alignOf));
  const parts = sequenceOf(type);
  if (parts !== undefined) return Math.max(1, ...parts.map(alignOf));
  if (type.kind === "flags") return Math.min(4, flagsSize(type.names));
  return SIZES[type.kind] ?? 4;
});

/** Where the content of a case begins. */
export function contentOffset(type: ValueType): number {
  return alignedTo(tagSize(casesOf(type)!), Math.max(1, ...contentsOf(type).map(alignOf)));
}

/** Where each part begins, and where the next thing would. */
export function offsetsOf(parts: readonly ValueType[]): { offsets: number[]; end: number } {
  let end = 0;
  const offsets = parts.map((part) => {
    const offset = alignedTo(end, alignOf(part));
    end = offset + byteSize(part);
    return offset;
  });
  return { offsets, end };
}

export const byteSize = oncePer((type: ValueType): number => {
  if (casesOf(type) !== undefined) {
    const end = contentOffset(type) + Math.max(0, ...contentsOf(type).map(byteSize));
    return alignedTo(end, alignOf(type));
  }
  const parts = sequenceOf(type);
  if (parts !== undefined) return alignedTo(offsetsOf(parts).end, alignOf(type));
  if (type.kind === "flags") return flagsSize(type.names);
  return SIZES[type.kind] ?? 8;
});

/** The core type that can hold both. */
const joined = (one: CoreType, other: CoreType): CoreType => {
  if (one === other) return one;
  return one.endsWith("32") && other.endsWith("32") ? "i32" : "i64";
};

/** The core values of one value. */
export const flat = oncePer((type: ValueType): CoreType[] => {
  const cases = casesOf(type);
  if (cases !== undefined) {
    const all: CoreType[] = [];
    for (const content of contentsOf(type))
      for (const [at, one] of flat(content).entries())
        all[at] = all[at] ? joined(all[at], one) : one;
    return ["i32", ...all];
  }
  const parts = sequenceOf(type);
  if (parts !== undefined) return parts.flatMap(flat);
  if (type.kind === "flags") return Array<CoreType>(Math.ceil(type.names.length / 32)).fill("i32");
  if (type.kind === "string" || type.kind === "list") return ["i32", "i32"];
  if (type.kind === "f32" || type.kind === "f64") return [type.kind];
  return [type.kind === "u64" || type.kind === "s64" ? "i64" : "i32"];
});

/** The most core values that parameters are passed as; more of them are in memory. */
export const MOST_PARAMS = 16;
/** The same of an asynchronous import. */
const MOST_ASYNC_PARAMS = 4;

/** The parameters and the result of the core function for a function of the host. */
export function lowered({ params, result }: FunctionType) {
  const given = params.flatMap((one) => flat(one.type));
  const results = result === undefined ? [] : flat(result);
  return {
    params: [
      ...(given.length > MOST_PARAMS ? (["i32"] as const) : given),
      ...(results.length > 1 ? (["i32"] as const) : []),
    ],
    result: results.length > 1 ? undefined : results[0],
  };
}

/** Core types of the parameters of an asynchronous import, `undefined` if they are in memory. */
export function asyncParams({ params }: FunctionType): CoreType[] | undefined {
  const given = params.flatMap((one) => flat(one.type));
  return given.length > MOST_ASYNC_PARAMS ? undefined : given;
}
