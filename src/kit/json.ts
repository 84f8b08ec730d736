import { wellFormedJson } from "../server/kernel/core/text.ts";
import { inspect, classNameOf } from "./globals/inspect.ts";

/** True while `json` writes. */
let isStrict = false;

/**
 * Has `json`, and nobody else, ask values of these classes for their members: in native code, since to look at each
 * member of each result here would cost more than to write it.
 */
export function watch(...classes: { readonly prototype: object }[]): void {
  for (const { prototype } of classes) Object.defineProperty(prototype, "toJSON", TO_JSON);
}

const TO_JSON: PropertyDescriptor = {
  get: () => (isStrict ? asJson : undefined),
  set(value: unknown) {
    const own = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(this, "toJSON", own);
  },
  configurable: true,
};

/**
 * The value as JSON: a Map as an object, a Set as an array, a Date as its ISO text. Throws an error that names the member
 * which JSON would lose or change, and says what to give instead.
 */
export function json(value: unknown, what: string): string {
  let text: string | undefined;
  let failure: unknown;
  isStrict = true;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    failure = error;
  }
  isStrict = false;
  made = undefined;
  // NaN, dates that are not valid, and functions and symbols in an array have become null.
  if (text?.includes("\\ud")) text = wellFormedJson(text);
  if (text !== undefined && !text.includes("null")) return text;
  const found = lost(value, "", []);
  if (found !== undefined) throw new Error(`${what} is not JSON: ${found}.`, { cause: failure });
  if (failure !== undefined) throw failure;
  if (text !== undefined) return text;
  throw new Error(`${what} is not JSON: it is ${value === undefined ? "" : "a "}${typeof value}.`);
}

/** The value as it is, or as text where JSON would lose some of it: for logs, which must not fail. */
export function jsonOrText(value: unknown): unknown {
  if (value === undefined || typeof value === "string") return value;
  try {
    return JSON.parse(json(value, "")) as unknown;
  } catch {
    return inspect(value);
  }
}

/** By Map or Set, what stands for it: the same each time, so that the interpreter finds a cycle. */
let made: Map<object, object> | undefined;

function asJson(this: object): object {
  const known = made?.get(this);
  if (known !== undefined) return known;
  const members = membersOf(this);
  if (typeof members === "string") throw new TypeError(members);
  if (members !== this) (made ??= new Map()).set(this, members);
  return members;
}

/** A value with the members that JSON is to have of it; or what to say of one of which JSON would lose something. */
export function membersOf(value: object): object | string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null || Array.isArray(value)) return value;
  if (value instanceof Set) return [...value];
  if (value instanceof Map) return entriesOf(value);
  const name = classNameOf(value) || "object";
  const is = (advice: string) => `${/^[AEIO]/.test(name) ? "an" : "a"} ${name}${advice}`;
  if (value instanceof Error) return is("; give its message");
  if (value instanceof Uint8Array) return is("; make it base64 by toBase64(), or an array");
  if (value instanceof RegExp) return is("; make it a text");
  if (value instanceof ArrayBuffer || value instanceof DataView) {
    return is("; make it a Uint8Array and that base64 by toBase64()");
  }
  if (ArrayBuffer.isView(value)) return is("; make it an array: [...it]");
  if ("then" in value && typeof value.then === "function") return is("; await it");
  if (Object.keys(value).length > 0) return value;
  if (value instanceof Iterator) return "an iterator; make it an array: [...it]";
  if ("entries" in value && Symbol.iterator in value) {
    return is("; make it an object: Object.fromEntries(it)");
  }
  // Others say what their classes have made of them.
  return "toJSON" in value ? is(", of which JSON would have nothing; give a plain object") : value;
}

function entriesOf(map: ReadonlyMap<unknown, unknown>): object | string {
  const keys = [...map.keys()];
  const isFit = keys.every((key) => typeof key === "string" || typeof key === "number");
  return isFit && new Set(keys.map(String)).size === keys.length
    ? Object.fromEntries(map as ReadonlyMap<string, unknown>)
    : "a Map whose keys are not all different texts or numbers; make it an array: [...it]";
}

/** Names the first member that JSON would lose or change. */
function lost(value: unknown, path: string, above: readonly unknown[]): string | undefined {
  const place = path === "" ? "it" : path.slice(1);
  if (typeof value === "bigint") return `${place} is a BigInt; make it a Number or a string`;
  if (typeof value === "number" && !Number.isFinite(value)) {
    return `${place} is ${value}; make it null or a text`;
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (above.includes(value)) return `${place} contains itself: a cycle`;
  if (value instanceof Date && Number.isNaN(value.getTime())) {
    return `${place} is a Date that is not valid; make it null or a text`;
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return undefined;
  const members = membersOf(value);
  if (typeof members === "string") {
    return `${place} is ${members}${path === "" && value instanceof Error ? ", or throw it" : ""}`;
  }
  for (const [key, member] of Object.entries(members)) {
    // Of an object they are left out, as always in JSON: to look for them would cost nearly as much again as to write it.
    if (Array.isArray(members) && (typeof member === "function" || typeof member === "symbol")) {
      return `${`${path}.${key}`.slice(1)} is a ${typeof member}; leave it out`;
    }
    const found = lost(member, `${path}.${key}`, [...above, value]);
    if (found !== undefined) return found;
  }
  return undefined;
}
