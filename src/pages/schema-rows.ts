import { isObject, type Json } from "../core/model.ts";

/** The members of a JSON Schema, one row each, for tables. */
export interface SchemaRow {
  /** Where it is: `address.street`, `items[]`. */
  path: string;
  type: string;
  isRequired: boolean;
  /** Constraints on the value, and its default, in words. */
  rules: string[];
  about: string;
}

/** How deep and how long a table may be. */
const DEPTH = 4;
const ROWS = 100;

/** The rows of an object's schema, and whether some were left out. */
export function rowsOf(schema: unknown): { rows: SchemaRow[]; isCut: boolean } {
  const table = { rows: [] as SchemaRow[], isCut: false };
  addMembers(schema, { table, path: "", depth: 0 });
  return table;
}

interface Place {
  table: { rows: SchemaRow[]; isCut: boolean };
  path: string;
  depth: number;
}

function addMembers(schema: unknown, { table, path, depth }: Place): void {
  if (!isObject(schema)) return;
  const { properties, required, items } = schema;
  const needed = new Set(Array.isArray(required) ? required : []);
  const named = isObject(properties) ? Object.entries(properties) : [];
  const members: [string, unknown, boolean][] = named.map(([name, member]) => [
    path === "" ? name : `${path}.${name}`,
    member,
    needed.has(name),
  ]);
  // Lists of simple values need no rows: the list's type names that of its items.
  if (isObject(items) && ("properties" in items || "items" in items)) {
    const below = depth + ("items" in items ? 1 : 0);
    if (below > DEPTH) table.isCut = true;
    else addMembers(items, { table, path: `${path}[]`, depth: below });
  }
  for (const [at, member, isRequired] of members) {
    if (depth >= DEPTH || table.rows.length >= ROWS) {
      table.isCut = true;
      return;
    }
    const known = isObject(member) ? member : {};
    const { title, description } = known;
    const about = [title, description].filter((one) => typeof one === "string").join(": ");
    table.rows.push({ path: at, type: typeOf(known), isRequired, rules: rulesOf(known), about });
    addMembers(known, { table, path: at, depth: depth + 1 });
  }
}

/** A type in words: `string`, `list of number`, `one of`. Schemas come from servlets, so their depth is bounded here. */
function typeOf(schema: Json, depth = 0): string {
  const { type, items, enum: values, anyOf, oneOf, $ref, const: only } = schema;
  const of = (one: unknown) => (isObject(one) && depth < DEPTH ? typeOf(one, depth + 1) : "any");
  if (Array.isArray(values)) return "one of";
  if (only !== undefined) return "always";
  if (type === "array") return isObject(items) ? `list of ${of(items)}` : "list";
  if (Array.isArray(type))
    return type
      .slice(0, VALUES)
      .filter((one) => typeof one === "string")
      .join(" or ");
  if (typeof type === "string") return type;
  const options = [anyOf, oneOf].find(Array.isArray) as unknown[] | undefined;
  if (options !== undefined) return [...new Set(options.slice(0, VALUES).map(of))].join(" or ");
  return typeof $ref === "string" ? "see the schema" : "any";
}

/** How many values of an enum are listed. */
const VALUES = 12;

/** Constraints in words, with `…` for their value. */
const RULES = {
  format: "format …",
  pattern: "pattern …",
  minimum: "at least …",
  exclusiveMinimum: "more than …",
  maximum: "at most …",
  exclusiveMaximum: "less than …",
  minLength: "length at least …",
  maxLength: "length at most …",
  minItems: "at least … items",
  maxItems: "at most … items",
  const: "value …",
  default: "default …",
} as const;

function rulesOf(schema: Json): string[] {
  const { enum: values } = schema;
  const listed = Array.isArray(values)
    ? [values.slice(0, VALUES).map(text).join(", ") + (values.length > VALUES ? ", …" : "")]
    : [];
  const others = Object.entries(RULES).flatMap(([key, words]) =>
    schema[key] === undefined ? [] : [words.replace("…", () => text(schema[key]))],
  );
  return [...listed, ...others];
}

const text = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);
