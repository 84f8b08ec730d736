/** AssemblyScript for what core modules import: functions of WASI by the library, and built-ins of the component model. */
import {
  typeSize,
  type BuiltIn,
  type CoreItem,
  type HostItem,
  type ValueType,
} from "./component.ts";
import {
  asyncParams,
  byteSize,
  casesOf,
  contentOffset,
  flat,
  lowered,
  MOST_PARAMS,
  type CoreType,
} from "./layout.ts";
import {
  implementation,
  isWasi3,
  libraryFunctions,
  signature,
  signatureOf,
  type WasiFunction,
} from "./library.ts";
import { Refusal } from "../refusal.ts";
import type { resultCode } from "./results.ts";
import { writeText } from "./texts.ts";
import { gather, spread } from "./values.ts";

/** Functions that are made for core modules: all of WASI 0.2 has 250. */
const MOST_IMPORTS = 2000;
/** Parts of the types of all functions whose code grows with their types. */
const MOST_PARTS = 10_000;
/** Library functions that send requests. */
const SENDING = new Set(["wasi_http_outgoing_handler_handle", "wasi3_http_client_send"]);
/** Error cases that say that a function is not offered. */
const NOT_OFFERED = ["not-supported", "unsupported", "access-denied"];

/** A function for core modules: its core types, and statements in which its parameters are `a0`, `a1` and so on. */
interface ImportedFunction {
  params: readonly string[];
  result?: string | undefined;
  body: string;
}

const tooLarge = () => new Refusal("the component is too large: build it with fewer imports");

/** Functions for core modules; they are added to `code`, one for each definition. */
export function importCode(
  code: string[],
  reallocIndex: (realloc: CoreItem | undefined) => number,
  results: ReturnType<typeof resultCode>,
) {
  const names = new Map<HostItem, string>();
  let parts = 0;
  let hasHttp = false;

  function countParts(type: object | undefined): void {
    if (type !== undefined) parts += typeSize(type);
    if (parts > MOST_PARTS) throw tooLarge();
  }

  function functionOf(item: Exclude<HostItem, { call: "drop" }>): ImportedFunction {
    if (item.call === "built-in") return builtIn(item, reallocIndex(item.realloc));
    if (item.call === "task.return") return taskReturn(item.result);
    const { of, realloc, isAsync } = item;
    if (of.from === "component")
      throw new Refusal("it is composed of several components: add each as a servlet of its own");
    const target = checkedImplementation(of);
    hasHttp ||= target !== undefined && SENDING.has(target);
    if (isAsync) countParts(of.type);
    const made = isAsync ? asyncImport(of, target) : syncImport(of, target);
    const prepared = `currentRealloc = ${reallocIndex(realloc)}; isWasi3 = ${isWasi3(of)};`;
    return { ...made, body: `${prepared} ${made.body}` };
  }

  function taskReturn(type: ValueType | undefined): ImportedFunction {
    countParts(type);
    const values = type === undefined ? [] : flat(type);
    const check = `checkTaskReturn(${results.numberOf(type)});`;
    return values.length > MOST_PARAMS
      ? { params: ["i32"], body: `${check} ${results.fromMemory(type, "a0")}` }
      : { params: values, body: `${check} ${results.fromValues(type, argumentsOf(values))}` };
  }

  return {
    /** The name by which the glue exports a function for core modules. */
    exportOf(item: HostItem): string {
      if (item.call === "drop") return "drop_handle";
      const known = names.get(item);
      if (known !== undefined) return known;
      if (names.size === MOST_IMPORTS) throw tooLarge();
      const name = `lower_${names.size}`;
      names.set(item, name);
      const { params, result = "void", body } = functionOf(item);
      const all = params.map((type, at) => `a${at}: ${type}`).join(", ");
      code.push(`export function ${name}(${all}): ${result} { ${body} }`);
      return name;
    },
    /** True if an exported function sends requests. */
    hasHttp: () => hasHttp,
  };
}

const argumentsOf = (params: readonly unknown[]): string[] => params.map((_, at) => `a${at}`);

/** The library's function for one of WASI; undefined if it has none. Throws a `Refusal` for other types. */
function checkedImplementation(of: WasiFunction): string | undefined {
  const target = implementation(of);
  const found = libraryFunctions.get(target);
  if (found === undefined) return undefined;
  const { params, result } = lowered(of.type);
  if (signatureOf(found) !== signature(params, result))
    throw new Refusal(
      `the component imports ${of.name} of ${of.module} with other types than those of WASI: build it for a released WASI 0.2 or 0.3`,
    );
  return target;
}

function syncImport(of: WasiFunction, target: string | undefined): ImportedFunction {
  const { params, result } = lowered(of.type);
  const values = argumentsOf(params);
  // The address of a result in memory is the last parameter.
  const body =
    target === undefined
      ? notOffered(of, values.at(-1), result)
      : `${result === undefined ? "" : "return "}${target}(${values.join(", ")});`;
  return { params, result, body };
}

/** A function that returns the state of a subtask: RETURNED, or STARTED with the index of a pending one. */
function asyncImport(of: WasiFunction, target: string | undefined): ImportedFunction {
  const { type } = of;
  const params: readonly CoreType[] = asyncParams(type) ?? ["i32"];
  const hasResult = type.result !== undefined && flat(type.result).length > 0;
  const to = hasResult ? [`a${params.length}`] : [];
  const core = { params: hasResult ? [...params, "i32"] : params, result: "i32" };
  const direct = lowered(type).result;
  if (target === undefined)
    return { ...core, body: `${notOffered(of, to[0], direct)} return RETURNED;` };
  const { values, code } = asyncValues(of);
  const begin = target.replace(/^wasi/, "begin");
  if (libraryFunctions.has(begin))
    return { ...core, body: `${code} return packed(${begin}(${[...values, ...to].join(", ")}));` };
  if (direct === undefined) {
    const call = `${target}(${[...values, ...to].join(", ")});`;
    return { ...core, body: `${code} ${call} return RETURNED;` };
  }
  // The library returns a core value, but an asynchronous import stores its result in memory.
  const put = gather(type.result!, 0, [{ name: "r", type: direct }]);
  const call = `const r = ${target}(${values.join(", ")}); const q = ${to[0]}; ${put}`;
  return { ...core, body: `${code} ${call} return RETURNED;` };
}

/** The core values of the parameters of an asynchronous import, and the statements that load them if they are in memory. */
function asyncValues({ type }: WasiFunction): { values: string[]; code: string } {
  const direct = asyncParams(type);
  if (direct !== undefined) return { values: argumentsOf(direct), code: "" };
  const record: ValueType = { kind: "record", fields: type.params };
  const values = flat(record).map((one, at) => ({ name: `f${at}`, type: one }));
  const variables = values.map(({ name, type: core }) => `let ${name}: ${core} = 0;`);
  return {
    values: values.map(({ name }) => name),
    code: `const p = a0; ${variables.join(" ")} ${spread(record, 0, values)}`,
  };
}

/** The body of a function that is not offered: it fails with the error of its interface, at `to`, else the call ends. */
function notOffered(
  { module, name, type }: WasiFunction,
  to: string | undefined,
  result: string | undefined,
): string {
  const { result: given } = type;
  const error = given?.kind === "result" ? given.err : undefined;
  const errors = error === undefined ? [] : (casesOf(error) ?? []).map((one) => one.name);
  const code = NOT_OFFERED.map((one) => errors.indexOf(one)).find((at) => at >= 0);
  if (code !== undefined && result === undefined)
    return `store<u8>(${to}, 1); store<u8>(${to} + ${contentOffset(given!)}, ${code});`;
  const message = `the component calls ${name} of ${module}, which is not offered here`;
  return `beginOut(); ${writeText(message)} abortCall();${result === undefined ? "" : " return 0;"}`;
}

const NUMBERS = new Set(["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64"]);

/** A built-in by the library: its parameters with the names of `immediates` are given here, by the definition. */
function builtIn(item: BuiltIn, realloc: number): ImportedFunction {
  const [, kind, operation, end] = /^(stream|future)\.(\w+)-?(\w*)$/.exec(item.name) ?? [];
  const isCopy = operation === "read" || operation === "write";
  const target = `canon_${isCopy ? "copy" : (operation ?? item.name.replaceAll(/[.-]/g, "_"))}`;
  const isWriter = operation === "write" || end?.startsWith("writ");
  const { of, context = 0, isAsync = false } = item;
  const immediates: Record<string, string | number> = {
    context,
    code: `${kind === "future" ? "EVENT_FUTURE_READ" : "EVENT_STREAM_READ"}${isWriter ? " + 1" : ""}`,
    size: of === undefined ? 0 : NUMBERS.has(of.kind) ? byteSize(of) : "ALIASED",
    isAsync: Number(isAsync),
    ...(kind === "future" && { length: 1 }),
  };
  const { params, result } = libraryFunctions.get(target)!;
  const own = params.filter(({ name }) => !(name in immediates));
  const values = params.map(
    ({ name }) => immediates[name] ?? `a${own.findIndex((one) => one.name === name)}`,
  );
  return {
    params: own.map(({ type }) => type),
    result,
    body: `currentRealloc = ${realloc}; ${result === "void" ? "" : "return "}${target}(${values.join(", ")});`,
  };
}
