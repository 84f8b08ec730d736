/** Puts other functions in the place of a module's own, which its callers reach by the table. */
import { outline, paramsOf, extend, SECTION } from "../../../src/tools/bundle/wasm/binary.ts";
import { leb, Reader, sections, signedLeb, text } from "../../../src/tools/bundle/wasm/bytes.ts";

const FUNCTION_NAMES = 1;

/** The functions of a module by their names in its section `name`, also those that it does not export. */
export function functionNames(wasm: Uint8Array): Map<string, number> {
  for (const { id, body } of sections(wasm)) {
    const reader = new Reader(body);
    if (id !== SECTION.custom || reader.text() !== "name") continue;
    while (reader.at < body.length) {
      const isOfFunctions = reader.byte() === FUNCTION_NAMES;
      const part = new Reader(reader.take(reader.number()));
      if (!isOfFunctions) continue;
      const names = part.list((): [number, string] => [part.number(), part.text()]);
      return new Map(names.map(([index, name]) => [name, index]));
    }
  }
  throw new Error("its functions have no names");
}

/**
 * The module in which each of these functions calls an entry of the table, with its own arguments. What it did before is
 * exported as `original NAME`.
 */
export function redirected(
  wasm: Uint8Array,
  entries: ReadonlyMap<string, number>,
): Uint8Array<ArrayBuffer> {
  const { imports, functionType } = outline(wasm);
  const names = functionNames(wasm);
  const imported = imports.filter(({ kind }) => kind === "function").length;
  const reader = (id: number) => new Reader(sections(wasm).find((one) => one.id === id)!.body);
  const functions = reader(SECTION.function);
  const types = functions.list(() => functions.number());
  const code = reader(SECTION.code);
  const codes = code.list(() => {
    const body = code.take(code.number());
    return Uint8Array.from([...leb(body.length), ...body]);
  });
  const kept: Uint8Array[] = [];
  const added = { types: [] as number[][], exports: [] as number[][] };
  for (const [name, entry] of entries) {
    const index = names.get(name)!;
    const type = leb(types[index - imported]!);
    const passed = paramsOf(functionType(index)!).flatMap((_, nth) => [0x20, ...leb(nth)]);
    const body = [0, ...passed, 0x41, ...signedLeb(entry), 0x11, ...type, 0, 0x0b];
    added.types.push(type);
    added.exports.push([
      ...text(`original ${name}`),
      0,
      ...leb(imported + codes.length + kept.length),
    ]);
    kept.push(codes[index - imported]!);
    codes[index - imported] = Uint8Array.from([...leb(body.length), ...body]);
  }
  return extend(
    wasm,
    new Map([
      [SECTION.function, added.types],
      [SECTION.export, added.exports],
    ]),
    [...codes, ...kept],
  ) as Uint8Array<ArrayBuffer>;
}
