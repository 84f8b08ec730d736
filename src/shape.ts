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

/** Bytes of all texts in a value of JSON together. */
export function textBytes(value: unknown): number {
  let bytes = 0;
  const left: unknown[] = [value];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    if (typeof one === "string") bytes += stringBytes(one);
    else if (typeof one === "object" && one !== null) left.push(...Object.values(one));
  }
  return bytes;
}
