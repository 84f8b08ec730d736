import { gzipSync } from "node:zlib";

/** What a run of the fuzzer is made of: chance, odd values, and requests that are changed a little. */

/** Mulberry32: the same numbers for the same seed, everywhere. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  of(likelihood: number): boolean {
    return this.next() < likelihood;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }
}

export type Json = Record<string, any>;

export const PRINCIPALS = ["alice", "bob", "carol"] as const;
export type Name = (typeof PRINCIPALS)[number];

/** Each principal's arguments have it; nobody else may see it. */
export const markOf = (name: Name): string => `mark-of-${name}-f5c9`;
export const keyOf = (name: Name): string => `key-of-${name}-1b7d2c6e`;

/** A request before it is bytes. */
export interface Draft {
  as: Name;
  method: string;
  path: string;
  headers: Record<string, string>;
  /** A value that JSON can tell, or text as it is. */
  body?: unknown;
}

/** A request as it is sent. */
export interface Sent extends Omit<Draft, "body"> {
  body: Buffer | undefined;
  isChunked: boolean;
}

export const MODERN = "2026-07-28";
export const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
export const ABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const META = "io.modelcontextprotocol/";

export const METHODS = [
  ...["tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list"],
  ...["resources/templates/list", "resources/read", "completion/complete", "server/discover"],
  ...["subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel", "tasks/result"],
  ...["tasks/list", "initialize", "ping", "logging/setLevel", "resources/subscribe"],
  ...["resources/unsubscribe", "roots/list", "sampling/createMessage", "notifications/initialized"],
  ...["notifications/cancelled", "notifications/roots/list_changed", "notifications/progress"],
  ...["constructor", "__proto__", "toString", "tools", "tools/", ""],
];

/** Stands in a string for JSON text that `JSON.stringify` would not write. */
const literal = (text: string) => `@@${text}@@`;
const LITERALS = [
  ...["1e999", "-1e999", "-0", "123456789012345678901234567890", "9007199254740993", "1.0", "1E2"],
  ...['"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '{"__proto__":{"isError":true}}'],
  ...['{"a":1,"a":2}', '{"toString":1,"valueOf":1}', '{"toJSON":1,"then":1}', '{"length":-1}'],
  ...['{"constructor":{"prototype":1}}', '[[[[["x"]]]]]'],
];

const TEXTS = [
  ...["", " ", "\0", "\ud800", "\ufeff", "\u2028", "é", "💥", "\r\n\r\ndata: {}\n\n", "%00", "-1"],
  ...[
    "null",
    "NaN",
    "1e999",
    "__proto__",
    "constructor",
    "toString",
    "=?base64?!!?=",
    "${STATE_KEY}",
  ],
  ...[
    "${UNREAD_SECRET}",
    "{{x}}",
    "told:",
    "told:{}",
    "http://a.allowed.example:1/",
    "hello:greet",
  ],
  ...["x".repeat(5000), "a-b-c", "0", "mcp-session-id", "2026-07-28", "1999-01-01", "9999-99-99"],
  ...[btoa("tools:0:5"), btoa("tools:1:67"), btoa("tasks:3"), btoa("tools:99999999999999999999:5")],
];

const NUMBERS = [0, 1, -1, 1.5, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 63), 1e308, 5e-324];
const OTHERS = [null, true, false, [], {}, [[]], [null], { "": "" }, [{}]];

export function oddValue(chance: Chance): unknown {
  const kind = chance.below(20);
  if (kind < 6) return chance.pick(TEXTS);
  if (kind < 9) return chance.pick(NUMBERS);
  if (kind < 13) return chance.pick(OTHERS);
  if (kind < 18) return literal(chance.pick(LITERALS));
  if (kind < 19) return deep(chance, chance.pick([10, 63, 64, 65, 300]));
  if (chance.of(0.8)) return chance.pick(METHODS);
  return chance.of(0.5) ? deep(chance, chance.pick([3000, 20_000, 200_000])) : wide(chance);
}

function deep(chance: Chance, levels: number): string {
  const [open, close] = chance.pick([
    ["[", "]"],
    ['{"a":', "}"],
  ] as const);
  return literal(`${open.repeat(levels)}1${close.repeat(levels)}`);
}

function wide(chance: Chance): string {
  const count = chance.pick([1000, 50_000, 201_000]);
  return chance.of(0.5)
    ? literal(`[${"1,".repeat(count)}1]`)
    : literal(`{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join(",")}}`);
}

/** As JSON text, literals included. */
export const written = (value: unknown): string =>
  (JSON.stringify(value) ?? "null").replace(/"@@((?:[^"\\]|\\.)*)@@"/g, (_whole, text: string) =>
    String(JSON.parse(`"${text}"`)),
  );

interface Place {
  holder: Json;
  key: string;
}

/** All places of a value, its root being a member of `holder`. */
function placesOf(holder: Json, found: Place[] = []): Place[] {
  for (const key of Object.keys(holder)) {
    if (found.length > 500) break;
    found.push({ holder, key });
    const value: unknown = holder[key];
    if (typeof value === "object" && value !== null) placesOf(value, found);
  }
  return found;
}

/** Another value, a little different. */
export function changedTree(value: unknown, chance: Chance): unknown {
  const root: Json = { root: structuredClone(value) };
  const places = placesOf(root);
  const { holder, key } = chance.pick(places);
  const other = chance.pick(places);
  const old: unknown = holder[key];
  switch (chance.below(9)) {
    case 0:
      if (key !== "root") delete holder[key];
      break;
    case 1:
      holder[chance.pick(TEXTS).slice(0, 100)] = old;
      break;
    case 2:
      if (typeof old === "object" && old !== null && !Array.isArray(old)) {
        const name = chance.pick([...TEXTS, ...METHODS, "task", "_meta", "cursor", "requestState"]);
        (old as Json)[name] = oddValue(chance);
      } else holder[key] = oddValue(chance);
      break;
    case 3:
      holder[key] = structuredClone(other.holder[other.key]);
      break;
    case 4:
      holder[key] = chance.of(0.5) ? [old, old] : { [key]: old };
      break;
    case 5:
      if (typeof old === "string") holder[key] = changedText(old, chance);
      else holder[key] = oddValue(chance);
      break;
    default:
      holder[key] = oddValue(chance);
  }
  return root["root"];
}

/** Text that is cut, doubled, or has another character. */
export function changedText(text: string, chance: Chance, other: string = text): string {
  const at = chance.below(text.length + 1);
  switch (chance.below(6)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(at);
    case 2:
      return text.slice(0, at) + other.slice(at);
    case 3:
      return text + other;
    case 4:
      return text.slice(0, at) + chance.pick(TEXTS) + text.slice(at);
    default:
      return (
        text.slice(0, at) +
        chance.pick(["A", "z", "0", "_", "-", "=", "+", "/", "\0", "é"]) +
        text.slice(at + 1)
      );
  }
}

const BYTES = [[0], [0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xef, 0xbb, 0xbf], [0x0a], [0x5c]];

function changedBytes(bytes: Buffer, chance: Chance): Buffer {
  const at = chance.below(bytes.length + 1);
  const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (chance.below(10)) {
    case 0:
      return head;
    case 1:
      return Buffer.concat([head, Buffer.from(chance.pick(BYTES)), tail.subarray(1)]);
    case 2:
      return Buffer.concat([Buffer.from(chance.pick(BYTES)), bytes]);
    case 3:
      return Buffer.concat([
        bytes,
        Buffer.from(chance.pick(["\0", "}", ",", "null", "\n\n", "{}"])),
      ]);
    case 4:
      return gzipSync(bytes);
    case 5:
      return Buffer.from(bytes.toString(), "utf16le");
    case 6: {
      const twice = `{"${chance.pick(["id", "method", "params", "jsonrpc", "__proto__"])}":${written(oddValue(chance))},`;
      return Buffer.from(bytes.toString().replace("{", () => twice));
    }
    case 7:
      return Buffer.from(
        `[${`${bytes.toString()},`.repeat(chance.pick([0, 1, 5, 49, 50]))}${bytes.toString()}]`,
      );
    case 8:
      return chance.of(0.05)
        ? Buffer.concat([bytes, Buffer.alloc(9 << 20, 0x20)])
        : Buffer.alloc(0);
    default:
      return Buffer.concat([head, Buffer.from(chance.pick(BYTES)), tail]);
  }
}

const HEADERS = [
  ...["mcp-protocol-version", "mcp-method", "mcp-name", "accept", "content-type", "origin", "host"],
  ...["authorization", "mcp-session-id", "last-event-id", "mcp-param-through", "mcp-param-count"],
  ...["content-encoding", "cookie", "cf-connecting-ip", "x-forwarded-host", "idempotency-key"],
];

const HEADER_VALUES = [
  ...[MODERN, ...LEGACY, "*/*", "application/json", "text/event-stream", "text/html", "text/*"],
  ...["application/json; charset=latin1", "application/json;", "text/plain", "application/*;q=0"],
  ...[
    "http://localhost",
    "http://evil.example",
    "https://a.example",
    "null",
    "file://",
    "localhost",
  ],
  ...["evil.example", "[::1]", "127.0.0.1:1", "Bearer", "Bearer x", "Basic eDp5", "Bearer a b"],
  ...[
    "0".repeat(64),
    "f".repeat(64),
    "0-0-0",
    "gzip",
    "\xff\xfe",
    "=?base64?Zm9v?=",
    "=?base64?/w==?=",
  ],
  ...["e30", "a, b", "x".repeat(4000)],
];

function changedHeaders(headers: Draft["headers"], chance: Chance): Draft["headers"] {
  const key = chance.pick(chance.of(0.6) ? Object.keys(headers) : HEADERS);
  const { [key]: old = "", ...rest } = headers;
  switch (chance.below(6)) {
    case 0:
      return rest;
    case 1:
      return { ...rest, [key]: changedText(old, chance) };
    case 2:
      return { ...rest, [key]: `${old}, ${old}` };
    case 3:
      return { ...rest, [key]: `=?base64?${Buffer.from(old).toString("base64")}?=` };
    case 4:
      return { ...rest, [key]: chance.pick(TEXTS).slice(0, 2000) };
    default:
      return { ...rest, [key]: chance.pick(HEADER_VALUES) };
  }
}

const VERBS = ["GET", "DELETE", "PUT", "OPTIONS", "HEAD", "PATCH", "POST"];
const PATHS = [
  ...["/", "/mcp", "/mcp/", "/MCP", "//mcp", "/mcp?x=1", "/mcp/../mcp", "/tools", "/tools/call"],
  ...[
    "/health",
    "/favicon.ico",
    "/.well-known/oauth-protected-resource",
    "/%00",
    "/%ff",
    "/tools/greet",
  ],
  ...["/mcp%2f", `/${"a".repeat(3000)}`, "/?x=%0d%0a", "/__proto__", "/sse"],
];

/** The request with so many things changed in it. */
export function changed(draft: Draft, times: number, chance: Chance): Sent {
  let { method, path, headers, body } = draft;
  const onBytes: number[] = [];
  for (let nth = 0; nth < times; nth++) {
    const what = chance.below(100);
    if (what < 55 && body !== undefined) body = changedTree(body, chance);
    else if (what < 80) headers = changedHeaders(headers, chance);
    else if (what < 95) onBytes.push(nth);
    else if (what < 98) method = chance.pick(VERBS);
    else path = chance.pick(PATHS);
  }
  let bytes: Buffer | undefined =
    body === undefined ? undefined : Buffer.from(typeof body === "string" ? body : written(body));
  for (const _ of onBytes) bytes = bytes && changedBytes(bytes, chance);
  return {
    as: draft.as,
    method,
    path,
    headers: sendable(headers),
    body: method === "GET" || method === "HEAD" ? undefined : bytes,
    isChunked: chance.of(0.15),
  };
}

/** Without what is no header in HTTP: it does not come to the Worker. */
function sendable(headers: Draft["headers"]): Draft["headers"] {
  const { host = "localhost", ...rest } = headers;
  const named = Object.entries(rest).filter(([name]) => /^[a-z-]+$/.test(name));
  return {
    ...Object.fromEntries(
      named.map(([name, value]) => [name, value.replace(/[^\t\x20-\x7e\x80-\xff]/g, "")]),
    ),
    host: /^([\w.-]+|\[[\da-f:]+\])(:\d{1,4})?$/.test(host) ? host : "localhost",
  };
}

export const ACCEPT = "application/json, text/event-stream";

const headersOf = (as: Name): Draft["headers"] => ({
  authorization: `Bearer ${keyOf(as)}`,
  "content-type": "application/json",
  accept: ACCEPT,
});

/** A request of any kind to the endpoint. */
export const draftOf = (as: Name, body: unknown, headers: Draft["headers"] = {}): Draft => ({
  as,
  method: "POST",
  path: "/mcp",
  headers: { ...headersOf(as), ...headers },
  body,
});

/** What a request is about. */
export interface Asked {
  method: string;
  params: Json;
  /** Arguments that are repeated in headers, by the headers' names. */
  repeated?: Record<string, string>;
}

/** A request of 2026-07-28 with everything that one must have. */
export function modern(
  as: Name,
  { method, params, repeated }: Asked,
  id: unknown,
  capabilities = {},
): Draft {
  const name = params["name"] ?? params["uri"] ?? params["taskId"];
  const meta = {
    [`${META}protocolVersion`]: MODERN,
    [`${META}clientCapabilities`]: capabilities,
    progressToken: "p",
    [`${META}logLevel`]: "debug",
  };
  const body = { jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } };
  const encoded = (text: string) =>
    /^[\x21-\x7e]+$/.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
  return draftOf(as, body, {
    "mcp-protocol-version": MODERN,
    "mcp-method": method,
    ...(typeof name === "string" && { "mcp-name": encoded(name) }),
    ...Object.fromEntries(
      Object.entries(repeated ?? {}).map(([header, text]) => [header, encoded(text)]),
    ),
  });
}

/** A request of an older revision; of a session, where `session` is one. */
export function legacy(as: Name, body: unknown, version: string, session?: string): Draft {
  return draftOf(as, body, {
    "mcp-protocol-version": version,
    ...(session !== undefined && { "mcp-session-id": session }),
  });
}
