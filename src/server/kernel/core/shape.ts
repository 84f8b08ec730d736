import { stringBytes } from "./text.ts";

/** Limits on the nesting depth of a JSON value, and on its members and items in total. */
interface Shape {
  depth: number;
  members?: number;
}

/** The limit that a value exceeds, if any. */
export function excessOf(
  value: unknown,
  { depth, members = Infinity }: Shape,
): "depth" | "members" | undefined {
  let left = members;
  // The recursion goes no deeper than `depth`, however deep the value is.
  const excessIn = (object: object, inside: number): "depth" | "members" | undefined => {
    if (inside < 0) return "depth";
    const all: readonly unknown[] = Array.isArray(object) ? object : Object.values(object);
    left -= all.length;
    if (left < 0) return "members";
    for (const member of all) {
      if (typeof member !== "object" || member === null) continue;
      const excess = excessIn(member, inside - 1);
      if (excess !== undefined) return excess;
    }
    return undefined;
  };
  return typeof value === "object" && value !== null ? excessIn(value, depth) : undefined;
}

/** Bytes of a number, boolean or null in memory. */
const SCALAR_BYTES = 8;

/** Bytes of all texts, member names and other values in a JSON value. */
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
