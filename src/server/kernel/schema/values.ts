import { isObject } from "../core/model.ts";
import type { Steps } from "./steps.ts";

/** The JSON Schema type of a value. */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value;
}

/** The number of characters in a text; a surrogate pair counts as one. */
export function characterCount(text: string, steps: Steps): number {
  steps.take(text.length >> 3);
  let length = text.length;
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) >>> 10 === 0b1101_10 && text.charCodeAt(at + 1) >>> 10 === 0b1101_11) {
      length--;
      at++;
    }
  }
  return length;
}

/** The names of an object's members. Takes a step for each. */
export function memberNames(value: object, steps: Steps): string[] {
  const keys = Object.keys(value);
  steps.take(keys.length);
  return keys;
}

/** Compares JSON values, ignoring the order of members. */
export function isEqual(a: unknown, b: unknown, steps: Steps): boolean {
  steps.take(1);
  if (a === b) return true;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, at) => isEqual(item, b[at], steps));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = memberNames(a, steps);
  return (
    keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key], steps)) &&
    keys.length === memberNames(b, steps).length
  );
}

/** Returns the indices of two equal items; undefined if all differ. */
export function equalItems(
  items: readonly unknown[],
  steps: Steps,
): { first: number; second: number } | undefined {
  const seen = new Map<unknown, number>();
  const seenTexts = new Map<string, number>();
  for (const [at, item] of items.entries()) {
    steps.take(1);
    const isPart = typeof item === "object" && item !== null;
    const key = isPart ? canonical(item, steps) : item;
    const map: Map<unknown, number> = isPart ? seenTexts : seen;
    const first = map.get(key);
    if (first !== undefined) return { first, second: at };
    map.set(key, at);
  }
  return undefined;
}

/** A text that is equal for equal values, and only for them. */
function canonical(value: unknown, steps: Steps): string {
  steps.take(2);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, steps)).join()}]`;
  if (typeof value === "string") steps.take(value.length >> 3);
  if (!isObject(value)) return JSON.stringify(value) ?? "";
  const keys = memberNames(value, steps);
  steps.take(keys.length * Math.ceil(Math.log2(keys.length + 1)));
  const members = keys
    .toSorted()
    .map((key) => `${canonical(key, steps)}:${canonical(value[key], steps)}`);
  return `{${members.join()}}`;
}
