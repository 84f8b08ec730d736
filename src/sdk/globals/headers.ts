export type HeadersInit = Headers | Iterable<readonly [string, string]> | Record<string, string>;

/** https://fetch.spec.whatwg.org/#headers-class, without guards: the host refuses what is not the servlet's to set. */
export class Headers {
  readonly #values = new Map<string, string[]>();

  constructor(init?: HeadersInit) {
    const entries: Iterable<readonly [string, string]> =
      init === undefined ? [] : Symbol.iterator in init ? init : Object.entries(init);
    for (const [name, value] of entries) this.append(name, value);
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
    return this.#values.get(keyOf(name))?.join(", ") ?? null;
  }

  getSetCookie(): string[] {
    return [...(this.#values.get("set-cookie") ?? [])];
  }

  has(name: string): boolean {
    return this.#values.has(keyOf(name));
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

function valueOf(value: unknown): string {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  // oxlint-disable-next-line no-control-regex
  if (!/[\0\n\r]|[^\0-\xff]/.test(text)) return text;
  throw new TypeError(
    "The header value has invalid characters: only Latin-1 without NUL and line breaks is allowed.",
  );
}
