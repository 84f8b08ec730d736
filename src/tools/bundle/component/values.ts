/** AssemblyScript that reads values of a type from JSON, writes them as JSON, and passes them to core functions. */
import type { ValueType } from "./component.ts";
import {
  alignOf,
  casesOf,
  contentOffset,
  flat,
  offsetsOf,
  sequenceOf,
  byteSize,
  tagSize,
  type CoreType,
} from "./layout.ts";
import { is, writeText } from "./texts.ts";

/** Statements for values; the functions that they call are added to `code`, one pair for each type. */
export function valueCode(code: string[]) {
  const written = new Map<ValueType, number>();

  const numberOf = (type: ValueType): number => {
    const known = written.get(type);
    if (known !== undefined) return known;
    const number = written.size;
    written.set(type, number);
    const read = reading(type);
    code.push(`function read_${number}(p: u32): void {\n${read}\n}`);
    code.push(`function write_${number}(p: u32): void {\n${writing(type)}\n}`);
    return number;
  };
  const readInto = (type: ValueType | undefined, to: string) =>
    type === undefined ? "at = valueEnd(at);" : `read_${numberOf(type)}(${to});`;
  const writeFrom = (type: ValueType | undefined, from: string) =>
    type === undefined ? writeText("null") : `write_${numberOf(type)}(${from});`;

  /** Statements that read the value that is next in the input to the address `p`. */
  function reading(type: ValueType): string {
    const cases = casesOf(type);
    const size = byteSize(type);
    switch (type.kind) {
      case "bool":
        return "store<u8>(p, readBool());";
      case "f32":
        return "store<f32>(p, <f32>readF64());";
      case "f64":
        return "store<f64>(p, readF64());";
      case "char":
        return "store<u32>(p, readChar());";
      case "string":
        return "readString(p);";
      case "u64":
        return "store<u64>(p, readU64());";
      case "s64":
        return "store<i64>(p, readS64());";
      case "list": {
        const each = byteSize(type.of);
        return `const count = elements();
  if (<u64>count * ${each} > 0x7fffffff) unreachable();
  const list = listOf(${alignOf(type.of)}, count * ${each});
  for (let item = list; next(); item += ${each}) ${readInto(type.of, "item")}
  putList(p, list, count);`;
      }
      case "record": {
        const { offsets } = offsetsOf(sequenceOf(type)!);
        const fields = type.fields.map((field, index) => {
          const key = `${JSON.stringify(field.name)}:`;
          return `if (${is(key)}) { at += ${key.length}; ${readInto(field.type, `p + ${offsets[index]}`)} } else `;
        });
        return `memory.fill(p, 0, ${size});\n  while (next()) { ${fields.join("")}skip(); }`;
      }
      case "tuple": {
        const { offsets } = offsetsOf(type.of);
        const parts = type.of.map(
          (one, index) => `next(); ${readInto(one, `p + ${offsets[index]}`)}`,
        );
        return `${parts.join("\n")}\n  next();`;
      }
      case "flags": {
        const bits = type.names.map((name, index) => {
          const place = `p + ${index >> 3}`;
          return `if (${is(JSON.stringify(name))}) store<u8>(${place}, load<u8>(${place}) | ${1 << (index & 7)}); else `;
        });
        return `memory.fill(p, 0, ${size});\n  while (next()) { ${bits.join("")}{} at = valueEnd(at); }`;
      }
      case "option":
        return `if (${is("null")}) { store<u8>(p, 0); at += 4; return; }
  store<u8>(p, 1);
  ${readInto(type.of, `p + ${contentOffset(type)}`)}`;
      case "result": {
        const content = `p + ${contentOffset(type)}`;
        return `next();
  if (${is('"ok":')}) { at += 5; store<u8>(p, 0); ${readInto(type.ok, content)} }
  else { at += 6; store<u8>(p, 1); ${readInto(type.err, content)} }
  next();`;
      }
      case "enum":
        return `let tag: u32 = 0;\n  ${tagIn(cases!)}\n  ${storeTag(cases!)}`;
      case "variant": {
        const content = `p + ${contentOffset(type)}`;
        const contents = cases!.map((one, index) =>
          one.type === undefined
            ? ""
            : `if (tag == ${index}) { ${readInto(one.type, content)} } else `,
        );
        return `const from = at;
  let tag: u32 = 0;
  while (next()) { if (${is('"tag":')}) { at += 6; ${tagIn(cases!)} } else skip(); }
  const end = at;
  ${storeTag(cases!)}
  at = from;
  while (next()) { if (${is('"val":')}) { at += 6; ${contents.join("")}at = valueEnd(at); } else skip(); }
  at = end;`;
      }
      default:
        return `store<u${size * 8}>(p, <u${size * 8}>readInteger());`;
    }
  }

  const tagIn = (cases: readonly { name: string }[]) =>
    `${cases.map(({ name }, index) => `if (${is(JSON.stringify(name))}) tag = ${index};`).join(" ")} at = valueEnd(at);`;
  const storeTag = (cases: readonly unknown[]) => {
    const bits = tagSize(cases) * 8;
    return `store<u${bits}>(p, <u${bits}>tag);`;
  };

  /** Statements that write the value at the address `p`. */
  function writing(type: ValueType): string {
    const size = byteSize(type);
    switch (type.kind) {
      case "bool":
        return "writeBool(load<u8>(p));";
      case "f32":
        return "writeFloat(<f64>load<f32>(p), true);";
      case "f64":
        return "writeFloat(load<f64>(p), false);";
      case "char":
        return "writeChar(load<u32>(p));";
      case "string":
        return "writeString(load<u32>(p), load<u32>(p, 4));";
      case "u64":
        return "writeU64(load<u64>(p));";
      case "s64":
        return "writeS64(load<i64>(p));";
      case "list":
        return `byte(91);
  const list = load<u32>(p);
  const count = load<u32>(p, 4);
  for (let n: u32 = 0; n < count; n++) { if (n > 0) byte(44); ${writeFrom(type.of, `list + n * ${byteSize(type.of)}`)} }
  byte(93);`;
      case "record": {
        const { offsets } = offsetsOf(sequenceOf(type)!);
        const fields = type.fields.map((field, index) => {
          const key = `${index === 0 ? "{" : ","}${JSON.stringify(field.name)}:`;
          return `${writeText(key)} ${writeFrom(field.type, `p + ${offsets[index]}`)}`;
        });
        return `${fields.join("\n  ")}\n  byte(125);`;
      }
      case "tuple": {
        const { offsets } = offsetsOf(type.of);
        const parts = type.of.map((one, index) => writeFrom(one, `p + ${offsets[index]}`));
        return `byte(91);\n  ${parts.join(" byte(44);\n  ")}\n  byte(93);`;
      }
      case "flags": {
        const bits = type.names.map(
          (name, index) =>
            `if ((load<u8>(p + ${index >> 3}) & ${1 << (index & 7)}) != 0) { separate(); ${writeText(JSON.stringify(name))} }`,
        );
        return `byte(91);\n  ${bits.join("\n  ")}\n  byte(93);`;
      }
      case "option":
      case "result":
      case "enum":
      case "variant": {
        const cases = casesOf(type)!;
        const content = `p + ${contentOffset(type)}`;
        const all = cases.map((one, index) => {
          const statements = contentIn(type.kind, one, (of) => writeFrom(of, content));
          return `if (tag == ${index}) { ${statements} return; }`;
        });
        return `const tag = <u32>load<u${tagSize(cases) * 8}>(p);\n  ${all.join("\n  ")}\n  unreachable();`;
      }
      default:
        return type.kind.startsWith("u")
          ? `writeUnsigned(load<u${size * 8}>(p));`
          : `writeSigned(load<i${size * 8}>(p));`;
    }
  }

  function contentIn(
    kind: ValueType["kind"],
    { name, type }: { name: string; type?: ValueType | undefined },
    from: (type: ValueType | undefined) => string,
  ): string {
    if (kind === "enum") return writeText(JSON.stringify(name));
    if (kind === "option") return from(type);
    if (kind === "result") return `${writeText(`{"${name}":`)} ${from(type)} byte(125);`;
    const tag = `{"tag":${JSON.stringify(name)}`;
    return type === undefined
      ? writeText(`${tag}}`)
      : `${writeText(`${tag},"val":`)} ${from(type)} byte(125);`;
  }

  return {
    /** Reads the value that is next in the input to this address; nothing of the type `undefined`. */
    readInto,
    /** Writes the value at this address. */
    writeFrom,
  };
}

/** A value of one core type as one of another that includes it. */
function widened(value: string, from: CoreType, to: CoreType): string {
  if (from === to) return value;
  const bits =
    from === "f32"
      ? `reinterpret<i32>(${value})`
      : from === "f64"
        ? `reinterpret<i64>(${value})`
        : value;
  return to === "i64" && from !== "f64" ? `<i64><u32>${bits}` : bits;
}

/** A core value under a name. */
interface CoreValue {
  name: string;
  type: CoreType;
}

/** Statements for the parts of a value: those of its case, if `tag` is it, or those that lie one after another. */
function partsCode(
  type: ValueType,
  offset: number,
  values: readonly CoreValue[],
  tag: string,
  codeOf: (part: ValueType, at: number, its: readonly CoreValue[]) => string,
): string[] {
  const content = offset + (casesOf(type) === undefined ? 0 : contentOffset(type));
  const ofCases = (casesOf(type) ?? []).flatMap((one, index) =>
    one.type === undefined
      ? []
      : [
          `if (${tag} == ${index}) { ${codeOf(one.type, content, values.slice(1, 1 + flat(one.type).length))} }`,
        ],
  );
  const { offsets } = offsetsOf(sequenceOf(type) ?? []);
  let used = 0;
  const inSequence = (sequenceOf(type) ?? []).map((part, index) => {
    const count = flat(part).length;
    used += count;
    return codeOf(part, offset + offsets[index]!, values.slice(used - count, used));
  });
  return [...ofCases, ...inSequence];
}

/** Statements that set these variables to the core values of the value at `p + offset`. */
export function spread(type: ValueType, offset: number, to: readonly CoreValue[]): string {
  const set = (index: number, value: string, from: CoreType) =>
    `${to[index]!.name} = ${widened(value, from, to[index]!.type)};`;
  const cases = casesOf(type);
  const tag = `<i32>load<u${tagSize(cases ?? []) * 8}>(p, ${offset})`;
  const parts = partsCode(type, offset, to, tag, spread);
  if (cases !== undefined) return [set(0, tag, "i32"), ...parts].join("\n  ");
  if (sequenceOf(type) !== undefined) return parts.join("\n  ");
  if (isInWords(type))
    return to.map((_, at) => set(at, `load<i32>(p, ${offset + at * 4})`, "i32")).join(" ");
  const [core] = flat(type);
  return core === undefined ? "" : set(0, loaded(type, offset), core);
}

/** True for a value whose core values are words of four bytes: a string, a list, or many flags. */
const isInWords = (type: ValueType): boolean =>
  type.kind === "string" || type.kind === "list" || flat(type).length > 1;

function loaded(type: ValueType, offset: number): string {
  const bits = byteSize(type) * 8;
  if (type.kind === "f32" || type.kind === "f64") return `load<${type.kind}>(p, ${offset})`;
  if (bits === 64) return `load<i64>(p, ${offset})`;
  return `<i32>load<${type.kind.startsWith("s") ? "i" : "u"}${bits}>(p, ${offset})`;
}

/** A core value as one of a type that it includes. */
function narrowed(value: string, from: CoreType, to: CoreType): string {
  if (from === to) return value;
  if (to === "f64") return `reinterpret<f64>(${value})`;
  const bits = from === "i64" ? `<i32>${value}` : value;
  return to === "f32" ? `reinterpret<f32>(${bits})` : bits;
}

/** Statements that store at `q + offset` the value that these core values are. */
export function gather(type: ValueType, offset: number, from: readonly CoreValue[]): string {
  const put = (index: number, bits: string, at = offset, to: CoreType = "i32") =>
    `store<${bits}>(q, <${bits}>${narrowed(from[index]!.name, from[index]!.type, to)}, ${at});`;
  const cases = casesOf(type);
  const parts = partsCode(type, offset, from, from[0]?.name ?? "", gather);
  if (cases !== undefined) return [put(0, `u${tagSize(cases) * 8}`), ...parts].join("\n  ");
  if (sequenceOf(type) !== undefined) return parts.join("\n  ");
  if (isInWords(type)) return from.map((_, at) => put(at, "u32", offset + at * 4)).join(" ");
  const [core] = flat(type);
  const sort = core?.startsWith("f") ? "f" : "u";
  return core === undefined ? "" : put(0, `${sort}${8 * byteSize(type)}`, offset, core);
}
