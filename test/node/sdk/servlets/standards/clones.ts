/** Values to clone, by name, and what can be told of a value. */

class Point {
  x = 1;
  readonly #y = 2;
  get y() {
    return this.#y;
  }
}

const cycle = () => {
  const all: Record<string, unknown> = { list: [] };
  (all["list"] as unknown[]).push(all);
  return all;
};

const views = () => {
  const bytes = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]);
  const { buffer } = bytes;
  return { bytes, part: new Uint16Array(buffer, 2, 2), data: new DataView(buffer, 1, 3), buffer };
};

const shared = () => {
  const one = { n: 1 };
  return [one, one, new Map([[one, one]]), new Set([one])];
};

export const VALUES: Record<string, () => unknown> = {
  primitives: () => [1, -0, NaN, "é💩", 5n, true, null, undefined],
  object: () => ({ a: { b: [1, { c: 2 }] }, u: undefined, [Symbol("s")]: 1 }),
  "array with holes": () => Object.assign([1, , 3], { more: 4 }),
  cycle,
  shared,
  views,
  "a date": () => new Date(5),
  "no date": () => new Date(NaN),
  "a regular expression": () => Object.assign(/a+/giu, { lastIndex: 2 }),
  boxed: () => [Object(1), Object("s"), Object(false), Object(5n)],
  "a class's instance": () => new Point(),
  "no prototype": () => Object.assign(Object.create(null), { a: 1 }),
  getters: () => ({
    get a() {
      return { b: 1 };
    },
  }),
  error: () => Object.assign(new RangeError("far", { cause: { c: new Date(1) } }), { extra: 1 }),
  "error of one's own": () => Object.assign(new Error("m"), { name: "Own" }),
  "error without cause": () => new TypeError("m"),
  "big integers": () => new BigInt64Array([1n, -1n]),
  buffer: () => new Uint8Array([1, 2]).buffer,
  function: () => () => 1,
  method: () => ({ a: [{ m() {} }] }),
  symbol: () => Symbol("s"),
  promise: () => Promise.resolve(),
  "weak map": () => new WeakMap(),
};

/** A description of a value without its identity: an object that occurs again is a number. */
export function told(value: unknown, seen: Map<object, number> = new Map()): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (value === undefined) return "undefined";
  if (typeof value !== "object" || value === null) return value;
  const known = seen.get(value);
  if (known !== undefined) return `#${known}`;
  seen.set(value, seen.size);
  const inner = (member: unknown) => told(member, seen);
  const prototype: unknown = Object.getPrototypeOf(value);
  const kind =
    prototype === null
      ? "none"
      : Object.prototype.toString.call(value) + ` ${value.constructor.name}`;
  return [kind, ...content(value, inner), ...members(value, inner)];
}

function content(value: object, inner: (member: unknown) => unknown): unknown[] {
  if (value instanceof Date) return [String(value.getTime())];
  if (value instanceof RegExp) return [String(value), value.lastIndex];
  if (value instanceof Map) return [...value].flat().map(inner);
  if (value instanceof Set) return [...value].map(inner);
  if (value instanceof Error) {
    return [value.name, value.message, "cause" in value, inner(value.cause)];
  }
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
  if (ArrayBuffer.isView(value)) return [value.byteOffset, value.byteLength, inner(value.buffer)];
  const plain: unknown = value.valueOf();
  return plain === value ? [] : [inner(plain)];
}

function members(value: object, inner: (member: unknown) => unknown): unknown[] {
  if (ArrayBuffer.isView(value)) return [];
  const own = Object.entries(Object.getOwnPropertyDescriptors(value)).filter(
    ([key, { enumerable }]) => enumerable === true || key === "length",
  );
  return own.map(([key, descriptor]) => [key, inner(descriptor.value), "get" in descriptor]);
}
