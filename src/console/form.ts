/** The model of a form for a schema: its parts, the entered values, and their validation errors. */
import { UriTemplate } from "@modelcontextprotocol/client";
import { isObject, type Json } from "../server/kernel/core/model.ts";
import { jsonIn } from "../server/kernel/core/text.ts";
import { oncePer } from "../server/kernel/core/once-per.ts";
import { mapValues } from "../server/kernel/core/values.ts";
import { asTyped, fieldsOf, fieldValue, type Field } from "../server/kernel/schema/fields.ts";
import { holdsSecret, targetOf } from "../server/kernel/schema/secrets.ts";
import { rulesOf } from "../server/kernel/schema/words.ts";
import { boundsInWords, fileBoundsOf, type FileBounds } from "./files.ts";

/** A value of a form: a field, a group of members, or rows of a list. */
export interface FormPart {
  /** The field. Its id is unique in the form. */
  field: Field;
  /** The path of the value in the content. */
  path: readonly string[];
  schema: Json;
  /** Hints about the value: limits, default and example. */
  rules: readonly string[];
  /** True for a secret, which is not stored. */
  isSecret: boolean;
  /** The document in which references of the schema are resolved. */
  root: Json;
  /** True for a required value that is null if its field is left empty. */
  isNullable: boolean;
  /** The bounds of a file, whose URI is the value. */
  file?: FileBounds;
  /** The parts of an object with few members. */
  members?: readonly FormPart[];
  /** The part of a list's items, which are simple values or objects. `listRowOf` makes the part of one object. */
  item?: FormPart;
  /** The parts of a union, one for each kind of value. */
  branches?: readonly FormPart[];
}

/** Maximum number of fields in a form: larger forms block the page for seconds. */
const FIELDS = 200;
/** Maximum number of parts with members or items. */
const NESTING = 200;
/** Maximum number of options in all fields together. */
const OPTIONS = 2000;
/** Maximum length of a label, in characters. */
const LABEL = 200;
/** Maximum number of an object's members that become fields. */
const NESTED = 20;
/** Maximum depth of objects whose members become fields. */
const DEPTH = 3;
/** Maximum number of rows in a list of objects. */
const ROWS = 50;
/** Maximum number of fields in a row. */
const ROW_FIELDS = 8;
/** Maximum number of kinds in a union. */
const BRANCHES = 10;

/** The parts of the form for a schema. A value beyond the limits is a field for JSON. */
export const formPartsOf = oncePer((schema: Json): readonly FormPart[] => {
  const room = { options: OPTIONS, nesting: NESTING };
  const { properties, required } = plain(schema, schema);
  const all = Object.entries(isObject(properties) ? properties : {});
  const shown = Object.fromEntries(all.slice(0, FIELDS));
  const parts = membersOf(
    { properties: shown, required },
    { root: schema, room, path: [], depth: 0, id: "" },
  );
  const others = all.length - parts.length;
  return others > 0 ? [...parts, othersOf(others)] : parts;
});

interface Within {
  root: Json;
  room: { options: number; nesting: number };
  path: readonly string[];
  /** The number of objects around the part. Lists and unions add no depth. */
  depth: number;
  id: string;
  isNullable?: boolean;
  /** True inside a union. */
  isBranch?: boolean;
}

function membersOf({ properties, required }: Json, within: Within): FormPart[] {
  const { root, path, id } = within;
  const known = isObject(properties) ? properties : {};
  const nullable = new Set(Object.keys(known).filter((name) => mayBeNull(known[name], root)));
  const plains = mapValues(known, (one) => withFewOptions(plain(one, root)));
  return fieldsOf({ properties: plains, required }).map((field) =>
    partOf({ ...field, id: `${id}${field.id}` }, plains[field.name]!, {
      ...within,
      path: [...path, field.name],
      depth: within.depth + 1,
      isNullable: nullable.has(field.name),
    }),
  );
}

/** The schema, without its type and choices if it has more than `OPTIONS` of them. Its value is then a JSON field. */
function withFewOptions(schema: Json): Json {
  const of = isObject(schema["items"]) ? schema["items"] : schema;
  const lists = [of["enum"], of["oneOf"], of["anyOf"]];
  if (lists.every((one) => !Array.isArray(one) || one.length <= OPTIONS)) return schema;
  const { type: _type, items: _items, enum: _enum, oneOf: _one, anyOf: _any, ...others } = schema;
  return others;
}

function partOf(given: Field, schema: Json, within: Within): FormPart {
  const { root, room, path, depth } = within;
  let field = { ...given, label: given.label.slice(0, LABEL) };
  if (field.options.length > room.options)
    field = { ...field, kind: "json", options: [], default: [] };
  else room.options -= field.options.length;
  const isSecret = schema["format"] === "password" || schema["writeOnly"] === true;
  const isNullable = within.isNullable === true && field.isRequired && canBeNullWhenEmpty(field);
  const isText = field.kind === "line" || field.kind === "area";
  const file = isText && !isSecret ? fileBoundsOf(schema) : undefined;
  const rules = hintsOf(schema, file);
  const part: FormPart = {
    field,
    path,
    schema,
    rules,
    isSecret,
    root,
    isNullable: false,
    ...(file && { file }),
  };
  const simple = isNullable ? { ...part, isNullable, rules: [...rules, "empty for null"] } : part;
  if (field.kind !== "json" || depth > DEPTH || room.nesting <= 0) return simple;
  room.nesting--;
  const { properties, type, items } = schema;
  if (isObject(properties) && depth < DEPTH) {
    const count = Object.keys(properties).length;
    const members =
      count > 0 && count <= NESTED
        ? membersOf(schema, { root, room, path, depth, id: `${field.id}.` })
        : [];
    if (members.length > 0 && countOf(members) <= NESTED) return { ...part, members };
  }
  if (type === "array" && isObject(items)) {
    const [item] = membersOf(
      { properties: { item: items } },
      { root, room, path, depth: depth - 1, id: `${field.id}-` },
    );
    const isSimple = item && !item.members && !item.item && item.field.kind !== "json";
    if (isSimple) return { ...part, item: { ...item, field: { ...item.field, id: field.id } } };
    const { default: preset = [] } = schema;
    const areRows = item?.members && countOf(item.members) <= ROW_FIELDS && !hasOthers(items);
    if (areRows && Array.isArray(preset) && preset.length <= ROWS) return { ...part, item };
  }
  const kinds = within.isBranch === true ? [] : kindsOf(schema, root);
  const branches = kinds.flatMap((kind, nth) => {
    const only = { properties: { [field.name]: kind }, required: [field.name] };
    const around = path.slice(0, -1);
    const id = `${field.id}~${nth}.`;
    return membersOf(only, { root, room, path: around, depth: depth - 1, id, isBranch: true }).map(
      (branch) => ({
        ...branch,
        field: { ...branch.field, label: labelOf(kind, nth) },
      }),
    );
  });
  const areFields = branches.every((one) => one.members || one.item || one.field.kind !== "json");
  return branches.length > 0 && areFields ? { ...simple, branches } : simple;
}

/** True for an object schema that allows additional members, which rows cannot show. */
const hasOthers = ({ additionalProperties: others }: Json): boolean =>
  others !== undefined && others !== false;

/** The schemas of a union's kinds; empty if the schema is not a union or has too many kinds. */
function kindsOf(schema: Json, root: Json): Json[] {
  const { anyOf, oneOf, title: _title, description: _about, default: _preset, ...own } = schema;
  const choice = [anyOf, oneOf].find(Array.isArray) as unknown[] | undefined;
  const { type } = own;
  const types = Array.isArray(type) ? (type as unknown[]) : [];
  const kinds = choice
    ? choice.map((one) => joined(own, plain(one, root)))
    : types.map((one) => ({ ...own, type: one }));
  const others = kinds.filter((one) => one["type"] !== "null");
  return others.length > 1 && others.length <= BRANCHES ? others : [];
}

/** The schema of a kind, merged with the keywords that all kinds share. */
function joined(own: Json, kind: Json): Json {
  const [common, more] = [own["properties"], kind["properties"]];
  if (!isObject(common) || !isObject(more)) return { ...own, ...kind };
  const required = [own["required"], kind["required"]].flatMap((one) => one ?? []);
  return { ...own, ...kind, properties: { ...common, ...more }, required };
}

/** The label of a kind: its title, the value of its discriminating member, or its type. */
function labelOf({ title, properties, type, const: only }: Json, nth: number): string {
  const members = Object.values(isObject(properties) ? properties : {});
  const telling = members.find((one) => isObject(one) && one["const"] !== undefined) as
    | Json
    | undefined;
  const named = [title, telling?.["const"], only].find((one) => one !== undefined && one !== "");
  if (named !== undefined) return asText(named).slice(0, LABEL);
  return (typeof type === "string" ? TYPE_NAMES[type] : undefined) ?? `Kind ${nth + 1}`;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "text",
  number: "number",
  integer: "whole number",
  boolean: "yes or no",
  array: "list",
  object: "object",
};

/** The part of one object in a list. `key` makes the ids of its fields unique; `nth` is its index. */
export function listRowOf({ item, field, path }: FormPart, key: string, nth: number): FormPart {
  const own = item!;
  const prefix = `${field.id}-${key}`;
  const inRow = (part: FormPart): FormPart => ({
    ...part,
    field: { ...part.field, id: `${prefix}${part.field.id.slice(own.field.id.length)}` },
    path: [...path, String(nth), ...part.path.slice(own.path.length)],
    ...(part.members && { members: part.members.map(inRow) }),
    ...(part.item && { item: inRow(part.item) }),
    ...(part.branches && { branches: part.branches.map(inRow) }),
  });
  const row = inRow(own);
  return { ...row, field: { ...row.field, label: `${field.label} ${nth + 1}`, isRequired: true } };
}

/** True for a field of one value that can be left empty and has no option for null. */
const canBeNullWhenEmpty = ({ kind, options }: Field): boolean =>
  kind !== "yes-no" && kind !== "many" && options.every(({ value }) => value !== null);

const countOf = (parts: readonly FormPart[]): number =>
  parts.reduce((sum, { members = [], branches = [] }) => {
    const within = [...members, ...branches];
    return sum + (within.length > 0 ? countOf(within) : 1);
  }, 0);

/** Formats that the input element already shows. */
const SHOWN_FORMATS = new Set<unknown>(["date", "date-time", "password", undefined]);

/** Greater maximum lengths are shown only when exceeded: they are rarely reached. */
const RARE_LENGTH = 100;
const RARE_ITEMS = 20;

/** Hints that help while filling in a field. The field itself shows its options, default and kind. */
const hintsOf = (schema: Json, file: FileBounds | undefined): string[] => {
  const { examples, default: _preset, enum: _options, const: _only, format, ...limits } = schema;
  const { maxLength, maxItems, minLength, minItems } = limits;
  if (Number(maxLength) >= RARE_LENGTH) delete limits["maxLength"];
  if (Number(maxItems) >= RARE_ITEMS) delete limits["maxItems"];
  if (minLength === 1) delete limits["minLength"];
  if (minItems === 1) delete limits["minItems"];
  const others = SHOWN_FORMATS.has(format) || file ? limits : { ...limits, format };
  const [example] = Array.isArray(examples) ? (examples as unknown[]) : [];
  const such = example === undefined ? [] : [`such as ${asText(example)}`];
  return [...(file ? boundsInWords(file) : []), ...rulesOf(others), ...such].map((one) =>
    one.slice(0, LABEL),
  );
};

const asText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/** Maximum length of a chain of references. */
const REFERENCES = 10;

/** Resolves references within the document, and removes null from the types. */
function plain(given: unknown, root: Json, depth = 0): Json {
  if (!isObject(given)) return {};
  const { $ref, anyOf, oneOf, allOf, type, ...own } = given;
  if (depth > REFERENCES) return given;
  const inner = (one: unknown) => ({ ...plain(one, root, depth + 1), ...own });
  if (typeof $ref === "string") {
    const to = targetOf($ref, root);
    return to === undefined ? given : inner(to);
  }
  const choice = [anyOf, oneOf].find(Array.isArray) as unknown[] | undefined;
  const others = choice?.filter((one) => !isObject(one) || one["type"] !== "null");
  if (others?.length === 1) return inner(others[0]);
  if (Array.isArray(allOf) && allOf.length === 1) return inner(allOf[0]);
  const types = Array.isArray(type) ? type.filter((one) => one !== "null") : [];
  return types.length === 1 ? { ...given, type: types[0] as unknown } : given;
}

/** True if null is one of the schema's types. */
function mayBeNull(given: unknown, root: Json): boolean {
  const reference = isObject(given) ? given["$ref"] : undefined;
  const schema = typeof reference === "string" ? targetOf(reference, root) : given;
  if (!isObject(schema)) return false;
  const choices = [schema["anyOf"], schema["oneOf"], { type: schema["type"] }].flat();
  return choices.some((one) => isObject(one) && [one["type"]].flat().includes("null"));
}

interface NamedText {
  name: string;
  description?: string | undefined;
  required?: boolean | undefined;
}

/** The schema of an object with these string members, for example the arguments of a prompt. */
export const stringsOf = (all: readonly NamedText[]): Json => ({
  properties: Object.fromEntries(
    all.map(({ name, description }) => [name, { type: "string", description }]),
  ),
  required: all.filter(({ required }) => required === true).map(({ name }) => name),
});

/** The schema of a URI template's variables. Only query variables are optional. */
export function templateSchemaOf(template: string): Json {
  const withoutQuery = template.replaceAll(/\{[?&][^}]*\}/g, "");
  const required = new Set(new UriTemplate(withoutQuery).variableNames);
  const names = new Set(new UriTemplate(template).variableNames);
  return stringsOf([...names].map((name) => ({ name, required: required.has(name) })));
}

const OTHERS = "others";

const othersOf = (count: number): FormPart => ({
  field: {
    name: "",
    id: OTHERS,
    label: `${count} other values`,
    isRequired: false,
    kind: "json",
    hint: "An object with their names.",
    type: "text",
    options: [],
    default: [],
  },
  path: [],
  schema: {},
  rules: [],
  isSecret: false,
  isNullable: false,
  root: {},
});

/** A validation error: the path of the value, and a message for the user. */
export interface Wrong {
  path: readonly string[];
  message: string;
}

/** The content of a form, and its validation errors. */
export function contentIn(
  parts: readonly FormPart[],
  form: FormData,
): { content: Json; wrong: Wrong[] } {
  const wrong: Wrong[] = [];
  const content = membersIn(parts, form, wrong);
  return { content, wrong };
}

function membersIn(parts: readonly FormPart[], form: FormData, wrong: Wrong[]): Json {
  const entries = parts.flatMap((part): [string, unknown][] => {
    const value = valueIn(part, form, wrong);
    if (part.field.id === OTHERS) return isObject(value) ? Object.entries(value) : [];
    return value === undefined ? [] : [[part.field.name, value]];
  });
  return Object.fromEntries(entries);
}

const textsOf = (form: FormData, id: string): string[] =>
  form.getAll(id).filter((one) => typeof one === "string");

/** The value of a part; undefined if the field is empty. */
function valueIn(part: FormPart, form: FormData, wrong: Wrong[]): unknown {
  const { field, members, item, branches, path } = part;
  if (members) {
    const within: Wrong[] = [];
    const all = membersIn(members, form, within);
    const isKept = form.has(field.id) && Object.keys(all).length > 0;
    const isUsed = field.isRequired || isKept || !areUntouched(members, all);
    if (!isUsed && within.length === 0) return undefined;
    wrong.push(...within);
    return all;
  }
  const texts = textsOf(form, field.id);
  if (branches) {
    const branch = branches[Number(texts[0] || NaN)];
    const value = branch && valueIn(branch, form, wrong);
    return value === undefined && part.isNullable ? null : value;
  }
  if (item?.members) {
    const rows = texts.map((key, nth) => valueIn(listRowOf(part, key, nth), form, wrong));
    return rows.length > 0 || field.isRequired ? rows : undefined;
  }
  if (item) {
    const values = texts.filter((text) => text.trim() !== "").flatMap((text) => rowsIn(item, text));
    return values.length > 0 || field.isRequired ? values : undefined;
  }
  if (field.kind === "yes-no") {
    if (texts.includes("true")) return true;
    return field.isRequired || field.default[0] === "true" ? false : undefined;
  }
  if (field.kind === "json" && !isJson(texts[0] ?? "")) {
    const message = 'is not valid JSON. Enter a value such as {"a": 1}, [1, 2] or "text".';
    wrong.push({ path, message });
    return undefined;
  }
  const entered = enteredIn(part, texts);
  const value = entered === undefined && part.isNullable ? null : entered;
  if (field.id === OTHERS && value !== undefined && !isObject(value))
    wrong.push({
      path: [],
      message: 'The other values are not an object. Enter one such as {"a": 1}.',
    });
  return value;
}

/** The value of a row, or several values if a list was pasted into it. */
function rowsIn(item: FormPart, text: string): unknown[] {
  const isList = /^\s*\[.*\]\s*$/s.test(text) && isJson(text);
  if (isList) return JSON.parse(text) as unknown[];
  return [enteredIn(item, [text])];
}

/** The value of a field or of a row. */
function enteredIn(part: FormPart, texts: readonly string[]): unknown {
  const value = fieldValue(part.field, texts);
  if (!isDateTime(part) || typeof value !== "string" || ZONE.test(value)) return value;
  // The input uses the browser's time zone and omits fractions of a second.
  const at = Date.parse(value);
  return Number.isNaN(at) ? value : new Date(at).toISOString().replace(".000Z", "Z");
}

const ZONE = /(Z|[+-]\d\d:?\d\d)$/i;

/** True for a date and time in a one-line input. */
export const isDateTime = ({ field, schema }: FormPart): boolean =>
  field.kind === "line" && schema["format"] === "date-time";

/** The object's own member with this name, even for names such as `constructor`; undefined if absent. */
export const memberOf = (content: unknown, name: string): unknown =>
  isObject(content) && Object.hasOwn(content, name) ? content[name] : undefined;

/** True if the value is absent or equals the part's initial value. */
function isUntouched(part: FormPart, value: unknown): boolean {
  if (value === undefined) return true;
  const form = new FormData();
  addTexts([part], undefined, form);
  return firstDifference(value, valueIn(part, form, [])) === undefined;
}

const areUntouched = (members: readonly FormPart[], values: unknown): boolean =>
  members.every((one) => isUntouched(one, memberOf(values, one.field.name)));

/** True for an optional group that has only default values: a hidden input with its id preserves the group. */
export function isMarked({ field, members }: FormPart, around: unknown): boolean {
  const values = memberOf(around, field.name);
  return (
    members !== undefined && !field.isRequired && isObject(values) && areUntouched(members, values)
  );
}

export const isJson = (text: string): boolean => jsonIn(text.trim() || "null") !== undefined;

/**
 * The initial value of a part: from the content, else its default. Undefined for optional parts that the content lacks.
 */
function initialOf({ field, schema }: FormPart, around: unknown): unknown {
  const given = memberOf(around, field.name);
  const isPreset = given === undefined && (field.isRequired || !isObject(around));
  return isPreset ? schema["default"] : given;
}

/** The initial texts of a field, or of the rows of a list of simple values. */
export function typedFor(part: FormPart, around: unknown): readonly string[] {
  const { field, item } = part;
  const isGiven = memberOf(around, field.name) !== undefined;
  if (!isGiven && !item && (field.isRequired || !isObject(around))) return field.default;
  const value = initialOf(part, around);
  if (!item) return asTyped(field, value);
  return Array.isArray(value) ? value.map((one) => asTyped(item.field, one)[0] ?? "") : [];
}

/** The initial objects of a list's rows, at most `ROWS`. Longer lists are edited as JSON. */
export function rowsFor(part: FormPart, around: unknown): readonly unknown[] {
  const value = initialOf(part, around);
  return Array.isArray(value) ? value.slice(0, ROWS) : [];
}

/** The index of the initial kind of a union: the first that preserves the value; undefined if none does. */
export function branchFor(part: FormPart, around: unknown): number | undefined {
  const value = initialOf(part, around);
  if (value === undefined || value === null)
    return part.field.isRequired && value !== null ? 0 : undefined;
  const content = { [part.field.name]: value };
  const nth = part.branches!.findIndex(
    (branch) => firstDifference(contentOfFields([branch], content), content) === undefined,
  );
  return nth < 0 ? undefined : nth;
}

/** The text after sanitization: https://html.spec.whatwg.org/multipage/input.html#value-sanitization-algorithm */
export function keptText(part: FormPart, text: string): string {
  const { kind, type } = part.field;
  if (kind !== "line") return text.replaceAll(/\r\n?/g, "\n");
  if (isDateTime(part)) {
    const at = Date.parse(text);
    const local = at - new Date(at).getTimezoneOffset() * 60_000;
    return isoOf(local).slice(0, "YYYY-MM-DDTHH:MM:SS".length);
  }
  const line = text.replaceAll(/[\r\n]/g, "");
  if (part.isSecret || type === "text") return line;
  if (type === "date") return isoOf(Date.parse(line)).startsWith(`${line}T`) ? line : "";
  return line.trim();
}

/** A time in ISO 8601; empty if date inputs do not support its year. */
const isoOf = (at: number): string => (at >= FIRST && at <= LAST ? new Date(at).toISOString() : "");
const FIRST = Date.parse("0001-01-01T00:00:00Z");
const LAST = Date.parse("9999-12-31T23:59:59Z");

/** Adds the initial texts of these parts' fields to `form`, as a browser would. */
function addTexts(parts: readonly FormPart[], around: unknown, form: FormData): void {
  for (const part of parts) {
    const { field, members, branches, item = part } = part;
    if (isMarked(part, around)) form.append(field.id, "");
    if (branches) {
      const nth = branchFor(part, around);
      if (nth === undefined) continue;
      form.append(field.id, String(nth));
      addTexts([branches[nth]!], around, form);
    } else if (item.members && item !== part)
      for (const [nth, value] of rowsFor(part, around).entries()) {
        form.append(field.id, String(nth));
        const row = listRowOf(part, String(nth), nth);
        addTexts([row], { [row.field.name]: value }, form);
      }
    else if (members) addTexts(members, memberOf(around, field.name), form);
    else for (const text of typedFor(part, around)) form.append(field.id, keptText(item, text));
  }
}

/** The parts, without required parts that the content lacks and the user has yet to enter. */
const partsWith = (parts: readonly FormPart[], content: unknown): FormPart[] =>
  parts.flatMap((part) => {
    const value = memberOf(content, part.field.name);
    if (value === undefined && part.field.isRequired) return [];
    return [part.members ? { ...part, members: partsWith(part.members, value) } : part];
  });

/** The content that the form would return for this content without changes by the user. */
export function contentOfFields(parts: readonly FormPart[], content: Json): Json {
  const form = new FormData();
  const known = partsWith(parts, content);
  addTexts(known, content, form);
  return contentIn(known, form).content;
}

/** Describes the first change that the fields would make to the content; undefined if they preserve it. */
export function changeByFields(parts: readonly FormPart[], content: Json): string | undefined {
  const { path, value } = firstDifference(contentOfFields(parts, content), content) ?? {};
  if (path === undefined) return undefined;
  const become = value === undefined ? "be left out" : `become ${JSON.stringify(value)}`;
  return `\`${path.join(".")}\` would ${become}`.slice(0, LABEL);
}

/** The path of the first difference between `value` and `other` as JSON, and the value there. Ignores member order. */
function firstDifference(
  value: unknown,
  other: unknown,
  path: readonly string[] = [],
): { path: readonly string[]; value: unknown } | undefined {
  if (!isObject(value) || !isObject(other))
    return JSON.stringify(value) === JSON.stringify(other) ? undefined : { path, value };
  for (const name of Object.keys({ ...other, ...value })) {
    const [a, b] = [memberOf(value, name), memberOf(other, name)];
    const found = firstDifference(a, b, [...path, name]);
    if (found) return found;
  }
  return undefined;
}

/** True for an object schema that allows members but names none. */
export function hasNoFields(schema: Json): boolean {
  const isOpen = OPEN.some((key) => schema[key] === true || typeof schema[key] === "object");
  return isOpen && formPartsOf(schema).length === 0;
}

/** Keywords that can allow members that `properties` does not name. */
const OPEN = ["additionalProperties", "patternProperties", "oneOf", "anyOf", "allOf", "if"];

/**
 * Merges the entered values into an example. An empty list in a field means that nothing was entered, so the example's
 * list replaces it. `areEmptyKept` preserves empty lists, which JSON may contain on purpose.
 */
export function withEntered(example: Json, entered: Json, { areEmptyKept = false } = {}): Json {
  const kept = Object.entries(entered).flatMap(([name, value]): [string, unknown][] => {
    const other = memberOf(example, name);
    if (isObject(value) && isObject(other))
      return [[name, withEntered(other, value, { areEmptyKept })]];
    const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
    return isEmpty && !areEmptyKept ? [] : [[name, value]];
  });
  return { ...example, ...Object.fromEntries(kept) };
}

/** The content without secrets, and without JSON fields that may contain secrets. */
export function withoutSecretFields(parts: readonly FormPart[], content: Json): Json {
  const kept = parts.flatMap((part): [string, unknown][] => {
    const { field, members, item, isSecret, schema, root } = part;
    const value = memberOf(content, field.name);
    if (isSecret || item?.isSecret || value === undefined || field.id === OTHERS) return [];
    if (members && isObject(value)) {
      const others = withoutSecretFields(members, value);
      return Object.keys(others).length > 0 || field.isRequired ? [[field.name, others]] : [];
    }
    return field.kind === "json" && holdsSecret(schema, root) ? [] : [[field.name, value]];
  });
  return Object.fromEntries(kept);
}

/** The part of the content that may be stored: everything except secrets. */
export const keptContent = (schema: Json, content: Json): Json =>
  holdsSecret(schema, schema) ? withoutSecretFields(formPartsOf(schema), content) : content;

/** Parses the server's validation error for tool arguments: "`a.b` must be a string; `c` …". */
export function wrongFrom(text: string): Wrong[] {
  const [, said] =
    /^Tool arguments do not match the input schema of [^:]*: (.*)\.$/s.exec(text) ?? [];
  return (said ?? "").split("; ").flatMap((one) => {
    const [, place, message] = /^`([^`]+)` (.*)$/s.exec(one) ?? [];
    return place === undefined ? [] : [{ path: place.split("."), message: message! }];
  });
}

/** The messages about a part's value, and about nested values that have no part. */
export function messagesAt(
  { path, members, item, branches }: FormPart,
  wrong: readonly Wrong[],
): string[] {
  // Nested values have parts of their own. The path of a row begins with its index.
  const most = members || branches ? 0 : item?.members ? 1 : Infinity;
  const isHere = (one: Wrong) =>
    path.length > 0 &&
    path.every((name, nth) => one.path[nth] === name) &&
    one.path.length - path.length <= most;
  return wrong.filter(isHere).map((one) => {
    const below = one.path.slice(path.length);
    if (item && /^\d+$/.test(below[0] ?? "")) below[0] = String(Number(below[0]) + 1);
    return `${below.length > 0 ? `${below.join(".")} ` : ""}${one.message}`;
  });
}

/** Messages that belong to no part of the form. */
export function messagesElsewhere(parts: readonly FormPart[], wrong: readonly Wrong[]): string[] {
  const isShown = (one: Wrong, among: readonly FormPart[]): boolean =>
    among.some((part) => messagesAt(part, [one]).length > 0 || isShown(one, partsBelow(part, one)));
  return wrong
    .filter((one) => !isShown(one, parts))
    .map(({ path, message }) => `${path.length > 0 ? `${path.join(".")} ` : ""}${message}`);
}

/** The nested parts that a message may be about. */
function partsBelow(part: FormPart, { path }: Wrong): readonly FormPart[] {
  const { members = [], branches = [], item } = part;
  const nth = path[part.path.length] ?? "";
  return item?.members && /^\d+$/.test(nth)
    ? [listRowOf(part, nth, Number(nth))]
    : [...members, ...branches];
}
