/** How deep a value of JSON may be nested, and how many members and items it may have all together. */
interface Shape {
  depth: number;
  members?: number;
}

/** What a value has too much of; it is not walked by recursion, for it may be deep. */
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
