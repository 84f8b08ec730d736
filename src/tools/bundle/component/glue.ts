/**
 * Writes the AssemblyScript that stands between a component and this server: the exports of a plugin, which read
 * arguments from JSON and write results as JSON, and the functions of WASI that the component imports.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { oncePer } from "../../../server/kernel/core/once-per.ts";
import {
  typeSize,
  type BuiltIn,
  type ComponentFunction,
  type ComponentOutline,
  type CoreItem,
  type HostItem,
  type ValueType,
} from "./component.ts";
import {
  alignOf,
  asyncParams,
  contentOffset,
  flat,
  lowered,
  MOST_PARAMS,
  byteSize,
  casesOf,
  type CoreType,
} from "./layout.ts";
import { Refusal } from "../refusal.ts";
import { is, withTexts, writeText } from "./texts.ts";
import { toolName, componentTool, componentTools, valueOf } from "./tools.ts";
import { gather, spread, valueCode } from "./values.ts";

/** The interfaces whose functions are offered, or fail when they are called. */
const INTERFACES =
  /^wasi:(cli|clocks|random|io|filesystem|http|sockets|config|logging)\/[\w-]+@0\.[1-3]\./;
/** Errors of interfaces that say that a function is not offered. */
const NOT_OFFERED = ["not-supported", "unsupported", "access-denied"];

const library = ["memory.as", "wasi.as", "async.as"]
  .map((name) => readFileSync(join(import.meta.dirname, name), "utf8"))
  .join("\n");

interface LibraryFunction {
  params: { name: string; type: string }[];
  result: string;
}

/**
 * The functions that are offered: `wasi_…` of an interface, `wasi3_…` if version 0.3 has another, `begin3_…` for a call that
 * may end later than it returns, and `canon_…` of the component model.
 */
const offered = new Map<string, LibraryFunction>(
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

/** The types of a function in AssemblyScript, with those of Wasm for integers. */
function signature(params: readonly string[], result = "void"): string {
  return `${params.join(",")}->${result}`.replaceAll("u", "i");
}

/** Functions that are made for core modules: all of WASI 0.2 has 250. */
const MOST_LOWERED = 2000;
/** Parts of the types of those of them that pass values on one by one. */
const MOST_LOWERED_PARTS = 50_000;

/** The functions that send requests. */
const SENDING = new Set(["wasi_http_outgoing_handler_handle", "wasi3_http_client_send"]);
/** The size of values that no two ends of a stream in one component may pass on. */
const ALIASED = 0xffffffff;

export interface Glue {
  /**
   * AssemblyScript without data: a module of it uses the component's memory, and needs no place there. It imports so many
   * start functions, and is called after every `exportOf`.
   */
  source(starts: number): string;
  /** Imports of the glue, by `module.name`. */
  imports: Map<string, CoreItem>;
  /** The exports that answer what core modules import. */
  exportOf(call: HostItem): string;
}

/** The glue of a component, whose environment has these variables. */
export function glueOf(outline: ComponentOutline, variables: readonly string[]): Glue {
  const imports = new Map<string, CoreItem>();
  const reallocs: CoreItem[] = [];
  const calls = new Map<HostItem, string>();
  let hasHttp = false;
  let parts = 0;
  /** The numbers of result types, by their shapes. */
  const resultTypes = new Map<number | undefined, number>();
  const shapeOf = shapes();
  const code: string[] = [];
  const { readInto, writeFrom } = valueCode(code);

  const reallocIndex = (item: CoreItem | undefined): number => {
    if (item === undefined) return -1;
    const same = reallocs.findIndex((one) => sameItem(one, item));
    if (same >= 0) return same;
    imports.set(`realloc.${reallocs.length}`, item);
    return reallocs.push(item) - 1;
  };

  const tools = componentTools(outline);
  for (const [index, one] of tools.entries()) toolCode(one.function, index);

  /** The function `tool_N`, which calls an exported function. */
  function toolCode(of: ComponentFunction, index: number): void {
    if (of.from === "host")
      throw new Refusal("the component exports what it imports: export functions of its own");
    const { type, core, realloc, postReturn, isAsync, callback } = of;
    const record: ValueType = { kind: "record", fields: type.params };
    const params = flat(record);
    const isSpilled = params.length > MOST_PARAMS;
    const results = type.result === undefined ? [] : flat(type.result);
    const returned = isAsync
      ? callback === undefined
        ? "void"
        : "u32"
      : results.length > 1
        ? "u32"
        : (results[0] ?? "void");
    imports.set(`lift.${index}`, core);
    const given = isSpilled ? ["u32"] : params;
    declare(`lift_${index}`, "lift", index, given, returned);
    if (postReturn !== undefined) {
      imports.set(`post.${index}`, postReturn);
      declare(`post_${index}`, "post", index, returned === "void" ? [] : [returned], "void");
    }
    if (callback !== undefined) {
      imports.set(`callback.${index}`, callback);
      declare(`callback_${index}`, "callback", index, ["u32", "u32", "u32"], "u32");
    }
    // Parameters without `realloc` have no lists, and are at most 16 core values.
    const isBorrowed = realloc === undefined && !isSpilled;
    const place = isSpilled
      ? `listOf(${alignOf(record)}, ${byteSize(record)})`
      : isBorrowed
        ? "SCRATCH"
        : "placeOfParams()";
    const lines = [`which = ${reallocIndex(realloc)};`];
    if (isBorrowed) lines.push("borrowScratch();");
    const names = isSpilled ? ["p"] : params.map((_, at) => `f${at}`);
    lines.push(`const p = ${place};`, readInto(record, "p"));
    if (!isSpilled) {
      for (const [at, one] of params.entries()) lines.push(`let f${at}: ${one} = 0;`);
      lines.push(
        spread(
          record,
          0,
          params.map((one, at) => ({ name: `f${at}`, type: one })),
        ),
      );
      if (isBorrowed) lines.push("giveScratchBack();");
    }
    const call = `lift_${index}(${names.join(", ")})`;
    const after =
      postReturn === undefined ? "" : `post_${index}(${returned === "void" ? "" : "r"});`;
    if (isAsync) {
      lines.push(`expected = ${resultIndex(type.result)};`);
      lines.push(
        callback === undefined
          ? `${call};`
          : `for (let code = ${call}; code != 0; code = callback_${index}(eventCode, eventOf, eventPayload)) awaitEvent(code);`,
        "if (expected >= 0) withoutResult();",
      );
    } else {
      lines.push(returned === "void" ? `${call};` : `const r = ${call};`);
      lines.push(putResult(type.result, results.length > 1 ? "r" : undefined, ["r"]), after);
    }
    lines.push("return answer();");
    code.push(`function tool_${index}(): i32 {\n  ${lines.join("\n  ")}\n}`);
  }

  /** The number of a type of results, which has a function that writes one from an address as the answer of the call. */
  function resultIndex(type: ValueType | undefined): number {
    const shape = type && shapeOf(type);
    const known = resultTypes.get(shape);
    if (known !== undefined) return known;
    const index = resultTypes.size;
    resultTypes.set(shape, index);
    const written = (value: ValueType | undefined, from: string, isError: boolean) =>
      `beginOut(); ${writeFrom(value, from)} result = endOut(); resultIsString = ${value?.kind === "string"}; resultIsError = ${isError};`;
    const value = valueOf(type);
    const lines = ["result = 0;"];
    if (type?.kind === "result") {
      const content = `q + ${contentOffset(type)}`;
      lines.push(`if (load<u8>(q) != 0) { ${written(type.err, content, true)} return; }`);
      if (value !== undefined) lines.push(written(value, content, false));
    } else if (value !== undefined) lines.push(written(value, "q", false));
    code.push(`function result_${index}(q: u32): void {\n  ${lines.join("\n  ")}\n}`);
    return index;
  }

  /** Statements that write a result as the answer: at an address, or of these core values. */
  function putResult(
    type: ValueType | undefined,
    address: string | undefined,
    values: readonly string[],
  ): string {
    const put = `result_${resultIndex(type)}`;
    if (address !== undefined) return `${put}(${address});`;
    if (type === undefined) return `${put}(0);`;
    const from = flat(type).map((core, at) => ({ name: values[at]!, type: core }));
    return `borrowScratch(); const q = SCRATCH; ${gather(type, 0, from)} ${put}(q); giveScratchBack();`;
  }

  function declare(
    name: string,
    module: string,
    index: number,
    params: readonly string[],
    result: string,
  ): void {
    const all = params.map((type, at) => `a${at}: ${type}`).join(", ");
    code.push(`@external("${module}", "${index}") declare function ${name}(${all}): ${result};`);
  }

  /** The name by which the glue exports what core modules import. */
  const exportOf = (call: HostItem): string => {
    if (call.call === "drop") return "drop_handle";
    const known = calls.get(call);
    if (known !== undefined) return known;
    if (calls.size === MOST_LOWERED)
      throw new Refusal("the component is too large: build it with fewer imports");
    const name = `lower_${calls.size}`;
    calls.set(call, name);
    const { params, result = "void", body } = hostFunction(call);
    const all = params.map((type, at) => `a${at}: ${type}`).join(", ");
    code.push(`export function ${name}(${all}): ${result} { ${body} }`);
    return name;
  };

  function countParts(type: object = {}): void {
    parts += typeSize(type);
    if (parts > MOST_LOWERED_PARTS)
      throw new Refusal("the component is too large: build it with fewer imports");
  }

  const argumentsOf = (params: readonly unknown[]) => params.map((_, at) => `a${at}`);

  function hostFunction(call: Exclude<HostItem, { call: "drop" }>): HostFunction {
    if (call.call === "built-in") return builtInFunction(call);
    if (call.call === "task.return") {
      countParts(call.result);
      const flattened = call.result === undefined ? [] : flat(call.result);
      const params: CoreType[] = flattened.length > MOST_PARAMS ? ["i32"] : flattened;
      const address = params === flattened ? undefined : "a0";
      const body = `returned(${resultIndex(call.result)}); ${putResult(call.result, address, argumentsOf(params))}`;
      return { params, body };
    }
    const { of, realloc, isAsync } = call;
    if (of.from === "component")
      throw new Refusal("it is composed of several components: add each as a servlet of its own");
    const target = implementation(of);
    hasHttp ||= SENDING.has(target);
    const found = offered.get(target);
    const direct = lowered(of.type);
    if (found !== undefined && typesOf(found) !== signature(direct.params, direct.result))
      throw new Refusal(
        `the component imports ${of.name} of ${of.module} with other types than those of WASI: build it for a released WASI 0.2 or 0.3`,
      );
    const prepared = `which = ${reallocIndex(realloc)}; isThird = ${isThird(of)};`;
    if (!isAsync) {
      const given = argumentsOf(direct.params);
      const body =
        found === undefined
          ? notOffered(of, given.at(-1), direct.result)
          : `${prepared} ${direct.result === undefined ? "" : "return "}${target}(${given.join(", ")});`;
      return { ...direct, body };
    }
    countParts(of.type);
    const flattened = asyncParams(of.type);
    const params: CoreType[] = flattened ?? ["i32"];
    const hasResult = of.type.result !== undefined && flat(of.type.result).length > 0;
    const to = `a${params.length}`;
    const result = hasResult ? [to] : [];
    return {
      params: hasResult ? [...params, "i32"] : params,
      result: "i32",
      body: `${prepared} ${found === undefined ? notOffered(of, to, direct.result) : asyncCall(of, target, flattened, result)} return ${RETURNED};`,
    };
  }

  function builtInFunction(call: BuiltIn): HostFunction {
    const target = `canon_${call.name.replaceAll(/[.-]/g, "_")}`;
    const { params, result } = offered.get(target)!;
    const given = immediates(call);
    const own = params.filter(({ name }) => !(name in given));
    const values = params.map(
      ({ name }) => given[name] ?? `a${own.findIndex((one) => one.name === name)}`,
    );
    const body = `which = ${reallocIndex(call.realloc)}; ${result === "void" ? "" : "return "}${target}(${values.join(", ")});`;
    return { params: own.map(({ type }) => type), result, body };
  }

  return {
    imports,
    exportOf,
    source(starts) {
      const choices = reallocs.map((_, index) => {
        declare(`realloc_${index}`, "realloc", index, ["u32", "u32", "u32", "u32"], "u32");
        return `if (which == ${index}) return realloc_${index}(old, oldSize, align, size);`;
      });
      const chosen = tools.map(
        (one, index) =>
          `if (${is(JSON.stringify(toolName(one)))}) { at = args; return tool_${index}(); }`,
      );
      const begun = Array.from({ length: starts }, (_, index) => {
        declare(`start_${index}`, "start", index, [], "void");
        return `start_${index}();`;
      });
      const names = variables.map((name, index) => `if (n == ${index}) { ${writeText(name)} }`);
      return `${withTexts(library)}
const HAS_HTTP: bool = ${hasHttp};
let which: i32 = -1;
function reallocate(old: u32, oldSize: u32, align: u32, size: u32): u32 {
  ${choices.join("\n  ")}
  return SCRATCH;
}
/** Where parameters are put together that are passed as core values: one place for all calls, since nothing frees it. */
let params: u32 = 0;
function placeOfParams(): u32 {
  if (params == 0) params = listOf(8, ${MOST_PARAMS * 8});
  return params;
}
function variables(): u32 { return ${variables.length}; }
function variable(n: u32): void { ${names.join(" ")} }
export function drop_handle(handle: u32): void { dropped(handle); }
export function _initialize(): void { ${begun.join(" ")} }
export function list_tools(): i32 {
  beginOut();
  ${writeText(JSON.stringify({ tools: tools.map(componentTool) }))}
  return output();
}
export function call_tool(): i32 {
  nextTurn();
  beginTask();
  let name: u32 = 0;
  let args: u32 = 0;
  at = <u32>input_offset() + 11;
  while (next()) {
    if (${is('"name":')}) { at += 7; name = at; at = valueEnd(at); }
    else if (${is('"arguments":')}) { at += 12; args = at; at = valueEnd(at); }
    else skip();
  }
  at = name;
  ${chosen.join("\n  ")}
  return 1;
}
${code.join("\n")}`;
    },
  };
}

type FromHost = Extract<ComponentFunction, { from: "host" }>;

/** A function for core modules: its core types, and its statements, in which the parameters are `a0` and so on. */
interface HostFunction {
  params: readonly string[];
  result?: string | undefined;
  body: string;
}

const NUMBERS = new Set(["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64"]);

/** What the functions of the component model are given beside their parameters. */
const immediates = ({ of, context = 0, isAsync = false }: BuiltIn): Record<string, number> => ({
  size: of === undefined ? 0 : NUMBERS.has(of.kind) ? byteSize(of) : ALIASED,
  context,
  isAsync: Number(isAsync),
});

/** The state of a call that has given its result: nothing is left to wait for. */
const RETURNED = 2;

const typesOf = ({ params, result }: LibraryFunction): string =>
  signature(
    params.map(({ type }) => type),
    result,
  );

/** Statements for a call that may end later than it returns. They return its state, or go on if it has given its result. */
function asyncCall(
  { type }: FromHost,
  target: string,
  flattened: readonly CoreType[] | undefined,
  to: readonly string[],
): string {
  const record: ValueType = { kind: "record", fields: type.params };
  const types = flattened ?? flat(record);
  const values = types.map((core, at) => ({ name: `${flattened ? "a" : "f"}${at}`, type: core }));
  const names = values.map(({ name }) => name);
  const lines: string[] = [];
  if (flattened === undefined) {
    lines.push("const p = a0;", ...values.map((one) => `let ${one.name}: ${one.type} = 0;`));
    lines.push(spread(record, 0, values));
  }
  const begin = target.replace(/^wasi/, "begin");
  const { result } = lowered(type);
  if (offered.has(begin)) lines.push(`return begun(${begin}(${[...names, ...to].join(", ")}));`);
  else if (result === undefined) lines.push(`${target}(${[...names, ...to].join(", ")});`);
  else {
    lines.push(`const r = ${target}(${names.join(", ")});`, `const q = ${to[0]};`);
    lines.push(gather(type.result!, 0, [{ name: "r", type: result }]));
  }
  return lines.join(" ");
}

/** Numbers of types, the same for types that are alike. */
function shapes(): (type: ValueType) => number {
  const known = new Map<string, number>();
  const shapeOf = oncePer((type: ValueType): number => {
    const key = JSON.stringify(type, (_, value: unknown) =>
      value !== type && typeof value === "object" && value !== null && "kind" in value
        ? shapeOf(value as ValueType)
        : value,
    );
    const shape = known.get(key) ?? known.size;
    known.set(key, shape);
    return shape;
  });
  return shapeOf;
}

const sameItem = (one: CoreItem, other: CoreItem): boolean =>
  "instance" in one && "instance" in other
    ? one.instance === other.instance && one.name === other.name
    : one === other;

/** The name of the library's function for one of an interface. */
function implementation({ module, name }: FromHost): string {
  if (!INTERFACES.test(module)) {
    throw new Refusal(
      `the component imports ${module === "" ? name : module}, which is not offered here: offered are wasi:cli, clocks, random, io, filesystem, http, sockets (which refuse), config and logging. Build the component without it`,
    );
  }
  const own = name.replace(/^\[constructor\](.*)$/, "$1.constructor").replace(/^\[\w+\]/, "");
  const path = `${module.replace(/@.*$/, "")}.${own}`.replaceAll(/[^A-Za-z0-9]/g, "_");
  const third = path.replace("wasi", "wasi3");
  return isThird({ module }) && offered.has(third) ? third : path;
}

const isThird = ({ module }: { module: string }): boolean => /@0\.3\./.test(module);

/** The body of a function that is not offered: it fails with the error of its interface, at `to`, else the call ends. */
function notOffered(
  { module, name, type }: FromHost,
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
  return `beginOut(); ${writeText(message)} log_warn(endOut()); unreachable();${result === undefined ? "" : " return 0;"}`;
}
