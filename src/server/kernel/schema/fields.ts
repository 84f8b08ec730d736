/** The fields of a form, from the schema of an elicitation. */
import { isObject, type Json } from "../core/model.ts";

interface Option {
  value: unknown;
  title: string;
}

/** One field of a form. Options are sent by index, since browsers change line breaks in values. */
export interface Field {
  /** The property's name in the schema. */
  name: string;
  /** Its name in the form. */
  id: string;
  label: string;
  hint: string | undefined;
  isRequired: boolean;
  kind: "line" | "area" | "number" | "yes-no" | "one" | "many" | "json";
  /** The type of the input of a line. */
  type: "text" | "email" | "url" | "date";
  options: readonly Option[];
  default: readonly string[];
}

/** The texts typed or chosen, by the fields' names in the form. */
export type Typed = ReadonlyMap<string, readonly string[]>;

/** A longer text gets an input of several lines. */
const LINE = 200;

const TYPES = { email: "email", uri: "url", date: "date" } as const;

/** https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema */
export function fieldsOf(schema: Json): Field[] {
  const { properties, required } = schema;
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(isObject(properties) ? properties : {}).map(([name, given], nth) => {
    const property = isObject(given) ? given : {};
    const { title, description, format } = property;
    const options = optionsOf(isObject(property["items"]) ? property["items"] : property);
    const field = {
      name,
      id: `f${nth}`,
      label: typeof title === "string" && title !== "" ? title : name,
      hint: hintOf(description, format),
      isRequired: needed.has(name),
      kind: kindOf(property, options.length > 0),
      type: isKnown(format) ? TYPES[format] : ("text" as const),
      options,
    };
    const only = field.isRequired ? property["const"] : undefined;
    return { ...field, default: asTyped(field, property["default"] ?? only) };
  });
}

const isKnown = (format: unknown): format is keyof typeof TYPES =>
  typeof format === "string" && Object.hasOwn(TYPES, format);

function hintOf(description: unknown, format: unknown): string | undefined {
  const said = typeof description === "string" && description !== "" ? [description] : [];
  // No input type has a time zone.
  const example = format === "date-time" ? ["Such as 2026-11-23T14:00:00Z"] : [];
  return [...said, ...example].join(". ") || undefined;
}

function kindOf(property: Json, hasOptions: boolean): Field["kind"] {
  const { type, format } = property;
  if (hasOptions) return type === "array" ? "many" : "one";
  switch (type) {
    case "string":
      return format === undefined && hasLines(property) ? "area" : "line";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "yes-no";
    default:
      return "json";
  }
}

/** True for a text that may be long, or whose default or example has several lines. */
function hasLines({ maxLength, default: preset, examples }: Json): boolean {
  const isLong = typeof maxLength === "number" && maxLength > LINE;
  return isLong || [preset, examples].flat().some((one) => /[\r\n]/.test(String(one)));
}

/** The options of a choice: `const`, `enum` with or without `enumNames`, or `oneOf` or `anyOf` with a `const` each. */
function optionsOf({ const: only, enum: given, enumNames, oneOf, anyOf }: Json): Option[] {
  const values = only === undefined ? given : [only];
  const titled = [oneOf, anyOf].find(Array.isArray) as unknown[] | undefined;
  if (titled?.every((one) => isObject(one) && "const" in one)) {
    return (titled as Json[]).map((one) => ({
      value: one["const"],
      title: titleOf(one["const"], one["title"]),
    }));
  }
  const names = Array.isArray(enumNames) ? (enumNames as unknown[]) : [];
  return Array.isArray(values)
    ? values.map((value, nth) => ({ value, title: titleOf(value, names[nth]) }))
    : [];
}

function titleOf(value: unknown, title: unknown): string {
  if (typeof title === "string" && title !== "") return title;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A value as it would be typed into a field. Options keep their order, each once, as a browser sends them. */
export function asTyped(
  { kind, options }: Pick<Field, "kind" | "options">,
  value: unknown,
): string[] {
  if (value === undefined) return [];
  if (kind === "one" || kind === "many") {
    const all = kind === "many" ? [value].flat() : [value];
    const chosen = new Set(all.map((one) => JSON.stringify(one)));
    return options.flatMap((one, at) =>
      chosen.delete(JSON.stringify(one.value)) ? [String(at)] : [],
    );
  }
  if (value === null && kind !== "json") return [];
  return [kind !== "json" && typeof value === "string" ? value : JSON.stringify(value)];
}

/** The submitted values of these fields; all others are dropped. */
export function typedIn(fields: readonly Field[], form: URLSearchParams): Typed {
  const sent = Map.groupBy(form, ([id]) => id);
  const textsOf = (id: string) => (sent.get(id) ?? []).map(([, text]) => text);
  return new Map(fields.map(({ id }) => [id, textsOf(id)]));
}

/** The content of an answer, unchecked: text that is not a valid value of its field stays text. */
export function contentOf(fields: readonly Field[], typed: Typed): Json {
  const entries = fields.flatMap((field): [string, unknown][] => {
    const value = fieldValue(field, typed.get(field.id) ?? []);
    return value === undefined ? [] : [[field.name, value]];
  });
  return Object.fromEntries(entries);
}

/** The value of a field; undefined if it was left empty. */
export function fieldValue(
  { kind, options, isRequired }: Field,
  texts: readonly string[],
): unknown {
  const chosen = (text: string) => {
    const option = /^\d{1,9}$/.test(text) ? options[Number(text)] : undefined;
    return option === undefined ? text : option.value;
  };
  const [text = ""] = texts;
  if (kind === "many") return texts.length > 0 || isRequired ? texts.map(chosen) : undefined;
  if (text.trim() === "") return undefined;
  switch (kind) {
    case "line":
    case "area":
      return text;
    case "number":
      return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : text;
    case "yes-no":
      return text === "true" || (text === "false" ? false : text);
    case "one":
      return chosen(text);
    case "json":
      return parsed(text);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
