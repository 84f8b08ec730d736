/** Probes of a platform's globals, with results as JSON: run in the servlet and in Node, for comparison. */
import { told, VALUES } from "./clones.ts";

export type Probe = (...args: never[]) => unknown;

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return `throws ${error instanceof Error ? error.name : String(error)}`;
  }
}

const PARTS = [
  "href",
  "origin",
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "hash",
] as const;

export type Part = Exclude<(typeof PARTS)[number], "origin">;

const parts = (url: URL) => PARTS.map((part) => url[part]).join(" ");

const pairs = (params: URLSearchParams) => ({
  text: String(params),
  pairs: [...params],
  size: params.size,
});

function changed(params: URLSearchParams): URLSearchParams {
  params.append("a", "é &");
  params.set("b", "z");
  params.append("c", "\ud800");
  params.delete("c", "nothing");
  params.sort();
  return params;
}

export const probes = {
  parse: (input: string, base?: string) => attempt(() => parts(new URL(input, base))),

  can_parse: (input: string, base?: string) => [
    URL.canParse(input, base),
    URL.parse(input, base)?.href,
  ],

  set: (input: string, part: Part, value: string) =>
    attempt(() => {
      const url = new URL(input);
      url[part] = value;
      return parts(url);
    }),

  /** Each change to a URL's parameters changes the URL, and the other way round. */
  linked: (input: string) => {
    const url = new URL(input);
    const { searchParams } = url;
    const seen = [pairs(searchParams), JSON.stringify(url)];
    changed(searchParams);
    seen.push(url.href);
    url.search = "?x=1&x=2";
    seen.push(pairs(searchParams), url.searchParams === searchParams ? "same" : "another");
    searchParams.delete("x");
    seen.push(url.href);
    url.href = "https://other.example/?new";
    return [...seen, pairs(searchParams)];
  },

  params: (init: string | string[][] | Record<string, string>) =>
    attempt(() => {
      const params = new URLSearchParams(init as string);
      const before = [pairs(params), params.get("a"), params.getAll("a"), params.has("a", "1")];
      return [...before, pairs(changed(params)), pairs(new URLSearchParams(params))];
    }),

  /** `parts` are decoded one after the other, as a stream where there are several. */
  decode: (label: string, options: { fatal?: boolean; ignoreBOM?: boolean }, ...all: number[][]) =>
    attempt(() => {
      const decoder = new TextDecoder(label, options);
      const text = all.map((bytes, at) =>
        decoder.decode(new Uint8Array(bytes), { stream: at < all.length - 1 }),
      );
      const again = decoder.decode(new Uint8Array([65, 0]));
      return [decoder.encoding, decoder.fatal, decoder.ignoreBOM, text.join(""), again];
    }),

  encode: (text: string, room: number) => {
    const target = new Uint8Array(room);
    const { read, written } = new TextEncoder().encodeInto(text, target);
    return { whole: [...new TextEncoder().encode(text)], target: [...target], read, written };
  },

  to_base64: (text: string) => attempt(() => btoa(text)),

  from_base64: (text: string) => attempt(() => atob(text)),

  headers: (init: string[][] | Record<string, string>) =>
    attempt(() => {
      const headers = new Headers(init as [string, string][]);
      headers.append("Z-Last", " 1\t");
      headers.append("z-last", "2");
      headers.append("Set-Cookie", "a=1");
      headers.append("set-cookie", "b=2");
      const before = [...headers];
      headers.delete("SET-COOKIE");
      headers.set("z-last", "3");
      return [before, [...headers.keys()], [...headers.values()], headers.has("Z-LAST")];
    }),

  header_name: (name: string, value: string) => attempt(() => [...new Headers([[name, value]])]),

  clone: (name: string) =>
    attempt(() => {
      const value = VALUES[name]!();
      const copy = structuredClone(value);
      const same = typeof value === "object" && value !== null && copy === value;
      return [told(copy), same, told(value)];
    }),
} satisfies Record<string, Probe>;
