/**
 * Writes the AssemblyScript that stands between a component and this server: the exports of a plugin, which read
 * arguments from JSON and write results as JSON, and the functions of WASI that the component imports.
 */
import type {
  ComponentFunction,
  ComponentOutline,
  CoreItem,
  HostItem,
  ValueType,
} from "./component.ts";
import { importCode } from "./imports.ts";
import { alignOf, byteSize, flat, MOST_PARAMS } from "./layout.ts";
import { library } from "./library.ts";
import { Refusal } from "../refusal.ts";
import { resultCode } from "./results.ts";
import { is, withTexts, writeText } from "./texts.ts";
import { toolName, componentTool, componentTools } from "./tools.ts";
import { spread, valueCode } from "./values.ts";

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
  const code: string[] = [];
  const { readInto, writeFrom } = valueCode(code);
  const results = resultCode(code, writeFrom);

  const reallocIndex = (item: CoreItem | undefined): number => {
    if (item === undefined) return -1;
    const same = reallocs.findIndex((one) => sameItem(one, item));
    if (same >= 0) return same;
    imports.set(`realloc.${reallocs.length}`, item);
    return reallocs.push(item) - 1;
  };

  const functions = importCode(code, reallocIndex, results);

  const tools = componentTools(outline);
  for (const [index, one] of tools.entries()) toolCode(one.function, index);

  /** The function `tool_N`, which calls an exported function. */
  function toolCode(of: ComponentFunction, index: number): void {
    if (of.from === "host")
      throw new Refusal("the component exports what it imports: export functions of its own");
    const record: ValueType = { kind: "record", fields: of.type.params };
    const isSpilled = flat(record).length > MOST_PARAMS;
    const params = isSpilled ? (["i32"] as const) : flat(record);
    const values = params.map((type, at) => ({ name: isSpilled ? "p" : `f${at}`, type }));
    // Parameters without `realloc` have no lists, and are at most 16 core values.
    const isBorrowed = of.realloc === undefined && !isSpilled;
    const lines = [`currentRealloc = ${reallocIndex(of.realloc)};`];
    if (isSpilled) lines.push(`const p = listOf(${alignOf(record)}, ${byteSize(record)});`);
    else if (isBorrowed) lines.push("borrowScratch(); const p = SCRATCH;");
    else lines.push("const p = placeOfParams();");
    lines.push(readInto(record, "p"));
    if (!isSpilled) {
      lines.push(...values.map(({ name, type }) => `let ${name}: ${type} = 0;`));
      lines.push(spread(record, 0, values));
    }
    if (isBorrowed) lines.push("giveScratchBack();");
    const given = values.map(({ name }) => name).join(", ");
    lines.push(
      ...(of.isAsync ? asyncCall : syncCall)(of, index, params, given),
      "closeDroppedFiles();",
      "return answer();",
    );
    code.push(`function tool_${index}(): i32 {\n  ${lines.join("\n  ")}\n}`);
  }

  type Exported = Extract<ComponentFunction, { from: "component" }>;

  function syncCall(
    { type, core, postReturn }: Exported,
    index: number,
    params: readonly string[],
    given: string,
  ): string[] {
    const values = type.result === undefined ? [] : flat(type.result);
    const result = values.length > 1 ? "u32" : (values[0] ?? "void");
    importFunction("lift", index, core, params, result);
    const lines = [`${result === "void" ? "" : "const r = "}lift_${index}(${given});`];
    lines.push(
      values.length > 1
        ? results.fromMemory(type.result, "r")
        : results.fromValues(type.result, ["r"]),
    );
    if (postReturn !== undefined) {
      importFunction("post", index, postReturn, result === "void" ? [] : [result], "void");
      lines.push(`post_${index}(${result === "void" ? "" : "r"});`);
    }
    return lines;
  }

  /** A call of a function that gives its result by `task.return`: with a callback, it is called with each event. */
  function asyncCall(
    { type, core, callback }: Exported,
    index: number,
    params: readonly string[],
    given: string,
  ): string[] {
    importFunction("lift", index, core, params, callback === undefined ? "void" : "u32");
    const call = `lift_${index}(${given})`;
    if (callback !== undefined)
      importFunction("callback", index, callback, ["u32", "u32", "u32"], "u32");
    return [
      `expectedResult = ${results.numberOf(type.result)};`,
      callback === undefined
        ? `${call};`
        : `for (let code = ${call}; code != 0; code = callback_${index}(eventCode, eventOf, eventPayload)) awaitEvent(code);`,
      "checkTaskExit();",
    ];
  }

  /** Imports a function of the component as `module_index`. */
  function importFunction(
    module: string,
    index: number,
    item: CoreItem,
    params: readonly string[],
    result: string,
  ): void {
    imports.set(`${module}.${index}`, item);
    declare(module, index, params, result);
  }

  function declare(module: string, index: number, params: readonly string[], result: string): void {
    const all = params.map((type, at) => `a${at}: ${type}`).join(", ");
    code.push(
      `@external("${module}", "${index}") declare function ${module}_${index}(${all}): ${result};`,
    );
  }

  return {
    imports,
    exportOf: functions.exportOf,
    source(starts) {
      const choices = reallocs.map((_, index) => {
        declare("realloc", index, ["u32", "u32", "u32", "u32"], "u32");
        return `if (currentRealloc == ${index}) return realloc_${index}(old, oldSize, align, size);`;
      });
      const chosen = tools.map(
        (one, index) =>
          `if (${is(JSON.stringify(toolName(one)))}) { at = args; return tool_${index}(); }`,
      );
      const begun = Array.from({ length: starts }, (_, index) => {
        declare("start", index, [], "void");
        return `start_${index}();`;
      });
      const names = variables.map((name, index) => `if (n == ${index}) { ${writeText(name)} }`);
      return `${withTexts(library)}
const HAS_HTTP: bool = ${functions.hasHttp()};
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
export function drop_handle(handle: u32): void { dropHandle(handle); }
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

const sameItem = (one: CoreItem, other: CoreItem): boolean =>
  "instance" in one && "instance" in other
    ? one.instance === other.instance && one.name === other.name
    : one === other;
