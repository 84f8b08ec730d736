/** Converts the schemas of an OpenAPI description to zod code. */
import { isObject, type Json } from "../../server/kernel/core/model.ts";
import { shortened } from "../../server/kernel/core/text.ts";
import type { Description } from "./description.ts";
import { componentName, UniqueNames, sentences } from "./words.ts";

/** Maximum number of members of all objects in a tool's input. Beyond it, inner objects are printed without members. */
const MOST_MEMBERS = 120;
/** Maximum depth of objects in an argument. */
const DEEPEST = 4;
/** Maximum number of values printed for an enumeration. */
const MOST_VALUES = 60;
const MOST_CHOICES = 8;
/** Maximum nesting of schemas: TypeScript fails at some deeper types. */
const MOST_NESTED = 12;
/** Maximum length of an argument's description, in characters. */
const DESCRIPTION = 120;

/** A schema merged with its `$ref` target and its `allOf` parts. */
export interface Shape {
  type:
    | "object"
    | "array"
    | "string"
    | "integer"
    | "number"
    | "boolean"
    | "values"
    | "choice"
    | "any";
  isNullable: boolean;
  /** All its keywords. */
  keywords: Json;
  properties: Record<string, unknown>;
  required: ReadonlySet<string>;
  /** The alternatives of a choice. */
  choices: unknown[];
  /** The values of an enumeration. */
  values: (string | number | boolean)[];
  /** The references that led to this schema. An inner schema with one of them is circular. */
  references: readonly string[];
}

/** Parts of an argument's description that are not from its schema. */
export interface About {
  /** Replaces the schema's own description. */
  description?: string | undefined;
  /** Its name in the API. */
  original?: string;
}

export class Schemas {
  readonly #description: Description;
  readonly #names = new UniqueNames(RESERVED);
  /** Components whose code is printed once, by reference, with the number of their uses. */
  readonly #used = new Map<string, { name: string; code: string; times: number }>();
  readonly #sizes = new Map<string, number>();
  readonly #circular = new Map<string, boolean>();
  /** The number of schemas around the current one. */
  #level = 0;
  /** Notes on where the code accepts more than the description does, and why. */
  readonly notes = new Set<string>();

  constructor(description: Description) {
    this.#description = description;
  }

  /** Merges a schema; `references` are those that led to it. */
  shapeOf(schema: unknown, references: readonly string[] = []): Shape {
    const seen = [...references];
    const parts = this.#partsOf(schema, seen);
    const keywords: Json = Object.assign({}, ...parts.toReversed());
    const properties = propertiesOf(parts);
    const required = new Set(parts.flatMap((part) => textsIn(part["required"])));
    let isNullable = keywords["nullable"] === true;
    let choices = [...listIn(keywords["oneOf"]), ...listIn(keywords["anyOf"])];
    const types = [keywords["type"] ?? []].flat();
    if (types.length > 1) {
      choices = types.map((type) => ({ ...keywords, type, oneOf: undefined, anyOf: undefined }));
    }
    const isNull = (one: unknown) =>
      isObject(one) &&
      (one["type"] === "null" ||
        (listIn(one["enum"]).length === 1 && listIn(one["enum"])[0] === null));
    if (choices.some(isNull)) isNullable = true;
    choices = choices.filter((one) => !isNull(one));
    if (choices.length === 1) {
      const { oneOf: _one, anyOf: _any, type: _type, ...rest } = keywords;
      const only = this.shapeOf({ ...rest, allOf: [choices[0]] }, seen);
      return { ...only, isNullable: isNullable || only.isNullable };
    }
    // The members of an object's alternatives become its optional members.
    if (Object.keys(properties).length > 0 && choices.length > 0) {
      this.#addAlternatives(properties, choices, [...seen]);
      choices = [];
    }
    const all = "const" in keywords ? [keywords["const"]] : listIn(keywords["enum"]);
    if (all.includes(null)) isNullable = true;
    const values = all.filter((one) => ["string", "number", "boolean"].includes(typeof one));
    const shape = {
      isNullable,
      keywords,
      properties,
      required,
      choices,
      values: [...new Set(values)] as Shape["values"],
      references: seen,
    };
    return { ...shape, type: typeOf(shape, types[0]) };
  }

  /** Adds the members of these alternatives and of nested alternatives. Follows each reference once. */
  #addAlternatives(properties: Json, choices: readonly unknown[], references: string[]): void {
    for (const choice of choices) {
      const parts = this.#partsOf(choice, references);
      for (const [name, one] of Object.entries(propertiesOf(parts))) properties[name] ??= one;
      const inner = parts.flatMap(({ oneOf, anyOf }) => [...listIn(oneOf), ...listIn(anyOf)]);
      this.#addAlternatives(properties, inner, references);
    }
  }

  /** The keywords of the schema, its parts and its reference's target. Adds followed references to `references`. */
  #partsOf(schema: unknown, references: string[]): Json[] {
    if (!isObject(schema)) return [];
    const { $ref: reference, allOf, ...own } = schema;
    const others = listIn(allOf).flatMap((one) => this.#partsOf(one, references));
    if (typeof reference !== "string" || references.includes(reference)) return [own, ...others];
    references.push(reference);
    const target = this.#description.resolved<Json>({ $ref: reference });
    return [own, ...others, ...this.#partsOf(target, references)];
  }

  /** The greatest depth at which these schemas have at most `MOST_MEMBERS` members. */
  depthFor(schemas: readonly unknown[]): number {
    for (let depth = DEEPEST; depth > 0; depth--) {
      const size = schemas.reduce<number>((sum, one) => sum + this.#sizeOf(one, depth, []), 0);
      if (size <= MOST_MEMBERS) return depth;
    }
    return 0;
  }

  /** The number of a schema's members to this depth. */
  #sizeOf(schema: unknown, depth: number, references: readonly string[]): number {
    const reference = referenceIn(schema);
    const key = `${depth} ${reference}`;
    const known = reference === undefined ? undefined : this.#sizes.get(key);
    if (known !== undefined) return known;
    if (reference !== undefined && references.includes(reference)) return 1;
    const shape = this.shapeOf(schema, references);
    const inner = (one: unknown, deeper: number) => this.#sizeOf(one, deeper, shape.references);
    let size = 1;
    const { items, additionalProperties } = shape.keywords;
    if (shape.type === "array") size = inner(items, depth);
    if (shape.type === "choice")
      size = shape.choices.reduce<number>((sum, one) => sum + inner(one, depth), 0);
    if (shape.type === "object" && depth > 0) {
      for (const one of [...Object.values(shape.properties), additionalProperties ?? []].flat()) {
        if (size > MOST_MEMBERS) break;
        size += inner(one, depth - 1);
      }
    }
    if (reference !== undefined) this.#sizes.set(key, size);
    return size;
  }

  /** The code of a schema with its description, to this depth of objects. Read-only members are omitted. */
  codeOf(
    schema: unknown,
    depth: number,
    about: About = {},
    references: readonly string[] = [],
  ): string {
    const reference = referenceIn(schema);
    if (reference !== undefined && references.includes(reference)) {
      const name = componentName(reference);
      this.notes.add(`${name} contains itself: any object is accepted there`);
      return withDescription("z.looseObject({})", `Another ${name}, like the one around it`);
    }
    const shape = this.shapeOf(schema, references);
    const text = this.describe(shape, about);
    this.#level++;
    const bare =
      reference !== undefined && this.#isReusable(reference, shape)
        ? this.#use(reference, shape)
        : this.#bare(shape, depth);
    this.#level--;
    return withDescription(nullable(bare, shape), text);
  }

  /** The code of a schema without its description. */
  bareCodeOf(schema: unknown): string {
    return this.#bare(this.shapeOf(schema), 0);
  }

  /** The code of a shape without its description, and without `nullable`. */
  #bare(shape: Shape, depth: number): string {
    const inner = (one: unknown, deeper: number) => this.codeOf(one, deeper, {}, shape.references);
    const { keywords, values } = shape;
    if (this.#level > MOST_NESTED) return "z.unknown()";
    switch (shape.type) {
      case "values":
        if (values.length > MOST_VALUES)
          return typeof values[0] === "string" ? "z.string()" : "z.number()";
        if (values.every((one) => typeof one === "string"))
          return `z.enum(${JSON.stringify(values)})`;
        return `z.literal(${JSON.stringify(values)})`;
      case "string":
        return checked("z.string()", [
          least("z.minLength", keywords["minLength"]),
          least("z.maxLength", keywords["maxLength"]),
        ]);
      case "integer":
      case "number":
        return checked(shape.type === "integer" ? "z.int()" : "z.number()", rangeOf(keywords));
      case "boolean":
        return "z.boolean()";
      case "array":
        return checked(`z.array(${inner(keywords["items"], depth)})`, [
          least("z.minLength", keywords["minItems"]),
          least("z.maxLength", keywords["maxItems"]),
        ]);
      case "choice": {
        const sizes = shape.choices.map((one) => this.#sizeOf(one, depth, shape.references));
        // Without this limit, nested choices could be printed endlessly.
        if (sizes.reduce((sum, size) => sum + size, 0) > MOST_MEMBERS) return "z.unknown()";
        const codes = [...new Set(shape.choices.map((one) => inner(one, depth)))];
        return codes.length === 1 ? codes[0]! : `z.union([${codes.join(", ")}])`;
      }
      case "object":
        return this.#objectOf(shape, depth);
      case "any":
        return "z.unknown()";
    }
  }

  #objectOf({ properties, required, keywords, references }: Shape, depth: number): string {
    const members = Object.entries(properties).filter(
      ([name, one]) =>
        name !== "__proto__" && this.shapeOf(one, references).keywords["readOnly"] !== true,
    );
    const more = keywords["additionalProperties"];
    if (members.length === 0) {
      return isObject(more) && Object.keys(more).length > 0 && depth > 0
        ? `z.record(z.string(), ${this.codeOf(more, depth - 1, {}, references)})`
        : "z.looseObject({})";
    }
    if (depth === 0) {
      this.notes.add("Objects that are large or deeply nested are accepted with any members");
      return "z.looseObject({})";
    }
    const lines = members.map(([name, one]) => {
      const code = this.codeOf(one, depth - 1, {}, references);
      return `${JSON.stringify(name)}: ${required.has(name) ? code : `z.optional(${code})`},`;
    });
    const code = `{\n${lines.join("\n")}\n}`;
    return isClosed({ keywords })
      ? `z.strictObject(${code})`
      : this.openObject(code, more ?? true, depth, references);
  }

  /** The code of an object with these members. `more` is the schema of additional members; `true` allows any. */
  openObject(
    members: string,
    more: unknown,
    depth: number,
    references: readonly string[] = [],
  ): string {
    if (more === undefined) return `z.object(${members})`;
    const isAny = !isObject(more) || Object.keys(more).length === 0 || depth === 0;
    if (isAny) return `z.looseObject(${members})`;
    return `z.catchall(z.object(${members}), ${this.codeOf(more, depth - 1, {}, references)})`;
  }

  /** True for a component of moderate size: its code is written once, however often it is used. */
  #isReusable(reference: string, { type }: Shape): boolean {
    if (!reference.startsWith("#/components/schemas/") || type !== "object") return false;
    const size = this.#sizeOf({ $ref: reference }, DEEPEST, []);
    return size > 2 && size <= MOST_MEMBERS / 3 && !this.#isCircular(reference);
  }

  #isCircular(reference: string): boolean {
    const known = this.#circular.get(reference) ?? this.#leadsToItself(reference);
    this.#circular.set(reference, known);
    return known;
  }

  #leadsToItself(reference: string): boolean {
    const queue: unknown[] = [this.shapeOf({ $ref: reference })];
    const known = new Set<string>();
    for (const one of queue) {
      if (Array.isArray(one)) queue.push(...(one as unknown[]));
      if (!isObject(one)) continue;
      const { $ref: inner } = one;
      if (inner === reference) return true;
      if (typeof inner === "string" && !known.has(inner)) {
        known.add(inner);
        queue.push(this.#description.resolved<Json>({ $ref: inner }));
      }
      queue.push(...Object.values(one));
    }
    return false;
  }

  /** A placeholder for the code of a component, until `linked` replaces it. */
  #use(reference: string, shape: Shape): string {
    const known = this.#used.get(reference);
    if (known !== undefined) {
      known.times++;
      return mark(reference);
    }
    const base = componentName(reference);
    const name = this.#names.take(base, base, (count) => `${base}${count}`);
    const entry = { name, code: "", times: 1 };
    this.#used.set(reference, entry);
    entry.code = this.#bare(shape, DEEPEST);
    return mark(reference);
  }

  /** Replaces the placeholders: by a name and a declaration if a component is used more than once, else by its code. */
  linked(code: string): { code: string; declarations: string[] } {
    const declarations: string[] = [];
    const declared = new Set<string>();
    const linkOne = (reference: string): string => {
      const { name, code: own, times } = this.#used.get(reference)!;
      if (times === 1) return link(own);
      if (!declared.has(reference)) {
        declared.add(reference);
        declarations.push(`const ${name} = ${link(own)};`);
      }
      return name;
    };
    const link = (text: string): string =>
      text
        .split(MARK)
        .map((part, at) => (at % 2 === 0 ? part : linkOne(part)))
        .join("");
    return { code: link(code), declarations };
  }

  /** The description of a value, with its default and those constraints that the code does not check. */
  describe(
    { keywords, values }: Pick<Shape, "keywords" | "values">,
    { description, original }: About = {},
  ): string | undefined {
    const own = description ?? keywords["description"];
    const text = sentences(typeof own === "string" ? own : "", DESCRIPTION);
    const { default: usual, format, pattern } = keywords;
    const more: string[] = [];
    if (values.length > MOST_VALUES) more.push(`Such as ${values.slice(0, 5).join(", ")}.`);
    if (
      ["string", "number", "boolean"].includes(typeof usual) &&
      usual !== "" &&
      !/default/i.test(text)
    ) {
      more.push(`Default: ${String(usual)}.`);
    }
    if (
      typeof format === "string" &&
      Object.hasOwn(FORMATS, format) &&
      !FORMATS[format]![0].test(text)
    ) {
      more.push(FORMATS[format]![1]);
    }
    if (typeof pattern === "string" && pattern.length <= 40 && values.length === 0) {
      more.push(`Must match ${pattern}.`);
    }
    if (original !== undefined) more.push(`\`${shortened(original, 100)}\` in the API.`);
    if (more.length === 0) return text || undefined;
    const ended = text === "" || /[.!?:]$/.test(text) ? text : `${text}.`;
    return `${ended} ${more.join(" ")}`.trim();
  }
}

/** A description for each format, added unless the schema's own fits the pattern. */
const FORMATS: Readonly<Record<string, readonly [RegExp, string]>> = {
  "date-time": [/ISO|RFC ?3339|YYYY/i, "Such as 2026-01-31T12:00:00Z."],
  date: [/ISO|RFC ?3339|YYYY/i, "Such as 2026-01-31."],
  uuid: [/uuid/i, "A UUID."],
  uri: [/ur[il]/i, "A URL."],
  email: [/mail/i, "An email address."],
};

/** Names of JavaScript globals, which a constant must not shadow. */
const RESERVED = new Set([
  "Array",
  "Object",
  "String",
  "Number",
  "Boolean",
  "Date",
  "Error",
  "Map",
  "Set",
  "Promise",
  "Record",
  "Symbol",
  "Uint8Array",
]);

/** Encloses a component's reference in code. Strings in code are JSON, in which this character is escaped. */
const MARK = "\0";
const mark = (reference: string) => `${MARK}${reference}${MARK}`;

const referenceIn = (schema: unknown): string | undefined =>
  isObject(schema) && typeof schema["$ref"] === "string" ? schema["$ref"] : undefined;

/** True for an object schema that forbids additional members. */
export const isClosed = ({ keywords }: Pick<Shape, "keywords">): boolean =>
  keywords["additionalProperties"] === false || keywords["unevaluatedProperties"] === false;

function typeOf(
  { values, choices, properties, keywords }: Omit<Shape, "type">,
  type: unknown,
): Shape["type"] {
  if (values.length > 0) return "values";
  if (choices.length > MOST_CHOICES) return "any";
  if (choices.length > 1) return "choice";
  switch (type) {
    case "object":
    case "array":
    case "string":
    case "integer":
    case "number":
    case "boolean":
      return type;
    default:
      if (Object.keys(properties).length > 0 || isObject(keywords["additionalProperties"]))
        return "object";
      return isObject(keywords["items"]) ? "array" : "any";
  }
}

/** The merged members of an object's parts. The first part with a name takes precedence. */
function propertiesOf(parts: readonly Json[]): Json {
  const properties = Object.create(null) as Json;
  for (const { properties: own } of parts) {
    if (!isObject(own)) continue;
    for (const [name, one] of Object.entries(own)) properties[name] ??= one;
  }
  return properties;
}

const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const textsIn = (value: unknown): string[] =>
  listIn(value).filter((one) => typeof one === "string");

const nullable = (code: string, { isNullable, type }: Shape) =>
  isNullable && type !== "any" ? `z.nullable(${code})` : code;

/** Adds checks to the code of a schema. */
function checked(code: string, checks: readonly (string | undefined)[]): string {
  const all = checks.filter((check) => check !== undefined);
  return all.length === 0 ? code : `${code}.check(${all.join(", ")})`;
}

/** Adds a description to the code of a schema, as the last of its checks if it has any. */
export function withDescription(code: string, text: string | undefined): string {
  if (text === undefined || text === "") return code;
  const describe = `z.describe(${JSON.stringify(text)})`;
  const [, before] = /^(z\.(?:string|int|number)\(\)\.check\(.*)\)$/s.exec(code) ?? [];
  return before === undefined ? `${code}.check(${describe})` : `${before}, ${describe})`;
}

const least = (check: string, value: unknown): string | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0
    ? `${check}(${value})`
    : undefined;

function rangeOf(keywords: Json): string[] {
  const number = (key: string): number | undefined => {
    const value = keywords[key];
    // The bounds of 64-bit integers cannot be written as numbers in JavaScript.
    return typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER
      ? value
      : undefined;
  };
  const [from, to] = [number("minimum"), number("maximum")];
  const [above, below] = [number("exclusiveMinimum"), number("exclusiveMaximum")];
  return [
    ...(from === undefined
      ? []
      : [`z.${keywords["exclusiveMinimum"] === true ? "gt" : "gte"}(${from})`]),
    ...(to === undefined
      ? []
      : [`z.${keywords["exclusiveMaximum"] === true ? "lt" : "lte"}(${to})`]),
    ...(above === undefined ? [] : [`z.gt(${above})`]),
    ...(below === undefined ? [] : [`z.lt(${below})`]),
  ];
}
