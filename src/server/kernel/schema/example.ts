/** Example values for JSON Schemas. */
import { FILE_KEYWORD } from "../core/files.ts";
import { isObject, type Json } from "../core/model.ts";
import { targetOf } from "./secrets.ts";
import { Schema, SchemaError, StepsExceeded } from "./schema.ts";

/** Deeper schemas repeat themselves, and an example with more parts is useless. */
const DEPTH = 20;
const PARTS = 1000;
const TEXT = "example";

const FORMATS: Record<string, string> = {
  "date-time": "1999-12-31T12:00:00Z",
  date: "1999-12-31",
  time: "12:00:00Z",
  duration: "PT1H",
  email: "ada@example.com",
  "idn-email": "ada@example.com",
  hostname: "example.com",
  "idn-hostname": "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  url: "https://example.com/",
  iri: "https://example.com/",
  "uri-reference": "/",
  "iri-reference": "/",
  "uri-template": "/{id}",
  "json-pointer": "/a",
  "relative-json-pointer": "0",
  regex: "^a+$",
  byte: "ZXhhbXBsZQ==",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
};

/** Texts that may match a pattern. */
const TEXTS = [
  TEXT,
  ...Object.values(FORMATS),
  "1",
  "1.0",
  "en",
  "EN",
  "en-GB",
  "a_1",
  "A1",
  "#aabbcc",
];

/**
 * An object that the schema allows: its own example, or its required members, with the optional ones if `isWhole` and
 * they fit; undefined if none was found.
 */
export function exampleOf(schema: Json, isWhole = false): Json | undefined {
  const value = new Maker(schema, isWhole).valueOf(schema, 0);
  if (isObject(value) && fits(schema, value)) return value;
  return isWhole ? exampleOf(schema) : undefined;
}

/** Objects nested deeper than this have only their required members. */
const WHOLE_DEPTH = 3;

function fits(schema: Json, value: unknown): boolean {
  try {
    return new Schema(schema).issues(value) === undefined;
  } catch (error) {
    if (error instanceof StepsExceeded || error instanceof SchemaError) return false;
    throw error;
  }
}

class Maker {
  readonly #root: Json;
  readonly #isWhole: boolean;
  #parts = 0;

  constructor(root: Json, isWhole: boolean) {
    this.#root = root;
    this.#isWhole = isWhole;
  }

  /** The item at index `at` takes another option than the items before it, while there are unused ones. */
  valueOf(given: unknown, depth: number, at = 0): unknown {
    if (!isObject(given) || depth > DEPTH || this.#parts > PARTS) return TEXT;
    const schema = this.#whole(given, depth);
    if ("const" in schema) return schema["const"];
    if ("default" in schema) return schema["default"];
    const options = [...new Set([...listIn(schema, "examples"), ...listIn(schema, "enum")])];
    if (options.length > 0) return options[at % options.length];
    switch (typeOf(schema)) {
      case "object":
        return this.#objectOf(schema, depth);
      case "array":
        return this.#arrayOf(schema, depth);
      case "integer":
      case "number":
        return numberOf(schema);
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return textOf(schema);
    }
  }

  /** The schema merged with the schemas that it refers to, and with the first option of each choice. */
  #whole(schema: Json, depth: number): Json {
    const parts = this.#partsOf(schema, depth);
    const required = parts.flatMap((part) => listIn(part, "required"));
    const properties = parts.map((part) => part["properties"]).filter(isObject);
    return {
      ...Object.assign({}, ...parts.toReversed()),
      ...(required.length > 0 && { required }),
      ...(properties.length > 0 && { properties: Object.assign({}, ...properties.toReversed()) }),
    };
  }

  /** The schema's own keywords, then those of the schemas that it includes. */
  #partsOf(schema: Json, depth: number): Json[] {
    if (depth > DEPTH || ++this.#parts > PARTS) return [];
    const { $ref: reference, allOf: _all, anyOf: _any, oneOf: _one, ...own } = schema;
    const [any] = listIn(schema, "anyOf");
    const [one] = listIn(schema, "oneOf");
    const others = [targetOf(reference, this.#root), ...listIn(schema, "allOf"), any, one].filter(
      isObject,
    );
    return [own, ...others.flatMap((other) => this.#partsOf(other, depth + 1))];
  }

  #objectOf({ properties, ...schema }: Json, depth: number): Json {
    const known = isObject(properties) ? properties : {};
    const required = listIn(schema, "required").filter((name) => typeof name === "string");
    const all = this.#isWhole && depth < WHOLE_DEPTH ? Object.keys(known) : [];
    const names = new Set([...all, ...required]);
    return Object.fromEntries(
      [...names].map((name) => [name, this.valueOf(known[name], depth + 1)] as const),
    );
  }

  #arrayOf(schema: Json, depth: number): unknown[] {
    const { items } = schema;
    const first = listIn(schema, "prefixItems");
    return Array.from({ length: arrayLength(schema) }, (_, at) =>
      this.valueOf(first[at] ?? items, depth + 1, at),
    );
  }
}

const listIn = (schema: Json, key: string): unknown[] => {
  const list = schema[key];
  return Array.isArray(list) ? list : [];
};

function typeOf(schema: Json): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((one) => one !== "null") ?? "null";
  if (type !== undefined) return type;
  if ("properties" in schema || "required" in schema) return "object";
  if ("items" in schema || "prefixItems" in schema) return "array";
  return "minimum" in schema || "maximum" in schema ? "number" : "string";
}

/** The length of an example for an array. */
export const arrayLength = ({ minItems = 1 }: Json): number =>
  Math.min(Math.max(1, Number(minItems)), 100);

/** An example for a number or integer. */
export function numberOf(schema: Json): number {
  const number = (key: string, otherwise: number) => {
    const value = schema[key];
    return typeof value === "number" ? value : otherwise;
  };
  const least = Math.max(number("minimum", -Infinity), number("exclusiveMinimum", -Infinity) + 1);
  const most = Math.min(number("maximum", Infinity), number("exclusiveMaximum", Infinity) - 1);
  const step = number("multipleOf", typeOf(schema) === "integer" ? 1 : 0);
  const value = Math.max(least, Math.min(1, most));
  return step > 0 ? Math.ceil(value / step) * step : value;
}

/** An example for a string. */
export function textOf(schema: Json): string {
  const { format, pattern, minLength, maxLength, [FILE_KEYWORD]: file } = schema;
  if (file !== undefined) return `data:text/plain,${TEXT}`;
  if (typeof format === "string" && Object.hasOwn(FORMATS, format)) return FORMATS[format]!;
  if (pattern !== undefined) return TEXTS.find((text) => fits(schema, text)) ?? TEXT;
  const least = Math.min(Number(minLength ?? 0), 100_000);
  const text = TEXT.repeat(Math.max(1, Math.ceil(least / TEXT.length)));
  return text.slice(0, Math.max(least, Math.min(TEXT.length, Number(maxLength ?? TEXT.length))));
}
