import { running } from "../host.ts";

export type HeadersInit = Headers | Iterable<readonly [string, string]> | Record<string, string>;

/** https://fetch.spec.whatwg.org/#headers-class, without guards: the host rejects headers that a servlet may not set. */
export class Headers {
  readonly #values = new Map<string, string[]>();

  constructor(init?: HeadersInit) {
    if (init === undefined) return;
    if (Symbol.iterator in init) for (const [name, value] of init) this.append(name, value);
    else for (const name of Object.keys(init)) this.append(name, init[name]!);
  }

  /** Makes the headers of a server's response from JSON by lower-case name: any values, with one line for each `set-cookie`. */
  static received(fields: string): Headers {
    const headers = new Headers();
    for (const [name, value] of Object.entries(JSON.parse(fields) as Record<string, string>)) {
      headers.#values.set(name, name === "set-cookie" ? value.split("\n") : [value]);
      if (BEYOND_LATIN_1.test(value)) (running.received ??= new Set()).add(value);
    }
    return headers;
  }

  /** Headers as JSON by lower-case name, for the host. */
  static json(headers: Headers): string {
    const fields: Record<string, string> = Object.create(null);
    for (const [name, values] of headers.#values) fields[name] = values.join(", ");
    return JSON.stringify(fields);
  }

  /** The key of a name; fast if the name is a key already. */
  #keyOf(name: string): string {
    return this.#values.has(name) ? name : keyOf(name);
  }

  append(name: string, value: string): void {
    const key = keyOf(name);
    const values = this.#values.get(key);
    if (values) values.push(valueOf(value));
    else this.#values.set(key, [valueOf(value)]);
  }

  delete(name: string): void {
    this.#values.delete(keyOf(name));
  }

  get(name: string): string | null {
    return this.#values.get(this.#keyOf(name))?.join(", ") ?? null;
  }

  getSetCookie(): string[] {
    return [...(this.#values.get("set-cookie") ?? [])];
  }

  has(name: string): boolean {
    return this.#values.has(this.#keyOf(name));
  }

  set(name: string, value: string): void {
    this.#values.set(keyOf(name), [valueOf(value)]);
  }

  forEach(callback: (value: string, name: string, headers: Headers) => void): void {
    for (const [name, value] of this) callback(value, name, this);
  }

  *entries(): IterableIterator<[string, string]> {
    for (const name of [...this.#values.keys()].toSorted()) {
      const values = this.#values.get(name) ?? [];
      if (name !== "set-cookie") yield [name, values.join(", ")];
      else for (const value of values) yield [name, value];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

function keyOf(given: unknown): string {
  const name = String(given);
  if (/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return name.toLowerCase();
  throw new TypeError(`"${name}" is not a valid header name.`);
}

// oxlint-disable-next-line no-control-regex
const BEYOND_LATIN_1 = /[^\0-\xff]/;

/** Most values: printable ASCII without surrounding spaces. */
const USUAL_VALUE = /^[!-~](?:[ -~]*[!-~])?$/;

function valueOf(value: unknown): string {
  if (typeof value === "string" && USUAL_VALUE.test(value)) return value;
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  // A servlet may copy a value that a server has sent.
  const isFit = !BEYOND_LATIN_1.test(text) || running.received?.has(text) === true;
  // oxlint-disable-next-line no-control-regex
  if (isFit && !/[\0\n\r]/.test(text)) return text;
  throw new TypeError(
    "The header value has invalid characters: only Latin-1 without NUL and line breaks is allowed. Encode others, as by encodeURIComponent.",
  );
}
