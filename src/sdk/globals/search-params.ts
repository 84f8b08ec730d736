import { decodeBytes, encodeForm } from "./percent.ts";
import { bytesOf, decodeUtf8 } from "./bytes.ts";

type Init = string | URLSearchParams | Iterable<readonly [string, string]> | Record<string, string>;

/** Callbacks of URLs for changes of their `searchParams`. */
export const owners = /* @__PURE__ */ new WeakMap<URLSearchParams, (query: string) => void>();

const decoded = (text: string): string =>
  decodeUtf8(bytesOf(decodeBytes(text.replaceAll("+", " "))), true);

function parseQuery(query: string): [string, string][] {
  return query
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const at = pair.indexOf("=");
      return at < 0
        ? [decoded(pair), ""]
        : [decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))];
    });
}

function pairsOf(init: Init): [string, string][] {
  if (typeof init === "string") return parseQuery(init.replace(/^\?/, ""));
  const entries: Iterable<readonly unknown[]> =
    Symbol.iterator in init ? init : Object.entries(init);
  return Array.from(entries, (pair) => {
    const both = [...pair];
    if (both.length !== 2) throw new TypeError("A pair of URLSearchParams has two members.");
    return [text(both[0]), text(both[1])];
  });
}

const text = (value: unknown): string => String(value).toWellFormed();

/** https://url.spec.whatwg.org/#interface-urlsearchparams */
export class URLSearchParams {
  #pairs: [string, string][];

  constructor(init: Init = "") {
    this.#pairs = pairsOf(typeof init === "object" && init !== null ? init : text(init));
  }

  get [Symbol.toStringTag](): string {
    return "URLSearchParams";
  }

  get size(): number {
    return this.#pairs.length;
  }

  append(name: string, value: string): void {
    this.#change([...this.#pairs, [text(name), text(value)]]);
  }

  delete(name: string, value?: string): void {
    this.#change(this.#pairs.filter((pair) => !is(pair, name, value)));
  }

  get(name: string): string | null {
    return this.#pairs.find((pair) => is(pair, name))?.[1] ?? null;
  }

  getAll(name: string): string[] {
    return this.#pairs.filter((pair) => is(pair, name)).map(([, value]) => value);
  }

  has(name: string, value?: string): boolean {
    return this.#pairs.some((pair) => is(pair, name, value));
  }

  set(name: string, value: string): void {
    const first = this.#pairs.findIndex((pair) => is(pair, name));
    if (first < 0) return this.append(name, value);
    this.#change(
      this.#pairs
        .filter((pair, at) => at <= first || !is(pair, name))
        .with(first, [text(name), text(value)]),
    );
  }

  sort(): void {
    this.#change(this.#pairs.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  }

  forEach(callback: (value: string, name: string, params: URLSearchParams) => void): void {
    for (const [name, value] of this) callback(value, name, this);
  }

  *entries(): IterableIterator<[string, string]> {
    for (let at = 0; ; at++) {
      const pair = this.#pairs[at];
      if (!pair) return;
      yield [...pair];
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

  toString(): string {
    return this.#pairs.map(([name, value]) => `${encodeForm(name)}=${encodeForm(value)}`).join("&");
  }

  /** Replaces the pairs without telling the URL: it is the URL that calls this. */
  static replace(params: URLSearchParams, query: string): void {
    params.#pairs = parseQuery(query);
  }

  #change(pairs: [string, string][]): void {
    this.#pairs = pairs;
    owners.get(this)?.(this.toString());
  }
}

const is = ([name, own]: [string, string], wanted: string, value?: string): boolean =>
  name === text(wanted) && (value === undefined || own === text(value));
