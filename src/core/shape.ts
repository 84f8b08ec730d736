import { stringBytes } from "./text.ts";

/** How deep a value of JSON may be nested, and how many members and items it may have all together. */
interface Shape {
  depth: number;
  members?: number;
}

/** The limit that a value exceeds, if any. Iterative, since the value may be nested deeply. */
export function excessOf(
  value: unknown,
  { depth, members = Infinity }: Shape,
): "depth" | "members" | undefined {
  let count = 0;
  let level: unknown[] = [value];
  for (let at = 0; level.length > 0; at++) {
    if (at > depth) return "depth";
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue;
      for (const member of Object.values(one)) {
        if (++count > members) return "members";
        if (typeof member === "object" && member !== null) next.push(member);
      }
    }
    level = next;
  }
  return undefined;
}

/** Bytes of a number, boolean or null in memory. */
const SCALAR_BYTES = 8;

/** Bytes of all texts, names of members and other values in a value of JSON together. */
export function textBytes(value: unknown): number {
  let bytes = 0;
  const left: unknown[] = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === "string") bytes += stringBytes(one);
    else if (typeof one !== "object" || one === null) bytes += SCALAR_BYTES;
    else
      for (const [name, member] of Object.entries(one)) {
        if (!Array.isArray(one)) bytes += stringBytes(name);
        left.push(member);
      }
  }
  return bytes;
}
