/** AssemblyScript that writes the result of a call, for functions that return it and those that give it by `task.return`. */
import { oncePer } from "../../../server/kernel/core/once-per.ts";
import type { ValueType } from "./component.ts";
import { contentOffset, flat } from "./layout.ts";
import { valueOf } from "./tools.ts";
import { gather, type valueCode } from "./values.ts";

/** Statements for results; the functions that they call are added to `code`, one for each shape of a type. */
export function resultCode(code: string[], writeFrom: ReturnType<typeof valueCode>["writeFrom"]) {
  const numbers = new Map<number | undefined, number>();
  const shapeOf = shapes();

  /** The number of a type of results: `result_N(q)` writes the result at the address `q`. */
  function numberOf(type: ValueType | undefined): number {
    const shape = type && shapeOf(type);
    const known = numbers.get(shape);
    if (known !== undefined) return known;
    const number = numbers.size;
    numbers.set(shape, number);
    code.push(`function result_${number}(q: u32): void {\n  ${writing(type).join("\n  ")}\n}`);
    return number;
  }

  function writing(type: ValueType | undefined): string[] {
    const written = (value: ValueType | undefined, from: string, isError: boolean) =>
      `beginOut(); ${writeFrom(value, from)} result = endOut(); resultIsString = ${value?.kind === "string"}; resultIsError = ${isError};`;
    const value = valueOf(type);
    const content = type?.kind === "result" ? `q + ${contentOffset(type)}` : "q";
    return [
      "result = 0;",
      ...(type?.kind === "result"
        ? [`if (load<u8>(q) != 0) { ${written(type.err, content, true)} return; }`]
        : []),
      ...(value === undefined ? [] : [written(value, content, false)]),
    ];
  }

  return {
    numberOf,
    /** Writes the result at an address. */
    fromMemory: (type: ValueType | undefined, address: string) =>
      `result_${numberOf(type)}(${address});`,
    /** Writes the result that these core values are. */
    fromValues(type: ValueType | undefined, values: readonly string[]): string {
      if (type === undefined) return `result_${numberOf(type)}(0);`;
      const from = flat(type).map((core, at) => ({ name: values[at]!, type: core }));
      return `borrowScratch(); const q = SCRATCH; ${gather(type, 0, from)} result_${numberOf(type)}(q); giveScratchBack();`;
    },
  };
}

/** Numbers of types, the same for types of the same structure. */
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
