/** `structuredClone`. */
const refused = (what: string) =>
  new DOMException(`${what} could not be cloned.`, "DataCloneError");

const BOXED = /* @__PURE__ */ new Set(["Boolean", "Number", "String", "BigInt"]);
const ERRORS: Record<string, ErrorConstructor> = {
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

/** https://html.spec.whatwg.org/multipage/structured-data.html#structured-cloning */
export function structuredClone<T>(value: T, options: { transfer?: ArrayBuffer[] } = {}): T {
  const seen = new Map<object, unknown>();
  for (const buffer of options.transfer ?? []) {
    if (!(buffer instanceof ArrayBuffer)) throw refused("What is to be transferred");
    seen.set(buffer, buffer.transfer());
  }
  return copy(value, seen) as T;
}

function copy(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value === "function" || typeof value === "symbol") {
    throw refused(`A ${typeof value}`);
  }
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const made = empty(value, seen);
  seen.set(value, made);
  fill(value, made, seen);
  return made;
}

/** The copy, without members and entries. */
function empty(value: object, seen: Map<object, unknown>): object {
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (BOXED.has(tag)) return Object(value.valueOf());
  if (value instanceof Date) return new Date(value);
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (value instanceof Map) return new Map();
  if (value instanceof Set) return new Set();
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (ArrayBuffer.isView(value)) {
    const buffer = copy(value.buffer, seen) as ArrayBuffer;
    const length = "length" in value ? (value.length as number) : value.byteLength;
    const View = value.constructor as new (b: ArrayBuffer, at: number, length: number) => object;
    return new View(buffer, value.byteOffset, length);
  }
  if (value instanceof Error) return emptyError(value, seen);
  if (Array.isArray(value)) return Object.assign([], { length: value.length });
  if (
    value instanceof WeakMap ||
    value instanceof WeakSet ||
    value instanceof WeakRef ||
    value instanceof Promise
  ) {
    throw refused(`A ${tag}`);
  }
  return {};
}

function emptyError(error: Error, seen: Map<object, unknown>): Error {
  const made = new (ERRORS[error.name] ?? Error)(error.message);
  const keep = (key: string, member: unknown) =>
    Object.defineProperty(made, key, { value: member, writable: true, configurable: true });
  keep("stack", error.stack);
  seen.set(error, made);
  if (Object.hasOwn(error, "cause")) keep("cause", copy(error.cause, seen));
  return made;
}

function fill(value: object, made: object, seen: Map<object, unknown>): void {
  if (value instanceof Map && made instanceof Map) {
    for (const [key, member] of Array.from(value)) made.set(copy(key, seen), copy(member, seen));
  } else if (value instanceof Set && made instanceof Set) {
    for (const member of Array.from(value)) made.add(copy(member, seen));
  } else if (Array.isArray(value) || isPlain(made)) {
    const target = made as Record<string, unknown>;
    for (const [key, member] of Object.entries(value)) target[key] = copy(member, seen);
  }
}

const isPlain = (made: object): boolean => Object.getPrototypeOf(made) === Object.prototype;
