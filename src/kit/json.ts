import { wellFormedJson } from "../server/kernel/core/text.ts";
import { inspect, classNameOf } from "./globals/inspect.ts";

/** True while `json` runs. */
let isStrict = false;

/**
 * Gives these classes a `toJSON` that only `json` sees, so that native code finds their instances: checking each member of each
 * result in JavaScript would cost more than to serialize it.
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
 * The value as JSON: a Map as an object, a Set as an array, a Date as ISO 8601. Throws an error that names a member that JSON
 * would lose or change, and says what to use instead.
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

/** The value's JSON, parsed; or its text if JSON would lose some of it. For logs, which must not fail. */
export function jsonOrText(value: unknown): unknown {
  if (value === undefined || typeof value === "string") return value;
  try {
    return JSON.parse(json(value, "")) as unknown;
  } catch {
    return inspect(value);
  }
}

/** The replacement of each Map or Set: the same object each time, so that the interpreter detects a cycle. */
let made: Map<object, object> | undefined;

function asJson(this: object): object {
  const known = made?.get(this);
  if (known !== undefined) return known;
  const members = membersOf(this);
  if (typeof members === "string") throw new TypeError(members);
  if (members !== this) (made ??= new Map()).set(this, members);
  return members;
}

/** An object with the members that JSON should have; or the message for a value of which JSON would lose something. */
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
  // Only instances of watched classes have `toJSON` here, and JSON would lose their contents; others may be empty.
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
    // JSON leaves such members of an object out, unchecked here: a check would nearly double the cost of serialization.
    if (Array.isArray(members) && (typeof member === "function" || typeof member === "symbol")) {
      return `${`${path}.${key}`.slice(1)} is a ${typeof member}; leave it out`;
    }
    const found = lost(member, `${path}.${key}`, [...above, value]);
    if (found !== undefined) return found;
  }
  return undefined;
}
