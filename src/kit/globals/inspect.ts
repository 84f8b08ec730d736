const DEPTH = 4;
const ITEMS = 100;
const WIDTH = 80;

/**
 * A readable text of a value, similar to Node's `util.inspect`; long and deep values are cut.
 *
 * @example
 * inspect({ total: 30, rows: [1, 2n] }); // → "{ total: 30, rows: [ 1, 2n ] }"
 */
export function inspect(value: unknown): string {
  return show(value, []);
}

function show(value: unknown, above: readonly object[]): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "bigint":
      return `${value}n`;
    case "function":
      return value.name === "" ? "[Function]" : `[Function ${value.name}]`;
    case "object":
      break;
    default:
      return Object.is(value, -0) ? "-0" : String(value);
  }
  if (value === null) return "null";
  if (above.includes(value)) return "[Circular]";
  try {
    return showObject(value, [...above, value]);
  } catch (error) {
    return `[${error instanceof Error ? error.message : String(error)}]`;
  }
}

function showObject(value: object, above: readonly object[]): string {
  if (value instanceof Error) return showError(value, above);
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Promise) return "Promise {}";
  if (value instanceof ArrayBuffer) return `ArrayBuffer(${value.byteLength})`;
  const name = classNameOf(value);
  if (above.length > DEPTH) return Array.isArray(value) ? "[Array]" : `[${name || "Object"}]`;
  const inner = (member: unknown) => show(member, above);
  if (Array.isArray(value)) return wrap("", "[]", some(value, inner));
  if (ArrayBuffer.isView(value) && Symbol.iterator in value) {
    const items = value as unknown as ArrayLike<unknown>;
    return wrap(`${name}(${items.length}) `, "[]", some(items, inner));
  }
  if (value instanceof Set) return wrap(`Set(${value.size}) `, "{}", some([...value], inner));
  if (value instanceof Map) {
    const pairs = some(
      [...value],
      ([key, member]: [unknown, unknown]) => `${inner(key)} => ${inner(member)}`,
    );
    return wrap(`Map(${value.size}) `, "{}", pairs);
  }
  return wrap(name === "" ? "" : `${name} `, "{}", members(value, inner));
}

function showError(error: Error, above: readonly object[]): string {
  const stack = error.stack === undefined || error.stack === "" ? "" : `\n${error.stack.trimEnd()}`;
  const cause = error.cause === undefined ? "" : `\n  [cause]: ${show(error.cause, above)}`;
  const errors =
    error instanceof AggregateError ? `\n  [errors]: ${show(error.errors, above)}` : "";
  return `${String(error)}${stack}${cause}${errors}`;
}

/** The name of a value's class; empty for plain objects and anonymous classes. */
export function classNameOf(value: object): string {
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto === null) return "[null prototype]";
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "Object" ? name : "";
}

function members(value: object, inner: (member: unknown) => string): string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(value))
    .filter(([, descriptor]) => descriptor.enumerable)
    .map(([key, descriptor]) => {
      const shown = /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
      return `${shown}: ${descriptor.get ? "[Getter]" : inner(descriptor.value)}`;
    });
}

function some<T>(items: ArrayLike<T>, inner: (item: T) => string): string[] {
  const shown = Array.from({ length: Math.min(items.length, ITEMS) }, (_, at) =>
    inner(items[at] as T),
  );
  if (items.length > ITEMS) shown.push(`… ${items.length - ITEMS} more`);
  return shown;
}

function wrap(prefix: string, brackets: "[]" | "{}", parts: string[]): string {
  const [open, close] = brackets;
  if (parts.length === 0) return `${prefix}${open}${close}`;
  const short = `${prefix}${open} ${parts.join(", ")} ${close}`;
  if (short.length <= WIDTH && !short.includes("\n")) return short;
  return `${prefix}${open}\n${parts.map((part) => `  ${part.replaceAll("\n", "\n  ")}`).join(",\n")}\n${close}`;
}
