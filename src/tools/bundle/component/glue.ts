/**
 * Writes the AssemblyScript that stands between a component and this server: the exports of a plugin, which read
 * arguments from JSON and write results as JSON, and the functions of WASI 0.2 that the component imports.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type {
  ComponentFunction,
  ComponentOutline,
  CoreItem,
  HostItem,
  ValueType,
} from "./component.ts";
import { alignOf, contentOffset, flat, lowered, MOST_PARAMS, byteSize } from "./layout.ts";
import { Refusal } from "../refusal.ts";
import { is, withTexts, writeText } from "./texts.ts";
import { toolName, componentTool, componentTools, valueOf } from "./tools.ts";
import { gathered, spread, valueCode } from "./values.ts";

/** The interfaces whose functions are offered, or fail when they are called. */
const INTERFACES =
  /^wasi:(cli|clocks|random|io|filesystem|http|sockets|config|logging)\/[\w-]+@0\.[12]\./;
/** Errors of interfaces that say that a function is not offered. */
const NOT_OFFERED = ["not-supported", "unsupported", "access-denied"];

const library = ["memory.as", "wasi.as"]
  .map((name) => readFileSync(join(import.meta.dirname, name), "utf8"))
  .join("\n");

/** The core types of each function that is offered, as `signature` writes them. */
const offered = new Map(
  [...library.matchAll(/^function (wasi_\w+)\((.*?)\): (\w+) \{/gm)].map(
    ([, name, params, result]) => [
      name!,
      signature(
        [...params!.matchAll(/: (\w+)/g)].map(([, type]) => type!),
        result,
      ),
    ],
  ),
);

/** The types of a function in AssemblyScript, with those of Wasm for integers. */
function signature(params: readonly string[], result = "void"): string {
  return `${params.join(",")}->${result}`.replaceAll("u", "i");
}

/** Functions that are made for core modules: all of WASI 0.2 has 250. */
const MOST_LOWERED = 2000;

/** The function that sends requests. */
const HANDLE = "wasi_http_outgoing_handler_handle";

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
    const { type, core, realloc, postReturn } = of;
    const record: ValueType = { kind: "record", fields: type.params };
    const params = flat(record);
    const isSpilled = params.length > MOST_PARAMS;
    const results = type.result === undefined ? [] : flat(type.result);
    const returned = results.length > 1 ? "u32" : results[0] === undefined ? "void" : results[0];
    imports.set(`lift.${index}`, core);
    const given = isSpilled ? ["u32"] : params;
    declare(`lift_${index}`, "lift", index, given, returned);
    if (postReturn !== undefined) {
      imports.set(`post.${index}`, postReturn);
      declare(`post_${index}`, "post", index, returned === "void" ? [] : [returned], "void");
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
    if (type.result === undefined) {
      lines.push(
        `${call}; ${after}`,
        "beginOut();",
        writeText('{"content":[]}'),
        "return output();",
      );
    } else {
      lines.push(`const r = ${call};`);
      lines.push(
        results.length > 1
          ? "const q = r;"
          : `borrowScratch(); const q = SCRATCH; ${gathered(type.result)}`,
      );
      const written = results.length > 1 ? after : `giveScratchBack(); ${after}`;
      const answer = (value: ValueType | undefined, from: string, isError: boolean) =>
        `beginOut(); ${writeFrom(value, from)} const value = endOut(); ${written} return answer(value, ${value?.kind === "string"}, ${isError});`;
      const value = valueOf(type.result);
      if (type.result.kind === "result") {
        const content = `q + ${contentOffset(type.result)}`;
        lines.push(`if (load<u8>(q) != 0) { ${answer(type.result.err, content, true)} }`);
        if (value === undefined)
          lines.push(`${written} beginOut(); ${writeText('{"content":[]}')} return output();`);
        else lines.push(answer(value, content, false));
      } else lines.push(answer(value, "q", false));
    }
    code.push(`function tool_${index}(): i32 {\n  ${lines.join("\n  ")}\n}`);
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
    const { of, realloc } = call;
    if (of.from === "component")
      throw new Refusal("it is composed of several components: add each as a servlet of its own");
    const { params, result } = lowered(of.type);
    const all = params.map((type, at) => `a${at}: ${type}`).join(", ");
    const target = implementation(of);
    hasHttp ||= target === HANDLE;
    const given = params.map((_, at) => `a${at}`).join(", ");
    const types = offered.get(target);
    if (types !== undefined && types !== signature(params, result))
      throw new Refusal(
        `the component imports ${of.name} of ${of.module} with other types than those of WASI 0.2: build it for WASI 0.2`,
      );
    const body =
      types !== undefined
        ? `which = ${reallocIndex(realloc)}; ${result === undefined ? "" : "return "}${target}(${given});`
        : notOffered(of, params.length, result);
    code.push(`export function ${name}(${all}): ${result ?? "void"} { ${body} }`);
    return name;
  };

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
  return `${module.replace(/@.*$/, "")}.${own}`.replaceAll(/[^A-Za-z0-9]/g, "_");
}

/** The body of a function that is not offered: it fails with the error of its interface, else the call ends. */
function notOffered(
  { module, name, type }: FromHost,
  params: number,
  result: string | undefined,
): string {
  const { result: given } = type;
  const errors = given?.kind === "result" && given.err?.kind === "enum" ? given.err.names : [];
  const code = NOT_OFFERED.map((one) => errors.indexOf(one)).find((at) => at >= 0);
  if (code !== undefined && result === undefined) {
    return `store<u8>(a${params - 1}, 1); store<u8>(a${params - 1} + ${contentOffset(given!)}, ${code});`;
  }
  const message = `the component calls ${name} of ${module}, which is not offered here`;
  return `beginOut(); ${writeText(message)} log_warn(endOut()); unreachable();${result === undefined ? "" : " return 0;"}`;
}
