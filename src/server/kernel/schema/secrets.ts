/** Finds the values that a schema declares as secrets, by `format: password` or `writeOnly`. */
import { isObject } from "../core/model.ts";
import { oncePer } from "../core/once-per.ts";
import { percentDecoded } from "../core/text.ts";
import { NAMED_SCHEMA_KEYWORDS, SCHEMA_KEYWORDS } from "./references.ts";

/** Parts of a schema that are searched, each once for a name. In a larger schema, everything may be secret. */
const PARTS = 20_000;

/** Tells by name whether a property is a secret, or contains an unnamed one: an item, or an option of a choice. */
export const secretsIn = oncePer((schema: object): ((name: string) => boolean) => {
  const names = namesIn(schema, schema);
  return names === undefined || names.has(ROOT) ? () => true : (name) => names.has(name);
});

/** True if a value of this schema may contain a secret, at any depth. References are relative to `root`. */
export const holdsSecret = (schema: object, root: object): boolean =>
  namesIn(schema, root)?.size !== 0;

/** Stands for the value itself, which has no property name. */
const ROOT = "";

/** The names of the secret properties; undefined if the schema is too large, or a reference is not a pointer. */
function namesIn(schema: object, root: object): ReadonlySet<string> | undefined {
  const found = new Set<string>();
  const seen = new Map<unknown, Set<string>>();
  const left: [part: unknown, name: string][] = [[schema, ROOT]];
  let parts = 0;
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    const [part, name] = one;
    if (Array.isArray(part)) for (const each of part) left.push([each, name]);
    if (!isObject(part)) continue;
    const by = seen.get(part) ?? new Set();
    if (by.has(name)) continue;
    if (++parts > PARTS) return undefined;
    seen.set(part, by.add(name));
    if (part["format"] === "password" || part["writeOnly"] === true) found.add(name);
    for (const [key, value] of Object.entries(part)) {
      if (SCHEMA_KEYWORDS.has(key)) left.push([value, name]);
      if (key === "$ref" || key === "$dynamicRef") {
        const target = targetOf(value, root);
        // An anchor, or another document.
        if (target === undefined) return undefined;
        left.push([target, name]);
      }
      if (!isObject(value)) continue;
      if (!NAMED_SCHEMA_KEYWORDS.has(key)) continue;
      for (const [own, each] of Object.entries(value))
        left.push([each, key === "properties" ? own : name]);
    }
  }
  return found;
}

/** The part of a document that a reference such as `#/$defs/Address` leads to; undefined if there is none. */
export function targetOf(reference: unknown, root: unknown): unknown {
  if (reference === "#") return root;
  if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined;
  let at = root;
  for (const key of reference.slice(2).split("/")) {
    const name = percentDecoded(key).replaceAll("~1", "/").replaceAll("~0", "~");
    const isThere = typeof at === "object" && at !== null && Object.hasOwn(at, name);
    at = isThere ? (at as Record<string, unknown>)[name] : undefined;
  }
  return at;
}
