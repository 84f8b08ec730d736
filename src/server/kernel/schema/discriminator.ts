/** Recognises discriminated unions: `anyOf` or `oneOf` whose schemas differ in the constant values of one member. */
import { isObject, type Json } from "../core/model.ts";
import type { KeywordContext } from "./keyword.ts";

/** The member of a discriminated union whose value selects the schema. */
export interface Discriminator {
  member: string;
  /** True if every schema requires the member. */
  isRequired: boolean;
  /** Indices of the schemas by the values of the member that select them. */
  choices: ReadonlyMap<unknown, readonly number[]>;
}

/** Maximum length of a chain of references. */
const MOST_REFERENCES = 8;

/** The discriminator of these schemas, ignoring those for values other than objects; undefined if there is none. */
export function discriminatorOf(
  schemas: readonly unknown[],
  { target }: KeywordContext,
): Discriminator | undefined {
  const followed = (schema: unknown): unknown => {
    let found = schema;
    for (
      let count = 0;
      isObject(found) && typeof found["$ref"] === "string" && !("$id" in found);
      count++
    ) {
      if (count === MOST_REFERENCES) return undefined;
      found = target(found["$ref"]).schema;
    }
    // References inside it would be relative to its own `$id`.
    return isObject(found) && "$id" in found ? undefined : found;
  };
  const objects = [...schemas.entries()]
    .map(([at, schema]) => ({ at, schema: followed(schema) }))
    .filter(({ schema }) => !excludesObjects(schema));
  const [first] = objects;
  if (objects.length < 2 || !isObject(first?.schema)) return undefined;
  const candidates = Object.keys(
    isObject(first.schema["properties"]) ? first.schema["properties"] : {},
  );
  for (const member of candidates) {
    const choices = new Map<unknown, number[]>();
    const isChosen = objects.every(({ at, schema }) => {
      const values = valuesOf(schema, member);
      for (const value of values) choices.set(value, [...(choices.get(value) ?? []), at]);
      return values.length > 0;
    });
    if (!isChosen || choices.size < 2) continue;
    const isRequired = objects.every(
      ({ schema }) =>
        Array.isArray((schema as Json)["required"]) &&
        ((schema as Json)["required"] as unknown[]).includes(member),
    );
    return { member, isRequired, choices };
  }
  return undefined;
}

/** True for a schema whose `type` excludes objects. */
const excludesObjects = (schema: unknown): boolean =>
  isObject(schema) && typeof schema["type"] === "string" && schema["type"] !== "object";

/** The values that `const` or `enum` allow for this member; empty if neither limits them, or if one is an object. */
function valuesOf(schema: unknown, member: string): unknown[] {
  const properties = isObject(schema) ? schema["properties"] : undefined;
  if (!isObject(properties) || !Object.hasOwn(properties, member)) return [];
  const own = properties[member];
  if (!isObject(own)) return [];
  const values = "const" in own ? [own["const"]] : Array.isArray(own["enum"]) ? own["enum"] : [];
  return values.every((value) => typeof value !== "object" || value === null) ? values : [];
}
