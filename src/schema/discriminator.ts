/** Recognises choices of which one member of a value says which is meant, as in a discriminated union. */
import { isObject, type Json } from "../core/model.ts";
import type { KeywordContext } from "./keyword.ts";

/** The schema that a value means is known by the value of this member. */
export interface Discriminator {
  member: string;
  /** True if each of the schemas requires the member. */
  isRequired: boolean;
  /** The numbers of the schemas that have a value of the member. */
  choices: ReadonlyMap<unknown, readonly number[]>;
}

/** References that lead to references are followed so often. */
const MOST_REFERENCES = 8;

/** The member by which objects choose among these schemas; undefined if there is none. Others are for values of other types. */
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
    // References within it would be relative to its own name.
    return isObject(found) && "$id" in found ? undefined : found;
  };
  const objects = [...schemas.entries()]
    .map(([at, schema]) => ({ at, schema: followed(schema) }))
    .filter(({ schema }) => !isForOthers(schema));
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

/** True for a schema that no object fits. */
const isForOthers = (schema: unknown): boolean =>
  isObject(schema) && typeof schema["type"] === "string" && schema["type"] !== "object";

/** The only values that this member may have; none if it may have others. */
function valuesOf(schema: unknown, member: string): unknown[] {
  const properties = isObject(schema) ? schema["properties"] : undefined;
  if (!isObject(properties) || !Object.hasOwn(properties, member)) return [];
  const own = properties[member];
  if (!isObject(own)) return [];
  const values = "const" in own ? [own["const"]] : Array.isArray(own["enum"]) ? own["enum"] : [];
  return values.every((value) => typeof value !== "object" || value === null) ? values : [];
}
