/** Checks members of objects from servlets: those that clients reject are omitted, or end the call. */
import { Fault } from "../../core/errors.ts";
import { isObject, type Json } from "../../core/model.ts";

export const bad = (fault: string) =>
  new Fault("servlet_failed", `The servlet's output is not valid: ${fault}.`);

export const isString = (value: unknown): value is string => typeof value === "string";
/** JSON has finite numbers only: a guest's 1e999 would become null. */
export const isNumber = (value: unknown) => Number.isFinite(value);
const isBoolean = (value: unknown) => typeof value === "boolean";
const isList = (fits: (one: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(fits);

const isOneOf = (all: unknown[]) => (value: unknown) => all.includes(value);

const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** True for RFC 3339 with an existing day: `Date` reads 30 February as 2 March. */
function isDateTime(value: unknown): boolean {
  const day = typeof value === "string" ? DATE_TIME.exec(value)?.[1] : undefined;
  if (day === undefined || Number.isNaN(Date.parse(day))) return false;
  return new Date(day).toISOString().startsWith(day);
}

type Fits = Readonly<Record<string, (value: unknown) => boolean>>;

/** Checks of optional members: clients reject a whole object if one has the wrong type. */
const FITS: Fits = {
  title: isString,
  description: isString,
  lastModified: isDateTime,
  _meta: isObject,
  outputSchema: isObject,
  execution: isObject,
  icons: Array.isArray,
  size: isNumber,
  total: Number.isSafeInteger,
  hasMore: isBoolean,
  required: isBoolean,
  readOnlyHint: isBoolean,
  destructiveHint: isBoolean,
  idempotentHint: isBoolean,
  openWorldHint: isBoolean,
  audience: isList(isOneOf(["user", "assistant"])),
  priority: (value) => typeof value === "number" && value >= 0 && value <= 1,
  annotations: (value) => isObject(value) && !saysNothing(value),
};

/** Checks of the optional members of nested objects. */
const ICON: Fits = {
  mimeType: isString,
  sizes: isList(isString),
  theme: isOneOf(["light", "dark"]),
};
const EXECUTION: Fits = { taskSupport: isOneOf(["required", "optional", "forbidden"]) };
const SCHEMA: Fits = { $schema: isString, properties: isObject, required: isList(isString) };

/** The object without the members that fail their check. */
function fitting(value: Json, fits: Fits): Json {
  const kept = { ...value };
  for (const [key, fit] of Object.entries(fits)) if (!fit(kept[key])) delete kept[key];
  return kept;
}

/** A member without the parts that clients reject. */
function tidied(key: string, member: unknown): unknown {
  if (key === "mimeType") return isString(member) ? mediaType(member) : member;
  if (key === "icons" && Array.isArray(member)) {
    const icons = member.filter((icon) => isObject(icon) && isString(icon["src"]));
    return icons.map((icon: Json) => fitting(icon, ICON));
  }
  if (!isObject(member)) return member;
  if (key === "annotations") return present(member, key);
  if (key === "execution") return fitting(member, EXECUTION);
  return key === "inputSchema" || key === "outputSchema" ? fitting(member, SCHEMA) : member;
}

/** Unregistered types that plugins write, and model APIs reject. */
const REGISTERED: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/x-png": "image/png",
  "image/svg": "image/svg+xml",
  "audio/mp3": "audio/mpeg",
  "audio/x-mp3": "audio/mpeg",
  "audio/wave": "audio/wav",
  "audio/x-wav": "audio/wav",
};

/** The registered name of an image or sound type; any other type unchanged. */
export function mediaType(value: string): string {
  if (!/^\s*(?:image|audio)\//i.test(value)) return value;
  const [type = "", ...parameters] = value.trim().split(/\s*;\s*/);
  const known = REGISTERED[type.toLowerCase()] ?? type.toLowerCase();
  // A sound's parameters say how to play it; clients compare the type of an image as a whole.
  return known.startsWith("image/") ? known : [known, ...parameters].join(";");
}

/** The object without members that are null, of the wrong type or empty annotations. */
export function present(value: unknown, name: string): Json {
  if (!isObject(value)) throw bad(`${name} is not an object`);
  let kept = value;
  for (const key of Object.keys(value)) {
    const member = value[key];
    const isNested = typeof member === "object" && member !== null;
    const own = isNested || key === "mimeType" ? tidied(key, member) : member;
    const isKept = own !== null && (!Object.hasOwn(FITS, key) || FITS[key]!(own));
    if (isKept && own === member) continue;
    if (kept === value) kept = { ...value };
    if (isKept) kept[key] = own;
    else delete kept[key];
  }
  return kept;
}

/** True for `{"audience": null, "priority": 0}`, which generated code writes for absent annotations. */
const saysNothing = (annotations: Json): boolean =>
  Object.values(annotations).every(
    (value) => value === 0 || (Array.isArray(value) && value.length === 0),
  );

export function string(value: unknown, name: string): string {
  if (typeof value !== "string") throw bad(`${name} is not a string`);
  return value;
}

export function array(value: unknown, name: string): unknown[] {
  if (!Array.isArray(value)) throw bad(`${name} is not an array`);
  return value;
}

/** The object without those of these members that are empty or not a string. */
export function withoutEmpty(block: Json, keys: string[]): Json {
  const kept = { ...block };
  for (const key of keys) if (kept[key] === "" || !isString(kept[key])) delete kept[key];
  return kept;
}

/** The entry's name, else its key. */
export const nameOrKey = ({ name }: Json, key: string): string =>
  typeof name === "string" && name !== "" ? name : key;
