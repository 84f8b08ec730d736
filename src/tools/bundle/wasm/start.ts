import { paramsOf, type Outline } from "./binary.ts";

/** Start functions in the order in which the reference runtime calls them, with their types. */
export function startFunctions(guest: Outline): { index: number; type: string }[] {
  const exported = (name: string) =>
    guest.exports.find((one) => one.name === name && one.kind === "function")?.index;
  const order =
    exported("hs_init") !== undefined
      ? [guest.start, exported("_initialize"), exported("hs_init")]
      : [guest.start, exported("__wasm_call_ctors") ?? exported("_initialize")];
  return order
    .filter((index) => index !== undefined)
    .map((index) => ({ index, type: guest.functionType(index) ?? "->" }));
}

/** A module whose export `edge_start` calls the guest's start functions in order. */
export function starter(starts: { type: string }[]): string {
  const name: Record<string, string> = { "7f": "i32", "7e": "i64", "7d": "f32", "7c": "f64" };
  const signature = (type: string) => {
    const results = type.split("->")[1]!.split(",").filter(Boolean);
    return [
      ...paramsOf(type).map((one) => `(param ${name[one]})`),
      ...results.map((one) => `(result ${name[one]})`),
    ].join(" ");
  };
  const imports = starts.map(
    ({ type }, index) =>
      `(import "guest" "edge_start_${index}" (func $start${index} ${signature(type)}))`,
  );
  const calls = starts.map(({ type }, index) => {
    const zeros = paramsOf(type).map((one) => `(${name[one]}.const 0)`);
    const call = `(call $start${index} ${zeros.join(" ")})`;
    return type.endsWith("->") ? call : `(drop ${call})`;
  });
  return `(module ${imports.join("\n")} (func (export "edge_start") ${calls.join("\n")}))`;
}
